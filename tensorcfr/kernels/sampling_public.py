"""Public chance sampling: only public chance is sampled, and all hands are played together.

M. Johanson, N. Bard, M. Lanctot, R. Gibson, M. Bowling, 'Efficient Nash equilibrium approximation
through Monte Carlo counterfactual regret minimization', AAMAS 2012.

A traversal visits the public tree with one reach per hand of each player.  At a public chance node
it follows one outcome; at a decision it tries every action.  Chance may depend on the hands (nobody
holds the card on the board).  So an outcome is drawn by its probability over all deals, and each
deal is weighted by P(outcome given deal) / P(outcome).  Multiplied along the path, and with the
probability of the deal, these weights are the probability of the deal given all public outcomes.
The payoffs are multiplied by it once, when the tree is built.

A traversal visits a public node, and so each of its infosets, at most once.  Therefore it may
update an infoset immediately.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._util.jit import borrowed, inlined, kernel
from .local_rule import LocalRule, parameters_of
from .random import remember, rewind, take_turn
from .sampling_steps import add_to_average, own_reach_weight, update, update_pending
from .traversal import (
    ONE,
    TERMINAL_NODE,
    ZERO,
    Orders,
    Traversal,
    TraversalPosition,
    TraversalState,
    U,
    finish,
)
from .tree_access import next_decision

NO_HAND = U(2**32 - 1)
"""Offset in ``AllHandsTree.hand_offset`` that marks an impossible hand."""


class AllHandsTree(NamedTuple):
    """Public tree of two players, traversed with all hands together."""

    node: np.ndarray
    """:data:`~tensorcfr.kernels.traversal.PUBLIC_NODE` (nodes,)."""
    weight: np.ndarray
    """uint32 (nodes,): row of ``mass`` and ``deals`` of each node."""
    table: np.ndarray
    """uint32 (nodes,): row of ``utility`` of a terminal; 0 elsewhere."""
    hand_offset: np.ndarray
    """uint32 (buckets, most hands): distance from the block of the first possible hand to the block
    of each hand; ``NO_HAND`` for impossible hands."""
    mass: np.ndarray
    """float64 (weights,): probability of the public chance outcomes so far, over all deals."""
    deals: np.ndarray
    """int64 (weights,): number of deals that are possible after these outcomes."""
    utility: np.ndarray
    """float64 (tables, players, most hands, most hands): probability of the deal given the public
    outcomes, times the payoff; indexed by the opponent's hand, then the player's own, so that inner
    loops run along own hands."""
    coefficient: np.ndarray
    """float64 (payoffs,): factor of ``utility``."""
    hands: np.ndarray
    """uint64 (players,): number of hands of each player."""
    depth: int
    """Largest number of decisions and chance nodes on a path to a terminal."""
    width: int
    """Largest number of actions of a decision."""
    infosets: int
    """Number of infosets with a block."""
    drawn: int
    """0, because no hands are drawn; see :attr:`tensorcfr.kernels.traversal.Frames.held`."""
    dealing: int
    """Number of histories at which the hands are dealt: chance nodes, one player's hand after the
    other's."""


class Path(NamedTuple):
    """Path of a traversal; modified in place.

    A frame is a decision on the path.  The value of a frame's current action is in the row of
    ``value`` after the frame's row.
    """

    place: np.ndarray
    """uint32 (frames, 2): node, and current action."""
    sigma: np.ndarray
    """float64 (frames, actions, hands): strategies of the acting player's hands."""
    q: np.ndarray
    """float64 (frames, actions, hands): values of the actions tried so far."""
    value: np.ndarray
    """float64 (frames + 1, hands): value of each of the updating player's hands."""
    reach: np.ndarray
    """float64 (2, frames + 1, hands): reach of each player's hands, one row per action of the
    player."""
    reached: np.ndarray
    """bool (2, frames + 1): True if any hand has a positive reach."""
    steps: np.ndarray
    """uint64 (2,): number of each player's actions so far, which is their row of ``reach``."""
    instant: np.ndarray
    """float64 (actions,): instantaneous regrets of a hand."""
    pending: np.ndarray
    """uint32 (infosets, 2): infosets to update: block and number of actions."""


