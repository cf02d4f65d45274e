"""The solver's inner loop: one iteration of CFR over the flat arrays of a game.

For each player in turn: the payoff product gives ``g``; a backward pass over his levels gives
counterfactual values, new regrets and the new strategy; a forward pass adds to the average and
gives the new reaches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._util.jit import inlined, kernel
from ..model.arrays import LockedLanes, SequenceForm
from ..payoff import PayoffPart
from ..payoff.multiply import add_share, payoff_product, payoff_scratch, scratch_size
from .local_rule import LocalRule, apply, has_forecast, is_exponential, parameters_of
from .locks import first_lock, free_share, of_lock, share_out

TILE = 256
"""Lanes handled together, so that what a pass reads twice is still in the first cache level."""


ROUNDING = 2.0**-48
"""An instantaneous regret smaller than this, relative to the counterfactual values that it comes
from, is taken for 0: it is the rounding of an exact tie, and its sign is an accident."""
SINGLE_ROUNDING = 2.0**-20
"""The same where values are stored in single precision."""


class State(NamedTuple):
    """What a solver carries from one iteration to the next; (sequences,) unless said, all of them
    float64 or all float32."""

    regret: np.ndarray
    """Cumulative regret, as the local rule keeps it."""
    strategy: np.ndarray
    """Behaviour strategy; 1 for the empty sequences."""
    reach: np.ndarray
    """Own reach (realization plan) of ``strategy``; 1 for the empty sequences."""
    cumulative: np.ndarray
    """Sum over iterations of averaging weight times own reach; for the empty sequences the sum
    of the weights."""
    memory: np.ndarray
    """What the rule keeps beside the regret, (kept, sequences)."""
    value: np.ndarray
    """Scratch: counterfactual values."""
    forecast: np.ndarray
    """Scratch of rules with a forecast (otherwise empty): counterfactual values when the player
    already plays the new strategy further down."""


class Averages(NamedTuple):
    """What it takes to play against the average strategies of the others."""

    weight: np.ndarray
    """float64 (iterations + 1,): averaging weights of the iterations that are run, and of the one
    after them."""
    reach: np.ndarray
    """Scratch, (sequences,), in the floats of the state: reaches of the average strategies."""


PRODUCT, UPDATE = 0, 1
"""Passes: the payoff product; the backward and the forward pass."""


def turns(players: int, alternating: bool) -> np.ndarray:
    """The order of the passes within an iteration.

    Args:
        players: Number of players.
        alternating: Whether each player's update sees the updates before it in the same iteration.

    Returns:
        int64 (2 * players, 2): player and pass, ``PRODUCT`` or ``UPDATE``.
    """
    everybody = range(players)
    if alternating:
        order = [(player, step) for player in everybody for step in (PRODUCT, UPDATE)]
    else:
        order = [(player, step) for step in (PRODUCT, UPDATE) for player in everybody]
    return np.array(order, dtype=np.int64)


@kernel
def iterate(
    form: SequenceForm,
    rule: LocalRule,
    schedule: np.ndarray,
    turns: np.ndarray,
    state: State,
    floors: np.ndarray,
    averages: Averages | None,
    locks: LockedLanes | None,
) -> None:
    """Run as many iterations as ``schedule`` has rows.

    Args:
        form: The game.
        rule: The local rule, to which this kernel is specialised.
        schedule: float64 (iterations, 1 + parameters): averaging weight, then the parameters of
            the rule, iteration by iteration.
        turns: From :func:`turns`: the order of the passes within an iteration.
        state: Modified in place.
        floors: float64 (iterations,): share of the next strategy that is uniform.
        averages: To play against the others' average strategies; None for the current ones.
            Compiled with or without, as for locks.
        locks: Locked infosets, or None: the kernel is compiled with the locks or without.
    """
    hands = form.hand_rank.shape[1] - 1
    tile = np.empty((4, TILE))
    scratch = payoff_scratch(form)
    for t in range(schedule.shape[0]):
        weight, floor = schedule[t, 0], floors[t]
        parameters = parameters_of(rule, schedule[t, 1:])
        # Call each pass from one place: numba inlines it at every call site.
        for turn in range(turns.shape[0]):
            player = turns[turn, 0]
            if turns[turn, 1] == PRODUCT:
                if averages is None:
                    payoff_product(form, player, state.reach, state.value, scratch)
                else:
                    average_reaches(form, player, t, turns, state, averages)
                    payoff_product(form, player, averages.reach, state.value, scratch)
            else:
                if has_forecast(rule):
                    begin_forecast(form, player, state)
                backward(form, player, 0, hands, rule, parameters, floor, state, tile, locks)
                forward(form, player, 0, hands, weight, state, tile)


@kernel
def average_reaches(
    form: SequenceForm,
    player: int,
    t: int,
    turns: np.ndarray,
    state: State,
    averages: Averages,
) -> None:
    """What the average strategies of a player's opponents reach, those that they play now
    included.

    Args:
        form: The game.
        player: Who faces them.
        t: Which of the iterations that are run, from 0.
        turns: The order of the passes; an opponent who is updated before the player's product
            already has the strategy of the next iteration.
        state: Their cumulative strategies, and their reaches now.
        averages: ``reach`` is modified in place, at the opponents' sequences.
    """
    is_new = np.zeros(form.player_sequences.shape[0] - 1)
    for turn in range(turns.shape[0]):
        if turns[turn, 1] == UPDATE:
            is_new[turns[turn, 0]] = 1
        elif turns[turn, 0] == player:
            break
    for other in range(form.player_sequences.shape[0] - 1):
        if other == player:
            continue
        first, last = form.player_sequences[other], form.player_sequences[other + 1]
        weight = averages.weight[t + 1 if is_new[other] else t]
        total = state.cumulative[first] + weight
        if total == 0.0:  # No average yet.
            weight = total = 1.0
        share = 1.0 / total
        faced, average, x = averages.reach[first:], state.cumulative[first:], state.reach[first:]
        for s in range(last - first):
            faced[s] = (average[s] + weight * x[s]) * share


@inlined
def begin_forecast(form: SequenceForm, player: int, state: State) -> None:
    """A forecast begins with the payoffs."""
    for s in range(form.player_sequences[player], form.player_sequences[player + 1]):
        state.forecast[s] = state.value[s]


@kernel
def multiply_share(
    operator: tuple[PayoffPart, ...],
    form: SequenceForm,
    player: int,
    share: int,
    shares: int,
    reach: np.ndarray,
    g: np.ndarray,
) -> None:
    """Add one share of the product of some parts of the payoff operator; other threads may add
    the other shares of the same parts at the same time.

    Args:
        operator: The parts.
        form: The game.
        player: Whose payoffs.
        share: Which share.
        shares: Number of shares.
        reach: float (sequences,): own reach of every player's sequences.
        g: float (sequences,): modified in place.
    """
    scratch = np.empty(scratch_size(operator))
    add_share(operator, form.hand_rank, player, share, shares, reach, g, scratch)


@kernel
def update(
    form: SequenceForm,
    player: int,
    first_hand: int,
    last_hand: int,
    rule: LocalRule,
    row: np.ndarray,
    floor: float,
    state: State,
    locks: LockedLanes | None,
) -> None:
    """Both passes of one iteration over the infosets of some hands of a player.

    What happens to one hand does not touch what belongs to another (the value of the player's
    empty sequence apart, which nothing depends on), so other hands may be updated beside.

    Args:
        form: The game.
        player: Whose infosets.
        first_hand: First of the hands.
        last_hand: The one after the last.
        rule: The local rule.
        row: float64 (1 + parameters,): averaging weight, then the parameters of the rule.
        floor: Share of the next strategy that is uniform.
        state: Modified in place.
        locks: Locked infosets, or None.
    """
    tile = np.empty((4, TILE))
    parameters = parameters_of(rule, row[1:])
    backward(form, player, first_hand, last_hand, rule, parameters, floor, state, tile, locks)
    forward(form, player, first_hand, last_hand, row[0], state, tile)


@inlined
def backward(
    form: SequenceForm,
    player: int,
    first_hand: int,
    last_hand: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    floor: float,
    state: State,
    tile: np.ndarray,
    locks: LockedLanes | None,
) -> None:
    """From the deepest level up: values, regrets and the next strategy, infoset by infoset.

    ``state.value`` comes in as ``g``; each level adds its infosets' values to the sequences
    that lead to them, so that it holds ``q`` when a level is reached.
    """
    value, regret, strategy, memory = state.value, state.regret, state.strategy, state.memory
    v, scale, total, expected = tile[0], tile[1], tile[2], tile[3]
    rounding = ROUNDING if value.itemsize == 8 else SINGLE_ROUNDING
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        first_lane = form.hand_rank[form.bucket_mask[b], first_hand] * form.bucket_stride[b]
        last_lane = form.hand_rank[form.bucket_mask[b], last_hand] * form.bucket_stride[b]
        if actions == 1:
            _pass_up(form, b, first_lane, last_lane, value)
            if has_forecast(rule):
                _pass_up(form, b, first_lane, last_lane, state.forecast)
            continue
        uniform = 1.0 / actions
        run = first_lane
        if locks is not None:
            lock = first_lock(locks, b, first_lane)
        while run < last_lane:
            # Up to the next locked lane, which is updated by itself.
            end = last_lane
            if locks is not None and lock < locks.bucket[b + 1]:
                end = min(end, locks.lane[lock])
            for begin in range(run, end, TILE):
                length = min(TILE, end - begin)
                at = form.bucket_sequence[b] + begin
                parent = form.infoset_parent[form.bucket_infoset[b] + begin :]
                v[:length] = 0.0
                scale[:length] = 0.0
                total[:length] = 0.0
                # The value of each infoset, and the size of the numbers that it is made of.
                for a in range(actions):
                    sigma = strategy[at + a * lanes :]
                    q = value[at + a * lanes :]
                    for lane in range(length):
                        v[lane] += sigma[lane] * q[lane]
                        scale[lane] = max(scale[lane], abs(q[lane]))
                if has_forecast(rule):
                    _mean(strategy[at:], state.forecast[at:], actions, lanes, length, expected)
                # The local rule: new regrets, and preferences in place of the strategy.
                for a in range(actions):
                    first = at + a * lanes
                    sigma = strategy[first:]
                    q = value[first:]
                    cumulative = regret[first:]
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
                        if has_forecast(rule):
                            forecast = state.forecast[first + lane]
                            lean = forecast - expected[lane]
                            if abs(lean) > rounding * max(scale[lane], abs(forecast)):
                                preference += lean
                        if not is_exponential(rule):
                            preference = max(preference, 0.0)
                            total[lane] += preference
                        sigma[lane] = preference
                # The next strategy.
                if is_exponential(rule):
                    _exponentiate(strategy[at:], actions, lanes, length, total)
                for lane in range(length):
                    idle = total[lane] <= 0.0
                    expected[lane] = uniform if idle else floor * uniform
                    total[lane] = 0.0 if idle else (1.0 - floor) / total[lane]
                for a in range(actions):
                    sigma = strategy[at + a * lanes :]
                    for lane in range(length):
                        sigma[lane] = sigma[lane] * total[lane] + expected[lane]
                for lane in range(length):
                    value[parent[lane]] += v[lane]
                if has_forecast(rule):
                    _mean(strategy[at:], state.forecast[at:], actions, lanes, length, expected)
                    for lane in range(length):
                        state.forecast[parent[lane]] += expected[lane]
            if locks is not None and end < last_lane:
                probability = of_lock(locks, lock, actions)
                update_locked(form, b, end, rule, parameters, floor, state, probability)
                lock += 1
            run = end + 1


@inlined
def update_locked(
    form: SequenceForm,
    b: int,
    lane: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    floor: float,
    state: State,
    probability: np.ndarray,
) -> None:
    """What :func:`backward` does at an infoset, at one that is locked.

    Its free actions are a decision of their own: their regrets are against what they are worth
    together, and the rule's strategy for them is scaled to what the lock leaves.

    Args:
        form: The game.
        b: Bucket of the infoset.
        lane: Lane of the infoset.
        rule: The local rule.
        parameters: The rule's parameters.
        floor: Share of the free actions' next strategy that is uniform.
        state: Modified in place.
        probability: float64 (actions,): those of the lock.
    """
    actions, lanes = len(probability), form.bucket_lanes[b]
    at = form.bucket_sequence[b] + lane
    parent = form.infoset_parent[form.bucket_infoset[b] + lane]
    strategy, value, share = state.strategy, state.value, free_share(probability)
    rounding = ROUNDING if value.itemsize == 8 else SINGLE_ROUNDING
    v, mean, expected, scale, largest = 0.0, 0.0, 0.0, 0.0, -np.inf
    for a in range(actions):
        s = at + a * lanes
        v += strategy[s] * value[s]
        if probability[a] < 0.0:
            mean += strategy[s] * value[s] / share
            scale = max(scale, abs(value[s]))
            if has_forecast(rule):
                expected += strategy[s] * state.forecast[s] / share
    for a in range(actions):
        s = at + a * lanes
        if probability[a] < 0.0:
            instant = value[s] - mean
            if abs(instant) <= rounding * scale:
                instant = 0.0
            new, preference = apply(
                rule, np.float64(state.regret[s]), instant, state.memory, s, parameters
            )
            state.regret[s] = new
            if has_forecast(rule):
                lean = state.forecast[s] - expected
                if abs(lean) > rounding * max(scale, abs(state.forecast[s])):
                    preference += lean
            if not is_exponential(rule):
                preference = max(preference, 0.0)
            largest = max(largest, preference)
            strategy[s] = preference
    if is_exponential(rule):
        for a in range(actions):
            s = at + a * lanes
            if probability[a] < 0.0:
                strategy[s] = np.exp(strategy[s] - largest)
    share_out(strategy[at:], lanes, probability, floor)
    value[parent] += v
    if has_forecast(rule):
        for a in range(actions):
            s = at + a * lanes
            state.forecast[parent] += strategy[s] * state.forecast[s]


@inlined
def _pass_up(
    form: SequenceForm, b: int, first_lane: int, last_lane: int, value: np.ndarray
) -> None:
    """Where there is one action there is nothing to regret: its value goes to the parent."""
    at = form.bucket_sequence[b]
    parent = form.infoset_parent[form.bucket_infoset[b] :]
    for lane in range(first_lane, last_lane):
        value[parent[lane]] += value[at + lane]


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


@inlined
def forward(
    form: SequenceForm,
    player: int,
    first_hand: int,
    last_hand: int,
    weight: float,
    state: State,
    tile: np.ndarray,
) -> None:
    """From the first level down: add the reaches that this iteration used to the average, then
    replace them by those of the new strategy."""
    strategy, reach, average, above = state.strategy, state.reach, state.cumulative, tile[0]
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
                sigma = strategy[at + a * lanes :]
                for lane in range(length):
                    average_x[lane] += weight * x[lane]
                    x[lane] = above[lane] * sigma[lane]
