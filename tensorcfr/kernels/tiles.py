"""Lanes that kernels handle together, and their parents: the sequences before their infosets."""

from __future__ import annotations

import numpy as np

from .._util.jit import inlined

TILE = 256
"""Lanes of a tile: what a pass reads twice is then still in the first cache level."""
TILE_ROWS = 5
"""Rows of scratch of a tile."""
RUN = 64
"""Lanes that are looked at together: their parents are often consecutive."""


@inlined
def consecutive(parent: np.ndarray, count: int) -> bool:
    """Whether the first parents are consecutive numbers."""
    first, apart = np.int64(parent[0]), np.int64(0)
    for lane in range(count):
        apart |= np.int64(parent[lane]) ^ (first + lane)
    return apart == 0


@inlined
def scatter(v: np.ndarray, parent: np.ndarray, length: int, array: np.ndarray) -> None:
    """``array[parent[lane]] += v[lane]``, many at a time where parents are consecutive.

    Args:
        v: float (at least length,).
        parent: int (at least length,).
        length: Lanes.
        array: float: modified in place.
    """
    for begin in range(0, length, RUN):
        count = min(RUN, length - begin)
        part, own = parent[begin:], v[begin:]
        if consecutive(part, count):
            whole = array[part[0] :]
            for lane in range(count):
                whole[lane] += own[lane]
        else:
            for lane in range(count):
                array[part[lane]] += own[lane]
