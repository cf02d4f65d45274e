"""External sampling: a traversal samples chance and the opponents, and tries every action of the
player who is updated.

M. Lanctot, K. Waugh, M. Zinkevich, M. Bowling, 'Monte Carlo sampling for regret minimization in
extensive games', NIPS 2009.

What is sampled is sampled with its own probability, so reaches cancel: the value of an action is
the value of what was sampled below it.  By perfect recall two histories of one infoset part at
chance or at an opponent, where a traversal takes one way only; it therefore comes to an infoset
of the player at most once, and may update it there and then.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import inlined, kernel
from .local_rule import LocalRule, parameters_of
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
    STOCHASTIC,
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
def external_sampling(
    tree: WalkedTree,
    rule: LocalRule,
    schedule: np.ndarray,
    players: np.ndarray,
    averaging: int,
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
        tally: Modified in place.
        generator: uint64 (4,), or a script; modified in place.
    """
    node, utility, table = tree.node, tree.utility, tally.table
    outcome, threshold, offset = tree.outcome, tree.threshold, tree.offset
    chance, chance_table, coefficient = tree.chance, tree.chance_table, tree.coefficient
    dealt, hands = U(tree.dealt), U(tree.hands)
    held = np.zeros(utility.shape[1], np.uint64)
    width, n_players = U(tree.width), U(utility.shape[1])
    # A frame for every decision of the player on the way to where the traversal is.
    place = np.empty((tree.depth, 4), np.uint32)
    value, own = np.empty(tree.depth), np.empty(tree.depth)
    q = np.empty(tree.depth * tree.width)
    # The opponents' reaches, where the average asks for them.
    tracked = averaging == STOCHASTIC or (averaging == SIMPLE and n_players > U(2))
    reach = np.ones((tree.depth + 1) * utility.shape[1])
    clock = tally.clock[0]
    histories, decisions = ZERO, ZERO
    for t in range(schedule.shape[0]):
        weight = schedule[t, 0]
        parameters = parameters_of(rule, schedule[t, 1:])
        clock += weight
        for player in players:
            at, depth, x = ZERO, ZERO, 1.0
            deal = deal_hands(outcome, threshold, offset, hands, held, generator)
            histories += dealt
            if tracked:
                for k in range(n_players):
                    reach[k] = 1.0
            while True:
                # Down to a terminal.
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
                    if actor == player:
                        place[depth, 0] = first
                        place[depth, 1] = block
                        place[depth, 2] = count
                        place[depth, 3] = 0
                        value[depth] = 0.0
                        own[depth] = x
                        if tracked:
                            _copy(reach, depth, depth + ONE, n_players)
                        x *= table[strategy]
                        at = first
                        depth += ONE
                    else:
                        if averaging == SIMPLE:
                            sampled = 1.0
                            if tracked:
                                sampled = product_of_others(reach, depth, n_players, player, actor)
                            add_to_average(table, block, count, weight / sampled)
                        action = sample_action(table, strategy, count, generator)
                        if tracked:
                            reach[depth * n_players + actor] *= table[strategy + action]
                        at = first + action
                # Up to the next action that was not tried.
                found = pay(node, utility, coefficient, at, deal, player)
                while depth > ZERO:
                    d = depth - ONE
                    block, count, action = U(place[d, 1]), U(place[d, 2]), U(place[d, 3])
                    strategy = block + REGRET + count
                    q[d * width + action] = found
                    value[d] += table[strategy + action] * found
                    action += ONE
                    if action < count:
                        place[d, 3] = action
                        x = own[d] * table[strategy + action]
                        if tracked:
                            _copy(reach, d, depth, n_players)
                        at = U(place[d, 0]) + action
                        break
                    found = value[d]
                    if averaging != SIMPLE:
                        sampled = 1.0
                        if tracked:
                            sampled = product_of_others(reach, d, n_players, player, player)
                        add = weight_at_own(averaging, table, block, weight, clock, sampled)
                        add_to_average(table, block, count, own[d] * add)
                    for a in range(count):
                        q[d * width + a] -= found
                    update(rule, parameters, table, block, count, q, d * width)
                    depth = d
                if depth == ZERO:
                    break
    tally.clock[0] = clock
    tally.touched[0] += np.int64(histories)
    tally.touched[1] += np.int64(decisions)


@inlined
def _copy(reach: np.ndarray, source: int, target: int, n_players: int) -> None:
    """Copy a row of float64 (rows * players,)."""
    for k in range(n_players):
        reach[target * n_players + k] = reach[source * n_players + k]
