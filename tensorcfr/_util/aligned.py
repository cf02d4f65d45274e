"""Arrays that begin where a line of the cache does."""

from __future__ import annotations

import numpy as np

ALIGNMENT = 64
"""Bytes of a line of the cache, and of the widest vector."""


def aligned(shape: tuple[int, ...] | int, dtype: np.dtype) -> np.ndarray:
    """Zeros that begin at a multiple of :data:`ALIGNMENT` bytes."""
    size = int(np.prod(shape)) * dtype.itemsize
    room = np.zeros(size + ALIGNMENT, dtype=np.uint8)
    begin = -room.ctypes.data % ALIGNMENT
    return room[begin : begin + size].view(dtype).reshape(shape)
