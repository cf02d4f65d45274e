"""Public chance sampling: only public chance is sampled, and all hands are played at once.

M. Johanson, N. Bard, M. Lanctot, R. Gibson, M. Bowling, 'Efficient Nash equilibrium approximation
through Monte Carlo counterfactual regret minimization', AAMAS 2012.

A traversal goes through the public tree with one reach per hand of each player.  At a public chance
node it follows one outcome; at a decision it tries every action.  Chance may depend on the hands
(nobody holds the card on the board), so an outcome is drawn by its probability over all deals, and
each deal is weighted by P(outcome given deal) / P(outcome).  Multiplied along the path, and with
the probability of the deal, these weights are the probability of the deal given all public
outcomes.  The payoffs are multiplied by it once, when the tree is made.

A traversal visits a public node at most once, and so each of its infosets, which may therefore be
updated immediately.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._util.jit import inlined, kernel
from .local_rule import LocalRule, parameters_of
from .random import draw_at, remember, rewind, take_turn
from .sampling import add_to_average, own_reach_weight, update, update_pending
from .traversal import CHANCE_NODE, NO_BLOCK, ONE, TERMINAL_NODE, ZERO, TraversalState, U

NO_HAND = U(2**32 - 1)
"""``AllHandsTree.hand_offset`` of a hand that is not possible."""


class AllHandsTree(NamedTuple):
    """A public tree of two players, traversed with all their hands at once."""

    node: np.ndarray
    """:data:`~tensorcfr.kernels.traversal.PUBLIC_NODE` (nodes,)."""
    weight: np.ndarray
    """uint32 (nodes,): row of ``PublicTree.weight_table``."""
    table: np.ndarray
    """uint32 (nodes,): row of ``utility`` of a terminal; 0 elsewhere."""
    hand_offset: np.ndarray
    """uint32 (buckets, most hands): distance from the block of the first possible hand to the block
    of each hand; ``NO_HAND`` for hands that are not possible."""
    mass: np.ndarray
    """float64 (weights,): probability of the public chance outcomes so far, over all deals."""
    deals: np.ndarray
    """int64 (weights,): number of deals that are possible after these outcomes."""
    utility: np.ndarray
    """float64 (tables, players, most hands, most hands): probability of the deal given the public
    outcomes, times the matrix; by the other player's hand, then the player's own, so that inner
    loops run along own hands."""
    coefficient: np.ndarray
    """float64 (payoffs,): multiple of ``utility``."""
    hands: np.ndarray
    """uint64 (players,): hands of each player."""
    depth: int
    """The most decisions and chance nodes on the way to a terminal."""
    width: int
    """The most actions of a decision."""
    infosets: int
    """Infosets with a block."""
    dealing: int
    """Histories at which the hands are dealt: chance nodes, one player's hand after the other's."""


@kernel
def public_chance_sampling(
    tree: AllHandsTree,
    rule: LocalRule,
    schedule: np.ndarray,
    players: np.ndarray,
    averaging: int,
    alternating: bool,
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
        prune: Whether to omit public nodes that no hand of either player reaches.
        state: Modified in place; without ``alternating``, blocks have room for the instantaneous
            regrets.
        generator: uint64 (4,), a script or streams; modified in place.
    """
    node, weights, ends = tree.node, tree.weight, tree.table
    mass, deals, hands, offset = tree.mass, tree.deals, tree.hands, tree.hand_offset
    table = state.table
    utility, coefficient = tree.utility, tree.coefficient
    most = offset.shape[1]
    # A frame for every decision on the current path: its node and the current action; the
    # strategies of its hands; the values of its actions so far; its own value.  The value of a
    # frame's current action is in the row of ``value`` after the frame's.
    place = np.empty((tree.depth, 2), np.uint32)
    sigma = np.empty((tree.depth, tree.width, most))
    q = np.empty((tree.depth, tree.width, most))
    value = np.empty((tree.depth + 1, most))
    # The reach of each player's hands, one row per own step; and whether any hand has a reach.
    reach = np.ones((2, tree.depth + 1, most))
    reached = np.ones((2, tree.depth + 1), np.bool_)
    steps = np.zeros(2, np.uint64)
    instant = np.empty(tree.width)
    pending = np.empty((0 if alternating else tree.infosets, 2), np.uint32)
    before = np.empty(4, np.uint64)
    n_pending = ZERO
    clock = state.clock[0]
    histories, decisions = 0, 0
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
            own, others = hands[player], hands[ONE - player]
            at, depth = ZERO, ZERO
            histories += tree.dealing
            while True:
                # Down to a terminal, or to a pruned node.
                while True:
                    row = U(weights[at])
                    histories += deals[row]
                    actor = U(node[at]["actor"])
                    if actor == TERMINAL_NODE:
                        end, factor = U(ends[at]), coefficient[U(node[at]["payoff"])]
                        step = steps[ONE - player]
                        _pay(utility, end, player, factor, reach, step, own, others, value, depth)
                        break
                    first = U(node[at]["first_child"])
                    count = U(node[at]["n_children"])
                    if actor == CHANCE_NODE:
                        at = _sample(
                            weights,
                            mass,
                            row,
                            first,
                            count,
                            U(node[at]["bucket"]),
                            generator,
                        )
                        continue
                    decisions += deals[row]
                    block = U(node[at]["block"])
                    if block == NO_BLOCK:
                        at = first
                        continue
                    place[depth, 0] = at
                    place[depth, 1] = 0
                    _read(
                        table,
                        offset,
                        U(node[at]["bucket"]),
                        block,
                        count,
                        hands[actor],
                        sigma,
                        depth,
                    )
                    value[depth, :own] = 0.0
                    depth += ONE
                    cut = _step(sigma, depth, ZERO, hands, actor, reach, reached, steps)
                    if cut and prune:
                        value[depth, :own] = 0.0
                        break
                    at = first
                # Up to the next action that has not been tried.
                while depth > ZERO:
                    at, action = U(place[depth - ONE, 0]), U(place[depth - ONE, 1])
                    actor = U(node[at]["actor"])
                    count = U(node[at]["n_children"])
                    d = depth - ONE
                    steps[actor] -= ONE
                    if actor == player:
                        for h in range(own):
                            q[d, action, h] = value[depth, h]
                            value[d, h] += sigma[d, action, h] * value[depth, h]
                    else:
                        for h in range(own):
                            value[d, h] += value[depth, h]
                    action += ONE
                    if action < count:
                        place[d, 1] = action
                        cut = _step(sigma, depth, action, hands, actor, reach, reached, steps)
                        if cut and prune:
                            value[depth, :own] = 0.0
                            continue
                        at = U(node[at]["first_child"]) + action
                        break
                    depth = d
                    if actor != player:
                        continue
                    bucket, lowest = U(node[at]["bucket"]), U(node[at]["block"])
                    learns = reached[ONE - player, steps[ONE - player]]
                    for h in range(own):
                        if offset[bucket, h] == NO_HAND:
                            continue
                        block = lowest + U(offset[bucket, h])
                        add = own_reach_weight(averaging, table, block, weight, clock, 1.0)
                        add_to_average(table, block, count, reach[player, steps[player], h] * add)
                        if not learns:
                            continue
                        if alternating:
                            for a in range(count):
                                instant[a] = q[d, a, h] - value[d, h]
                            update(rule, parameters, table, block, count, instant, ZERO)
                            continue
                        kept = block + count + count + count
                        for a in range(count):
                            table[kept + a] = q[d, a, h] - value[d, h]
                        pending[n_pending, 0] = block
                        pending[n_pending, 1] = count
                        n_pending += ONE
                if depth == ZERO:
                    break
        n_pending = update_pending(rule, parameters, table, pending, n_pending)
    state.clock[0] = clock
    state.touched[0] += histories
    state.touched[1] += decisions


