"""Alias tables: a draw from many outcomes by one random number (Walker's method)."""

from __future__ import annotations

import numpy as np

from .._util.jit import inlined, kernel
from .random import draw_at

U = np.uint64


@kernel
def make_alias_tables(
    first: np.ndarray, probability: np.ndarray, threshold: np.ndarray, alias: np.ndarray
) -> None:
    """Build alias tables by Vose's algorithm.

    Source: M. Vose, IEEE Transactions on Software Engineering 17, 1991.

    Args:
        first: int64 (draws + 1,): the outcomes of draw ``k`` are ``[k]`` to ``[k + 1] - 1``.
        probability: float64 (outcomes,): probability of each outcome, up to a factor per draw.
        threshold: float64 (outcomes,): modified in place: probability with which a draw of the
            outcome's column returns the outcome itself.
        alias: uint32 (outcomes,): modified in place: outcome that the column returns otherwise.
    """
    for k in range(len(first) - 1):
        begin, end = first[k], first[k + 1]
        total = 0.0
        for i in range(begin, end):
            total += probability[i]
        small, large = np.empty(end - begin, np.int64), np.empty(end - begin, np.int64)
        n_small = n_large = 0
        for i in range(begin, end):
            threshold[i] = probability[i] / total * (end - begin)
            alias[i] = i
            if threshold[i] < 1.0:
                small[n_small] = i
                n_small += 1
            else:
                large[n_large] = i
                n_large += 1
        while n_small > 0 and n_large > 0:
            # Fill the rest of a small column from a large outcome, which may become small itself.
            n_small -= 1
            little, big = small[n_small], large[n_large - 1]
            alias[little] = big
            threshold[big] -= 1.0 - threshold[little]
            if threshold[big] < 1.0:
                n_large -= 1
                small[n_small] = big
                n_small += 1
        # The remaining thresholds are 1 up to rounding.
        for j in range(n_large):
            threshold[large[j]] = 1.0
        for j in range(n_small):
            if probability[small[j]] > 0.0:
                threshold[small[j]] = 1.0


@inlined
def draw_by_alias(
    outcome: np.ndarray,
    threshold: np.ndarray,
    first: int,
    count: int,
    generator: np.ndarray,
    place: np.uint64,
) -> np.uint64:
    """Draw an outcome by one random number, for any number of outcomes.

    Args:
        outcome: uint32 (outcomes, 2): outcome and alias.
        threshold: float64 (outcomes,).
        first: First outcome of the draw.
        count: Number of outcomes of the draw.
        generator: uint64 (4,), a script or streams; modified in place.
        place: Stream of the draw.
    """
    # Signed integers convert to floats and back in one instruction each.  The whole part of the
    # point is the column, its fraction decides between outcome and alias.
    point = draw_at(generator, place) * np.int64(count)
    column = np.int64(point)
    chosen = first + U(column)
    return U(outcome[chosen, U(point - column >= threshold[chosen])])
