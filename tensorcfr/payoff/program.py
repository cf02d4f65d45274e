"""Programs: hand-by-hand payoff matrices as products with few operations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

Terms = tuple[np.ndarray, np.ndarray]
"""Hands or pools, int64 (terms,), and their weights, float64 (terms,)."""


class Class(NamedTuple):
    """Hands of the player whose rows of the matrix are multiples of one sum."""

    chained: bool
    """True if the sum begins with the sum of the class before."""
    pools: Terms
    """Pools that are summed, and their weights."""
    hands: Terms
    """Hands of the class, and the factor of the sum for each."""


@dataclass(frozen=True)
class Program:
    """Product with a hand-by-hand matrix, as sums of few terms, for one player.

    Hands of the other player with proportional columns are *pooled* first.  Own hands with
    proportional rows are computed once, as a *class*.  A class may begin with the sum of the class
    before, which makes the prefix sums of a showdown between ranks.
    """

    pools: list[Terms]
    """Pools of the other player's hands."""
    classes: list[Class]
    """Classes of the player's hands."""

    @property
    def n_terms(self) -> int:
        """Number of terms of all sums; each is a loop over the terminals of a block."""
        pooled = sum(len(hands) for hands, _ in self.pools)
        return pooled + sum(
            len(hand_class.pools[0]) + len(hand_class.hands[0]) for hand_class in self.classes
        )

    @cached_property
    def own(self) -> np.ndarray:
        """Hands of the player in the program, int64 (hands,), ascending."""
        return _distinct_items([hand_class.hands for hand_class in self.classes])

    @cached_property
    def others(self) -> np.ndarray:
        """Hands of the other player in the program, int64 (hands,), ascending."""
        return _distinct_items(self.pools)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Multiply by the matrix.

        Args:
            x: float64 (hands of the other player, columns); may be padded to the larger number of
                hands.

        Returns:
            float64 (hands of the player, columns), with the shape of ``x``.
        """
        pooled = np.zeros((len(self.pools), x.shape[1]))
        for pool, (hands, weight) in zip(pooled, self.pools, strict=True):
            pool[:] = weight @ x[hands]
        out = np.zeros_like(x, dtype=np.float64)
        total = np.zeros(x.shape[1])
        for chained, (pools, weight), (hands, multiple) in self.classes:
            total = weight @ pooled[pools] + (total if chained else 0.0)
            out[hands] += multiple[:, None] * total
        return out

    def encode(self) -> tuple[list[int], list[float]]:
        """Encode the program as integers for kernels, with a parallel weight each.

        First comes the number of pools, then for each pool the number of hands and the hands.  Then
        follow the number of classes, and for each class

        1. 1 if it is chained, otherwise 0,
        2. the number of pools, and the pools,
        3. the number of hands, and the hands.
        """
        code: list[int] = []
        weight: list[float] = []

        def emit(numbers: Iterable[int], weights: Iterable[float]) -> None:
            code.extend(numbers)
            weight.extend(weights)

        def emit_terms(terms: Terms) -> None:
            emit([len(terms[0]), *terms[0].tolist()], [0.0, *terms[1].tolist()])

        emit([len(self.pools)], [0.0])
        for pool in self.pools:
            emit_terms(pool)
        emit([len(self.classes)], [0.0])
        for hand_class in self.classes:
            emit([int(hand_class.chained)], [0.0])
            emit_terms(hand_class.pools)
            emit_terms(hand_class.hands)
        return code, weight


def _distinct_items(terms: list[Terms]) -> np.ndarray:
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(items for items, _ in terms)]))


def read_program(code: np.ndarray, weight: np.ndarray, begin: int, end: int) -> Program:
    """Decode a program.

    Args:
        code: int64 (code,): the programs, encoded by :meth:`Program.encode`.
        weight: float64 (code,): weights parallel to ``code``.
        begin: Index in ``code`` at which the program begins.
        end: Index after its last number.

    Raises:
        ValueError: The numbers are not a program; the message names the index in ``code``.
    """
    i, unweighted = begin, list[int]()  # Indices without a weight.

    def number(largest: int | None = None) -> int:
        nonlocal i
        if i == end:
            raise ValueError(f"the program does not end at blocks.code[{end}]")
        integer = int(code[i])
        if integer < 0 or (largest is not None and integer > largest):
            raise ValueError(f"blocks.code[{i}] is {integer}")
        unweighted.append(i)
        i += 1
        return integer

    def terms(largest: int | None = None) -> Terms:
        nonlocal i
        first = i + 1
        i = first + number(end - first)
        items = code[first:i]
        wrong = (items < 0) | (items > (items if largest is None else largest))
        if wrong.any():
            i = first + int(wrong.argmax())
            raise ValueError(f"blocks.code[{i}] is {code[i]}")
        return items, weight[first:i]

    pools = [terms() for _ in range(number())]
    classes = [
        Class(bool(number(int(k > 0))), terms(len(pools) - 1), terms()) for k in range(number())
    ]
    if i != end:
        raise ValueError(f"the program ends at blocks.code[{i}], not [{end}]")
    for i in unweighted:
        if weight[i]:
            raise ValueError(
                f"blocks.weight[{i}] is {weight[i]}, not 0, where code has no hand and no pool"
            )
    return Program(pools, classes)
