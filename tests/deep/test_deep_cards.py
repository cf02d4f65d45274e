"""Deep CFR on card games in chunks: networks for drawn hands and boards."""

from __future__ import annotations

import tracemalloc
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.card_games import EveryRound, LeducOfCards, RandomSuits
from support.equality import bits
from tensorcfr import CompiledGame, SampledSolver, Solution, compile_game, evaluate, solve
from tensorcfr.algorithms import DEEP_CFR, EXTERNAL_SAMPLING
from tensorcfr.deep import DeepSolver
from tensorcfr.deep.card_infosets import CardInputs
from tensorcfr.deep.card_solver import CardDeepSolver
from tensorcfr.errors import CutError, MemoryLimitError

QUICK = DEEP_CFR(traversals=40, updates=60, batch=64, strategy_updates=60, buffer=2000)
pytestmark = pytest.mark.usefixtures("networks")


@cache
def leduc() -> CompiledGame:
    return compile_game(LeducOfCards())


@cache
def suits() -> CompiledGame:
    return compile_game(EveryRound(5, ranks=3, suits=2, width=1, rounds=2))


@pytest.mark.parametrize("make", [leduc, suits])
def test_a_traversal_is_that_of_external_sampling(make: Any) -> None:
    """With one traversal at a time, both draw the same numbers: regrets of the table are the
    advantages in the reservoirs, and sums of strategies are the strategies in them."""
    game = make()
    solver = CardDeepSolver(game, QUICK(traversals=1, updates=5), seed=4)
    inputs = solver.source.inputs
    rng = np.random.default_rng(3)
    for player in (0, 1) * 8:
        solver._parameters = [
            rng.normal(size=solver._advantages.size).astype(np.float32) for _ in range(2)
        ]
        before, touched = solver.state, solver._touched.copy()
        state = SampledSolver(game, EXTERNAL_SAMPLING).state
        state.strategy[:] = solver.current_policy().probabilities
        generator = solver._generator.copy()
        table = SampledSolver(game, EXTERNAL_SAMPLING, state=state)
        table._run(1, generator, np.array([player], np.uint64))
        solver._sample(solver.algorithm.variant.schedule(1, 1), player)
        after, added = solver.state, table.state
        for name, found in (("advantage", added.regret), ("average", added.cumulative)):
            seen = [getattr(each, f"{name}_seen") for each in (before, after)]
            first = seen[1][:player].sum() + seen[0][player]
            new = slice(first, seen[1][: player + 1].sum())
            expected = np.zeros(game.n_numbers)
            pairs = (getattr(after, f"{name}_{what}")[new] for what in ("infoset", "values"))
            for infoset, of_actions in zip(*pairs, strict=True):
                expected[numbers_of(game, inputs, infoset)] += of_actions[~np.isnan(of_actions)]
            empty = game.chunks.trunk.player_sequences[:-1]
            expected[empty] = found[empty]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(solver._touched - touched, added.touched)
        np.testing.assert_array_equal(solver._generator, generator)


def numbers_of(game: CompiledGame, inputs: CardInputs, infoset: int) -> np.ndarray:
    """Numbers of an infoset's actions, found again by its hand and its public node."""
    index = int(inputs.decisions(np.array([infoset]))[0])
    node, r = int(inputs.decision[index]), int(inputs.round[index])
    nodes: Any = game.nodes
    for solved, board in enumerate(nodes.symmetry.rounds[r].board.tolist()):
        layout = nodes.layout(nodes.number(node, board))
        lanes = np.unique(layout.lane)
        if infoset in (of := inputs.infosets(index, solved, lanes).tolist()):
            hand = int(np.flatnonzero(layout.lane == lanes[of.index(infoset)])[0])
            return layout.numbers([hand])[0]
    raise AssertionError(infoset)


