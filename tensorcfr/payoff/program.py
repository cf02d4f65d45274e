"""Programs: how a hand-by-hand payoff matrix is multiplied with few operations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

Terms = tuple[np.ndarray, np.ndarray]
"""int64 (terms,): hands or pools; float64 (terms,): their weights."""


class Class(NamedTuple):
    """Hands of the player whose rows are multiples of one sum."""

    chained: bool
    """Whether the sum begins with that of the class before."""
    pools: Terms
    """The pools that are summed, and their weights."""
    hands: Terms
    """The hands, and the multiple of the sum that each gets."""


@dataclass(frozen=True)
class Program:
    """A product with a matrix of hands, as sums of few terms; one player's side.

    Hands of the other player in fixed proportion are *pooled* first.  Rows of the player in fixed
    proportion are computed once, as a *class*.  A class may begin with the sum of the class
    before: that makes the prefix sum of a showdown between ranks.
    """

    pools: list[Terms]
    """Hands of the other player."""
    classes: list[Class]
    """Hands of the player."""

    @property
    def n_terms(self) -> int:
        """Terms of all sums: loops over the terminals of a block."""
        pooled = sum(len(hands) for hands, _ in self.pools)
        return pooled + sum(len(one.pools[0]) + len(one.hands[0]) for one in self.classes)

    @cached_property
    def own(self) -> np.ndarray:
        """int64: hands of the player that the program mentions, ascending."""
        return _mentioned([one.hands for one in self.classes])

    @cached_property
    def others(self) -> np.ndarray:
        """int64: hands of the other player that the program mentions, ascending."""
        return _mentioned(self.pools)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Multiply by the matrix.

        Args:
            x: float64 (hands of the other player, columns); either player's hands may be
                padded, to one number for both.

        Returns:
            float64 (hands of the player, columns).
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
        """The numbers that kernels read, and a weight parallel to each.

        In order: the number of pools; for each pool the number of hands and the hands; the number
        of classes; for each class whether it begins with the sum of the class before, the number
        of pools and the pools, the number of rows and the hands.
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
        for one in self.classes:
            emit([int(one.chained)], [0.0])
            emit_terms(one.pools)
            emit_terms(one.hands)
        return code, weight


def _mentioned(parts: list[Terms]) -> np.ndarray:
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(one for one, _ in parts)]))


def read_program(code: np.ndarray, weight: np.ndarray, begin: int, end: int) -> Program:
    """Decode a program.

    Args:
        code: int64: the numbers of all programs, as :meth:`Program.encode` writes them.
        weight: float64, parallel to ``code``.
        begin: Where the program begins in ``code``.
        end: Where it ends.

    Raises:
        ValueError: The numbers are no program; says where in ``code``.
    """
    at = begin

    def number(most: int | None = None) -> int:
        nonlocal at
        if at == end:
            raise ValueError(f"the program does not end at blocks.code[{end}]")
        found = int(code[at])
        if found < 0 or (most is not None and found > most):
            raise ValueError(f"blocks.code[{at}] is {found}")
        if weight[at]:
            raise ValueError(f"blocks.weight[{at}] is {weight[at]}, beside no hand and no term")
        at += 1
        return found

    def terms(most: int | None = None) -> Terms:
        nonlocal at
        first = at + 1
        at = first + number(end - first)
        items = code[first:at]
        wrong = (items < 0) | (items > (items if most is None else most))
        if wrong.any():
            at = first + int(wrong.argmax())
            raise ValueError(f"blocks.code[{at}] is {code[at]}")
        return items, weight[first:at]

    pools = [terms() for _ in range(number())]
    classes = [
        Class(bool(number(int(one > 0))), terms(len(pools) - 1), terms()) for one in range(number())
    ]
    if at != end:
        raise ValueError(f"the program ends at blocks.code[{at}], not [{end}]")
    return Program(pools, classes)
