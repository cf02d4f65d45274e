"""Tiles of lanes that kernels process together, and gathers from the sequences before them.

The *parent* of a lane is the sequence before its infoset.  Hands mostly keep their order from level
to level, so parents are often consecutive numbers.  Then a gather is a plain copy.

Kernels index whole arrays, ``array[first + lane]``, with offsets of uint64.  Numba knows that these
do not count from the end, and so the loops are vectorised.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._util.jit import by_types, inlined, is_none, not_inlined
from ..model.arrays import Copies

TILE = 256
"""Number of lanes of a tile.  Arrays that a pass reads twice are then still in the first-level
cache."""
LONGEST = 1536
"""Largest number of lanes of a tile that begins with consecutive parents; the hands of hold'em on a
board are one tile."""
TILE_ROWS = 7
"""Number of scratch rows of a tile."""
RUN = 64
"""Smallest number of lanes with consecutive parents with which a tile of this length begins."""


@inlined
def ascend_by(step: int, parent: np.ndarray, begin: int, count: int) -> bool:
    """Return whether ``count`` parents from ``begin`` on increase by ``step`` each."""
    # In 32 bits, which doubles the lanes per vector; without a branch, so that it is vectorised.
    first_lane, first, difference = np.uint64(begin), np.uint32(parent[begin]), np.uint32(0)
    for lane in range(np.uint64(count)):
        expected = np.uint32(first + np.uint32(step * lane))
        difference = np.uint32(difference | np.uint32(parent[first_lane + lane] ^ expected))
    return difference == 0


@inlined
def consecutive(parent: np.ndarray, begin: int, count: int) -> bool:
    """Return whether ``count`` parents from ``begin`` on are consecutive numbers."""
    return ascend_by(np.uint64(1), parent, begin, count)


@inlined
def all_equal(parent: np.ndarray, begin: int, count: int) -> bool:
    """Return whether ``count`` parents from ``begin`` on are equal."""
    return ascend_by(np.uint64(0), parent, begin, count)


@inlined
def run_length(parent: np.ndarray, begin: int, most: int, guess: int) -> int:
    """Return the number of consecutive parents from ``begin`` on, at most ``most``.

    ``guess``, the length of the previous run, is checked first and takes less time than a search.
    """
    if guess <= most and consecutive(parent, begin, guess):  # noqa: SIM102
        if guess == most or np.int64(parent[begin + guess]) != np.int64(parent[begin]) + guess:
            return guess
    length = 1
    while length + RUN <= most and consecutive(parent, begin + length - 1, RUN + 1):
        length += RUN
    while length < most and np.int64(parent[begin + length]) == np.int64(parent[begin]) + length:
        length += 1
    return length


@not_inlined
def next_run(parent: np.ndarray, begin: int, most: int, guess: int) -> int:
    """Call :func:`run_length` without inlining it, where the time of a call does not matter."""
    return run_length(parent, begin, most, guess)


@inlined
def tile_length(n_consecutive: int, most: int) -> int:
    """Return the length of a tile, up to ``most``.

    ``n_consecutive`` is the number of consecutive parents from its first lane on.
    """
    return min(LONGEST if n_consecutive >= RUN else TILE, most)


@inlined
def gather(
    array: np.ndarray,
    parent: np.ndarray,
    begin: int,
    length: int,
    n_consecutive: int,
    v: np.ndarray,
) -> None:
    """Copy ``array[parent[begin + lane]]`` to ``v[lane]``, run by run.

    Args:
        array: float.
        parent: int (at least begin + length,).
        begin: First lane.
        length: Number of lanes.
        n_consecutive: Number of consecutive parents from ``begin`` on.
        v: float (at least length,): modified in place.
    """
    done = 0
    while done < length:
        part = min(n_consecutive if n_consecutive >= RUN else TILE, length - done)
        first_lane = np.uint64(begin + done)
        first = np.uint64(parent[begin + done])
        to = np.uint64(done)
        # The condition does not depend on the lane: the compiler makes two loops.
        for lane in range(np.uint64(part)):
            v[to + lane] = array[
                first + lane if n_consecutive >= RUN else np.uint64(parent[first_lane + lane])
            ]
        done += part
        if done < length:
            n_consecutive = next_run(parent, begin + done, length - done, n_consecutive)


@inlined
def scatter(
    v: np.ndarray,
    parent: np.ndarray,
    begin: int,
    length: int,
    n_consecutive: int,
    array: np.ndarray,
) -> None:
    """Add ``v[lane]`` to ``array[parent[begin + lane]]``, run by run.

    The arguments are those of :func:`gather`; ``array`` is modified in place.
    """
    done = 0
    while done < length:
        part = min(n_consecutive if n_consecutive >= RUN else TILE, length - done)
        first_lane = np.uint64(begin + done)
        first = np.uint64(parent[begin + done])
        of = np.uint64(done)
        for lane in range(np.uint64(part)):
            array[
                first + lane if n_consecutive >= RUN else np.uint64(parent[first_lane + lane])
            ] += v[of + lane]
        done += part
        if done < length:
            n_consecutive = next_run(parent, begin + done, length - done, n_consecutive)


@by_types
def share_values(copies: Copies | None, b: int, value: np.ndarray) -> Any:
    """Set the values of copies in a bucket to equal shares of the first copy's value.

    Args:
        copies: Actions with equal values, or None.
        b: The bucket, whose infosets have their payoffs and the values of all infosets below.
        value: float (sequences,): modified in place.
    """
    return (lambda copies, b, value: None) if is_none(copies) else _share_values


@inlined
def _share_values(copies: Copies, b: int, value: np.ndarray) -> None:
    # The first copy comes after the others, so that they read its value before it changes.
    for k in range(copies.bucket[b], copies.bucket[b + 1]):
        value[copies.sequence[k]] = value[copies.first[k]] * copies.share_of[k]