def test_features_distinguish_all_infosets() -> None:
    for game in (
        leduc(),
        suits(),
        compile_game(RandomSuits(6, ranks=2, suits=3, width=2, rounds=1)),
    ):
        inputs = CardInputs(game.nodes)
        features = inputs.features(np.arange(inputs.n_infosets))
        assert features.shape == (inputs.n_infosets, inputs.width)
        assert len(np.unique(features, axis=0)) == inputs.n_infosets


def test_features_are_those_of_hand_board_and_line() -> None:
    """Of the king of hearts on the jack of spades after a call and a raise, column by column."""
    game = leduc()
    inputs, nodes = CardInputs(game.nodes), game.nodes
    node = nodes.find_line("raise call Js")
    betting_node, board = nodes.at(node)
    index = int(np.searchsorted(inputs.decision, betting_node))
    lane = nodes.layout(node).lane[5]
    features = inputs.features(inputs.infosets(index, board, np.array([lane])))[0]
    same = inputs.features(inputs.infosets(index, board, np.array([nodes.layout(node).lane[4]])))[0]
    other = inputs.features(inputs.infosets(index, (board + 1) % 6, np.array([lane])))[0]
    # The other king differs in the card and the suit, the next board too (a jack of hearts).
    assert np.abs(features - same).sum() == 4
    assert np.abs(features - other).sum() == 4
    assert features.sum() == inputs.features(np.array([0]))[0].sum() + 3 + 2


def test_solve_save_and_continue(tmp_path: Path) -> None:
    """The same bits after a file; exploitability falls, and is that of the whole policy."""
    game = leduc()
    whole = solve(game, QUICK, iters=12, seed=1)
    first = solve(game, QUICK, iters=5, seed=1)
    first.save(tmp_path / "deep.npz")
    loaded = Solution.load(tmp_path / "deep.npz", game=game)
    later = solve(game, start=loaded, iters=7)
    assert bits(later.state) == bits(whole.state)
    assert whole.exploitability == later.exploitability
    uniform = solve(game, QUICK, iters=1, seed=1).exploitability
    assert whole.exploitability < uniform
    found = evaluate(game, dict(whole.policy))
    assert found.exploitability == pytest.approx(whole.exploitability, abs=1e-6)
    last = evaluate(game, whole.last_policy)
    assert last.nash_conv >= 0.0


@pytest.mark.parametrize(
    ("algorithm", "problem"),
    [
        ("sd-cfr", "sd-cfr with average='exact' needs a flat game"),
        ("dream", "dream with outcome sampling needs a flat game"),
        (QUICK(learner="table"), "deep-cfr with learner='table' needs a flat game"),
        (QUICK(features="hashed"), "deep-cfr with features of your own, or of another kind"),
        (QUICK(keep_networks=True), "deep-cfr with keep_networks=True needs a flat game"),
    ],
    ids=["exact average", "outcome", "table", "features", "networks"],
)
def test_options_for_flat_games(algorithm: Any, problem: str) -> None:
    with pytest.raises(CutError, match=problem):
        solve(leduc(), algorithm, iters=1)


def test_other_games_are_flat() -> None:
    with pytest.raises(CutError, match="leduc is in chunks, and deep-cfr needs a flat game"):
        DeepSolver(compile_game("leduc", cut=1), QUICK)
    with pytest.raises(CutError, match="an exact average of networks needs a flat game"):
        CardDeepSolver(leduc(), QUICK).evaluate_exact_average()


def test_memory_is_told_in_full() -> None:
    """Of drawing many deals, which takes more here than training."""
    record = QUICK(traversals=4000, updates=5)
    with pytest.raises(MemoryLimitError) as refused:
        CardDeepSolver(leduc(), record, memory_limit=1)
    CardDeepSolver(leduc(), record).iterate(1)  # What is made once is not the solver's.
    tracemalloc.start()
    try:
        CardDeepSolver(leduc(), record, memory_limit=refused.value.needed).iterate(1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= refused.value.needed <= 3.0 * peak
