"""The way down a sequence form: reaches from strategies, added to the averages.

A solver either keeps strategies, or makes them from what it keeps where they are needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core import types

from .._util.jit import chosen, inlined
from ..model.arrays import LockedLanes, SequenceForm
from .locks import of_lock, share_out
from .parts import Lanes, Part
from .tiles import LONGEST, TILE, gather, run_length, tile_length

LEAST_TOTAL = 1e-37
"""Regrets of an infoset that sum to less are no regrets in single precision, where numbers below
1.2e-38 lose their digits and those below 2.9e-39 have no reciprocal."""


def _is_double(one: Any) -> bool:
    """Whether a number, or its type, is of double precision."""
    return isinstance(one, float) or one == types.float64


@chosen
def like(one: float, number: float) -> Any:
    """A number in the floats of another: single precision takes half the time where no operand is
    of double precision."""
    # Numba does not call the type of a number.
    if _is_double(one):
        return lambda one, number: np.float64(number)
    return lambda one, number: np.float32(number)


@chosen
def nothing_of(one: float) -> Any:
    """Totals up to here count as 0, in the floats of a number: in single precision ``1 / total``
    would be infinite."""
    return (lambda one: 0.0) if _is_double(one) else (lambda one: np.float32(LEAST_TOTAL))


@inlined
def factor_of(total: float, nothing: float, zero: float, rest: float) -> float:
    """Regret matching: a strategy is ``max(weight, 0) * factor + constant``.

    :func:`constant_of` has the other part.  All numbers are of the same floats.

    Args:
        total: Sum of the positive weights of an infoset.
        nothing: Totals up to here count as 0; see :func:`nothing_of`.
        zero: 0.
        rest: 1 - floor.
    """
    return zero if total <= nothing else rest / total


@inlined
def constant_of(total: float, nothing: float, least: float, uniform: float) -> float:
    """See :func:`factor_of`.

    Args:
        total: Likewise.
        nothing: Likewise.
        least: The floor's share of each action.
        uniform: Probability of an action under the uniform strategy.
    """
    return uniform if total <= nothing else least


@inlined
def match(
    weight: np.ndarray, lanes: Lanes, floor: float, factor: np.ndarray, constant: np.ndarray
) -> None:
    """Regret matching: the strategies are ``max(weight, 0) * factor + constant``.

    Args:
        weight: float (sequences,): regrets, or other weights.
        lanes: The infosets.
        floor: Share of a strategy that is uniform.
        factor: float (at least one for each infoset,): modified in place.
        constant: float (likewise,): modified in place.
    """
    actions, stride, at, length = lanes
    zero, uniform = like(factor[0], 0.0), like(factor[0], 1.0 / actions)
    nothing = nothing_of(factor[0])
    # No second division by the actions: LLVM would divide lane by lane.
    rest, least = like(factor[0], 1.0 - floor), like(factor[0], floor) * uniform
    factor[:length] = zero
    # Two actions at a time, which spares every other sum.
    for a in range(0, actions - 1, 2):
        first, second = np.uint64(at + a * stride), np.uint64(at + (a + 1) * stride)
        for lane in range(np.uint64(length)):
            factor[lane] += max(weight[first + lane], zero) + max(weight[second + lane], zero)
    if actions % 2:
        first = np.uint64(at + (actions - 1) * stride)
        for lane in range(np.uint64(length)):
            factor[lane] += max(weight[first + lane], zero)
    for lane in range(length):
        total = factor[lane]
        constant[lane] = constant_of(total, nothing, least, uniform)
        factor[lane] = factor_of(total, nothing, zero, rest)


@inlined
def descend(
    form: SequenceForm,
    player: int,
    weight: np.ndarray,
    floor: float,
    reach: np.ndarray,
    average: np.ndarray | None,
    share: float,
    tile: np.ndarray,
    locks: LockedLanes | None,
) -> None:
    """From the first level down: the player's own reaches, added to the average.

    Args:
        form: The game, or a part of it.
        player: Whose reaches.
        weight: float (sequences,): what the strategies are made from by regret matching: regrets,
            strategies, or cumulative strategies.
        floor: Share of every strategy that is uniform.
        reach: float (sequences,): modified in place; the reaches of the entries are there.
        average: float (sequences,): modified in place, the entries apart; None for none.
        share: Weight of the reaches in the average.
        tile: float (TILE_ROWS, LONGEST), in the floats of ``weight``: modified.
        locks: Locked infosets, or None.
    """
    factor, constant, above = tile[0], tile[1], tile[2]
    zero, own_share = like(tile[0, 0], 0.0), like(tile[0, 0], share)
    parent = form.infoset_parent
    to = Target(weight, reach, above, floor, share)
    for b in range(form.player_buckets[player], form.player_buckets[player + 1]):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        run = 0
        if locks is not None:
            lock = locks.bucket[b]
        while run < lanes:
            # Up to the next locked lane, which is worked on by itself.
            end = lanes
            if locks is not None and lock < locks.bucket[b + 1]:
                end = locks.lane[lock]
            begin, alike = run, 0
            while begin < end:
                at = form.bucket_sequence[b] + begin
                infoset = form.bucket_infoset[b] + begin
                alike = run_length(parent, infoset, min(LONGEST, end - begin), alike)
                length = tile_length(alike, end - begin)
                gather(reach, parent, infoset, length, alike, above)
                begin += length
                if actions == 1:
                    # Nothing to choose.
                    first = np.uint64(at)
                    for lane in range(np.uint64(length)):
                        reach[first + lane] = above[lane]
                        if average is not None:
                            average[first + lane] += own_share * above[lane]
                    continue
                if actions == 2:
                    _reach_two(to, average, at, lanes, length)
                    continue
                if actions == 3:
                    _reach_three(to, average, at, lanes, length)
                    continue
                match(weight, Lanes(actions, lanes, at, length), floor, factor, constant)
                for lane in range(length):
                    factor[lane] *= above[lane]
                    constant[lane] *= above[lane]
                for a in range(actions):
                    first = np.uint64(at + a * lanes)
                    for lane in range(np.uint64(length)):
                        own = max(weight[first + lane], zero) * factor[lane] + constant[lane]
                        reach[first + lane] = own
                        if average is not None:
                            average[first + lane] += own_share * own
            if locks is not None and end < lanes:
                at = form.bucket_sequence[b] + end
                before = reach[form.infoset_parent[form.bucket_infoset[b] + end]]
                sigma = locked_strategy(weight[at:], lanes, of_lock(locks, lock, actions), floor)
                for a in range(actions):
                    reach[at + a * lanes] = before * sigma[a]
                    if average is not None:
                        average[at + a * lanes] += own_share * reach[at + a * lanes]
                lock += 1
            run = end + 1


class Target(NamedTuple):
    """What the way down reads and writes at infosets of few actions."""

    weight: np.ndarray
    reach: np.ndarray
    above: np.ndarray
    """Reaches of the last sequences before the infosets."""
    floor: float
    share: float


@inlined
def _reach_two(to: Target, average: np.ndarray | None, at: int, lanes: int, length: int) -> None:
    """What :func:`descend` does at infosets of two actions: totals and factors stay in registers,
    which halves the time of the many infosets that have few actions."""
    weight, reach, above, floor, share = to
    zero, uniform = like(above[0], 0.0), like(above[0], 0.5)
    nothing, rest = nothing_of(above[0]), like(above[0], 1.0 - floor)
    least, part = like(above[0], floor / 2.0), like(above[0], share)
    at0, at1 = np.uint64(at), np.uint64(at + lanes)
    for lane in range(np.uint64(length)):
        own0, own1 = max(weight[at0 + lane], zero), max(weight[at1 + lane], zero)
        total = own0 + own1
        factor = factor_of(total, nothing, zero, rest) * above[lane]
        constant = constant_of(total, nothing, least, uniform) * above[lane]
        own0, own1 = own0 * factor + constant, own1 * factor + constant
        reach[at0 + lane], reach[at1 + lane] = own0, own1
        if average is not None:
            average[at0 + lane] += part * own0
            average[at1 + lane] += part * own1


@inlined
def _reach_three(to: Target, average: np.ndarray | None, at: int, lanes: int, length: int) -> None:
    """The same at infosets of three actions."""
    weight, reach, above, floor, share = to
    zero, uniform = like(above[0], 0.0), like(above[0], 1.0 / 3.0)
    nothing, rest = nothing_of(above[0]), like(above[0], 1.0 - floor)
    least, part = like(above[0], floor / 3.0), like(above[0], share)
    at0, at1, at2 = np.uint64(at), np.uint64(at + lanes), np.uint64(at + 2 * lanes)
    for lane in range(np.uint64(length)):
        own0, own1 = max(weight[at0 + lane], zero), max(weight[at1 + lane], zero)
        own2 = max(weight[at2 + lane], zero)
        total = own0 + own1 + own2
        factor = factor_of(total, nothing, zero, rest) * above[lane]
        constant = constant_of(total, nothing, least, uniform) * above[lane]
        own0, own1 = own0 * factor + constant, own1 * factor + constant
        own2 = own2 * factor + constant
        reach[at0 + lane], reach[at1 + lane], reach[at2 + lane] = own0, own1, own2
        if average is not None:
            average[at0 + lane] += part * own0
            average[at1 + lane] += part * own1
            average[at2 + lane] += part * own2


@inlined
def locked_strategy(
    weight: np.ndarray, lanes: int, probability: np.ndarray, floor: float
) -> np.ndarray:
    """The strategy at a locked infoset, float64 (actions,), by regret matching.

    Args:
        weight: Regrets, or other weights; action ``a`` at ``a * lanes``.
        lanes: Distance between consecutive actions.
        probability: float64 (actions,): those of the lock.
        floor: Share of what the free actions get that is uniform.
    """
    found = np.empty(len(probability))
    for a in range(len(probability)):
        found[a] = max(weight[a * lanes], 0.0)
    share_out(found, 1, probability, floor)
    return found


@inlined
def strategies(
    form: SequenceForm,
    weight: np.ndarray,
    floor: float,
    found: np.ndarray,
    base: int,
    locks: LockedLanes | None,
    total: np.ndarray,
) -> None:
    """Everybody's behaviour strategies, by regret matching: in proportion to the positive weights
    of an infoset, uniform without any.

    Args:
        form: The game, or a part of it.
        weight: float (sequences,): what they are made from.
        floor: Share of every strategy that is uniform.
        found: float: modified in place; sequence ``s`` has the number ``base + s``.
        base: See there.
        locks: Locked infosets, or None.
        total: Scratch, float64 (at least TILE,); modified.
    """
    nothing = nothing_of(weight[0])
    for b in range(form.bucket_lanes.shape[0]):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        least, uniform = floor / actions, 1.0 / actions
        # Loop over actions outside, lanes inside: lanes of one action are adjacent in memory.
        for begin in range(0, lanes, TILE):
            length = min(TILE, lanes - begin)
            first = form.bucket_sequence[b] + begin
            total[:length] = 0.0
            for a in range(actions):
                w = weight[first + a * lanes :]
                for lane in range(length):
                    total[lane] += max(w[lane], 0.0)
            for a in range(actions):
                w, sigma = weight[first + a * lanes :], found[base + first + a * lanes :]
                for lane in range(length):
                    # A division each: a probability of 1 is exactly that.
                    own = max(w[lane], 0.0) / total[lane] if total[lane] > nothing else uniform
                    sigma[lane] = (1.0 - floor) * own + least
        if locks is not None:
            for lock in range(locks.bucket[b], locks.bucket[b + 1]):
                at = form.bucket_sequence[b] + locks.lane[lock]
                sigma = locked_strategy(weight[at:], lanes, of_lock(locks, lock, actions), floor)
                for a in range(actions):
                    found[base + at + a * lanes] = sigma[a]


@inlined
def follow(
    form: SequenceForm, player: int, strategy: np.ndarray, reach: np.ndarray, above: np.ndarray
) -> None:
    """A player's own reaches under a strategy; ``reach`` is modified in place.

    Args:
        form: The game.
        player: The player.
        strategy: float (sequences,).
        reach: float (sequences,): modified in place.
        above: Scratch, float64 (at least TILE,); modified.
    """
    reach[form.player_sequences[player]] = 1.0
    for b in range(form.player_buckets[player], form.player_buckets[player + 1]):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        for begin in range(0, lanes, TILE):
            length = min(TILE, lanes - begin)
            first = form.bucket_sequence[b] + begin
            parent = form.infoset_parent[form.bucket_infoset[b] + begin :]
            for lane in range(length):
                above[lane] = reach[parent[lane]]
            for a in range(actions):
                sigma, x = strategy[first + a * lanes :], reach[first + a * lanes :]
                for lane in range(length):
                    x[lane] = above[lane] * sigma[lane]


@inlined
def forward(
    part: Part, player: int, first_hand: int, last_hand: int, weight: float, tile: np.ndarray
) -> None:
    """From the first level down: the player's own reaches of strategies that are kept.

    The reaches that there are, those of the strategies that this iteration used, are added to the
    average before they are replaced.

    Args:
        part: Reaches and averages are modified in place, those of the empty sequence with the
            first hand.
        player: Whose reaches.
        first_hand: First of the hands to work on.
        last_hand: The one after the last.
        weight: Weight of the reaches that there are in the average.
        tile: float (at least 1, TILE), in the floats of the reaches: modified.
    """
    form, reach, average, strategy = part.form, part.reach, part.average, part.strategy
    above, share = tile[0], like(tile[0, 0], weight)
    if first_hand == 0 < last_hand:
        average[form.player_sequences[player]] += weight
    for b in range(form.player_buckets[player], form.player_buckets[player + 1]):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        first_lane = form.hand_rank[form.bucket_mask[b], first_hand] * form.bucket_stride[b]
        last_lane = form.hand_rank[form.bucket_mask[b], last_hand] * form.bucket_stride[b]
        for begin in range(first_lane, last_lane, TILE):
            length = min(TILE, last_lane - begin)
            at = form.bucket_sequence[b] + begin
            parent = form.infoset_parent[form.bucket_infoset[b] + begin :]
            for lane in range(length):
                above[lane] = reach[parent[lane]]
            for a in range(actions):
                x = reach[at + a * lanes :]
                average_x = average[at + a * lanes :]
                sigma = strategy[at + a * lanes :]  # type: ignore[index]
                for lane in range(length):
                    average_x[lane] += share * x[lane]
                    x[lane] = above[lane] * sigma[lane]
