"""Iterations of a flat game whose strategies and reaches are stored.

For the players of each turn:

1. the payoff product computes the counterfactual payoffs ``g``,
2. the backward value pass (:func:`~tensorcfr.kernels.backward_pass.backward`) computes
   counterfactual values, regrets and the next strategy,
3. the forward reach pass (:func:`~tensorcfr.kernels.forward_pass.forward_from_strategies`) adds the
   reaches to the average and computes the next ones.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import inlined, kernel_with
from ..model.chunked_form import ChunkLocks
from ..payoff.multiply import add_share, payoff_scratch
from ..payoff.product_share import ProductShare
from .backward_pass import backward
from .barrier import wait_for_all
from .chunk_passes import lock_table, locks_of
from .forward_pass import forward_from_strategies
from .local_rule import LocalRule, apply_payoff, parameters_of
from .locked_lanes import has_payoffs, mix_payoffs
from .parts import Part, Step
from .pass_arrays import Work
from .tiles import LONGEST, TILE_ROWS
from .whole_rules import most_actions, whole_scratch


def _work(part: Part, rule: LocalRule, locks: ChunkLocks | None) -> Work:
    tile = np.empty((TILE_ROWS, LONGEST), part.value.dtype)
    rule_scratch = whole_scratch(rule, most_actions(part.form))
    return Work(tile, rule_scratch, payoff_scratch(part.form), lock_table(locks), None)


@kernel_with(_work)
def iterate(
    part: Part,
    rule: LocalRule,
    schedule: np.ndarray,
    floors: np.ndarray,
    turns: np.ndarray,
    locks: ChunkLocks | None,
    thread: int,
    threads: int,
    counters: np.ndarray,
    work: Work,
) -> None:
    """Run one iteration per row of ``schedule``; with several threads, do the work of one of them.

    Threads divide the payoff product by the sequences that it writes, and the passes by the
    player's hands.  The numbers of one hand do not depend on those of another, so any number of
    threads computes the same bits.  The only exception is the value of the player's empty sequence,
    which is never read.

    Args:
        part: Game and arrays, modified in place.
        rule: The local rule, to which this kernel is specialised.
        schedule: float64 (iterations, 1 + parameters): averaging weight, then the parameters of the
            rule.
        floors: float64 (iterations,): uniform share of the next strategy.
        turns: int64 (iterations, turns, players of a turn): players who update, turn by turn; see
            :meth:`tensorcfr.algorithms.Algorithm.turns`.
        locks: Locked infosets, or None; the kernel is compiled with or without them.
        thread: Number of this thread, from 0.
        threads: Number of threads that call this at the same time.
        counters: int64 (1, BARRIER_COUNTERS): initially 0, shared and modified by all threads.
        work: Scratch, which the kernel allocates; callers do not pass it (``kernel_with``).
    """
    form = part.form
    n_waits = 0
    tile = work.tile
    rule_scratch = work.whole_rule
    scratch = work.payoff
    bounds, movers = form.player_sequences, turns.shape[2]
    hands = form.hand_rank.shape[1] - 1
    first_hand, last_hand = hands * thread // threads, hands * (thread + 1) // threads
    for t in range(schedule.shape[0]):
        step = Step(rule, parameters_of(rule, schedule[t, 1:], tile), 0.0, floors[t])
        for turn in range(turns.shape[1]):
            # Payoff products of the turn's players, then their updates.  Each pass has one call,
            # because numba inlines a copy at every call site.
            for nth in range(2 * movers):
                is_update = nth >= movers
                player = turns[t, turn, nth - movers if is_update else nth]
                if not is_update:
                    if thread == 0:
                        part.value[bounds[player] : bounds[player + 1]] = 0.0
                    n_waits = wait_for_all(counters, threads, n_waits)
                    share_arguments = (
                        form.hand_rank,
                        player,
                        thread,
                        threads,
                        part.reach,
                        part.value,
                        scratch,
                    )
                    for k in range(len(form.operator)):
                        add_share(form.operator, k, ProductShare(*share_arguments, None))
                        # Wait for all threads: the next part of the operator may add to the same
                        # sequences.
                        n_waits = wait_for_all(counters, threads, n_waits)
                    continue
                if rule.changes_payoffs:
                    if thread == 0:
                        _change_payoffs(part, player, step)
                    n_waits = wait_for_all(counters, threads, n_waits)
                locked = locks_of(locks, 0, 0, form, work.table)
                if has_payoffs(locked, player):
                    if thread == 0:
                        first, last = bounds[player], bounds[player + 1]
                        mix_payoffs(locked, form, player, first, last, part.value)
                    n_waits = wait_for_all(counters, threads, n_waits)
                backward(part, player, step, tile, rule_scratch, first_hand, last_hand, locked)
                forward_from_strategies(
                    part, player, first_hand, last_hand, schedule[t, 0], tile, locked
                )
                n_waits = wait_for_all(counters, threads, n_waits)


@inlined
def _change_payoffs(part: Part, player: int, step: Step) -> None:
    """Apply the rule's payoff function."""
    rule, value = step.rule, part.value
    for s in range(part.form.player_sequences[player], part.form.player_sequences[player + 1]):
        value[s] = apply_payoff(rule, value[s], part.reach[s], part.memory, s, step.parameters)


@kernel_with(lambda part, rule: _work(part, rule, None))
def update(
    part: Part,
    rule: LocalRule,
    player: int,
    row: np.ndarray,
    floor: float,
    work: Work,
) -> None:
    """Run the backward and the forward pass of one iteration for one player, from given payoffs.

    Args:
        part: Game and arrays, modified in place; ``value`` holds the payoffs.
        rule: The local rule.
        player: Player whose infosets are updated.
        row: float64 (1 + parameters,): averaging weight, then the parameters of the rule.
        floor: Uniform share of the next strategy.
        work: Scratch.
    """
    hands = part.form.hand_rank.shape[1] - 1
    step = Step(rule, parameters_of(rule, row[1:], work.tile), 0.0, floor)
    backward(part, player, step, work.tile, work.whole_rule, 0, hands, None)
    forward_from_strategies(part, player, 0, hands, row[0], work.tile, None)
