"""Compilation of kernels: cached on disk if possible, and always IEEE arithmetic.

Multiplications and additions may be fused, but nothing is reordered: the same game gives the same
bits in every run.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any

import numba
from numba.core import cgutils, types
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic, lower_builtin, overload, register_jitable, type_callable

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}
_KERNEL: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, **_OPTIONS}
_PIECE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_OPTIONS}
LENDERS: set[Any] = set()
BORROWERS: set[Any] = set()
COMPILED_HERE: set[Any] = set()
compiled_ahead: Callable[..., AbstractContextManager[None]] = nullcontext
"""Context manager that compiles kernels together, see :mod:`tensorcfr._util.jit_ahead`; it has no
effect if numba has other internals."""


class SlowStartWarning(UserWarning):
    """Warning that kernels take longer to compile, because no cache is writable or numba has other
    internals."""


try:
    from . import jit_ahead
    from .jit_cache import KernelCache
    from .jit_compiler import BORROWERS, LENDERS, KernelCompiler, PieceCompiler
    from .jit_pieces import COMPILED_HERE

    _KERNEL["pipeline_class"], _PIECE["pipeline_class"] = KernelCompiler, PieceCompiler
    compiled_ahead = jit_ahead.compiled_ahead
except (ImportError, AttributeError) as error:
    KernelCache = None  # type: ignore[assignment, misc]
    warnings.warn(
        f"numba {numba.__version__} has internals that this version of tensorcfr does not know "
        f"({error}): kernels take longer to compile and to run",
        SlowStartWarning,
        stacklevel=2,
    )


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function by ``numba.njit`` with a disk cache.

    Warn and compile without the cache if none is writable.
    """
    compiled = numba.njit(**_KERNEL)(function)
    if not isinstance(compiled, Dispatcher):
        return compiled  # NUMBA_DISABLE_JIT is set: this is the Python function.
    try:
        if KernelCache is None:
            compiled.enable_caching()
        else:
            compiled._cache = KernelCache(function)  # type: ignore[attr-defined]
            jit_ahead.KernelDispatcher.adopt(compiled)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        warnings.warn(
            "compiled kernels cannot be cached: neither the package's __pycache__ nor the "
            "user's cache directory is writable, so every process spends seconds compiling; "
            "set NUMBA_CACHE_DIR to a writable directory",
            SlowStartWarning,
            stacklevel=2,
        )
    return compiled


def light(steps: Callable[..., float]) -> Callable[[Any], Any]:
    """Run a kernel in Python, without compiling it, as long as it has little to do.

    The kernel must compute the same bits in Python.  So no number may be added to a product, which
    machine code rounds once and Python twice, unless the product is exact.

    Args:
        steps: Function of the kernel's arguments that estimates the microseconds of a call in
            Python; infinite where the bits may differ.
    """

    def mark(compiled: Any) -> Any:
        if hasattr(compiled, "steps"):
            compiled.steps = steps
        return compiled

    return mark


def entry_point(compiled: Any, *arguments: Any) -> Callable[..., Any]:
    """Return the machine code of a kernel for arguments of these types, compiled if necessary.

    Numba inspects the type of every argument of every call, which takes ten microseconds for thirty
    arrays; calling the machine code takes one. The caller must pass arguments of the same types.
    """
    if not isinstance(compiled, Dispatcher):
        return compiled  # NUMBA_DISABLE_JIT is set: this is the Python function.
    return compiled.compile(tuple(map(numba.typeof, arguments)))


def overload_piece(piece: Callable[..., Any]) -> Any:
    """Return Numba's ``overload`` decorator for a piece of kernels that is chosen by argument
    types.

    Nothing is fused in the replacement: it gives the same bits as its arithmetic in Python.
    """
    options: Any = {"forceinline": True, **_PIECE, "fastmath": False}
    return overload(piece, jit_options=options)


def if_given(function: Callable[..., Any]) -> Any:
    """Make a piece of kernels that returns None if its first argument is None.

    The case is known when a kernel is compiled. A test for None in the kernel would leave both
    branches in the code and make all later results optional values.
    """
    signature = inspect.signature(function)
    nothing = eval(f"lambda {', '.join(signature.parameters)}: None")

    @wraps(function)
    def piece(first: Any, *others: Any) -> Any:
        return None if first is None else function(first, *others)

    def choose(first: Any, *others: Any) -> Any:
        return nothing if isinstance(first, types.NoneType) else function

    # Numba requires the same signature of both and of the function that chooses between them.
    nothing.__signature__ = choose.__signature__ = signature  # type: ignore[attr-defined]
    overload_piece(piece)(choose)
    return piece


def is_none(argument: object) -> bool:
    """Return whether an argument of a piece, or its type, is None."""
    return argument is None or isinstance(argument, types.NoneType)


def by_types(choose: Callable[..., Any]) -> Any:
    """Make a piece of kernels that is chosen among several by the types of its arguments.

    Only the chosen piece is compiled; a condition within one piece would compile all branches.
    ``choose`` receives the types, or in Python the arguments, and returns a piece. All pieces have
    the parameters of ``choose``.
    """
    signature = inspect.signature(choose)
    options: Any = {"forceinline": True, **_PIECE}

    @wraps(choose)
    def piece(*arguments: Any) -> Any:
        return choose(*arguments)(*arguments)

    def of_types(*arguments: Any) -> Any:
        chosen_piece = choose(*arguments)
        chosen_piece.__signature__ = signature
        return chosen_piece

    # Numba requires the same signature of the piece and of the function that chooses it.
    of_types.__signature__ = signature  # type: ignore[attr-defined]
    overload(piece, jit_options=options)(of_types)
    return piece


