"""Equity of hands, beside a count of every pair of hands on every board; and how strong seven cards
are, beside two other programs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import pytest

from support.card_games import RandomCards, ThreeRandom, TwoRankings, TwoRankingsOfThree
from support.triples import equities_by_triples
from tensorcfr.compilers.cards import equity as module
from tensorcfr.compilers.cards.equity import equities, equities_of_three
from tensorcfr.games.holdem import CARDS
from tensorcfr.games.poker.strength import CATEGORIES, CATEGORY_SHIFT, strengths
from tensorcfr.rules import CardGame


def python(kernel: Any) -> Callable[..., Any]:
    """A kernel as it is written."""
    return getattr(kernel, "py_func", kernel)


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
                    ranks = (rules.strength(whole, one[None]).ravel() for one in (own, other))
                    weight = float(weights[1 - player][o])
                    met[h] += weight
                    for mine, theirs in zip(*ranks, strict=True):
                        share = weight / rules.rankings
                        won[h] += share * ((mine > theirs) + 0.5 * (mine == theirs))
        found.append([w / m if m else float("nan") for w, m in zip(won, met, strict=True)])
    return found


@pytest.mark.parametrize("as_python", [True, pytest.param(False, marks=pytest.mark.compiled)])
@pytest.mark.parametrize(
    ("width", "dealt", "kind"),
    [
        *((1, 0, RandomCards), (1, 2, RandomCards), (2, 0, RandomCards), (2, 1, RandomCards)),
        *((3, 0, RandomCards), (4, 1, RandomCards), (2, 1, TwoRankings)),
    ],
)
def test_equities_are_those_of_all_pairs(
    width: int, dealt: int, kind: Any, as_python: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if as_python:
        monkeypatch.setattr(module, "compare", python(module.compare))
    rules = kind(7 * width + dealt, cards=max(7, 2 * width + 2), width=width, rounds=2)
    rng = np.random.default_rng(1)
    one, other = (own * (rng.random(len(own)) < 0.7) for own in rules.weights)
    found = equities(rules, rules.board, (one, other), dealt)
    for own, expected in zip(found, counted(rules, rules.board, (one, other), dealt), strict=True):
        np.testing.assert_allclose(own, expected, rtol=0, atol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("competing", [[0, 1, 2], [0, 2], [1]])
@pytest.mark.parametrize(("width", "dealt"), [(1, 0), (1, 2), (2, 1)])
def test_equities_of_three_are_those_of_all_triples(
    width: int, dealt: int, competing: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TOGETHER", 2)
    kinds: tuple[Any, ...] = (ThreeRandom, TwoRankingsOfThree)
    for kind in kinds if width == 2 else kinds[:1]:
        rules = kind(width, cards=8, width=width, rounds=2, public=1, suits=2)
        rng = np.random.default_rng(1)
        weights = [own * (rng.random(len(own)) < 0.7) for own in rules.weights]
        found = equities_of_three(rules, rules.board, weights, dealt, competing)
        expected = equities_by_triples(rules, rules.board, weights, dealt, competing)
        for own, twin in zip(found, expected, strict=True):
            np.testing.assert_allclose(own, twin, rtol=0, atol=1e-12)


DECKS = {
    "all": CARDS,
    "two suits": [card for card in CARDS if card[1] in "hs"],
    "four ranks": [card for card in CARDS if card[0] in "2TKA"],
    "low": [card for card in CARDS if card[0] in "A23456"],
}
NAMES = {"Trips": "three of a kind", "Quads": "four of a kind"}
"""What eval7 calls otherwise."""


@pytest.mark.parametrize("deck", DECKS)
def test_strengths_of_seven_cards_as_python(deck: str) -> None:
    """The order is that of phevaluator, the category that of eval7.  Few suits make flushes and
    straight flushes, few ranks make full houses, and the ace is below the deuce, too."""
    eval7, phevaluator = pytest.importorskip("eval7"), pytest.importorskip("phevaluator")
    rng, number = Random(deck), {card: place for place, card in enumerate(CARDS)}
    ranks, found, seen = [], [], set()
    for _ in range(400):
        cards = rng.sample(DECKS[deck], 7)
        board, hand = (np.array([number[c] for c in some]) for some in (cards[:5], cards[5:]))
        (strength,) = python(strengths)(board, hand[None]).tolist()
        named = eval7.handtype(eval7.evaluate([eval7.Card(card) for card in cards]))
        category = CATEGORIES[strength >> CATEGORY_SHIFT]
        assert category == NAMES.get(named, named).lower(), cards
        seen.add(category)
        # Its best hand has the number 1.
        ranks.append(-phevaluator.evaluate_cards(*cards))
        found.append(strength)
    order = np.argsort(ranks, kind="stable")
    ups = np.sign(np.diff(np.array(ranks)[order]))
    np.testing.assert_array_equal(np.sign(np.diff(np.array(found)[order])), ups)
    assert len(seen) >= {"all": 6, "two suits": 3, "four ranks": 3, "low": 6}[deck]
