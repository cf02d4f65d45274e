"""Access to the nodes of a traversal tree, for trees of histories and for public trees alike.

Each function exists twice.  Which one a kernel gets is known when it is compiled, because the
fields of :class:`~tensorcfr.kernels.traversal.TraversalTree` that only one kind of tree has are
None in the other.  All are called from inside kernels.
"""

from __future__ import annotations

import numpy as np
from numba.core import types
from numba.extending import overload

from .alias import draw_by_alias
from .jit import inlined
from .random import draw
from .traversal import ZERO, U


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
    deal = draw_by_alias(deals, threshold, ZERO, U(threshold.shape[0]), generator)
    held[0] = deal // hands
    held[1] = deal - held[0] * hands
    return deal


def sample_step(
    chance: np.ndarray | None,
    first_outcome: np.ndarray | None,
    outcome: np.ndarray | None,
    threshold: np.ndarray | None,
    first_child: np.ndarray,
    step: np.ndarray | None,
    chance_table: np.ndarray | None,
    deal: np.uint64,
    at: np.uint64,
    generator: np.ndarray,
) -> np.uint64:
    """The node to which a chance node leads, by one random number.

    Args:
        chance: As in ``TraversalTree``, like the next six.
        first_outcome: Likewise.
        outcome: Likewise.
        threshold: Likewise.
        first_child: Likewise.
        step: Likewise.
        chance_table: Likewise.
        deal: The result of :func:`deal_hands`.
        at: The chance node.
        generator: uint64 (4,), or a script; modified in place.
    """
    if chance is None:
        return _sample_public(first_child, step, chance_table, deal, at, generator)
    return _sample_history(chance, first_outcome, outcome, threshold, at, generator)


@overload(sample_step, inline="always")
def _step(  # type: ignore[no-untyped-def]
    chance, first_outcome, outcome, threshold, first_child, step, chance_table, deal, at, generator
):
    if isinstance(chance, types.NoneType):

        def sample(  # type: ignore[no-untyped-def]
            chance,
            first_outcome,
            outcome,
            threshold,
            first_child,
            step,
            chance_table,
            deal,
            at,
            generator,
        ):
            return _sample_public(first_child, step, chance_table, deal, at, generator)
    else:

        def sample(  # type: ignore[no-untyped-def]
            chance,
            first_outcome,
            outcome,
            threshold,
            first_child,
            step,
            chance_table,
            deal,
            at,
            generator,
        ):
            return _sample_history(chance, first_outcome, outcome, threshold, at, generator)

    return sample


@inlined
def _sample_history(
    chance: np.ndarray,
    first_outcome: np.ndarray,
    outcome: np.ndarray,
    threshold: np.ndarray,
    at: np.uint64,
    generator: np.ndarray,
) -> np.uint64:
    c = U(chance[at])
    first = U(first_outcome[c])
    count = U(first_outcome[c + U(1)]) - first
    return draw_by_alias(outcome, threshold, first, count, generator)


@inlined
def _sample_public(
    first_child: np.ndarray,
    step: np.ndarray,
    chance_table: np.ndarray,
    deal: np.uint64,
    at: np.uint64,
    generator: np.ndarray,
) -> np.uint64:
    """A child of a public chance node; never one of probability 0."""
    left = draw(generator)
    first = U(first_child[at])
    chosen = first
    for a in range(U(first_child[at + U(1)]) - first):
        probability = chance_table[step[first + a], deal]
        if probability > 0.0:
            chosen = first + a
            left -= probability
            if left < 0.0:
                break
    return chosen


def joined_nodes(chance: np.ndarray | None, joined: np.ndarray | None, at: np.uint64) -> np.uint64:
    """Chance nodes that the draw at a chance node passes after it.

    Args:
        chance: As in ``TraversalTree``, like the next one.
        joined: Likewise.
        at: The chance node.
    """
    if joined is None:
        return ZERO
    return U(joined[U(chance[at])])  # type: ignore[index]


