"""Classes of flops that differ only in suits, and small sets of flops that represent all."""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations
from typing import Annotated, NamedTuple

import numpy as np

from ..._util.argument_checks import Whole, checked
from .deck import CARDS, RANKS

N_FLOPS = 22_100
"""Number of flops: the ways to choose 3 of 52 cards."""
N_CLASSES = 1_755
"""Number of classes of flops that differ only in suits."""


class Flop(NamedTuple):
    """Flop with the share of all flops that it represents."""

    board: str
    """Cards of the flop, the highest first: ``"Td9d6h"``."""
    weight: float
    """Share of all flops; the weights of a list of flops sum to 1."""


def texture(board: str) -> dict[str, str]:
    """Describe the first three cards of a board.

    >>> texture("Td9d6h")
    {'suits': 'two-tone', 'pairing': 'unpaired', 'height': 'T', 'straights': 'possible'}

    Returns:
        ``suits``: ``"rainbow"``, ``"two-tone"`` or ``"monotone"``; ``pairing``: ``"unpaired"``,
        ``"paired"`` or ``"trips"``; ``height``: the highest rank; ``straights``: ``"possible"`` if
        some hand makes a straight with these cards, or ``"impossible"``.
    """
    ranks, suits = {RANKS.index(rank) for rank in board[:6:2]}, set(board[1:6:2])
    # An ace is also below the two.  The three ranks and two of a hand are five adjacent ranks.
    orders = [ranks, {-1 if rank == len(RANKS) - 1 else rank for rank in ranks}]
    is_close = len(ranks) == 3 and any(max(order) - min(order) < 5 for order in orders)
    return {
        "suits": ("monotone", "two-tone", "rainbow")[len(suits) - 1],
        "pairing": ("trips", "paired", "unpaired")[len(ranks) - 1],
        "height": RANKS[max(ranks)],
        "straights": "possible" if is_close else "impossible",
    }


@cache
def _classes() -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Return one flop of each class and the sizes of the classes, int64 (classes,).

    Similar flops are next to each other.
    """
    cards = np.array(list(combinations(range(len(CARDS)), 3)))
    orders = np.array(list(permutations(range(4))))
    # (flops, permutations of suits, cards): the flop with the largest code represents its class.
    images = np.sort(cards[:, None] // 4 * 4 + orders[:, cards % 4].swapaxes(0, 1))[..., ::-1]
    codes = (images @ np.array([len(CARDS) ** 2, len(CARDS), 1])).max(axis=1)
    class_codes, sizes = np.unique(codes, return_counts=True)
    flops_ = [
        (c // len(CARDS) ** 2, c // len(CARDS) % len(CARDS), c % len(CARDS))
        for c in class_codes.tolist()
    ]
    order = sorted(range(len(flops_)), key=lambda k: _texture(flops_[k]))
    return [flops_[k] for k in order], sizes[order]


def _texture(cards: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sort key of a flop: number of suits, number of ranks, then ranks and suits."""
    ranks, suits = zip(*(divmod(card, 4) for card in cards), strict=True)
    return (len(set(suits)), len(set(ranks)), *ranks, *suits)


@checked()
def flops(count: Annotated[int, Whole(1, N_CLASSES)] = N_CLASSES) -> list[Flop]:
    """Return flops that represent all 22,100 flops.

    By default there is one flop per class of flops that differ only in suits, weighted by the size
    of the class.  For fewer flops, the classes are sorted by suits, pairs and high cards, and flops
    are taken at equal distances.  So suits, pairs and high cards occur about as often as among all
    flops.

    >>> [flop.board for flop in flops(3)]
    ['7s6h4s', 'As5h2h', 'Qs7h4d']

    Args:
        count: Number of flops.

    Raises:
        ValueError: ``count`` is not from 1 to 1,755.
    """
    classes, sizes = _classes()
    if count == N_CLASSES:
        chosen, weights = np.arange(N_CLASSES), sizes / N_FLOPS
    else:
        # The middle of each of `count` equal intervals of all flops selects a class.  A large class
        # may be selected several times; its weight counts them.
        ends = np.cumsum(sizes)
        taken = np.searchsorted(ends, (np.arange(count) + 0.5) * N_FLOPS / count, side="right")
        chosen, times = np.unique(taken, return_counts=True)
        weights = times / count
    return [
        Flop("".join(CARDS[card] for card in classes[k]), float(weight))
        for k, weight in zip(chosen.tolist(), weights, strict=True)
    ]
