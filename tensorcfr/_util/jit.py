"""How kernels are compiled: cached on disk where that is possible, and always IEEE.

Additions may be fused with multiplications, nothing else is reordered: the same game gives
the same bits in every run.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import pickle
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

import numba
from numba.core import cgutils, ir, types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.typed_passes import NoPythonSupportedFeatureValidation
from numba.extending import intrinsic, overload, register_jitable

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}


class SlowStartWarning(UserWarning):
    """Compiled kernels cannot be kept, so every process compiles them again."""


def kernel(function: Callable[..., Any]) -> Any:
    """``numba.njit`` with a disk cache; without one, and a warning, where it has no place."""
    compiled = numba.njit(nogil=True, pipeline_class=_KernelCompiler, **_OPTIONS)(function)
    if not isinstance(compiled, Dispatcher):
        return compiled  # The JIT is off.
    try:
        compiled._cache = _KernelCache(function)  # type: ignore[attr-defined]
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
    code: Callable[..., Any] = compiled.get_overload(signature)
    return code


class _KernelCache(FunctionCache):
    """Numba's cache of one kernel; files that cannot be read are removed and written anew.

    A process that was killed, a full disk, or another version whose modules had other names can
    leave such files.  Numba passes on the error, whichever it is.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        found = self._cache_file
        self._cache_file = _CheckedFile(
            # Not the name that numba chooses: earlier versions of this library read that one.
            found._cache_path,
            f"{self._impl.filename_base}.checked",
            found._source_stamp,
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for a signature, or None where it must be compiled."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            self._cache_file.remove()  # type: ignore[attr-defined]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel; without a place to keep it, it serves this process only."""
        try:
            super().save_overload(sig, data)
        except OSError:
            return  # A full disk, say: no reason to give up the kernel.
        except Exception:
            # Another process has damaged the index since it was read.
            self._cache_file.remove()  # type: ignore[attr-defined]
            with suppress(OSError):
                super().save_overload(sig, data)


class _CheckedFile(IndexDataCacheFile):
    """Index and code files of one kernel, each behind the digest of its content.

    Without the digest, a flipped bit in a code file would be executed.
    """

    def remove(self) -> None:
        """Delete the index, and with it every code file that it names."""
        with suppress(OSError):
            Path(self._index_path).unlink()

    def save(self, key: Any, data: Any) -> None:
        """Keep the code of a signature, with the signature: after :meth:`remove` another process
        may give the name of its file to other code."""
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        """The code of a signature, or None."""
        found = super().load(key)
        return found[1] if found is not None and found[0] == key else None

    def _load_index(self) -> Any:
        # The parts are written as one: numba reads its version before the rest.
        try:
            content = _checked(Path(self._index_path).read_bytes())
        except FileNotFoundError:
            return {}
        version, stamp, overloads = pickle.loads(content)
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: Any) -> None:
        content = self._dump((self._version, self._source_stamp, overloads))
        with self._open_for_write(self._index_path) as file:
            file.write(hashlib.sha256(content).digest() + content)

    def _load_data(self, name: str) -> Any:
        content = _checked(Path(self._data_path(name)).read_bytes())
        return pickle.loads(content)

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(content).digest() + content)


def _checked(content: bytes) -> bytes:
    """What is behind a digest.

    Raises:
        ValueError: The digest is that of something else.
    """
    size = hashlib.sha256().digest_size
    digest, content = content[:size], content[size:]
    if hashlib.sha256(content).digest() != digest:
        raise ValueError("a file of the kernel cache is damaged")
    return content


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
    overload(piece)(choose)
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


_LENDERS: set[Any] = set()


def lends(piece: Any) -> Any:
    """A piece of kernels whose result, an array or a tuple of them, is :func:`borrowed` or made of
    :func:`view`: who calls it has nothing to count."""
    _LENDERS.update((piece, inspect.unwrap(piece)))
    return piece


@lends
def borrowed(value: Any) -> Any:
    """An array, or a tuple of them, without reference counts: for arguments of a kernel.

    Numba counts references wherever it takes a tuple apart or passes it on, by an atomic step for
    each array.  Who calls a kernel or a piece holds its arguments until it returns.  Not for arrays
    that are made where this is called: numba would free them early.
    """
    return value


@overload(borrowed)
def _borrowed(value):  # type: ignore[no-untyped-def]
    return lends(lambda value: _without_counts(value))


@lends
@intrinsic
def _without_counts(typingctx: Any, value: Any) -> Any:
    def strip(context: Any, builder: Any, kind: Any, found: Any, path: tuple[int, ...]) -> Any:
        if isinstance(kind, types.BaseTuple):
            parts: Any = kind
            for k, one in enumerate(parts):
                found = strip(context, builder, one, found, (*path, k))
        elif isinstance(kind, types.Array):
            field = context.data_model_manager[kind].get_field_position("meminfo")
            nothing = cgutils.get_null_value(cgutils.voidptr_t)
            found = builder.insert_value(found, nothing, (*path, field))
        return found

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return strip(context, builder, value, arguments[0], ())

    return value(value), generate


