"""Outcome sampling: a traversal plays the game once and learns from that play only.

M. Lanctot, K. Waugh, M. Zinkevich, M. Bowling, 'Monte Carlo sampling for regret minimization in
extensive games', NIPS 2009; with baselines: M. Schmid, N. Burch, M. Lanctot, M. Moravcik,
R. Kadlec, M. Bowling, 'Variance reduction in Monte Carlo counterfactual regret minimization
(VR-MCCFR) for extensive form games using baselines', AAAI 2019.

The player who is updated explores: with probability epsilon the action is uniform.  The others
follow their strategies.  The value of a history ``h`` where ``a`` was sampled with probability
``xi`` is estimated by

    u(h, b) = baseline(h, b) + [b = a] (u(h a) - baseline(h, b)) / xi,    u(h) = sum_b sigma u(h, b)

and the instantaneous regret of ``b`` by ``(u(h, b) - u(h)) / (product of the player's own xi on
the way to h)``; the probabilities of the others and of chance cancel.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import inlined, kernel
from .local_rule import LocalRule, parameters_of
from .random import draw, remember
from .reservoir import Samples, keep_advantages, keep_strategy, keep_value, look_up_values
from .sampling import (
    SIMPLE,
    add_to_average,
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
)
from .tree_access import deal_hands, find_block, joined_nodes, pay, sample_step


@kernel
def outcome_sampling(
    tree: TraversalTree,
    rule: LocalRule,
    schedule: np.ndarray,
    players: np.ndarray,
    averaging: int,
    epsilon: float,
    baseline: float,
    state: TraversalState,
    generator: np.ndarray,
    frames: Frames,
    samples: Samples | None,
) -> bool:
    """Run as many iterations as ``schedule`` has rows, or as far as the tree goes.

    Args:
        tree: The game.
        rule: The local rule, to which this kernel is specialised.
        schedule: float64 (iterations, 1 + parameters): averaging weight, then the parameters of
            the rule, iteration by iteration.
        players: uint64: the players for whom an iteration traverses, in order.
        averaging: ``SIMPLE``, ``STOCHASTIC`` or ``OPTIMISTIC``.
        epsilon: Probability of exploring at a decision of the player who is updated.
        baseline: Step size of the baselines, 0 to 1: how far one moves towards the sampled value;
            0 for no baselines.  Otherwise blocks have room for the baselines of each player.
        state: Modified in place.
        generator: uint64 (4,), or a script; modified in place.
        frames: Where to begin; modified in place.  A frame is a decision on the current path:
            player, block, number of actions, action, first child; the action's probability, and
            that of the player's own choices before, exploration included.
        samples: Where to keep regrets, strategies and values for networks; None to learn at once.

    Returns:
        Whether all iterations are done; otherwise ``frames`` says why not.
    """
    node, hand_offset, utility, coefficient, matrix = node_arrays(tree)
    joined, first_outcome, outcome, threshold, step, chance_table = chance_arrays(tree)
    deals, deal_threshold, dealt, hands = deal_arrays(tree)
    table = state.table
    held = np.zeros(utility.shape[1], np.uint64)
    place, xi, explored, instant, reach = frame_arrays(frames)
    cursor, scalar, before, log, groups = resume_arrays(frames)
    n_players, nodes = U(utility.shape[1]), U(node.shape[0])
    has_baseline = baseline > 0.0
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
            # Down: play the game, and add to the average.  q is the probability of the player's
            # own choices so far, exploration included.
            if resumes:
                resumes, cursor[PAUSED], deal = False, 0, ZERO
                at, depth, q = U(cursor[AT]), U(cursor[DEPTH]), scalar[REACH]
            else:
                at, depth, q = ZERO, ZERO, 1.0
                deal = deal_hands(deals, deal_threshold, hands, held, generator)
                histories += dealt
                for k in range(n_players):
                    reach[k] = 1.0
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
                    pause(cursor, scalar, count == ZERO, turn, at, depth, q, noted)
                    state.clock[0] = clock
                    state.touched[0] = np.int64(histories - ONE)
                    state.touched[1] = np.int64(decisions)
                    return False
                decisions += ONE
                if block == NO_BLOCK:
                    at = first
                    continue
                strategy = block + count
                explored[depth] = q
                if actor == player:
                    if averaging != SIMPLE:
                        sampled = q * product_of_others(reach, ZERO, n_players, player, player)
                        add = own_reach_weight(averaging, table, block, weight, clock, sampled)
                        add_to_average(table, block, count, reach[player] * add)
                    action = _explore(table, strategy, count, epsilon, generator)
                    xi[depth] = (
                        epsilon / np.int64(count) + (1.0 - epsilon) * table[strategy + action]
                    )
                    q *= xi[depth]
                else:
                    if averaging == SIMPLE:
                        sampled = q * product_of_others(reach, ZERO, n_players, player, actor)
                        if samples is None:
                            add_to_average(table, block, count, weight / sampled)
                        else:
                            keep_strategy(samples, table, block, count, weight / sampled)
                    action = sample_action(table, strategy, count, generator)
                    xi[depth] = table[strategy + action]
                reach[actor] *= table[strategy + action]
                place[depth, 0] = actor
                place[depth, 1] = block
                place[depth, 2] = count
                place[depth, 3] = action
                place[depth, 4] = first
                depth += ONE
                at = first + action
            # Up: values, and regrets at the player's own infosets.
            found = pay(node, utility, coefficient, matrix, at, deal, player)
            expected = found
            while depth > ZERO:
                depth -= ONE
                block, count, action = U(place[depth, 1]), U(place[depth, 2]), U(place[depth, 3])
                strategy = block + count
                b = strategy + (U(2) + player) * count
                seen = found
                if has_baseline:
                    child = player * nodes + U(place[depth, 4])
                    if samples is not None:
                        look_up_values(samples, table, count, b, child)
                    correction = (seen - table[b + action]) / xi[depth]
                    found = table[strategy + action] * correction
                    for a in range(count):
                        found += table[strategy + a] * table[b + a]
                else:
                    correction = seen / xi[depth]
                    found = table[strategy + action] * correction
                if place[depth, 0] == player:
                    for a in range(count):
                        estimate = table[b + a] if has_baseline else 0.0
                        instant[a] = (estimate - found) / explored[depth]
                    instant[action] += correction / explored[depth]
                    if samples is None:
                        update(rule, parameters, table, block, count, instant, ZERO)
                    else:
                        keep_advantages(
                            samples, block, count, instant, ZERO, weight, explored[depth]
                        )
                if has_baseline:
                    if samples is None:
                        table[b + action] += baseline * (seen - table[b + action])
                    else:
                        expected = keep_value(
                            samples, table, block, count, b, action, child, expected
                        )
        cursor[ITERATION], cursor[TURN] = t + 1, 0
    state.clock[0] = clock
    state.touched[0] = np.int64(histories)
    state.touched[1] = np.int64(decisions)
    return cursor[ITERATION] == schedule.shape[0]


@inlined
def _explore(
    table: np.ndarray, strategy: int, count: int, epsilon: float, generator: np.ndarray
) -> np.uint64:
    """Draw an action of the player who is updated: uniform with probability epsilon, else by the
    strategy."""
    left = draw(generator)
    uniform = epsilon / np.int64(count)
    chosen = ZERO
    while chosen < count - ONE:
        left -= uniform + (1.0 - epsilon) * table[strategy + chosen]
        if left < 0.0:
            break
        chosen += ONE
    return chosen
