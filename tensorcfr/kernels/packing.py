"""Arrays in 16 bits: whole numbers from -32767 to 32767, and a scale for each row of them.

A row is :data:`tensorcfr.model.chunks.ROW` numbers.  Its largest number is kept to 24 bits, by way
of the scale; all others are off by at most 2^-16 of it.
"""

from __future__ import annotations

import numpy as np
from numba.core import types
from numba.extending import overload

from .._util.jit import borrowed, if_given, inlined, kernel, lends
from ..model.chunks import ROW

LARGEST = 32767.0
"""The largest whole number that is used."""


@kernel
def unpack(packed: np.ndarray, scale: np.ndarray, found: np.ndarray) -> None:
    """Numbers from 16 bits.

    Args:
        packed: int16 (numbers,).
        scale: float32 (rows,).
        found: float32 (at least numbers,): modified in place.
    """
    size = packed.shape[0]
    for row in range((size + ROW - 1) // ROW):
        factor = scale[row]
        first = row * ROW
        own, out = packed[first:], found[first:]
        for k in range(min(ROW, size - first)):
            out[k] = np.float32(own[k]) * factor


@kernel
def pack(numbers: np.ndarray, first: int, last: int, packed: np.ndarray, scale: np.ndarray) -> None:
    """Numbers to 16 bits, each to the nearest.

    Args:
        numbers: float32 (numbers,).
        first: The first of the numbers that are new.
        last: The one after the last of them.  Rows are packed that have any of these.
        packed: int16 (numbers,): modified in place.
        scale: float32 (rows,): modified in place.
    """
    largest = np.float32(LARGEST)
    for row in range(first // ROW, (last + ROW - 1) // ROW):
        begin = row * ROW
        length = min(ROW, packed.shape[0] - begin)
        own, out = numbers[begin:], packed[begin:]
        most = np.float32(0.0)
        for k in range(length):
            most = max(most, abs(own[k]))
        scale[row] = most / largest
        factor = largest / most if most > np.float32(0.0) else np.float32(0.0)
        for k in range(length):
            # From -32767 to 32767; half is rounded up.
            out[k] = np.int16(np.int32(own[k] * factor + np.float32(32768.5)) - np.int32(32768))


@lends
@if_given
def scales_of(scale: np.ndarray, begin: int, end: int) -> np.ndarray:
    """The scales of some numbers, which begin with a row; None for arrays that have none."""
    return borrowed(scale[begin // ROW : (end + ROW - 1) // ROW])


@lends
def workplace(array: np.ndarray, scale: np.ndarray | None, scratch: np.ndarray) -> np.ndarray:
    """Where an array can be worked on: in itself, or in scratch if it is in 16 bits, where
    :func:`load` puts it.

    Args:
        array: float (numbers,), or int16.
        scale: float32 (rows,) of an array in 16 bits; otherwise None.
        scratch: float32 (at least numbers,), for arrays in 16 bits.
    """
    return borrowed(array if scale is None else scratch[: array.shape[0]])


@overload(workplace)
def _workplace(array, scale, scratch):  # type: ignore[no-untyped-def]
    # As for functions that are :func:`if_given`: the types of both branches do not agree.
    if isinstance(scale, types.NoneType):
        return lends(lambda array, scale, scratch: borrowed(array))
    return lends(lambda array, scale, scratch: borrowed(scratch[: array.shape[0]]))


@inlined
def load(array: np.ndarray, scale: np.ndarray | None, found: np.ndarray) -> None:
    """Unpack an array in 16 bits to its :func:`workplace`, which is modified in place."""
    if scale is not None:
        unpack(array, scale, found)


@inlined
def store(
    numbers: np.ndarray, first: int, last: int, array: np.ndarray, scale: np.ndarray | None
) -> None:
    """Put back the numbers ``first`` to ``last - 1`` of a :func:`workplace`."""
    if scale is not None:
        pack(numbers, first, last, array, scale)
