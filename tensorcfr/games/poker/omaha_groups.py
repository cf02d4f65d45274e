"""Groups of Omaha hands by the names that players use: pairs, suits, made hands on a board."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ...rules import HandGroups
from .deck import CARDS, HANDS
from .groups import MADE, kinds_by_rank
from .omaha_ranges import PAIRED, SUITED, count_ranks, rank_patterns, suit_patterns, suits_of
from .strength import CATEGORIES, CATEGORY_SHIFT, STRAIGHT

PAIRS = {
    "AA": "AA$op",
    "KK": "KK$op",
    "lower pair": "QQ-22$op",
    "two pairs": "$tp",
    "three alike": "$tr",
    "four alike": "$qu",
    "no pair": "$np",
}
"""Pattern in a range, by group of hands with the same paired ranks."""
SUITS = {
    "ds": "double-suited",
    "ss": "single-suited",
    "ts": "three of a suit",
    "fs": "four of a suit",
    "ms": "one suit",
    "rb": "rainbow",
}
"""Group of hands by pattern of suits."""


def pairs(hands: np.ndarray) -> HandGroups:
    """Group the hands, int64 (hands, cards), by :data:`PAIRS`; two pairs do not count as one
    pair."""
    names, by_rank = tuple(PAIRS), count_ranks(hands)
    pattern, ranks_above = rank_patterns(by_rank), np.argmax(by_rank[::-1] == 2, axis=0)
    cases = {
        "no pair": pattern == PAIRED.index("np"),
        "two pairs": pattern == PAIRED.index("tp"),
        "three alike": pattern == PAIRED.index("tr"),
        "four alike": pattern == PAIRED.index("qu"),
        "AA": ranks_above == 0,
        "KK": ranks_above == 1,
    }
    numbers = [names.index(case) for case in cases]
    of_hand = np.select(list(cases.values()), numbers, names.index("lower pair"))
    return HandGroups(names, of_hand, tuple(PAIRS.values()))


def suits(hands: np.ndarray) -> HandGroups:
    """Group the hands, int64 (hands, cards), by the patterns of :data:`SUITS` that they can
    have."""
    patterns = suits_of(hands.shape[1])
    number = np.array([patterns.index(name) if name in patterns else -1 for name in SUITED])
    names, ranges = zip(*((SUITS[name], f"${name}") for name in patterns), strict=True)
    return HandGroups(names, number[suit_patterns(hands)], ranges)


def made_hands(
    board: tuple[int, ...], hands: np.ndarray, strength: np.ndarray, categories: tuple[str, ...]
) -> HandGroups:
    """Group the hands by the names of :data:`~tensorcfr.games.poker.groups.MADE`.

    Below a straight, the best name of any two cards of the hand counts.

    Args:
        board: Three to five cards.
        hands: int64 (hands, cards): cards; groups of hands with a card of the board are
            meaningless.
        strength: int64 (hands,): strengths of the hands.
        categories: Names of the categories of these strengths, the weakest first.
    """
    # The best name of every two cards, looked up for all pairs of cards of each hand.
    best = np.zeros((len(CARDS), len(CARDS)), dtype=np.int64)
    first, second = HANDS.T
    best[first, second] = best[second, first] = kinds_by_rank(board, HANDS)
    kinds = np.min([best[i, k] for i, k in combinations(hands.T, 2)], axis=0)
    category = strength >> CATEGORY_SHIFT
    names = (*categories[: STRAIGHT - 1 : -1], *MADE[len(CATEGORIES) - STRAIGHT :])
    return HandGroups(names, np.where(category < STRAIGHT, kinds, len(CATEGORIES) - 1 - category))
