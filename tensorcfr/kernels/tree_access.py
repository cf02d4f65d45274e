"""Access to the nodes of a traversal tree, for trees of histories and for public trees alike.

Each function exists twice.  Which one a kernel gets is known when it is compiled, because the
fields of :class:`~tensorcfr.kernels.traversal.TraversalTree` that only one kind of tree has are
None in the other.  All are called from inside kernels.

The three traversals repeat the few lines that call these functions.  A piece with arrays as
arguments must not call further pieces with arrays from within a loop: numba then counts
references.  The walk to the next decision as one piece, shared by the three, made traversals of
public trees two to four times slower.
"""

from __future__ import annotations

import numpy as np
from numba.core import types
from numba.extending import overload

from .._util.jit import inlined
from .alias import draw_by_alias
from .random import draw_at
from .traversal import ONE, ZERO, U


def deal_hands(
    deals: np.ndarray | None,
    threshold: np.ndarray | None,
    hands: np.uint64,
    held: np.ndarray,
    generator: np.ndarray,
) -> np.uint64:
    """Draw the deal with which a public tree is traversed; 0 without a draw for other trees.

    Args:
        deals: ``TraversalTree.deal``.
        threshold: ``TraversalTree.deal_threshold``.
        hands: ``TraversalTree.hands``.
        held: uint64 (players,): each player's hand; modified in place.
        generator: uint64 (4,), or a script; modified in place.
    """
    if deals is None:
        return ZERO
    return _deal_hands(deals, threshold, hands, held, generator)


@overload(deal_hands, inline="always")
def _deal(deals, threshold, hands, held, generator):  # type: ignore[no-untyped-def]
    if isinstance(deals, types.NoneType):
        return lambda deals, threshold, hands, held, generator: ZERO
    return lambda deals, threshold, hands, held, generator: _deal_hands(
        deals, threshold, hands, held, generator
    )


@inlined
def _deal_hands(
    deals: np.ndarray,
    threshold: np.ndarray,
    hands: np.uint64,
    held: np.ndarray,
    generator: np.ndarray,
) -> np.uint64:
    deal = draw_by_alias(deals, threshold, ZERO, U(threshold.shape[0]), generator, ZERO)
    held[0] = deal // hands
    held[1] = deal - held[0] * hands
    return deal


def sample_step(
    node: np.ndarray,
    first_outcome: np.ndarray | None,
    outcome: np.ndarray | None,
    threshold: np.ndarray | None,
    step: np.ndarray | None,
    chance_table: np.ndarray | None,
    deal: np.uint64,
    at: np.uint64,
    generator: np.ndarray,
) -> np.uint64:
    """The node to which a chance node leads, by one random number.

    Args:
        node: As in ``TraversalTree``, like the next five.
        first_outcome: Likewise.
        outcome: Likewise.
        threshold: Likewise.
        step: Likewise.
        chance_table: Likewise.
        deal: The result of :func:`deal_hands`.
        at: The chance node.
        generator: uint64 (4,), or a script; modified in place.
    """
    if outcome is None:
        return _sample_public(node, step, chance_table, deal, at, generator)
    return _sample_history(node, first_outcome, outcome, threshold, at, generator)


@overload(sample_step, inline="always")
def _step(  # type: ignore[no-untyped-def]
    node, first_outcome, outcome, threshold, step, chance_table, deal, at, generator
):
    if isinstance(outcome, types.NoneType):

        def sample(  # type: ignore[no-untyped-def]
            node, first_outcome, outcome, threshold, step, chance_table, deal, at, generator
        ):
            return _sample_public(node, step, chance_table, deal, at, generator)
    else:

        def sample(  # type: ignore[no-untyped-def]
            node, first_outcome, outcome, threshold, step, chance_table, deal, at, generator
        ):
            return _sample_history(node, first_outcome, outcome, threshold, at, generator)

    return sample


@inlined
def _sample_history(
    node: np.ndarray,
    first_outcome: np.ndarray,
    outcome: np.ndarray,
    threshold: np.ndarray,
    at: np.uint64,
    generator: np.ndarray,
) -> np.uint64:
    c = U(node[at]["chance"])
    first = U(first_outcome[c])
    count = U(first_outcome[c + U(1)]) - first
    return draw_by_alias(outcome, threshold, first, count, generator, c)


