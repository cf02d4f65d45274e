"""Chance sampling, and full traversals: every action of every player is tried.

At a chance node a traversal follows one outcome, which is sampled, or all outcomes.  This is CFR as
in the original papers, history by history:

M. Zinkevich, M. Johanson, M. Bowling, C. Piccione, 'Regret minimization in games with incomplete
information', NIPS 2007.

One traversal may visit several histories of an infoset.  Their regrets are summed first, and the
strategy does not change before the end of the traversal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._util.jit import borrowed, inlined, kernel
from .local_rule import LocalRule, parameters_of
from .random import remember, rewind, take_turn
from .sampling_steps import add_to_average, own_reach_weight, update, update_pending
from .traversal import (
    CHANCE_NODE,
    ONE,
    PENDING,
    TERMINAL_NODE,
    ZERO,
    CardTree,
    Orders,
    Traversal,
    TraversalPosition,
    TraversalState,
    TraversalTree,
    U,
    finish,
)
from .tree_access import deal_hands, find_block, first_outcome_of, next_decision, pay


class Opened(NamedTuple):
    """Histories of a traversal; modified in place.

    An *entry* is a visited history.  A *fork* is a visited history with several children.
    """

    own: np.ndarray
    """float64 (entries,): own reach of the updating player."""
    others: np.ndarray
    """float64 (entries,): reach of the others, chance included."""
    value: np.ndarray
    """float64 (entries,): value of each history."""
    queue: np.ndarray
    """uint32 (entries, 2): entry and node of each history that is still to be visited."""
    fork: np.ndarray
    """uint32 (entries, 3): entry of a fork, entry of its first child, node."""
    pending: np.ndarray
    """uint32 (infosets, 2): infosets to update: block and number of actions."""


@kernel
def chance_sampling(
    tree: TraversalTree | CardTree,
    rule: LocalRule,
    orders: Orders,
    sampled: bool,
    prune: bool,
    state: TraversalState,
    generator: np.ndarray,
) -> None:
    """Run iterations of chance sampling, or of full traversals.

    Args:
        tree: The game.
        rule: The local rule, to which this kernel is specialised.
        orders: The iterations; their averaging is ``STOCHASTIC`` or ``OPTIMISTIC``.
        sampled: Whether chance is sampled.
        prune: Whether to omit histories that neither the updating player nor the others reach.
            They add nothing to any regret, nor to an average weighted by reach.
        state: Modified in place; blocks have space for the instantaneous regrets.
        generator: uint64 (4,), a script or streams; modified in place.
    """
    schedule, alternating, entries = orders.schedule, orders.alternating, tree.entries
    opened = Opened(
        np.empty(entries),
        np.empty(entries),
        np.empty(entries),
        np.empty((entries, 2), np.uint32),
        np.empty((entries, 3), np.uint32),
        np.empty((tree.blocks, 2), np.uint32),
    )
    held, before = np.zeros(tree.drawn, np.uint64), np.empty(4, np.uint64)
    # If a traversal visits each infoset at most once, it updates the infoset on the spot.
    once = sampled and alternating and tree.visits_once
    clock, n_pending = state.clock[0], ZERO
    position = TraversalPosition(ZERO, ZERO, 1.0, 1.0, U(state.touched[0]), U(state.touched[1]))
    for t in range(schedule.shape[0]):
        parameters = parameters_of(rule, schedule[t, 1:], schedule)
        clock += schedule[t, 0]
        if not alternating:
            remember(generator, before)
        for player in orders.players:
            if not alternating:
                rewind(generator, before)
            take_turn(generator, player)
            arguments = (
                player,
                deal_hands(tree, held, generator),
                orders.averaging,
                schedule[t, 0],
                clock,
            )
            turn = borrowed(Traversal(tree, state.table, generator, rule, parameters, *arguments))
            forks, position = _visit_histories(turn, opened, held, sampled, prune, position)
            n_pending = _compute_values(turn, opened, held, once, forks, n_pending)
            if alternating and not once:
                n_pending = update_pending(rule, parameters, state.table, opened.pending, n_pending)
        n_pending = update_pending(rule, parameters, state.table, opened.pending, n_pending)
    finish(state, clock, position)


@inlined
def _visit_histories(
    traversal: Traversal,
    opened: Opened,
    held: np.ndarray,
    sampled: bool,
    prune: bool,
    position: TraversalPosition,
) -> tuple[np.uint64, TraversalPosition]:
    """Visit one history after the other; return the number of forks, and the counts."""
    opened, tree, node = borrowed(opened), traversal.tree, traversal.tree.node
    opened.own[0], opened.others[0] = 1.0, 1.0
    opened.queue[0, 0], opened.queue[0, 1] = 0, 0
    done, queued, entries, forks = ZERO, ONE, ONE, ZERO
    histories, decisions = position.histories + U(tree.dealt), position.decisions
    # Breadth first: a fork comes before the forks below it, so `_compute_values` may run backwards
    # over them.
    while done < queued:
        entry = U(opened.queue[done, 0])
        node_index, actor, block, histories, decisions = next_decision(
            traversal, held, U(opened.queue[done, 1]), sampled, histories, decisions
        )
        done += ONE
        if actor == TERMINAL_NODE:
            opened.value[entry] = pay(tree, held, node_index, traversal.deal, traversal.player)
            continue
        opened.fork[forks, 0] = entry
        opened.fork[forks, 1] = entries
        opened.fork[forks, 2] = node_index
        entered = entry, entries, queued, histories
        queued, histories = _queue_children(
            traversal, opened, held, prune, node_index, actor, block, *entered
        )
        forks += ONE
        entries += U(node[node_index]["n_children"])
    return forks, TraversalPosition(ZERO, ZERO, 1.0, 1.0, histories, decisions)


@inlined
def _queue_children(
    traversal: Traversal,
    opened: Opened,
    held: np.ndarray,
    prune: bool,
    node_index: np.uint64,
    actor: np.uint64,
    block: np.uint64,
    entry: np.uint64,
    entries: np.uint64,
    queued: np.uint64,
    histories: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Queue the children of a fork; return the number of histories queued, and visited."""
    tree, table = traversal.tree, traversal.table
    node, probability = tree.node, tree.probability
    first, count = U(node[node_index]["first_child"]), U(node[node_index]["n_children"])
    strategy, first_drawn = block + count, first_outcome_of(tree, node_index)
    x_above, y_above = opened.own[entry], opened.others[entry]
    for a in range(count):
        child, child_node = entries + a, first + a
        x, y = x_above, y_above
        if actor == CHANCE_NODE:
            p = probability[first_drawn + a]
            y *= p
            cut = p == 0.0
        else:
            p = table[strategy + a]
            if actor == traversal.player:
                x *= p
            else:
                y *= p
            cut = prune and x == 0.0 and y == 0.0
        if cut:
            opened.value[child] = 0.0
        elif node[child_node]["actor"] == TERMINAL_NODE:
            # Most histories are terminals, which need no entry in the queue.
            histories += ONE
            opened.value[child] = pay(tree, held, child_node, traversal.deal, traversal.player)
        else:
            opened.own[child], opened.others[child] = x, y
            opened.queue[queued, 0] = child
            opened.queue[queued, 1] = child_node
            queued += ONE
    return queued, histories


