"""An array that is appended to."""

from __future__ import annotations

from typing import Any

import numpy as np

STEP = 16
"""An array that is full grows by this part of itself."""


class GrowingArray:
    """A row of numbers that is appended to.

    It grows in place: the C library moves the pages of a large array and copies nothing, so that
    at no time the numbers are there twice.

    Args:
        dtype: Of the numbers.
    """

    def __init__(self, dtype: Any) -> None:
        self._array = np.empty(0, dtype=dtype)
        self.size = 0
        """Numbers so far."""

    def append(self, part: np.ndarray) -> int:
        """Add the numbers of an array; returns where they begin."""
        begin, end = self.size, self.size + part.size
        if end > len(self._array):
            room = len(self._array) + max(len(self._array) // STEP, 1 << 10)
            self._array.resize(max(end, room), refcheck=False)
        self._array[begin:end] = part.ravel()
        self.size = end
        return begin

    def finish(self) -> np.ndarray:
        """All numbers; nothing can be appended afterwards."""
        array = self._array
        array.resize(self.size, refcheck=False)
        return array
