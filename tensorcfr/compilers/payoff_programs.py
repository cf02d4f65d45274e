"""Programs of the payoff operator: how to multiply by a matrix of hands in few operations.

See :class:`tensorcfr.payoff.program.Program`.
"""

from __future__ import annotations

import numpy as np

from .._util import limits
from ..payoff.program import Class, Program


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
            classes = [
                Class(rank > 0, (np.flatnonzero(row), row[row != 0]), (members[i], multiples[i]))
                for rank, (row, i) in enumerate(zip(change, by_strength.tolist(), strict=True))
            ]
            return Program(pools, classes)
    classes = [
        Class(False, (at, row[at]), hands)
        for at, row, hands in zip(terms, scaled, zip(members, multiples, strict=True), strict=True)
    ]
    return Program(pools, classes)


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
