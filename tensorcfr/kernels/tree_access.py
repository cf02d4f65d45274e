"""Where a traversal finds what it needs at a node, in either kind of tree.

Each function here is two, one for trees of histories and one for public trees; which it is is
known when a kernel is compiled, because the parts of
:class:`~tensorcfr.kernels.sampling.WalkedTree` that only public trees have are None in others.
"""

from __future__ import annotations

import numpy as np
from numba.core import types
from numba.extending import overload

from .._util.jit import inlined
from .random import draw
from .sampling import BLOCK, BUCKET, FIRST, ZERO, U, sample_chance


def deal_hands(
    outcome: np.ndarray,
    threshold: np.ndarray,
    offset: np.ndarray | None,
    hands: np.uint64,
    held: np.ndarray,
    generator: np.ndarray,
) -> np.uint64:
    """The deal under which a traversal walks a public tree; 0, and no draw, for other trees; from
    inside a kernel.

    Args:
        outcome: See :class:`WalkedTree`, like the next three.
        threshold: Likewise.
        offset: Likewise.
        hands: Likewise.
        held: uint64 (players,): each player's hand; modified in place.
        generator: uint64 (4,), or a script; modified in place.
    """
    if offset is None:
        return ZERO
    return _deal_hands(outcome, threshold, hands, held, generator)


@overload(deal_hands, inline="always")
def _deal(outcome, threshold, offset, hands, held, generator):  # type: ignore[no-untyped-def]
    if isinstance(offset, types.NoneType):
        return lambda outcome, threshold, offset, hands, held, generator: ZERO
    return lambda outcome, threshold, offset, hands, held, generator: _deal_hands(
        outcome, threshold, hands, held, generator
    )


@inlined
def _deal_hands(
    outcome: np.ndarray,
    threshold: np.ndarray,
    hands: np.uint64,
    held: np.ndarray,
    generator: np.ndarray,
) -> np.uint64:
    deal = sample_chance(outcome, threshold, ZERO, U(threshold.shape[0]), generator)
    held[0] = deal // hands
    held[1] = deal - held[0] * hands
    return deal


def sample_step(
    outcome: np.ndarray,
    threshold: np.ndarray,
    chance: np.ndarray | None,
    chance_table: np.ndarray | None,
    deal: np.uint64,
    first: np.uint64,
    count: np.uint64,
    generator: np.ndarray,
) -> np.uint64:
    """The node to which a chance node leads, by one draw; from inside a kernel.

    Args:
        outcome: See :class:`WalkedTree`, like the next three.
        threshold: Likewise.
        chance: Likewise.
        chance_table: Likewise.
        deal: What :func:`deal_hands` gave.
        first: The node's first child or outcome.
        count: How many there are.
        generator: uint64 (4,), or a script; modified in place.
    """
    if chance is None:
        return sample_chance(outcome, threshold, first, count, generator)
    return _sample_public(chance, chance_table, deal, first, count, generator)


@overload(sample_step, inline="always")
def _step(outcome, threshold, chance, chance_table, deal, first, count, generator):  # type: ignore[no-untyped-def]
    if isinstance(chance, types.NoneType):
        return lambda outcome, threshold, chance, chance_table, deal, first, count, generator: (
            sample_chance(outcome, threshold, first, count, generator)
        )
    return lambda outcome, threshold, chance, chance_table, deal, first, count, generator: (
        _sample_public(chance, chance_table, deal, first, count, generator)
    )


@inlined
def _sample_public(
    chance: np.ndarray,
    chance_table: np.ndarray,
    deal: np.uint64,
    first: np.uint64,
    count: np.uint64,
    generator: np.ndarray,
) -> np.uint64:
    """A child of a public chance node; never one of probability 0."""
    left = draw(generator)
    chosen = first
    for a in range(count):
        probability = chance_table[chance[first + a], deal]
        if probability > 0.0:
            chosen = first + a
            left -= probability
            if left < 0.0:
                break
    return chosen


def find_block(
    node: np.ndarray, offset: np.ndarray | None, held: np.ndarray, at: np.uint64, actor: np.uint64
) -> np.uint64:
    """The block of the infoset at a decision node, or ``NO_BLOCK``; from inside a kernel.

    Args:
        node: See :class:`WalkedTree`, like the next one.
        offset: Likewise.
        held: uint64 (players,): each player's hand.
        at: The node.
        actor: Who acts there.
    """
    if offset is None:
        return U(node[at, BLOCK])
    return _find_public(node, offset, held, at, actor)


@overload(find_block, inline="always")
def _find(node, offset, held, at, actor):  # type: ignore[no-untyped-def]
    if isinstance(offset, types.NoneType):
        return lambda node, offset, held, at, actor: U(node[at, BLOCK])
    return lambda node, offset, held, at, actor: _find_public(node, offset, held, at, actor)


@inlined
def _find_public(
    node: np.ndarray, offset: np.ndarray, held: np.ndarray, at: np.uint64, actor: np.uint64
) -> np.uint64:
    return U(node[at, BLOCK]) + U(offset[U(node[at, BUCKET]), held[actor]])


def pay(
    node: np.ndarray,
    utility: np.ndarray,
    coefficient: np.ndarray | None,
    at: np.uint64,
    deal: np.uint64,
    player: np.uint64,
) -> float:
    """What a terminal pays to a player; from inside a kernel.

    Args:
        node: See :class:`WalkedTree`, like the next two.
        utility: Likewise.
        coefficient: Likewise.
        at: The terminal.
        deal: What :func:`deal_hands` gave.
        player: The player.
    """
    if coefficient is None:
        return utility[U(node[at, FIRST]), player]
    return _pay_public(node, utility, coefficient, at, deal, player)


@overload(pay, inline="always")
def _pay(node, utility, coefficient, at, deal, player):  # type: ignore[no-untyped-def]
    if isinstance(coefficient, types.NoneType):
        return lambda node, utility, coefficient, at, deal, player: utility[
            U(node[at, FIRST]), player
        ]
    return lambda node, utility, coefficient, at, deal, player: _pay_public(
        node, utility, coefficient, at, deal, player
    )


@inlined
def _pay_public(
    node: np.ndarray,
    utility: np.ndarray,
    coefficient: np.ndarray,
    at: np.uint64,
    deal: np.uint64,
    player: np.uint64,
) -> float:
    return coefficient[U(node[at, FIRST])] * utility[U(node[at, BLOCK]), player, deal]
