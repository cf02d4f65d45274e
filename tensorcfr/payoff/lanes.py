"""Loops over a few dozen lanes, as vector instructions.

Loops that numba compiles over arrays that may overlap begin with checks and end with single lanes.
For thirty lanes this takes longer than the lanes themselves.  The loops here use vectors of eight
lanes, several at a time, and a mask for the remaining lanes.  On machines with shorter vectors LLVM
splits them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils

from .vectors import DOUBLE, FLOAT, INDEX, Code, in_place_of

WIDTH = 8
"""Number of lanes of a vector: 64 bytes of float64."""
VECTORS = 2
"""Number of vectors per step, whose additions do not wait for each other."""


def weighted_sum(
    code: np.ndarray,
    weight: np.ndarray,
    terms_at: int,
    x: np.ndarray,
    first: int,
    stride: int,
    rank: np.ndarray | None,
    out: np.ndarray,
    to: int,
    add: bool,
    count: int,
) -> None:
    """Compute a weighted sum of rows of ``x``, for ``count`` lanes.

    ``out[to + l] = sum_i weight[i] * x[first + rank[code[i]] * stride + l]``, or added to ``out``.

    Args:
        code: int64: the number of terms at index ``terms_at``, then the terms.
        weight: float64, parallel to ``code``.
        terms_at: Index of the number of terms.
        x: float64 or float32.
        first: Index in ``x`` of the row of rank 0.
        stride: Distance between rows of ``x``.
        rank: int64: rank of each term; None if the terms themselves are ranks.
        out: float64; modified in place, up to the next multiple of ``WIDTH`` lanes; must not
            overlap with the lanes of ``x``.
        to: Index of the first lane in ``out``.
        add: Whether to add to the numbers in ``out``.
        count: Number of lanes.
    """
    total = out[to : to + count].copy() if add else np.zeros(count)
    for i in range(terms_at + 1, terms_at + 1 + code[terms_at]):
        begin = first + (code[i] if rank is None else rank[code[i]]) * stride
        total += weight[i] * x[begin : begin + count].astype(np.float64)
    out[to : to + count] = total


def spread(
    code: np.ndarray,
    weight: np.ndarray,
    terms_at: int,
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
    """Add multiples of one row to rows of ``out``, for ``count`` lanes.

    ``out[first + rank[code[i]] * stride + l] += weight[i] * scale[scale_at + l] * z[z_at + l]`` for
    every term ``i``.

    Args:
        code: int64: the number of terms at index ``terms_at``, then the terms.
        weight: float64, parallel to ``code``.
        terms_at: Index of the number of terms.
        out: float64 or float32; modified in place; must not overlap with ``scale`` and ``z``.
        first: Index in ``out`` of the row of rank 0.
        stride: Distance between rows of ``out``.
        rank: int64: rank of each term.
        scale: float64: factor of each lane.
        scale_at: Index of the first lane in ``scale``.
        z: float64: the row.
        z_at: Index of the first lane in ``z``.
        count: Number of lanes.
    """
    product = scale[scale_at : scale_at + count] * z[z_at : z_at + count]
    for i in range(terms_at + 1, terms_at + 1 + code[terms_at]):
        begin = first + rank[code[i]] * stride
        out[begin : begin + count] += weight[i] * product


def dot(x: np.ndarray, y: np.ndarray, first: int, count: int, out: np.ndarray, to: int) -> None:
    """Compute the scalar product of ``count`` numbers of ``x`` and ``y`` from index ``first`` on.

    It is summed in float64 and written to ``out[to]``, float64.
    """
    factors = (
        x[first : first + count].astype(np.float64),
        y[first : first + count].astype(np.float64),
    )
    out[to] = np.dot(*factors)


class _Lanes(Code):
    """Code generator of these functions: vectors of a step, and loops over terms.

    Functions with terms share the arguments code, weight, terms_at, first, stride and rank.
    """

    width = WIDTH

    @contextmanager
    def terms(self, lanes: Any) -> Iterator[tuple[Any, Any]]:
        """Generate a loop over the terms.

        Yields the address of a term's lanes, and its weight as a vector.
        """
        args, builder, unit = self.at, self.builder, ir.Constant(INDEX, 1)
        terms = self.number(args.code, args.terms_at)
        begin = builder.add(args.terms_at, unit)
        with self.counting(begin, builder.add(begin, terms)) as i:
            item = self.number(args.code, i)
            if args.rank is not None:
                item = self.number(args.rank, item)
            row = builder.mul(item, args.stride)
            factor = self.splat(self.number(args.weight, i))
            yield builder.gep(lanes, [builder.add(args.first, row)]), factor

    def load(self, first: Any, lane: Any, k: int, mask: Any | None) -> Any:
        """Load vector ``k`` of a step as doubles, with 0 outside the mask, if there is one."""
        numbers = self.load_row(self._address(first, lane, k), mask)
        is_single = numbers.type.element == FLOAT
        return self.builder.fpext(numbers, self.vector(DOUBLE)) if is_single else numbers

    def store(self, value: Any, first: Any, lane: Any, k: int, mask: Any | None = None) -> None:
        """Store doubles to vector ``k`` of a step, under the mask, if there is one."""
        if first.type.pointee == FLOAT:
            value = self.builder.fptrunc(value, self.vector(FLOAT))
        self.store_row(value, self._address(first, lane, k), mask)

    def _address(self, first: Any, lane: Any, k: int) -> Any:
        """Return the address of vector ``k`` of a step."""
        offset = self.builder.add(lane, ir.Constant(INDEX, k * WIDTH))
        return self.builder.gep(first, [offset])


@in_place_of(weighted_sum, _Lanes)
def _weighted_sum(code: _Lanes) -> None:
    args, builder = code.at, code.builder
    target = builder.gep(args.out, [args.to])
    sums = [cgutils.alloca_once(builder, code.vector(DOUBLE)) for _ in range(VECTORS)]

    def step(lane: Any, masks: list[Any], _: Any) -> None:
        used = sums[: len(masks)]
        for k, total in enumerate(used):
            # `add` is the mask: without it `out` is not read, and may be uninitialised.
            builder.store(code.load(target, lane, k, code.splat(args.add)), total)
        with code.terms(args.x) as (source, factor):
            for k, (mask, total) in enumerate(zip(masks, used, strict=True)):
                term = code.load(source, lane, k, mask)
                builder.store(code.fma(factor, term, builder.load(total)), total)
        for k, total in enumerate(used):
            code.store(builder.load(total), target, lane, k)

    code.steps(args.count, VECTORS, step)


@in_place_of(spread, _Lanes)
def _spread(code: _Lanes) -> None:
    args, builder = code.at, code.builder
    scale, z = builder.gep(args.scale, [args.scale_at]), builder.gep(args.z, [args.z_at])

    def step(lane: Any, masks: list[Any], _: Any) -> None:
        products = [
            builder.fmul(code.load(scale, lane, k, mask), code.load(z, lane, k, mask))
            for k, mask in enumerate(masks)
        ]
        with code.terms(args.out) as (target, factor):
            for k, (mask, product) in enumerate(zip(masks, products, strict=True)):
                old = code.load(target, lane, k, mask)
                code.store(code.fma(factor, product, old), target, lane, k, mask)

    code.steps(args.count, VECTORS, step)


@in_place_of(dot, _Lanes)
def _dot(code: _Lanes) -> None:
    args, builder, doubles = code.at, code.builder, code.vector(DOUBLE)
    x, y = (builder.gep(array, [args.first]) for array in (args.x, args.y))
    sums = [
        cgutils.alloca_once_value(builder, code.constant(DOUBLE, 0.0)) for _ in range(2 * VECTORS)
    ]

    def step(lane: Any, masks: list[Any], _: Any) -> None:
        for k, (mask, total) in enumerate(zip(masks, sums, strict=False)):
            term = code.load(x, lane, k, mask), code.load(y, lane, k, mask)
            builder.store(code.fma(*term, builder.load(total)), total)

    code.steps(args.count, 2 * VECTORS, step)
    total = builder.load(sums[0])
    for partial in sums[1:]:
        total = builder.fadd(total, builder.load(partial))
    total = code.call(
        f"llvm.vector.reduce.fadd.{code.suffix(doubles)}", DOUBLE, ir.Constant(DOUBLE, -0.0), total
    )
    builder.store(total, builder.gep(args.out, [args.to]))
