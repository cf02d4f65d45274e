"""Samples of a traversal, kept for networks to be trained on.

A traversal either learns at once, or it leaves samples from which a network learns later.  Which
of the two it does is known when it is compiled: its argument ``samples`` is None, or it is not.

A reservoir keeps a uniform sample of everything that was added to it (J. S. Vitter, 'Random
sampling with a reservoir', ACM Transactions on Mathematical Software 11, 1985).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._util.jit import inlined, kernel
from .random import draw


class Reservoir(NamedTuple):
    """A buffer of samples; modified in place."""

    infoset: np.ndarray
    """int32 (capacity,): the infoset of each sample."""
    weight: np.ndarray
    """float64 (capacity,): its weight."""
    values: np.ndarray
    """float64 (capacity, most actions): a number for each action; nan where there is none."""
    seen: np.ndarray
    """int64 (1,): samples that were added, whether they are still here or not."""


class Samples(NamedTuple):
    """Where a traversal leaves its samples; modified in place."""

    advantages: Reservoir
    """The sampled advantages at the infosets of the player who is updated."""
    strategies: Reservoir
    """The strategies at the infosets of the others; nothing is kept if its capacity is 0."""
    baselines: Reservoir
    """The values of the actions that were played, for the player who is updated; likewise."""
    infoset: np.ndarray
    """int32 (table,): the infoset of each block, at the block's regrets."""
    generator: np.ndarray
    """uint64 (4,): the random numbers of the reservoirs, so that their draws leave those of the
    traversals alone."""
    history: np.ndarray
    """float64 (players * nodes,): baselines of the step into every history, for each player who is
    updated; empty if baselines are those of infosets."""
    step: float
    """How far a baseline of a history moves towards what was sampled."""


@inlined
def keep_advantages(
    samples: Samples,
    block: int,
    count: int,
    instant: np.ndarray,
    offset: int,
    weight: float,
    explored: float,
) -> None:
    """Keep instantaneous regrets.  A sample's weight times its advantages is the iteration's weight
    times the regrets.

    Args:
        samples: Where to keep them; modified.
        block: As for :func:`tensorcfr.kernels.sampling.update`, like the next three.
        count: Likewise.
        instant: Likewise.
        offset: Likewise.
        weight: Weight of the iteration.
        explored: Probability with which the player's own draws lead here.
    """
    at = _place(samples.advantages, samples, block, weight / explored)
    if at >= 0:
        for a in range(count):
            samples.advantages.values[at, a] = instant[offset + a] * explored


@inlined
def keep_strategy(
    samples: Samples, table: np.ndarray, block: int, count: int, weight: float
) -> None:
    """Keep another player's strategy; arguments as for
    :func:`tensorcfr.kernels.sampling.add_to_average`."""
    at = _place(samples.strategies, samples, block, weight)
    if at >= 0:
        for a in range(count):
            samples.strategies.values[at, a] = table[block + count + a]


@inlined
def look_up_values(samples: Samples, table: np.ndarray, count: int, group: int, child: int) -> None:
    """Write the baselines of a history's actions where the baselines of its infoset are.

    Args:
        samples: Has the baselines of histories; without any, nothing is written.
        table: Modified in place.
        count: Actions.
        group: Index in the table of the infoset's first baseline.
        child: Index of the baseline of the first action.
    """
    if samples.history.shape[0] > 0:
        for a in range(count):
            table[group + a] = samples.history[child + a]


