"""Arrays that are kept as long as they are few."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

BYTES = 1 << 26
"""Bytes of the arrays that :class:`Recent` keeps, somewhat more for a moment."""


class Recent:
    """Arrays by number, made when they are asked for.  All are forgotten when they are many."""

    def __init__(self) -> None:
        self._kept: dict[int, np.ndarray] = {}

    def get(self, number: int, make: Callable[[int], np.ndarray]) -> np.ndarray:
        """The array of a number, which ``make`` makes if it is not kept."""
        if number not in self._kept:
            made = make(number)
            if sum(array.nbytes for array in self._kept.values()) > BYTES:
                self._kept.clear()
            self._kept[number] = made
        return self._kept[number]
