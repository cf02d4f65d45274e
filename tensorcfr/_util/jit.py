"""How kernels are compiled: cached on disk where that is possible, and always IEEE.

Additions may be fused with multiplications, nothing else is reordered: the same game gives
the same bits in every run.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
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


class SlowStartWarning(UserWarning):
    """Kernels take longer to compile: they cannot be kept, or numba has other internals."""


try:
    from .jit_cache import KernelCache
    from .jit_compiler import BORROWERS, LENDERS, KernelCompiler, PieceCompiler

    _KERNEL["pipeline_class"], _PIECE["pipeline_class"] = KernelCompiler, PieceCompiler
except (ImportError, AttributeError) as error:
    KernelCache = None  # type: ignore[assignment, misc]
    warnings.warn(
        f"numba {numba.__version__} has other internals than this version of tensorcfr knows "
        f"({error}): kernels take longer to compile and to run",
        SlowStartWarning,
        stacklevel=2,
    )


def kernel(function: Callable[..., Any]) -> Any:
    """``numba.njit`` with a disk cache; without one, and a warning, where it has no place."""
    compiled = numba.njit(**_KERNEL)(function)
    if not isinstance(compiled, Dispatcher):
        return compiled  # The JIT is off.
    try:
        if KernelCache is None:
            compiled.enable_caching()
        else:
            compiled._cache = KernelCache(function)  # type: ignore[attr-defined]
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        warnings.warn(
            "compiled kernels cannot be kept: neither the package's __pycache__ nor the user's "
            "cache directory can be written, so every process spends seconds compiling; set "
            "NUMBA_CACHE_DIR to a directory that can be written",
            SlowStartWarning,
            stacklevel=2,
        )
    return compiled


def entry_point(compiled: Any, *arguments: Any) -> Callable[..., Any]:
    """The machine code of a kernel for arguments of these types, compiled if it is not yet.

    Numba looks at the type of every argument of every call, which takes ten microseconds for
    thirty arrays; the machine code takes one.  Who calls it sees to the types.
    """
    if not isinstance(compiled, Dispatcher):
        return compiled  # The JIT is off.
    signature = tuple(map(numba.typeof, arguments))
    compiled.compile(signature)
    return compiled.get_overload(signature)


def typed(piece: Callable[..., Any]) -> Any:
    """Numba's ``overload``: what stands for a piece of kernels, by the types of its arguments.

    Nothing is fused in it: it has the bits that its arithmetic has in Python.
    """
    options: Any = {"forceinline": True, **_PIECE, "fastmath": False}
    return overload(piece, jit_options=options)


def if_given(function: Callable[..., Any]) -> Any:
    """A piece of kernels that is None where its first argument is None.

    Which of the two it is, is known when a kernel is compiled.  A test for None in a kernel would
    leave both branches in it, and make what comes after it an optional value.
    """
    signature = inspect.signature(function)
    nothing = eval(f"lambda {', '.join(signature.parameters)}: None")

    @wraps(function)
    def piece(first: Any, *others: Any) -> Any:
        return None if first is None else function(first, *others)

    def choose(first: Any, *others: Any) -> Any:
        return nothing if isinstance(first, types.NoneType) else function

    # Numba compares them.
    nothing.__signature__ = choose.__signature__ = signature  # type: ignore[attr-defined]
    typed(piece)(choose)
    return piece


def is_none(argument: object) -> bool:
    """Whether an argument of a piece, or its type, is None."""
    return argument is None or isinstance(argument, types.NoneType)


def chosen(choose: Callable[..., Any]) -> Any:
    """A piece of kernels that is one of several, by its arguments' types.

    The others are not compiled, which a condition in one piece would not save.  ``choose`` gets the
    types, or in Python the arguments, and returns the piece; all have its parameters.
    """
    signature = inspect.signature(choose)
    options: Any = {"forceinline": True, **_PIECE}

    @wraps(choose)
    def piece(*arguments: Any) -> Any:
        return choose(*arguments)(*arguments)

    def of_types(*arguments: Any) -> Any:
        found = choose(*arguments)
        found.__signature__ = signature
        return found

    # Numba compares them.
    of_types.__signature__ = signature  # type: ignore[attr-defined]
    overload(piece, jit_options=options)(of_types)
    return piece


def lends(piece: Any) -> Any:
    """A piece of kernels whose result, an array or a tuple of them, is :func:`borrowed` or made of
    :func:`view`: who calls it has nothing to count."""
    LENDERS.update((piece, inspect.unwrap(piece)))
    return piece


@lends
def borrowed(value: Any) -> Any:
    """An array, or a tuple of them, without reference counts: for arguments of a kernel.

    Numba counts references wherever it takes a tuple apart or passes it on, by an atomic step for
    each array.  Who calls a kernel or a piece holds its arguments until it returns.  Arrays that
    are made where this is called are refused when it is compiled: numba would free them early.
    """
    return value


BORROWERS.add(borrowed)


@type_callable(borrowed)
def _borrowed(context: Any) -> Any:
    return lambda value: value


@lower_builtin(borrowed, types.Any)
def _without_counts(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    def strip(kind: Any, found: Any, path: tuple[int, ...]) -> Any:
        if isinstance(kind, types.BaseTuple):
            parts: Any = kind
            for k, one in enumerate(parts):
                found = strip(one, found, (*path, k))
        elif isinstance(kind, types.Array):
            field = context.data_model_manager[kind].get_field_position("meminfo")
            nothing = cgutils.get_null_value(cgutils.voidptr_t)
            found = builder.insert_value(found, nothing, (*path, field))
        return found

    return strip(signature.return_type, arguments[0], ())


@lends
def view(pool: Any, begin: int, shape: tuple[int, ...]) -> Any:
    """Numbers of a one-dimensional array from ``begin`` on, as an array of a shape: for arrays that
    outlive the kernel; like :func:`borrowed` ones they are not counted.

    A slice that is reshaped says the same, and takes a twentieth of a second to compile.
    """
    return pool[begin : begin + math.prod(shape)].reshape(shape)


@typed(view)
def _view(pool, begin, shape):  # type: ignore[no-untyped-def]
    return lends(lambda pool, begin, shape: _numbers_from(pool, begin, shape))


@lends
@intrinsic
def _numbers_from(typingctx: Any, pool: Any, begin: Any, shape: Any) -> Any:
    kind = types.Array(pool.dtype, len(shape), "C", readonly=not pool.mutable)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # Built as one value: the stores and loads of a place in memory take longer to compile.
        model, source = context.data_model_manager[kind], context.data_model_manager[pool]

        def of_pool(name: str) -> Any:
            return builder.extract_value(arguments[0], source.get_field_position(name))

        lengths, size = cgutils.unpack_tuple(builder, arguments[2]), of_pool("itemsize")
        strides: list[Any] = []
        items = lengths[0].type(1)
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
        found = cgutils.get_null_value(context.get_value_type(kind))
        for name, field in fields.items():
            found = builder.insert_value(found, field, model.get_field_position(name))
        return found

    return kind(pool, types.intp, types.UniTuple(types.intp, len(shape))), generate


def inlined(function: Callable[..., Any]) -> Any:
    """A piece of a kernel: compiled as part of the kernels that call it.

    What Python calls is the function as it is written.
    """
    return register_jitable(forceinline=True, **_PIECE)(function)


def kernel_with(make: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """A :func:`kernel` without its function's last argument, which is scratch.

    ``make``, a piece, makes the scratch of those other arguments that it names.  The function is a
    piece, too: the kernel holds the scratch and lends the arguments, so that nothing within counts
    references to arrays.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        name, (*given, made) = function.__name__, inspect.signature(function).parameters
        lent = [f"    {one} = borrowed({one})" for one in given]
        lines = [
            # From the function's first line on: errors show it, and the cache is beside its file.
            "\n" * (function.__code__.co_firstlineno - 2),
            f"def {name}({', '.join(given)}):",
            *lent,
            f"    {made} = make({', '.join(inspect.signature(make).parameters)})",
            f"    return piece({', '.join([*given, made])})",
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


def called(function: Callable[..., Any]) -> Any:
    """A piece of kernels that stands once in each of them, and not at every place that calls it.

    A call takes some nanoseconds, and less code less time to compile.
    """
    return register_jitable(**_PIECE)(function)
