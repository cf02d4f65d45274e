"""The solver's inner loop: one iteration of CFR over the flat arrays of a game.

For each player in turn: the payoff product gives ``g``; a backward pass over his levels gives
counterfactual values, new regrets and the new strategy; a forward pass adds to the average and
gives the new reaches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compiled import SequenceForm
from .jit import inlined, kernel
from .local_rule import LocalRule, apply, has_forecast, is_exponential, parameters_of
from .payoff import payoff_product

TILE = 256
"""Lanes handled together, so that what a pass reads twice is still in the first cache level."""


ROUNDING = 2.0**-48
"""An instantaneous regret smaller than this, relative to the counterfactual values that it comes
from, is taken for 0: it is the rounding of an exact tie, and its sign is an accident."""


class State(NamedTuple):
    """What a solver carries from one iteration to the next; float64 (sequences,) unless said."""

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
    """What the rule keeps beside the regret, float64 (kept, sequences)."""
    value: np.ndarray
    """Scratch: counterfactual values."""
    forecast: np.ndarray
    """Scratch of rules with a forecast (otherwise empty): counterfactual values when the player
    already plays the new strategy further down."""


@kernel
def iterate(
    form: SequenceForm, rule: LocalRule, schedule: np.ndarray, alternating: bool, state: State
) -> None:
    """Run as many iterations as ``schedule`` has rows.

    Args:
        form: The game.
        rule: The local rule, to which this kernel is specialised.
        schedule: float64 (iterations, 1 + parameters): averaging weight, then the parameters of
            the rule, iteration by iteration.
        alternating: Whether each player's update sees those before it in the same iteration.
        state: Modified in place.
    """
    players = form.player_sequences.shape[0] - 1
    tile = np.empty((4, TILE))
    for t in range(schedule.shape[0]):
        weight = schedule[t, 0]
        parameters = parameters_of(rule, schedule[t, 1:])
        if alternating:
            for player in range(players):
                payoff_product(form, player, state.reach, state.value)
                backward(form, player, rule, parameters, state, tile)
                forward(form, player, weight, state, tile)
        else:
            for player in range(players):
                payoff_product(form, player, state.reach, state.value)
            for player in range(players):
                backward(form, player, rule, parameters, state, tile)
                forward(form, player, weight, state, tile)


@inlined
def backward(
    form: SequenceForm,
    player: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    state: State,
    tile: np.ndarray,
) -> None:
    """From the deepest level up: values, regrets and the next strategy, infoset by infoset.

    ``state.value`` comes in as ``g``; each level adds its infosets' values to the sequences
    that lead to them, so that it holds ``q`` when a level is reached.
    """
    value, regret, strategy, memory = state.value, state.regret, state.strategy, state.memory
    v, scale, total, expected = tile[0], tile[1], tile[2], tile[3]
    if has_forecast(rule):
        own = slice(form.player_sequences[player], form.player_sequences[player + 1])
        state.forecast[own] = value[own]
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        uniform = 1.0 / actions
        for begin in range(0, lanes, TILE):
            length = min(TILE, lanes - begin)
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
                    if abs(instant) <= ROUNDING * scale[lane]:
                        instant = 0.0
                    new, preference = apply(
                        rule, cumulative[lane], instant, memory, first + lane, parameters
                    )
                    cumulative[lane] = new
                    if has_forecast(rule):
                        forecast = state.forecast[first + lane]
                        lean = forecast - expected[lane]
                        if abs(lean) > ROUNDING * max(scale[lane], abs(forecast)):
                            preference += lean
                    if not is_exponential(rule):
                        preference = max(preference, 0.0)
                        total[lane] += preference
                    sigma[lane] = preference
            # The next strategy.
            if is_exponential(rule):
                _exponentiate(strategy[at:], actions, lanes, length, total)
            for a in range(actions):
                sigma = strategy[at + a * lanes :]
                for lane in range(length):
                    sigma[lane] = sigma[lane] / total[lane] if total[lane] > 0.0 else uniform
            for lane in range(length):
                value[parent[lane]] += v[lane]
            if has_forecast(rule):
                _mean(strategy[at:], state.forecast[at:], actions, lanes, length, expected)
                for lane in range(length):
                    state.forecast[parent[lane]] += expected[lane]


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
def forward(form: SequenceForm, player: int, weight: float, state: State, tile: np.ndarray) -> None:
    """From the first level down: add the reaches that this iteration used to the average, then
    replace them by those of the new strategy."""
    strategy, reach, average, above = state.strategy, state.reach, state.cumulative, tile[0]
    average[form.player_sequences[player]] += weight
    for b in range(form.player_buckets[player], form.player_buckets[player + 1]):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        for begin in range(0, lanes, TILE):
            length = min(TILE, lanes - begin)
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