@inlined
def _sample_public(
    node: np.ndarray,
    step: np.ndarray,
    chance_table: np.ndarray,
    deal: np.uint64,
    at: np.uint64,
    generator: np.ndarray,
) -> np.uint64:
    """A child of a public chance node; never one of probability 0."""
    # The first stream is that of the deal.  Under every deal a chance node has a stream of its own.
    place = ONE + U(node[at]["bucket"]) * U(chance_table.shape[1]) + deal
    left = draw_at(generator, place)
    first = U(node[at]["first_child"])
    chosen = first
    for a in range(U(node[at]["n_children"])):
        probability = chance_table[step[first + a], deal]
        if probability > 0.0:
            chosen = first + a
            left -= probability
            if left < 0.0:
                break
    return chosen


def joined_nodes(node: np.ndarray, joined: np.ndarray | None, at: np.uint64) -> np.uint64:
    """Chance nodes that the draw at a chance node passes after it.

    Args:
        node: As in ``TraversalTree``, like the next one.
        joined: Likewise.
        at: The chance node.
    """
    if joined is None:
        return ZERO
    return U(joined[U(node[at]["chance"])])


@overload(joined_nodes, inline="always")
def _joined(node, joined, at):  # type: ignore[no-untyped-def]
    if isinstance(joined, types.NoneType):
        return lambda node, joined, at: ZERO
    return lambda node, joined, at: U(joined[U(node[at]["chance"])])


def first_outcome_of(
    node: np.ndarray, first_outcome: np.ndarray | None, at: np.uint64
) -> np.uint64:
    """The first outcome of a chance node; 0 in public trees.

    Args:
        node: As in ``TraversalTree``, like the next one.
        first_outcome: Likewise.
        at: The chance node.
    """
    if first_outcome is None:
        return ZERO
    return U(first_outcome[U(node[at]["chance"])])


@overload(first_outcome_of, inline="always")
def _first_outcome(node, first_outcome, at):  # type: ignore[no-untyped-def]
    if isinstance(first_outcome, types.NoneType):
        return lambda node, first_outcome, at: ZERO
    return lambda node, first_outcome, at: U(first_outcome[U(node[at]["chance"])])


def find_block(
    node: np.ndarray,
    hand_offset: np.ndarray | None,
    held: np.ndarray,
    at: np.uint64,
    actor: np.uint64,
) -> np.uint64:
    """The block of the infoset at a decision node, or ``NO_BLOCK``.

    Args:
        node: As in ``TraversalTree``, like the next one.
        hand_offset: Likewise.
        held: uint64 (players,): each player's hand.
        at: The node.
        actor: Who acts there.
    """
    if hand_offset is None:
        return U(node[at]["block"])
    return _find_public(node, hand_offset, held, at, actor)


@overload(find_block, inline="always")
def _find(node, hand_offset, held, at, actor):  # type: ignore[no-untyped-def]
    if isinstance(hand_offset, types.NoneType):
        return lambda node, hand_offset, held, at, actor: U(node[at]["block"])
    return lambda node, hand_offset, held, at, actor: _find_public(
        node, hand_offset, held, at, actor
    )


@inlined
def _find_public(
    node: np.ndarray, hand_offset: np.ndarray, held: np.ndarray, at: np.uint64, actor: np.uint64
) -> np.uint64:
    return U(node[at]["block"]) + U(hand_offset[U(node[at]["bucket"]), held[actor]])


def pay(
    node: np.ndarray,
    utility: np.ndarray,
    coefficient: np.ndarray | None,
    matrix: np.ndarray | None,
    at: np.uint64,
    deal: np.uint64,
    player: np.uint64,
) -> float:
    """The utility of a terminal for a player.

    Args:
        node: As in ``TraversalTree``, like the next three.
        utility: Likewise.
        coefficient: Likewise.
        matrix: Likewise.
        at: The terminal.
        deal: The result of :func:`deal_hands`.
        player: The player.
    """
    if coefficient is None:
        return utility[U(node[at]["payoff"]), player]
    return _pay_public(node, utility, coefficient, matrix, at, deal, player)


@overload(pay, inline="always")
def _pay(node, utility, coefficient, matrix, at, deal, player):  # type: ignore[no-untyped-def]
    if isinstance(coefficient, types.NoneType):
        return lambda node, utility, coefficient, matrix, at, deal, player: utility[
            U(node[at]["payoff"]), player
        ]
    return lambda node, utility, coefficient, matrix, at, deal, player: _pay_public(
        node, utility, coefficient, matrix, at, deal, player
    )


@inlined
def _pay_public(
    node: np.ndarray,
    utility: np.ndarray,
    coefficient: np.ndarray,
    matrix: np.ndarray,
    at: np.uint64,
    deal: np.uint64,
    player: np.uint64,
) -> float:
    p = U(node[at]["payoff"])
    return coefficient[p] * utility[U(matrix[p]), player, deal]
