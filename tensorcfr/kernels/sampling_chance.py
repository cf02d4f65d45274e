"""Chance sampling, and whole traversals: every action of every player is tried.

At a chance node a traversal goes one way, which is sampled, or every way.  It is CFR as its
papers write it, history by history:

M. Zinkevich, M. Johanson, M. Bowling, C. Piccione, 'Regret minimization in games with incomplete
information', NIPS 2007.

Several histories of one infoset may be met in one traversal.  Their regrets are summed first, and
the strategy stays what it was until the traversal is over.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .local_rule import LocalRule, parameters_of
from .random import remember, rewind
from .sampling import (
    add_to_average,
    own_reach_weight,
    update,
    update_pending,
)
from .traversal import (
    CHANCE_NODE,
    NO_BLOCK,
    ONE,
    PENDING,
    TERMINAL_NODE,
    ZERO,
    TraversalState,
    TraversalTree,
    U,
    chance_arrays,
    deal_arrays,
    node_arrays,
    payoff_arrays,
)
from .tree_access import chance_probability, deal_hands, find_block, joined_nodes, pay, sample_step


@kernel
def chance_sampling(
    tree: TraversalTree,
    rule: LocalRule,
    schedule: np.ndarray,
    players: np.ndarray,
    averaging: int,
    alternating: bool,
    sampled: bool,
    prune: bool,
    state: TraversalState,
    generator: np.ndarray,
) -> None:
    """Run as many iterations as ``schedule`` has rows.

    Args:
        tree: The game.
        rule: The local rule, to which this kernel is specialised.
        schedule: float64 (iterations, 1 + parameters): averaging weight, then the parameters of
            the rule, iteration by iteration.
        players: uint64: for whom an iteration traverses, in this order.
        averaging: ``STOCHASTIC`` or ``OPTIMISTIC``.
        alternating: Whether a traversal sees the strategies that those before it in the same
            iteration made, and draws its own chance.  Otherwise all traversals of an iteration
            meet the same chance and the same strategies.
        sampled: Whether chance is sampled.
        prune: Whether to leave out what neither the player who is updated nor the others reach:
            it adds nothing to any regret, and nothing to an average that weighs by reach.
        state: Modified in place; blocks have room for the instantaneous regrets.
        generator: uint64 (4,), or a script; modified in place.
    """
    actors, first_child, blocks, bucket, hand_offset = node_arrays(tree)
    chance, joined, first_outcome, outcome, threshold, step, chance_table = chance_arrays(tree)
    payoff, utility, coefficient, matrix = payoff_arrays(tree)
    deals, deal_threshold, dealt, hands = deal_arrays(tree)
    table = state.table
    probability = tree.probability
    held = np.zeros(utility.shape[1], np.uint64)
    # What a traversal comes to: how the player and the others reach it, what it is worth.
    own, others = np.empty(tree.entries), np.empty(tree.entries)
    value = np.empty(tree.entries)
    # The queue of what it has yet to open, an entry and its node; what was opened, and has several
    # ways to go: its entry, that of its first child, its node.
    queue = np.empty((tree.entries, 2), np.uint32)
    fork = np.empty((tree.entries, 3), np.uint32)
    pending = np.empty((tree.blocks, 2), np.uint32)
    before = np.empty(4, np.uint64)
    n_pending = ZERO
    once = sampled and alternating and tree.visits_once
    clock = state.clock[0]
    histories, decisions = ZERO, ZERO
    for t in range(schedule.shape[0]):
        weight = schedule[t, 0]
        parameters = parameters_of(rule, schedule[t, 1:])
        clock += weight
        if not alternating:
            remember(generator, before)
        for player in players:
            if not alternating:
                rewind(generator, before)
            # Down: open one node after the other.
            deal = deal_hands(deals, deal_threshold, hands, held, generator)
            histories += dealt
            own[0], others[0] = 1.0, 1.0
            queue[0, 0], queue[0, 1] = 0, 0
            opened, queued, entries, forks = ZERO, ONE, ONE, ZERO
            while opened < queued:
                entry, at = U(queue[opened, 0]), U(queue[opened, 1])
                opened += ONE
                while True:
                    histories += ONE
                    actor, first = U(actors[at]), U(first_child[at])
                    if actor == TERMINAL_NODE:
                        value[entry] = pay(payoff, utility, coefficient, matrix, at, deal, player)
                        break
                    block = NO_BLOCK
                    if actor == CHANCE_NODE:
                        histories += joined_nodes(chance, joined, at)
                        if sampled:
                            at = sample_step(
                                chance,
                                first_outcome,
                                outcome,
                                threshold,
                                first_child,
                                step,
                                chance_table,
                                deal,
                                at,
                                generator,
                            )
                            continue
                    else:
                        decisions += ONE
                        block = find_block(blocks, bucket, hand_offset, held, at, actor)
                        if block == NO_BLOCK:
                            at = first
                            continue
                    count = U(first_child[at + ONE]) - first
                    fork[forks, 0] = entry
                    fork[forks, 1] = entries
                    fork[forks, 2] = at
                    forks += ONE
                    strategy = block + count
                    x_above, y_above = own[entry], others[entry]
                    for a in range(count):
                        child, below = entries + a, first + a
                        x, y = x_above, y_above
                        if actor == CHANCE_NODE:
                            p = chance_probability(chance, first_outcome, probability, at, a)
                            y *= p
                            cut = p == 0.0
                        else:
                            p = table[strategy + a]
                            if actor == player:
                                x *= p
                            else:
                                y *= p
                            cut = prune and x == 0.0 and y == 0.0
                        if cut:
                            value[child] = 0.0
                        elif actors[below] == TERMINAL_NODE:
                            # Most of what there is: worth its own line.
                            histories += ONE
                            value[child] = pay(
                                payoff, utility, coefficient, matrix, below, deal, player
                            )
                        else:
                            own[child], others[child] = x, y
                            queue[queued, 0] = child
                            queue[queued, 1] = below
                            queued += ONE
                    entries += count
                    break
            # Up: values, regrets and averages, the last fork first.
            while forks > ZERO:
                forks -= ONE
                entry, child, at = U(fork[forks, 0]), U(fork[forks, 1]), U(fork[forks, 2])
                actor = U(actors[at])
                count = U(first_child[at + ONE]) - U(first_child[at])
                found = 0.0
                if actor == CHANCE_NODE:
                    for a in range(count):
                        p = chance_probability(chance, first_outcome, probability, at, a)
                        found += p * value[child + a]
                    value[entry] = found
                    continue
                block = find_block(blocks, bucket, hand_offset, held, at, actor)
                strategy = block + count
                for a in range(count):
                    found += table[strategy + a] * value[child + a]
                value[entry] = found
                if actor != player:
                    continue
                y = others[entry]
                if once:
                    add = own_reach_weight(averaging, table, block, weight, clock, 1.0)
                    add_to_average(table, block, count, own[entry] * add)
                    if y != 0.0:
                        for a in range(count):
                            value[child + a] = y * (value[child + a] - found)
                        update(rule, parameters, table, block, count, value, child)
                    continue
                if table[block - PENDING] == 0.0:
                    table[block - PENDING] = 1.0
                    pending[n_pending, 0] = block
                    pending[n_pending, 1] = count
                    n_pending += ONE
                    add = own_reach_weight(averaging, table, block, weight, clock, 1.0)
                    add_to_average(table, block, count, own[entry] * add)
                instant = strategy + count + count
                for a in range(count):
                    table[instant + a] += y * (value[child + a] - found)
            if alternating and not once:
                n_pending = update_pending(rule, parameters, table, pending, n_pending)
        n_pending = update_pending(rule, parameters, table, pending, n_pending)
    state.clock[0] = clock
    state.touched[0] += np.int64(histories)
    state.touched[1] += np.int64(decisions)
