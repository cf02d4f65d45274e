"""Scale extreme payoffs, 1e-310 or 5e307, to a unit near their size.

Regrets are sums of payoffs times probabilities, and weights make them larger still: at the ends of
the range of floats, sums overflow, products vanish, and every strategy stays uniform without an
error.  The compiler divides the payoffs of such a game by a power of two, which changes no digit.
Results are multiplied by it when shown.  Payoffs between ``SMALLEST`` and ``LARGEST`` (far from
both ends of the range, in single precision too) stay unchanged.
"""

from __future__ import annotations

import numpy as np

from ..errors import GameError

SMALLEST, LARGEST = 2.0**-40, 2.0**40
"""Range of the largest payoff of a game with unit 1: about 1e-12 to 1e12."""


def unit_of(largest: float) -> float:
    """The unit for a given largest absolute payoff: 1 or a power of two."""
    if largest == 0.0 or SMALLEST <= largest <= LARGEST:
        return 1.0
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1))


def check_range(name: str, utilities: np.ndarray, least_sum: float | None = None) -> None:
    """Refuse payoffs whose differences are not finite.

    Args:
        name: The game.
        utilities: float64 (terminals, players): finite; or the least and the largest of each
            player, with the least sum at a terminal.
        least_sum: That sum; without it, it is that of the utilities.

    Raises:
        GameError: The gain of a best response, or the sum of gains, may be infinite.
    """
    if not len(utilities) or least_sum == np.inf:
        return
    with np.errstate(over="ignore"):
        most = utilities.max(axis=0)
        gains = most - utilities.min(axis=0)
        total = most.sum() - (utilities.sum(axis=1).min() if least_sum is None else least_sum)
    if not (np.isfinite(gains).all() and np.isfinite(total)):
        raise GameError(
            f"{name}: utilities from {utilities.min():g} to {utilities.max():g} are too large: "
            "their differences are no finite numbers; divide them all by one number"
        )
