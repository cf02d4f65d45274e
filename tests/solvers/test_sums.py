"""Cumulative regrets and strategies by infoset: the same numbers in every layout of a game."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from support import ways
from tensorcfr import CompiledGame, Solution, Solver, compile_game, solve
from tensorcfr.abstraction import abstract
from tensorcfr.algorithms import CFR
from tensorcfr.games import make_game


def check_sums(one: Solution | Solver, other: Solution | Solver, slack: float = 1e-12) -> None:
    """Assert that two solves have the same sums at the same infosets."""
    found, wanted = one.sums, other.sums
    assert set(found) == set(wanted)
    pairs: list[tuple[float, float]] = []
    for label, expected in wanted.items():
        for sums, theirs in zip(found[label], expected, strict=True):
            assert list(sums) == list(theirs)
            pairs += zip(sums.values(), theirs.values(), strict=True)
    rows = {row[1:3]: row[3:] for row in found.table().rows()}
    theirs = {row[1:3]: row[3:] for row in wanted.table().rows()}
    assert set(rows) == set(theirs)
    for key, numbers in theirs.items():
        pairs += zip(rows[key], numbers, strict=True)
        regret, strategy = found[key[0]]
        assert rows[key] == (regret[key[1]], strategy[key[1]])
    np.testing.assert_allclose(*np.transpose(pairs), rtol=slack, atol=slack, equal_nan=False)


def solved(game: CompiledGame, algorithm: str = "cfr", iters: int = 3, **options: Any) -> Solution:
    """Solve a game without checkpoints."""
    return solve(game, algorithm, iters=iters, checkpoints=(), **options)


@cache
def solved_apart(name: str, algorithm: str) -> Solution:
    """The same without chunks and merging."""
    return solved(compile_game(name, cut=False, symmetry=False), algorithm)


@pytest.mark.parametrize("algorithm", ["cfr", "cfr+"])
@pytest.mark.parametrize("cut", [False, 1, (1, 2)])
@pytest.mark.parametrize("name", ["nl_leduc(stack=2)", "leduc", "liars_dice(faces=2)"])
def test_sums_of_merged_and_cut_games(
    name: str, cut: bool | int | tuple[int, ...], algorithm: str
) -> None:
    """Leduc merges suits, liar's dice omits the answer to the highest bid."""
    game = compile_game(name, cut=cut)
    assert game.merges_hands or game.merged_numbers is not None or game.chunks.n_chunks
    check_sums(solved(game, algorithm), solved_apart(name, algorithm))


def test_sums_after_one_iteration_by_hand() -> None:
    """The first iteration of CFR in Kuhn poker: the regrets of the king against uniform play.

    Betting wins 1 of a fold and 2 of a call, that is 1.5; passing wins 1 of a pass; after a bet the
    king passes for -1 or calls for 2, that is 0.5: together 0.75.  Each of the six deals has the
    probability 1/6, and two of them deal the king.
    """
    sums = solved(compile_game("kuhn"), iters=1).sums["K"]
    gap = (1.5 - 0.75) / 2 / 3
    assert sums.regret == pytest.approx({"pass": -gap, "bet": gap}, abs=1e-15)
    assert sums.strategy == {"pass": 0.5, "bet": 0.5}


def test_the_natural_way_to_index_a_state_is_another_infoset() -> None:
    """Leduc's arrays are over merged infosets, which is why there are sums."""
    game = compile_game("leduc")
    solution = solved(game, "cfr", iters=1)
    wrong = solution.state.regret[game.locate("Js").numbers]
    assert list(solution.sums["Js"].regret.values()) != pytest.approx(wrong.tolist())


@pytest.mark.full
@pytest.mark.parametrize("precision", ["float32", "int16"])
def test_sums_in_other_precisions(precision: str) -> None:
    """Sums here are below 10, and a scale of 16 bits has 32,767 parts."""
    game, name = compile_game("nl_leduc(stack=2)", cut=1), "cfr"
    exact = solved(game, name, iters=2)
    check_sums(solved(game, name, iters=2, precision=precision), exact, slack=1e-3)


@pytest.mark.parametrize("name", ["turn", "random cards", "two deals"])
def test_sums_of_games_of_cards(name: str) -> None:
    """Boards and hands that differ in suits alone are solved once."""
    game = ways.compiled(name, None)
    one, other = (solved(g, precision="float64") for g in (game, game.flat().without_merging()))
    check_sums(one, other, slack=1e-11)


def test_sums_of_a_solver_are_copies() -> None:
    solver = Solver(compile_game("nl_leduc(stack=2)"), "cfr")
    solver.iterate(2)
    check_sums(solver, solver.run(iters=0))
    before = solver.sums
    kept = dict(before)
    solver.iterate(3)
    assert dict(before) == kept


def test_sums_of_samples_are_over_all_infosets() -> None:
    solution = solve(compile_game("nl_leduc(stack=2)"), "external_sampling", iters=20)
    for label, sums in solution.sums.items():
        total = sum(sums.strategy.values())
        row = [share / total for share in sums.strategy.values()] if total else None
        assert row is None or list(solution.policy[label].values()) == pytest.approx(row)


def test_infosets_that_share_a_strategy_share_their_sums() -> None:
    """All play is uniform at first: the regrets of a class are the sums of its infosets."""
    game = compile_game("leduc", symmetry=False)

    def bucket(label: str) -> str:
        """Of the hand, its rank; after the flop whether it is a pair."""
        before, _, after = label.partition("/")
        return f"{before[0] if not after else after[0] == label[0]} {before[2:]} {after[2:]}"

    small = abstract(game, infosets=bucket, imperfect_recall=True)
    assert small.strategy_class is not None
    one, apart = (solve(g, CFR(alternating=False), iters=1).sums for g in (small, game))
    first = {
        label: small.infoset_labels[k]
        for label, k in zip(small.infoset_labels, small.strategy_class, strict=True)
    }
    # By class and infoset of the abstraction, the infosets of the game: their own reach is one.
    classes: dict[str, dict[str, list[str]]] = {}
    for label in game.infoset_labels:
        at = small.infoset_labels[small.infoset[game.infoset_index[label]]]
        classes.setdefault(first[at], {}).setdefault(at, []).append(label)
    assert max(map(len, classes.values())) > 1
    for label in small.infoset_labels:
        members = classes[first[label]].values()
        regret = [list(apart[m].regret.values()) for same in members for m in same]
        strategy = [list(apart[same[0]].strategy.values()) for same in members]
        assert list(one[label].regret.values()) == pytest.approx(np.sum(regret, axis=0), abs=1e-14)
        assert list(one[label].strategy.values()) == pytest.approx(np.sum(strategy, axis=0))


@pytest.mark.full
def test_sums_are_refused_where_there_are_none() -> None:
    kuhn = compile_game("kuhn")
    for algorithm in ("egt", "efce", "mmd-agent"):
        solution = solve(kuhn, algorithm, iters=2)
        with pytest.raises(ValueError, match=f"{algorithm} keeps"):
            _ = solution.sums
    with pytest.raises(ValueError, match="by lp has no sums of regrets"):
        _ = solve(kuhn, "lp").sums
    with pytest.raises(ValueError, match="is not compiled: there are no sums by infoset"):
        _ = solve(make_game("kuhn"), "external_sampling", iters=2).sums
    with pytest.raises(KeyError, match="kuhn has no infoset 'X'"):
        solved(kuhn).sums["X"]
    assert len(solved(kuhn).sums) == 12
