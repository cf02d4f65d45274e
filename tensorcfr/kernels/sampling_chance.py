"""Chance sampling, and whole traversals: every action of every player is tried.

At a chance node a traversal follows one outcome, which is sampled, or all outcomes.  This is CFR
as its papers write it, history by history:

M. Zinkevich, M. Johanson, M. Bowling, C. Piccione, 'Regret minimization in games with incomplete
information', NIPS 2007.

One traversal may visit several histories of one infoset.  Their regrets are summed first, and the
strategy does not change before the traversal is over.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import kernel
from .local_rule import LocalRule, parameters_of
from .random import remember, rewind, take_turn
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
)
from .tree_access import deal_hands, find_block, first_outcome_of, joined_nodes, pay, sample_step


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
        players: uint64: the players for whom an iteration traverses, in order.
        averaging: ``STOCHASTIC`` or ``OPTIMISTIC``.
        alternating: Whether a traversal uses the strategies that earlier traversals of the same
            iteration computed, and draws its own chance outcomes.  Otherwise all traversals of an
            iteration have the same strategies and the same chance outcomes.
        sampled: Whether chance is sampled.
        prune: Whether to omit histories that neither the player who is updated nor the others
            reach: they add nothing to any regret, and nothing to an average weighted by reach.
        state: Modified in place; blocks have room for the instantaneous regrets.
        generator: uint64 (4,), a script or streams; modified in place.
    """
    node, hand_offset, utility, coefficient, matrix = node_arrays(tree)
    joined, first_outcome, outcome, threshold, step, chance_table = chance_arrays(tree)
    deals, deal_threshold, dealt, hands = deal_arrays(tree)
    table = state.table
    probability = tree.probability
    held = np.zeros(utility.shape[1], np.uint64)
    # Entries, one per visited history: the player's reach, the others' reach, the value.
    own, others = np.empty(tree.entries), np.empty(tree.entries)
    value = np.empty(tree.entries)
    # The queue of histories still to be opened: entry and node.  The forks, opened histories with
    # several branches: entry, entry of the first child, node.
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
        parameters = parameters_of(rule, schedule[t, 1:], schedule)
        clock += weight
        if not alternating:
            remember(generator, before)
        for player in players:
            if not alternating:
                rewind(generator, before)
            take_turn(generator, player)
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
                    actor, first = U(node[at]["actor"]), U(node[at]["first_child"])
                    if actor == TERMINAL_NODE:
                        value[entry] = pay(node, utility, coefficient, matrix, at, deal, player)
                        break
                    block = NO_BLOCK
                    if actor == CHANCE_NODE:
                        histories += joined_nodes(node, joined, at)
                        if sampled:
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
                    else:
                        decisions += ONE
                        block = find_block(node, hand_offset, held, at, actor)
                        if block == NO_BLOCK:
                            at = first
                            continue
                    count = U(node[at]["n_children"])
                    fork[forks, 0] = entry
                    fork[forks, 1] = entries
                    fork[forks, 2] = at
                    forks += ONE
                    strategy, drawn = block + count, first_outcome_of(node, first_outcome, at)
                    x_above, y_above = own[entry], others[entry]
                    for a in range(count):
                        child, below = entries + a, first + a
                        x, y = x_above, y_above
                        if actor == CHANCE_NODE:
                            p = probability[drawn + a]
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
                        elif node[below]["actor"] == TERMINAL_NODE:
                            # Most histories are terminals, which need no entry in the queue.
                            histories += ONE
                            value[child] = pay(
                                node, utility, coefficient, matrix, below, deal, player
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
                actor = U(node[at]["actor"])
                count = U(node[at]["n_children"])
                found = 0.0
                if actor == CHANCE_NODE:
                    drawn = first_outcome_of(node, first_outcome, at)
                    for a in range(count):
                        found += probability[drawn + a] * value[child + a]
                    value[entry] = found
                    continue
                block = find_block(node, hand_offset, held, at, actor)
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
