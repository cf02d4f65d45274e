"""Record of a kind of parts of the payoff operator: arrays, kernels and invariants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from .product_share import ProductShare


class FormReader(Protocol):
    """Sequence form under check; see :class:`tensorcfr.compilers.invariants.reader.Reader`."""

    @property
    def form(self) -> Any:
        """Sequence form, whose other arrays have been checked."""

    def sequence(self, sequence: int) -> str:
        """Describe a sequence, for error messages."""

    def sequence_bucket(self, sequence: np.ndarray) -> np.ndarray:
        """Return the bucket of each sequence, int64."""


class PayoffKind(NamedTuple):
    """Kind of parts of the payoff operator."""

    name: str
    """Name in files and in the names of arrays.  Kinds whose arrays are equally named share it."""
    part: Any
    """Named tuple with the methods of :class:`tensorcfr.payoff.PayoffPart`; the annotations of its
    fields are the dtypes and shapes of its arrays."""
    add: Callable[[Any, ProductShare], None]
    """Piece of kernels that adds a share of the product of a part."""
    scratch: Callable[[Any], int]
    """Piece of kernels that returns the number of scratch numbers that a part needs."""
    invariants: tuple[tuple[str, str, Callable[[Any, FormReader], None]], ...]
    """Number, name and check of each invariant; see
    :func:`tensorcfr.compilers.invariants.all_invariants`."""
    by_board: tuple[str, ...] = ()
    """Names of the arrays in which shapes of equal structure may differ."""
    one_thread: bool = False
    """True if one thread computes the product of a flat game.  This is faster if the other threads
    would wait for it, and then fetch its results from another core's cache."""
