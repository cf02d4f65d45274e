"""Lanes that kernels handle together, and their parents: the sequences before their infosets.

Kernels take whole arrays and where to begin, ``array[first + lane]`` with numbers of uint64, which
numba knows not to count from the end: such loops are vectorised.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import called, inlined

TILE = 256
"""Lanes of a tile: what a pass reads twice is then still in the first cache level."""
LONGEST = 1536
"""Lanes of a tile with consecutive parents, at most: the hands of hold'em on a board are one."""
TILE_ROWS = 7
"""Rows of scratch of a tile."""
RUN = 64
"""So many lanes or more with consecutive parents are a tile of their own."""


@inlined
def ascend_by(step: int, parent: np.ndarray, begin: int, count: int) -> bool:
    """Whether each of ``parent[begin]`` and those after it, ``count`` together, is larger by
    ``step`` than the one before."""
    # In 32 bits, which are twice as many lanes at a time.
    at, first, apart = np.uint64(begin), np.uint32(parent[begin]), np.uint32(0)
    for lane in range(np.uint64(count)):
        expected = np.uint32(first + np.uint32(step * lane))
        apart = np.uint32(apart | np.uint32(parent[at + lane] ^ expected))
    return apart == 0


@inlined
def consecutive(parent: np.ndarray, begin: int, count: int) -> bool:
    """Whether ``parent[begin]`` and those after it, ``count`` together, are consecutive numbers."""
    return ascend_by(np.uint64(1), parent, begin, count)


@inlined
def all_equal(parent: np.ndarray, begin: int, count: int) -> bool:
    """Whether they are the same number."""
    return ascend_by(np.uint64(0), parent, begin, count)


@inlined
def run_length(parent: np.ndarray, begin: int, most: int, guess: int) -> int:
    """How many of ``parent[begin]`` and those after it, up to ``most``, are consecutive numbers;
    ``guess``, what it was before, takes less time to find."""
    if guess <= most and consecutive(parent, begin, guess):  # noqa: SIM102
        if guess == most or np.int64(parent[begin + guess]) != np.int64(parent[begin]) + guess:
            return guess
    length = 1
    while length + RUN <= most and consecutive(parent, begin + length - 1, RUN + 1):
        length += RUN
    while length < most and np.int64(parent[begin + length]) == np.int64(parent[begin]) + length:
        length += 1
    return length


@called
def next_run(parent: np.ndarray, begin: int, most: int, guess: int) -> int:
    """:func:`run_length`, for the many places where a call takes no time: lanes of several runs."""
    return run_length(parent, begin, most, guess)


@inlined
def tile_length(alike: int, most: int) -> int:
    """Lanes of a tile that begins with so many consecutive parents, up to ``most``."""
    return min(LONGEST if alike >= RUN else TILE, most)


@inlined
def gather(
    array: np.ndarray, parent: np.ndarray, begin: int, length: int, alike: int, v: np.ndarray
) -> None:
    """``v[lane] = array[parent[begin + lane]]``, run by run.

    Args:
        array: float.
        parent: int (at least begin + length,).
        begin: The first lane.
        length: Lanes.
        alike: How many consecutive parents there are at first.
        v: float (at least length,): modified in place.
    """
    done = 0
    while done < length:
        part = min(alike if alike >= RUN else TILE, length - done)
        at, first, to = np.uint64(begin + done), np.uint64(parent[begin + done]), np.uint64(done)
        # One loop, of which the compiler makes two.
        for lane in range(np.uint64(part)):
            v[to + lane] = array[first + lane if alike >= RUN else np.uint64(parent[at + lane])]
        done += part
        if done < length:
            alike = next_run(parent, begin + done, length - done, alike)


@inlined
def scatter(
    v: np.ndarray, parent: np.ndarray, begin: int, length: int, alike: int, array: np.ndarray
) -> None:
    """``array[parent[begin + lane]] += v[lane]``; arguments as for :func:`gather`, ``array`` is
    modified in place."""
    done = 0
    while done < length:
        part = min(alike if alike >= RUN else TILE, length - done)
        at, first, of = np.uint64(begin + done), np.uint64(parent[begin + done]), np.uint64(done)
        for lane in range(np.uint64(part)):
            array[first + lane if alike >= RUN else np.uint64(parent[at + lane])] += v[of + lane]
        done += part
        if done < length:
            alike = next_run(parent, begin + done, length - done, alike)