@kernel
def public_chance_sampling(
    tree: AllHandsTree,
    rule: LocalRule,
    orders: Orders,
    prune: bool,
    state: TraversalState,
    generator: np.ndarray,
) -> None:
    """Run iterations of public chance sampling.

    Args:
        tree: The game.
        rule: The local rule, to which this kernel is specialised.
        orders: The iterations; their averaging is ``STOCHASTIC`` or ``OPTIMISTIC``.
        prune: Whether to omit public nodes that no hand of either player reaches.
        state: Modified in place; without ``alternating``, blocks have space for the instantaneous
            regrets.
        generator: uint64 (4,), a script or streams; modified in place.
    """
    schedule, alternating = orders.schedule, orders.alternating
    depth, width, most = tree.depth, tree.width, tree.hand_offset.shape[1]
    path = Path(
        np.empty((depth, 2), np.uint32),
        np.empty((depth, width, most)),
        np.empty((depth, width, most)),
        np.empty((depth + 1, most)),
        np.ones((2, depth + 1, most)),
        np.ones((2, depth + 1), np.bool_),
        np.zeros(2, np.uint64),
        np.empty(width),
        np.empty((0 if alternating else tree.infosets, 2), np.uint32),
    )
    before, held = np.empty(4, np.uint64), np.zeros(2, np.uint64)
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
            arguments = player, ZERO, orders.averaging, schedule[t, 0], clock
            turn = borrowed(Traversal(tree, state.table, generator, rule, parameters, *arguments))
            dealt = position.histories + U(tree.dealing)
            position = TraversalPosition(ZERO, ZERO, 1.0, 1.0, dealt, position.decisions)
            while True:
                position = _follow_first_actions(turn, path, held, prune, position)
                position, n_pending = _return_values(turn, path, prune, position, n_pending)
                if position.depth == ZERO:
                    break
        n_pending = update_pending(rule, parameters, state.table, path.pending, n_pending)
    finish(state, clock, position)


@inlined
def _follow_first_actions(
    traversal: Traversal, path: Path, held: np.ndarray, prune: bool, position: TraversalPosition
) -> TraversalPosition:
    """Follow first actions down to a terminal or a pruned node, and write its values."""
    tree = traversal.tree
    node_index = position.node
    depth = position.depth
    histories = position.histories
    decisions = position.decisions
    path, node, player = borrowed(path), tree.node, traversal.player
    n_hands = tree.hands[player]
    while True:
        node_index, actor, block, histories, decisions = next_decision(
            traversal, held, node_index, True, histories, decisions
        )
        if actor == TERMINAL_NODE:
            _pay_hands(tree, path, player, node_index, depth)
            break
        path.place[depth, 0] = node_index
        path.place[depth, 1] = 0
        _read_strategies(traversal, path, node_index, block, tree.hands[actor], depth)
        path.value[depth, :n_hands] = 0.0
        depth += ONE
        if _multiply_reaches(tree, path, depth, ZERO, actor) and prune:
            path.value[depth, :n_hands] = 0.0
            break
        node_index = U(node[node_index]["first_child"])
    return TraversalPosition(node_index, depth, 1.0, 1.0, histories, decisions)


@inlined
def _return_values(
    traversal: Traversal, path: Path, prune: bool, position: TraversalPosition, n_pending: np.uint64
) -> tuple[TraversalPosition, np.uint64]:
    """Pass values up to the last decision with an action that has not been tried.

    Returns:
        The position to continue from, with depth 0 if the traversal is over; and the number of
        pending infosets.
    """
    depth, tree = position.depth, traversal.tree
    path, node, player = borrowed(path), tree.node, traversal.player
    n_hands, value, q, sigma = tree.hands[player], path.value, path.q, path.sigma
    while depth > ZERO:
        d = depth - ONE
        node_index, action = U(path.place[d, 0]), U(path.place[d, 1])
        actor, count = U(node[node_index]["actor"]), U(node[node_index]["n_children"])
        path.steps[actor] -= ONE
        if actor == player:
            for h in range(n_hands):
                q[d, action, h] = value[depth, h]
                value[d, h] += sigma[d, action, h] * value[depth, h]
        else:
            # Terminals are weighted by the opponent's reach already, so values are just added.
            for h in range(n_hands):
                value[d, h] += value[depth, h]
        action += ONE
        if action < count:
            path.place[d, 1] = action
            if not (_multiply_reaches(tree, path, depth, action, actor) and prune):
                node_index = U(node[node_index]["first_child"]) + action
                return TraversalPosition(
                    node_index, depth, 1.0, 1.0, position.histories, position.decisions
                ), n_pending
            value[depth, :n_hands] = 0.0
            continue
        depth = d
        if actor == player:
            n_pending = _update_infosets(traversal, path, node_index, d, n_pending)
    return TraversalPosition(
        ZERO, ZERO, 1.0, 1.0, position.histories, position.decisions
    ), n_pending


