"""Arrays in 16 bits: whole numbers from -32767 to 32767, and a scale for each row of them.

A row is :data:`tensorcfr.model.chunks.ROW` numbers.  Its largest number is kept to 24 bits, by way
of the scale; all others are off by at most 2^-16 of it.  Where the numbers of one player end and
those of the next begin within a row, each player has a scale of their own: so what one player's
numbers are does not depend on when those of another are packed.
"""

from __future__ import annotations

import numpy as np
from numba.core import types

from .._util.jit import borrowed, if_given, inlined, lends, typed
from ..model.chunks import ROW

LARGEST = 32767.0
"""The largest whole number that is used."""
WITHOUT_SIGN = np.int32(0x7FFFFFFF)
"""The bits of a float32 but its sign."""


@inlined
def unpack(
    packed: np.ndarray,
    scale: np.ndarray | None,
    player: int,
    own: tuple[int, int],
    found: np.ndarray,
) -> None:
    """A player's numbers from 16 bits to their :func:`workplace`.

    Args:
        packed: int16 (numbers,): those of a chunk.
        scale: float32 (rows, players): those of the chunk; None where numbers are floats, which
            are where they are worked on.
        player: The player.
        own: The first number of the player, and the one after the last.
        found: float32 (at least numbers,): modified in place.
    """
    begin, end = own
    if scale is not None:
        for row in range(begin // ROW, (end + ROW - 1) // ROW):
            factor = scale[row, player]
            first = max(row * ROW, begin)
            small, out = packed[first:], found[first:]
            for k in range(np.uint64(min((row + 1) * ROW, end) - first)):
                out[k] = np.float32(small[k]) * factor


@inlined
def pack(
    numbers: np.ndarray,
    player: int,
    own: tuple[int, int],
    packed: np.ndarray,
    scale: np.ndarray | None,
) -> None:
    """A player's numbers to 16 bits, each to the nearest; nothing without a scale.

    Args:
        numbers: float32 (numbers,).
        player: The player.
        own: As for :func:`unpack`.
        packed: int16 (numbers,): modified in place.
        scale: float32 (rows, players): modified in place.
    """
    largest, (begin, end) = np.float32(LARGEST), own
    if scale is not None:
        bits, most_bits = numbers.view(np.int32), scale.view(np.int32)
        for row in range(begin // ROW, (end + ROW - 1) // ROW):
            first = max(row * ROW, begin)
            length = min((row + 1) * ROW, end) - first
            large, out, size = numbers[first:], packed[first:], bits[first:]
            # Floats without their sign are in the order of their bits; of whole numbers LLVM finds
            # the largest in vectors.
            largest_bits = np.int32(0)
            for k in range(np.uint64(length)):
                largest_bits = max(largest_bits, np.int32(size[k] & WITHOUT_SIGN))
            most_bits[row, player] = largest_bits
            most = scale[row, player]
            scale[row, player] = most / largest
            factor = largest / most if most > np.float32(0.0) else np.float32(0.0)
            for k in range(np.uint64(length)):
                # From -32767 to 32767; half is rounded up.
                rounded = np.int32(large[k] * factor + np.float32(32768.5))
                out[k] = np.int16(rounded - np.int32(32768))


@lends
@if_given
def scales_of(scale: np.ndarray, begin: int, end: int) -> np.ndarray:
    """The scales of some numbers, which begin with a row; None for arrays that have none."""
    return borrowed(scale[begin // ROW : (end + ROW - 1) // ROW])


@lends
def workplace(array: np.ndarray, scale: np.ndarray | None, scratch: np.ndarray) -> np.ndarray:
    """Where an array can be worked on: in itself, or in scratch if it is in 16 bits, where
    :func:`unpack` puts it.

    Args:
        array: float (numbers,), or int16.
        scale: float32 (rows, players) of an array in 16 bits; otherwise None.
        scratch: float32 (at least numbers,), for arrays in 16 bits.
    """
    return borrowed(array if scale is None else scratch[: array.shape[0]])


@typed(workplace)
def _workplace(array, scale, scratch):  # type: ignore[no-untyped-def]
    # As for functions that are :func:`if_given`: the types of both branches do not agree.
    if isinstance(scale, types.NoneType):
        return lends(lambda array, scale, scratch: borrowed(array))
    return lends(lambda array, scale, scratch: borrowed(scratch[: array.shape[0]]))
