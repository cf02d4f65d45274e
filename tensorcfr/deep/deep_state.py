"""State of a solver with networks between iterations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._util.one_line import arrays_in_line
from ..model.layout import Layout
from ..solvers.history_sources import NO_ARRAY, infosets_of
from ..solvers.problem import Problem
from ..solvers.state_file import Expected, StateFile, check_arrays
from .buffers import restore_buffers
from .network_infosets import GameInfosets, RuleInfosets, check_game


class DeepState(NamedTuple):
    """State of a solver with networks between iterations.

    A *fit* is the vector of a network's parameters, float32.  On rules, infosets are in the order
    of their entry, and a sequence is an action of one of them.  A fit of a table is then the vector
    of its predictions for all sequences, float64.  Card games in chunks store neither strategies
    nor features, because both follow from the fits and the numbers of infosets.
    """

    def __repr__(self) -> str:
        return arrays_in_line(self)

    strategy: np.ndarray
    """float64 (sequences,): behaviour strategy; 1 for the empty sequences of a compiled game."""
    parameters: np.ndarray
    """(players, numbers): fits of the advantages; zeros before the first fit."""
    baseline_parameters: np.ndarray
    """(players, numbers): fits of the baselines; (0, 0) without baseline networks."""
    networks: np.ndarray
    """(iterations, players, numbers): fits behind each iteration's strategies; no iterations unless
    they are stored."""
    features: np.ndarray
    """float32 (infosets, width): features of each infoset."""
    advantage_infoset: np.ndarray
    """int32 (samples,): infoset of each sample of advantages.  The reservoir of player 0 comes
    first, then player 1's, ..."""
    advantage_weight: np.ndarray
    """float64 (samples,): weight of each sample."""
    advantage_values: np.ndarray
    """float64 (samples, most actions): advantage of each action; nan if there is no action."""
    advantage_seen: np.ndarray
    """int64 (players,): number of samples that were offered to each reservoir."""
    average_infoset: np.ndarray
    """int32 (samples,): infoset of each sample of strategies, on which a network of the average is
    trained; empty without such a network."""
    average_weight: np.ndarray
    """float64 (samples,): weight of each sample."""
    average_values: np.ndarray
    """float64 (samples, most actions): probability of each action; nan if there is no action."""
    average_seen: np.ndarray
    """int64 (players,): number of samples that were offered to each reservoir."""
    baseline_infoset: np.ndarray
    """int32 (samples,): infoset of each sample of values, on which baseline networks are trained;
    empty without such networks."""
    baseline_weight: np.ndarray
    """float64 (samples,): weight of each sample."""
    baseline_values: np.ndarray
    """float64 (samples, most actions): value of each sampled action; nan otherwise."""
    baseline_seen: np.ndarray
    """int64 (players,): number of samples that were offered to each reservoir."""
    touched: np.ndarray
    """int64 (2,): number of visited histories, and of decision nodes among them."""
    generator: np.ndarray
    """uint64 (4,): generator of the traversals."""
    training_generator: np.ndarray
    """uint64 (4,): generator of reservoirs, batches and new networks."""

    # On a compiled game.
    regret: np.ndarray = NO_ARRAY
    """float64 (sequences,): predicted advantages, which determine the next strategy."""
    cumulative: np.ndarray = NO_ARRAY
    """float64 (sequences,): sum over iterations of averaging weight times own reach; for the empty
    sequences the sum of the averaging weights."""
    history_values: np.ndarray = NO_ARRAY
    """float64 (players, histories): baseline of the edge into each history; empty without history
    baselines."""

    # On rules.
    baseline: np.ndarray = NO_ARRAY
    """float64 (players, sequences): baselines of each player; (0, sequences) without baselines."""
    factor: np.ndarray = NO_ARRAY
    """float64 (1,): factor of utilities before training; 0 before the first traversals."""
    output: np.ndarray = NO_ARRAY
    """int32 (infosets, most actions): network output of each action; -1 if there is no action."""
    player: np.ndarray = NO_ARRAY
    """int8 (infosets,): acting player."""
    own: np.ndarray = NO_ARRAY
    """int64 (infosets,): the player's last own sequence; -1 if there is none."""
    kind: np.ndarray = NO_ARRAY
    """int32 (infosets,): index of the infoset's tuple of actions."""
    labels: np.ndarray = NO_ARRAY
    """uint8 (bytes,): concatenated labels in UTF-8."""
    label_ends: np.ndarray = NO_ARRAY
    """int64 (infosets,): end of each label."""
    actions: np.ndarray = NO_ARRAY
    """uint8 (bytes,): concatenated labels of the actions of all tuples in UTF-8."""
    action_ends: np.ndarray = NO_ARRAY
    """int64 (actions,): end of each action's label."""
    kind_ends: np.ndarray = NO_ARRAY
    """int64 (tuples,): end of each tuple among the actions."""


class DeepStateFile(StateFile):
    """State of a solver with networks in files."""

    state_kind = DeepState

    @classmethod
    def restore(cls, problem: Problem, stored: Mapping[str, np.ndarray]) -> DeepState:  # noqa: D102
        game, algorithm = problem.game, problem.algorithm
        check_game(game, algorithm)
        players, is_compiled = game.n_players, game.layout != Layout.RULES
        infosets: Any = infosets_of(game, stored)
        shapes = (GameInfosets if is_compiled else RuleInfosets).shapes(infosets, algorithm, stored)
        is_table = algorithm.learner == "table" and not is_compiled
        fits = np.float64 if is_table else np.float32
        baselines = players * algorithm.has_baseline_network
        expected: Expected = {
            "strategy": ((infosets.n_sequences,), np.float64),
            "parameters": ((players, shapes.sizes[0]), fits),
            "baseline_parameters": ((baselines, shapes.sizes[1]), fits),
            "networks": ((shapes.stored_iterations, players, shapes.sizes[2]), fits),
            "touched": ((2,), np.int64),
            "generator": ((4,), np.uint64),
            "training_generator": ((4,), np.uint64),
            **shapes.arrays,
        }
        owner = game.name if is_compiled else "these infosets"
        check_arrays(stored, expected, f"{owner} and {algorithm.name}")
        arrays = {name: np.ascontiguousarray(stored[name]) for name in expected}
        arrays |= restore_buffers(stored, algorithm, players, (infosets.n_infosets, shapes.width))
        return DeepState(**arrays, **infosets.described)
