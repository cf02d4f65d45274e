"""The passes of an iteration over one sequence form: a whole game, a trunk, or a shape.

A player's strategy is not kept, but made from the regrets where it is needed: on the way down for
reaches, on the way up for values.  So a pass reads and writes what a solver keeps, and what it
keeps is the cumulative regret and the cumulative strategy.  The other arrays are scratch over the
sequences of the form.

The passes are kernels of their own, which others call once per chunk: so each is compiled once.

Rules whose strategy is no function of their regret keep it; for these ``strategy`` is an array,
for the others None.  Kernels are compiled for the one or the other.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import called, inlined
from ..model.arrays import SequenceForm
from ..payoff.multiply import payoff_product, payoff_scratch
from .iteration import ROUNDING, SINGLE_ROUNDING, _exponentiate, _mean
from .local_rule import LocalRule, apply, has_forecast, is_exponential

TILE = 256
"""Lanes handled together, so that what a pass reads twice is still in the first cache level."""
TILE_ROWS = 5
"""Rows of scratch of a tile."""
LEAST_TOTAL = 1e-37
"""Regrets of an infoset that sum to less are no regrets in single precision, where numbers below
1.2e-38 lose their digits and those below 2.9e-39 have no reciprocal."""


@inlined
def _like(array: np.ndarray, number: float) -> float:
    """A number in the floats of an array: single precision takes half the time where no operand is
    of double precision."""
    return array.dtype.type(number)


@inlined
def _nothing(array: np.ndarray) -> float:
    """Totals up to here count as 0: in single precision, ``1 / total`` would be infinite."""
    return _like(array, 0.0 if array.itemsize == 8 else LEAST_TOTAL)


@inlined
def _matching(total: float, floor: float, uniform: float) -> tuple[float, float]:
    """Regret matching: a strategy is ``max(weight, 0) * factor + constant``.

    Args:
        total: Sum of the positive weights of an infoset.
        floor: Share of the strategy that is uniform.
        uniform: Probability of an action under the uniform strategy.

    Returns:
        ``factor`` and ``constant``.
    """
    if total <= 0.0:
        return 0.0, uniform
    return (1.0 - floor) / total, floor * uniform


@inlined
def match(
    weight: np.ndarray,
    actions: int,
    lanes: int,
    length: int,
    floor: float,
    factor: np.ndarray,
    constant: np.ndarray,
) -> None:
    """Regret matching: the strategies are ``max(weight, 0) * factor + constant``.

    Args:
        weight: Regrets, or other weights; action ``a`` of lane ``l`` at ``a * lanes + l``.
        actions: Actions of every infoset.
        lanes: Distance between consecutive actions.
        length: Infosets.
        floor: Share of a strategy that is uniform.
        factor: float (at least length,): modified in place.
        constant: float (at least length,): modified in place.
    """
    zero, uniform = _like(factor, 0.0), _like(factor, 1.0 / actions)
    nothing = _nothing(factor)
    rest, least = _like(factor, 1.0 - floor), _like(factor, floor / actions)
    factor[:length] = zero
    # Two actions at a time, which spares every other sum.
    for a in range(0, actions - 1, 2):
        w0, w1 = weight[a * lanes :], weight[(a + 1) * lanes :]
        for lane in range(length):
            factor[lane] += max(w0[lane], zero) + max(w1[lane], zero)
    if actions % 2:
        w = weight[(actions - 1) * lanes :]
        for lane in range(length):
            factor[lane] += max(w[lane], zero)
    for lane in range(length):
        total = factor[lane]
        idle = total <= nothing
        constant[lane] = uniform if idle else least
        factor[lane] = zero if idle else rest / total


@called
def payoffs(form: SequenceForm, player: int, reach: np.ndarray, value: np.ndarray) -> None:
    """The payoff product; see :func:`tensorcfr.payoff.multiply.payoff_product`."""
    payoff_product(form, player, reach, value, payoff_scratch(form))


@called
def descend(
    form: SequenceForm,
    player: int,
    weight: np.ndarray,
    floor: float,
    reach: np.ndarray,
    average: np.ndarray,
    share: float,
    tile: np.ndarray,
) -> None:
    """From the first level down: the player's own reaches, added to the average.

    Args:
        form: The game, or a part of it.
        player: Whose reaches.
        weight: float (sequences,): what the strategies are made from by regret matching: regrets,
            strategies, or cumulative strategies.
        floor: Share of every strategy that is uniform.
        reach: float (sequences,): modified in place; the reaches of the entries are there.
        average: float (sequences,): modified in place, the entries apart.
        share: Weight of the reaches in the average; with 0 it stays as it is.
        tile: float (TILE_ROWS, TILE), in the floats of ``weight``: modified.
    """
    factor, constant, above = tile[0], tile[1], tile[2]
    zero, part = _like(tile, 0.0), _like(tile, share)
    for b in range(form.player_buckets[player], form.player_buckets[player + 1]):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        for begin in range(0, lanes, TILE):
            length = min(TILE, lanes - begin)
            at = form.bucket_sequence[b] + begin
            parent = form.infoset_parent[form.bucket_infoset[b] + begin :]
            for lane in range(length):
                above[lane] = reach[parent[lane]]
            if actions == 2:
                _reach_two(
                    weight[at:],
                    weight[at + lanes :],
                    above,
                    floor,
                    share,
                    length,
                    reach[at:],
                    reach[at + lanes :],
                    average[at:],
                    average[at + lanes :],
                )
                continue
            match(weight[at:], actions, lanes, length, floor, factor, constant)
            for lane in range(length):
                factor[lane] *= above[lane]
                constant[lane] *= above[lane]
            for a in range(actions):
                w, x = weight[at + a * lanes :], reach[at + a * lanes :]
                for lane in range(length):
                    x[lane] = max(w[lane], zero) * factor[lane] + constant[lane]
                average_x = average[at + a * lanes :]
                for lane in range(length):
                    average_x[lane] += part * x[lane]


@inlined
def _reach_two(
    w0: np.ndarray,
    w1: np.ndarray,
    above: np.ndarray,
    floor: float,
    share: float,
    length: int,
    x0: np.ndarray,
    x1: np.ndarray,
    average0: np.ndarray,
    average1: np.ndarray,
) -> None:
    """What :func:`descend` does at infosets of two actions: totals and factors stay in registers,
    which halves the time of the many infosets that have few actions."""
    zero, uniform = _like(above, 0.0), _like(above, 0.5)
    nothing = _nothing(above)
    rest, least, part = _like(above, 1.0 - floor), _like(above, floor / 2.0), _like(above, share)
    for lane in range(length):
        own0, own1 = max(w0[lane], zero), max(w1[lane], zero)
        total = own0 + own1
        idle = total <= nothing
        factor = zero if idle else rest / total
        constant = uniform if idle else least
        factor, constant = factor * above[lane], constant * above[lane]
        own0, own1 = own0 * factor + constant, own1 * factor + constant
        x0[lane], x1[lane] = own0, own1
        average0[lane] += part * own0
        average1[lane] += part * own1


@called
def ascend(
    form: SequenceForm,
    player: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    played_floor: float,
    floor: float,
    regret: np.ndarray,
    strategy: np.ndarray | None,
    memory: np.ndarray,
    value: np.ndarray,
    forecast: np.ndarray,
    tile: np.ndarray,
) -> None:
    """From the deepest level up: values and regrets, infoset by infoset.

    Args:
        form: The game, or a part of it.
        player: Whose infosets.
        rule: The local rule.
        parameters: The rule's parameters at this iteration.
        played_floor: Share of the strategies played that is uniform.
        floor: Share of the next strategies that is uniform.
        regret: float (sequences,): modified in place.
        strategy: float (sequences,): the strategies played, which become the next ones; or None
            for rules whose strategies regret matching makes from the regrets.
        memory: float (kept, sequences): what the rule keeps; modified in place.
        value: float (sequences,): comes in as ``g``; each level adds its infosets' values to the
            sequences that lead to them, in the end to the entries.
        forecast: float (sequences,): for rules with a forecast, comes in as ``g``, and becomes the
            values when the player already plays the next strategies further down.
        tile: float (TILE_ROWS, TILE): modified.
    """
    v, scale, total, expected, constant = tile[0], tile[1], tile[2], tile[3], tile[4]
    rounding = ROUNDING if value.itemsize == 8 else SINGLE_ROUNDING
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        for begin in range(0, lanes, TILE):
            length = min(TILE, lanes - begin)
            at = form.bucket_sequence[b] + begin
            parent = form.infoset_parent[form.bucket_infoset[b] + begin :]
            if actions == 1:
                # There is nothing to regret: the value goes to the parent.
                for lane in range(length):
                    value[parent[lane]] += value[at + lane]
                if has_forecast(rule):
                    for lane in range(length):
                        forecast[parent[lane]] += forecast[at + lane]
                continue
            if strategy is None and actions == 2:
                _value_two(
                    rule,
                    parameters,
                    played_floor,
                    rounding,
                    memory,
                    at,
                    at + lanes,
                    length,
                    value[at:],
                    value[at + lanes :],
                    regret[at:],
                    regret[at + lanes :],
                    v,
                )
                for lane in range(length):
                    value[parent[lane]] += v[lane]
                continue
            if strategy is None and actions == 3:
                _value_three(
                    rule,
                    parameters,
                    played_floor,
                    rounding,
                    memory,
                    at,
                    at + lanes,
                    at + 2 * lanes,
                    length,
                    value[at:],
                    value[at + lanes :],
                    value[at + 2 * lanes :],
                    regret[at:],
                    regret[at + lanes :],
                    regret[at + 2 * lanes :],
                    v,
                )
                for lane in range(length):
                    value[parent[lane]] += v[lane]
                continue
            # The value of each infoset, and the size of the numbers that it is made of.
            v[:length] = 0.0
            scale[:length] = 0.0
            if strategy is None:
                match(regret[at:], actions, lanes, length, played_floor, total, constant)
                # Loops with few arrays each take less time than one with many.
                for a in range(actions):
                    w, q = regret[at + a * lanes :], value[at + a * lanes :]
                    for lane in range(length):
                        v[lane] += (max(w[lane], 0.0) * total[lane] + constant[lane]) * q[lane]
                    for lane in range(length):
                        scale[lane] = max(scale[lane], abs(q[lane]))
            else:
                for a in range(actions):
                    sigma, q = strategy[at + a * lanes :], value[at + a * lanes :]
                    for lane in range(length):
                        v[lane] += sigma[lane] * q[lane]
                        scale[lane] = max(scale[lane], abs(q[lane]))
                if has_forecast(rule):
                    _mean(strategy[at:], forecast[at:], actions, lanes, length, expected)
                total[:length] = 0.0
            # The local rule: new regrets; preferences in place of strategies that are kept.
            for a in range(actions):
                first = at + a * lanes
                q, cumulative = value[first:], regret[first:]
                for lane in range(length):
                    instant = q[lane] - v[lane]
                    if abs(instant) <= rounding * scale[lane]:
                        instant = 0.0
                    new, preference = apply(
                        rule,
                        np.float64(cumulative[lane]),
                        instant,
                        memory,
                        first + lane,
                        parameters,
                    )
                    cumulative[lane] = new
                    if strategy is not None:
                        if has_forecast(rule):
                            ahead = forecast[first + lane]
                            lean = ahead - expected[lane]
                            if abs(lean) > rounding * max(scale[lane], abs(ahead)):
                                preference += lean
                        if not is_exponential(rule):
                            preference = max(preference, 0.0)
                            total[lane] += preference
                        strategy[first + lane] = preference
            if strategy is not None:
                if is_exponential(rule):
                    _exponentiate(strategy[at:], actions, lanes, length, total)
                uniform = 1.0 / actions
                for lane in range(length):
                    idle = total[lane] <= 0.0
                    constant[lane] = uniform if idle else floor * uniform
                    total[lane] = 0.0 if idle else (1.0 - floor) / total[lane]
                for a in range(actions):
                    sigma = strategy[at + a * lanes :]
                    for lane in range(length):
                        sigma[lane] = sigma[lane] * total[lane] + constant[lane]
                if has_forecast(rule):
                    _mean(strategy[at:], forecast[at:], actions, lanes, length, expected)
                    for lane in range(length):
                        forecast[parent[lane]] += expected[lane]
            for lane in range(length):
                value[parent[lane]] += v[lane]


@inlined
def _exact(instant: float, least: float) -> float:
    """An instantaneous regret, 0 where it is but rounding."""
    return 0.0 if abs(instant) <= least else instant


@inlined
def _value_two(
    rule: LocalRule,
    parameters: tuple[float, ...],
    floor: float,
    rounding: float,
    memory: np.ndarray,
    first0: int,
    first1: int,
    length: int,
    q0: np.ndarray,
    q1: np.ndarray,
    regret0: np.ndarray,
    regret1: np.ndarray,
    v: np.ndarray,
) -> None:
    """What :func:`ascend` does at infosets of two actions whose strategies are made from their
    regrets; ``v`` becomes their values."""
    for lane in range(length):
        before0, before1 = np.float64(regret0[lane]), np.float64(regret1[lane])
        own0, own1 = max(before0, 0.0), max(before1, 0.0)
        factor, constant = _matching(own0 + own1, floor, 1.0 / 2.0)
        value0, value1 = np.float64(q0[lane]), np.float64(q1[lane])
        mean = (own0 * factor + constant) * value0 + (own1 * factor + constant) * value1
        least = rounding * max(abs(value0), abs(value1))
        instant0, instant1 = _exact(value0 - mean, least), _exact(value1 - mean, least)
        new0, _ = apply(rule, before0, instant0, memory, first0 + lane, parameters)
        new1, _ = apply(rule, before1, instant1, memory, first1 + lane, parameters)
        regret0[lane], regret1[lane] = new0, new1
        v[lane] = mean


@inlined
def _value_three(
    rule: LocalRule,
    parameters: tuple[float, ...],
    floor: float,
    rounding: float,
    memory: np.ndarray,
    first0: int,
    first1: int,
    first2: int,
    length: int,
    q0: np.ndarray,
    q1: np.ndarray,
    q2: np.ndarray,
    regret0: np.ndarray,
    regret1: np.ndarray,
    regret2: np.ndarray,
    v: np.ndarray,
) -> None:
    """The same at infosets of three actions."""
    for lane in range(length):
        before0, before1 = np.float64(regret0[lane]), np.float64(regret1[lane])
        before2 = np.float64(regret2[lane])
        own0, own1, own2 = max(before0, 0.0), max(before1, 0.0), max(before2, 0.0)
        factor, constant = _matching(own0 + own1 + own2, floor, 1.0 / 3.0)
        value0, value1 = np.float64(q0[lane]), np.float64(q1[lane])
        value2 = np.float64(q2[lane])
        mean = (own0 * factor + constant) * value0 + (own1 * factor + constant) * value1
        mean += (own2 * factor + constant) * value2
        least = rounding * max(abs(value0), abs(value1), abs(value2))
        instant0, instant1 = _exact(value0 - mean, least), _exact(value1 - mean, least)
        instant2 = _exact(value2 - mean, least)
        new0, _ = apply(rule, before0, instant0, memory, first0 + lane, parameters)
        new1, _ = apply(rule, before1, instant1, memory, first1 + lane, parameters)
        new2, _ = apply(rule, before2, instant2, memory, first2 + lane, parameters)
        regret0[lane], regret1[lane], regret2[lane] = new0, new1, new2
        v[lane] = mean


@called
def strategies(
    form: SequenceForm, weight: np.ndarray, floor: float, found: np.ndarray, tile: np.ndarray
) -> None:
    """Everybody's behaviour strategies, by regret matching.

    Args:
        form: The game, or a part of it.
        weight: float (sequences,): what they are made from.
        floor: Share of every strategy that is uniform.
        found: float (sequences,): modified in place; 1 for the entries.
        tile: float (TILE_ROWS, TILE): modified.
    """
    factor, constant = tile[0], tile[1]
    found[:] = 1.0
    for b in range(form.bucket_lanes.shape[0]):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        for begin in range(0, lanes, TILE):
            length = min(TILE, lanes - begin)
            at = form.bucket_sequence[b] + begin
            match(weight[at:], actions, lanes, length, floor, factor, constant)
            for a in range(actions):
                w, sigma = weight[at + a * lanes :], found[at + a * lanes :]
                for lane in range(length):
                    sigma[lane] = max(w[lane], 0.0) * factor[lane] + constant[lane]
