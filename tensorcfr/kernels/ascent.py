"""The way up a sequence form: counterfactual values, regrets and the next strategies."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._util.jit import chosen, inlined, is_none, view
from ..model.arrays import LockedLanes, SequenceForm
from .descent import constant_of, factor_of, like, locked_strategy, match, nothing_of
from .local_rule import (
    LocalRule,
    apply,
    apply_whole,
    has_forecast,
    is_exponential,
    is_whole,
    kept_numbers,
    passes_new,
)
from .locks import first_lock, free_share, of_lock, share_out
from .tiles import LONGEST, all_equal, run_length, scatter, tile_length

ROUNDING = 2.0**-48
"""An instantaneous regret smaller than this, relative to the counterfactual values that it comes
from, is taken for 0: it is the rounding of an exact tie, and its sign is an accident."""
SINGLE_ROUNDING = 2.0**-20
"""The same where values are stored in single precision."""


@inlined
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
    own: np.ndarray,
    first_hand: int,
    last_hand: int,
    locks: LockedLanes | None,
) -> None:
    """From the deepest level up: values and regrets, infoset by infoset.

    Args:
        form: The game, or a part of it.
        player: Whose infosets.
        rule: The local rule.
        parameters: The rule's parameters at this iteration.
        played_floor: Share of the strategies played that is uniform; for rules whose strategies
            are not kept.
        floor: Share of the next strategies that is uniform.
        regret: float (sequences,): modified in place.
        strategy: float (sequences,): the strategies played, which become the next ones; or None
            for rules whose strategies regret matching makes from the regrets.
        memory: float (kept, sequences): what the rule keeps; modified in place.
        value: float (sequences,): comes in as ``g``; each level adds its infosets' values to the
            sequences that lead to them, in the end to the entries.
        forecast: float (sequences,): for rules with a forecast, comes in as ``g``, and becomes the
            values when the player already plays the next strategies further down.
        tile: float (TILE_ROWS, LONGEST), in the floats of ``value``: modified.
        own: Scratch of whole rules, from :func:`whole_scratch`; modified.
        first_hand: First of the hands to work on.
        last_hand: The one after the last.
        locks: Locked infosets, or None.
    """
    rounding = like(tile[0, 0], ROUNDING if value.itemsize == 8 else SINGLE_ROUNDING)
    v, scale, total, expected, constant = tile[0], tile[1], tile[2], tile[3], tile[4]
    parent = form.infoset_parent
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        first_lane = form.hand_rank[form.bucket_mask[b], first_hand] * form.bucket_stride[b]
        last_lane = form.hand_rank[form.bucket_mask[b], last_hand] * form.bucket_stride[b]
        if actions == 1:
            _pass_up(form, b, first_lane, last_lane, value)
            if has_forecast(rule):
                _pass_up(form, b, first_lane, last_lane, forecast)
            continue
        run = first_lane
        if locks is not None:
            lock = first_lock(locks, b, first_lane)
        while run < last_lane:
            # Up to the next locked lane, which is worked on by itself.
            end = last_lane
            if locks is not None and lock < locks.bucket[b + 1]:
                end = min(end, locks.lane[lock])
            begin, alike = run, 0
            while begin < end:
                at = form.bucket_sequence[b] + begin
                infoset = form.bucket_infoset[b] + begin
                alike = run_length(parent, infoset, min(LONGEST, end - begin), alike)
                length = tile_length(alike, end - begin)
                begin += length
                if not _few_actions(
                    actions,
                    lanes,
                    at,
                    length,
                    rule,
                    parameters,
                    played_floor,
                    floor,
                    rounding,
                    regret,
                    strategy,
                    memory,
                    value,
                    v,
                ):
                    _ascend_tile(
                        actions,
                        lanes,
                        at,
                        length,
                        rule,
                        parameters,
                        played_floor,
                        floor,
                        rounding,
                        regret,
                        strategy,
                        memory,
                        value,
                        forecast,
                        v,
                        scale,
                        total,
                        expected,
                        constant,
                        own,
                    )
                    if has_forecast(rule):
                        scatter(expected, parent, infoset, length, alike, forecast)
                scatter(v, parent, infoset, length, alike, value)
            if locks is not None and end < last_lane:
                at = form.bucket_sequence[b] + end
                _ascend_locked(
                    lanes,
                    at,
                    parent[form.bucket_infoset[b] + end :],
                    rule,
                    parameters,
                    played_floor,
                    floor,
                    rounding,
                    regret,
                    strategy,
                    memory,
                    value,
                    forecast,
                    of_lock(locks, lock, actions),
                    own,
                )
                lock += 1
            run = end + 1


OWN_ROWS = 4
"""Rows of scratch of a whole rule before those of its memory: regrets, instantaneous regrets,
values and strategy."""
OWN_LANES = 64
"""Infosets that a whole rule gets at a time: its arrays are then in the first cache level."""
SUM = 64
"""Infosets of one action with the same parent that are added together."""


@inlined
def most_actions(form: SequenceForm) -> int:
    """Actions of the infosets that have most."""
    most = 1
    for b in range(form.bucket_actions.shape[0]):
        most = max(most, form.bucket_actions[b])
    return most


@inlined
def whole_scratch(rule: LocalRule, most: int) -> np.ndarray:
    """Scratch of a whole rule, for infosets of up to ``most`` actions; empty for other rules."""
    rows = OWN_ROWS + kept_numbers(rule)
    return np.empty((rows * most + 1) * OWN_LANES if is_whole(rule) else 0)


@inlined
def _pass_up(
    form: SequenceForm, b: int, first_lane: int, last_lane: int, value: np.ndarray
) -> None:
    """Where there is one action there is nothing to regret: its value goes to the parent."""
    parent = form.infoset_parent
    begin = first_lane
    while begin < last_lane:
        at, infoset = form.bucket_sequence[b] + begin, form.bucket_infoset[b] + begin
        length = min(SUM, last_lane - begin)
        if length == SUM and all_equal(parent, infoset, SUM):
            # Four sums, which do not wait for each other.
            first, zero = np.uint64(at), like(value[0], 0.0)
            sum0, sum1, sum2, sum3 = zero, zero, zero, zero
            for k in range(np.uint64(0), np.uint64(SUM), np.uint64(4)):
                sum0 += value[first + k]
                sum1 += value[first + k + np.uint64(1)]
                sum2 += value[first + k + np.uint64(2)]
                sum3 += value[first + k + np.uint64(3)]
            value[parent[infoset]] += (sum0 + sum1) + (sum2 + sum3)
        else:
            for lane in range(length):
                value[parent[infoset + lane]] += value[at + lane]
        begin += length


@chosen
def _few_actions(
    actions: int,
    lanes: int,
    at: int,
    length: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    played_floor: float,
    floor: float,
    rounding: float,
    regret: np.ndarray,
    strategy: np.ndarray | None,
    memory: np.ndarray,
    value: np.ndarray,
    v: np.ndarray,
) -> Any:
    """What :func:`_ascend_tile` does, where there is a shorter way; whether there is."""
    return _few_of_regrets if is_none(strategy) else _none_of_strategies


@inlined
def _few_of_regrets(
    actions: int,
    lanes: int,
    at: int,
    length: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    played_floor: float,
    floor: float,
    rounding: float,
    regret: np.ndarray,
    strategy: None,
    memory: np.ndarray,
    value: np.ndarray,
    v: np.ndarray,
) -> bool:
    """Where regret matching makes the strategies of two or three actions from the regrets."""
    if actions == 2:
        _value_two(
            rule,
            parameters,
            played_floor,
            floor,
            rounding,
            memory,
            value,
            regret,
            at,
            lanes,
            length,
            v,
        )
    elif actions == 3:
        _value_three(
            rule,
            parameters,
            played_floor,
            floor,
            rounding,
            memory,
            value,
            regret,
            at,
            lanes,
            length,
            v,
        )
    return actions <= 3


@inlined
def _none_of_strategies(
    actions: int,
    lanes: int,
    at: int,
    length: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    played_floor: float,
    floor: float,
    rounding: float,
    regret: np.ndarray,
    strategy: np.ndarray,
    memory: np.ndarray,
    value: np.ndarray,
    v: np.ndarray,
) -> bool:
    """Where strategies are kept there is none."""
    return False


@chosen
def _ascend_tile(
    actions: int,
    lanes: int,
    at: int,
    length: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    played_floor: float,
    floor: float,
    rounding: float,
    regret: np.ndarray,
    strategy: np.ndarray | None,
    memory: np.ndarray,
    value: np.ndarray,
    forecast: np.ndarray,
    v: np.ndarray,
    scale: np.ndarray,
    total: np.ndarray,
    expected: np.ndarray,
    constant: np.ndarray,
    own: np.ndarray,
) -> Any:
    """The values ``v`` of ``length`` infosets of a bucket that are not locked, for rules with a
    forecast also the ``expected`` ones, and the new regrets and strategies.

    Action ``a`` of the first of them is sequence ``at + a * lanes``.  The last six are scratch,
    float (LONGEST,) each; for whole rules ``own`` is what :func:`whole_scratch` makes.
    """
    if is_none(strategy):
        return _tile_of_regrets
    return _tile_of_whole_rule if rule.whole else _tile_of_strategies


@inlined
def _tile_of_regrets(
    actions: int,
    lanes: int,
    at: int,
    length: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    played_floor: float,
    floor: float,
    rounding: float,
    regret: np.ndarray,
    strategy: None,
    memory: np.ndarray,
    value: np.ndarray,
    forecast: np.ndarray,
    v: np.ndarray,
    scale: np.ndarray,
    total: np.ndarray,
    expected: np.ndarray,
    constant: np.ndarray,
    own: np.ndarray,
) -> None:
    """Where regret matching makes the strategies from the regrets."""
    zero = like(rounding, 0.0)
    match(regret, at, actions, lanes, length, played_floor, total, constant)
    # The value of each infoset, and the size of the numbers that it is made of.
    v[:length] = zero
    scale[:length] = zero
    # Loops with few arrays each take less time than one with many.
    for a in range(actions):
        s = np.uint64(at + a * lanes)
        for lane in range(np.uint64(length)):
            v[lane] += (max(regret[s + lane], zero) * total[lane] + constant[lane]) * value[
                s + lane
            ]
        for lane in range(np.uint64(length)):
            scale[lane] = max(scale[lane], abs(value[s + lane]))
    for a in range(actions):
        first = at + a * lanes
        q, cumulative = value[first:], regret[first:]
        for lane in range(length):
            instant = _exact(q[lane] - v[lane], rounding * scale[lane], zero)
            new, _ = apply(rule, cumulative[lane], instant, memory, first + lane, parameters)
            cumulative[lane] = new
    if passes_new(rule):
        match(regret, at, actions, lanes, length, floor, total, constant)
        v[:length] = zero
        for a in range(actions):
            s = np.uint64(at + a * lanes)
            for lane in range(np.uint64(length)):
                played = max(regret[s + lane], zero) * total[lane] + constant[lane]
                v[lane] += played * value[s + lane]


@inlined
def _value_of_kept(
    actions: int,
    lanes: int,
    at: int,
    length: int,
    zero: float,
    strategy: np.ndarray,
    value: np.ndarray,
    v: np.ndarray,
    scale: np.ndarray,
) -> None:
    """The value of each infoset under the strategies that are kept, and the size of the numbers
    that it is made of."""
    v[:length] = zero
    scale[:length] = zero
    for a in range(actions):
        kept, q = strategy[at + a * lanes :], value[at + a * lanes :]
        for lane in range(length):
            v[lane] += kept[lane] * q[lane]
            scale[lane] = max(scale[lane], abs(q[lane]))


@inlined
def _tile_of_whole_rule(
    actions: int,
    lanes: int,
    at: int,
    length: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    played_floor: float,
    floor: float,
    rounding: float,
    regret: np.ndarray,
    strategy: np.ndarray,
    memory: np.ndarray,
    value: np.ndarray,
    forecast: np.ndarray,
    v: np.ndarray,
    scale: np.ndarray,
    total: np.ndarray,
    expected: np.ndarray,
    constant: np.ndarray,
    own: np.ndarray,
) -> None:
    """Where the rule makes the strategies, infoset by infoset."""
    _value_of_kept(actions, lanes, at, length, like(rounding, 0.0), strategy, value, v, scale)
    _step_whole(
        actions,
        lanes,
        at,
        length,
        rule,
        parameters,
        floor,
        rounding,
        regret,
        strategy,
        memory,
        value,
        v,
        scale,
        own,
    )


@inlined
def _tile_of_strategies(
    actions: int,
    lanes: int,
    at: int,
    length: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    played_floor: float,
    floor: float,
    rounding: float,
    regret: np.ndarray,
    strategy: np.ndarray,
    memory: np.ndarray,
    value: np.ndarray,
    forecast: np.ndarray,
    v: np.ndarray,
    scale: np.ndarray,
    total: np.ndarray,
    expected: np.ndarray,
    constant: np.ndarray,
    own: np.ndarray,
) -> None:
    """Where the next strategies are made from the preferences of a local rule, and kept."""
    zero = like(rounding, 0.0)
    _value_of_kept(actions, lanes, at, length, zero, strategy, value, v, scale)
    if has_forecast(rule):
        _mean(strategy[at:], forecast[at:], actions, lanes, length, expected)
    total[:length] = zero
    # New regrets, and preferences in place of strategies.
    for a in range(actions):
        first = at + a * lanes
        q, cumulative, sigma = value[first:], regret[first:], strategy[first:]
        for lane in range(length):
            instant = _exact(q[lane] - v[lane], rounding * scale[lane], zero)
            new, preference = apply(
                rule, cumulative[lane], instant, memory, first + lane, parameters
            )
            cumulative[lane] = new
            if has_forecast(rule):
                ahead = forecast[first + lane]
                lean = ahead - expected[lane]
                if abs(lean) > rounding * max(scale[lane], abs(ahead)):
                    preference += lean
            if not is_exponential(rule):
                preference = max(preference, zero)
                total[lane] += preference
            sigma[lane] = preference
    if is_exponential(rule):
        _exponentiate(strategy[at:], actions, lanes, length, total)
    nothing, uniform = nothing_of(rounding), like(rounding, 1.0 / actions)
    one, share = like(rounding, 1.0), like(rounding, floor)
    # Both products within the loop: kept in registers from before, they take 6 % of an
    # iteration of liar's dice.
    for lane in range(length):
        constant[lane] = constant_of(total[lane], nothing, share * uniform, uniform)
        total[lane] = factor_of(total[lane], nothing, zero, one - share)
    if passes_new(rule):
        v[:length] = zero
    for a in range(actions):
        kept = strategy[at + a * lanes :]
        for lane in range(length):
            kept[lane] = kept[lane] * total[lane] + constant[lane]
        if passes_new(rule):
            q = value[at + a * lanes :]
            for lane in range(length):
                v[lane] += kept[lane] * q[lane]
    if has_forecast(rule):
        _mean(strategy[at:], forecast[at:], actions, lanes, length, expected)


@inlined
def _step_whole(
    actions: int,
    lanes: int,
    at: int,
    length: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    floor: float,
    rounding: float,
    regret: np.ndarray,
    strategy: np.ndarray,
    memory: np.ndarray,
    value: np.ndarray,
    v: np.ndarray,
    scale: np.ndarray,
    own: np.ndarray,
) -> None:
    """The steps of a whole rule at ``length`` lanes; ``v`` has the values of their infosets under
    the strategies played, and becomes the values that are passed up."""
    rows = OWN_ROWS + memory.shape[0]
    for begin in range(0, length, OWN_LANES):
        count = min(OWN_LANES, length - begin)
        arrays = view(own, 0, (rows, actions, count))
        passed = own[len(own) - count :]
        mean, largest = v[begin:], scale[begin:]
        for lane in range(count):
            passed[lane] = mean[lane]
        for a in range(actions):
            first = at + a * lanes + begin
            q, cumulative, sigma = value[first:], regret[first:], strategy[first:]
            for lane in range(count):
                instant = np.float64(q[lane]) - passed[lane]
                arrays[1, a, lane] = 0.0 if abs(instant) <= rounding * largest[lane] else instant
                arrays[2, a, lane] = q[lane]
            for lane in range(count):
                arrays[0, a, lane] = cumulative[lane]
            for lane in range(count):
                arrays[3, a, lane] = sigma[lane]
            for k in range(memory.shape[0]):
                kept = memory[k, first:]
                for lane in range(count):
                    arrays[OWN_ROWS + k, a, lane] = kept[lane]
        apply_whole(
            rule, arrays[0], arrays[1], arrays[2], passed, arrays[3], arrays[OWN_ROWS:], parameters
        )
        if passes_new(rule):
            passed[:] = 0.0
        for a in range(actions):
            first = at + a * lanes + begin
            cumulative, sigma = regret[first:], strategy[first:]
            for lane in range(count):
                sigma[lane] = (1.0 - floor) * arrays[3, a, lane] + floor / actions
            if passes_new(rule):
                q = value[first:]
                for lane in range(count):
                    passed[lane] += sigma[lane] * q[lane]
            for lane in range(count):
                cumulative[lane] = arrays[0, a, lane]
            for k in range(memory.shape[0]):
                kept = memory[k, first:]
                for lane in range(count):
                    kept[lane] = arrays[OWN_ROWS + k, a, lane]
        for lane in range(count):
            mean[lane] = passed[lane]


@inlined
def _exact(instant: float, least: float, zero: float) -> float:
    """An instantaneous regret, 0 where it is but rounding."""
    return zero if abs(instant) <= least else instant


@inlined
def _value_two(
    rule: LocalRule,
    parameters: tuple[float, ...],
    floor: float,
    next_floor: float,
    rounding: float,
    memory: np.ndarray,
    value: np.ndarray,
    regret: np.ndarray,
    at: int,
    lanes: int,
    length: int,
    v: np.ndarray,
) -> None:
    """What :func:`ascend` does at infosets of two actions whose strategies are made from their
    regrets; ``v`` becomes their values."""
    zero, nothing, uniform = like(v[0], 0.0), nothing_of(v[0]), like(v[0], 1.0 / 2.0)
    rest, lowest = like(v[0], 1.0 - floor), like(v[0], floor / 2.0)
    next_rest, next_lowest = like(v[0], 1.0 - next_floor), like(v[0], next_floor / 2.0)
    at0, at1 = np.uint64(at), np.uint64(at + lanes)
    for lane in range(np.uint64(length)):
        before0, before1 = regret[at0 + lane], regret[at1 + lane]
        own0, own1 = max(before0, zero), max(before1, zero)
        total = own0 + own1
        factor = factor_of(total, nothing, zero, rest)
        constant = constant_of(total, nothing, lowest, uniform)
        value0, value1 = value[at0 + lane], value[at1 + lane]
        mean = (own0 * factor + constant) * value0 + (own1 * factor + constant) * value1
        least = rounding * max(abs(value0), abs(value1))
        instant0, instant1 = _exact(value0 - mean, least, zero), _exact(value1 - mean, least, zero)
        new0, _ = apply(rule, before0, instant0, memory, at0 + lane, parameters)
        new1, _ = apply(rule, before1, instant1, memory, at1 + lane, parameters)
        regret[at0 + lane], regret[at1 + lane] = new0, new1
        if passes_new(rule):
            own0, own1 = max(new0, zero), max(new1, zero)
            total = own0 + own1
            factor = factor_of(total, nothing, zero, next_rest)
            constant = constant_of(total, nothing, next_lowest, uniform)
            mean = (own0 * factor + constant) * value0 + (own1 * factor + constant) * value1
        v[lane] = mean


@inlined
def _value_three(
    rule: LocalRule,
    parameters: tuple[float, ...],
    floor: float,
    next_floor: float,
    rounding: float,
    memory: np.ndarray,
    value: np.ndarray,
    regret: np.ndarray,
    at: int,
    lanes: int,
    length: int,
    v: np.ndarray,
) -> None:
    """The same at infosets of three actions."""
    zero, nothing, uniform = like(v[0], 0.0), nothing_of(v[0]), like(v[0], 1.0 / 3.0)
    rest, lowest = like(v[0], 1.0 - floor), like(v[0], floor / 3.0)
    next_rest, next_lowest = like(v[0], 1.0 - next_floor), like(v[0], next_floor / 3.0)
    at0, at1, at2 = np.uint64(at), np.uint64(at + lanes), np.uint64(at + 2 * lanes)
    for lane in range(np.uint64(length)):
        before0, before1 = regret[at0 + lane], regret[at1 + lane]
        before2 = regret[at2 + lane]
        own0, own1, own2 = max(before0, zero), max(before1, zero), max(before2, zero)
        total = own0 + own1 + own2
        factor = factor_of(total, nothing, zero, rest)
        constant = constant_of(total, nothing, lowest, uniform)
        value0, value1 = value[at0 + lane], value[at1 + lane]
        value2 = value[at2 + lane]
        mean = (own0 * factor + constant) * value0 + (own1 * factor + constant) * value1
        mean += (own2 * factor + constant) * value2
        least = rounding * max(abs(value0), abs(value1), abs(value2))
        instant0, instant1 = _exact(value0 - mean, least, zero), _exact(value1 - mean, least, zero)
        instant2 = _exact(value2 - mean, least, zero)
        new0, _ = apply(rule, before0, instant0, memory, at0 + lane, parameters)
        new1, _ = apply(rule, before1, instant1, memory, at1 + lane, parameters)
        new2, _ = apply(rule, before2, instant2, memory, at2 + lane, parameters)
        regret[at0 + lane], regret[at1 + lane], regret[at2 + lane] = new0, new1, new2
        if passes_new(rule):
            own0, own1, own2 = max(new0, zero), max(new1, zero), max(new2, zero)
            total = own0 + own1 + own2
            factor = factor_of(total, nothing, zero, next_rest)
            constant = constant_of(total, nothing, next_lowest, uniform)
            mean = (own0 * factor + constant) * value0 + (own1 * factor + constant) * value1
            mean += (own2 * factor + constant) * value2
        v[lane] = mean


@inlined
def _ascend_locked(
    lanes: int,
    at: int,
    parent: np.ndarray,
    rule: LocalRule,
    parameters: tuple[float, ...],
    played_floor: float,
    floor: float,
    rounding: float,
    regret: np.ndarray,
    strategy: np.ndarray | None,
    memory: np.ndarray,
    value: np.ndarray,
    forecast: np.ndarray,
    probability: np.ndarray,
    own: np.ndarray,
) -> None:
    """What :func:`ascend` does at an infoset that is locked.

    Its free actions are a decision of their own: their regrets are against what they are worth
    together, and the rule's strategy for them is scaled to what the lock leaves.

    Action ``a`` is sequence ``at + a * lanes``; ``parent`` begins with the last sequence before the
    infoset; ``probability`` is that of the lock, action by action; ``own`` is scratch of whole
    rules.
    """
    actions, share = len(probability), free_share(probability)
    # The strategy that is played, then the preferences of the next one.
    sigma = _locked_play(regret[at:], strategy, at, lanes, probability, played_floor)
    v, mean, expected, scale, largest = 0.0, 0.0, 0.0, 0.0, -np.inf
    for a in range(actions):
        s = at + a * lanes
        v += sigma[a] * value[s]
        if probability[a] < 0.0:
            mean += sigma[a] * value[s] / share
            scale = max(scale, abs(value[s]))
            if has_forecast(rule):
                expected += sigma[a] * forecast[s] / share
    # One condition inside the other: numba leaves out what is behind a strategy that is None.
    if strategy is not None:  # noqa: SIM102
        if is_whole(rule):
            if share > 0.0:
                v += share * _step_free(
                    lanes,
                    at,
                    rule,
                    parameters,
                    rounding * scale,
                    mean,
                    share,
                    regret,
                    sigma,
                    memory,
                    value,
                    probability,
                    own,
                )
            value[parent[0]] += v
            share_out(sigma, 1, probability, floor)
            for a in range(actions):
                s = at + a * lanes
                if passes_new(rule):
                    value[parent[0]] += (sigma[a] - strategy[s]) * value[s]
                strategy[s] = sigma[a]
            return
    for a in range(actions):
        s = at + a * lanes
        if probability[a] < 0.0:
            instant = value[s] - mean
            if abs(instant) <= rounding * scale:
                instant = 0.0
            new, preference = apply(rule, np.float64(regret[s]), instant, memory, s, parameters)
            regret[s] = new
            if has_forecast(rule):
                lean = forecast[s] - expected
                if abs(lean) > rounding * max(scale, abs(forecast[s])):
                    preference += lean
            if not is_exponential(rule):
                preference = max(preference, 0.0)
            largest = max(largest, preference)
            sigma[a] = preference
    if strategy is None:
        if passes_new(rule):
            v = 0.0
            sigma = locked_strategy(regret[at:], lanes, probability, floor)
            for a in range(actions):
                v += sigma[a] * value[at + a * lanes]
        value[parent[0]] += v
    if strategy is not None:
        if is_exponential(rule):
            for a in range(actions):
                if probability[a] < 0.0:
                    sigma[a] = np.exp(sigma[a] - largest)
        share_out(sigma, 1, probability, floor)
        if passes_new(rule):
            v = 0.0
            for a in range(actions):
                v += sigma[a] * value[at + a * lanes]
        value[parent[0]] += v
        for a in range(actions):
            strategy[at + a * lanes] = sigma[a]
            if has_forecast(rule):
                forecast[parent[0]] += sigma[a] * forecast[at + a * lanes]


@inlined
def _step_free(
    lanes: int,
    at: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    least: float,
    mean: float,
    share: float,
    regret: np.ndarray,
    sigma: np.ndarray,
    memory: np.ndarray,
    value: np.ndarray,
    probability: np.ndarray,
    own: np.ndarray,
) -> float:
    """The step of a whole rule for the free actions of a locked infoset.

    Args:
        lanes: Distance between consecutive actions.
        at: Sequence of the first action.
        rule: The rule.
        parameters: Its parameters at this iteration.
        least: Instantaneous regrets up to here are rounding.
        mean: Value of the free actions together.
        share: Their probability together.
        regret: float (sequences,): modified in place.
        sigma: float64 (actions,): probabilities of the actions; those of free actions become the
            next ones, which sum to 1.
        memory: float (kept, sequences): modified in place.
        value: float (sequences,): counterfactual values.
        probability: float64 (actions,): those of the lock.
        own: Scratch.

    Returns:
        By how much the value that is passed up differs from ``mean``.
    """
    count = 0
    for a in range(len(probability)):
        count += probability[a] < 0.0
    rows = OWN_ROWS + memory.shape[0]
    arrays, passed = view(own, 0, (rows, count, 1)), own[len(own) - 1 :]
    free = 0
    for a in range(len(probability)):
        if probability[a] < 0.0:
            s = at + a * lanes
            instant = value[s] - mean
            arrays[0, free, 0], arrays[2, free, 0] = regret[s], value[s]
            arrays[1, free, 0] = 0.0 if abs(instant) <= least else instant
            arrays[3, free, 0] = sigma[a] / share
            for k in range(memory.shape[0]):
                arrays[OWN_ROWS + k, free, 0] = memory[k, s]
            free += 1
    passed[0] = mean
    apply_whole(
        rule, arrays[0], arrays[1], arrays[2], passed, arrays[3], arrays[OWN_ROWS:], parameters
    )
    free = 0
    for a in range(len(probability)):
        if probability[a] < 0.0:
            s = at + a * lanes
            regret[s], sigma[a] = arrays[0, free, 0], arrays[3, free, 0]
            for k in range(memory.shape[0]):
                memory[k, s] = arrays[OWN_ROWS + k, free, 0]
            free += 1
    return 0.0 if passes_new(rule) else passed[0] - mean


@inlined
def _locked_play(
    regret: np.ndarray,
    strategy: np.ndarray | None,
    at: int,
    lanes: int,
    probability: np.ndarray,
    floor: float,
) -> np.ndarray:
    """The strategy that is played at a locked infoset, float64 (actions,).

    Args:
        regret: Regrets, action ``a`` at ``a * lanes``.
        strategy: Strategies that are kept, action ``a`` at ``at + a * lanes``; or None.
        at: Where those of the infoset begin.
        lanes: Distance between consecutive actions.
        probability: float64 (actions,): those of the lock.
        floor: Share of what the free actions get that is uniform, where strategies are not kept.
    """
    if strategy is None:
        return locked_strategy(regret, lanes, probability, floor)
    found = np.empty(len(probability))
    for a in range(len(probability)):
        found[a] = strategy[at + a * lanes]
    return found


@inlined
def _mean(
    strategy: np.ndarray, q: np.ndarray, actions: int, lanes: int, length: int, mean: np.ndarray
) -> None:
    """Mean value of each infoset under a strategy.

    Args:
        strategy: Probabilities, action ``a`` of lane ``l`` at ``a * lanes + l``.
        q: Values, likewise.
        actions: Actions of every infoset.
        lanes: Distance between consecutive actions.
        length: Infosets.
        mean: float64 (at least length,): modified in place.
    """
    mean[:length] = 0.0
    for a in range(actions):
        for lane in range(length):
            mean[lane] += strategy[a * lanes + lane] * q[a * lanes + lane]


@inlined
def _exponentiate(
    weight: np.ndarray, actions: int, lanes: int, length: int, total: np.ndarray
) -> None:
    """Weights from exponents, the largest of an infoset at 1, and their totals.

    Args:
        weight: Exponents, action ``a`` of lane ``l`` at ``a * lanes + l``; modified in place.
        actions: Actions of every infoset.
        lanes: Distance between the exponents of consecutive actions.
        length: Infosets.
        total: float64 (at least length,): modified in place.
    """
    for lane in range(length):
        largest = weight[lane]
        for a in range(1, actions):
            largest = max(largest, weight[lane + a * lanes])
        total[lane] = 0.0
        for a in range(actions):
            weight[lane + a * lanes] = np.exp(weight[lane + a * lanes] - largest)
            total[lane] += weight[lane + a * lanes]
