"""Strength of Omaha hands: the best five cards of two from the hand and three from the board."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from .deck import CARDS, HANDS
from .strength import strengths


def omaha_strengths(
    board: np.ndarray,
    hands: np.ndarray,
    of: Callable[[np.ndarray, np.ndarray], np.ndarray] = strengths,
    pairs: np.ndarray = HANDS,
) -> np.ndarray:
    """Compute the strength of every hand on a board.

    Args:
        board: int64 (cards,): three to five cards.
        hands: int64 (hands, cards): cards; strengths of hands with a card of the board are
            meaningless.
        of: Function that computes the strength of two cards each with three of the board.
        pairs: int64 (pairs, 2): every two cards of the deck.

    Returns:
        int64 (hands,): larger wins, equal ties.
    """
    # Many hands share a pair of cards, so the best three board cards are found once per pair.
    best = np.zeros((len(CARDS), len(CARDS)), dtype=np.int64)
    first, second = pairs.T
    for three in combinations(board.tolist(), 3):
        best[first, second] = np.maximum(
            best[first, second], of(np.array(three, dtype=np.int64), pairs)
        )
    best = np.maximum(best, best.T)
    hand_strengths: np.ndarray = np.max([best[i, k] for i, k in combinations(hands.T, 2)], axis=0)
    return hand_strengths
