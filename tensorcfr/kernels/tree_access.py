"""Nodes of a traversal tree, and the path down to the next decision.

All functions are called inside kernels.  Most have an implementation per kind of tree: histories, a
public tree with hands drawn first, and a public tree with all hands together.  The implementation
is selected at compile time, by the fields that the tree has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from .._util.jit import by_types, inlined
from .alias import draw_by_alias
from .random import draw_at
from .traversal import CHANCE_NODE, NO_BLOCK, ONE, TERMINAL_NODE, ZERO, Traversal, U


def _has_field(tree: Any, field: str) -> bool:
    """Return whether a tree, or its numba type, has a field that is not None."""
    if isinstance(tree, types.BaseNamedTuple):
        kind: Any = tree
        kinds = dict(zip(kind.fields, kind.types, strict=True))
        return field in kinds and not isinstance(kinds[field], types.NoneType)
    return getattr(tree, field, None) is not None


@by_types
def deal_hands(tree: Any, held: np.ndarray, generator: np.ndarray) -> Any:
    """Draw the deal with which a public tree is traversed; return 0 without a draw for other trees.

    Args:
        tree: The game.
        held: uint64 (players,): each player's hand; modified in place.
        generator: uint64 (4,), or a script; modified in place.
    """
    return _deal_hands if _has_field(tree, "deal") else lambda tree, held, generator: ZERO


@inlined
def _deal_hands(tree: Any, held: np.ndarray, generator: np.ndarray) -> np.uint64:
    threshold = tree.deal_threshold
    deal = draw_by_alias(tree.deal, threshold, ZERO, U(threshold.shape[0]), generator, ZERO)
    held[0] = deal // U(tree.hands)
    held[1] = deal - held[0] * U(tree.hands)
    return deal


@by_types
def sample_step(
    tree: Any, deal: np.uint64, node_index: np.uint64, generator: np.ndarray
) -> np.uint64:
    """Draw the node to which a chance node leads, by one random number; never one of probability 0.

    Args:
        tree: The game.
        deal: Deal from :func:`deal_hands`.
        node_index: The chance node.
        generator: uint64 (4,), a script or streams; modified in place.
    """
    if _has_field(tree, "mass"):
        return _sample_all_hands
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
        held: uint64 (players,): each player's hand.
        node_index: The node.
        actor: The acting player.
    """
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


@by_types
def pay(tree: Any, node_index: np.uint64, deal: np.uint64, player: np.uint64) -> float:
    """Return the utility of a terminal for a player.

    Args:
        tree: The game.
        node_index: The terminal.
        deal: Deal from :func:`deal_hands`.
        player: The player.
    """
    return _pay_public if _has_field(tree, "coefficient") else _pay_history


@inlined
def _pay_history(tree: Any, node_index: np.uint64, deal: np.uint64, player: np.uint64) -> float:
    return tree.utility[U(tree.node[node_index]["payoff"]), player]


@inlined
def _pay_public(tree: Any, node_index: np.uint64, deal: np.uint64, player: np.uint64) -> float:
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
        held: uint64 (players,): each player's hand.
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
