"""What hands meet, by inclusion and exclusion over the sets of their cards.

The hands without a card of a hand are all hands, minus those with each of its cards, plus those
with each pair of them, minus those with each three, ...: a time that is proportional to the hands.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from ..._util.jit import inlined, kernel


class Side(NamedTuple):
    """The hands of a player on a board."""

    order: np.ndarray
    """int64: those that are possible, weakest first."""
    strength: np.ndarray
    """int64 (hands,)."""
    sets: np.ndarray
    """int64 (hands, sets): the numbers of the sets of cards of each hand, small sets first."""
    weight: np.ndarray
    """float64 (hands,)."""


def numbers_of_sets(hands: np.ndarray, size: int, cards: int) -> Iterator[np.ndarray]:
    """The sets of so many cards of each hand, as numbers from 0 to ``comb(cards, size) - 1``: those
    of the combinatorial number system.

    Args:
        hands: int64 (hands, cards of a hand).
        size: Cards of a set.
        cards: Cards of the deck.

    Yields:
        int64 (hands,): one set of each hand.
    """
    ascending = np.sort(hands, axis=1)
    below = np.array([[comb(card, k + 1) for card in range(cards)] for k in range(size)])
    for chosen in combinations(range(hands.shape[1]), size):
        yield np.sum([below[k][ascending[:, at]] for k, at in enumerate(chosen)], axis=0)


def all_sets(hands: np.ndarray, cards: int) -> np.ndarray:
    """All sets of cards of each hand but the empty one, with different numbers for different sets;
    int64 (hands, sets)."""
    found, used = [], 0
    for size in range(1, hands.shape[1] + 1):
        found += [used + one for one in numbers_of_sets(hands, size, cards)]
        used += comb(cards, size)
    return np.stack(found, axis=1)


def signs_of(width: int) -> np.ndarray:
    """The sign with which hands of so many cards have each of :func:`all_sets`, float64 (sets,)."""
    sizes = np.repeat(np.arange(1, width + 1), [comb(width, k) for k in range(1, width + 1)])
    return (-1.0) ** sizes


def sums_of(cards: int, width: int) -> np.ndarray:
    """Room for a sum for each of :func:`all_sets`, float64."""
    return np.empty(sum(comb(cards, size) for size in range(1, width + 1)))


@inlined
def _add(sums: np.ndarray, side: Side, hand: int) -> float:
    """Add a hand to the sums; its weight."""
    weight = side.weight[hand]
    for one in side.sets[hand]:
        sums[one] += weight
    return weight


@inlined
def _met(sums: np.ndarray, total: float, signs: np.ndarray, side: Side, hand: int) -> float:
    """The hands in the sums without a card of a hand."""
    for k in range(signs.shape[0]):
        total += signs[k] * sums[side.sets[hand, k]]
    return total


@kernel
def compare(
    mine: Side, theirs: Side, signs: np.ndarray, sums: np.ndarray, found: np.ndarray
) -> None:
    """What hands meet on a board.

    Args:
        mine: The hands.
        theirs: The hands of the other player.
        signs: From :func:`signs_of`.
        sums: float64 (all sets of cards,): scratch.
        found: float64 (hands, 3): the weights of the weaker hands without a common card, of those
            that are not stronger, and of all; modified in place where a hand is possible.
    """
    order, others = mine.order, theirs.order
    sums[:] = 0.0
    total, begin, place = 0.0, 0, 0
    while begin < len(order):
        level, end = mine.strength[order[begin]], begin
        while end < len(order) and mine.strength[order[end]] == level:
            end += 1
        # The weaker hands first, then those of equal strength.
        for tied in range(2):
            while place < len(others) and theirs.strength[others[place]] < level + tied:
                total += _add(sums, theirs, others[place])
                place += 1
            for own in order[begin:end]:
                found[own, tied] = _met(sums, total, signs, mine, own)
        begin = end
    for hand in others[place:]:
        total += _add(sums, theirs, hand)
    for own in order:
        found[own, 2] = _met(sums, total, signs, mine, own)
