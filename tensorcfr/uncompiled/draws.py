"""Random numbers of the kernels' generator, one at a time in Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..kernels.random import fill

AHEAD = 4096
"""Maximum number of random numbers per call of the kernel."""
FEWEST = 64
"""Number of random numbers in the first call: a few plays need few."""


def draws(state: np.ndarray) -> Iterator[float]:
    """Yield the numbers in [0, 1) of a generator of :mod:`tensorcfr.kernels.random`.

    Args:
        state: uint64 (4,): initial state of the generator; copied.
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
    """Return the index of the action that a uniform number in [0, 1) selects.

    An action of probability 0 is never selected.
    """
    if len(strategy) == 2:
        return int(number >= strategy[0])
    # If the probabilities sum to slightly less than 1, the last positive action is selected.
    chosen = 0
    for index, probability in enumerate(strategy):
        if probability > 0.0:
            chosen = index
            number -= probability
            if number < 0.0:
                break
    return chosen
