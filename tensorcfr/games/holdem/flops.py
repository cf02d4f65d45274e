"""Flops up to a change of suits, and a few that represent all."""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations
from typing import Annotated, NamedTuple

import numpy as np

from ..._util.arguments import Whole, checked
from .cards import CARDS

N_FLOPS = 22_100
"""Flops, with suits: the ways to choose 3 of 52 cards."""
N_CLASSES = 1_755
"""Flops up to a change of suits."""


class Flop(NamedTuple):
    """A flop, and how much of all flops it represents."""

    board: str
    """Its cards, the highest first: ``"Td9d6h"``."""
    weight: float
    """The share of all flops; the weights of a list of flops sum to 1."""


@cache
def _classes() -> tuple[list[tuple[int, ...]], np.ndarray]:
    """A flop of each class, similar flops side by side, and how many flops are in each class."""
    cards = np.array(list(combinations(range(len(CARDS)), 3)))
    orders = np.array(list(permutations(range(4))))
    # (flops, orders of the suits, cards): of all flops that are alike the last one is taken.
    alike = np.sort(cards[:, None] // 4 * 4 + orders[:, cards % 4].swapaxes(0, 1))[..., ::-1]
    codes = (alike @ np.array([len(CARDS) ** 2, len(CARDS), 1])).max(axis=1)
    found, sizes = np.unique(codes, return_counts=True)
    flops_ = [
        (c // len(CARDS) ** 2, c // len(CARDS) % len(CARDS), c % len(CARDS)) for c in found.tolist()
    ]
    order = sorted(range(len(flops_)), key=lambda k: _texture(flops_[k]))
    return [flops_[k] for k in order], sizes[order]


def _texture(cards: tuple[int, ...]) -> tuple[int, ...]:
    """What makes flops alike, the most important first: suits, pairs, then ranks."""
    ranks, suits = zip(*(divmod(card, 4) for card in cards), strict=True)
    return (len(set(suits)), len(set(ranks)), *ranks, *suits)


@checked()
def flops(count: Annotated[int, Whole(1, N_CLASSES)] = N_CLASSES) -> list[Flop]:
    """Flops that represent all 22,100.

    All classes of flops that differ in suits alone, with their shares; or fewer: the classes are
    laid side by side, those of the same suits, pairs and high cards together, and flops are taken
    at equal distances.  So suits, pairs and high cards occur about as often as among all flops.

    >>> [flop.board for flop in flops(3)]
    ['7s6h4s', 'As5h2h', 'Qs7h4d']

    Args:
        count: How many flops.

    Raises:
        ValueError: There are not so many.
    """
    classes, sizes = _classes()
    if count == N_CLASSES:
        chosen, weights = np.arange(N_CLASSES), sizes / N_FLOPS
    else:
        ends = np.cumsum(sizes)
        taken = np.searchsorted(ends, (np.arange(count) + 0.5) * N_FLOPS / count, side="right")
        chosen, times = np.unique(taken, return_counts=True)
        weights = times / count
    return [
        Flop("".join(CARDS[card] for card in classes[k]), float(weight))
        for k, weight in zip(chosen.tolist(), weights, strict=True)
    ]
