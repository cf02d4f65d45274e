"""Outcome sampling: a traversal plays the game once and learns from that play alone.

M. Lanctot, K. Waugh, M. Zinkevich, M. Bowling, 'Monte Carlo sampling for regret minimization in
extensive games', NIPS 2009; with baselines: M. Schmid, N. Burch, M. Lanctot, M. Moravcik,
R. Kadlec, M. Bowling, 'Variance reduction in Monte Carlo counterfactual regret minimization
(VR-MCCFR) for extensive form games using baselines', AAAI 2019.

The player who is updated explores: with probability epsilon he takes any of his actions.  The
others and chance play as they do.  The value of a history ``h`` where ``a`` was sampled with
probability ``xi`` is estimated by

    u(h, b) = baseline(h, b) + [b = a] (u(h a) - baseline(h, b)) / xi,    u(h) = sum_b sigma u(h, b)

and the instantaneous regret of ``b`` by ``(u(h, b) - u(h)) / (product of the player's own xi on
the way to h)``; the probabilities of the others and of chance cancel.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import inlined, kernel
from .local_rule import LocalRule, parameters_of
from .random import draw
from .sampling import (
    ACTOR,
    BLOCK,
    CHANCE_NODE,
    COUNT,
    FIRST,
    NO_BLOCK,
    ONE,
    REGRET,
    SIMPLE,
    TERMINAL_NODE,
    ZERO,
    Tally,
    U,
    WalkedTree,
    add_to_average,
    product_of_others,
    sample_action,
    update,
    weight_at_own,
)
from .tree_access import deal_hands, find_block, pay, sample_step


@kernel
def outcome_sampling(
    tree: WalkedTree,
    rule: LocalRule,
    schedule: np.ndarray,
    players: np.ndarray,
    averaging: int,
    epsilon: float,
    baseline: float,
    tally: Tally,
    generator: np.ndarray,
) -> None:
    """Run as many iterations as ``schedule`` has rows.

    Args:
        tree: The game.
        rule: The local rule, to which this kernel is specialised.
        schedule: float64 (iterations, 1 + parameters): averaging weight, then the parameters of
            the rule, iteration by iteration.
        players: uint64: for whom an iteration traverses, in this order.
        averaging: ``SIMPLE``, ``STOCHASTIC`` or ``OPTIMISTIC``.
        epsilon: Probability of exploring at a decision of the player who is updated.
        baseline: How far a baseline moves to what was seen, 0 to 1; 0 for none.  Otherwise blocks
            have room for the baselines of each player.
        tally: Modified in place.
        generator: uint64 (4,), or a script; modified in place.
    """
    node, utility, table = tree.node, tree.utility, tally.table
    outcome, threshold, offset = tree.outcome, tree.threshold, tree.offset
    chance, chance_table, coefficient = tree.chance, tree.chance_table, tree.coefficient
    dealt, hands = U(tree.dealt), U(tree.hands)
    held = np.zeros(utility.shape[1], np.uint64)
    n_players = U(utility.shape[1])
    has_baseline = baseline > 0.0
    place = np.empty((tree.depth, 4), np.uint32)
    xi, explored = np.empty(tree.depth), np.empty(tree.depth)
    instant = np.empty(tree.width)
    reach = np.empty(utility.shape[1])
    clock = tally.clock[0]
    histories, decisions = ZERO, ZERO
    for t in range(schedule.shape[0]):
        weight = schedule[t, 0]
        parameters = parameters_of(rule, schedule[t, 1:])
        clock += weight
        for player in players:
            # Down: play the game, and add to the average.
            at, depth = ZERO, ZERO
            deal = deal_hands(outcome, threshold, offset, hands, held, generator)
            histories += dealt
            q = 1.0  # how likely the player's own choices so far were, exploring
            for k in range(n_players):
                reach[k] = 1.0
            while True:
                histories += ONE
                actor, first = U(node[at, ACTOR]), U(node[at, FIRST])
                if actor == TERMINAL_NODE:
                    break
                count = U(node[at, COUNT])
                if actor == CHANCE_NODE:
                    histories += U(node[at, BLOCK])
                    at = sample_step(
                        outcome, threshold, chance, chance_table, deal, first, count, generator
                    )
                    continue
                decisions += ONE
                block = find_block(node, offset, held, at, actor)
                if block == NO_BLOCK:
                    at = first
                    continue
                strategy = block + REGRET + count
                explored[depth] = q
                if actor == player:
                    if averaging != SIMPLE:
                        sampled = q * product_of_others(reach, ZERO, n_players, player, player)
                        add = weight_at_own(averaging, table, block, weight, clock, sampled)
                        add_to_average(table, block, count, reach[player] * add)
                    action = _explore(table, strategy, count, epsilon, generator)
                    xi[depth] = (
                        epsilon / np.int64(count) + (1.0 - epsilon) * table[strategy + action]
                    )
                    q *= xi[depth]
                else:
                    if averaging == SIMPLE:
                        sampled = q * product_of_others(reach, ZERO, n_players, player, actor)
                        add_to_average(table, block, count, weight / sampled)
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
            found = pay(node, utility, coefficient, at, deal, player)
            while depth > ZERO:
                depth -= ONE
                block, count, action = U(place[depth, 1]), U(place[depth, 2]), U(place[depth, 3])
                strategy = block + REGRET + count
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
                    update(rule, parameters, table, block, count, instant, ZERO)
                if has_baseline:
                    table[b + action] += baseline * (seen - table[b + action])
    tally.clock[0] = clock
    tally.touched[0] += np.int64(histories)
    tally.touched[1] += np.int64(decisions)


@inlined
def _explore(
    table: np.ndarray, strategy: int, count: int, epsilon: float, generator: np.ndarray
) -> np.uint64:
    """An action of the player who is updated: any with probability epsilon, else by strategy."""
    left = draw(generator)
    uniform = epsilon / np.int64(count)
    chosen = ZERO
    while chosen < count - ONE:
        left -= uniform + (1.0 - epsilon) * table[strategy + chosen]
        if left < 0.0:
            break
        chosen += ONE
    return chosen
