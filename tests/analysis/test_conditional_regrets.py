"""Regrets given that an infoset is reached, against sums over all histories."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.card_games import RandomCards
from support.command_line import printed
from support.equality import as_game
from support.random_games import random_game, random_public_tree_game
from support.reference import Tree, build_tree
from support.slow_values import DealtCards, SlowValues
from tensorcfr import Policy, compile_game, solve
from tensorcfr.analysis import conditional_regrets
from tensorcfr.games import make_game
from tensorcfr.model.infoset import Infoset


def strategies_of(seed: int) -> Callable[[Infoset], list[float]]:
    """Random strategies, of which a third are pure: they leave infosets unreached."""

    def strategies(infoset: Infoset) -> list[float]:
        rng = np.random.default_rng([seed, zlib.crc32(infoset.encode())])
        weight = rng.random(len(infoset.actions))
        if rng.random() < 1 / 3:
            weight = (weight == weight.max()).astype(float)
        return [float(w) / float(weight.sum()) for w in weight]

    return strategies


def rows_of(tree: Tree, seed: int) -> dict[str, list[float]]:
    """The same by label, as slow computations take them."""
    return {
        label: strategies_of(seed)(Infoset(label, one.player, tuple(map(str, one.actions))))
        for label, one in tree.infosets.items()
    }


def slow_regrets(rules: Any) -> dict[str, tuple[float, float]]:
    """For every infoset the regret given that it is reached, NaN if it never is, and own reach."""
    tree = build_tree(as_game(rules))
    rows = rows_of(tree, 1)
    slow, found = SlowValues(tree, rows), {}
    for label, row in rows.items():
        at = slow.at(label)
        mean = sum(p * q for p, q in zip(row, at.value, strict=True))
        found[label] = ((max(at.best) - mean) / at.others if at.others else math.nan, at.own)
    return found


GAMES: dict[str, tuple[Any, dict[str, Any]]] = {
    "kuhn": (lambda: make_game("kuhn"), {}),
    "three players": (lambda: make_game("kuhn(players=3)"), {}),
    "histories": (lambda: random_game(1), {}),
    "hands, laid out": (lambda: random_public_tree_game(1), {"cut": False}),
    "hands, in chunks": (lambda: random_public_tree_game(1), {"cut": 1}),
    "cards": (lambda: RandomCards(22, cards=6, width=2, rounds=1, public=0), {}),
}


@pytest.mark.parametrize("own_reach", [0.01, 0.3])
@pytest.mark.parametrize("name", GAMES)
def test_equal_to_sums_over_histories(name: str, own_reach: float) -> None:
    make, options = GAMES[name]
    rules = make()
    game = compile_game(rules, **options)
    found = conditional_regrets(game, strategies_of(1), own_reach=own_reach)
    slow = slow_regrets(DealtCards(rules) if name == "cards" else rules)
    reached = {label: pair for label, pair in slow.items() if not math.isnan(pair[0])}
    led_to = {label: pair for label, pair in reached.items() if pair[1] >= own_reach}
    assert found.unreached == len(slow) - len(reached)
    for spread, expected in ((found.everywhere, reached), (found.on_own_path, led_to)):
        regrets = [regret for regret, _ in expected.values()]
        assert spread.infosets == len(regrets) > 0
        assert spread.largest == pytest.approx(max(regrets), rel=1e-11)
        assert spread.mean == pytest.approx(sum(regrets) / len(regrets), rel=1e-11)
        assert expected[str(spread.worst)][0] == pytest.approx(max(regrets), rel=1e-11)


def test_a_mistake_by_hand() -> None:
    """Kuhn poker: everybody passes and folds, so nobody ever meets a bet."""
    game = compile_game("kuhn")
    passive = {
        label: {game.infoset_actions[k][0]: 1.0} for k, label in enumerate(game.infoset_labels)
    }
    found = conditional_regrets(game, passive)
    # Player 0 never bets and neither does player 1: six infosets are never reached.
    assert found.unreached == 6
    # A bet of player 1 takes the pot of 2 with any card: with the jack, 1 instead of -1.
    assert found.everywhere.largest == 2.0
    assert found.on_own_path == found.everywhere
    # At the start everybody wins 1 by a bet; the king had 1 anyway, the queen 0, the jack -1.
    assert found.everywhere.mean == pytest.approx((2 + 1 + 0 + 2 + 1 + 0) / 6)


def test_bad_reaches_are_refused() -> None:
    game = compile_game("kuhn")
    assert conditional_regrets(game, Policy.uniform(game)).unreached == 0
    with pytest.raises(ValueError, match="own_reach"):
        conditional_regrets(game, Policy.uniform(game), own_reach=1.5)


def test_command_line(tmp_path: Path) -> None:
    solution = solve(compile_game("kuhn"), iters=20)
    path = solution.save(tmp_path / "kuhn.npz")
    found = conditional_regrets(solution.game, solution.policy)
    for command in ("show", "evaluate"):
        said = json.loads(printed(command, path, "--off-path", "--json"))["conditional_regrets"]
        assert said["everywhere"]["largest"] == found.everywhere.largest
        assert said["by_mistakes"]["infosets"] == found.on_own_path.infosets
        text = printed(command, path, "--off-path")
        assert f"{found.everywhere.largest:.4g}" in text
        assert str(found.everywhere.worst) in text
