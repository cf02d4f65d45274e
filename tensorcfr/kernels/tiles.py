"""Lanes that kernels handle together, and their parents: the sequences before their infosets.

Kernels take whole arrays and where to begin, ``array[first + lane]`` with numbers of uint64, which
numba knows not to count from the end: such loops are vectorised.  A view for each of them would
cost an atomic count, and there are as many as tiles.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import inlined

TILE = 256
"""Lanes of a tile: what a pass reads twice is then still in the first cache level."""
LONGEST = 1536
"""Lanes of a tile with consecutive parents, at most: the hands of hold'em on a board are one."""
TILE_ROWS = 5
"""Rows of scratch of a tile."""
RUN = 64
"""So many lanes or more with consecutive parents are a tile of their own."""


@inlined
def consecutive(parent: np.ndarray, begin: int, count: int) -> bool:
    """Whether ``parent[begin]`` and those after it, ``count`` together, are consecutive numbers."""
    # In 32 bits, which are twice as many lanes at a time.
    at, first, apart = np.uint64(begin), np.uint32(parent[begin]), np.uint32(0)
    for lane in range(np.uint64(count)):
        apart = np.uint32(apart | np.uint32(parent[at + lane] ^ np.uint32(first + lane)))
    return apart == 0


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


@inlined
def gather(
    array: np.ndarray, parent: np.ndarray, begin: int, length: int, is_run: bool, v: np.ndarray
) -> None:
    """``v[lane] = array[parent[begin + lane]]``.

    Args:
        array: float.
        parent: int (at least begin + length,).
        begin: The first lane.
        length: Lanes.
        is_run: Whether the parents are consecutive.
        v: float (at least length,): modified in place.
    """
    at, first = np.uint64(begin), np.uint64(parent[begin])
    # Two loops to the compiler.  With two loops here, arrays would be counted for each tile.
    for lane in range(np.uint64(length)):
        v[lane] = array[first + lane if is_run else np.uint64(parent[at + lane])]


@inlined
def scatter(
    v: np.ndarray, parent: np.ndarray, begin: int, length: int, is_run: bool, array: np.ndarray
) -> None:
    """``array[parent[begin + lane]] += v[lane]``; arguments as for :func:`gather`, ``array`` is
    modified in place."""
    at, first = np.uint64(begin), np.uint64(parent[begin])
    for lane in range(np.uint64(length)):
        array[first + lane if is_run else np.uint64(parent[at + lane])] += v[lane]
