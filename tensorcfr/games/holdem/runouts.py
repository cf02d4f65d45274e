"""How often each hand wins against each other one where the whole board is still to come.

The numbers for 52 cards and boards of five are in a file beside this module, for counting them
takes minutes: ``scripts/runouts.py`` writes it, and a test counts again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np

from ..._util.jit import kernel
from .cards import CARDS, HANDS, RANKS, SUITS, orders_of_suits

FILE = Path(__file__).with_name("runouts.npz")
BOARD = 5
Strength = Callable[[tuple[int, ...], np.ndarray], np.ndarray]
"""The strengths of hands on a board, as :meth:`tensorcfr.rules.CardGame.strength` says them."""


def count_runouts(
    strength: Strength, hands: np.ndarray, orders: np.ndarray, cards: int
) -> tuple[np.ndarray, np.ndarray]:
    """On how many boards each hand wins and ties against each other one, counted over all boards.

    Args:
        strength: What makes strengths.
        hands: int64 (hands, 1 or 2): all hands of a deck, those of both players.
        orders: int64 (permutations, cards of the deck): permutations of the deck that change no
            order of strengths, with their products.
        cards: Cards of a board.

    Returns:
        int64 (hands, hands) twice; 0 for hands with a common card.
    """
    found = np.zeros((2, len(hands), len(hands)), dtype=np.int64)
    has = (hands[:, None] == np.arange(orders.shape[1])[:, None]).any(axis=2).T
    boards, alike = _boards(orders, cards)
    for board, count in zip(boards.tolist(), alike.tolist(), strict=True):
        live = np.flatnonzero(~has[board].any(axis=0))
        strengths = np.asarray(strength(tuple(board), hands[live]))
        order = np.argsort(strengths, kind="stable")
        _, first = np.unique(strengths[order], return_index=True)
        _compare(live[order], np.append(first, len(live)), count, found[0], found[1])
    # What a board gives a pair of hands it gives, turned, to the pair turned.
    moved = moved_hands(hands, orders)
    total = sum(found[:, own[:, None], own] for own in moved) // len(moved)
    total *= ~(hands[:, None, :, None] == hands[None, :, None, :]).any(axis=(2, 3))
    return total[0], total[1]


def _boards(orders: np.ndarray, cards: int) -> tuple[np.ndarray, np.ndarray]:
    """Boards of which no other is made by a permutation, int64 (boards, cards), and how many are
    made of each, int64 (boards,)."""
    deck = orders.shape[1]
    boards = np.array(list(combinations(range(deck), cards)), dtype=np.int64)
    digits = deck ** np.arange(cards)[::-1]
    code = boards @ digits
    made = np.zeros(len(boards), dtype=np.int64)
    for order in orders:
        turned = np.sort(order[boards], axis=1) @ digits
        made += turned == code
        first = turned >= code
        boards, code, made = boards[first], code[first], made[first]
    return boards, len(orders) // made


@kernel
def _compare(
    order: np.ndarray, first: np.ndarray, count: int, won: np.ndarray, tied: np.ndarray
) -> None:
    """Count a board.

    Args:
        order: int64 (live hands,): from the weakest on.
        first: int64 (strengths + 1,): where each strength begins there, and the end.
        count: How many boards it stands for.
        won: int64 (hands, hands): modified in place.
        tied: int64 (hands, hands): likewise.
    """
    for level in range(len(first) - 1):
        begin, end = first[level], first[level + 1]
        for own in order[begin:end]:
            row, even = won[own], tied[own]
            for other in order[:begin]:
                row[other] += count
            for other in order[begin:end]:
                even[other] += count


def moved_hands(hands: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """What permutations of the deck make of hands; int64 (permutations, hands)."""
    digits = orders.shape[1] ** np.arange(hands.shape[1])
    code = np.sort(hands, axis=1) @ digits
    place = np.argsort(code)
    found = [np.sort(one[hands], axis=1) @ digits for one in orders]
    return place[np.searchsorted(code, np.array(found), sorter=place)]


def kinds_of_pairs(moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which pairs of hands permutations make of each other, in either order.

    Returns:
        int32 (hands, hands): the same number for pairs that are alike, from 0; and bool (hands,
        hands): whether the hands of a pair are the other way around in it.
    """
    count = moved.shape[1]
    number = np.full((count, count), count * count, dtype=np.int32)
    turned = np.zeros((count, count), dtype=bool)
    for own in moved.astype(np.int32):
        low = np.minimum(own[:, None], own)
        code = low * count + np.maximum(own[:, None], own)
        less = code < number
        number[less] = code[less]
        turned[less] = (own[:, None] != low)[less]
    # The first pair of a kind has its own place as number; sorting would take far more memory.
    kinds = np.zeros(count * count, dtype=np.int32)
    kinds[number] = 1
    return (np.cumsum(kinds, dtype=np.int32) - 1)[number], turned


@cache
def holdem_runouts() -> tuple[np.ndarray, np.ndarray]:
    """On how many of 1,712,304 boards each hand of :data:`HANDS` wins and ties against each other
    one; int32 (1326, 1326) twice, 0 for hands with a common card."""
    kind, turned = kinds_of_pairs(moved_hands(HANDS, orders_of_suits(len(RANKS), len(SUITS))))
    with np.load(FILE, allow_pickle=False) as counted:
        won, tied = (counted[name][kind] for name in ("won", "tied"))
        assert len(counted["won"]) == int(kind.max()) + 1
    apart = ~(HANDS[:, None, :, None] == HANDS[None, :, None, :]).any(axis=(2, 3))
    boards = comb(len(CARDS) - 4, BOARD)
    return np.where(turned, boards - won - tied, won) * apart, tied * apart
