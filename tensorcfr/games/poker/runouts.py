"""Number of boards on which each hand wins and ties against each other hand, before the flop.

The counts for 52 cards and boards of five cards are in a file next to this module, because counting
takes minutes.  ``scripts/runouts.py`` of commit b5ab28bb wrote the file, and a test counts again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np

from ..._util.jit import kernel
from .deck import CARDS, HANDS, RANKS, SUITS, orders_of_suits

FILE = Path(__file__).with_name("runouts.npz")
BOARD = 5
"""Number of cards of a full board."""
Strength = Callable[[tuple[int, ...], np.ndarray], np.ndarray]
"""Function from a board and hands to strengths, as :meth:`tensorcfr.rules.CardGame.strength`."""


def count_runouts(
    strength: Strength, hands: np.ndarray, orders: np.ndarray, cards: int
) -> tuple[np.ndarray, np.ndarray]:
    """Count the boards on which each hand wins and ties against each other hand.

    Args:
        strength: Function that computes strengths.
        hands: int64 (hands, 1 or 2): all hands of a deck, the same for both players.
        orders: int64 (permutations, cards of the deck): a group of permutations of the deck that
            preserve the order of strengths.
        cards: Number of cards of a board.

    Returns:
        int64 (hands, hands) for wins and for ties; 0 for hands with a common card.
    """
    counts = np.zeros((2, len(hands), len(hands)), dtype=np.int64)
    has_card = (hands[:, None] == np.arange(orders.shape[1])[:, None]).any(axis=2).T
    boards, orbit_sizes = boards_up_to_suits(orders, cards)
    for board, count in zip(boards.tolist(), orbit_sizes.tolist(), strict=True):
        live = np.flatnonzero(~has_card[board].any(axis=0))
        strengths = np.asarray(strength(tuple(board), hands[live]))
        order = np.argsort(strengths, kind="stable")
        _, first = np.unique(strengths[order], return_index=True)
        _compare(live[order], np.append(first, len(live)), count, counts[0], counts[1])
    # The boards of an orbit were all counted as one of them.  A permutation of a board gives the
    # same result to the permuted hands, so the mean over all permutations is the exact count.
    images = moved_hands(hands, orders)
    total = sum(counts[:, image[:, None], image] for image in images) // len(images)
    total *= ~(hands[:, None, :, None] == hands[None, :, None, :]).any(axis=(2, 3))
    return total[0], total[1]


def boards_up_to_suits(orders: np.ndarray, cards: int) -> tuple[np.ndarray, np.ndarray]:
    """Return one board per orbit of the permutations, and the sizes of the orbits.

    Returns:
        int64 (boards, cards) and int64 (boards,).
    """
    deck = orders.shape[1]
    boards = np.array(list(combinations(range(deck), cards)), dtype=np.int64)
    digits = deck ** np.arange(cards)[::-1]
    code = boards @ digits
    fixing = np.zeros(len(boards), dtype=np.int64)
    # Keep the boards with the smallest code of their orbit.  An orbit has as many boards as there
    # are permutations, divided by the permutations that fix the board (`fixing`).
    for order in orders:
        image_code = np.sort(order[boards], axis=1) @ digits
        fixing += image_code == code
        is_smallest = image_code >= code
        boards, code, fixing = boards[is_smallest], code[is_smallest], fixing[is_smallest]
    return boards, len(orders) // fixing


@kernel
def _compare(
    order: np.ndarray, first: np.ndarray, count: int, won: np.ndarray, tied: np.ndarray
) -> None:
    """Add the wins and ties of all pairs of hands on a board.

    Args:
        order: int64 (live hands,): hands without a card of the board, the weakest first.
        first: int64 (strengths + 1,): start in ``order`` of the hands of each strength, and its
            length.
        count: Number of boards that this board represents.
        won: int64 (hands, hands): wins; modified in place.
        tied: int64 (hands, hands): ties; modified in place.
    """
    # Pairs with a common card are counted too; the caller sets them to 0.
    for level in range(len(first) - 1):
        begin, end = first[level], first[level + 1]
        for hand in order[begin:end]:
            wins, ties = won[hand], tied[hand]
            for other_hand in order[:begin]:
                wins[other_hand] += count
            for other_hand in order[begin:end]:
                ties[other_hand] += count


def moved_hands(hands: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Return the index of the image of each hand under permutations of the deck.

    Args:
        hands: int64 (hands, cards): all hands, closed under the permutations.
        orders: int64 (permutations, cards of the deck): the permutations.

    Returns:
        int64 (permutations, hands).
    """
    digits = orders.shape[1] ** np.arange(hands.shape[1])
    code = np.sort(hands, axis=1) @ digits
    sorter = np.argsort(code)
    codes = [np.sort(order[hands], axis=1) @ digits for order in orders]
    return sorter[np.searchsorted(code, np.array(codes), sorter=sorter)]


def kinds_of_pairs(moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the orbit of each unordered pair of hands under permutations of the deck.

    Args:
        moved: int64 (permutations, hands): index of the image of each hand.

    Returns:
        int32 (hands, hands): number of the orbit, from 0.  And bool (hands, hands): True if the
        hands of the pair are swapped relative to the pair that represents the orbit.
    """
    count = moved.shape[1]
    number = np.full((count, count), count * count, dtype=np.int32)
    swapped = np.zeros((count, count), dtype=bool)
    for image in moved.astype(np.int32):
        low = np.minimum(image[:, None], image)
        code = low * count + np.maximum(image[:, None], image)
        smaller = code < number
        number[smaller] = code[smaller]
        swapped[smaller] = (image[:, None] != low)[smaller]
    # The smallest pair of each orbit has its own code as number, so marking the numbers and summing
    # gives consecutive ones.  Sorting would take far more memory.
    kinds = np.zeros(count * count, dtype=np.int32)
    kinds[number] = 1
    return (np.cumsum(kinds, dtype=np.int32) - 1)[number], swapped


@cache
def holdem_runouts() -> tuple[np.ndarray, np.ndarray]:
    """Return the number of boards on which each hand of :data:`HANDS` wins and ties.

    Returns:
        int32 (1326, 1326) for wins and for ties against each other hand, of 1,712,304 boards; 0 for
        hands with a common card.
    """
    kind, swapped = kinds_of_pairs(moved_hands(HANDS, orders_of_suits(len(RANKS), len(SUITS))))
    with np.load(FILE, allow_pickle=False) as counted:
        won, tied = (counted[name][kind] for name in ("won", "tied"))
        assert len(counted["won"]) == int(kind.max()) + 1
    disjoint = ~(HANDS[:, None, :, None] == HANDS[None, :, None, :]).any(axis=(2, 3))
    boards = comb(len(CARDS) - 4, BOARD)
    return np.where(swapped, boards - won - tied, won) * disjoint, tied * disjoint
