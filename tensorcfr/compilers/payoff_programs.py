"""Programs of the payoff operator: how to multiply by a matrix of hands in few operations.

What a program consists of, and how it is encoded, is described at
:class:`~tensorcfr.model.arrays.PayoffBlocks`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .._util import limits


@dataclass(frozen=True)
class Program:
    """How to compute one player's part of a matrix product; see :class:`PayoffBlocks`."""

    pools: list[tuple[np.ndarray, np.ndarray]]
    """Per pool, hands of the other player and their weights."""
    terms: list[tuple[np.ndarray, np.ndarray]]
    """Per class, pools and their weights."""
    rows: list[tuple[np.ndarray, np.ndarray]]
    """Per class, the player's hands and their weights."""
    chained: bool
    """Whether every class but the first begins with the sum of the class before."""

    @property
    def loops(self) -> int:
        """Loops over the terminals of a block."""
        return sum(len(hands) for part in (self.pools, self.terms, self.rows) for hands, _ in part)


def find_program(table: np.ndarray) -> Program:
    """A short program for multiplying by a matrix.

    Args:
        table: float64 (own hands, other's hands): probability times utility.
    """
    columns, weights = _proportional(table.T)
    pools = list(zip(columns, weights, strict=True))
    reduced = (
        np.stack([table[:, hands[0]] / own[0] for hands, own in pools], axis=1)
        if pools
        else (np.empty((len(table), 0)))
    )
    members, multiples = _proportional(reduced)
    scaled = np.array(
        [reduced[hands[0]] / own[0] for hands, own in zip(members, multiples, strict=True)]
    ).reshape(len(members), len(pools))
    terms = [np.flatnonzero(row) for row in scaled]
    count = sum(map(len, terms))
    if count >= limits.CHAIN_FROM_TERMS:
        by_strength = np.argsort(scaled.sum(axis=1), kind="stable")
        step = scaled[by_strength]
        change = np.diff(step, axis=0, prepend=0.0)
        change[np.abs(change) <= limits.PAYOFF_ROUNDING * np.abs(step).max()] = 0.0
        if 2 * np.count_nonzero(change) <= count:
            return Program(
                pools,
                [(np.flatnonzero(row), row[row != 0]) for row in change],
                [(members[i], multiples[i]) for i in by_strength.tolist()],
                chained=True,
            )
    return Program(
        pools,
        [(at, row[at]) for at, row in zip(terms, scaled, strict=True)],
        list(zip(members, multiples, strict=True)),
        chained=False,
    )


def _proportional(rows: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Classes of rows that are positive multiples of each other; rows of zeros are omitted.

    Returns:
        For each class, int64: its rows; and float64: the multiple of each.
    """
    size = np.abs(rows).max(axis=1, initial=0.0)
    classes: dict[bytes, list[list[int]]] = {}
    for index in np.flatnonzero(size).tolist():
        scaled = rows[index] / size[index]
        key = (np.round(scaled, limits.HASH_DECIMALS) + 0.0).tobytes()
        candidates = classes.setdefault(key, [])
        for members in candidates:
            first = rows[members[0]] / size[members[0]]
            if (np.abs(scaled - first) <= limits.PAYOFF_ROUNDING).all():
                members.append(index)
                break
        else:
            candidates.append([index])
    found = sorted(members for candidates in classes.values() for members in candidates)
    hands = [np.array(members) for members in found]
    return hands, [size[members] for members in hands]


def encode(program: Program) -> tuple[list[int], list[float]]:
    """The code of a program, and a weight for each number of the code."""
    code: list[int] = []
    weight: list[float] = []

    def emit(numbers: Iterable[int], weights: Iterable[float]) -> None:
        code.extend(numbers)
        weight.extend(weights)

    def emit_list(hands: np.ndarray, weights: np.ndarray) -> None:
        emit([len(hands), *hands.tolist()], [0.0, *weights.tolist()])

    emit([len(program.pools)], [0.0])
    for pool in program.pools:
        emit_list(*pool)
    emit([len(program.rows)], [0.0])
    for index, (term, row) in enumerate(zip(program.terms, program.rows, strict=True)):
        emit([int(program.chained and index > 0)], [0.0])
        emit_list(*term)
        emit_list(*row)
    return code, weight
