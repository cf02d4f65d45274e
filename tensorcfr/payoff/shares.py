"""What a kernel of the payoff operator works out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Share(NamedTuple):
    """One of several shares of a product with the payoff operator."""

    hand_rank: np.ndarray
    """As in :class:`tensorcfr.model.arrays.SequenceForm`."""
    player: int
    """Whose payoffs."""
    number: int
    """Which share."""
    of: int
    """Number of shares."""
    reach: np.ndarray
    """float (sequences,): own reaches."""
    g: np.ndarray
    """float (sequences,): modified in place."""
    scratch: np.ndarray
    """From :func:`tensorcfr.payoff.multiply.payoff_scratch`; modified."""
    soon: np.ndarray | None
    """int64 (ranges, 2): first and end addresses of memory that is needed after the product, which
    may fetch it while it computes; modified in place.  None for nothing."""
