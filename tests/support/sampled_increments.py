"""What a Monte Carlo solver adds in one traversal that is told what to draw, and what it should."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from support.reference import (
    ChanceNode,
    DecisionNode,
    Node,
    ReferenceCFR,
    TerminalNode,
    Tree,
    regret_matching,
)
from support.sampled_choices import Chooser, Sample, Traversal, samples
from tensorcfr import CompiledGame, SampledSolver
from tensorcfr.algorithms import Sampling
from tensorcfr.solvers.sampled_solver import SampledState


def some_regrets(tree: Tree, seed: int, *, negative: bool) -> dict[str, list[float]]:
    """Cumulative regrets; where some are negative, actions are not played."""
    rng = Random(seed)
    low = -1.0 if negative else 0.1
    return {
        label: [rng.uniform(low, 1.0) for _ in infoset.actions]
        for label, infoset in tree.infosets.items()
    }


def prepared(
    game: CompiledGame, record: Sampling, regrets: dict[str, list[float]]
) -> SampledSolver:
    """A solver with these regrets, the strategies played as the average, and baselines if it has
    any."""
    solver = SampledSolver(game, record)
    state = solver.state
    rng = Random(5)
    for label, row in regrets.items():
        at = game.locate(label).numbers
        state.regret[at] = row
        state.cumulative[at] = state.strategy[at] = regret_matching(row, row, 0)
    for row in state.baseline:
        row[:] = [rng.uniform(-1, 1) for _ in row]
    return SampledSolver(game, record, state=state)


def increments(
    solver: SampledSolver, before: SampledState, sample: Sample, i: int
) -> tuple[np.ndarray, np.ndarray]:
    """What one sampled traversal for player ``i`` adds to the regrets and to the average."""
    solver._take(before._replace(touched=np.zeros(2, np.int64)))
    solver.iteration = 0
    script = (np.array([*sample.draws, np.nan]), np.zeros(1, np.int64))
    solver._run(1, script, np.array([i], np.uint64))
    assert script[1][0] == len(sample.draws)
    assert solver.nodes_touched == sample.histories
    assert solver.decision_nodes_touched == sample.decisions
    after = solver.state
    return after.regret - before.regret, after.cumulative - before.cumulative


def full_tree(
    tree: Tree, regrets: dict[str, list[float]], player: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Instantaneous regrets of a player, and everybody's own reach of each action."""
    reference = ReferenceCFR(tree, average_power=0, alternating=True)
    reference.strategy = {k: regret_matching(row, row, 0) for k, row in regrets.items()}
    instant = {label: [0.0] * len(infoset.actions) for label, infoset in tree.infosets.items()}
    reach: dict[str, float] = {}
    for other in range(tree.n_players):
        unused = {label: list(row) for label, row in instant.items()}
        mine = instant if other == player else unused
        reference._value(tree.root, other, 1.0, 1.0, mine, reach)
    played = {k: [reach[k] * p for p in row] for k, row in reference.strategy.items()}
    return instant, played


def chance_reach(tree: Tree) -> dict[str, float]:
    """Sum over the histories of an infoset of chance's probability of them."""
    found = dict.fromkeys(tree.infosets, 0.0)

    def walk(node: Node, p: float) -> None:
        if isinstance(node, DecisionNode):
            found[node.infoset.label] += p
        if not isinstance(node, TerminalNode):
            weights = node.probabilities if isinstance(node, ChanceNode) else [1.0] * 9
            for weight, child in zip(weights, node.children, strict=False):
                walk(child, p * weight)

    walk(tree.root, 1.0)
    return found


def expect_increments(
    game: CompiledGame,
    tree: Tree,
    record: Sampling,
    traversal: Traversal,
    *,
    negative: bool,
    chooser: Callable[[list[int]], Chooser] = Chooser,
) -> None:
    """The mean over all samples is what CFR adds, for regrets; for averages, up to a constant
    of the infoset that no strategy has a part in.  Of infosets that are merged in the game, it is
    the sum."""
    numbers = {label: np.r_[game.locate(label).numbers] for label in tree.infosets}
    at_infosets = np.unique(np.concatenate(list(numbers.values())))
    first: dict[bytes, list[float]] = {}
    regrets = {
        label: first.setdefault(numbers[label].tobytes(), row)
        for label, row in some_regrets(tree, 3, negative=negative).items()
    }
    strategy = {k: regret_matching(row, row, 0) for k, row in regrets.items()}
    third = tree.n_players > 2
    simple = record.averaging == "simple" and tree.n_players > 1
    for player in range(tree.n_players):
        regret, average, expected_regret, expected_average = np.zeros((4, game.n_numbers))
        total = 0.0
        met = dict.fromkeys(tree.infosets, 0.0)
        solver = prepared(game, record, regrets)
        before = solver.state
        for sample in samples(traversal, tree, strategy, player, chooser):
            total += sample.probability
            for label in sample.met:
                met[label] += sample.probability
            of_regret, of_average = increments(solver, before, sample, player)
            regret += sample.probability * of_regret
            average += sample.probability * of_average
        assert total == pytest.approx(1.0, abs=1e-12)
        instant, played = full_tree(tree, regrets, player)
        constant = met if record.scheme in ("chance", "public") else chance_reach(tree)
        for label, infoset in tree.infosets.items():
            if len(infoset.actions) == 1:
                continue
            at, mine = numbers[label], infoset.player == player
            expected_regret[at] += instant[label] if mine else 0.0
            expected_average[at] += [(mine != simple) * constant[label] * p for p in played[label]]
            if mine == simple:
                np.testing.assert_array_equal(average[at], 0.0)
        compared = [(regret, expected_regret)]
        if not negative or (simple and not third):
            compared.append((average, expected_average))
        for found, expected in compared:
            np.testing.assert_allclose(found[at_infosets], expected[at_infosets], 0, 1e-12)
