"""Cache of arrays with a limit of their bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

BYTES = 1 << 26
"""Bytes of arrays in a :class:`Recent`; the newest array may exceed them."""


class Recent:
    """Arrays by number, created on demand. All are dropped once they exceed :data:`BYTES`."""

    def __init__(self) -> None:
        self._arrays: dict[int, np.ndarray] = {}

    def get(self, number: int, make: Callable[[int], np.ndarray]) -> np.ndarray:
        """Return the array of a number; call ``make`` if it is not stored."""
        if number not in self._arrays:
            new_array = make(number)
            if sum(array.nbytes for array in self._arrays.values()) > BYTES:
                self._arrays.clear()
            self._arrays[number] = new_array
        return self._arrays[number]
