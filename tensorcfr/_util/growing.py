"""One-dimensional array that grows by appending."""

from __future__ import annotations

from typing import Any

import numpy as np

STEP = 16
"""A full array grows by its length divided by this number."""


class GrowingArray:
    """One-dimensional array that grows by appending.

    It grows in place: for a large array the C library moves pages instead of copying, so that the
    numbers are never in memory twice.

    Args:
        dtype: Dtype of the numbers.
    """

    def __init__(self, dtype: Any) -> None:
        self._array = np.empty(0, dtype=dtype)
        self.size = 0
        """Number of appended numbers."""

    def append(self, part: np.ndarray) -> int:
        """Append the numbers of an array; return the index of the first of them."""
        begin, end = self.size, self.size + part.size
        if end > len(self._array):
            capacity = len(self._array) + max(len(self._array) // STEP, 1 << 10)
            # Slices of the array are never handed out, so no reference to the old memory is left.
            self._array.resize(max(end, capacity), refcheck=False)
        self._array[begin:end] = part.ravel()
        self.size = end
        return begin

    def finish(self) -> np.ndarray:
        """Return the array of all numbers; nothing can be appended afterwards."""
        array = self._array
        array.resize(self.size, refcheck=False)
        return array