@inlined
def keep_value(
    samples: Samples,
    table: np.ndarray,
    block: int,
    count: int,
    group: int,
    action: int,
    child: int,
    expected: float,
) -> float:
    """Keep the value of the action that was played, for the network of baselines, or move the
    baseline of the history.

    Args:
        samples: Where to keep it; modified.
        table: The baselines and the strategy.
        block: The infoset's block.
        count: Its actions.
        group: Index in the table of the infoset's first baseline.
        action: The action that was played.
        child: As for :func:`look_up_values`.
        expected: The action's value by the baselines of the next decision, or the payoff.

    Returns:
        ``expected`` for the decision before this one.
    """
    at = _place(samples.baselines, samples, block, 1.0)
    if at >= 0:
        samples.baselines.values[at, action] = expected
    if samples.history.shape[0] > 0:
        samples.history[child + action] += samples.step * (expected - table[group + action])
    before = 0.0
    for a in range(count):
        before += table[block + count + a] * table[group + a]
    return before


@inlined
def _place(reservoir: Reservoir, samples: Samples, block: int, weight: float) -> np.int64:
    """Enter a sample without its values.

    Returns:
        Its place, where all values are nan; -1 if it is not kept.
    """
    capacity = np.int64(reservoir.infoset.shape[0])
    if capacity == 0:
        return np.int64(-1)
    at = reservoir.seen[0]
    reservoir.seen[0] += 1
    if at >= capacity:
        at = np.int64(draw(samples.generator) * np.float64(at + 1))
        if at >= capacity:
            return np.int64(-1)
    reservoir.infoset[at] = samples.infoset[block]
    reservoir.weight[at] = weight
    for a in range(reservoir.values.shape[1]):
        reservoir.values[at, a] = np.nan
    return at


class Batches(NamedTuple):
    """Samples drawn for some updates of a network; modified in place.

    The samples of a row of features are added up, because the squared error of a network depends on
    them through their total weight and their weighted sum only, up to a constant.
    """

    row: np.ndarray
    """int32 (updates, rows): rows of the table of features."""
    weight: np.ndarray
    """float32 (updates, rows, outputs): total weight of the samples, as a share of the batch's."""
    total: np.ndarray
    """float32 (updates, rows, outputs): sum of share times value."""
    square: np.ndarray
    """float32 (updates,): sum of share times squared value, so that losses are whole."""


@kernel
def draw_batches(
    reservoir: Reservoir,
    row_of: np.ndarray,
    output_of: np.ndarray,
    first_row: int,
    batch: int,
    together: bool,
    scale: float,
    generator: np.ndarray,
    batches: Batches,
) -> None:
    """Draw samples, with replacement, and add them up.

    Args:
        reservoir: What to draw from; it holds a sample at least.
        row_of: int32 (infosets,): the infoset's row of features.
        output_of: int32 (infosets, most actions): the network's output of each action.
        first_row: The first row of features that the network is for.
        batch: Samples for each update.
        together: Whether place ``r`` of a batch is for row ``first_row + r``, so that samples of a
            row are added up; otherwise it is for one sample.
        scale: Factor of the values.
        generator: uint64 (4,); modified in place.
        batches: Modified in place.
    """
    filled = min(reservoir.seen[0], np.int64(reservoir.infoset.shape[0]))
    for u in range(batches.row.shape[0]):
        weight, total = batches.weight[u], batches.total[u]
        weight[:] = 0.0
        total[:] = 0.0
        if together:
            for r in range(batches.row.shape[1]):
                batches.row[u, r] = first_row + r
        sum_weight, square = 0.0, 0.0
        for k in range(batch):
            at = np.int64(draw(generator) * np.float64(filled))
            infoset = reservoir.infoset[at]
            row = row_of[infoset]
            place = np.int64(row) - first_row if together else np.int64(k)
            if not together:
                batches.row[u, k] = row
            w = reservoir.weight[at]
            sum_weight += w
            for a in range(reservoir.values.shape[1]):
                value = reservoir.values[at, a] * scale
                if not np.isnan(value):
                    output = output_of[infoset, a]
                    weight[place, output] += w
                    total[place, output] += w * value
                    square += w * value * value
        for r in range(batches.row.shape[1]):
            for output in range(weight.shape[1]):
                weight[r, output] /= sum_weight
                total[r, output] /= sum_weight
        batches.square[u] = square / sum_weight
