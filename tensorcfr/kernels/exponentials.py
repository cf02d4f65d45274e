"""Exponential and logarithm that the compiler vectorises: arithmetic only, no calls or branches.

For ``math.exp`` the compiler calls the C library for one number at a time.  That takes longer than
all other work of a rule at an infoset.  Called from Python, these functions use :mod:`math`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from .._util.jit import overload_piece

LEAST = -708.0
"""Smallest exponent; smaller ones are replaced by it.  Its exponential is 3e-308."""
LEAST_SHARE = 1e-30
"""Largest probability that counts as 0.  Products of smaller ones would be subnormal numbers, with
which arithmetic takes ten times as long."""
ROUNDER = 1.5 * 2.0**52
"""Constant that rounds: added to a number up to 2**51, it leaves the nearest whole number in the
lowest bits."""
ROUNDER_BITS = 0x4338000000000000
LOG2_E = 1.0 / math.log(2.0)
# The logarithm of 2 in two parts; the first has zeros in the end, so that its multiples are exact.
LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD


def exponential(x: float) -> float:
    """Return ``exp(x)`` for ``x`` up to 700, to two units in the last place; never 0."""
    return math.exp(max(x, LEAST))


def logarithm(x: float) -> float:
    """Return ``log(x)`` for ``x`` from 1, to two units in the last place."""
    return math.log(x)


def _reinterpreted(to: Any) -> Callable[..., Any]:
    @intrinsic
    def reinterpret(context, value):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.bitcast(arguments[0], context.get_value_type(to))

        return to(value), generate

    return reinterpret


_bits, _float = _reinterpreted(types.int64), _reinterpreted(types.float64)


@overload_piece(exponential)
def _exponential(x):  # type: ignore[no-untyped-def]
    def compute(x):  # type: ignore[no-untyped-def]
        # exp(x) = 2^n exp(r), with n a whole number and |r| at most ln(2) / 2.
        clamped = max(x, LEAST)
        shifted = clamped * LOG2_E + ROUNDER
        n = shifted - ROUNDER
        r = (clamped - n * LN2_HIGH) - n * LN2_LOW
        # Taylor series up to r^13 / 13!; the next term is below 2^-57.
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = (p * r) * r + r + 1.0
        # Multiply by 2^n: add n to the exponent bits.
        return _float(_bits(p) + ((_bits(shifted) - ROUNDER_BITS) << 52))

    return compute


@overload_piece(logarithm)
def _logarithm(x):  # type: ignore[no-untyped-def]
    def compute(x):  # type: ignore[no-untyped-def]
        # log(x) = k ln(2) + log(m), with m from sqrt(1/2) to sqrt(2), and k from 0 because x >= 1.
        bits = _bits(x)
        k = (bits - SQRT_HALF_BITS) >> 52
        m = _float(bits - (k << 52))
        n = _float(k + ROUNDER_BITS) - ROUNDER
        # log(m) = 2 atanh(s), by the series of atanh up to s^19 / 19; the next term is below 2^-55.
        s = (m - 1.0) / (m + 1.0)
        z = s * s
        p = 1.0 / 19.0
        p = p * z + 1.0 / 17.0
        p = p * z + 1.0 / 15.0
        p = p * z + 1.0 / 13.0
        p = p * z + 1.0 / 11.0
        p = p * z + 1.0 / 9.0
        p = p * z + 1.0 / 7.0
        p = p * z + 1.0 / 5.0
        p = p * z + 1.0 / 3.0
        return n * LN2_HIGH + (2.0 * s + (2.0 * s * (z * p) + n * LN2_LOW))

    return compute
