"""Samples of a traversal, stored to train networks.

A traversal either updates infosets directly, or stores samples from which a network learns later.
This is decided at compile time: its argument ``samples`` is None, or it is not.

A reservoir holds a uniform sample of everything that was added to it (J. S. Vitter, 'Random
sampling with a reservoir', ACM Transactions on Mathematical Software 11, 1985).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._util.jit import inlined, kernel
from .random import draw


class Reservoir(NamedTuple):
    """Buffer of samples; modified in place."""

    infoset: np.ndarray
    """int32 (capacity,): the infoset of each sample."""
    weight: np.ndarray
    """float64 (capacity,): weight of each sample."""
    values: np.ndarray
    """float64 (capacity, most actions): a number for each action; nan where there is none."""
    seen: np.ndarray
    """int64 (1,): number of samples added so far, including those that were dropped."""


class Samples(NamedTuple):
    """Buffers for the samples of a traversal; modified in place."""

    advantages: Reservoir
    """Sampled advantages at the infosets of the updating player."""
    strategies: Reservoir
    """Strategies at the infosets of the others; capacity 0 to store none."""
    baselines: Reservoir
    """Values of the actions that were played, for the updating player; capacity 0 to store none."""
    infoset: np.ndarray
    """int32 (table,): infoset of each block, at the index of the block's regrets."""
    generator: np.ndarray
    """uint64 (4,): generator of the reservoirs, so that their draws do not change those of the
    traversals."""
    history: np.ndarray
    """float64 (players * nodes,): baselines of the action that leads to each history, for each
    updating player; empty if baselines belong to infosets."""
    step: float
    """Step size of the baselines of histories: the share of the distance to the sampled value."""


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
    """Store instantaneous regrets as a sample.

    A sample's weight times its advantages is the iteration's weight times the regrets.

    Args:
        samples: Modified in place.
        block: The infoset's block.
        count: Number of its actions.
        instant: float64: instantaneous regrets.
        offset: Index of the infoset's first regret in ``instant``.
        weight: Averaging weight of the iteration.
        explored: Probability of the player's own draws on the way to the infoset.
    """
    # Regrets were divided by `explored`, which gives them a large variance: undo that, and put the
    # factor into the sample's weight.
    slot = _reserve_slot(samples.advantages, samples, block, weight / explored)
    if slot >= 0:
        for a in range(count):
            samples.advantages.values[slot, a] = instant[offset + a] * explored


@inlined
def keep_strategy(
    samples: Samples, table: np.ndarray, block: int, count: int, weight: float
) -> None:
    """Store another player's strategy as a sample.

    The arguments are those of :func:`tensorcfr.kernels.sampling_steps.add_to_average`.
    """
    slot = _reserve_slot(samples.strategies, samples, block, weight)
    if slot >= 0:
        for a in range(count):
            samples.strategies.values[slot, a] = table[block + count + a]


@inlined
def look_up_values(samples: Samples, table: np.ndarray, count: int, group: int, child: int) -> None:
    """Copy the baselines of a history's actions to the baselines of its infoset in the table.

    Args:
        samples: Baselines of histories; nothing happens if they are empty.
        table: Modified in place.
        count: Number of actions.
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
    """Store the value of the action that was played, or move the history's baseline towards it.

    Args:
        samples: Modified in place.
        table: Baselines and strategies.
        block: The infoset's block.
        count: Number of its actions.
        group: Index in the table of the infoset's first baseline.
        action: The action that was played.
        child: Index of the baseline of the first action, as for :func:`look_up_values`.
        expected: The action's value by the baselines of the next decision, or the payoff.

    Returns:
        ``expected`` for the decision before this one.
    """
    slot = _reserve_slot(samples.baselines, samples, block, 1.0)
    if slot >= 0:
        samples.baselines.values[slot, action] = expected
    if samples.history.shape[0] > 0:
        samples.history[child + action] += samples.step * (expected - table[group + action])
    before = 0.0
    for a in range(count):
        before += table[block + count + a] * table[group + a]
    return before


@inlined
def _reserve_slot(reservoir: Reservoir, samples: Samples, block: int, weight: float) -> np.int64:
    """Reserve a slot of the reservoir for a sample, without its values.

    Returns:
        Index of the slot, with all values nan; -1 if the sample is dropped.
    """
    capacity = np.int64(reservoir.infoset.shape[0])
    if capacity == 0:
        return np.int64(-1)
    slot = reservoir.seen[0]
    reservoir.seen[0] += 1
    if slot >= capacity:
        # Keep the sample with probability capacity / (samples so far), in a random slot.
        slot = np.int64(draw(samples.generator) * np.float64(slot + 1))
        if slot >= capacity:
            return np.int64(-1)
    reservoir.infoset[slot] = samples.infoset[block]
    reservoir.weight[slot] = weight
    for a in range(reservoir.values.shape[1]):
        reservoir.values[slot, a] = np.nan
    return slot


class Batches(NamedTuple):
    """Samples drawn for some updates of a network; modified in place.

    Samples with the same row of features are added: up to a constant, the squared error of a
    network depends only on their total weight and their weighted sum.
    """

    row: np.ndarray
    """int32 (updates, rows): row of the table of features."""
    weight: np.ndarray
    """float32 (updates, rows, outputs): total weight of the samples, as a share of the batch's
    weight."""
    total: np.ndarray
    """float32 (updates, rows, outputs): sum of share times value."""
    square: np.ndarray
    """float32 (updates,): sum of share times squared value; the constant part of the loss."""


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
    """Draw samples with replacement, and add those of the same row.

    Args:
        reservoir: Reservoir with at least one sample.
        row_of: int32 (infosets,): the infoset's row of features.
        output_of: int32 (infosets, most actions): the network's output of each action.
        first_row: First row of features of this network.
        batch: Number of samples per update.
        together: Whether slot ``r`` of a batch belongs to row ``first_row + r``, so that samples of
            a row are added; otherwise each sample has a slot.
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
            sample = np.int64(draw(generator) * np.float64(filled))
            infoset = reservoir.infoset[sample]
            row = row_of[infoset]
            slot = np.int64(row) - first_row if together else np.int64(k)
            if not together:
                batches.row[u, k] = row
            w = reservoir.weight[sample]
            sum_weight += w
            for a in range(reservoir.values.shape[1]):
                value = reservoir.values[sample, a] * scale
                if not np.isnan(value):
                    output = output_of[infoset, a]
                    weight[slot, output] += w
                    total[slot, output] += w * value
                    square += w * value * value
        for r in range(batches.row.shape[1]):
            for output in range(weight.shape[1]):
                weight[r, output] /= sum_weight
                total[r, output] /= sum_weight
        batches.square[u] = square / sum_weight
