"""Groups of hold'em hands by the names that players use: made hands and draws on a board."""

from __future__ import annotations

import numpy as np

from .strength import CATEGORIES, CATEGORY_SHIFT, FLUSH, STRAIGHT, STRAIGHT_FLUSH, strengths

MADE = (
    *CATEGORIES[: STRAIGHT - 1 : -1],
    "set",
    "trips",
    "two pair",
    "overpair",
    "top pair",
    "underpair",
    "second pair",
    "low pair",
    "ace high",
    "king high",
    "nothing",
)
"""Names of made hands, roughly from strong to weak: an underpair may lose to a second pair.

Below a straight, a name describes how the two cards of the hand improve the board.  An *overpair*
is a pocket pair above all cards of the board.  An *underpair* is any other pocket pair that does
not match a card of the board.
"""
DRAWS = (
    "flush draw and open-ended",
    "flush draw and gutshot",
    "flush draw",
    "open-ended",
    "gutshot",
)
"""Names of draws: one more card completes a flush or a straight that uses the hand.

A straight draw is *open-ended* if cards of two or more ranks complete it, and a *gutshot* if cards
of a single rank do.
"""


def made_hands(board: tuple[int, ...], hands: np.ndarray) -> list[str]:
    """Return the name of every made hand, from :data:`MADE`.

    Args:
        board: Three to five cards.
        hands: int64 (hands, 2): cards; names of hands with a card of the board are meaningless.
    """
    category = strengths(np.array(board, dtype=np.int64), hands) >> CATEGORY_SHIFT
    number = np.where(category < STRAIGHT, kinds_by_rank(board, hands), STRAIGHT_FLUSH - category)
    return [MADE[index] for index in number.tolist()]


def kinds_by_rank(board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
    """Classify hands by how their ranks improve the board, regardless of straights and flushes.

    The arguments are those of :func:`made_hands`.

    Returns:
        int64 (hands,): indices into :data:`MADE`, below a straight only.
    """
    ranks, on_board = hands // 4, np.bincount(np.array(board) // 4, minlength=13)
    count = on_board[ranks]
    n_above = (np.flatnonzero(on_board)[:, None, None] > ranks).sum(axis=0)
    pocket, hits = ranks[:, 0] == ranks[:, 1], count > 0
    # Number of board ranks above the highest card that pairs the board; 13 if none does.
    pair_position = np.where(hits, n_above, 13).min(axis=1)
    high_rank = ranks.max(axis=1)
    # The first case that is true counts, so later cases need not exclude earlier ones.
    cases = {
        "set": pocket & hits[:, 0],
        "trips": ~pocket & (count >= 2).any(axis=1),
        "two pair": ~pocket & hits.all(axis=1),
        "overpair": pocket & (n_above[:, 0] == 0),
        "underpair": pocket,
        "top pair": pair_position == 0,
        "second pair": pair_position == 1,
        "low pair": hits.any(axis=1),
        "ace high": high_rank == 12,
        "king high": high_rank == 11,
    }
    numbers = [MADE.index(name) for name in cases]
    kinds: np.ndarray = np.select(list(cases.values()), numbers, MADE.index("nothing"))
    return kinds


def draws(board: tuple[int, ...], hands: np.ndarray) -> list[str]:
    """Return the draw of every hand, from :data:`DRAWS`, or ``""`` without a draw.

    A hand with a flush has no draws; a hand with a straight can only draw to a flush.

    Args:
        board: Three or four cards; with five there is no draw.
        hands: int64 (hands, 2): cards; draws of hands with a card of the board are meaningless.
    """
    flushes, straights = np.zeros(len(hands), dtype=bool), np.zeros((len(hands), 13), dtype=bool)
    if len(board) >= 5:
        return [""] * len(hands)
    no_hand = np.zeros((1, 0), dtype=np.int64)
    for card in np.setdiff1d(np.arange(52), board).tolist():
        dealt = np.array([*board, card], dtype=np.int64)
        # A flush or straight of the board itself is not a draw of the hand.
        (board_category,) = strengths(dealt, no_hand) >> CATEGORY_SHIFT
        category = strengths(dealt, hands) >> CATEGORY_SHIFT
        free = (hands != card).all(axis=1)
        if board_category < FLUSH:
            flushes |= free & ((category == FLUSH) | (category == STRAIGHT_FLUSH))
        if board_category < STRAIGHT:
            straights[:, card // 4] |= free & (
                (category == STRAIGHT) | (category == STRAIGHT_FLUSH)
            )
    current = strengths(np.array(board, dtype=np.int64), hands) >> CATEGORY_SHIFT
    flush = flushes & (current < FLUSH)
    ranks = np.where(current < STRAIGHT, straights.sum(axis=1), 0)
    cases = {
        "flush draw and open-ended": flush & (ranks > 1),
        "flush draw and gutshot": flush & (ranks == 1),
        "flush draw": flush,
        "open-ended": ranks > 1,
        "gutshot": ranks == 1,
    }
    names: list[str] = np.select(list(cases.values()), list(cases), "").tolist()
    return names
