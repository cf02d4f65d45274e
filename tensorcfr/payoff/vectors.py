"""Pieces of kernels that are written as vector instructions.

numba's own loops over arrays of unknown overlap begin with checks and end with lanes one by one.
A *piece* is a function of kernels whose instructions are written here, for LLVM: it loops over
vectors, and what is left at the end is under a mask.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ClassVar

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

from .._util.jit import typed

DOUBLE, FLOAT = ir.DoubleType(), ir.FloatType()
INDEX, INT = ir.IntType(64), ir.IntType(32)


class Code:
    """What the instructions of a piece are written with.

    Args:
        builder: Of llvmlite.
        at: The arguments of the piece by name: whole numbers, the addresses of the first numbers of
            arrays, and None.
    """

    width: ClassVar[int]
    """Lanes of a vector."""

    def __init__(self, builder: Any, at: SimpleNamespace) -> None:
        self.builder, self.at = builder, at

    def vector(self, kind: Any) -> Any:
        """The vectors of a kind of numbers."""
        return ir.VectorType(kind, self.width)

    def constant(self, kind: Any, value: float) -> Any:
        """A vector of one value."""
        return ir.Constant(self.vector(kind), [value] * self.width)

    def splat(self, scalar: Any) -> Any:
        """A vector of one value that is not known before."""
        none = ir.Constant(self.vector(scalar.type), ir.Undefined)
        first = self.builder.insert_element(none, scalar, ir.Constant(INT, 0))
        return self.builder.shuffle_vector(first, none, self.constant(INT, 0))

    def number(self, array: Any, index: Any) -> Any:
        """A number of an array."""
        if isinstance(index, int):
            index = ir.Constant(INDEX, index)
        return self.builder.load(self.builder.gep(array, [index]))

    def call(self, name: str, result: Any, *given: Any) -> Any:
        """Call one of LLVM's functions, declared once per module."""
        module = self.builder.module
        kind = ir.FunctionType(result, [one.type for one in given])
        function = module.globals.get(name) or ir.Function(module, kind, name)
        return self.builder.call(function, given)

    def suffix(self, vector: Any) -> str:
        """The end of the names of LLVM's functions of vectors."""
        kind = "i" if isinstance(vector.element, ir.IntType) else "f"
        return f"v{self.width}{kind}{_size(vector.element) * 8}"

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """``a * b + c``, fused where the machine can."""
        return self.call(f"llvm.fmuladd.{self.suffix(a.type)}", a.type, a, b, c)

    def load_row(self, address: Any, mask: Any | None) -> Any:
        """A vector of numbers that lie anywhere; 0 outside the mask, if there is one."""
        kind = address.type.pointee
        vector, size = self.vector(kind), _size(kind)
        place = self.builder.bitcast(address, vector.as_pointer())
        if mask is None:
            return self.builder.load(place, align=size)
        name = f"llvm.masked.load.{self.suffix(vector)}.p0"
        return self.call(
            name, vector, place, ir.Constant(INT, size), mask, ir.Constant(vector, None)
        )

    def store_row(self, value: Any, address: Any, mask: Any | None) -> None:
        """Set numbers that lie anywhere: all, or those under the mask.

        What a masked store wrote reaches a later load only by way of the cache.
        """
        size = _size(value.type.element)
        place = self.builder.bitcast(address, value.type.as_pointer())
        if mask is None:
            self.builder.store(value, place, align=size)
            return
        name = f"llvm.masked.store.{self.suffix(value.type)}.p0"
        self.call(name, ir.VoidType(), value, place, ir.Constant(INT, size), mask)

    @contextmanager
    def counting(self, begin: Any, end: Any, step: int = 1) -> Iterator[Any]:
        """A loop over whole numbers, as by ``range``: yields the number."""
        by = ir.Constant(INDEX, step)
        with cgutils.for_range_slice(self.builder, begin, end, by, INDEX) as (index, _):
            yield index

    def steps(self, count: Any, vectors: int, body: Callable[[Any, list[Any], Any], None]) -> None:
        """Loops over numbers, several vectors at a time and then what is left, one by one and under
        a mask.

        Args:
            count: The numbers.
            vectors: Vectors at a time.
            body: Writes a step; it is given the first number, a mask, or None, for each vector, and
                how many numbers are left.
        """
        builder, several = self.builder, self.width * vectors
        left = builder.urem(count, ir.Constant(INDEX, several))
        whole = builder.sub(count, left)
        with self.counting(ir.Constant(INDEX, 0), whole, several) as first:
            body(first, [None] * vectors, ir.Constant(INDEX, several))
        with self.counting(whole, count, self.width) as first:
            left = builder.sub(count, first)
            numbers = ir.Constant(self.vector(INDEX), list(range(self.width)))
            body(first, [builder.icmp_signed("<", numbers, self.splat(left))], left)


def _size(kind: Any) -> int:
    """Bytes of a number."""
    return kind.width // 8 if isinstance(kind, ir.IntType) else 4 if kind == FLOAT else 8


Writer = Callable[[Any], None]
"""Writes the instructions of a piece, from a :class:`Code`."""


def piece(code: type[Code], names: str) -> Callable[[Writer], Any]:
    """Makes a function of kernels, without a result, of what writes its instructions.

    Args:
        code: What the writer is given.
        names: The names of the arguments, after each other.  The fields of a named tuple have names
            of their own.
    """

    def decorate(write: Writer) -> Any:
        def define(typingctx: Any, *given: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                at = SimpleNamespace()
                for name, kind, value in zip(names.split(), signature.args, arguments, strict=True):
                    _name(context, builder, at, name, kind, value)
                write(code(builder, at))
                return context.get_dummy_value()

            return types.void(*map(_taken, given)), generate

        define.__name__, define.__doc__ = write.__name__, write.__doc__
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(one, kind) for one in ("typingctx", *names.split())]
        define.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return intrinsic(define)

    return decorate


def in_place_of(function: Callable[..., None], code: type[Code]) -> Callable[[Writer], Any]:
    """Makes a piece that kernels call in place of a Python function with the same arguments."""

    def decorate(write: Writer) -> Any:
        given = list(inspect.signature(function).parameters)
        names = ", ".join(given)
        scope = {"written": piece(code, " ".join(given))(write)}
        exec(f"def choose({names}):\n    return lambda {names}: written({names})", scope)
        typed(function)(scope["choose"])
        return write

    return decorate


def _taken(kind: Any) -> Any:
    """How a piece takes an argument: whole numbers with 64 bits."""
    if isinstance(kind, types.Integer):
        return types.intp
    return types.boolean if isinstance(kind, types.Boolean) else kind


def _name(
    context: Any, builder: Any, at: SimpleNamespace, name: str, kind: Any, value: Any
) -> None:
    """Note an argument, or each field of it, by its name."""
    if isinstance(kind, (types.NamedTuple, types.NamedUniTuple)):
        fields = cgutils.unpack_tuple(builder, value)
        for field, of, one in zip(kind.fields, kind.types, fields, strict=True):
            _name(context, builder, at, field, of, one)
    elif isinstance(kind, types.Array):
        setattr(at, name, context.make_array(kind)(context, builder, value).data)
    else:
        setattr(at, name, None if kind == types.none else value)
