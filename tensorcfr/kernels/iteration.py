"""The inner loop of a solver that keeps strategies and reaches: iterations over one form.

For each player in turn: the payoff product gives ``g``; the way up gives counterfactual values, new
regrets and the new strategy; the way down adds to the average and gives the new reaches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._util.jit import inlined, kernel
from ..model.arrays import LockedLanes, SequenceForm
from ..payoff import PayoffPart
from ..payoff.multiply import add_share, payoff_product, payoff_scratch, scratch_size
from .ascent import ascend, most_actions, whole_scratch
from .descent import forward
from .local_rule import LocalRule, apply_payoff, changes_payoffs, has_forecast, parameters_of
from .tiles import LONGEST, TILE_ROWS


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
    tile = np.empty((TILE_ROWS, LONGEST), state.value.dtype)
    own, scratch = whole_scratch(rule, most_actions(form)), payoff_scratch(form)
    regret, strategy, memory = state.regret, state.strategy, state.memory
    reach, average = state.reach, state.cumulative
    value, forecast = state.value, state.forecast
    for t in range(schedule.shape[0]):
        weight, floor = schedule[t, 0], floors[t]
        parameters = parameters_of(rule, schedule[t, 1:], tile)
        # Call each pass from one place: numba inlines it at every call site.
        for turn in range(turns.shape[0]):
            player = turns[turn, 0]
            if turns[turn, 1] == PRODUCT:
                if averages is None:
                    payoff_product(form, player, reach, value, scratch)
                else:
                    average_reaches(form, player, t, turns, state, averages)
                    payoff_product(form, player, averages.reach, value, scratch)
            else:
                if changes_payoffs(rule):
                    _change_payoffs(form, player, rule, parameters, reach, memory, value)
                if has_forecast(rule):
                    begin_forecast(form, player, state)
                _update_hands(
                    form,
                    player,
                    0,
                    hands,
                    rule,
                    parameters,
                    floor,
                    weight,
                    regret,
                    strategy,
                    memory,
                    reach,
                    average,
                    value,
                    forecast,
                    tile,
                    own,
                    locks,
                )


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
def change_payoffs(
    form: SequenceForm, player: int, rule: LocalRule, row: np.ndarray, state: State
) -> None:
    """What a rule makes of a player's payoffs.

    Args:
        form: The game.
        player: Whose payoffs.
        rule: The local rule, which changes payoffs.
        row: float64 (1 + parameters,): averaging weight, then the parameters of the rule.
        state: ``value`` and ``memory`` are modified in place, at the player's sequences.
    """
    parameters = parameters_of(rule, row[1:], state.value)
    _change_payoffs(form, player, rule, parameters, state.reach, state.memory, state.value)


@inlined
def _change_payoffs(
    form: SequenceForm,
    player: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    reach: np.ndarray,
    memory: np.ndarray,
    value: np.ndarray,
) -> None:
    """The same, with the arrays of the state one by one."""
    for s in range(form.player_sequences[player], form.player_sequences[player + 1]):
        value[s] = apply_payoff(rule, value[s], reach[s], memory, s, parameters)


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
    tile = np.empty((TILE_ROWS, LONGEST), state.value.dtype)
    own = whole_scratch(rule, most_actions(form))
    parameters = parameters_of(rule, row[1:], tile)
    _update_hands(
        form,
        player,
        first_hand,
        last_hand,
        rule,
        parameters,
        floor,
        row[0],
        state.regret,
        state.strategy,
        state.memory,
        state.reach,
        state.cumulative,
        state.value,
        state.forecast,
        tile,
        own,
        locks,
    )


@inlined
def _update_hands(
    form: SequenceForm,
    player: int,
    first_hand: int,
    last_hand: int,
    rule: LocalRule,
    parameters: tuple[float, ...],
    floor: float,
    weight: float,
    regret: np.ndarray,
    strategy: np.ndarray,
    memory: np.ndarray,
    reach: np.ndarray,
    average: np.ndarray,
    value: np.ndarray,
    forecast: np.ndarray,
    tile: np.ndarray,
    own: np.ndarray,
    locks: LockedLanes | None,
) -> None:
    """Both passes of one iteration, with the arrays of :class:`State` one by one."""
    ascend(
        form,
        player,
        rule,
        parameters,
        0.0,
        floor,
        regret,
        strategy,
        memory,
        value,
        forecast,
        tile,
        own,
        first_hand,
        last_hand,
        locks,
    )
    forward(form, player, first_hand, last_hand, weight, strategy, reach, average, tile)