@inlined
def _compute_values(
    traversal: Traversal,
    opened: Opened,
    held: np.ndarray,
    once: bool,
    forks: np.uint64,
    n_pending: np.uint64,
) -> np.uint64:
    """Compute values, regrets and averages, from the last fork to the first.

    A child follows its parent in the order of forks, so values below a fork are ready when it is
    processed.

    Returns:
        The number of pending infosets.
    """
    opened, tree, table = borrowed(opened), traversal.tree, traversal.table
    node, value, probability = tree.node, opened.value, tree.probability
    while forks > ZERO:
        forks -= ONE
        entry, child = U(opened.fork[forks, 0]), U(opened.fork[forks, 1])
        node_index = U(opened.fork[forks, 2])
        actor, count = U(node[node_index]["actor"]), U(node[node_index]["n_children"])
        history_value = 0.0
        if actor == CHANCE_NODE:
            first_drawn = first_outcome_of(tree, node_index)
            for a in range(count):
                history_value += probability[first_drawn + a] * value[child + a]
            value[entry] = history_value
            continue
        block = find_block(tree, held, node_index, actor)
        strategy = block + count
        for a in range(count):
            history_value += table[strategy + a] * value[child + a]
        value[entry] = history_value
        if actor == traversal.player:
            # The counterfactual regret is weighted by the reach of the others.
            y = opened.others[entry]
            first_visit = once or table[block - PENDING] == 0.0
            if first_visit:
                add = own_reach_weight(traversal, block, 1.0)
                add_to_average(table, block, count, opened.own[entry] * add)
            if once:
                if y != 0.0:
                    for a in range(count):
                        value[child + a] = y * (value[child + a] - history_value)
                    update(traversal.rule, traversal.parameters, table, block, count, value, child)
                continue
            if first_visit:
                table[block - PENDING] = 1.0
                opened.pending[n_pending, 0] = block
                opened.pending[n_pending, 1] = count
                n_pending += ONE
            instant = strategy + count + count
            for a in range(count):
                table[instant + a] += y * (value[child + a] - history_value)
    return n_pending
