"""Code generators for functions of kernels that are written as vector instructions.

Loops that numba compiles over arrays that may overlap begin with checks and end with single lanes.
A *piece* is a function for kernels whose LLVM instructions are generated here: it loops over
vectors, and processes the remaining lanes under a mask.
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

from .._util.jit import overload_piece

DOUBLE, FLOAT = ir.DoubleType(), ir.FloatType()
INDEX, INT = ir.IntType(64), ir.IntType(32)


class Code:
    """Code generator of a piece.

    Args:
        builder: Builder of llvmlite.
        args: Arguments of the piece by name: integers, addresses of the first elements of arrays,
            and None.
    """

    width: ClassVar[int]
    """Number of lanes of a vector."""

    def __init__(self, builder: Any, args: SimpleNamespace) -> None:
        self.builder, self.at = builder, args

    def vector(self, kind: Any) -> Any:
        """Return the vector type of a number type."""
        return ir.VectorType(kind, self.width)

    def constant(self, kind: Any, value: float) -> Any:
        """Return a vector with the same constant in every lane."""
        return ir.Constant(self.vector(kind), [value] * self.width)

    def splat(self, scalar: Any) -> Any:
        """Copy a scalar, known at run time, to every lane of a vector."""
        none = ir.Constant(self.vector(scalar.type), ir.Undefined)
        # LLVM's idiom for a broadcast: insert into lane 0, then shuffle lane 0 to all lanes.
        first = self.builder.insert_element(none, scalar, ir.Constant(INT, 0))
        return self.builder.shuffle_vector(first, none, self.constant(INT, 0))

    def number(self, array: Any, index: Any) -> Any:
        """Load an element of an array."""
        if isinstance(index, int):
            index = ir.Constant(INDEX, index)
        return self.builder.load(self.builder.gep(array, [index]))

    def call(self, name: str, result: Any, *arguments: Any) -> Any:
        """Call an LLVM intrinsic, which is declared once per module."""
        module = self.builder.module
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        function = module.globals.get(name) or ir.Function(module, kind, name)
        return self.builder.call(function, arguments)

    def suffix(self, vector: Any) -> str:
        """Return the suffix of LLVM intrinsics for a vector type."""
        kind = "i" if isinstance(vector.element, ir.IntType) else "f"
        return f"v{self.width}{kind}{_bytes_of(vector.element) * 8}"

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """Compute ``a * b + c``, fused if the machine can."""
        return self.call(f"llvm.fmuladd.{self.suffix(a.type)}", a.type, a, b, c)

    def load_row(self, address: Any, mask: Any | None) -> Any:
        """Load a vector of unaligned numbers, with 0 outside the mask, if there is one."""
        kind = address.type.pointee
        vector, size = self.vector(kind), _bytes_of(kind)
        pointer = self.builder.bitcast(address, vector.as_pointer())
        if mask is None:
            return self.builder.load(pointer, align=size)
        name = f"llvm.masked.load.{self.suffix(vector)}.p0"
        return self.call(
            name, vector, pointer, ir.Constant(INT, size), mask, ir.Constant(vector, None)
        )

    def store_row(self, value: Any, address: Any, mask: Any | None) -> None:
        """Store a vector of unaligned numbers, under the mask, if there is one.

        A later load reads the result of a masked store from the cache only, without store
        forwarding.
        """
        size = _bytes_of(value.type.element)
        pointer = self.builder.bitcast(address, value.type.as_pointer())
        if mask is None:
            self.builder.store(value, pointer, align=size)
            return
        name = f"llvm.masked.store.{self.suffix(value.type)}.p0"
        self.call(name, ir.VoidType(), value, pointer, ir.Constant(INT, size), mask)

    @contextmanager
    def counting(self, begin: Any, end: Any, step: int = 1) -> Iterator[Any]:
        """Generate a loop over whole numbers, as by ``range``, and yield the number."""
        by = ir.Constant(INDEX, step)
        with cgutils.for_range_slice(self.builder, begin, end, by, INDEX) as (index, _):
            yield index

    def steps(self, count: Any, vectors: int, body: Callable[[Any, list[Any], Any], None]) -> None:
        """Generate a loop over numbers: several vectors at a time, then one vector at a time.

        Args:
            count: Number of numbers.
            vectors: Number of vectors per step.
            body: Generator of a step; its arguments are the index of the first number, a mask or
                None for each vector, and the number of numbers left.
        """
        builder, several = self.builder, self.width * vectors
        remaining = builder.urem(count, ir.Constant(INDEX, several))
        in_full_steps = builder.sub(count, remaining)
        # First whole steps without masks, then single vectors under a mask.
        with self.counting(ir.Constant(INDEX, 0), in_full_steps, several) as first:
            body(first, [None] * vectors, ir.Constant(INDEX, several))
        with self.counting(in_full_steps, count, self.width) as first:
            remaining = builder.sub(count, first)
            numbers = ir.Constant(self.vector(INDEX), list(range(self.width)))
            body(first, [builder.icmp_signed("<", numbers, self.splat(remaining))], remaining)


def _bytes_of(kind: Any) -> int:
    """Return the size of a number type in bytes."""
    return kind.width // 8 if isinstance(kind, ir.IntType) else 4 if kind == FLOAT else 8


Writer = Callable[[Any], None]
"""Function that generates the instructions of a piece, from a :class:`Code`."""


def piece(code: Callable[[Any, SimpleNamespace], Any], names: str) -> Callable[[Writer], Any]:
    """Return a decorator that makes a function for kernels from a code generator.

    The function has no result.

    Args:
        code: Class of the generator's argument, or a function that makes it.
        names: Names of the arguments, separated by spaces.  The fields of a named tuple get their
            own names.
    """

    def decorate(write: Writer) -> Any:
        def define(typingctx: Any, *argument_types: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                args = SimpleNamespace()
                for name, kind, value in zip(names.split(), signature.args, arguments, strict=True):
                    _bind_argument(context, builder, args, name, kind, value)
                write(code(builder, args))
                return context.get_dummy_value()

            return types.void(*map(_piece_type, argument_types)), generate

        # Numba reads names of arguments from the signature of an intrinsic.
        define.__name__, define.__doc__ = write.__name__, write.__doc__
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [
            inspect.Parameter(parameter, kind) for parameter in ("typingctx", *names.split())
        ]
        define.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return intrinsic(define)

    return decorate


def in_place_of(function: Callable[..., None], code: type[Code]) -> Callable[[Writer], Any]:
    """Return a decorator that makes a piece which kernels call in place of a Python function.

    It has the arguments of that function.
    """

    def decorate(write: Writer) -> Any:
        parameters = list(inspect.signature(function).parameters)
        names = ", ".join(parameters)
        scope = {"written": piece(code, " ".join(parameters))(write)}
        exec(f"def choose({names}):\n    return lambda {names}: written({names})", scope)
        overload_piece(function)(scope["choose"])
        return write

    return decorate


def _piece_type(kind: Any) -> Any:
    """Return the type in which a piece takes an argument; integers have 64 bits."""
    if isinstance(kind, types.Integer):
        return types.intp
    return types.boolean if isinstance(kind, types.Boolean) else kind


def _bind_argument(
    context: Any, builder: Any, args: SimpleNamespace, name: str, kind: Any, value: Any
) -> None:
    """Store an argument, or each field of a named tuple, under its name."""
    if isinstance(kind, (types.NamedTuple, types.NamedUniTuple)):
        fields = cgutils.unpack_tuple(builder, value)
        for field, field_type, field_value in zip(kind.fields, kind.types, fields, strict=True):
            _bind_argument(context, builder, args, field, field_type, field_value)
    elif isinstance(kind, types.Array):
        setattr(args, name, context.make_array(kind)(context, builder, value).data)
    else:
        setattr(args, name, None if kind == types.none else value)
