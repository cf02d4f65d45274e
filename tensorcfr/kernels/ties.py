"""Ties: instantaneous regrets within rounding error count as exactly 0.

In double precision, the threshold is computed from the payoffs before the first iteration; see
:mod:`tensorcfr.solvers.value_bounds`.  In single precision, reaches are rounded to 2^-24, and a
threshold from the payoffs would hide true regrets wherever the opponents' reach is small.  There
the threshold is a fraction of the counterfactual values from which the regret is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._util.jit import by_types, inlined
from .forward_pass import as_precision_of
from .parts import Lanes, Rows

ROUNDING = 2.0**-48
"""Tie threshold in double precision, as a fraction of the value bound of a bucket."""
SINGLE_ROUNDING = 2.0**-20
"""Tie threshold in single precision, as a share of the largest counterfactual value of the infoset.
"""


@inlined
def round_ties(instant: float, tie_threshold: float, zero: float) -> float:
    """Return an instantaneous regret, or 0 if it is within rounding error."""
    return zero if abs(instant) <= tie_threshold else instant


def _is_double(value: Any) -> bool:
    """Return whether an array, or its numba type, has double precision."""
    return str(value.dtype) == "float64"


@by_types
def tie_threshold_of(value: np.ndarray, bound: float, size: float) -> Any:
    """Return the tie threshold of an infoset.

    Args:
        value: float: counterfactual values; only their precision is used.
        bound: Threshold of the bucket, from the payoffs; 0 in single precision.
        size: Largest absolute value of the infoset.
    """
    return (lambda value, bound, size: bound) if _is_double(value) else _rounding_of_size


@inlined
def _rounding_of_size(value: np.ndarray, bound: float, size: float) -> float:
    return max(bound, as_precision_of(value[0], SINGLE_ROUNDING) * as_precision_of(value[0], size))


@by_types
def find_tie_thresholds(value: np.ndarray, lanes: Lanes, rows: Rows) -> Any:
    """Compute ``rows.tie_threshold``, the threshold of each infoset; see
    :func:`tie_threshold_of`."""
    return _bound_of_all if _is_double(value) else _roundings_of_sizes


@inlined
def _bound_of_all(value: np.ndarray, lanes: Lanes, rows: Rows) -> None:
    # In double precision the threshold is the same for all infosets of the bucket.
    rows.tie_threshold[: lanes.length] = rows.bound


@inlined
def _roundings_of_sizes(value: np.ndarray, lanes: Lanes, rows: Rows) -> None:
    tie_threshold, rounding = rows.tie_threshold, as_precision_of(value[0], SINGLE_ROUNDING)
    tie_threshold[: lanes.length] = rows.bound
    for a in range(lanes.actions):
        q = value[lanes.first + a * lanes.stride :]
        for lane in range(lanes.length):
            tie_threshold[lane] = max(tie_threshold[lane], rounding * abs(q[lane]))
