"""How strong hands of Omaha are: the best of two of their four cards with three of the board."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from ..holdem.cards import CARDS, HANDS
from ..holdem.strength import strengths


def omaha_strengths(
    board: np.ndarray,
    hands: np.ndarray,
    of: Callable[[np.ndarray, np.ndarray], np.ndarray] = strengths,
    pairs: np.ndarray = HANDS,
) -> np.ndarray:
    """The strength of every hand on a board, as :mod:`tensorcfr.games.holdem.strength` has it.

    The best five cards with each pair are found once for all hands.

    Args:
        board: int64 (cards,): three to five cards.
        hands: int64 (hands, 4): cards; what hands with a card of the board get means nothing.
        of: How strong two cards are with others.
        pairs: int64 (pairs, 2): every two cards of the deck.

    Returns:
        int64 (hands,): larger wins, equal ties.
    """
    best = np.zeros((len(CARDS), len(CARDS)), dtype=np.int64)
    first, second = pairs.T
    for three in combinations(board.tolist(), 3):
        best[first, second] = np.maximum(
            best[first, second], of(np.array(three, dtype=np.int64), pairs)
        )
    best = np.maximum(best, best.T)
    found: np.ndarray = np.max(
        [best[hands[:, i], hands[:, k]] for i, k in combinations(range(4), 2)], axis=0
    )
    return found
