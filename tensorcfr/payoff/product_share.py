"""Arguments of a kernel of the payoff operator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class ProductShare(NamedTuple):
    """Share of a product with the payoff operator, for one of several threads."""

    hand_rank: np.ndarray
    """int64 (masks, hands + 1): see :class:`tensorcfr.model.arrays.SequenceForm`."""
    player: int
    """Player whose payoffs are computed."""
    number: int
    """Number of the share, from 0."""
    of: int
    """Number of shares."""
    reach: np.ndarray
    """float (sequences,): own reaches."""
    g: np.ndarray
    """float (sequences,): payoffs, modified in place."""
    scratch: np.ndarray
    """Scratch from :func:`tensorcfr.payoff.multiply.payoff_scratch`."""
    prefetch: np.ndarray | None
    """int64 (ranges, 2): first and end addresses of memory that is needed after the product, which
    may prefetch it; modified in place.  None for no prefetch."""