@inlined
def _update_infosets(
    traversal: Traversal, path: Path, node_index: np.uint64, d: np.uint64, n_pending: np.uint64
) -> np.uint64:
    """Update the infosets of the player's hands at frame ``d``, or add them to the pending ones."""
    tree, table = traversal.tree, traversal.table
    node = tree.node
    offset = tree.hand_offset
    player = traversal.player
    q = path.q
    value = path.value
    bucket, lowest = U(node[node_index]["bucket"]), U(node[node_index]["block"])
    count = U(node[node_index]["n_children"])
    # Without any opponent's reach, all regrets are 0 and only the average changes.
    is_reached = path.reached[ONE - player, path.steps[ONE - player]]
    for h in range(tree.hands[player]):
        if offset[bucket, h] == NO_HAND:
            continue
        block = lowest + U(offset[bucket, h])
        add = own_reach_weight(traversal, block, 1.0)
        x = path.reach[player, path.steps[player], h]
        add_to_average(table, block, count, x * add)
        if not is_reached:
            continue
        if path.pending.shape[0] == 0:
            for a in range(count):
                path.instant[a] = q[d, a, h] - value[d, h]
            update(traversal.rule, traversal.parameters, table, block, count, path.instant, ZERO)
            continue
        instant_offset = block + count + count + count
        for a in range(count):
            table[instant_offset + a] = q[d, a, h] - value[d, h]
        path.pending[n_pending, 0] = block
        path.pending[n_pending, 1] = count
        n_pending += ONE
    return n_pending


@inlined
def _read_strategies(
    traversal: Traversal,
    path: Path,
    node_index: np.uint64,
    block: np.uint64,
    hands: np.uint64,
    depth: np.uint64,
) -> None:
    """Read the strategies of the acting player's hands into a frame; 0 for impossible hands."""
    tree, table = traversal.tree, traversal.table
    offset, sigma = tree.hand_offset, path.sigma
    bucket, count = U(tree.node[node_index]["bucket"]), U(tree.node[node_index]["n_children"])
    for h in range(hands):
        if offset[bucket, h] == NO_HAND:
            for a in range(count):
                sigma[depth, a, h] = 0.0
            continue
        strategy = block + U(offset[bucket, h]) + count
        for a in range(count):
            sigma[depth, a, h] = table[strategy + a]


@inlined
def _multiply_reaches(
    tree: AllHandsTree, path: Path, depth: np.uint64, action: np.uint64, actor: np.uint64
) -> bool:
    """Multiply the acting player's reaches by the probabilities of an action.

    Returns:
        Whether neither player reaches the next node with any hand.
    """
    reach, reached, steps = path.reach, path.reached, path.steps
    # Each player has a stack of reaches of their own, with one row per own action on the path.
    above = steps[actor]
    below = above + ONE
    most = 0.0
    for h in range(tree.hands[actor]):
        x = reach[actor, above, h] * path.sigma[depth - ONE, action, h]
        reach[actor, below, h] = x
        most = max(most, x)
    reached[actor, below] = most > 0.0
    steps[actor] = below
    return not (reached[actor, below] or reached[ONE - actor, steps[ONE - actor]])


@inlined
def _pay_hands(
    tree: AllHandsTree, path: Path, player: np.uint64, node_index: np.uint64, depth: np.uint64
) -> None:
    """Compute the value of a terminal for every hand of a player, in row ``depth`` of the values.

    Values are weighted by the opponent's reach.
    """
    utility, value, reach, opponent = tree.utility, path.value, path.reach, ONE - player
    row = U(tree.table[node_index])
    coefficient = tree.coefficient[U(tree.node[node_index]["payoff"])]
    step, n_hands = path.steps[opponent], tree.hands[player]
    for h in range(n_hands):
        value[depth, h] = 0.0
    # Skip hands without reach, which are many after a few rounds.
    for k in range(tree.hands[opponent]):
        y = coefficient * reach[opponent, step, k]
        if y != 0.0:
            for h in range(n_hands):
                value[depth, h] += y * utility[row, player, k, h]
