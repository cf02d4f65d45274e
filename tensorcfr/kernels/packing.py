"""Arrays in 16 bits: whole numbers from -32767 to 32767, and a scale for each row of them.

A row is :data:`tensorcfr.model.chunks.ROW` numbers.  Its largest number is kept to 24 bits, by way
of the scale; all others are off by at most 2^-16 of it.  Where the numbers of one player end and
those of the next begin within a row, each player has a scale of their own: so what one player's
numbers are does not depend on when those of another are packed.

The pieces that work on rows are written as vector instructions: a row stays in registers from the
search for its largest number to the rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types

from .._util.jit import borrowed, chosen, if_given, inlined, is_none, lends, typed
from ..model.chunks import ROW
from ..payoff.vectors import FLOAT, INDEX, INT, Code, in_place_of

LARGEST = 32767.0
"""The largest whole number that is used."""
LEAST = 2.0**-100
"""A row whose largest number is at most this is packed as zeros."""
PLAYERS = 2
"""Scales of a row: chunks are of games of two players."""
ROUNDS = 1.5 * 2.0**23
"""A float32 of at most 2^22 that is added to this is rounded to the nearest whole number, which the
lowest bits of the sum then hold."""


class Own(NamedTuple):
    """A player's numbers of a chunk as they are kept, and which these are."""

    numbers: np.ndarray
    """int16 with a scale, float without: those of the chunk."""
    scale: np.ndarray | None
    """float32 (rows, players): those of the chunk; None without."""
    player: int
    begin: int
    """The first number of the player."""
    end: int
    """The one after the last."""


def _scale(own: Any) -> Any:
    """The scales, or their type."""
    return own.scale if isinstance(own, Own) else own.types[own.fields.index("scale")]


@chosen
def unpack(own: Own, found: np.ndarray) -> Any:
    """Numbers from 16 bits to their :func:`workplace`, where floats already are.

    Args:
        own: The numbers.
        found: float32 (at least numbers,): modified in place.
    """
    if is_none(_scale(own)):
        return lambda own, found: None
    return lambda own, found: _unpack(own, found)


@chosen
def pack(found: np.ndarray, own: Own) -> Any:
    """Numbers from their workplace to 16 bits, each to the nearest.

    Args:
        found: As for :func:`unpack`.
        own: Modified in place.
    """
    if is_none(_scale(own)):
        return lambda found, own: None
    return lambda found, own: _pack(found, own)


@chosen
def add(reach: np.ndarray, share: float, own: Own) -> Any:
    """Add reaches to an average.

    Args:
        reach: float, in those of the state (at least numbers,).
        share: What they are multiplied by.
        own: The average; modified in place.
    """
    if is_none(_scale(own)):
        return _add_floats
    return lambda reach, share, own: _add(reach, share, own)


@inlined
def _add_floats(reach: np.ndarray, share: float, own: Own) -> None:
    average, weight = own.numbers, own.numbers.dtype.type(share)
    for s in range(np.uint64(own.begin), np.uint64(own.end)):
        average[s] += weight * reach[s]


# -------------------------------------------------------------------------- rows, in plain NumPy


