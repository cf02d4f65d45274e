"""The random numbers of the kernels, one at a time in Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..kernels.random import fill

AHEAD = 4096
"""Numbers that one call of the kernel makes, at most."""
FEWEST = 64
"""Numbers that the first call makes: a few plays need few."""


def draws(state: np.ndarray) -> Iterator[float]:
    """The numbers in [0, 1) of a generator of :mod:`tensorcfr.kernels.random`.

    Args:
        state: uint64 (4,): the state to begin with; copied.
    """
    state, count = state.copy(), FEWEST
    while True:
        numbers = np.empty(count)
        # The generator's sums wrap around by design; numpy warns about that with the JIT off.
        with np.errstate(over="ignore"):
            fill(state, numbers)
        yield from numbers.tolist()
        count = min(4 * count, AHEAD)


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
