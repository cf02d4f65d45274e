"""Nodes of a traversal tree, and the path down to the next decision.

Most functions are called inside kernels.  Many have an implementation per kind of tree: histories,
a public tree with hands drawn first, a public tree with all hands together, a card tree.  It is
selected at compile time, by the fields that the tree has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from .._util.jit import by_types, inlined, kernel
from .alias import draw_by_alias
from .random import draw_at
from .traversal import (
    CHANCE_NODE,
    NO_BLOCK,
    NO_RANK,
    ONE,
    TERMINAL_NODE,
    ZERO,
    CardTree,
    Traversal,
    U,
)


def _has_field(tree: Any, field: str) -> bool:
    """Return whether a tree, or its numba type, has a field that is not None."""
    if isinstance(tree, types.BaseNamedTuple):
        kind: Any = tree
        kinds = dict(zip(kind.fields, kind.types, strict=True))
        return field in kinds and not isinstance(kinds[field], types.NoneType)
    return getattr(tree, field, None) is not None


@by_types
def deal_hands(tree: Any, held: np.ndarray, generator: np.ndarray) -> Any:
    """Draw the deal with which a tree is traversed, if it is drawn first; return its number, or 0.

    Args:
        tree: The game.
        held: uint64 (drawn,): the deal; see :class:`~tensorcfr.kernels.traversal.Frames`; modified
            in place.
        generator: uint64 (4,), or a script; modified in place.
    """
    if _has_field(tree, "drawn_deals"):
        return _take_deal
    if _has_field(tree, "cards"):
        return _deal_cards
    return _deal_hands if _has_field(tree, "deal") else lambda tree, held, generator: ZERO


@inlined
def _deal_hands(tree: Any, held: np.ndarray, generator: np.ndarray) -> np.uint64:
    threshold = tree.deal_threshold
    deal = draw_by_alias(tree.deal, threshold, ZERO, U(threshold.shape[0]), generator, ZERO)
    held[0] = deal // U(tree.hands)
    held[1] = deal - held[0] * U(tree.hands)
    return deal


@inlined
def _take_deal(tree: Any, held: np.ndarray, generator: np.ndarray) -> np.uint64:
    deal = tree.next_deal[0]
    tree.next_deal[0] = deal + 1
    for k in range(held.shape[0]):
        held[k] = tree.drawn_deals[deal, k]
    return ZERO


@kernel
def draw_deals(tree: CardTree, generator: np.ndarray, deals: np.ndarray) -> None:
    """Draw deals of a card game.

    Args:
        tree: The game, without deals.
        generator: uint64 (4,): modified in place.
        deals: uint64 (deals, drawn): modified in place.
    """
    for k in range(deals.shape[0]):
        deal_hands(tree, deals[k], generator)


@inlined
def _deal_cards(tree: CardTree, held: np.ndarray, generator: np.ndarray) -> np.uint64:
    """Draw hands and a board without common cards, and look them up for every round."""
    players, words = U(tree.image.shape[1]), tree.cards.shape[1]
    last = ZERO
    k = ZERO
    while k <= players:
        first, end = U(tree.group[k]), U(tree.group[k + ONE])
        last = draw_by_alias(tree.outcome, tree.threshold, first, end - first, generator, ZERO)
        apart = True
        # Hands of earlier players have been drawn; `held` has their numbers.
        for j in range(k):
            drawn = U(tree.group[j]) + held[j]
            for word in range(words):
                if tree.cards[last, word] & tree.cards[drawn, word]:
                    apart = False
        # A common card rejects the whole deal: to draw only the last part again would favour hands
        # with few cards in common with others.
        if k < players and apart:
            held[k] = last - first
        k = k + ONE if apart else ZERO
    size, rounds = players + U(2), U(tree.first_board.shape[0])
    row = U(tree.first_board[rounds - ONE]) + last - U(tree.group[players])
    for passed in range(rounds):
        r = rounds - ONE - U(passed)
        offset = players + r * size
        permutation, kind = U(tree.board[row, 2]), U(tree.board[row, 3])
        held[offset] = U(tree.board[row, 1])
        for i in range(players):
            image = U(tree.image[permutation, i, held[i]])
            held[offset + ONE + U(i)] = U(tree.lane[kind, i, image])
        held[offset + ONE + players] = _order_of_hands(tree, held, row, players)
        if r > ZERO:
            row = U(tree.first_board[r - ONE]) + U(tree.board[row, 0])
    return ZERO


@inlined
def _order_of_hands(
    tree: CardTree, held: np.ndarray, row: np.uint64, players: np.uint64
) -> np.uint64:
    """Return the number of the orders of the drawn hands in all rankings on a board; 0 without a
    showdown."""
    ranked, permutation = U(tree.board[row, 4]), U(tree.board[row, 2])
    if ranked == NO_RANK:
        return ZERO
    code = ZERO
    for ranking in range(tree.rank.shape[1]):
        for i in range(players):
            for j in range(U(i) + ONE, players):
                first = tree.rank[ranked, ranking, i, U(tree.image[permutation, i, held[i]])]
                second = tree.rank[ranked, ranking, j, U(tree.image[permutation, j, held[j]])]
                code = U(3) * code + (ZERO if first > second else ONE if first == second else U(2))
    return U(tree.order[code])


@by_types
def sample_step(
    tree: Any, deal: np.uint64, node_index: np.uint64, generator: np.ndarray
) -> np.uint64:
    """Draw the node to which a chance node leads, by one random number; never one of probability 0.

    The deals of a card tree are drawn before, so a chance node has one child.

    Args:
        tree: The game.
        deal: Deal from :func:`deal_hands`.
        node_index: The chance node.
        generator: uint64 (4,), a script or streams; modified in place.
    """
    if _has_field(tree, "mass"):
        return _sample_all_hands
    if _has_field(tree, "cards"):
        return _sample_cards
    return _sample_history if _has_field(tree, "outcome") else _sample_public


@inlined
def _sample_history(
    tree: Any, deal: np.uint64, node_index: np.uint64, generator: np.ndarray
) -> np.uint64:
    c = U(tree.node[node_index]["chance"])
    first = U(tree.first_outcome[c])
    count = U(tree.first_outcome[c + ONE]) - first
    return draw_by_alias(tree.outcome, tree.threshold, first, count, generator, c)


@inlined
def _sample_public(
    tree: Any, deal: np.uint64, node_index: np.uint64, generator: np.ndarray
) -> np.uint64:
    node, step, chance_table = tree.node, tree.step, tree.chance_table
    # Stream 0 belongs to the deal.  A chance node has a stream for every deal.
    stream = ONE + U(node[node_index]["bucket"]) * U(chance_table.shape[1]) + deal
    remainder = draw_at(generator, stream)
    first = U(node[node_index]["first_child"])
    chosen_child = first
    for a in range(U(node[node_index]["n_children"])):
        # Outcomes of probability 0 are skipped, even if rounding leaves a rest after the last one.
        probability = chance_table[step[first + a], deal]
        if probability > 0.0:
            chosen_child = first + a
            remainder -= probability
            if remainder < 0.0:
                break
    return chosen_child


@inlined
def _sample_cards(
    tree: CardTree, deal: np.uint64, node_index: np.uint64, generator: np.ndarray
) -> np.uint64:
    return U(tree.node[node_index]["first_child"])


@inlined
def _sample_all_hands(
    tree: Any, deal: np.uint64, node_index: np.uint64, generator: np.ndarray
) -> np.uint64:
    """Draw a child of a public chance node by its probability over all deals."""
    node, weight, mass = tree.node, tree.weight, tree.mass
    # The masses of the children sum to the mass of the node, so they need no normalisation.
    remainder = draw_at(generator, U(node[node_index]["bucket"])) * mass[U(weight[node_index])]
    first = U(node[node_index]["first_child"])
    chosen_child = first
    for a in range(U(node[node_index]["n_children"])):
        probability = mass[U(weight[first + a])]
        if probability > 0.0:
            chosen_child = first + a
            remainder -= probability
            if remainder < 0.0:
                break
    return chosen_child


@by_types
def joined_nodes(tree: Any, node_index: np.uint64) -> Any:
    """Return the number of further chance nodes that the draw at a chance node covers."""
    return _joined_nodes if _has_field(tree, "joined") else lambda tree, node_index: ZERO


@inlined
def _joined_nodes(tree: Any, node_index: np.uint64) -> np.uint64:
    return U(tree.joined[U(tree.node[node_index]["chance"])])


@by_types
def first_outcome_of(tree: Any, node_index: np.uint64) -> Any:
    """Return the index of the first outcome of a chance node; 0 in public trees."""
    return _first_outcome if _has_field(tree, "first_outcome") else lambda tree, node_index: ZERO


@inlined
def _first_outcome(tree: Any, node_index: np.uint64) -> np.uint64:
    return U(tree.first_outcome[U(tree.node[node_index]["chance"])])


@by_types
def histories_at(tree: Any, node_index: np.uint64) -> Any:
    """Return the number of histories at a node: 1, or with all hands the possible deals there."""
    return _deals_at if _has_field(tree, "deals") else lambda tree, node_index: ONE


@inlined
def _deals_at(tree: Any, node_index: np.uint64) -> np.uint64:
    return U(tree.deals[U(tree.weight[node_index])])


@by_types
def find_block(tree: Any, held: np.ndarray, node_index: np.uint64, actor: np.uint64) -> Any:
    """Return the block of the infoset at a decision node, or ``NO_BLOCK``.

    With all hands together, it is the block of the first hand.

    Args:
        tree: The game.
        held: uint64 (drawn,): the deal.
        node_index: The node.
        actor: The acting player.
    """
    if _has_field(tree, "cards"):
        return _block_of_cards
    one_hand = _has_field(tree, "hand_offset") and not _has_field(tree, "mass")
    return (
        _block_of_hand
        if one_hand
        else lambda tree, held, node_index, actor: U(tree.node[node_index]["block"])
    )


@inlined
def _block_of_hand(
    tree: Any, held: np.ndarray, node_index: np.uint64, actor: np.uint64
) -> np.uint64:
    node = tree.node
    return U(node[node_index]["block"]) + U(
        tree.hand_offset[U(node[node_index]["bucket"]), held[actor]]
    )


@inlined
def _block_of_cards(
    tree: CardTree, held: np.ndarray, node_index: np.uint64, actor: np.uint64
) -> np.uint64:
    first = U(tree.node[node_index]["block"])
    if first == NO_BLOCK:
        return first
    players = U(tree.image.shape[1])
    drawn = players + U(tree.node[node_index]["round"]) * (players + U(2))
    step = U(tree.header) + U(tree.groups) * U(tree.node[node_index]["n_children"])
    return U(tree.first_block[first + held[drawn]]) + held[drawn + ONE + actor] * step


@by_types
def pay(
    tree: Any, held: np.ndarray, node_index: np.uint64, deal: np.uint64, player: np.uint64
) -> float:
    """Return the utility of a terminal for a player.

    Args:
        tree: The game.
        held: uint64 (drawn,): the deal.
        node_index: The terminal.
        deal: Deal from :func:`deal_hands`.
        player: The player.
    """
    if _has_field(tree, "cards"):
        return _pay_cards
    return _pay_public if _has_field(tree, "coefficient") else _pay_history


@inlined
def _pay_cards(
    tree: CardTree, held: np.ndarray, node_index: np.uint64, deal: np.uint64, player: np.uint64
) -> float:
    players = U(tree.image.shape[1])
    drawn = players + U(tree.node[node_index]["round"]) * (players + U(2))
    return tree.amount[U(tree.node[node_index]["payoff"]), held[drawn + ONE + players], player]


@inlined
def _pay_history(
    tree: Any, held: np.ndarray, node_index: np.uint64, deal: np.uint64, player: np.uint64
) -> float:
    return tree.utility[U(tree.node[node_index]["payoff"]), player]


@inlined
def _pay_public(
    tree: Any, held: np.ndarray, node_index: np.uint64, deal: np.uint64, player: np.uint64
) -> float:
    p = U(tree.node[node_index]["payoff"])
    return tree.coefficient[p] * tree.utility[U(tree.matrix[p]), player, deal]


@inlined
def next_decision(
    traversal: Traversal,
    held: np.ndarray,
    node_index: np.uint64,
    sampled: bool,
    histories: np.uint64,
    decisions: np.uint64,
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]:
    """Follow a path from a node to the next one where a player has a choice, or to its end.

    Args:
        traversal: The traversal.
        held: uint64 (drawn,): the deal.
        node_index: The node.
        sampled: Whether chance is sampled on the way; otherwise the path ends at a chance node.
        histories: Number of histories visited.
        decisions: Number of decision nodes among them.

    Returns:
        The node, its actor, the block of the infoset, and both counts with the node included.  The
        node is a decision with a block, a terminal, a chance node, or a decision without children
        yet, which does not count as visited.
    """
    tree, node = traversal.tree, traversal.tree.node
    while True:
        actor = U(node[node_index]["actor"])
        if actor == TERMINAL_NODE:
            return (
                node_index,
                actor,
                NO_BLOCK,
                histories + histories_at(tree, node_index),
                decisions,
            )
        if actor == CHANCE_NODE:
            histories += histories_at(tree, node_index) + joined_nodes(tree, node_index)
            if not sampled:
                return node_index, actor, NO_BLOCK, histories, decisions
            node_index = sample_step(tree, traversal.deal, node_index, traversal.generator)
            continue
        # A node of a growing tree whose children are not entered yet.
        if U(node[node_index]["n_children"]) == ZERO:
            return node_index, actor, NO_BLOCK, histories, decisions
        histories += histories_at(tree, node_index)
        decisions += histories_at(tree, node_index)
        block = find_block(tree, held, node_index, actor)
        if block != NO_BLOCK:
            return node_index, actor, block, histories, decisions
        # A single action: nothing to choose and no block, so follow it.
        node_index = U(node[node_index]["first_child"])
