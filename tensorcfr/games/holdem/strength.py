"""How strong seven cards are, from bits: no tables.

A hand is four masks of thirteen bits, the ranks of each suit.  Its strength is a number: the
category in the highest bits, then the ranks that break ties within it, as masks too, because masks
with equally many bits compare like the lists of their ranks.
"""

from __future__ import annotations

import numpy as np

from ..._util.jit import inlined, kernel

HIGH_CARD, PAIR, TWO_PAIR, THREE, STRAIGHT, FLUSH, FULL_HOUSE, FOUR, STRAIGHT_FLUSH = range(9)
CATEGORIES = (
    "high card",
    "pair",
    "two pair",
    "three of a kind",
    "straight",
    "flush",
    "full house",
    "four of a kind",
    "straight flush",
)
"""The category of a strength ``s`` is ``CATEGORIES[s >> CATEGORY_SHIFT]``."""
SHORT_CATEGORIES = (*CATEGORIES[:FLUSH], "full house", "flush", *CATEGORIES[FOUR:])
"""The same in short-deck hold'em."""
CATEGORY_SHIFT = 26


@inlined
def _count(mask: int) -> int:
    """Bits of a mask of up to sixteen bits."""
    mask = mask - ((mask >> 1) & 0x5555)
    mask = (mask & 0x3333) + ((mask >> 2) & 0x3333)
    mask = (mask + (mask >> 4)) & 0x0F0F
    return (mask + (mask >> 8)) & 31


@inlined
def _top(mask: int) -> int:
    """The highest bit of a mask of up to sixteen bits, as a mask."""
    mask |= mask >> 1
    mask |= mask >> 2
    mask |= mask >> 4
    mask |= mask >> 8
    return mask ^ (mask >> 1)


@inlined
def _best(mask: int, bits: int) -> int:
    """The highest ``bits`` bits of a mask that has at least as many."""
    extra = _count(mask) - bits
    while extra > 0:
        mask &= mask - 1
        extra -= 1
    return mask


@inlined
def _straight(mask: int) -> int:
    """The highest card of the best straight in a mask, as a mask of one bit; 0 without one."""
    low = (mask << 1) | (mask >> 12)  # The ace is below the deuce, too.
    low &= low >> 1
    low &= low >> 2
    return _top((low & (((mask << 1) | (mask >> 12)) >> 4)) << 4) >> 1


@inlined
def strength(s0: int, s1: int, s2: int, s3: int) -> int:
    """The strength of the best five of up to seven cards: larger wins, equal ties.

    Args:
        s0: Ranks of the first suit, 13 bits.
        s1: Likewise.
        s2: Likewise.
        s3: Likewise.
    """
    for suited in (s0, s1, s2, s3):
        if _count(suited) >= 5:
            # With seven cards there is neither a full house nor four of a kind beside a flush.
            straight = _straight(suited)
            if straight:
                return (STRAIGHT_FLUSH << CATEGORY_SHIFT) | straight
            return (FLUSH << CATEGORY_SHIFT) | _best(suited, 5)
    once = s0 | s1 | s2 | s3
    both, either = s0 & s1, s0 | s1
    both_too, either_too = s2 & s3, s2 | s3
    twice = both | both_too | (either & either_too)
    if not twice:
        straight = _straight(once)
        if straight:
            return (STRAIGHT << CATEGORY_SHIFT) | straight
        return _best(once, 5)
    thrice = (both & either_too) | (both_too & either)
    four = both & both_too
    if four:
        return (FOUR << CATEGORY_SHIFT) | (four << 13) | _top(once & ~four)
    if thrice:
        three = _top(thrice)
        pair = twice & ~three
        if pair:
            return (FULL_HOUSE << CATEGORY_SHIFT) | (three << 13) | _top(pair)
    straight = _straight(once)
    if straight:
        return (STRAIGHT << CATEGORY_SHIFT) | straight
    if thrice:
        return (THREE << CATEGORY_SHIFT) | (thrice << 13) | _best(once & ~thrice, 2)
    if twice & (twice - 1):
        pairs = _best(twice, 2)
        return (TWO_PAIR << CATEGORY_SHIFT) | (pairs << 13) | _top(once & ~pairs)
    return (PAIR << CATEGORY_SHIFT) | (twice << 13) | _best(once & ~twice, 3)


@inlined
def _suit_masks(cards: np.ndarray) -> tuple[int, int, int, int]:
    s0 = s1 = s2 = s3 = 0
    for card in cards:
        bit = 1 << (card >> 2)
        suit = card & 3
        if suit == 0:
            s0 |= bit
        elif suit == 1:
            s1 |= bit
        elif suit == 2:
            s2 |= bit
        else:
            s3 |= bit
    return s0, s1, s2, s3


@kernel
def strengths(board: np.ndarray, hands: np.ndarray) -> np.ndarray:
    """The strength of every hand on a board.

    Args:
        board: int64 (cards,): up to five cards.
        hands: int64 (hands, 2): cards; what hands with a card of the board get means nothing.

    Returns:
        int64 (hands,).
    """
    found = np.empty(hands.shape[0], dtype=np.int64)
    b0, b1, b2, b3 = _suit_masks(board)
    for h in range(hands.shape[0]):
        s0, s1, s2, s3 = _suit_masks(hands[h])
        found[h] = strength(b0 | s0, b1 | s1, b2 | s2, b3 | s3)
    return found


def short_strengths(board: np.ndarray, hands: np.ndarray) -> np.ndarray:
    """The same in short-deck hold'em, from the six up: a flush beats a full house, and the ace is
    below the six in a straight.

    Source: the rules of Triton Poker, in which a straight beats three of a kind.
    """
    found = strengths(board, hands)
    # With the six as the deuce the ace is below it; the king is no longer below the ace.
    moved = strengths(_from_six(board), _from_six(hands))
    category, top = moved >> CATEGORY_SHIFT, moved & ((1 << CATEGORY_SHIFT) - 1)
    runs = (category == STRAIGHT) | (category == STRAIGHT_FLUSH)
    straight = category << CATEGORY_SHIFT | top << SIX
    found = np.where(runs, np.maximum(found, straight), found)
    category = found >> CATEGORY_SHIFT
    other = np.select([category == FLUSH, category == FULL_HOUSE], [FULL_HOUSE, FLUSH], category)
    swapped: np.ndarray = found + ((other - category) << CATEGORY_SHIFT)
    return swapped


SIX = 4
"""The rank of the six."""


def _from_six(cards: np.ndarray) -> np.ndarray:
    """Cards whose ranks are counted from the six on; the ace stays."""
    return np.where(cards >= 48, cards, cards - 4 * SIX)
