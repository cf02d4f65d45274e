"""The random numbers of the kernels, one at a time in Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernels.random import fill

AHEAD = 4096
"""Numbers that one call of the kernel makes, at most."""
FEWEST = 64
"""Numbers that the first call makes: a short solve needs few."""


class Draws:
    """A generator of :mod:`tensorcfr.kernels.random`, called for the next number in [0, 1).

    Args:
        state: uint64 (4,): the state to begin with; copied.
    """

    def __init__(self, state: np.ndarray) -> None:
        self._state = state.copy()
        self._numbers: list[float] = []
        self._pop, self._next = self._numbers.pop, FEWEST
        fill(state.copy(), np.empty(0))  # Compiled now, and not within an iteration.

    def __call__(self) -> float:
        """The next number."""
        try:
            return self._pop()
        except IndexError:
            self._make()
            return self._pop()

    def _make(self) -> None:
        numbers = np.empty(self._next)
        # The generator's sums wrap around by design; numpy warns about that with the JIT off.
        with np.errstate(over="ignore"):
            fill(self._state, numbers)
        self._numbers[:] = numbers[::-1].tolist()
        self._next = min(4 * self._next, AHEAD)


def sample_action(strategy: Sequence[float], number: float) -> int:
    """The action that a number uniform in [0, 1) draws; never one of probability 0."""
    if len(strategy) == 2:
        return int(number >= strategy[0])
    chosen = 0
    for index, probability in enumerate(strategy):
        if probability > 0.0:
            chosen = index
            number -= probability
            if number < 0.0:
                break
    return chosen
