"""Arrays aligned to cache lines."""

from __future__ import annotations

import numpy as np

ALIGNMENT = 64
"""Bytes of a cache line, and of the widest vector register."""


def aligned(shape: tuple[int, ...] | int, dtype: np.dtype) -> np.ndarray:
    """Return an array of zeros whose address is a multiple of :data:`ALIGNMENT` bytes."""
    size = int(np.prod(shape)) * dtype.itemsize
    buffer = np.zeros(size + ALIGNMENT, dtype=np.uint8)
    # Bytes from the allocated address up to the next multiple.
    begin = -buffer.ctypes.data % ALIGNMENT
    return buffer[begin : begin + size].view(dtype).reshape(shape)