@lends
def view(pool: Any, begin: int, shape: tuple[int, ...]) -> Any:
    """Numbers of a one-dimensional array from ``begin`` on, as an array of a shape: for arrays that
    outlive the kernel; like :func:`borrowed` ones they are not counted.

    A slice that is reshaped says the same, and takes a twentieth of a second to compile.
    """
    return pool[begin : begin + math.prod(shape)].reshape(shape)


@overload(view)
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


class _PieceLibrary(JITCodeLibrary):
    """The code of a piece of kernels, before optimisation.

    It is optimised, and translated to machine code, as a part of the kernels that call it.  Numba
    would do both for every piece by itself as well, for code that nobody runs.
    """

    def _optimize_final_module(self) -> None:
        """Leave that to the kernels."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """0: there is no machine code."""
        return 0

    @property
    def codegen(self) -> Any:
        """What numba tells the environment of the machine code."""
        return _NoMachineCode


class _NoMachineCode:
    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """There is none that could use it."""


BORROWED = frozenset(
    {"build_tuple", "cast", "exhaust_iter", "getattr", "getitem", "phi", "static_getitem"}
)
"""Operations that make no array of their own, but hand on one that somebody else holds."""


@register_pass(mutates_CFG=False, analysis_only=True)
class _CountNoReferences(FunctionPass):
    """Count no references to arrays in a piece that neither makes nor returns one.

    All its arrays belong to the kernel around it, and stay as long as it runs.  Numba would count a
    reference for every view and every array that is passed on, atomically; where such counts lie
    within a loop over tiles, they take longer than the tiles.
    """

    _name = "count_no_references"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Numba calls this between typing and lowering; returns whether it changed the code."""
        if not _makes_arrays(state):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False


def _makes_arrays(state: Any) -> bool:
    """Whether a piece may make an array, return one that is not lent, or call what makes one
    inside."""
    models, kinds = state.targetctx.data_model_manager, state.typemap

    def counts(kind: types.Type) -> bool:
        return bool(models[kind].contains_nrt_meminfo())

    if counts(state.return_type) and state.func_id.func not in _LENDERS:
        return True
    for block in state.func_ir.blocks.values():
        for statement in block.body:
            if isinstance(statement, (ir.SetItem, ir.StaticSetItem)):
                # An array assigned to a slice is copied first, where the two may overlap.
                if counts(kinds[statement.value.name]):
                    return True
            elif isinstance(statement, ir.Assign):
                made = statement.value
                if isinstance(made, ir.Yield):
                    return True
                if not isinstance(made, ir.Expr) or made.op in BORROWED:
                    continue
                if made.op == "call" and _callee(made, kinds) in _LENDERS:
                    continue
                if counts(kinds[statement.target.name]):
                    return True
                if made.op == "call" and not _is_piece_or_scalar(made, kinds, counts):
                    return True
    return False


def _callee(call: Any, kinds: Mapping[str, types.Type]) -> Any:
    """What a call is of, where numba finds code by a key."""
    return getattr(kinds[call.func.name], "typing_key", None)


def _is_piece_or_scalar(
    call: Any, kinds: Mapping[str, types.Type], counts: Callable[[types.Type], bool]
) -> bool:
    """Whether a call is of a piece, or of a function of numbers: methods of arrays and NumPy's
    functions may make arrays inside."""
    function = kinds[call.func.name]
    if isinstance(function, types.BoundFunction):
        return not counts(function.this)
    if getattr(_callee(call, kinds), "__module__", "").startswith("numpy"):
        return not any(counts(kinds[one.name]) for one in call.args)
    return True


class _KernelCompiler(Compiler):
    """Numba's compiler, for kernels."""

    def define_pipelines(self) -> list[Any]:
        """Numba's steps, with :class:`_CountNoReferences` among them."""
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.add_pass_after(_CountNoReferences, NoPythonSupportedFeatureValidation)
            pipeline.finalize()
        return pipelines


class _PieceCompiler(_KernelCompiler):
    """Numba's compiler, for pieces of kernels."""

    def __init__(
        self, typing_context: Any, target_context: Any, library: Any, *others: Any
    ) -> None:
        own = _PieceLibrary(target_context.codegen(), "piece") if library is None else library
        super().__init__(typing_context, target_context, own, *others)


_PIECE: dict[str, Any] = {
    "pipeline_class": _PieceCompiler,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    **_OPTIONS,
}


def inlined(function: Callable[..., Any]) -> Any:
    """A piece of a kernel: compiled as part of the kernels that call it.

    What Python calls is the function as it is written.
    """
    return register_jitable(forceinline=True, **_PIECE)(function)


def called(function: Callable[..., Any]) -> Any:
    """A piece of kernels that stands once in each of them, and not at every place that calls it.

    A call hands over every array of its arguments: for work of microseconds and more.
    """
    return register_jitable(**_PIECE)(function)