def _unpack(own: Own, found: np.ndarray) -> None:
    first, last = own.begin, own.end
    scale = own.scale[first // ROW : -(-last // ROW), own.player]  # type: ignore[index]
    factor = scale.repeat(ROW)[first % ROW :][: last - first]
    found[first:last] = own.numbers[first:last].astype(np.float32) * factor


def _pack(found: np.ndarray, own: Own) -> None:
    first, last = own.begin, own.end
    rows = slice(first // ROW, -(-last // ROW))
    table = np.zeros((rows.stop - rows.start) * ROW, np.float32)
    inside = slice(first % ROW, first % ROW + last - first)
    table[inside] = found[first:last]
    most = abs(table).reshape(-1, ROW).max(axis=1)
    own.scale[rows, own.player] = most / np.float32(LARGEST)  # type: ignore[index]
    factor = np.zeros_like(most)
    np.divide(np.float32(LARGEST), most, out=factor, where=most > np.float32(LEAST))
    # In float64 the products are exact: rounded once.
    whole = np.rint(table.astype(np.float64) * factor.repeat(ROW))
    own.numbers[first:last] = whole[inside].astype(np.int16)


def _add(reach: np.ndarray, share: float, own: Own) -> None:
    total = np.zeros_like(reach)
    _unpack(own, total)
    inside = slice(own.begin, own.end)
    total[inside] += np.float32(share) * reach[inside]
    _pack(total, own)


# ---------------------------------------------------------------------- the same, as instructions


class _Row(Code):
    """What the pieces are written with: vectors of sixteen numbers, four of which are a row."""

    width = 16

    def rows(self, body: Callable[[Any, Sequence[Any], Sequence[Any]], None]) -> None:
        """A loop over the rows; ``body`` is given the address of the row's scale, where its vectors
        begin, and a mask of each, or None where all of the row is the player's."""
        builder, at = self.builder, self.at
        begin, end = at.begin, at.end
        size, one = ir.Constant(INDEX, ROW), ir.Constant(INDEX, 1)
        after = builder.add(end, builder.sub(size, one))
        with self.counting(builder.udiv(begin, size), builder.udiv(after, size)) as row:
            first = builder.mul(row, size)
            scale = builder.add(builder.mul(row, ir.Constant(INDEX, PLAYERS)), at.player)
            place = builder.gep(at.scale, [scale])
            vectors = range(0, ROW, self.width)
            begins = [builder.add(first, ir.Constant(INDEX, k)) for k in vectors]
            is_whole = builder.and_(
                builder.icmp_signed("<=", begin, first),
                builder.icmp_signed("<=", builder.add(first, size), end),
            )
            with builder.if_else(is_whole) as (whole, partly):
                with whole:
                    body(place, begins, [None] * len(begins))
                with partly:
                    body(place, begins, [self._inside(vector) for vector in begins])

    def _inside(self, first: Any) -> Any:
        """Which numbers of a vector are the player's."""
        builder, numbers = self.builder, ir.Constant(self.vector(INDEX), list(range(self.width)))
        lanes = builder.add(self.splat(first), numbers)
        return builder.and_(
            builder.icmp_signed("<=", self.splat(self.at.begin), lanes),
            builder.icmp_signed("<", lanes, self.splat(self.at.end)),
        )

    def kept(self, scale: Any, first: Any, mask: Any | None) -> Any:
        """A vector of numbers in 16 bits, as floats."""
        builder = self.builder
        whole = self.load_row(builder.gep(self.at.numbers, [first]), mask)
        whole = builder.sext(whole, self.vector(INT))
        factor = self.splat(builder.load(scale))
        return builder.fmul(builder.sitofp(whole, self.vector(FLOAT)), factor)

    def keep(
        self, scale: Any, begins: Sequence[Any], masks: Sequence[Any], vectors: Sequence[Any]
    ) -> None:
        """Set a row to some floats, and its scale."""
        builder, whole = self.builder, self.vector(INT)
        # Floats without their sign are in the order of their bits.
        bits, most = self.constant(INT, 0x7FFFFFFF), self.constant(INT, 0)
        for vector in vectors:
            size = builder.and_(builder.bitcast(vector, whole), bits)
            most = builder.select(builder.icmp_signed(">", size, most), size, most)
        most = self.call(f"llvm.vector.reduce.smax.v{self.width}i32", INT, most)
        most, largest = builder.bitcast(most, FLOAT), ir.Constant(FLOAT, LARGEST)
        builder.store(builder.fdiv(most, largest), scale)
        is_some = builder.fcmp_ordered(">", most, ir.Constant(FLOAT, LEAST))
        factor = builder.select(is_some, builder.fdiv(largest, most), ir.Constant(FLOAT, 0.0))
        factor, rounds = self.splat(factor), self.constant(FLOAT, ROUNDS)
        for vector, first, mask in zip(vectors, begins, masks, strict=True):
            rounded = builder.bitcast(self.fma(vector, factor, rounds), whole)
            low = builder.trunc(rounded, self.vector(ir.IntType(16)))
            self.store_row(low, builder.gep(self.at.numbers, [first]), mask)


@in_place_of(_unpack, _Row)
def _unpack_rows(code: _Row) -> None:
    def row(scale: Any, begins: Sequence[Any], masks: Sequence[Any]) -> None:
        for first, mask in zip(begins, masks, strict=True):
            found = code.kept(scale, first, mask)
            code.store_row(found, code.builder.gep(code.at.found, [first]), mask)

    code.rows(row)


@in_place_of(_pack, _Row)
def _pack_rows(code: _Row) -> None:
    def row(scale: Any, begins: Sequence[Any], masks: Sequence[Any]) -> None:
        places = [code.builder.gep(code.at.found, [first]) for first in begins]
        code.keep(scale, begins, masks, list(map(code.load_row, places, masks)))

    code.rows(row)


@in_place_of(_add, _Row)
def _add_rows(code: _Row) -> None:
    share = code.splat(code.builder.fptrunc(code.at.share, FLOAT))

    def row(scale: Any, begins: Sequence[Any], masks: Sequence[Any]) -> None:
        vectors = []
        for first, mask in zip(begins, masks, strict=True):
            reach = code.load_row(code.builder.gep(code.at.reach, [first]), mask)
            vectors.append(code.fma(share, reach, code.kept(scale, first, mask)))
        code.keep(scale, begins, masks, vectors)

    code.rows(row)


# ------------------------------------------------------------------------------------- workplaces


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


@lends
def in_floats(array: np.ndarray, scale: np.ndarray | None) -> np.ndarray | None:
    """An array that is worked on in floats where it is; None for one in 16 bits."""
    return borrowed(array) if scale is None else None


@typed(in_floats)
def _in_floats(array, scale):  # type: ignore[no-untyped-def]
    if isinstance(scale, types.NoneType):
        return lends(lambda array, scale: borrowed(array))
    return lambda array, scale: None
