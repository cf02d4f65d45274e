"""Public chance sampling: public chance alone is sampled, and all hands are played at once.

M. Johanson, N. Bard, M. Lanctot, R. Gibson, M. Bowling, 'Efficient Nash equilibrium approximation
through Monte Carlo counterfactual regret minimization', AAMAS 2012.

A traversal goes through the public tree with one reach per hand of each player.  At a public chance
node it goes one way; at every other it goes every way.  What chance does may depend on the hands
(nobody holds the card on the board), so an outcome is drawn by its probability over all deals, and
each deal counts in proportion to how much likelier it makes the outcome than that.  Multiplied
along the way, and with the probability of the deal itself, these factors are the probability of
the deal given all public outcomes: payoffs are weighted by that, once and for all.

A traversal comes to a public node at most once, and so to each of its infosets, whose strategies
may be updated there and then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import inlined, kernel
from .local_rule import LocalRule, parameters_of
from .random import draw, remember, rewind
from .sampling import add_to_average, own_reach_weight, update, update_pending
from .traversal import CHANCE_NODE, NO_BLOCK, ONE, TERMINAL_NODE, ZERO, TraversalState, U

NO_HAND = U(2**32 - 1)
"""``AllHandsTree.hand_offset`` of a hand that is not possible."""


class AllHandsTree(NamedTuple):
    """A public tree of two players, traversed with all their hands at once."""

    actor: np.ndarray
    """uint8 (nodes,): who acts; ``CHANCE_NODE`` or ``TERMINAL_NODE`` otherwise."""
    first_child: np.ndarray
    """uint32 (nodes + 1,): the children of node ``h`` are ``[h]`` to ``[h + 1] - 1``."""
    block: np.ndarray
    """uint32 (nodes,): block of the first of the node's infosets, or ``NO_BLOCK``; 0 where no
    player acts."""
    bucket: np.ndarray
    """uint32 (nodes,): bucket of a decision node; 0 elsewhere."""
    weight: np.ndarray
    """uint32 (nodes,): row of ``PublicTree.weight_table``."""
    payoff: np.ndarray
    """uint32 (nodes,): payoff of a terminal; 0 elsewhere."""
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
        players: uint64: for whom an iteration traverses, in this order.
        averaging: ``STOCHASTIC`` or ``OPTIMISTIC``.
        alternating: Whether a traversal sees the strategies that those before it in the same
            iteration made, and draws its own chance.  Otherwise all traversals of an iteration
            meet the same chance and the same strategies.
        prune: Whether to leave out public nodes that no hand of either player reaches.
        state: Modified in place; without ``alternating``, blocks have room for the instantaneous
            regrets.
        generator: uint64 (4,), or a script; modified in place.
    """
    actors, first_child, blocks, buckets = tree.actor, tree.first_child, tree.block, tree.bucket
    weights, payoffs, ends = tree.weight, tree.payoff, tree.table
    mass, deals, hands, offset = tree.mass, tree.deals, tree.hands, tree.hand_offset
    table = state.table
    utility, coefficient = tree.utility, tree.coefficient
    most = offset.shape[1]
    # A frame for every decision on the way to where the traversal is: its node, and the action that
    # is being tried; the strategies of its hands; the values of its actions so far; its own value.
    # The value of what a frame's action leads to stands in the row below that of the frame.
    place = np.empty((tree.depth, 2), np.uint32)
    sigma = np.empty((tree.depth, tree.width, most))
    q = np.empty((tree.depth, tree.width, most))
    value = np.empty((tree.depth + 1, most))
    # How each player's hands reach the traversal's place, one row per own step; whether any does.
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
        parameters = parameters_of(rule, schedule[t, 1:])
        clock += weight
        if not alternating:
            remember(generator, before)
        for player in players:
            if not alternating:
                rewind(generator, before)
            own, others = hands[player], hands[ONE - player]
            at, depth = ZERO, ZERO
            histories += tree.dealing
            while True:
                # Down to a terminal, or to what is left out.
                while True:
                    row = U(weights[at])
                    histories += deals[row]
                    actor = U(actors[at])
                    if actor == TERMINAL_NODE:
                        end, factor = U(ends[at]), coefficient[U(payoffs[at])]
                        step = steps[ONE - player]
                        _pay(utility, end, player, factor, reach, step, own, others, value, depth)
                        break
                    first = U(first_child[at])
                    count = U(first_child[at + ONE]) - first
                    if actor == CHANCE_NODE:
                        at = _sample(weights, mass, row, first, count, generator)
                        continue
                    decisions += deals[row]
                    block = U(blocks[at])
                    if block == NO_BLOCK:
                        at = first
                        continue
                    place[depth, 0] = at
                    place[depth, 1] = 0
                    _read(table, offset, U(buckets[at]), block, count, hands[actor], sigma, depth)
                    value[depth, :own] = 0.0
                    depth += ONE
                    cut = _step(sigma, depth, ZERO, hands, actor, reach, reached, steps)
                    if cut and prune:
                        value[depth, :own] = 0.0
                        break
                    at = first
                # Up to the next action that was not tried.
                while depth > ZERO:
                    at, action = U(place[depth - ONE, 0]), U(place[depth - ONE, 1])
                    actor = U(actors[at])
                    count = U(first_child[at + ONE]) - U(first_child[at])
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
                        at = U(first_child[at]) + action
                        break
                    depth = d
                    if actor != player:
                        continue
                    bucket, lowest = U(buckets[at]), U(blocks[at])
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
    generator: np.ndarray,
) -> np.uint64:
    """A child of a public chance node, by its probability over all deals; never one that no deal
    gets to."""
    left = draw(generator) * mass[row]
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
    """The strategies of all hands at a node, 0 for hands that cannot be there.

    Args:
        table: The infosets' blocks.
        offset: See :class:`AllHandsTree`.
        bucket: The node's bucket.
        block: Its first block.
        count: Its actions.
        hands: Hands of who acts.
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
    """Take an action with all hands; whether neither player reaches what comes after.

    Args:
        sigma: The strategies; those of the node are in row ``depth - 1``.
        depth: Decisions on the way, the node's included.
        action: The action.
        hands: Hands of each player.
        actor: Who acts.
        reach: float64 (players, steps, hands): modified in place.
        reached: bool (players, steps): modified in place.
        steps: uint64 (players,): the row of either, modified in place.
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
    """What a terminal is worth to every hand of a player, against the other player's reach.

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
