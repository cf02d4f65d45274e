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

from .._util.jit import kernel
from .local_rule import LocalRule, parameters_of
from .random import remember, rewind
from .sampling import (
    ACTOR,
    BLOCK,
    CHANCE_NODE,
    COUNT,
    FIRST,
    NO_BLOCK,
    ONE,
    PENDING,
    REGRET,
    TERMINAL_NODE,
    ZERO,
    Tally,
    U,
    WalkedTree,
    add_to_average,
    settle,
    update,
    weight_at_own,
)
from .tree_access import deal_hands, find_block, pay, sample_step


@kernel
def chance_sampling(
    tree: WalkedTree,
    rule: LocalRule,
    schedule: np.ndarray,
    players: np.ndarray,
    averaging: int,
    alternating: bool,
    sampled: bool,
    prune: bool,
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
        averaging: ``STOCHASTIC`` or ``OPTIMISTIC``.
        alternating: Whether a traversal sees the strategies that those before it in the same
            iteration made, and draws its own chance.  Otherwise all traversals of an iteration
            meet the same chance and the same strategies.
        sampled: Whether chance is sampled.
        prune: Whether to leave out what neither the player who is updated nor the others reach:
            it adds nothing to any regret, and nothing to an average that weighs by reach.
        tally: Modified in place; blocks have room for the instantaneous regrets.
        generator: uint64 (4,), or a script; modified in place.
    """
    node, utility, table = tree.node, tree.utility, tally.table
    probability = tree.probability
    outcome, threshold, offset = tree.outcome, tree.threshold, tree.offset
    chance, chance_table, coefficient = tree.chance, tree.chance_table, tree.coefficient
    dealt, hands = U(tree.dealt), U(tree.hands)
    held = np.zeros(utility.shape[1], np.uint64)
    # What a traversal comes to: how the player and the others reach it, what it is worth.
    own, others = np.empty(tree.entries), np.empty(tree.entries)
    value = np.empty(tree.entries)
    # The queue of what it has yet to open, an entry and its node; what was opened, and has several
    # ways to go: its entry, that of its first child, its node.
    queue = np.empty((tree.entries, 2), np.uint32)
    fork = np.empty((tree.entries, 3), np.uint32)
    met = np.empty((tree.blocks, 2), np.uint32)
    before = np.empty(4, np.uint64)
    n_met = ZERO
    once = sampled and alternating and tree.once
    clock = tally.clock[0]
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
            deal = deal_hands(outcome, threshold, offset, hands, held, generator)
            histories += dealt
            own[0], others[0] = 1.0, 1.0
            queue[0, 0], queue[0, 1] = 0, 0
            opened, queued, entries, forks = ZERO, ONE, ONE, ZERO
            while opened < queued:
                entry, at = U(queue[opened, 0]), U(queue[opened, 1])
                opened += ONE
                while True:
                    histories += ONE
                    actor, first = U(node[at, ACTOR]), U(node[at, FIRST])
                    if actor == TERMINAL_NODE:
                        value[entry] = pay(node, utility, coefficient, at, deal, player)
                        break
                    block, count = U(node[at, BLOCK]), U(node[at, COUNT])
                    if actor == CHANCE_NODE:
                        histories += block
                        if sampled:
                            at = sample_step(
                                outcome,
                                threshold,
                                chance,
                                chance_table,
                                deal,
                                first,
                                count,
                                generator,
                            )
                            continue
                    else:
                        decisions += ONE
                        block = find_block(node, offset, held, at, actor)
                        if block == NO_BLOCK:
                            at = first
                            continue
                    fork[forks, 0] = entry
                    fork[forks, 1] = entries
                    fork[forks, 2] = at
                    forks += ONE
                    strategy = block + REGRET + count
                    x_above, y_above = own[entry], others[entry]
                    for a in range(count):
                        child, below = entries + a, first + a
                        x, y = x_above, y_above
                        if actor == CHANCE_NODE:
                            y *= probability[first + a]
                            below = U(outcome[first + a, 0])
                            cut = probability[first + a] == 0.0
                        else:
                            p = table[strategy + a]
                            if actor == player:
                                x *= p
                            else:
                                y *= p
                            cut = prune and x == 0.0 and y == 0.0
                        if cut:
                            value[child] = 0.0
                        elif node[below, ACTOR] == TERMINAL_NODE:
                            # Most of what there is: worth its own line.
                            histories += ONE
                            value[child] = pay(node, utility, coefficient, below, deal, player)
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
                actor, first = U(node[at, ACTOR]), U(node[at, FIRST])
                count = U(node[at, COUNT])
                found = 0.0
                if actor == CHANCE_NODE:
                    for a in range(count):
                        found += probability[first + a] * value[child + a]
                    value[entry] = found
                    continue
                block = find_block(node, offset, held, at, actor)
                strategy = block + REGRET + count
                for a in range(count):
                    found += table[strategy + a] * value[child + a]
                value[entry] = found
                if actor != player:
                    continue
                y = others[entry]
                if once:
                    add = weight_at_own(averaging, table, block, weight, clock, 1.0)
                    add_to_average(table, block, count, own[entry] * add)
                    if y != 0.0:
                        for a in range(count):
                            value[child + a] = y * (value[child + a] - found)
                        update(rule, parameters, table, block, count, value, child)
                    continue
                if table[block + PENDING] == 0.0:
                    table[block + PENDING] = 1.0
                    met[n_met, 0] = block
                    met[n_met, 1] = count
                    n_met += ONE
                    add = weight_at_own(averaging, table, block, weight, clock, 1.0)
                    add_to_average(table, block, count, own[entry] * add)
                instant = strategy + count + count
                for a in range(count):
                    table[instant + a] += y * (value[child + a] - found)
            if alternating and not once:
                n_met = settle(rule, parameters, table, met, n_met)
        n_met = settle(rule, parameters, table, met, n_met)
    tally.clock[0] = clock
    tally.touched[0] += np.int64(histories)
    tally.touched[1] += np.int64(decisions)