@overload(joined_nodes, inline="always")
def _joined(chance, joined, at):  # type: ignore[no-untyped-def]
    if isinstance(joined, types.NoneType):
        return lambda chance, joined, at: ZERO
    return lambda chance, joined, at: U(joined[U(chance[at])])


def chance_probability(
    chance: np.ndarray | None,
    first_outcome: np.ndarray | None,
    probability: np.ndarray | None,
    at: np.uint64,
    a: int,
) -> float:
    """Probability of an outcome of a chance node; 0 in public trees, where chance is sampled.

    Args:
        chance: As in ``TraversalTree``, like the next two.
        first_outcome: Likewise.
        probability: Likewise.
        at: The chance node; its draw passes no other chance node.
        a: Number of the outcome.
    """
    if chance is None:
        return 0.0
    return probability[U(first_outcome[U(chance[at])]) + U(a)]  # type: ignore[index]


@overload(chance_probability, inline="always")
def _probability(chance, first_outcome, probability, at, a):  # type: ignore[no-untyped-def]
    if isinstance(chance, types.NoneType):
        return lambda chance, first_outcome, probability, at, a: 0.0
    return lambda chance, first_outcome, probability, at, a: probability[
        U(first_outcome[U(chance[at])]) + U(a)
    ]


def find_block(
    block: np.ndarray,
    bucket: np.ndarray | None,
    hand_offset: np.ndarray | None,
    held: np.ndarray,
    at: np.uint64,
    actor: np.uint64,
) -> np.uint64:
    """The block of the infoset at a decision node, or ``NO_BLOCK``.

    Args:
        block: As in ``TraversalTree``, like the next two.
        bucket: Likewise.
        hand_offset: Likewise.
        held: uint64 (players,): each player's hand.
        at: The node.
        actor: Who acts there.
    """
    if bucket is None:
        return U(block[at])
    return _find_public(block, bucket, hand_offset, held, at, actor)


@overload(find_block, inline="always")
def _find(block, bucket, hand_offset, held, at, actor):  # type: ignore[no-untyped-def]
    if isinstance(bucket, types.NoneType):
        return lambda block, bucket, hand_offset, held, at, actor: U(block[at])
    return lambda block, bucket, hand_offset, held, at, actor: _find_public(
        block, bucket, hand_offset, held, at, actor
    )


@inlined
def _find_public(
    block: np.ndarray,
    bucket: np.ndarray,
    hand_offset: np.ndarray,
    held: np.ndarray,
    at: np.uint64,
    actor: np.uint64,
) -> np.uint64:
    return U(block[at]) + U(hand_offset[U(bucket[at]), held[actor]])


def pay(
    payoff: np.ndarray,
    utility: np.ndarray,
    coefficient: np.ndarray | None,
    matrix: np.ndarray | None,
    at: np.uint64,
    deal: np.uint64,
    player: np.uint64,
) -> float:
    """The utility of a terminal for a player.

    Args:
        payoff: As in ``TraversalTree``, like the next three.
        utility: Likewise.
        coefficient: Likewise.
        matrix: Likewise.
        at: The terminal.
        deal: The result of :func:`deal_hands`.
        player: The player.
    """
    if coefficient is None:
        return utility[U(payoff[at]), player]
    return _pay_public(payoff, utility, coefficient, matrix, at, deal, player)


@overload(pay, inline="always")
def _pay(payoff, utility, coefficient, matrix, at, deal, player):  # type: ignore[no-untyped-def]
    if isinstance(coefficient, types.NoneType):
        return lambda payoff, utility, coefficient, matrix, at, deal, player: utility[
            U(payoff[at]), player
        ]
    return lambda payoff, utility, coefficient, matrix, at, deal, player: _pay_public(
        payoff, utility, coefficient, matrix, at, deal, player
    )


@inlined
def _pay_public(
    payoff: np.ndarray,
    utility: np.ndarray,
    coefficient: np.ndarray,
    matrix: np.ndarray,
    at: np.uint64,
    deal: np.uint64,
    player: np.uint64,
) -> float:
    p = U(payoff[at])
    return coefficient[p] * utility[U(matrix[p]), player, deal]
