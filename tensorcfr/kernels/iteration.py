"""The inner loop over a game in one piece, which keeps strategies and reaches.

For each player in turn: the payoff product gives ``g``; the way up gives counterfactual values, new
regrets and the new strategy; the way down adds to the average and gives the new reaches.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import if_given, inlined, kernel_with
from ..model.chunks import ChunkLocks
from ..payoff.multiply import add_share, payoff_scratch
from ..payoff.shares import Share
from .ascent import ascend
from .chunks import face, lock_table, locks_of
from .descent import forward
from .local_rule import LocalRule, apply_payoff, parameters_of
from .meeting import meet
from .parts import Part, Step
from .pass_arrays import Work
from .tiles import LONGEST, TILE_ROWS
from .whole_rules import most_actions, whole_scratch


def _work(part: Part, rule: LocalRule, locks: ChunkLocks | None) -> Work:
    tile = np.empty((TILE_ROWS, LONGEST), part.value.dtype)
    own = whole_scratch(rule, most_actions(part.form))
    return Work(tile, own, payoff_scratch(part.form), lock_table(locks), None)


@kernel_with(_work)
def iterate(
    part: Part,
    rule: LocalRule,
    schedule: np.ndarray,
    floors: np.ndarray,
    averages: np.ndarray | None,
    alternating: bool,
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
        floors: float64 (iterations,): share of the next strategy that is uniform.
        averages: To play against the others' average strategies, float64 (iterations + 1,): the
            averaging weights of the iterations, and of the one after them.  ``part.faced`` is then
            scratch.  None for current strategies.
        alternating: Whether each player's update sees the updates before it in the same iteration.
        locks: Locked infosets, or None: the kernel is compiled with the locks or without.
        thread: Which thread this is, from 0.
        threads: How many call this at the same time.
        counters: int64 (1, MEETING), zeros at first; shared and modified by all threads.
        work: Modified.
    """
    form, met, tile, own, scratch = part.form, 0, work.tile, work.own, work.payoff
    bounds, players = form.player_sequences, form.player_sequences.shape[0] - 1
    hands = form.hand_rank.shape[1] - 1
    first_hand, last_hand = hands * thread // threads, hands * (thread + 1) // threads
    for t in range(schedule.shape[0]):
        step = Step(rule, parameters_of(rule, schedule[t, 1:], tile), 0.0, floors[t])
        # Call each pass from one place: numba inlines it at every call site.
        for turn in range(2 * players):
            player, is_update = turn % players, turn >= players
            if alternating:
                player, is_update = turn // 2, turn % 2 == 1
            if not is_update:
                if thread == 0:
                    _average_reaches(averages, part, player, t, alternating)
                    part.value[bounds[player] : bounds[player + 1]] = 0.0
                met = meet(counters, threads, met)
                given = form.hand_rank, player, thread, threads, part.faced, part.value, scratch
                for k in range(len(form.operator)):
                    add_share(form.operator, k, Share(*given, None))
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


@if_given
def _average_reaches(
    weights: np.ndarray, part: Part, player: int, t: int, alternating: bool
) -> None:
    """What the average strategies of a player's opponents reach, those that they play now
    included; ``part.faced`` is modified in place, at the opponents' sequences.

    Args:
        weights: Averaging weights, as for :func:`iterate`; with None nothing happens.
        part: The game and the arrays over it.
        player: Who faces them.
        t: Which of the iterations that are run, from 0.
        alternating: Whether an opponent before the player has the strategy of the next iteration.
    """
    bounds = part.form.player_sequences
    for other in range(bounds.shape[0] - 1):
        if other != player:
            weight = weights[t + 1 if alternating and other < player else t]
            total = part.average[bounds[other]] + weight
            face(part, (bounds[other], bounds[other + 1]), total, weight)


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
