"""Backward value pass: counterfactual values, regrets and next strategies, deepest level first.

:func:`backward` is the pass.  At each infoset it

* computes the counterfactual value of the infoset under the current strategy,
* updates the regrets by the local rule, and the strategy if it is stored,
* adds the value to the sequence before the infoset, one level up.

Infosets are processed in tiles (:mod:`tensorcfr.kernels.tiles`), by one of three loops: strategies
from regrets (:func:`_step_from_regrets`), stored strategies (:func:`_step_stored_strategies`), or
rules that update all actions of an infoset together (:func:`_step_by_whole_rule`).  Locked infosets
and infosets with a single action have loops of their own.  So do infosets of two or three actions,
if strategies come from regrets.

The forward reach pass is in :mod:`tensorcfr.kernels.forward_pass`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._util.jit import by_types, inlined, is_none
from ..model.arrays import LockedLanes, SequenceForm
from .forward_pass import (
    as_precision_of,
    constant_of,
    factor_of,
    locked_strategy,
    match,
    zero_threshold,
)
from .local_rule import LocalRule, apply, apply_pace
from .locked_lanes import (
    apply_lock,
    first_lock,
    free_probability,
    has_least,
    mix_values,
    of_lock,
)
from .parts import Lanes, Part, Rows, Step
from .ties import ROUNDING, find_tie_thresholds, round_ties, tie_threshold_of
from .tiles import LONGEST, all_equal, run_length, scatter, share_values, tile_length
from .whole_rules import step_free, step_whole

SUM = 64
"""Number of single-action infosets with the same parent whose values are summed in one loop."""
MAX_GROWING_RATIO = 2.0**40
"""Largest ratio of cumulative to instantaneous regrets at which a pace above 1 is applied.  At
larger ratios strategies hardly change, and growing regrets would overflow."""


@inlined
def backward(
    part: Part,
    player: int,
    step: Step,
    tile: np.ndarray,
    rule_scratch: np.ndarray,
    first_hand: int,
    last_hand: int,
    locks: LockedLanes | None,
) -> None:
    """Compute a player's counterfactual values, and update regrets and strategies.

    Levels run from the deepest one up, because each infoset adds its value to the sequence before
    it.

    Args:
        part: Game and arrays.  ``value`` holds the counterfactual payoffs ``g`` on entry, and the
            counterfactual values on return.  Regrets, strategies and memory are updated in
            place.
        player: Player whose infosets are updated.
        step: The local rule with its parameters.
        tile: float (TILE_ROWS, LONGEST): scratch in the precision of the values.
        rule_scratch: Scratch of whole rules, from
            :func:`~tensorcfr.kernels.whole_rules.whole_scratch`.
        first_hand: First hand to process.
        last_hand: Hand after the last one to process.
        locks: Locked infosets, or None.
    """
    form, value = part.form, part.value
    parent = form.infoset_parent
    # The last bucket is the deepest: all infosets below a sequence add to it before it is read.
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, stride = form.bucket_actions[b], form.bucket_lanes[b]
        # `stride` separates the actions of an infoset, `bucket_stride` the hands of the bucket.
        # A bucket has only the hands of its mask, in the order of the hands, so each range of hands
        # is a range of lanes.
        first_lane = form.hand_rank[form.bucket_mask[b], first_hand] * form.bucket_stride[b]
        last_lane = form.hand_rank[form.bucket_mask[b], last_hand] * form.bucket_stride[b]
        if actions == 1:
            _propagate_forced(form, b, first_lane, last_lane, value)
            continue
        # A form with copies has one hand, and so one thread has all lanes.
        if last_lane > first_lane:
            share_values(form.copies, b, value)
        bound = as_precision_of(tile[0, 0], ROUNDING * part.value_bound[b])
        rows = Rows(
            tile[0], tile[1], tile[2], tile[3], tile[4], tile[5], tile[6], rule_scratch, bound
        )
        run = first_lane
        if locks is not None:
            lock = first_lock(locks, b, first_lane)
        while run < last_lane:
            # A locked lane ends the run of free lanes, and is processed alone.
            end = last_lane
            if locks is not None and lock < locks.bucket[b + 1]:
                end = min(end, locks.lane[lock])
            begin, n_consecutive = run, 0
            while begin < end:
                infoset = form.bucket_infoset[b] + begin
                n_consecutive = run_length(
                    parent, infoset, min(LONGEST, end - begin), n_consecutive
                )
                count = tile_length(n_consecutive, end - begin)
                lanes = Lanes(actions, stride, form.bucket_sequence[b] + begin, count)
                begin += count
                if not _step_few_actions(part.strategy, part, lanes, step, rows):
                    _step_many_actions(part.strategy, step.rule, part, lanes, step, rows)
                if locks is not None:  # noqa: SIM102
                    if has_least(locks, player):
                        mix_values(locks.least, lanes, value, rows.mean, rows.total)
                # One level up, they are part of the values of the sequences before these infosets.
                scatter(rows.mean, parent, infoset, count, n_consecutive, value)
            if locks is not None and end < last_lane:
                lanes = Lanes(actions, stride, form.bucket_sequence[b] + end, 1)
                parent_sequence = parent[form.bucket_infoset[b] + end]
                probability = of_lock(locks, lock, actions)
                _step_locked(part.strategy, part, lanes, parent_sequence, step, rows, probability)
                lock += 1
            run = end + 1


@inlined
def _propagate_forced(
    form: SequenceForm, b: int, first_lane: int, last_lane: int, value: np.ndarray
) -> None:
    """Add the values of single-action infosets to their parent sequences; they have no regret."""
    parent = form.infoset_parent
    begin = first_lane
    while begin < last_lane:
        offset, infoset = form.bucket_sequence[b] + begin, form.bucket_infoset[b] + begin
        length = min(SUM, last_lane - begin)
        # Infosets often share a parent, such as the infosets after a public draw of cards.
        if length == SUM and all_equal(parent, infoset, SUM):
            # Four partial sums, so that additions do not wait for each other.
            first, zero = np.uint64(offset), as_precision_of(value[0], 0.0)
            sum0, sum1, sum2, sum3 = zero, zero, zero, zero
            for k in range(np.uint64(0), np.uint64(SUM), np.uint64(4)):
                sum0 += value[first + k]
                sum1 += value[first + k + np.uint64(1)]
                sum2 += value[first + k + np.uint64(2)]
                sum3 += value[first + k + np.uint64(3)]
            value[parent[infoset]] += (sum0 + sum1) + (sum2 + sum3)
        else:
            for lane in range(length):
                value[parent[infoset + lane]] += value[offset + lane]
        begin += length


@by_types
def _step_few_actions(
    strategy: np.ndarray | None, part: Part, lanes: Lanes, step: Step, rows: Rows
) -> Any:
    """Process infosets of two or three actions by dedicated loops, if the strategies come from
    regrets.

    Other infosets are left to :func:`_step_many_actions`.

    Returns:
        Whether the infosets were processed.
    """
    return (
        _step_few_from_regrets
        if is_none(strategy)
        else lambda strategy, part, lanes, step, rows: False
    )


@inlined
def _step_few_from_regrets(
    strategy: None, part: Part, lanes: Lanes, step: Step, rows: Rows
) -> bool:
    """Process infosets of two or three actions; return whether there were at most three.

    Totals and factors stay in registers, which halves the time.
    """
    if lanes.actions == 2:
        _value_two(part, lanes, step, rows)
    elif lanes.actions == 3:
        _value_three(part, lanes, step, rows)
    return lanes.actions <= 3


@inlined
def _value_two(part: Part, lanes: Lanes, step: Step, rows: Rows) -> None:
    """Compute values and update regrets of infosets with two actions."""
    rule, parameters, memory, bound = step.rule, step.parameters, part.memory, rows.bound
    regret, value, v = part.regret, part.value, rows.mean
    zero = as_precision_of(v[0], 0.0)
    negligible = zero_threshold(v[0])
    uniform = as_precision_of(v[0], 1.0 / 2.0)
    rest = as_precision_of(v[0], 1.0 - step.played_floor)
    lowest = as_precision_of(v[0], step.played_floor / 2.0)
    next_rest = as_precision_of(v[0], 1.0 - step.floor)
    next_lowest = as_precision_of(v[0], step.floor / 2.0)
    s0, s1 = np.uint64(lanes.first), np.uint64(lanes.first + lanes.stride)
    for lane in range(np.uint64(lanes.length)):
        # Regret matching: the current strategy from the regrets before the update.
        before0, before1 = regret[s0 + lane], regret[s1 + lane]
        positive0, positive1 = max(before0, zero), max(before1, zero)
        total = positive0 + positive1
        factor = factor_of(total, negligible, zero, rest)
        constant = constant_of(total, negligible, lowest, uniform)
        value0, value1 = value[s0 + lane], value[s1 + lane]
        mean = (positive0 * factor + constant) * value0 + (positive1 * factor + constant) * value1
        tie_threshold = tie_threshold_of(value, bound, max(abs(value0), abs(value1)))
        instant0 = round_ties(value0 - mean, tie_threshold, zero)
        instant1 = round_ties(value1 - mean, tie_threshold, zero)
        new0, _ = apply(rule, before0, instant0, memory, s0 + lane, parameters)
        new1, _ = apply(rule, before1, instant1, memory, s1 + lane, parameters)
        regret[s0 + lane], regret[s1 + lane] = new0, new1
        # Pass up the value under the new regrets instead of the value under the strategy played.
        if rule.passes_new:
            positive0, positive1 = max(new0, zero), max(new1, zero)
            total = positive0 + positive1
            factor = factor_of(total, negligible, zero, next_rest)
            constant = constant_of(total, negligible, next_lowest, uniform)
            mean = (positive0 * factor + constant) * value0 + (
                positive1 * factor + constant
            ) * value1
        v[lane] = mean


@inlined
def _value_three(part: Part, lanes: Lanes, step: Step, rows: Rows) -> None:
    """Compute values and update regrets of infosets with three actions."""
    rule, parameters, memory, bound = step.rule, step.parameters, part.memory, rows.bound
    regret, value, v = part.regret, part.value, rows.mean
    zero = as_precision_of(v[0], 0.0)
    negligible = zero_threshold(v[0])
    uniform = as_precision_of(v[0], 1.0 / 3.0)
    rest = as_precision_of(v[0], 1.0 - step.played_floor)
    lowest = as_precision_of(v[0], step.played_floor / 3.0)
    next_rest = as_precision_of(v[0], 1.0 - step.floor)
    next_lowest = as_precision_of(v[0], step.floor / 3.0)
    s0, s1 = np.uint64(lanes.first), np.uint64(lanes.first + lanes.stride)
    s2 = np.uint64(lanes.first + 2 * lanes.stride)
    for lane in range(np.uint64(lanes.length)):
        before0, before1 = regret[s0 + lane], regret[s1 + lane]
        before2 = regret[s2 + lane]
        positive0, positive1, positive2 = max(before0, zero), max(before1, zero), max(before2, zero)
        total = positive0 + positive1 + positive2
        factor = factor_of(total, negligible, zero, rest)
        constant = constant_of(total, negligible, lowest, uniform)
        value0, value1 = value[s0 + lane], value[s1 + lane]
        value2 = value[s2 + lane]
        mean = (positive0 * factor + constant) * value0 + (positive1 * factor + constant) * value1
        mean += (positive2 * factor + constant) * value2
        tie_threshold = tie_threshold_of(value, bound, max(abs(value0), abs(value1), abs(value2)))
        instant0 = round_ties(value0 - mean, tie_threshold, zero)
        instant1 = round_ties(value1 - mean, tie_threshold, zero)
        instant2 = round_ties(value2 - mean, tie_threshold, zero)
        new0, _ = apply(rule, before0, instant0, memory, s0 + lane, parameters)
        new1, _ = apply(rule, before1, instant1, memory, s1 + lane, parameters)
        new2, _ = apply(rule, before2, instant2, memory, s2 + lane, parameters)
        regret[s0 + lane], regret[s1 + lane], regret[s2 + lane] = new0, new1, new2
        if rule.passes_new:
            positive0, positive1, positive2 = max(new0, zero), max(new1, zero), max(new2, zero)
            total = positive0 + positive1 + positive2
            factor = factor_of(total, negligible, zero, next_rest)
            constant = constant_of(total, negligible, next_lowest, uniform)
            mean = (positive0 * factor + constant) * value0 + (
                positive1 * factor + constant
            ) * value1
            mean += (positive2 * factor + constant) * value2
        v[lane] = mean


@by_types
def _step_many_actions(
    strategy: np.ndarray | None,
    rule: LocalRule,
    part: Part,
    lanes: Lanes,
    step: Step,
    rows: Rows,
) -> Any:
    """Update regrets and strategies of infosets that are not locked.

    Their values are written to ``rows.mean``.
    """
    if is_none(strategy):
        return _step_from_regrets
    return _step_by_whole_rule if rule.whole else _step_stored_strategies


@inlined
def _step_from_regrets(
    strategy: None, rule: LocalRule, part: Part, lanes: Lanes, step: Step, rows: Rows
) -> None:
    """Update infosets whose strategies are computed from their regrets."""
    actions, stride, offset, count = lanes
    regret, value, v, tie_threshold = part.regret, part.value, rows.mean, rows.tie_threshold
    zero = as_precision_of(v[0], 0.0)
    # Several loops over few arrays are faster than one loop over many.
    find_tie_thresholds(value, lanes, rows)
    _value_from_regrets(part, lanes, step.played_floor, rows)
    for a in range(actions):
        first = offset + a * stride
        q, cumulative = value[first:], regret[first:]
        for lane in range(count):
            instant = round_ties(q[lane] - v[lane], tie_threshold[lane], zero)
            new, _ = apply(
                rule, cumulative[lane], instant, part.memory, first + lane, step.parameters
            )
            cumulative[lane] = new
    if rule.passes_new:
        _value_from_regrets(part, lanes, step.floor, rows)


@inlined
def _value_from_regrets(part: Part, lanes: Lanes, floor: float, rows: Rows) -> None:
    """Compute the value of each infoset under regret matching, and write it to ``rows.mean``."""
    regret, value, v = part.regret, part.value, rows.mean
    total, constant = rows.total, rows.constant
    match(regret, lanes, floor, total, constant)
    zero = as_precision_of(v[0], 0.0)
    v[: lanes.length] = zero
    for a in range(lanes.actions):
        s = np.uint64(lanes.first + a * lanes.stride)
        for lane in range(np.uint64(lanes.length)):
            played = max(regret[s + lane], zero) * total[lane] + constant[lane]
            v[lane] += played * value[s + lane]


@inlined
def _step_stored_strategies(
    strategy: np.ndarray, rule: LocalRule, part: Part, lanes: Lanes, step: Step, rows: Rows
) -> None:
    """Update infosets whose strategies are stored, from the preferences of a local rule."""
    actions, stride, offset, count = lanes
    regret, value, v = part.regret, part.value, rows.mean
    tie_threshold, total, constant = rows.tie_threshold, rows.total, rows.constant
    zero, floor = as_precision_of(v[0], 0.0), step.floor
    find_tie_thresholds(value, lanes, rows)
    _mean_values(strategy, lanes, value, v)
    _find_paces(rule, part, lanes, step, rows)
    # Instantaneous regrets are measured from it.
    baseline = rows.baseline if rule.paced else v
    total[:count] = zero
    # Update the regrets, and store preferences in place of the strategies.
    for a in range(actions):
        first = offset + a * stride
        q, cumulative, sigma = value[first:], regret[first:], strategy[first:]
        for lane in range(count):
            instant = round_ties(q[lane] - baseline[lane], tie_threshold[lane], zero)
            before = cumulative[lane]
            if rule.paced:
                before *= rows.pace[lane]
            new, preference = apply(
                rule, before, instant, part.memory, first + lane, step.parameters
            )
            cumulative[lane] = new
            if not rule.exponential:
                preference = max(preference, zero)
                total[lane] += preference
            sigma[lane] = preference
    if rule.exponential:
        _exponentiate(strategy, lanes, total)
    negligible, uniform = zero_threshold(zero), as_precision_of(zero, 1.0 / actions)
    # From here on, `total` holds the factor of each infoset in place of its sum.
    unit, uniform_part = as_precision_of(zero, 1.0), as_precision_of(zero, floor)
    # Both products are inside the loop: kept in registers from before it, they take 6 % of an
    # iteration of liar's dice.
    for lane in range(count):
        constant[lane] = constant_of(total[lane], negligible, uniform_part * uniform, uniform)
        total[lane] = factor_of(total[lane], negligible, zero, unit - uniform_part)
    if rule.passes_new:
        v[:count] = zero
    for a in range(actions):
        # Normalise the preferences: from here on, `strategy` holds probabilities again.
        probability = strategy[offset + a * stride :]
        for lane in range(count):
            probability[lane] = probability[lane] * total[lane] + constant[lane]
        if rule.passes_new:
            q = value[offset + a * stride :]
            for lane in range(count):
                v[lane] += probability[lane] * q[lane]


@by_types
def _find_paces(rule: LocalRule, part: Part, lanes: Lanes, step: Step, rows: Rows) -> Any:
    """Compute the pace of each infoset, in ``rows.pace``, for a rule that sets one, and the value
    from which its regrets are measured, in ``rows.baseline``."""
    return _paces_of_agreement if rule.paced else lambda rule, part, lanes, step, rows: None


@inlined
def _paces_of_agreement(rule: LocalRule, part: Part, lanes: Lanes, step: Step, rows: Rows) -> None:
    """Compute the pace of each infoset from the agreement of its regrets with earlier ones.

    Regrets are measured from the strategy without its floor.  Measured from the strategy with its
    floor, the regrets of all actions in play would be positive once the strategy has settled, and
    would agree for ever.
    """
    actions, stride, offset, count = lanes
    baseline = rows.baseline
    tie_threshold = rows.tie_threshold
    zero = as_precision_of(rows.mean[0], 0.0)
    for lane in range(count):
        baseline[lane] = rows.mean[lane]
    if step.floor > 0.0:
        _value_without_floor(part, lanes, rows)
    # Reuse rows of scratch that are filled later.
    product, new, old, gained = rows.total, rows.square, rows.constant, rows.pace
    product[:count], new[:count], old[:count], gained[:count] = zero, zero, zero, zero
    for a in range(actions):
        first = offset + a * stride
        q, cumulative, earlier = part.value[first:], part.regret[first:], part.memory[0, first:]
        for lane in range(count):
            instant = round_ties(q[lane] - baseline[lane], tie_threshold[lane], zero)
            before = earlier[lane]
            counts = is_in_play(instant, cumulative[lane], before)
            product[lane] += instant * before if counts else zero
            new[lane] += instant * instant if counts else zero
            old[lane] += before * before if counts else zero
            gained[lane] += max(cumulative[lane], zero)
    for lane in range(count):
        rows.pace[lane] = _pace(step, product[lane], new[lane], old[lane], gained[lane])


@inlined
def _value_without_floor(part: Part, lanes: Lanes, rows: Rows) -> None:
    """Compute the value of each infoset without a floor, in ``rows.baseline``.

    It is left unchanged where no action has a positive weight.
    """
    total, weighted_value, zero = rows.total, rows.constant, as_precision_of(rows.mean[0], 0.0)
    total[: lanes.length], weighted_value[: lanes.length] = zero, zero
    for a in range(lanes.actions):
        first = lanes.first + a * lanes.stride
        q, cumulative, earlier = part.value[first:], part.regret[first:], part.memory[0, first:]
        for lane in range(lanes.length):
            weight = max(cumulative[lane] + earlier[lane], zero)
            total[lane] += weight
            weighted_value[lane] += weight * q[lane]
    for lane in range(lanes.length):
        if total[lane] > zero:
            rows.baseline[lane] = weighted_value[lane] / total[lane]


@inlined
def is_in_play(instant: float, regret: float, earlier: float) -> bool:
    """Return whether an action is played, or would have gained."""
    return max(instant, regret + earlier) > 0.0


@inlined
def _pace(step: Step, product: float, new: float, old: float, gained: float) -> float:
    """Compute the pace of an infoset.

    Args:
        step: Step of a rule that sets a pace.
        product: Scalar product of the instantaneous regrets and the mean of earlier ones, over the
            actions in play.
        new: Squared length of the instantaneous regrets.
        old: Squared length of the mean.
        gained: Sum of the positive cumulative regrets.
    """
    zero = as_precision_of(product, 0.0)
    unit = as_precision_of(product, 1.0)
    max_ratio = as_precision_of(product, MAX_GROWING_RATIO)
    length = np.sqrt(new)
    length_product = length * np.sqrt(old)
    agreement = min(max(product / (length_product if length_product > zero else unit), -unit), unit)
    # The lower bound keeps the pace finite for a rule that restores small regrets.
    size = max(gained / (length if length_product > zero else unit), unit / max_ratio)
    pace = as_precision_of(product, apply_pace(step.rule, agreement, size, step.parameters))
    return unit if length_product <= zero or (size > max_ratio and pace > unit) else pace


@inlined
def _mean_values(strategy: np.ndarray, lanes: Lanes, value: np.ndarray, mean: np.ndarray) -> None:
    """Compute the mean value of each infoset under a strategy; ``mean`` is modified in place."""
    mean[: lanes.length] = as_precision_of(mean[0], 0.0)
    for a in range(lanes.actions):
        first = lanes.first + a * lanes.stride
        sigma, q = strategy[first:], value[first:]
        for lane in range(lanes.length):
            mean[lane] += sigma[lane] * q[lane]


@inlined
def _exponentiate(weight: np.ndarray, lanes: Lanes, total: np.ndarray) -> None:
    """Replace exponents by weights, and sum the weights of each infoset; both are modified in
    place.

    The largest weight of an infoset is 1, so that no exponential overflows.

    Args:
        weight: float (sequences,): exponents on entry, weights on return.
        lanes: The infosets.
        total: float (LONGEST,): sum of the weights of each infoset.
    """
    for lane in range(lanes.first, lanes.first + lanes.length):
        largest = weight[lane]
        for a in range(1, lanes.actions):
            largest = max(largest, weight[lane + a * lanes.stride])
        weight_sum = as_precision_of(total[0], 0.0)
        for a in range(lanes.actions):
            s = lane + a * lanes.stride
            weight[s] = np.exp(weight[s] - largest)
            weight_sum += weight[s]
        total[lane - lanes.first] = weight_sum


@inlined
def _step_by_whole_rule(
    strategy: np.ndarray, rule: LocalRule, part: Part, lanes: Lanes, step: Step, rows: Rows
) -> None:
    """Update infosets by a rule that computes all probabilities of an infoset together."""
    find_tie_thresholds(part.value, lanes, rows)
    _mean_values(strategy, lanes, part.value, rows.mean)
    step_whole(strategy, part, lanes, step, rows)


@inlined
def _step_locked(
    strategy: np.ndarray | None,
    part: Part,
    lanes: Lanes,
    parent_sequence: int,
    step: Step,
    rows: Rows,
    probability: np.ndarray,
) -> None:
    """Update a locked infoset, and add its value to the sequence before it.

    The free actions are treated as an infoset of their own.  Their regrets are measured from the
    mean value of the free actions, and their strategy is scaled to the probability that the lock
    leaves them.

    Args:
        strategy: ``part.strategy``, as an argument of its own: numba removes branches on an
            argument that is None.
        part: Game and arrays, modified in place.
        lanes: The infoset.
        parent_sequence: Sequence before the infoset.
        step: The local rule with its parameters.
        rows: Scratch.
        probability: float64 (actions,): probabilities of the lock; negative for free actions.
    """
    actions, stride, offset, _ = lanes
    rule, regret, value = step.rule, part.regret, part.value
    free_total = free_probability(probability)
    # Holds the current strategy first, and then the preferences of the next one.
    sigma = _played_locked_strategy(strategy, regret, lanes, probability, step.played_floor)
    v, mean, size, largest = 0.0, 0.0, 0.0, -np.inf
    for a in range(actions):
        s = offset + a * stride
        v += sigma[a] * value[s]
        if probability[a] < 0.0:
            mean += sigma[a] * value[s] / free_total
            size = max(size, abs(value[s]))
    tie_threshold = tie_threshold_of(value, rows.bound, size)
    # Nested conditions, because numba removes only branches on a plain `is not None`.
    if strategy is not None:  # noqa: SIM102
        if rule.whole:
            if free_total > 0.0:
                v += free_total * step_free(
                    part, lanes, step, tie_threshold, mean, sigma, probability, rows
                )
            value[parent_sequence] += v
            apply_lock(sigma, 1, probability, step.floor)
            for a in range(actions):
                s = offset + a * stride
                if rule.passes_new:
                    value[parent_sequence] += (sigma[a] - strategy[s]) * value[s]
                strategy[s] = sigma[a]
            return
    pace, mean = _locked_pace(rule, part, lanes, step, tie_threshold, mean, probability)
    for a in range(actions):
        s = offset + a * stride
        if probability[a] < 0.0:
            instant = round_ties(value[s] - mean, tie_threshold, 0.0)
            new, preference = apply(
                rule, np.float64(pace * regret[s]), instant, part.memory, s, step.parameters
            )
            regret[s] = new
            if not rule.exponential:
                preference = max(preference, 0.0)
            largest = max(largest, preference)
            sigma[a] = preference
    if strategy is None:
        if rule.passes_new:
            v = 0.0
            sigma = locked_strategy(regret[offset:], stride, probability, step.floor)
            for a in range(actions):
                v += sigma[a] * value[offset + a * stride]
        value[parent_sequence] += v
    if strategy is not None:
        if rule.exponential:
            for a in range(actions):
                if probability[a] < 0.0:
                    sigma[a] = np.exp(sigma[a] - largest)
        apply_lock(sigma, 1, probability, step.floor)
        if rule.passes_new:
            v = 0.0
            for a in range(actions):
                v += sigma[a] * value[offset + a * stride]
        value[parent_sequence] += v
        for a in range(actions):
            strategy[offset + a * stride] = sigma[a]


@by_types
def _locked_pace(
    rule: LocalRule,
    part: Part,
    lanes: Lanes,
    step: Step,
    tie_threshold: float,
    mean: float,
    probability: np.ndarray,
) -> Any:
    """Return the pace of a locked infoset's free actions, and the value to measure their regrets
    from.

    Without a pace these are 1 and ``mean``, the mean value of the free actions.
    """
    if rule.paced:
        return _locked_pace_of_agreement
    return lambda rule, part, lanes, step, tie_threshold, mean, probability: (1.0, mean)


@inlined
def _locked_pace_of_agreement(
    rule: LocalRule,
    part: Part,
    lanes: Lanes,
    step: Step,
    tie_threshold: float,
    mean: float,
    probability: np.ndarray,
) -> tuple[float, float]:
    total, weighted_value = 0.0, 0.0
    for a in range(len(probability)):
        s = lanes.first + a * lanes.stride
        if probability[a] < 0.0:
            weight = max(part.regret[s] + part.memory[0, s], 0.0)
            total += weight
            weighted_value += weight * part.value[s]
    baseline = weighted_value / total if step.floor > 0.0 and total > 0.0 else mean
    product, new, old, gained = 0.0, 0.0, 0.0, 0.0
    for a in range(len(probability)):
        s = lanes.first + a * lanes.stride
        instant = round_ties(part.value[s] - baseline, tie_threshold, 0.0)
        earlier = np.float64(part.memory[0, s])
        if probability[a] < 0.0:
            gained += max(part.regret[s], 0.0)
            if is_in_play(instant, part.regret[s], earlier):
                product += instant * earlier
                new += instant * instant
                old += earlier * earlier
    return _pace(step, product, new, old, gained), baseline


@inlined
def _played_locked_strategy(
    strategy: np.ndarray | None,
    regret: np.ndarray,
    lanes: Lanes,
    probability: np.ndarray,
    floor: float,
) -> np.ndarray:
    """Return the current strategy of a locked infoset, float64 (actions,).

    ``floor`` is used only if strategies are not stored.
    """
    if strategy is None:
        return locked_strategy(regret[lanes.first :], lanes.stride, probability, floor)
    sigma = np.empty(len(probability))
    for a in range(len(probability)):
        sigma[a] = strategy[lanes.first + a * lanes.stride]
    return sigma
