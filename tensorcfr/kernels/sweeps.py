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
from .payoff import payoff_product
from .rules import LocalRule, apply, is_exponential, parameters_of

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
    tile = np.empty((3, TILE))
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
    v, scale, total = tile[0], tile[1], tile[2]
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        for begin in range(0, lanes, TILE):
            length = min(TILE, lanes - begin)
            at = form.bucket_sequence[b] + begin
            _expect(state, at, actions, lanes, length, v, scale)
            _update(state, rule, parameters, at, actions, lanes, length, v, scale, total)
            _match(state, rule, at, actions, lanes, length, total)
            parent = form.infoset_parent[form.bucket_infoset[b] + begin :]
            for lane in range(length):
                state.value[parent[lane]] += v[lane]


@inlined
def _expect(
    state: State,
    at: int,
    actions: int,
    lanes: int,
    length: int,
    v: np.ndarray,
    scale: np.ndarray,
) -> None:
    """``v(I)`` of ``length`` infosets, and the size of the values that it is made of.

    Here and below, action ``a`` of lane ``l`` is sequence ``at + a * lanes + l``.
    """
    v[:length] = 0.0
    scale[:length] = 0.0
    for a in range(actions):
        sigma = state.strategy[at + a * lanes :]
        q = state.value[at + a * lanes :]
        for lane in range(length):
            v[lane] += sigma[lane] * q[lane]
            scale[lane] = max(scale[lane], abs(q[lane]))


@inlined
def _update(
    state: State,
    rule: LocalRule,
    parameters: tuple[float, ...],
    at: int,
    actions: int,
    lanes: int,
    length: int,
    v: np.ndarray,
    scale: np.ndarray,
    total: np.ndarray,
) -> None:
    """The local rule: new regrets; preferences in place of the strategy, and their totals."""
    total[:length] = 0.0
    for a in range(actions):
        first = at + a * lanes
        sigma = state.strategy[first:]
        q = state.value[first:]
        regret = state.regret[first:]
        for lane in range(length):
            instant = q[lane] - v[lane]
            if abs(instant) <= ROUNDING * scale[lane]:
                instant = 0.0
            regret[lane], preference = apply(
                rule, regret[lane], instant, state.memory, first + lane, parameters
            )
            if not is_exponential(rule):
                preference = max(preference, 0.0)
                total[lane] += preference
            sigma[lane] = preference


@inlined
def _match(
    state: State,
    rule: LocalRule,
    at: int,
    actions: int,
    lanes: int,
    length: int,
    total: np.ndarray,
) -> None:
    """The next strategy from the preferences."""
    if is_exponential(rule):
        _exponentiate(state, at, actions, lanes, length, total)
    uniform = 1.0 / actions
    for a in range(actions):
        sigma = state.strategy[at + a * lanes :]
        for lane in range(length):
            sigma[lane] = sigma[lane] / total[lane] if total[lane] > 0.0 else uniform


@inlined
def _exponentiate(
    state: State, at: int, actions: int, lanes: int, length: int, total: np.ndarray
) -> None:
    """Weights from exponents, the largest of an infoset at 1, and their totals."""
    for lane in range(at, at + length):
        largest = state.strategy[lane]
        for a in range(1, actions):
            largest = max(largest, state.strategy[lane + a * lanes])
        total[lane - at] = 0.0
        for a in range(actions):
            weight = np.exp(state.strategy[lane + a * lanes] - largest)
            state.strategy[lane + a * lanes] = weight
            total[lane - at] += weight


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
