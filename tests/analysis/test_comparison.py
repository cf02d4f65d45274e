"""Where two policies differ, in games of every kind, against sums over all histories."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.test_conditional_regrets import GAMES, rows_of, strategies_of
from support.equality import as_game
from support.reference import build_tree
from support.slow_values import DealtCards, SlowValues
from support.tiers import tiered
from tensorcfr import compile_game, solve
from tensorcfr.analysis import compare
from tensorcfr.formats import find_policy
from tensorcfr.games import make_game


def policy_of(game: Any, seed: int) -> Any:
    """The policy of :func:`strategies_of`."""
    return find_policy(game, strategies_of(seed))


def slow_differences(rules: Any) -> dict[str, tuple[int, float, float, float]]:
    """For every infoset its player, the mean of both reaches, half the sum of the differences, and
    what a change to the second strategy gains."""
    tree = build_tree(as_game(rules))
    first, second = (rows_of(tree, seed) for seed in (1, 2))
    one, other, found = SlowValues(tree, first), SlowValues(tree, second), {}
    for label, infoset in tree.infosets.items():
        here, there = one.at(label), other.at(label)
        change = [q - p for p, q in zip(first[label], second[label], strict=True)]
        reach = (here.own * here.others + there.own * there.others) / 2
        gain = sum(c * v for c, v in zip(change, here.value, strict=True))
        found[label] = infoset.player, reach, sum(map(abs, change)) / 2, there.own * gain
    return found


@pytest.mark.parametrize("name", GAMES)
def test_equal_to_sums_over_histories(name: str) -> None:
    make, options = GAMES[name]
    rules = make()
    game = compile_game(rules, **options)
    slow = slow_differences(DealtCards(rules) if name == "cards" else rules)
    compared = compare(policy_of(game, 1), strategies_of(2))
    rows = compared.differences(None)
    assert {row.infoset for row in rows} == set(slow)
    for row in rows:
        player, *expected = slow[row.infoset]
        assert row.player == player
        assert [row.reach, row.total_variation, row.value] == pytest.approx(expected, abs=1e-12)
    weighted = [row.reach * row.total_variation for row in rows]
    assert weighted == sorted(weighted, reverse=True)
    assert compared.differences(3) == rows[:3]
    for player, distance in enumerate(compared.distance):
        own = [reach * apart for who, reach, apart, _ in slow.values() if who == player]
        assert distance == pytest.approx(sum(own), abs=1e-12)


def test_a_game_in_chunks_is_not_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    game = compile_game(make_game("kuhn"), cut=1)
    monkeypatch.setattr(type(game), "flat", lambda *_: pytest.fail("laid out"))
    compared = compare(policy_of(game, 1), policy_of(game, 2))
    assert len(compared.differences()) == 10
    assert "where two policies differ" in str(compared)


@pytest.mark.parametrize("cut", tiered([False, 1], fast=[False]))
def test_solutions_keep_their_locks(cut: bool | int, interpreted: None) -> None:
    """Best responses to a solution play its locks, as in its own evaluation."""
    game = compile_game("kuhn", cut=cut)
    locks = {"K": {"bet": 0.25, "pass": 0.75}, "Qb": {"bet": 1.0, "pass": 0.0}}
    locked, free = (
        solve(game, "cfr+", iters=50, locks=given, checkpoints=()) for given in (locks, None)
    )
    for first, second in ((locked, free), (free, locked), (locked, locked)):
        found = compare(first, second)
        for evaluation, solution in zip(found.evaluations, (first, second), strict=True):
            own = solution.evaluation
            assert evaluation.values == pytest.approx(own.values, abs=1e-12)
            assert evaluation.best_responses == pytest.approx(own.best_responses, abs=1e-12)
        assert str(found).count(", 2 infosets locked") == (first, second).count(locked)
    dropped = compare(locked.policy, free).evaluations[0]
    assert dropped.exploitability > locked.exploitability + 0.01
