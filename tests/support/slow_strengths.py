"""The strength of hands by the rules of poker, five cards at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

SHAPES = [[1, 1, 1, 1, 1], [2, 1, 1, 1], [2, 2, 1], [3, 1, 1], [3, 2], [4, 1]]
Worth = tuple[float, list[int]]


def worth_of_five(cards: Sequence[int], *, short: bool = False) -> Worth:
    """The category and the ranks of five cards; larger is better.  In a short deck a flush beats a
    full house, and an ace is below the six."""
    ranks = sorted((card // 4 for card in cards), reverse=True)
    times = Counter(ranks)
    order = sorted(ranks, key=lambda rank: (-times[rank], -rank))
    lowest = 4 if short else 0
    if ranks == [12, *range(lowest + 3, lowest - 1, -1)]:
        ranks = order = list(range(lowest + 3, lowest - 2, -1))
    category: float = (0, 1, 2, 3, 6, 7)[SHAPES.index(sorted(times.values(), reverse=True))]
    straight = len(times) == 5 and ranks[0] - ranks[4] == 4
    flush = len({card % 4 for card in cards}) == 1
    if flush:
        category = 8 if straight else 6.5 if short else 5
    elif straight:
        category = 4
    return category, order


def worth(board: Sequence[int], hand: Sequence[int], *, short: bool = False) -> Worth:
    """The best five of a hand of two cards with the board; of two of four with three of it."""
    if len(hand) == 2:
        return max(worth_of_five(five, short=short) for five in combinations((*board, *hand), 5))
    return max(
        worth_of_five((*two, *three), short=short)
        for two in combinations(hand, 2)
        for three in combinations(board, 3)
    )


def low_of(board: Sequence[int], hand: Sequence[int]) -> list[int] | None:
    """The best low of two cards of a hand with three of the board: its ranks, the highest first,
    with 1 for the ace; None if none has five ranks up to eight."""
    lows = [
        sorted({card // 4 + 2 if card < 48 else 1 for card in (*two, *three)}, reverse=True)
        for two in combinations(hand, 2)
        for three in combinations(board, 3)
    ]
    return min((low for low in lows if len(low) == 5 and low[0] <= 8), default=None)
