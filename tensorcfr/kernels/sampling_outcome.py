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
from .random import draw
from .reservoir import Samples, keep_advantages, keep_strategy, keep_value
from .sampling import (
    SIMPLE,
    add_to_average,
    own_reach_weight,
    product_of_others,
    sample_action,
    update,
)
from .traversal import (
    CHANCE_NODE,
    NO_BLOCK,
    ONE,
    TERMINAL_NODE,
    ZERO,
    TraversalState,
    TraversalTree,
    U,
    chance_arrays,
    deal_arrays,
    node_arrays,
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
    samples: Samples | None,
) -> None:
    """Run as many iterations as ``schedule`` has rows.

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
        samples: Where to keep regrets, strategies and values for networks; None to learn at once.
    """
    node, hand_offset, utility, coefficient, matrix = node_arrays(tree)
    joined, first_outcome, outcome, threshold, step, chance_table = chance_arrays(tree)
    deals, deal_threshold, dealt, hands = deal_arrays(tree)
    table = state.table
    held = np.zeros(utility.shape[1], np.uint64)
    n_players = U(utility.shape[1])
    has_baseline = baseline > 0.0
    place = np.empty((tree.depth, 4), np.uint32)
    xi, explored = np.empty(tree.depth), np.empty(tree.depth)
    instant = np.empty(tree.width)
    reach = np.empty(utility.shape[1])
    clock = state.clock[0]
    histories, decisions = ZERO, ZERO
    for t in range(schedule.shape[0]):
        weight = schedule[t, 0]
        parameters = parameters_of(rule, schedule[t, 1:], schedule)
        clock += weight
        for player in players:
            # Down: play the game, and add to the average.
            at, depth = ZERO, ZERO
            deal = deal_hands(deals, deal_threshold, hands, held, generator)
            histories += dealt
            q = 1.0  # probability of the player's own choices so far, exploration included
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
                decisions += ONE
                block = find_block(node, hand_offset, held, at, actor)
                first = U(node[at]["first_child"])
                if block == NO_BLOCK:
                    at = first
                    continue
                count = U(node[at]["n_children"])
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
                        expected = keep_value(samples, table, block, count, b, action, expected)
    state.clock[0] = clock
    state.touched[0] += np.int64(histories)
    state.touched[1] += np.int64(decisions)


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
