"""Groups of Omaha hands by the names that players use: pairs, suits, made hands on a board."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ...rules import HandGroups
from .deck import CARDS, HANDS
from .groups import MADE, kinds_by_rank
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
    "double-suited": "$ds",
    "single-suited": "$ss",
    "three of a suit": "$ts",
    "one suit": "$ms",
    "rainbow": "$rb",
}
"""Pattern in a range, by group of hands with the same pattern of suits."""


def pairs(hands: np.ndarray) -> HandGroups:
    """Group the hands, int64 (hands, 4), by :data:`PAIRS`; two pairs do not count as one pair."""
    ranks = np.sort(hands // 4, axis=1)
    same_rank = ranks[:, 1:] == ranks[:, :-1]
    paired = np.where(same_rank, ranks[:, 1:], -1).max(axis=1)
    three = (same_rank[:, 1:] & same_rank[:, :-1]).any(axis=1)
    cases = {
        "four alike": same_rank.all(axis=1),
        "three alike": three,
        "two pairs": same_rank.sum(axis=1) == 2,
        "AA": paired == 12,
        "KK": paired == 11,
        "lower pair": paired >= 0,
    }
    return _groups(PAIRS, cases, "no pair")


def suits(hands: np.ndarray) -> HandGroups:
    """Group the hands, int64 (hands, 4), by :data:`SUITS`."""
    of_suit = (hands[:, :, None] % 4 == np.arange(4)).sum(axis=1)
    most, several = of_suit.max(axis=1), (of_suit == 2).sum(axis=1)
    cases = {
        "double-suited": several == 2,
        "single-suited": several == 1,
        "three of a suit": most == 3,
        "one suit": most == 4,
    }
    return _groups(SUITS, cases, "rainbow")


def _groups(patterns: dict[str, str], cases: dict[str, np.ndarray], default: str) -> HandGroups:
    """Return the groups of hands: for each hand the first case that is true, or ``default``.

    Args:
        patterns: Pattern in a range, by group.
        cases: bool (hands,), by group.
        default: Group of the hands for which no case is true.
    """
    names = tuple(patterns)
    numbers = np.select(
        list(cases.values()), [names.index(case) for case in cases], names.index(default)
    )
    return HandGroups(names, numbers, tuple(patterns.values()))


def made_hands(
    board: tuple[int, ...], hands: np.ndarray, strength: np.ndarray, categories: tuple[str, ...]
) -> HandGroups:
    """Group the hands by the names of :data:`~tensorcfr.games.poker.groups.MADE`.

    Below a straight, the best name of any two of the four cards counts.

    Args:
        board: Three to five cards.
        hands: int64 (hands, 4): cards; groups of hands with a card of the board are meaningless.
        strength: int64 (hands,): strengths of the hands.
        categories: Names of the categories of these strengths, the weakest first.
    """
    # The best name of every two cards, looked up for the six pairs of cards of each hand.
    best = np.zeros((len(CARDS), len(CARDS)), dtype=np.int64)
    first, second = HANDS.T
    best[first, second] = best[second, first] = kinds_by_rank(board, HANDS)
    kinds = np.min([best[hands[:, i], hands[:, k]] for i, k in combinations(range(4), 2)], axis=0)
    category = strength >> CATEGORY_SHIFT
    names = (*categories[: STRAIGHT - 1 : -1], *MADE[len(CATEGORIES) - STRAIGHT :])
    return HandGroups(names, np.where(category < STRAIGHT, kinds, len(CATEGORIES) - 1 - category))
