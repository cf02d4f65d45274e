"""Storage in 16 bits: whole numbers from -32767 to 32767, with a scale per row.

A row is :data:`tensorcfr.model.chunked_form.ROW` numbers.  Its largest number is stored to 24 bits,
by means of the scale; the error of all others is at most 2^-16 of it.  A row in which one player's
numbers end and the next player's begin has a scale for each of them.  So a player's numbers do not
depend on when another player's are packed.

The functions that process rows are generated as vector instructions.  A row stays in registers from
the search for its largest number to the rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types

from .._util.jit import borrowed, by_types, if_given, inlined, is_none, lends, overload_piece
from ..model.chunked_form import ROW, SCALES
from ..payoff.vectors import FLOAT, INDEX, INT, Code, in_place_of

LARGEST = 32767.0
"""Largest whole number that is stored."""
LEAST = 2.0**-100
"""Bound below which rows are stored as zeros: it is compared with the largest number of the row."""
ROUNDS = 1.5 * 2.0**23
"""Constant that rounds: a float32 of at most 2^22 added to it is rounded to the nearest whole
number, which the lowest bits of the sum hold."""


class StoredRange(NamedTuple):
    """A player's stored numbers of a chunk."""

    numbers: np.ndarray
    """Numbers of the chunk: int16 with a scale, float without."""
    scale: np.ndarray | None
    """float32 (rows, SCALES): scales of the chunk; None for floats."""
    player: int
    begin: int
    """Index of the player's first number."""
    end: int
    """Index after the player's last number."""


def is_packed(numbers: Any) -> bool:
    """Return whether numbers, a tuple with scales or its numba type, are in 16 bits."""
    if hasattr(numbers, "scale"):
        return numbers.scale is not None
    return not is_none(numbers.types[numbers.fields.index("scale")])


@by_types
def unpack(stored: StoredRange, floats: np.ndarray) -> Any:
    """Unpack numbers from 16 bits into their :func:`workplace`; do nothing for floats.

    Args:
        stored: The numbers.
        floats: float32 (at least numbers,): modified in place.
    """
    if not is_packed(stored):
        return lambda stored, floats: None
    return lambda stored, floats: _unpack(stored, floats)


@by_types
def pack(floats: np.ndarray, stored: StoredRange) -> Any:
    """Pack numbers into 16 bits, each rounded to the nearest; do nothing for floats.

    Args:
        floats: float32 (at least numbers,): the :func:`workplace` of the numbers.
        stored: Modified in place.
    """
    if not is_packed(stored):
        return lambda floats, stored: None
    return lambda floats, stored: _pack(floats, stored)


@by_types
def add(reach: np.ndarray, averaging_weight: float, stored: StoredRange) -> Any:
    """Add reaches to an average.

    Args:
        reach: float (at least numbers,), in the precision of the solver state.
        averaging_weight: Weight of the reaches in the average.
        stored: The average; modified in place.
    """
    if not is_packed(stored):
        return _add_floats
    return lambda reach, averaging_weight, stored: _add(reach, averaging_weight, stored)


@inlined
def _add_floats(reach: np.ndarray, averaging_weight: float, stored: StoredRange) -> None:
    average, weight = stored.numbers, stored.numbers.dtype.type(averaging_weight)
    for s in range(np.uint64(stored.begin), np.uint64(stored.end)):
        average[s] += weight * reach[s]


# -------------------------------------------------------------------------- rows, in plain NumPy


