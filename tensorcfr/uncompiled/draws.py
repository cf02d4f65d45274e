"""The random numbers of the kernels, one at a time in Python."""

from __future__ import annotations

import numpy as np

from ..kernels.random import fill

AHEAD = 4096
"""Numbers that one call of the kernel makes, at most."""
FEWEST = 64
"""Numbers that the first call makes: a short solve needs few."""

Mark = tuple[np.ndarray, int]
"""A position: a state of the generator, and how many numbers were drawn since."""


class Draws:
    """A generator of :mod:`tensorcfr.kernels.random`, called for the next number in [0, 1).

    Args:
        state: uint64 (4,): the state to begin with; copied.
    """

    def __init__(self, state: np.ndarray) -> None:
        self._base, self._ahead = state.copy(), state.copy()
        self._numbers: list[float] = []
        self._pop, self._made, self._next = self._numbers.pop, 0, FEWEST
        fill(state.copy(), np.empty(0))  # Compiled now, and not within an iteration.

    def __call__(self) -> float:
        """The next number."""
        try:
            return self._pop()
        except IndexError:
            self._make()
            return self._pop()

    def _make(self) -> None:
        self._base = self._ahead.copy()
        numbers = np.empty(self._next)
        # The generator's sums wrap around by design; numpy warns about that with the JIT off.
        with np.errstate(over="ignore"):
            fill(self._ahead, numbers)
        self._numbers[:] = numbers[::-1].tolist()
        self._made, self._next = len(numbers), min(4 * self._next, AHEAD)

    def mark(self) -> Mark:
        """The position, for :meth:`rewind`."""
        return self._base, self._made - len(self._numbers)

    def rewind(self, mark: Mark) -> None:
        """Go back to a position."""
        state, drawn = mark
        self._base, self._ahead = state, state.copy()
        self._made = 0
        self._numbers.clear()
        for _ in range(drawn):
            self()

    @property
    def state(self) -> np.ndarray:
        """uint64 (4,): the state from which the numbers go on."""
        base, drawn = self.mark()
        state = base.copy()
        with np.errstate(over="ignore"):
            fill(state, np.empty(drawn))
        return state
