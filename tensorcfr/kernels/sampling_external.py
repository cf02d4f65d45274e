"""External sampling: a traversal samples chance and the opponents, and tries every action of the
player who is updated, or some of them that it draws, too.

M. Lanctot, K. Waugh, M. Zinkevich, M. Bowling, 'Monte Carlo sampling for regret minimization in
extensive games', NIPS 2009.

Chance and opponents are sampled with their own probabilities, which cancel with their reaches: the
value of an action is the value of the sampled history below it.  By perfect recall, two histories
of one infoset part at chance or at an opponent, where a traversal follows one branch only.  So it
visits an infoset of the player at most once, and may update it immediately.

Where only some of the player's actions are tried, the value below an action is divided by the
probability of trying it, that of the others is 0, and what an infoset adds is divided by the
probability with which those draws led there: all sums keep their expectation.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import inlined, kernel
from .local_rule import LocalRule, parameters_of
from .random import remember
from .reservoir import Samples, keep_advantages, keep_strategy
from .sampling import (
    SIMPLE,
    STOCHASTIC,
    add_to_average,
    draw_tried,
    next_tried,
    own_reach_weight,
    product_of_others,
    sample_action,
    update,
)
from .traversal import (
    AT,
    CHANCE_NODE,
    CLOCK,
    DECISIONS,
    DEPTH,
    HISTORIES,
    ITERATION,
    LED,
    NO_BLOCK,
    NOTED,
    ONE,
    PAUSED,
    REACH,
    STOPS,
    TERMINAL_NODE,
    TURN,
    ZERO,
    Frames,
    TraversalState,
    TraversalTree,
    U,
    chance_arrays,
    deal_arrays,
    frame_arrays,
    node_arrays,
    note,
    pause,
    resume_arrays,
    try_arrays,
)
from .tree_access import deal_hands, find_block, joined_nodes, pay, sample_step


@kernel
def external_sampling(
    tree: TraversalTree,
    rule: LocalRule,
    schedule: np.ndarray,
    players: np.ndarray,
    averaging: int,
    state: TraversalState,
    generator: np.ndarray,
    frames: Frames,
    samples: Samples | None,
    tries: np.ndarray | None,
) -> bool:
    """Run as many iterations as ``schedule`` has rows, or as far as the tree goes.

    Args:
        tree: The game.
        rule: The local rule, to which this kernel is specialised.
        schedule: float64 (iterations, 1 + parameters): averaging weight, then the parameters of
            the rule, iteration by iteration.
        players: uint64: the players for whom an iteration traverses, in order.
        averaging: ``SIMPLE``, ``STOCHASTIC`` or ``OPTIMISTIC``.
        state: Modified in place.
        generator: uint64 (4,), or a script; modified in place.
        frames: Where to begin; modified in place.  A frame is a decision of the player on the
            current path: first child, block, number of actions, current action; the value so far,
            own reach, and the values of the actions.
        samples: Where to keep regrets and strategies for networks; None to learn at once.
        tries: Which of the player's actions are tried, float64 (4,), for
            :func:`tensorcfr.kernels.sampling.draw_tried`; None for all.

    Returns:
        Whether all iterations are done; otherwise ``frames`` says why not.
    """
    node, hand_offset, utility, coefficient, matrix = node_arrays(tree)
    joined, first_outcome, outcome, threshold, step, chance_table = chance_arrays(tree)
    deals, deal_threshold, dealt, hands = deal_arrays(tree)
    table = state.table
    held = np.zeros(utility.shape[1], np.uint64)
    place, value, own, q, reach = frame_arrays(frames)
    cursor, scalar, before, log, groups = resume_arrays(frames)
    width, n_players = U(frames.width), U(utility.shape[1])
    tried, led = try_arrays(frames)
    # The opponents' reaches are tracked if the average needs them.
    tracked = averaging == STOCHASTIC or (averaging == SIMPLE and n_players > U(2))
    clock = state.clock[0]
    histories, decisions = U(state.touched[0]), U(state.touched[1])
    noted, notes, resumes = cursor[NOTED], log.shape[0] > 0, cursor[PAUSED] != 0
    for t in range(cursor[ITERATION], schedule.shape[0]):
        weight = schedule[t, 0]
        parameters = parameters_of(rule, schedule[t, 1:], schedule)
        if not resumes:
            if cursor[STOPS] != 0:
                break
            if notes:
                noted, scalar[CLOCK] = np.int64(0), clock
                cursor[HISTORIES], cursor[DECISIONS] = np.int64(histories), np.int64(decisions)
                remember(generator, before)
            clock += weight
        for turn in range(cursor[TURN], len(players)):
            player = players[turn]
            if resumes:
                resumes, cursor[PAUSED], deal = False, 0, ZERO
                here, is_empty = scalar[LED], False
                at, depth, x = U(cursor[AT]), U(cursor[DEPTH]), scalar[REACH]
            else:
                at, depth, x, here, is_empty = ZERO, ZERO, 1.0, 1.0, False
                deal = deal_hands(deals, deal_threshold, hands, held, generator)
                histories += dealt
                if tracked:
                    for k in range(n_players):
                        reach[k] = 1.0
            while True:
                # Down to a terminal.
                while True:
                    histories += ONE
                    actor = U(node[at]["actor"])
                    if actor == TERMINAL_NODE:
                        break
                    if actor == CHANCE_NODE:
                        histories += joined_nodes(node, joined, at)
                        at = sample_step(
                            node,
                            first_outcome,
                            outcome,
                            threshold,
                            step,
                            chance_table,
                            deal,
                            at,
                            generator,
                        )
                        continue
                    block = find_block(node, hand_offset, held, at, actor)
                    first = U(node[at]["first_child"])
                    count = U(node[at]["n_children"])
                    waits = count == ZERO
                    if notes and not waits and block != NO_BLOCK:
                        end = note(log, noted, table, block, groups * count)
                        waits, noted = end == noted, end
                    if waits:
                        scalar[LED] = here
                        pause(cursor, scalar, count == ZERO, turn, at, depth, x, noted)
                        state.clock[0] = clock
                        state.touched[0] = np.int64(histories - ONE)
                        state.touched[1] = np.int64(decisions)
                        return False
                    decisions += ONE
                    if block == NO_BLOCK:
                        at = first
                        continue
                    strategy = block + count
                    if actor == player:
                        place[depth, 0] = first
                        place[depth, 1] = block
                        place[depth, 2] = count
                        place[depth, 3] = 0
                        value[depth] = 0.0
                        own[depth] = x
                        if tracked:
                            _copy(reach, depth, depth + ONE, n_players)
                        depth += ONE
                        if tries is None:
                            x *= table[strategy]
                            at = first
                        else:
                            row = (depth - ONE) * width
                            draw_tried(tries, table, block, count, tried, row, generator)
                            action = next_tried(tried, row, ZERO, count)
                            place[depth - ONE, 3] = action
                            led[depth - ONE] = here
                            for a in range(count):
                                q[row + a] = 0.0
                            if action == count:
                                is_empty = True
                                break
                            x *= table[strategy + action]
                            here *= tried[row + action]
                            at = first + action
                    else:
                        if averaging == SIMPLE:
                            sampled = 1.0
                            if tracked:
                                sampled = product_of_others(reach, depth, n_players, player, actor)
                            if tries is not None:
                                sampled *= here
                            if samples is None:
                                add_to_average(table, block, count, weight / sampled)
                            else:
                                keep_strategy(samples, table, block, count, weight / sampled)
                        action = sample_action(table, strategy, count, generator)
                        if tracked:
                            reach[depth * n_players + actor] *= table[strategy + action]
                        at = first + action
                # Up to the next action that has not been tried.
                found = 0.0
                if tries is None or not is_empty:
                    found = pay(node, utility, coefficient, matrix, at, deal, player)
                while depth > ZERO:
                    d = depth - ONE
                    block, count, action = U(place[d, 1]), U(place[d, 2]), U(place[d, 3])
                    strategy = block + count
                    if tries is None:
                        q[d * width + action] = found
                        value[d] += table[strategy + action] * found
                        action += ONE
                    else:
                        if not is_empty:
                            found /= tried[d * width + action]
                            q[d * width + action] = found
                            value[d] += table[strategy + action] * found
                            action = next_tried(tried, d * width, action + ONE, count)
                        is_empty = False
                    if action < count:
                        place[d, 3] = action
                        x = own[d] * table[strategy + action]
                        if tries is not None:
                            here = led[d] * tried[d * width + action]
                        if tracked:
                            _copy(reach, d, depth, n_players)
                        at = U(place[d, 0]) + action
                        break
                    found = value[d]
                    if averaging != SIMPLE:
                        sampled = 1.0
                        if tracked:
                            sampled = product_of_others(reach, d, n_players, player, player)
                        if tries is not None:
                            sampled *= led[d]
                        add = own_reach_weight(averaging, table, block, weight, clock, sampled)
                        add_to_average(table, block, count, own[d] * add)
                    for a in range(count):
                        q[d * width + a] -= found
                        if tries is not None:
                            q[d * width + a] /= led[d]
                    if samples is None:
                        update(rule, parameters, table, block, count, q, d * width)
                    else:
                        keep_advantages(samples, block, count, q, d * width, weight, 1.0)
                    depth = d
                if depth == ZERO:
                    break
        cursor[ITERATION], cursor[TURN] = t + 1, 0
    state.clock[0] = clock
    state.touched[0] = np.int64(histories)
    state.touched[1] = np.int64(decisions)
    return cursor[ITERATION] == schedule.shape[0]


@inlined
def _copy(reach: np.ndarray, source: int, target: int, n_players: int) -> None:
    """Copy a row of float64 (rows * players,)."""
    for k in range(n_players):
        reach[target * n_players + k] = reach[source * n_players + k]
