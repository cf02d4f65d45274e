"""The inner loop over a game in one piece, which keeps strategies and reaches.

For each player in turn: the payoff product gives ``g``; the way up gives counterfactual values, new
regrets and the new strategy; the way down adds to the average and gives the new reaches.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import if_given, inlined, kernel_with
from ..model.chunks import ChunkLocks
from ..payoff.multiply import add_share, payoff_scratch
from .ascent import ascend
from .chunks import Work, lock_table, locks_of
from .descent import forward
from .local_rule import LocalRule, apply_payoff, parameters_of
from .meeting import meet
from .parts import Part, Step
from .tiles import LONGEST, TILE_ROWS
from .whole_rules import most_actions, whole_scratch

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


def _work(part: Part, rule: LocalRule, locks: ChunkLocks | None) -> Work:
    tile = np.empty((TILE_ROWS, LONGEST), part.value.dtype)
    own = whole_scratch(rule, most_actions(part.form))
    return Work(tile, own, payoff_scratch(part.form), lock_table(locks))


@kernel_with(_work)
def iterate(
    part: Part,
    rule: LocalRule,
    schedule: np.ndarray,
    turns: np.ndarray,
    floors: np.ndarray,
    averages: np.ndarray | None,
    locks: ChunkLocks | None,
    thread: int,
    threads: int,
    counters: np.ndarray,
    work: Work,
) -> None:
    """Run as many iterations as ``schedule`` has rows; where threads share them, what one does.

    Threads share the payoff product by the sequences that it writes, and the passes by the player's
    hands.  What happens to one hand does not touch what belongs to another (the value of the
    player's empty sequence apart, which nothing depends on), so any number of threads gives the
    same bits.

    Args:
        part: The game and the arrays over it; modified in place.
        rule: The local rule, to which this kernel is specialised.
        schedule: float64 (iterations, 1 + parameters): averaging weight, then the parameters of
            the rule, iteration by iteration.
        turns: From :func:`turns`: the order of the passes within an iteration.
        floors: float64 (iterations,): share of the next strategy that is uniform.
        averages: To play against the others' average strategies, float64 (iterations + 1,): the
            averaging weights of the iterations, and of the one after them.  ``part.faced`` is then
            scratch.  None for current strategies.
        locks: Locked infosets, or None: the kernel is compiled with the locks or without.
        thread: Which thread this is, from 0.
        threads: How many call this at the same time.
        counters: int64 (1, MEETING), zeros at first; shared and modified by all threads.
        work: Modified.
    """
    form, met, tile, own, scratch = part.form, 0, work.tile, work.own, work.payoff
    hands = form.hand_rank.shape[1] - 1
    first_hand, last_hand = hands * thread // threads, hands * (thread + 1) // threads
    for t in range(schedule.shape[0]):
        step = Step(rule, parameters_of(rule, schedule[t, 1:], tile), 0.0, floors[t])
        # Call each pass from one place: numba inlines it at every call site.
        for turn in range(turns.shape[0]):
            player = turns[turn, 0]
            if turns[turn, 1] == PRODUCT:
                if thread == 0:
                    _average_reaches(averages, part, player, t, turns)
                    _begin(part, player)
                met = meet(counters, threads, met)
                for k in range(len(form.operator)):
                    shared = form.operator, k, form.hand_rank, player, thread, threads
                    add_share(*shared, part.faced, part.value, scratch)
                    # The next part may add to the same sequences.
                    met = meet(counters, threads, met)
                continue
            if rule.changes_payoffs or rule.forecast:
                if thread == 0:
                    _change_payoffs(part, player, step)
                met = meet(counters, threads, met)
            locked = locks_of(locks, 0, form, work.table)
            ascend(part, player, step, tile, own, first_hand, last_hand, locked)
            forward(part, player, first_hand, last_hand, schedule[t, 0], tile)
            met = meet(counters, threads, met)


@inlined
def _begin(part: Part, player: int) -> None:
    """A payoff product begins at 0."""
    bounds = part.form.player_sequences
    part.value[bounds[player] : bounds[player + 1]] = 0.0


@if_given
def _average_reaches(
    weights: np.ndarray, part: Part, player: int, t: int, turns: np.ndarray
) -> None:
    """What the average strategies of a player's opponents reach, those that they play now
    included; ``part.faced`` is modified in place, at the opponents' sequences.

    Args:
        weights: Averaging weights, as for :func:`iterate`; with None nothing happens.
        part: The game and the arrays over it.
        player: Who faces them.
        t: Which of the iterations that are run, from 0.
        turns: The order of the passes; an opponent who is updated before the player's product
            already has the strategy of the next iteration.
    """
    bounds = part.form.player_sequences
    for other in range(bounds.shape[0] - 1):
        if other == player:
            continue
        first, last = bounds[other], bounds[other + 1]
        weight = weights[t + 1 if _is_updated(turns, other, player) else t]
        total = part.average[first] + weight
        if total == 0.0:  # No average yet.
            weight = total = 1.0
        share = 1.0 / total
        faced, average, x = part.faced[first:], part.average[first:], part.reach[first:]
        for s in range(last - first):
            faced[s] = (average[s] + weight * x[s]) * share


@inlined
def _is_updated(turns: np.ndarray, other: int, player: int) -> bool:
    """Whether a player is updated before another one's payoff product."""
    for turn in range(turns.shape[0]):
        if turns[turn, 1] == UPDATE and turns[turn, 0] == other:
            return True
        if turns[turn, 1] == PRODUCT and turns[turn, 0] == player:
            return False
    return False


@inlined
def _change_payoffs(part: Part, player: int, step: Step) -> None:
    """What a rule makes of a player's payoffs, with which a forecast begins."""
    rule, value = step.rule, part.value
    for s in range(part.form.player_sequences[player], part.form.player_sequences[player + 1]):
        if rule.changes_payoffs:
            value[s] = apply_payoff(rule, value[s], part.reach[s], part.memory, s, step.parameters)
        if rule.forecast:
            part.forecast[s] = value[s]


@kernel_with(lambda part, rule: _work(part, rule, None))
def update(
    part: Part,
    rule: LocalRule,
    player: int,
    row: np.ndarray,
    floor: float,
    work: Work,
) -> None:
    """Both passes of one iteration over a player's infosets, from given payoffs.

    Args:
        part: The game and the arrays over it; modified in place.
        rule: The local rule.
        player: Whose infosets.
        row: float64 (1 + parameters,): averaging weight, then the parameters of the rule.
        floor: Share of the next strategy that is uniform.
        work: Modified.
    """
    hands = part.form.hand_rank.shape[1] - 1
    step = Step(rule, parameters_of(rule, row[1:], work.tile), 0.0, floor)
    ascend(part, player, step, work.tile, work.own, 0, hands, None)
    forward(part, player, 0, hands, row[0], work.tile)
