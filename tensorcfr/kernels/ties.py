"""Ties: instantaneous regrets that are rounding count as exactly 0.

Double precision has a bound that is made before the first iteration, from the payoffs; see
:mod:`tensorcfr.solvers.scales`.  In single precision, where reaches are rounded to 2^-24, such a
bound would hide true regrets wherever the opponents seldom get.  There regrets are compared with
the counterfactual values that they come from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._util.jit import chosen, inlined
from .descent import like
from .parts import Lanes, Rows

ROUNDING = 2.0**-48
"""An instantaneous regret is rounding up to this share of the scale of its bucket."""
SINGLE_ROUNDING = 2.0**-20
"""In single precision: up to this share of the largest counterfactual value of its infoset."""


@inlined
def exact(instant: float, least: float, zero: float) -> float:
    """An instantaneous regret, 0 where it is but rounding."""
    return zero if abs(instant) <= least else instant


def _is_double(value: Any) -> bool:
    """Whether an array, or its type, is of double precision."""
    return str(value.dtype) == "float64"


@chosen
def least_of(value: np.ndarray, bound: float, size: float) -> Any:
    """Up to where instantaneous regrets are rounding.

    Args:
        value: Counterfactual values; their floats count.
        bound: What is known from the payoffs; 0 in single precision.
        size: The size of the values.
    """
    return (lambda value, bound, size: bound) if _is_double(value) else _share_of_size


@inlined
def _share_of_size(value: np.ndarray, bound: float, size: float) -> float:
    return max(bound, like(value[0], SINGLE_ROUNDING) * like(value[0], size))


@chosen
def find_least(value: np.ndarray, lanes: Lanes, rows: Rows) -> Any:
    """:func:`least_of` for each of some infosets, in ``rows.least``."""
    return _bound_of_all if _is_double(value) else _shares_of_sizes


@inlined
def _bound_of_all(value: np.ndarray, lanes: Lanes, rows: Rows) -> None:
    rows.least[: lanes.length] = rows.bound


@inlined
def _shares_of_sizes(value: np.ndarray, lanes: Lanes, rows: Rows) -> None:
    least, share = rows.least, like(value[0], SINGLE_ROUNDING)
    least[: lanes.length] = rows.bound
    for a in range(lanes.actions):
        q = value[lanes.at + a * lanes.stride :]
        for lane in range(lanes.length):
            least[lane] = max(least[lane], share * abs(q[lane]))
