"""Forward reach pass: own reaches from strategies, level by level, from the first level down.

* :func:`forward_from_strategies` reads stored strategies.
* :func:`forward_from_regrets` computes strategies from regrets, or from other weights, by regret
  matching.  The solver then need not store strategies.
* :func:`follow` computes reaches only, without an average.
* :func:`strategies` computes the strategies themselves.

The backward value pass is in :mod:`tensorcfr.kernels.backward_pass`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core import types

from .._util.jit import by_types, inlined
from ..model.arrays import LockedLanes, SequenceForm
from .locked_lanes import apply_lock, find_free_shares, has_least, mix_reaches, of_lock
from .parts import Lanes, Part
from .tiles import LONGEST, TILE, gather, run_length, tile_length

LEAST_TOTAL = 1e-37
"""Largest sum of positive regrets that counts as 0 in single precision.  Numbers below 1.2e-38 lose
digits there, and those below 2.9e-39 have no finite reciprocal."""


def _is_double(number: Any) -> bool:
    """Return whether a number, or its numba type, has double precision."""
    return isinstance(number, float) or number == types.float64


@by_types
def as_precision_of(reference: float, number: float) -> Any:
    """Convert ``number`` to the precision of ``reference``.

    A kernel in single precision takes half the time, provided that no operand has double precision.
    """
    # Compiled code passes the numba type of the number, not the number.
    if _is_double(reference):
        return lambda reference, number: np.float64(number)
    return lambda reference, number: np.float32(number)


@by_types
def zero_threshold(reference: float) -> Any:
    """Return the largest total that counts as 0, in the precision of ``reference``.

    It is positive in single precision, where ``1 / total`` could be infinite; see
    :data:`LEAST_TOTAL`.
    """
    return (
        (lambda reference: 0.0)
        if _is_double(reference)
        else (lambda reference: np.float32(LEAST_TOTAL))
    )


@inlined
def factor_of(total: float, negligible: float, zero: float, rest: float) -> float:
    """Return the factor of regret matching at an infoset.

    The probability of an action is ``max(weight, 0) * factor + constant``; :func:`constant_of`
    returns the constant.  All arguments have the same precision.

    Args:
        total: Sum of the positive weights of the infoset.
        negligible: Largest total that counts as 0, from :func:`zero_threshold`.
        zero: 0.
        rest: 1 - floor.
    """
    return zero if total <= negligible else rest / total


@inlined
def constant_of(total: float, negligible: float, floor_probability: float, uniform: float) -> float:
    """Return the constant of regret matching at an infoset; see :func:`factor_of`.

    Args:
        total: Sum of the positive weights of the infoset.
        negligible: Largest total that counts as 0, from :func:`zero_threshold`.
        floor_probability: Probability that the floor gives each action.
        uniform: Probability of an action under the uniform strategy.
    """
    return uniform if total <= negligible else floor_probability


@inlined
def match(
    weight: np.ndarray, lanes: Lanes, floor: float, factor: np.ndarray, constant: np.ndarray
) -> None:
    """Compute factors and constants of regret matching for some infosets.

    The probability of an action is ``max(weight, 0) * factor + constant``.

    Args:
        weight: float (sequences,): regrets, or other weights.
        lanes: The infosets.
        floor: Share of a strategy that is uniform.
        factor: float (at least one per infoset,): modified in place.
        constant: float (at least one per infoset,): modified in place.
    """
    actions, stride, offset, length = lanes
    zero, uniform = as_precision_of(factor[0], 0.0), as_precision_of(factor[0], 1.0 / actions)
    negligible = zero_threshold(factor[0])
    # Multiply by `uniform` instead of dividing by `actions` again: LLVM would divide in every lane.
    rest = as_precision_of(factor[0], 1.0 - floor)
    floor_probability = as_precision_of(factor[0], floor) * uniform
    factor[:length] = zero
    # Add two actions per loop, which halves the loads and stores of the totals.
    for a in range(0, actions - 1, 2):
        first, second = np.uint64(offset + a * stride), np.uint64(offset + (a + 1) * stride)
        for lane in range(np.uint64(length)):
            factor[lane] += max(weight[first + lane], zero) + max(weight[second + lane], zero)
    if actions % 2:
        first = np.uint64(offset + (actions - 1) * stride)
        for lane in range(np.uint64(length)):
            factor[lane] += max(weight[first + lane], zero)
    for lane in range(length):
        total = factor[lane]
        constant[lane] = constant_of(total, negligible, floor_probability, uniform)
        factor[lane] = factor_of(total, negligible, zero, rest)


@inlined
def forward_from_regrets(
    form: SequenceForm,
    player: int,
    weight: np.ndarray,
    floor: float,
    reach: np.ndarray,
    average: np.ndarray | None,
    averaging_weight: float,
    tile: np.ndarray,
    locks: LockedLanes | None,
) -> None:
    """Compute a player's own reaches from weights, and add them to the average.

    This is the forward reach pass for strategies that are not stored.  Levels run from the first
    one down, because the reach of a sequence is the reach of the sequence before its infoset times
    the probability of the action.

    Args:
        form: The game, or a part of it.
        player: Player whose reaches are computed.
        weight: float (sequences,): regrets, strategies or cumulative strategies, from which regret
            matching computes the strategies.
        floor: Share of every strategy that is uniform.
        reach: float (sequences,): modified in place; the reaches of the entries (of a game: the
            empty sequence) are set by the caller.
        average: float (sequences,): modified in place except at the entries; None for no average.
        averaging_weight: Weight of the reaches in the average.
        tile: float (TILE_ROWS, LONGEST): scratch in the precision of ``weight``.
        locks: Locked infosets, or None.
    """
    factor, constant, parent_reach = tile[0], tile[1], tile[2]
    zero = as_precision_of(tile[0, 0], 0.0)
    average_factor = as_precision_of(tile[0, 0], averaging_weight)
    parent = form.infoset_parent
    to = Target(weight, reach, parent_reach, floor, averaging_weight)
    # Buckets are in the order of their levels, so the reaches before an infoset are ready.
    for b in range(form.player_buckets[player], form.player_buckets[player + 1]):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        run = 0
        if locks is not None:
            lock = locks.bucket[b]
        while run < lanes:
            # A locked lane ends the run of free lanes, and is processed alone.
            end = lanes
            if locks is not None and lock < locks.bucket[b + 1]:
                end = locks.lane[lock]
            begin, n_consecutive = run, 0
            while begin < end:
                offset = form.bucket_sequence[b] + begin
                infoset = form.bucket_infoset[b] + begin
                n_consecutive = run_length(
                    parent, infoset, min(LONGEST, end - begin), n_consecutive
                )
                length = tile_length(n_consecutive, end - begin)
                gather(reach, parent, infoset, length, n_consecutive, parent_reach)
                begin += length
                if actions == 1:
                    # A single action has probability 1: copy the reach before the infoset.
                    first = np.uint64(offset)
                    for lane in range(np.uint64(length)):
                        reach[first + lane] = parent_reach[lane]
                        if average is not None:
                            average[first + lane] += average_factor * parent_reach[lane]
                    continue
                if actions == 2:
                    _reach_two(to, average, offset, lanes, length)
                elif actions == 3:
                    _reach_three(to, average, offset, lanes, length)
                else:
                    match(weight, Lanes(actions, lanes, offset, length), floor, factor, constant)
                    for lane in range(length):
                        # From here on, reach = max(weight, 0) * factor + constant.
                        factor[lane] *= parent_reach[lane]
                        constant[lane] *= parent_reach[lane]
                    for a in range(actions):
                        first = np.uint64(offset + a * lanes)
                        for lane in range(np.uint64(length)):
                            own_reach = (
                                max(weight[first + lane], zero) * factor[lane] + constant[lane]
                            )
                            reach[first + lane] = own_reach
                            if average is not None:
                                average[first + lane] += average_factor * own_reach
                if locks is not None:  # noqa: SIM102
                    if has_least(locks, player):
                        mixed = Lanes(actions, lanes, offset, length)
                        mix_reaches(locks.least, mixed, parent_reach, reach, factor)
            if locks is not None and end < lanes:
                offset = form.bucket_sequence[b] + end
                before = reach[form.infoset_parent[form.bucket_infoset[b] + end]]
                sigma = locked_strategy(
                    weight[offset:], lanes, of_lock(locks, lock, actions), floor
                )
                for a in range(actions):
                    reach[offset + a * lanes] = before * sigma[a]
                    if average is not None:
                        average[offset + a * lanes] += average_factor * reach[offset + a * lanes]
                lock += 1
            run = end + 1


class Target(NamedTuple):
    """Arguments of the forward pass at infosets of two or three actions."""

    weight: np.ndarray
    reach: np.ndarray
    parent_reach: np.ndarray
    """float (LONGEST,): reach of the sequence before each infoset."""
    floor: float
    averaging_weight: float


@inlined
def _reach_two(
    to: Target, average: np.ndarray | None, offset: int, lanes: int, length: int
) -> None:
    """Compute the reaches of infosets with two actions, as :func:`forward_from_regrets` does.

    Totals and factors stay in registers, which halves the time.  Most infosets have few actions.
    """
    weight, reach, parent_reach, floor, averaging_weight = to
    zero, uniform = as_precision_of(parent_reach[0], 0.0), as_precision_of(parent_reach[0], 0.5)
    negligible = zero_threshold(parent_reach[0])
    rest = as_precision_of(parent_reach[0], 1.0 - floor)
    floor_probability = as_precision_of(parent_reach[0], floor / 2.0)
    average_factor = as_precision_of(parent_reach[0], averaging_weight)
    s0, s1 = np.uint64(offset), np.uint64(offset + lanes)
    for lane in range(np.uint64(length)):
        x0, x1 = max(weight[s0 + lane], zero), max(weight[s1 + lane], zero)
        total = x0 + x1
        factor = factor_of(total, negligible, zero, rest) * parent_reach[lane]
        constant = constant_of(total, negligible, floor_probability, uniform) * parent_reach[lane]
        x0, x1 = x0 * factor + constant, x1 * factor + constant
        reach[s0 + lane], reach[s1 + lane] = x0, x1
        if average is not None:
            average[s0 + lane] += average_factor * x0
            average[s1 + lane] += average_factor * x1


@inlined
def _reach_three(
    to: Target, average: np.ndarray | None, offset: int, lanes: int, length: int
) -> None:
    """Compute the reaches of infosets with three actions; see :func:`_reach_two`."""
    weight, reach, parent_reach, floor, averaging_weight = to
    zero = as_precision_of(parent_reach[0], 0.0)
    uniform = as_precision_of(parent_reach[0], 1.0 / 3.0)
    negligible = zero_threshold(parent_reach[0])
    rest = as_precision_of(parent_reach[0], 1.0 - floor)
    floor_probability = as_precision_of(parent_reach[0], floor / 3.0)
    average_factor = as_precision_of(parent_reach[0], averaging_weight)
    s0, s1, s2 = np.uint64(offset), np.uint64(offset + lanes), np.uint64(offset + 2 * lanes)
    for lane in range(np.uint64(length)):
        x0, x1 = max(weight[s0 + lane], zero), max(weight[s1 + lane], zero)
        x2 = max(weight[s2 + lane], zero)
        total = x0 + x1 + x2
        factor = factor_of(total, negligible, zero, rest) * parent_reach[lane]
        constant = constant_of(total, negligible, floor_probability, uniform) * parent_reach[lane]
        x0, x1 = x0 * factor + constant, x1 * factor + constant
        x2 = x2 * factor + constant
        reach[s0 + lane], reach[s1 + lane], reach[s2 + lane] = x0, x1, x2
        if average is not None:
            average[s0 + lane] += average_factor * x0
            average[s1 + lane] += average_factor * x1
            average[s2 + lane] += average_factor * x2


@inlined
def locked_strategy(
    weight: np.ndarray, lanes: int, probability: np.ndarray, floor: float
) -> np.ndarray:
    """Compute the strategy of a locked infoset by regret matching over its free actions.

    Args:
        weight: float: regrets, or other weights; action ``a`` is at ``a * lanes``.
        lanes: Distance between consecutive actions.
        probability: float64 (actions,): probabilities of the lock; negative for free actions.
        floor: Uniform share of the total probability of the free actions.

    Returns:
        float64 (actions,): the strategy.
    """
    strategy = np.empty(len(probability))
    for a in range(len(probability)):
        strategy[a] = max(weight[a * lanes], 0.0)
    apply_lock(strategy, 1, probability, floor)
    return strategy


@inlined
def strategies(
    form: SequenceForm,
    weight: np.ndarray,
    floor: float,
    strategy: np.ndarray,
    base: int,
    locks: LockedLanes | None,
    total: np.ndarray,
) -> None:
    """Compute the behaviour strategies of all players by regret matching.

    Probabilities are proportional to the positive weights of an infoset, and uniform if there are
    none.

    Args:
        form: The game, or a part of it.
        weight: float (sequences,): regrets, or other weights.
        floor: Share of every strategy that is uniform.
        strategy: float: modified in place; the probability of sequence ``s`` is at ``base + s``.
        base: Offset of the sequences in ``strategy``; may be negative.
        locks: Locked infosets, or None.
        total: float64 (at least TILE,): scratch.
    """
    negligible = zero_threshold(weight[0])
    for b in range(form.bucket_lanes.shape[0]):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        floor_probability, uniform = floor / actions, 1.0 / actions
        # Loop over lanes inside the loop over actions: lanes of one action are adjacent in memory.
        for begin in range(0, lanes, TILE):
            length = min(TILE, lanes - begin)
            first = form.bucket_sequence[b] + begin
            total[:length] = 0.0
            for a in range(actions):
                w = weight[first + a * lanes :]
                for lane in range(length):
                    total[lane] += max(w[lane], 0.0)
            for a in range(actions):
                w, sigma = weight[first + a * lanes :], strategy[base + first + a * lanes :]
                for lane in range(length):
                    # Divide, instead of multiplying by a reciprocal: a pure strategy is then
                    # exactly 1.
                    probability = (
                        max(w[lane], 0.0) / total[lane] if total[lane] > negligible else uniform
                    )
                    sigma[lane] = (1.0 - floor) * probability + floor_probability
            if locks is not None:  # noqa: SIM102
                if locks.least.shape[0] > 0:
                    _mix_strategies(
                        locks.least, Lanes(actions, lanes, first, length), strategy, base, total
                    )
        if locks is not None:
            for lock in range(locks.bucket[b], locks.bucket[b + 1]):
                offset = form.bucket_sequence[b] + locks.lane[lock]
                sigma = locked_strategy(
                    weight[offset:], lanes, of_lock(locks, lock, actions), floor
                )
                for a in range(actions):
                    strategy[base + offset + a * lanes] = sigma[a]


@inlined
def _mix_strategies(
    least: np.ndarray, lanes: Lanes, strategy: np.ndarray, base: int, free_share: np.ndarray
) -> None:
    """Mix the free strategies of infosets with the least probabilities, in place.

    The least probabilities of players without a model are 0.
    """
    actions, stride, first, length = lanes
    find_free_shares(least, lanes, free_share)
    for a in range(actions):
        for lane in range(length):
            s = first + a * stride + lane
            strategy[base + s] = free_share[lane] * strategy[base + s] + least[s]


@inlined
def follow(
    form: SequenceForm,
    player: int,
    strategy: np.ndarray,
    reach: np.ndarray,
    parent_reach: np.ndarray,
) -> None:
    """Compute a player's own reaches under a strategy, without an average.

    Args:
        form: The game.
        player: Player whose reaches are computed.
        strategy: float (sequences,).
        reach: float (sequences,): modified in place, at the player's sequences.
        parent_reach: float64 (at least TILE,): scratch.
    """
    reach[form.player_sequences[player]] = 1.0
    for b in range(form.player_buckets[player], form.player_buckets[player + 1]):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        for begin in range(0, lanes, TILE):
            length = min(TILE, lanes - begin)
            first = form.bucket_sequence[b] + begin
            parent = form.infoset_parent[form.bucket_infoset[b] + begin :]
            for lane in range(length):
                parent_reach[lane] = reach[parent[lane]]
            for a in range(actions):
                sigma, x = strategy[first + a * lanes :], reach[first + a * lanes :]
                for lane in range(length):
                    x[lane] = parent_reach[lane] * sigma[lane]


@inlined
def forward_from_strategies(
    part: Part,
    player: int,
    first_hand: int,
    last_hand: int,
    averaging_weight: float,
    tile: np.ndarray,
    locks: LockedLanes | None,
) -> None:
    """Add a player's reaches to the average, then compute new reaches from the stored strategies.

    This is the forward reach pass for strategies that are stored.  It runs after the backward value
    pass, which has already replaced the strategies.  The reaches on entry belong to the strategies
    that this iteration played, so they are averaged before they are overwritten.

    Args:
        part: Game and arrays; ``reach`` and ``average`` are modified in place, at the empty
            sequence only if ``first_hand`` is 0.
        player: Player whose reaches are computed.
        first_hand: First hand to process.
        last_hand: Hand after the last one to process.
        averaging_weight: Weight in the average of the reaches on entry.
        tile: float (at least 2, TILE): scratch in the precision of the reaches.
        locks: Locks, whose least probabilities apply; or None.
    """
    form, reach, average, strategy = part.form, part.reach, part.average, part.strategy
    parent_reach, average_factor = tile[0], as_precision_of(tile[0, 0], averaging_weight)
    reach_factor, mixes = average_factor, False
    if locks is not None:  # noqa: SIM102
        if has_least(locks, player):
            # The average is that of the free strategy, which a loop of its own adds.
            reach_factor, mixes = as_precision_of(tile[0, 0], 0.0), True
    # The empty sequence has reach 1 and belongs to no hand: one thread adds its weight.
    if first_hand == 0 < last_hand:
        average[form.player_sequences[player]] += averaging_weight
    for b in range(form.player_buckets[player], form.player_buckets[player + 1]):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        # A bucket has only the hands of its mask, in the order of the hands, so each range of hands
        # is a range of lanes.
        first_lane = form.hand_rank[form.bucket_mask[b], first_hand] * form.bucket_stride[b]
        last_lane = form.hand_rank[form.bucket_mask[b], last_hand] * form.bucket_stride[b]
        for begin in range(first_lane, last_lane, TILE):
            length = min(TILE, last_lane - begin)
            offset = form.bucket_sequence[b] + begin
            parent = form.infoset_parent[form.bucket_infoset[b] + begin :]
            for lane in range(length):
                parent_reach[lane] = reach[parent[lane]]
            if locks is not None:  # noqa: SIM102
                if mixes:
                    _average_free_strategy(
                        locks.least,
                        Lanes(actions, lanes, offset, length),
                        reach,
                        average,
                        average_factor,
                        tile[1],
                    )
            for a in range(actions):
                x = reach[offset + a * lanes :]
                average_x = average[offset + a * lanes :]
                sigma = strategy[offset + a * lanes :]  # type: ignore[index]
                for lane in range(length):
                    average_x[lane] += reach_factor * x[lane]
                    x[lane] = parent_reach[lane] * sigma[lane]
            if locks is not None:  # noqa: SIM102
                if mixes:
                    mixed = Lanes(actions, lanes, offset, length)
                    mix_reaches(locks.least, mixed, parent_reach, reach, tile[1])


@inlined
def _average_free_strategy(
    least: np.ndarray,
    lanes: Lanes,
    reach: np.ndarray,
    average: np.ndarray,
    averaging_weight: float,
    before: np.ndarray,
) -> None:
    """Add the part of some reaches that the free strategy caused to the average.

    Args:
        least: float (sequences,): least probabilities.
        lanes: The infosets.
        reach: float (sequences,): mixed reaches, see :func:`mix_reaches`.
        average: float (sequences,): modified in place.
        averaging_weight: Weight of the reaches in the average.
        before: float (at least one per infoset,): scratch.
    """
    actions, stride, offset, length = lanes
    zero = as_precision_of(before[0], 0.0)
    # The reach before an infoset is the sum over its actions; the stored one is new already.
    before[:length] = zero
    for a in range(actions):
        s = np.uint64(offset + a * stride)
        for lane in range(np.uint64(length)):
            before[lane] += reach[s + lane]
    for a in range(actions):
        s = np.uint64(offset + a * stride)
        for lane in range(np.uint64(length)):
            free = max(reach[s + lane] - least[s + lane] * before[lane], zero)
            average[s + lane] += averaging_weight * free
