"""What a solver with networks keeps between iterations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._util.one_line import arrays_in_line
from ..algorithms import Deep
from ..solvers.kept import Expected, check_arrays
from ..solvers.sources import NOTHING, infosets_of
from .buffers import restored_buffers
from .infosets import GameInfosets, RuleInfosets, check_game


class DeepState(NamedTuple):
    """The state of a solver with networks between iterations.

    A *fit* is the parameters of a network, float32.  On rules, infosets are in the order in which
    they were entered, a sequence is an action of one of them, and a fit of a table is its
    predictions for all sequences, float64.
    """

    def __repr__(self) -> str:
        return arrays_in_line(self)

    strategy: np.ndarray
    """float64 (sequences,): behaviour strategy; 1 for the empty sequences of a compiled game."""
    parameters: np.ndarray
    """(players, numbers): the fits of the advantages; zeros before the first."""
    baseline_parameters: np.ndarray
    """(players, numbers): those of the baselines; (0, 0) without any."""
    networks: np.ndarray
    """(iterations, players, numbers): the fits that each iteration's strategies come from; none
    unless they are kept."""
    features: np.ndarray
    """float32 (infosets, width)."""
    advantage_infoset: np.ndarray
    """int32 (samples,): the infoset of each sample of advantages, the reservoirs of the players one
    after the other."""
    advantage_weight: np.ndarray
    """float64 (samples,): its weight."""
    advantage_values: np.ndarray
    """float64 (samples, most actions): a number for each action; nan where there is none."""
    advantage_seen: np.ndarray
    """int64 (players,): samples that were added to each reservoir."""
    average_infoset: np.ndarray
    """The same of the strategies that a network of the average is trained on; empty without it."""
    average_weight: np.ndarray
    """As ``advantage_weight``."""
    average_values: np.ndarray
    """As ``advantage_values``."""
    average_seen: np.ndarray
    """As ``advantage_seen``."""
    baseline_infoset: np.ndarray
    """The same of the values that networks of the baselines are trained on; empty without them."""
    baseline_weight: np.ndarray
    """As ``advantage_weight``."""
    baseline_values: np.ndarray
    """As ``advantage_values``."""
    baseline_seen: np.ndarray
    """As ``advantage_seen``."""
    touched: np.ndarray
    """int64 (2,): histories visited, and decision nodes among them."""
    generator: np.ndarray
    """uint64 (4,): random numbers of the traversals."""
    training_generator: np.ndarray
    """uint64 (4,): random numbers of reservoirs, batches and fresh networks."""

    # On a compiled game.
    regret: np.ndarray = NOTHING
    """float64 (sequences,): predicted advantages, from which the next strategy is made."""
    cumulative: np.ndarray = NOTHING
    """float64 (sequences,): sum over iterations of weight times own reach; for the empty sequences
    the sum of the weights."""
    history_values: np.ndarray = NOTHING
    """float64 (players, histories): the baselines of the step into each history; not there
    without any."""

    # On rules.
    baseline: np.ndarray = NOTHING
    """float64 (players, sequences): the baselines of each player; (0, sequences) without any."""
    factor: np.ndarray = NOTHING
    """float64 (1,): factor of utilities before training; 0 before the first traversals."""
    output: np.ndarray = NOTHING
    """int32 (infosets, most actions): the network's output of each action; -1 where there is
    none."""
    player: np.ndarray = NOTHING
    """int8 (infosets,): who acts."""
    own: np.ndarray = NOTHING
    """int64 (infosets,): the player's last sequence before; -1 without one."""
    kind: np.ndarray = NOTHING
    """int32 (infosets,): which of the tuples of actions the infoset has."""
    labels: np.ndarray = NOTHING
    """uint8: the labels in UTF-8, one after the other."""
    label_ends: np.ndarray = NOTHING
    """int64 (infosets,): where each label ends."""
    actions: np.ndarray = NOTHING
    """uint8: the labels of the actions of all tuples, in UTF-8, one after the other."""
    action_ends: np.ndarray = NOTHING
    """int64: where each action ends."""
    kind_ends: np.ndarray = NOTHING
    """int64 (tuples,): where each tuple ends among the actions."""


def restored(game: Any, algorithm: Deep, kept: Mapping[str, np.ndarray]) -> DeepState:
    """The state that arrays came from, checked; as
    :meth:`tensorcfr.solvers.base.IterativeSolver.restore`."""
    check_game(game, algorithm)
    players, is_compiled = game.n_players, game.is_compiled
    infosets: Any = infosets_of(game, kept)
    shapes = (GameInfosets if is_compiled else RuleInfosets).shapes(infosets, algorithm, kept)
    is_table = algorithm.learner == "table" and not is_compiled
    fits = np.float64 if is_table else np.float32
    baselines = players * algorithm.has_baseline_network
    expected: Expected = {
        "strategy": ((infosets.n_sequences,), np.float64),
        "parameters": ((players, shapes.sizes[0]), fits),
        "baseline_parameters": ((baselines, shapes.sizes[1]), fits),
        "networks": ((shapes.kept, players, shapes.sizes[2]), fits),
        "touched": ((2,), np.int64),
        "generator": ((4,), np.uint64),
        "training_generator": ((4,), np.uint64),
        **shapes.arrays,
    }
    owner = game.name if is_compiled else "these infosets"
    check_arrays(kept, expected, f"{owner} and {algorithm.name}")
    found = {name: np.ascontiguousarray(kept[name]) for name in expected}
    found |= restored_buffers(kept, algorithm, players, (infosets.n_infosets, shapes.width))
    return DeepState(**found, **infosets.described)
