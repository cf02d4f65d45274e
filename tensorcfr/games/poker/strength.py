"""Strength of up to seven cards, computed with bit operations instead of tables.

A hand is four masks of thirteen bits: the ranks of each suit.  Its strength is a number with the
category in the highest bits.  Masks of the ranks that break ties follow, because masks with equally
many bits compare like the sorted lists of their ranks.
"""

from __future__ import annotations

import numpy as np

from ..._util.jit import inlined, kernel, light

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
"""Names of the categories; a strength ``s`` has ``CATEGORIES[s >> CATEGORY_SHIFT]``."""
SHORT_CATEGORIES = (*CATEGORIES[:FLUSH], "full house", "flush", *CATEGORIES[FOUR:])
"""Names of the categories in short-deck hold'em, where a flush beats a full house."""
CATEGORY_SHIFT = 26
"""Number of bits below the category: two masks of thirteen ranks."""


@inlined
def _count(mask: int) -> int:
    """Count the bits of a mask of up to sixteen bits."""
    # Add neighbouring bits, then neighbouring pairs, then nibbles, then bytes.
    mask = mask - ((mask >> 1) & 0x5555)
    mask = (mask & 0x3333) + ((mask >> 2) & 0x3333)
    mask = (mask + (mask >> 4)) & 0x0F0F
    return (mask + (mask >> 8)) & 31


@inlined
def _top(mask: int) -> int:
    """Return the highest bit of a mask of up to sixteen bits, as a mask."""
    # Fill all bits below the highest one.
    mask |= mask >> 1
    mask |= mask >> 2
    mask |= mask >> 4
    mask |= mask >> 8
    return mask ^ (mask >> 1)


@inlined
def _best(mask: int, bits: int) -> int:
    """Return the highest ``bits`` bits of a mask that has at least as many."""
    extra = _count(mask) - bits
    while extra > 0:
        mask &= mask - 1  # Clears the lowest bit.
        extra -= 1
    return mask


@inlined
def _straight(mask: int) -> int:
    """Return the highest card of the best straight in a mask, as a mask; 0 without a straight."""
    low = (mask << 1) | (mask >> 12)  # Bit 0 is the ace below the deuce.
    # After both lines a bit is set where four consecutive ranks begin.
    low &= low >> 1
    low &= low >> 2
    return _top((low & (((mask << 1) | (mask >> 12)) >> 4)) << 4) >> 1


@inlined
def strength(s0: int, s1: int, s2: int, s3: int) -> int:
    """Return the strength of the best five of up to seven cards: larger wins, equal ties.

    Args:
        s0: Ranks of the first suit, a mask of 13 bits.
        s1: Ranks of the second suit.
        s2: Ranks of the third suit.
        s3: Ranks of the fourth suit.
    """
    for suited in (s0, s1, s2, s3):
        if _count(suited) >= 5:
            # Seven cards with a flush have neither a full house nor four of a kind.
            straight = _straight(suited)  # Of the suited cards only: a straight flush.
            if straight:
                return (STRAIGHT_FLUSH << CATEGORY_SHIFT) | straight
            return (FLUSH << CATEGORY_SHIFT) | _best(suited, 5)
    # Masks of the ranks that occur at least once, twice, three times, and four times.
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
    # Categories from here on in descending order, so the first that applies counts.
    if four:
        return (FOUR << CATEGORY_SHIFT) | (four << 13) | _top(once & ~four)
    if thrice:
        three = _top(thrice)
        # A second three of a kind can serve as the pair, since `twice` contains it.
        pair = twice & ~three
        if pair:
            return (FULL_HOUSE << CATEGORY_SHIFT) | (three << 13) | _top(pair)
    straight = _straight(once)
    if straight:
        return (STRAIGHT << CATEGORY_SHIFT) | straight
    if thrice:
        return (THREE << CATEGORY_SHIFT) | (thrice << 13) | _best(once & ~thrice, 2)
    if twice & (twice - 1):  # More than one bit is set: at least two pairs.
        # With three pairs, the lowest one is a candidate for the fifth card.
        pairs = _best(twice, 2)
        return (TWO_PAIR << CATEGORY_SHIFT) | (pairs << 13) | _top(once & ~pairs)
    return (PAIR << CATEGORY_SHIFT) | (twice << 13) | _best(once & ~twice, 3)


@inlined
def _suit_masks(cards: np.ndarray) -> tuple[int, int, int, int]:
    """Return the mask of ranks of each suit."""
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


@light(lambda board, hands: 5 * len(hands))
@kernel
def strengths(board: np.ndarray, hands: np.ndarray) -> np.ndarray:
    """Compute the strength of every hand on a board.

    Args:
        board: int64 (cards,): up to five cards.
        hands: int64 (hands, 2): cards; strengths of hands with a card of the board are meaningless.

    Returns:
        int64 (hands,): larger wins, equal ties.
    """
    hand_strengths = np.empty(hands.shape[0], dtype=np.int64)
    b0, b1, b2, b3 = _suit_masks(board)
    for h in range(hands.shape[0]):
        s0, s1, s2, s3 = _suit_masks(hands[h])
        hand_strengths[h] = strength(b0 | s0, b1 | s1, b2 | s2, b3 | s3)
    return hand_strengths


def short_strengths(board: np.ndarray, hands: np.ndarray) -> np.ndarray:
    """Compute the strength of every hand on a board in short-deck hold'em.

    A flush beats a full house, and in a straight the ace also counts below the six.  Arguments and
    result are those of :func:`strengths`; all cards are from the six up.

    Source: the rules of Triton Poker, in which a straight beats three of a kind.
    """
    best = strengths(board, hands)
    # With the six moved to the deuce and the ace unmoved, straights from the ace below the six are
    # found.  Straights to the ace are missed, since the king is no longer next to it; they are in
    # `best` already.
    moved = strengths(_from_six(board), _from_six(hands))
    category, top = moved >> CATEGORY_SHIFT, moved & ((1 << CATEGORY_SHIFT) - 1)
    # The highest card of a straight is shifted back to its true rank; both results then compare.
    runs = (category == STRAIGHT) | (category == STRAIGHT_FLUSH)
    straight = category << CATEGORY_SHIFT | top << SIX
    best = np.where(runs, np.maximum(best, straight), best)
    # Exchange the categories of flush and full house.
    category = best >> CATEGORY_SHIFT
    exchanged = np.select(
        [category == FLUSH, category == FULL_HOUSE], [FULL_HOUSE, FLUSH], category
    )
    swapped: np.ndarray = best + ((exchanged - category) << CATEGORY_SHIFT)
    return swapped


SIX = 4
"""Rank of the six."""


def _from_six(cards: np.ndarray) -> np.ndarray:
    """Return the cards with ranks counted from the six; aces keep their rank."""
    return np.where(cards >= 48, cards, cards - 4 * SIX)