@inlined
def _sample(
    weights: np.ndarray,
    mass: np.ndarray,
    row: np.uint64,
    first: np.uint64,
    count: np.uint64,
    place: np.uint64,
    generator: np.ndarray,
) -> np.uint64:
    """Draw a child of a public chance node by its probability over all deals; never one that no
    deal gets to."""
    left = draw_at(generator, place) * mass[row]
    chosen = first
    for a in range(count):
        probability = mass[U(weights[first + a])]
        if probability > 0.0:
            chosen = first + a
            left -= probability
            if left < 0.0:
                break
    return chosen


@inlined
def _read(
    table: np.ndarray,
    offset: np.ndarray,
    bucket: int,
    block: int,
    count: int,
    hands: int,
    sigma: np.ndarray,
    depth: int,
) -> None:
    """Read the strategies of all hands at a node; 0 for hands that are not possible.

    Args:
        table: The infosets' blocks.
        offset: See :class:`AllHandsTree`.
        bucket: The node's bucket.
        block: Its first block.
        count: Its actions.
        hands: Hands of the player who acts.
        sigma: float64 (depth, actions, hands): modified in place.
        depth: The row of ``sigma``.
    """
    for h in range(hands):
        if offset[bucket, h] == NO_HAND:
            for a in range(count):
                sigma[depth, a, h] = 0.0
            continue
        strategy = block + U(offset[bucket, h]) + count
        for a in range(count):
            sigma[depth, a, h] = table[strategy + a]


@inlined
def _step(
    sigma: np.ndarray,
    depth: int,
    action: int,
    hands: np.ndarray,
    actor: int,
    reach: np.ndarray,
    reached: np.ndarray,
    steps: np.ndarray,
) -> bool:
    """Take an action with all hands.

    Args:
        sigma: The strategies; those of the node are in row ``depth - 1``.
        depth: Decisions on the path, including the node.
        action: The action.
        hands: Hands of each player.
        actor: Who acts.
        reach: float64 (players, steps, hands): modified in place.
        reached: bool (players, steps): modified in place.
        steps: uint64 (players,): the row of either, modified in place.

    Returns:
        Whether neither player reaches the node after the action.
    """
    above = steps[actor]
    below = above + ONE
    most = 0.0
    for h in range(hands[actor]):
        x = reach[actor, above, h] * sigma[depth - ONE, action, h]
        reach[actor, below, h] = x
        most = max(most, x)
    reached[actor, below] = most > 0.0
    steps[actor] = below
    return not (reached[actor, below] or reached[ONE - actor, steps[ONE - actor]])


@inlined
def _pay(
    utility: np.ndarray,
    row: int,
    player: int,
    coefficient: float,
    reach: np.ndarray,
    step: int,
    own: int,
    others: int,
    value: np.ndarray,
    depth: int,
) -> None:
    """The value of a terminal for every hand of a player, against the other player's reach.

    Args:
        utility: See :class:`AllHandsTree`.
        row: The terminal's row in it.
        player: The player.
        coefficient: The terminal's.
        reach: float64 (players, steps, hands).
        step: The row of the other player.
        own: Hands of the player.
        others: Hands of the other player.
        value: float64 (depth, hands): modified in place.
        depth: The row of it.
    """
    for h in range(own):
        value[depth, h] = 0.0
    for k in range(others):
        y = coefficient * reach[ONE - player, step, k]
        if y != 0.0:
            for h in range(own):
                value[depth, h] += y * utility[row, player, k, h]