def _unpack(stored: StoredRange, floats: np.ndarray) -> None:
    first, last = stored.begin, stored.end
    scale = stored.scale[first // ROW : -(-last // ROW), stored.player % SCALES]  # type: ignore[index]
    factor = scale.repeat(ROW)[first % ROW :][: last - first]
    floats[first:last] = stored.numbers[first:last].astype(np.float32) * factor


def _pack(floats: np.ndarray, stored: StoredRange) -> None:
    first, last = stored.begin, stored.end
    rows = slice(first // ROW, -(-last // ROW))
    table = np.zeros((rows.stop - rows.start) * ROW, np.float32)
    inside = slice(first % ROW, first % ROW + last - first)
    table[inside] = floats[first:last]
    most = abs(table).reshape(-1, ROW).max(axis=1)
    stored.scale[rows, stored.player % SCALES] = most / np.float32(LARGEST)  # type: ignore[index]
    factor = np.zeros_like(most)
    np.divide(np.float32(LARGEST), most, out=factor, where=most > np.float32(LEAST))
    # Products are exact in float64, so each number is rounded only once.
    integers = np.rint(table.astype(np.float64) * factor.repeat(ROW))
    stored.numbers[first:last] = integers[inside].astype(np.int16)


def _add(reach: np.ndarray, averaging_weight: float, stored: StoredRange) -> None:
    total = np.zeros_like(reach)
    _unpack(stored, total)
    inside = slice(stored.begin, stored.end)
    total[inside] += np.float32(averaging_weight) * reach[inside]
    _pack(total, stored)


# ---------------------------------------------------------------------- the same, as instructions


class _Row(Code):
    """Code generator of the row functions, with vectors of sixteen numbers; a row has four."""

    width = 16

    def rows(self, body: Callable[[Any, Sequence[Any], Sequence[Any]], None]) -> None:
        """Generate a loop over the rows.

        ``body`` gets the address of the row's scale, the index of each vector, and a mask per
        vector.  The masks are None where the whole row belongs to the player.
        """
        builder, arguments = self.builder, self.at
        begin, end = arguments.begin, arguments.end
        size, unit = ir.Constant(INDEX, ROW), ir.Constant(INDEX, 1)
        after = builder.add(end, builder.sub(size, unit))
        with self.counting(builder.udiv(begin, size), builder.udiv(after, size)) as row:
            first = builder.mul(row, size)
            scales = ir.Constant(INDEX, SCALES)
            column = builder.urem(arguments.player, scales)
            scale = builder.add(builder.mul(row, scales), column)
            scale_address = builder.gep(arguments.scale, [scale])
            vectors = range(0, ROW, self.width)
            begins = [builder.add(first, ir.Constant(INDEX, k)) for k in vectors]
            is_whole = builder.and_(
                builder.icmp_signed("<=", begin, first),
                builder.icmp_signed("<=", builder.add(first, size), end),
            )
            # Only the first and the last row need masks; all others take the fast branch.
            with builder.if_else(is_whole) as (whole, partial):
                with whole:
                    body(scale_address, begins, [None] * len(begins))
                with partial:
                    body(scale_address, begins, [self._inside(vector) for vector in begins])

    def _inside(self, first: Any) -> Any:
        """Generate the mask of a vector's numbers that belong to the player."""
        builder, numbers = self.builder, ir.Constant(self.vector(INDEX), list(range(self.width)))
        lanes = builder.add(self.splat(first), numbers)
        return builder.and_(
            builder.icmp_signed("<=", self.splat(self.at.begin), lanes),
            builder.icmp_signed("<", lanes, self.splat(self.at.end)),
        )

    def load_floats(self, scale: Any, first: Any, mask: Any | None) -> Any:
        """Generate the unpacking of one vector, and return it as floats."""
        builder = self.builder
        integers = self.load_row(builder.gep(self.at.numbers, [first]), mask)
        integers = builder.sext(integers, self.vector(INT))
        factor = self.splat(builder.load(scale))
        return builder.fmul(builder.sitofp(integers, self.vector(FLOAT)), factor)

    def store_floats(
        self, scale: Any, begins: Sequence[Any], masks: Sequence[Any], vectors: Sequence[Any]
    ) -> None:
        """Generate the packing of a row of floats, and the store of its scale."""
        builder, int_vector = self.builder, self.vector(INT)
        # Without their sign bit, floats compare like integers with the same bits.
        bits, most = self.constant(INT, 0x7FFFFFFF), self.constant(INT, 0)
        for vector in vectors:
            size = builder.and_(builder.bitcast(vector, int_vector), bits)
            most = builder.select(builder.icmp_signed(">", size, most), size, most)
        most = self.call(f"llvm.vector.reduce.smax.v{self.width}i32", INT, most)
        most, largest = builder.bitcast(most, FLOAT), ir.Constant(FLOAT, LARGEST)
        builder.store(builder.fdiv(most, largest), scale)
        is_nonzero = builder.fcmp_ordered(">", most, ir.Constant(FLOAT, LEAST))
        factor = builder.select(is_nonzero, builder.fdiv(largest, most), ir.Constant(FLOAT, 0.0))
        factor, rounds = self.splat(factor), self.constant(FLOAT, ROUNDS)
        for vector, first, mask in zip(vectors, begins, masks, strict=True):
            rounded = builder.bitcast(self.fma(vector, factor, rounds), int_vector)
            low = builder.trunc(rounded, self.vector(ir.IntType(16)))
            self.store_row(low, builder.gep(self.at.numbers, [first]), mask)


@in_place_of(_unpack, _Row)
def _unpack_rows(code: _Row) -> None:
    def row(scale: Any, begins: Sequence[Any], masks: Sequence[Any]) -> None:
        for first, mask in zip(begins, masks, strict=True):
            vector = code.load_floats(scale, first, mask)
            code.store_row(vector, code.builder.gep(code.at.floats, [first]), mask)

    code.rows(row)


@in_place_of(_pack, _Row)
def _pack_rows(code: _Row) -> None:
    def row(scale: Any, begins: Sequence[Any], masks: Sequence[Any]) -> None:
        addresses = [code.builder.gep(code.at.floats, [first]) for first in begins]
        code.store_floats(scale, begins, masks, list(map(code.load_row, addresses, masks)))

    code.rows(row)


@in_place_of(_add, _Row)
def _add_rows(code: _Row) -> None:
    averaging_weight = code.splat(code.builder.fptrunc(code.at.averaging_weight, FLOAT))

    def row(scale: Any, begins: Sequence[Any], masks: Sequence[Any]) -> None:
        vectors = []
        for first, mask in zip(begins, masks, strict=True):
            reach = code.load_row(code.builder.gep(code.at.reach, [first]), mask)
            vectors.append(code.fma(averaging_weight, reach, code.load_floats(scale, first, mask)))
        code.store_floats(scale, begins, masks, vectors)

    code.rows(row)


# ------------------------------------------------------------------------------------- workplaces


@lends
@if_given
def scales_of(scale: np.ndarray, begin: int, end: int) -> np.ndarray:
    """Return the scales of a range of numbers that begins a row; None for arrays without scales."""
    return borrowed(scale[begin // ROW : (end + ROW - 1) // ROW])


@lends
def workplace(array: np.ndarray, scale: np.ndarray | None, scratch: np.ndarray) -> np.ndarray:
    """Return the array in which numbers are processed: the array itself, or scratch for 16 bits.

    :func:`unpack` fills the scratch.

    Args:
        array: float or int16 (numbers,).
        scale: float32 (rows, SCALES) for 16 bits; otherwise None.
        scratch: float32 (at least numbers,), used for 16 bits.
    """
    return borrowed(array if scale is None else scratch[: array.shape[0]])


@overload_piece(workplace)
def _workplace(array, scale, scratch):  # type: ignore[no-untyped-def]
    # One function per type, as for :func:`if_given`: the branches return arrays of different types.
    if isinstance(scale, types.NoneType):
        return lends(lambda array, scale, scratch: borrowed(array))
    return lends(lambda array, scale, scratch: borrowed(scratch[: array.shape[0]]))


@lends
def in_floats(array: np.ndarray, scale: np.ndarray | None) -> np.ndarray | None:
    """Return an array that is processed in place, in floats; None for one in 16 bits."""
    return borrowed(array) if scale is None else None


@overload_piece(in_floats)
def _in_floats(array, scale):  # type: ignore[no-untyped-def]
    if isinstance(scale, types.NoneType):
        return lends(lambda array, scale: borrowed(array))
    return lambda array, scale: None
