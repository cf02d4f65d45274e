"""The tree that grows: what it forgets, and what its traversals need when they wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.equality import bits
from support.random_games import random_game
from tensorcfr import Decision, Game, MemoryLimitError, SampledSolver, Terminal, compile_game
from tensorcfr.algorithms import EXTERNAL_SAMPLING, OUTCOME_SAMPLING, ROBUST_SAMPLING
from tensorcfr.formats.openspiel import OpenSpielGame
from tensorcfr.solvers import history_sources
from tensorcfr.uncompiled.growing_tree import GrowingTree

ROOMY = 10**8
SHARE = 50_000


def same_state(one: SampledSolver, other: SampledSolver) -> None:
    assert bits(other.state) == bits(one.state)


@pytest.mark.parametrize(
    ("game", "record"),
    [
        ("leduc", EXTERNAL_SAMPLING(averaging="stochastic")),
        pytest.param("leduc", OUTCOME_SAMPLING(baseline=0.5), marks=pytest.mark.full),
        pytest.param("leduc", ROBUST_SAMPLING(tries=2), marks=pytest.mark.full),
        pytest.param("goofspiel(cards=4)", EXTERNAL_SAMPLING, marks=pytest.mark.full),
        pytest.param(
            random_game(3, n_players=3, max_histories=200), OUTCOME_SAMPLING, marks=pytest.mark.full
        ),
    ],
)
def test_what_is_forgotten_changes_nothing(
    game: Any, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = SampledSolver(game, record, seed=4, memory_limit=ROOMY)
    whole.iterate(200)
    monkeypatch.setattr(history_sources, "SHARE_OF_HISTORIES", SHARE / ROOMY)
    forgot, most = [], 0
    forget = GrowingTree.forget

    def noting(tree: GrowingTree) -> None:
        before = tree.bytes_held
        forget(tree)
        forgot.append(tree.bytes_held < before)

    monkeypatch.setattr(GrowingTree, "forget", noting)
    small = SampledSolver(game, record, seed=4, memory_limit=ROOMY)
    for _ in range(20):
        small.iterate(10)
        most = max(most, small.source.tree.bytes_held)
    assert sum(forgot) > 10
    # An iteration that is under way may go beyond.
    assert most < 4 * SHARE
    same_state(whole, small)


@pytest.mark.openspiel
@pytest.mark.parametrize("limit", [ROOMY, 600_000])
def test_states_that_are_given_up_come_back(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspiel")
    found = []
    for gives_up in (True, False):
        if not gives_up:
            monkeypatch.delattr(OpenSpielGame, "advance")
        solver = SampledSolver(
            "openspiel:leduc_poker", "outcome_sampling", seed=2, memory_limit=limit
        )
        solver.iterate(400)
        tree = solver.source.tree
        histories = tree._open.values()
        assert tree._states == sum(node.state is not None for node in histories)
        assert (tree._states < len(histories)) == gives_up
        found.append(solver)
    same_state(*found)


class Ladder(Game):
    """A player climbs forty steps, or gets off; in the middle there are nine ways to get off."""

    n_players = 1

    def __init__(self, *, climbs_last: bool) -> None:
        self.climbs_last = climbs_last

    def node(self, state: Any) -> Any:
        if len(state) == 40 or state[-1:] not in ((), ("up",)):
            return Terminal((float(len(state) * 7 % 11 - 5),))
        off = tuple(f"off {way}" for way in range(9 if len(state) == 20 else 1))
        return Decision(0, str(len(state)), (*off, "up") if self.climbs_last else ("up", *off))


@pytest.mark.parametrize("climbs_last", [False, True])
def test_traversals_wait_for_a_longer_log_a_longer_path_and_more_actions(
    climbs_last: bool,
) -> None:
    """Where climbing is the last action, values of the others are kept on the path."""
    ladder = Ladder(climbs_last=climbs_last)
    solver = SampledSolver(ladder, "external_sampling", seed=1)
    tree = solver.source.tree
    assert (len(tree.frames.log), len(tree.frames.path), tree.frames.width) == (1024, 16, 4)
    solver.iterate(1)
    assert len(tree.frames.path) >= 40
    assert tree.frames.width == 10
    theirs = SampledSolver(compile_game(ladder), "external_sampling", seed=1)
    theirs.iterate(1)
    for _ in range(2):
        regrets = solver.state.regret
        for label, row in solver.source.table.rows.items():
            at = theirs.game.sequences(theirs.game.infoset_index[label])
            first, end = solver.source.table.first[row : row + 2]
            assert regrets[first:end] == pytest.approx(theirs.state.regret[at], abs=1e-12)
        mine, other = solver.average_policy(), theirs.average_policy()
        for label in other:
            assert mine[label] == pytest.approx(other[label], abs=1e-12)
        solver.iterate(29)
        theirs.iterate(29)
    dice = SampledSolver("liars_dice(faces=5)", "external_sampling", seed=1)
    dice.iterate(30)
    assert len(dice.source.tree.frames.log) > 1024


@pytest.mark.full
def test_an_iteration_that_does_not_fit_is_undone() -> None:
    game = "liars_dice(faces=4)"
    solver = SampledSolver(game, "external_sampling", seed=1, memory_limit=150_000)
    with pytest.raises(MemoryLimitError):
        solver.iterate(100)
    assert 0 < solver.iteration < 100
    through = SampledSolver(game, "external_sampling", seed=1)
    through.iterate(solver.iteration)
    for name in ("clock", "touched", "generator"):
        assert np.array_equal(getattr(solver.state, name), getattr(through.state, name))
    # The infosets that the iteration had entered stay.
    mine, theirs = solver.average_policy(), through.average_policy()
    assert [mine[label] for label in theirs] == list(theirs.values())
