"""Equity of hands, beside a count of every pair of hands on every board."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from support.card_games import RandomCards
from tensorcfr.analysis.equity import equities
from tensorcfr.rules import CardGame


def counted(
    rules: CardGame, board: tuple[int, ...], weights: tuple[np.ndarray, np.ndarray], dealt: int
) -> list[list[float]]:
    """Equities by pairs of hands; NaN for hands that meet nothing."""
    free = sorted(set(range(len(rules.cards))) - set(board))
    found = []
    for player in range(2):
        won = [0.0] * len(weights[player])
        met = [0.0] * len(weights[player])
        for rest in combinations(free, dealt):
            whole = (*board, *rest)
            for h, own in enumerate(rules.hands[player]):
                for o, other in enumerate(rules.hands[1 - player]):
                    cards = [*whole, *own.tolist(), *other.tolist()]
                    if len(set(cards)) < len(cards):
                        continue
                    mine, theirs = (
                        int(rules.strength(whole, one[None])[0]) for one in (own, other)
                    )
                    weight = float(weights[1 - player][o])
                    met[h] += weight
                    won[h] += weight * ((mine > theirs) + 0.5 * (mine == theirs))
        found.append([w / m if m else float("nan") for w, m in zip(won, met, strict=True)])
    return found


@pytest.mark.compiled
@pytest.mark.parametrize(("width", "dealt"), [(1, 0), (1, 2), (2, 0), (2, 1)])
def test_equities_are_those_of_all_pairs(width: int, dealt: int) -> None:
    rules = RandomCards(7 * width + dealt, cards=7, width=width, rounds=2)
    rng = np.random.default_rng(1)
    one, other = (own * (rng.random(len(own)) < 0.7) for own in rules.weights)
    found = equities(rules, rules.board, (one, other), dealt)
    for own, expected in zip(found, counted(rules, rules.board, (one, other), dealt), strict=True):
        np.testing.assert_allclose(own, expected, rtol=0, atol=1e-12)
