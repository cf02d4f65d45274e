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

from .._util.jit import inlined, kernel
from .local_rule import LocalRule, parameters_of
from .random import draw, remember, rewind
from .sampling import (
    ACTOR,
    BLOCK,
    BUCKET,
    CHANCE_NODE,
    COUNT,
    FIRST,
    NO_BLOCK,
    ONE,
    REGRET,
    TERMINAL_NODE,
    ZERO,
    Tally,
    U,
    add_to_average,
    settle,
    update,
    weight_at_own,
)

WEIGHT = 5
"""Column of ``HandsTree.node``."""
NO_HAND = U(2**32 - 1)
"""In ``HandsTree.offset``: a hand that cannot be there."""


class HandsTree(NamedTuple):
    """A public tree, and the hands of two players that are played on it."""

    node: np.ndarray
    """uint32 (nodes, 6): who acts, ``CHANCE_NODE`` or ``TERMINAL_NODE``; the first child, for a
    terminal which payoff it has; the block of the first of the node's infosets or ``NO_BLOCK``,
    for a terminal the row of ``utility``; how many children; the bucket; and the row of
    ``PublicTree.weight_table``, here called the weight."""
    offset: np.ndarray
    """uint32 (buckets, most hands): how far the block of each hand is from that of the first one;
    ``NO_HAND`` for hands that cannot be there."""
    mass: np.ndarray
    """float64 (weights,): probability of the public chance outcomes on the way, over all deals."""
    deals: np.ndarray
    """int64 (weights,): the deals that these outcomes leave."""
    utility: np.ndarray
    """float64 (terminals of a kind, players, most hands, most hands): probability of the deal given
    the public outcomes, times what it pays to the player; by the other player's hand, then his own,
    so that inner loops run along own hands."""
    coefficient: np.ndarray
    """float64 (payoffs,): multiple of what ``utility`` has."""
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
    tree: HandsTree,
    rule: LocalRule,
    schedule: np.ndarray,
    players: np.ndarray,
    averaging: int,
    alternating: bool,
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
        prune: Whether to leave out public nodes that no hand of either player reaches.
        tally: Modified in place; without ``alternating``, blocks have room for the instantaneous
            regrets.
        generator: uint64 (4,), or a script; modified in place.
    """
    node, offset, table = tree.node, tree.offset, tally.table
    mass, deals, hands = tree.mass, tree.deals, tree.hands
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
    met = np.empty((0 if alternating else tree.infosets, 2), np.uint32)
    before = np.empty(4, np.uint64)
    n_met = ZERO
    clock = tally.clock[0]
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
                    row = U(node[at, WEIGHT])
                    histories += deals[row]
                    actor, first = U(node[at, ACTOR]), U(node[at, FIRST])
                    if actor == TERMINAL_NODE:
                        end, factor = U(node[at, BLOCK]), coefficient[first]
                        step = steps[ONE - player]
                        _pay(utility, end, player, factor, reach, step, own, others, value, depth)
                        break
                    count, block = U(node[at, COUNT]), U(node[at, BLOCK])
                    if actor == CHANCE_NODE:
                        at = _sample(node, mass, row, first, count, generator)
                        continue
                    decisions += deals[row]
                    if block == NO_BLOCK:
                        at = first
                        continue
                    place[depth, 0] = at
                    place[depth, 1] = 0
                    _read(
                        table, offset, U(node[at, BUCKET]), block, count, hands[actor], sigma, depth
                    )
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
                    actor, count = U(node[at, ACTOR]), U(node[at, COUNT])
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
                        at = U(node[at, FIRST]) + action
                        break
                    depth = d
                    if actor != player:
                        continue
                    bucket, lowest = U(node[at, BUCKET]), U(node[at, BLOCK])
                    learns = reached[ONE - player, steps[ONE - player]]
                    for h in range(own):
                        if offset[bucket, h] == NO_HAND:
                            continue
                        block = lowest + U(offset[bucket, h])
                        add = weight_at_own(averaging, table, block, weight, clock, 1.0)
                        add_to_average(table, block, count, reach[player, steps[player], h] * add)
                        if not learns:
                            continue
                        if alternating:
                            for a in range(count):
                                instant[a] = q[d, a, h] - value[d, h]
                            update(rule, parameters, table, block, count, instant, ZERO)
                            continue
                        kept = block + REGRET + count + count + count
                        for a in range(count):
                            table[kept + a] = q[d, a, h] - value[d, h]
                        met[n_met, 0] = block
                        met[n_met, 1] = count
                        n_met += ONE
                if depth == ZERO:
                    break
        n_met = settle(rule, parameters, table, met, n_met)
    tally.clock[0] = clock
    tally.touched[0] += histories
    tally.touched[1] += decisions


@inlined
def _sample(
    node: np.ndarray,
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
        probability = mass[U(node[first + a, WEIGHT])]
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
        offset: See :class:`HandsTree`.
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
        strategy = block + U(offset[bucket, h]) + REGRET + count
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
        utility: See :class:`HandsTree`.
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
