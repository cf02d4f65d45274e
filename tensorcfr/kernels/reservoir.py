"""Samples of a traversal, kept for networks to be trained on.

A traversal either learns at once, or it leaves samples from which a network learns later.  Which
of the two it does is known when it is compiled: :data:`TraversalState.samples` is None, or it is
not.  The functions here are called from inside the traversals and do the one or the other.

A reservoir keeps a uniform sample of everything that was added to it (J. S. Vitter, 'Random
sampling with a reservoir', ACM Transactions on Mathematical Software 11, 1985).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.core import types
from numba.extending import overload

from .._util.jit import inlined, kernel
from .local_rule import LocalRule
from .random import draw
from .sampling import add_to_average, update


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


def learn(
    samples: Samples | None,
    rule: LocalRule,
    parameters: tuple[float, ...],
    table: np.ndarray,
    block: np.uint64,
    count: np.uint64,
    instant: np.ndarray,
    offset: np.uint64,
    weight: float,
    explored: float,
) -> None:
    """Learn instantaneous regrets: set the infoset's regrets and strategy, or keep a sample.

    A sample's weight times its advantages is the iteration's weight times the regrets.

    Args:
        samples: Where to keep it; None to learn at once.
        rule: As for :func:`tensorcfr.kernels.sampling.update`, like the next six.
        parameters: Likewise.
        table: Likewise.
        block: Likewise.
        count: Likewise.
        instant: Likewise.
        offset: Likewise.
        weight: Weight of the iteration.
        explored: Probability with which the player's own draws lead here.
    """
    if samples is None:
        update(rule, parameters, table, block, count, instant, offset)
    else:
        _keep_advantages(samples, block, count, instant, offset, weight, explored)


@overload(learn, jit_options={"forceinline": True})
def _learn(  # type: ignore[no-untyped-def]
    samples, rule, parameters, table, block, count, instant, offset, weight, explored
):
    if isinstance(samples, types.NoneType):

        def act(  # type: ignore[no-untyped-def]
            samples, rule, parameters, table, block, count, instant, offset, weight, explored
        ):
            update(rule, parameters, table, block, count, instant, offset)
    else:

        def act(  # type: ignore[no-untyped-def]
            samples, rule, parameters, table, block, count, instant, offset, weight, explored
        ):
            _keep_advantages(samples, block, count, instant, offset, weight, explored)

    return act


def average_others(
    samples: Samples | None,
    table: np.ndarray,
    block: np.uint64,
    count: np.uint64,
    weight: float,
) -> None:
    """Add another player's strategy to the average, or keep it as a sample.

    Args:
        samples: Where to keep it; None to add it.
        table: As for :func:`tensorcfr.kernels.sampling.add_to_average`, like the next three.
        block: Likewise.
        count: Likewise.
        weight: Likewise.
    """
    if samples is None:
        add_to_average(table, block, count, weight)
    else:
        _keep_strategy(samples, table, block, count, weight)


@overload(average_others, jit_options={"forceinline": True})
def _average_others(samples, table, block, count, weight):  # type: ignore[no-untyped-def]
    if isinstance(samples, types.NoneType):
        return lambda samples, table, block, count, weight: add_to_average(
            table, block, count, weight
        )
    return lambda samples, table, block, count, weight: _keep_strategy(
        samples, table, block, count, weight
    )


def move_baseline(
    samples: Samples | None,
    table: np.ndarray,
    block: np.uint64,
    count: np.uint64,
    group: np.uint64,
    action: np.uint64,
    step: float,
    seen: float,
    expected: float,
) -> float:
    """Move a baseline towards the value that was seen, or keep a sample for its network.

    Args:
        samples: Where to keep it; None to move the baseline.
        table: Modified in place.
        block: The infoset's block.
        count: Its actions.
        group: Index in the table of the infoset's first baseline.
        action: The action that was played.
        step: How far the baseline moves, 0 to 1.
        seen: The estimate of the action's value.
        expected: The action's value by the baselines of the next decision, or the payoff.

    Returns:
        ``expected`` for the decision before this one.
    """
    if samples is None:
        table[group + action] += step * (seen - table[group + action])
        return expected
    return _keep_value(samples, table, block, count, group, action, expected)


@overload(move_baseline, jit_options={"forceinline": True})
def _move_baseline(  # type: ignore[no-untyped-def]
    samples, table, block, count, group, action, step, seen, expected
):
    if isinstance(samples, types.NoneType):

        def move(  # type: ignore[no-untyped-def]
            samples, table, block, count, group, action, step, seen, expected
        ):
            table[group + action] += step * (seen - table[group + action])
            return expected
    else:

        def move(  # type: ignore[no-untyped-def]
            samples, table, block, count, group, action, step, seen, expected
        ):
            return _keep_value(samples, table, block, count, group, action, expected)

    return move


@inlined
def _keep_advantages(
    samples: Samples,
    block: int,
    count: int,
    instant: np.ndarray,
    offset: int,
    weight: float,
    explored: float,
) -> None:
    at = _place(samples.advantages, samples, block, weight / explored)
    if at >= 0:
        for a in range(count):
            samples.advantages.values[at, a] = instant[offset + a] * explored


@inlined
def _keep_strategy(
    samples: Samples, table: np.ndarray, block: int, count: int, weight: float
) -> None:
    at = _place(samples.strategies, samples, block, weight)
    if at >= 0:
        for a in range(count):
            samples.strategies.values[at, a] = table[block + count + a]


@inlined
def _keep_value(
    samples: Samples,
    table: np.ndarray,
    block: int,
    count: int,
    group: int,
    action: int,
    expected: float,
) -> float:
    at = _place(samples.baselines, samples, block, 1.0)
    if at >= 0:
        samples.baselines.values[at, action] = expected
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