def lends(piece: Any) -> Any:
    """Declare that a piece returns borrowed arrays, so that its callers count no references.

    Its result must be an array, or a tuple of arrays, from :func:`borrowed` or :func:`view`.
    """
    LENDERS.update((piece, inspect.unwrap(piece)))
    return piece


@lends
def borrowed(value: Any) -> Any:
    """Return an array, or a tuple of arrays, without reference counts: for arguments of a kernel.

    Numba counts references wherever it unpacks a tuple or passes it on, with one atomic operation
    per array. The caller of a kernel or a piece holds the arguments until it returns, so the counts
    are not needed. Arrays that the calling piece itself makes are rejected at compile time, because
    numba would free them too early.
    """
    return value


BORROWERS.add(borrowed)


@type_callable(borrowed)
def _borrowed(context: Any) -> Any:
    return lambda value: value


@lower_builtin(borrowed, types.Any)
def _without_counts(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    # Numba counts references by an array's meminfo pointer, and skips arrays whose pointer is null.
    def strip(kind: Any, value: Any, path: tuple[int, ...]) -> Any:
        if isinstance(kind, types.BaseTuple):
            parts: Any = kind
            for k, part in enumerate(parts):
                value = strip(part, value, (*path, k))
        elif isinstance(kind, types.Array):
            field = context.data_model_manager[kind].get_field_position("meminfo")
            nothing = cgutils.get_null_value(cgutils.voidptr_t)
            value = builder.insert_value(value, nothing, (*path, field))
        return value

    return strip(signature.return_type, arguments[0], ())


@lends
def view(pool: Any, begin: int, shape: tuple[int, ...]) -> Any:
    """Return a part of a one-dimensional array, from index ``begin`` on, in another shape.

    The array must outlive the kernel; like arrays of :func:`borrowed`, the part is not counted. A
    reshaped slice would be equivalent, but takes 0.05 s longer to compile.
    """
    return pool[begin : begin + math.prod(shape)].reshape(shape)


@overload_piece(view)
def _view(pool, begin, shape):  # type: ignore[no-untyped-def]
    return lends(lambda pool, begin, shape: _numbers_from(pool, begin, shape))


@lends
@intrinsic
def _numbers_from(typingctx: Any, pool: Any, begin: Any, shape: Any) -> Any:
    kind = types.Array(pool.dtype, len(shape), "C", readonly=not pool.mutable)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # Build the array as one LLVM value: stores to memory and loads take longer to compile.
        model, source = context.data_model_manager[kind], context.data_model_manager[pool]

        def of_pool(name: str) -> Any:
            return builder.extract_value(arguments[0], source.get_field_position(name))

        lengths, size = cgutils.unpack_tuple(builder, arguments[2]), of_pool("itemsize")
        strides: list[Any] = []
        items = lengths[0].type(1)
        # In C order the last axis varies fastest: its stride is the size of one item.
        for length in reversed(lengths):
            strides.insert(0, builder.mul(items, size))
            items = builder.mul(items, length)
        fields = {
            "nitems": items,
            "itemsize": size,
            "data": builder.gep(of_pool("data"), [arguments[1]]),
            "shape": cgutils.pack_array(builder, lengths),
            "strides": cgutils.pack_array(builder, strides),
        }
        array = cgutils.get_null_value(context.get_value_type(kind))
        for name, field in fields.items():
            array = builder.insert_value(array, field, model.get_field_position(name))
        return array

    return kind(pool, types.intp, types.UniTuple(types.intp, len(shape))), generate


def inlined(function: Callable[..., Any]) -> Any:
    """Make a piece that is compiled into the kernels that call it.

    Python calls the function unchanged.
    """
    return register_jitable(forceinline=True, **_PIECE)(function)


def compiled_here(piece: Callable[..., Any]) -> Any:
    """Declare that helpers do not compile a piece as a whole, because it calls most pieces of a
    kernel: several processes share these."""
    COMPILED_HERE.add(piece)
    return piece


def kernel_with(make: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Make a :func:`kernel` that allocates the last argument of its function, which is scratch.

    Both ``make`` and the function are pieces. ``make`` allocates the scratch from the other
    arguments that it names as parameters. The kernel owns the scratch and lends the arguments, so
    that no piece counts references to arrays.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        name, (*parameters, scratch) = function.__name__, inspect.signature(function).parameters
        lent = [f"    {parameter} = borrowed({parameter})" for parameter in parameters]
        lines = [
            # Pad with lines up to the function's first line, which errors then show. The kernel is
            # cached next to the function's file.
            "\n" * (function.__code__.co_firstlineno - 2),
            f"def {name}({', '.join(parameters)}):",
            *lent,
            f"    {scratch} = make({', '.join(inspect.signature(make).parameters)})",
            f"    return piece({', '.join([*parameters, scratch])})",
        ]
        scope = {
            "__name__": function.__module__,
            "borrowed": borrowed,
            "make": inlined(make),
            "piece": inlined(function),
        }
        exec(compile("\n".join(lines), function.__code__.co_filename, "exec"), scope)
        scope[name].__doc__ = function.__doc__
        return kernel(scope[name])

    return decorate


def not_inlined(function: Callable[..., Any]) -> Any:
    """Make a piece that each kernel contains once, not at every call.

    A call takes a few nanoseconds, but less code compiles in less time.
    """
    return register_jitable(**_PIECE)(function)
