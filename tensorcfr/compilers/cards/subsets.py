"""Sums over disjoint hands, by inclusion and exclusion over the subsets of a hand's cards.

The weight of all hands that share no card with a hand is an alternating sum.  It is the weight of
all hands, minus the hands with each of its cards, plus the hands with each pair of its cards, minus
the hands with each three, and so on.  The time is proportional to the number of hands.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from ..._util.jit import inlined, kernel, light


class BoardHands(NamedTuple):
    """Hands of one player on a board."""

    order: np.ndarray
    """int64 (possible,): the possible hands, weakest first."""
    strength: np.ndarray
    """int64 (hands,): strength of each hand."""
    sets: np.ndarray
    """int64 (hands, sets): numbers of the nonempty subsets of each hand's cards, small subsets
    first."""
    weight: np.ndarray
    """float64 (hands,): weight of each hand."""


def numbers_of_sets(hands: np.ndarray, size: int, cards: int) -> Iterator[np.ndarray]:
    """Yield the subsets of each hand with ``size`` cards, as numbers below ``comb(cards, size)``.

    The numbers are those of the combinatorial number system.

    Args:
        hands: int64 (hands, cards of a hand).
        size: Cards of a subset.
        cards: Cards of the deck.

    Yields:
        int64 (hands,): one subset of each hand.
    """
    ascending = np.sort(hands, axis=1)
    below = np.array([[comb(card, k + 1) for card in range(cards)] for k in range(size)])
    for chosen in combinations(range(hands.shape[1]), size):
        yield np.sum([below[k][ascending[:, column]] for k, column in enumerate(chosen)], axis=0)


def all_sets(hands: np.ndarray, cards: int) -> np.ndarray:
    """Return the numbers of all nonempty subsets of each hand's cards, int64 (hands, sets).

    Different subsets have different numbers.
    """
    numbers, used = [], 0
    for size in range(1, hands.shape[1] + 1):
        numbers += [used + subset for subset in numbers_of_sets(hands, size, cards)]
        used += comb(cards, size)
    return np.stack(numbers, axis=1)


def signs_of(width: int) -> np.ndarray:
    """Return the sign of each of :func:`all_sets` in the alternating sum, float64 (sets,)."""
    sizes = np.repeat(np.arange(1, width + 1), [comb(width, k) for k in range(1, width + 1)])
    return (-1.0) ** sizes


def sums_of(cards: int, width: int) -> np.ndarray:
    """Allocate one uninitialised sum for each number in :func:`all_sets`, float64 (sets,)."""
    return np.empty(sum(comb(cards, size) for size in range(1, width + 1)))


@inlined
def _add_hand(sums: np.ndarray, side: BoardHands, hand: int) -> float:
    """Add the weight of a hand to the sum of each of its subsets.  Return the weight."""
    weight = side.weight[hand]
    for subset in side.sets[hand]:
        sums[subset] += weight
    return weight


@inlined
def _disjoint_weight(
    sums: np.ndarray, total: float, signs: np.ndarray, side: BoardHands, hand: int
) -> float:
    """Return the weight of the hands in ``sums`` that share no card with a hand."""
    for k in range(signs.shape[0]):
        total += signs[k] * sums[side.sets[hand, k]]
    return total


# Signs are 1 or -1, so that products with them are exact.
@light(lambda mine, theirs, signs, *others: 4 * len(signs) * (len(mine.order) + len(theirs.order)))
@kernel
def compare(
    mine: BoardHands, theirs: BoardHands, signs: np.ndarray, sums: np.ndarray, weights: np.ndarray
) -> None:
    """Sum weights of disjoint hands on a board, for every hand: weaker, not stronger, and all.

    Args:
        mine: The player's hands.
        theirs: The hands of the other player.
        signs: float64 (sets,): from :func:`signs_of`.
        sums: float64 (all sets,): scratch.
        weights: float64 (hands, 3): for each possible hand, the weight of the other player's
            disjoint hands that are weaker, that are not stronger, and in total; modified in place.
    """
    order, others = mine.order, theirs.order
    # Only the sums of own hands are read.  With few hands, clearing all would be most of the work.
    if len(order) * len(signs) < len(sums):
        for own_hand in order:
            for subset in mine.sets[own_hand]:
                sums[subset] = 0.0
    else:
        sums[:] = 0.0
    total, begin, next_other = 0.0, 0, 0
    while begin < len(order):
        level, end = mine.strength[order[begin]], begin
        while end < len(order) and mine.strength[order[end]] == level:
            end += 1
        # Both players' hands are in order of strength, so the sums only grow: first add the other
        # player's weaker hands, then the hands of equal strength.
        for tied in range(2):
            while next_other < len(others) and theirs.strength[others[next_other]] < level + tied:
                total += _add_hand(sums, theirs, others[next_other])
                next_other += 1
            for own_hand in order[begin:end]:
                weights[own_hand, tied] = _disjoint_weight(sums, total, signs, mine, own_hand)
        begin = end
    for hand in others[next_other:]:
        total += _add_hand(sums, theirs, hand)
    for own_hand in order:
        weights[own_hand, 2] = _disjoint_weight(sums, total, signs, mine, own_hand)
