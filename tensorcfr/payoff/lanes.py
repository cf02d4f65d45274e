"""Loops over a few dozen lanes, as vector instructions.

numba's own loops over arrays of unknown overlap begin with checks and end with lanes one by one,
which for thirty lanes takes longer than the lanes themselves.  These two are written in vectors
of eight lanes, a few at a time and the last ones one by one, under a mask.  On machines with
shorter vectors LLVM splits them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

WIDTH = 8
"""Lanes of a vector: 64 bytes of float64."""
VECTORS = 2
"""Vectors at a time: as many additions can be under way without waiting for each other."""

_DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)
_FLOATS = ir.VectorType(ir.FloatType(), WIDTH)
_MASK = ir.VectorType(ir.IntType(1), WIDTH)
_INDEX = ir.IntType(64)


def weighted_sum(
    code: np.ndarray,
    weight: np.ndarray,
    at: int,
    x: np.ndarray,
    first: int,
    stride: int,
    rank: np.ndarray | None,
    out: np.ndarray,
    to: int,
    add: bool,
    count: int,
) -> None:
    """``out[to + l] = sum_i weight[i] * x[first + rank[code[i]] * stride + l]`` for ``count``
    lanes, or add to it.

    Args:
        code: int64: at ``at`` the number of terms, then the terms.
        weight: float64, beside ``code``.
        at: See above.
        x: float64 or float32.
        first: See above.
        stride: See above.
        rank: int64; None for the terms' own numbers.
        out: float64; modified in place, up to the next multiple of ``WIDTH`` lanes; must
            not overlap with the lanes of ``x``.
        to: Its first lane.
        add: Whether to add to what is there.
        count: Lanes.
    """
    total = out[to : to + count].copy() if add else np.zeros(count)
    for i in range(at + 1, at + 1 + code[at]):
        begin = first + (code[i] if rank is None else rank[code[i]]) * stride
        total += weight[i] * x[begin : begin + count].astype(np.float64)
    out[to : to + count] = total


def spread(
    code: np.ndarray,
    weight: np.ndarray,
    at: int,
    out: np.ndarray,
    first: int,
    stride: int,
    rank: np.ndarray,
    scale: np.ndarray,
    scale_at: int,
    z: np.ndarray,
    z_at: int,
    count: int,
) -> None:
    """``out[first + rank[code[i]] * stride + l] += weight[i] * scale[scale_at + l] * z[z_at + l]``
    for ``count`` lanes and every term ``i``.

    Args:
        code: int64: at ``at`` the number of terms, then the terms.
        weight: float64, beside ``code``.
        at: See above.
        out: float64 or float32; modified in place; must not overlap with ``z`` or ``scale``.
        first: See above.
        stride: See above.
        rank: int64.
        scale: float64.
        scale_at: Its first lane.
        z: float64.
        z_at: Its first lane.
        count: Lanes.
    """
    product = scale[scale_at : scale_at + count] * z[z_at : z_at + count]
    for i in range(at + 1, at + 1 + code[at]):
        begin = first + rank[code[i]] * stride
        out[begin : begin + count] += weight[i] * product


@overload(weighted_sum)
def _weighted_sum(code, weight, at, x, first, stride, rank, out, to, add, count):  # type: ignore[no-untyped-def]
    return lambda code, weight, at, x, first, stride, rank, out, to, add, count: _emit_sum(  # type: ignore[call-arg]
        code, weight, at, x, first, stride, rank, out, to, add, count
    )


@overload(spread)
def _spread(code, weight, at, out, first, stride, rank, scale, scale_at, z, z_at, count):  # type: ignore[no-untyped-def]
    return lambda code, weight, at, out, first, stride, rank, scale, scale_at, z, z_at, count: (
        _emit_spread(  # type: ignore[call-arg]
            code, weight, at, out, first, stride, rank, scale, scale_at, z, z_at, count
        )
    )


@intrinsic
def _emit_sum(
    typingctx: Any,
    code: Any,
    weight: Any,
    at: Any,
    x: Any,
    first: Any,
    stride: Any,
    rank: Any,
    out: Any,
    to: Any,
    add: Any,
    count: Any,
) -> Any:
    place = types.intp
    signature = types.void(
        code, weight, place, x, place, place, rank, out, place, types.boolean, place
    )

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = _Lanes(context, builder, signature, arguments)
        add, count = arguments[9], arguments[10]
        target = lanes.pointer(7, arguments[8])
        sums = [cgutils.alloca_once(builder, _DOUBLES) for _ in range(VECTORS)]

        def step(lane: Any, masks: list[Any]) -> None:
            used = sums[: len(masks)]
            for k, total in enumerate(used):
                # Nothing is read where nothing is added to: it may hold anything.
                kept = lanes.load(target, lane, k, _splat(builder, add))
                builder.store(kept, total)
            with lanes.terms(3) as (source, factor):
                for k, (mask, total) in enumerate(zip(masks, used, strict=True)):
                    term = lanes.load(source, lane, k, mask)
                    builder.store(lanes.fma(factor, term, builder.load(total)), total)
            for k, total in enumerate(used):
                lanes.store(builder.load(total), target, lane, k)

        lanes.steps(count, step)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def _emit_spread(
    typingctx: Any,
    code: Any,
    weight: Any,
    at: Any,
    out: Any,
    first: Any,
    stride: Any,
    rank: Any,
    scale: Any,
    scale_at: Any,
    z: Any,
    z_at: Any,
    count: Any,
) -> Any:
    place = types.intp
    signature = types.void(
        code, weight, place, out, place, place, rank, scale, place, z, place, place
    )

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = _Lanes(context, builder, signature, arguments)
        scale = lanes.pointer(7, arguments[8])
        z = lanes.pointer(9, arguments[10])

        def step(lane: Any, masks: list[Any]) -> None:
            products = [
                builder.fmul(lanes.load(scale, lane, k, mask), lanes.load(z, lane, k, mask))
                for k, mask in enumerate(masks)
            ]
            with lanes.terms(3) as (target, factor):
                for k, (mask, product) in enumerate(zip(masks, products, strict=True)):
                    before = lanes.load(target, lane, k, mask)
                    lanes.store(lanes.fma(factor, product, before), target, lane, k, mask)

        lanes.steps(arguments[11], step)
        return context.get_dummy_value()

    return signature, generate


class _Pointer(NamedTuple):
    """The address of a first lane, and the vector type that lanes are loaded as."""

    address: Any
    vector: ir.VectorType


class _Lanes:
    """What both functions are made of: steps over lanes, a list of terms, masked vectors.

    Their arguments begin alike: code, weight, at, array of the terms, first, stride, rank.
    """

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.context = context
        self.builder = builder
        self.types = signature.args
        self.arguments = arguments

    def _data(self, number: int) -> Any:
        array = self.context.make_array(self.types[number])
        return array(self.context, self.builder, self.arguments[number]).data

    def pointer(self, number: int, first: Any) -> _Pointer:
        """Lanes of an argument from ``first`` on."""
        vector = _FLOATS if self.types[number].dtype == types.float32 else _DOUBLES
        return _Pointer(self.builder.gep(self._data(number), [first]), vector)

    def steps(self, count: Any, body: Callable[[Any, list[Any]], None]) -> None:
        """Loops over lanes, several vectors at a time and then what is left, one by one and
        under a mask.

        Args:
            count: Lanes.
            body: Writes a step; it is given the first lane, and a mask, or None, for each vector.
        """
        builder = self.builder
        zero, one = ir.Constant(_INDEX, 0), ir.Constant(_INDEX, WIDTH)
        several = ir.Constant(_INDEX, WIDTH * VECTORS)
        whole = builder.sub(count, builder.urem(count, several))
        with cgutils.for_range_slice(builder, zero, whole, several, _INDEX) as (lane, _):
            body(lane, [None] * VECTORS)
        with cgutils.for_range_slice(builder, whole, count, one, _INDEX) as (lane, _):
            numbers = ir.Constant(ir.VectorType(_INDEX, WIDTH), list(range(WIDTH)))
            left = _splat(builder, builder.sub(count, lane))
            body(lane, [builder.icmp_signed("<", numbers, left)])

    @contextmanager
    def terms(self, number: int) -> Iterator[tuple[_Pointer, Any]]:
        """A loop over the listed terms: yields the lanes of each, and its weight as a vector."""
        builder = self.builder
        _, _, at, _, first, stride, *_ = self.arguments
        code, weight = self._data(0), self._data(1)
        rank = None if self.types[6] == types.none else self._data(6)
        terms = builder.load(builder.gep(code, [at]))
        one = ir.Constant(_INDEX, 1)
        begin = builder.add(at, one)
        end = builder.add(begin, terms)
        with cgutils.for_range_slice(builder, begin, end, one, _INDEX) as (i, _):
            item = builder.load(builder.gep(code, [i]))
            if rank is not None:
                item = builder.load(builder.gep(rank, [item]))
            row = builder.mul(item, stride)
            factor = _splat(builder, builder.load(builder.gep(weight, [i])))
            yield self.pointer(number, builder.add(first, row)), factor

    def load(self, source: _Pointer, lane: Any, k: int, mask: Any | None) -> Any:
        """Vector ``k`` of a step, as doubles; 0 outside the mask, if there is one."""
        vector = source.vector
        load = self._function(
            f"llvm.masked.load.{_name(vector)}.p0",
            vector,
            [vector.as_pointer(), ir.IntType(32), _MASK, vector],
        )
        address, align = self._address(source, lane, k)
        if mask is None:
            found = self.builder.load(address, align=align.constant)
        else:
            zeros = ir.Constant(vector, [0.0] * WIDTH)
            found = self.builder.call(load, [address, align, mask, zeros])
        return self.builder.fpext(found, _DOUBLES) if vector is _FLOATS else found

    def store(
        self, value: Any, target: _Pointer, lane: Any, k: int, mask: Any | None = None
    ) -> None:
        """Doubles back to vector ``k`` of a step: all, or those under the mask.

        What a masked store wrote reaches a later load only by way of the cache.
        """
        vector = target.vector
        if vector is _FLOATS:
            value = self.builder.fptrunc(value, _FLOATS)
        address, align = self._address(target, lane, k)
        if mask is None:
            self.builder.store(value, address, align=align.constant)
            return
        store = self._function(
            f"llvm.masked.store.{_name(vector)}.p0",
            ir.VoidType(),
            [vector, vector.as_pointer(), ir.IntType(32), _MASK],
        )
        self.builder.call(store, [value, address, align, mask])

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """``a * b + c``, fused where the machine can."""
        fused = self._function("llvm.fmuladd.v8f64", _DOUBLES, [_DOUBLES] * 3)
        return self.builder.call(fused, [a, b, c])

    def _address(self, pointer: _Pointer, lane: Any, k: int) -> tuple[Any, Any]:
        """Where vector ``k`` of a step begins, and how it is aligned."""
        at = self.builder.add(lane, ir.Constant(_INDEX, k * WIDTH))
        address = self.builder.gep(pointer.address, [at])
        size = 4 if pointer.vector is _FLOATS else 8
        return (
            self.builder.bitcast(address, pointer.vector.as_pointer()),
            ir.Constant(ir.IntType(32), size),
        )

    def _function(self, name: str, result: Any, arguments: list[Any]) -> Any:
        """An LLVM function, declared once per module."""
        module = self.builder.module
        known = module.globals.get(name)
        return known or ir.Function(module, ir.FunctionType(result, arguments), name)


def _splat(builder: Any, scalar: Any) -> Any:
    """A vector of one value."""
    vector = ir.VectorType(scalar.type, WIDTH)
    first = builder.insert_element(
        ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0)
    )
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


def _name(vector: ir.VectorType) -> str:
    return "v8f32" if vector is _FLOATS else "v8f64"
