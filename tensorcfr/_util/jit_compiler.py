"""Own passes in numba's compiler, which omit machine code of pieces and needless reference counts.

This relies on internals of numba. If numba has other internals, kernels are compiled without these
passes; see :mod:`tensorcfr._util.jit`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from numba.core import ir, types
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import NumbaTypeError
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import (
    NativeLowering,
    NoPythonSupportedFeatureValidation,
    NopythonTypeInference,
)
from numba.core.untyped_passes import IRProcessing

from .jit_lowering import LowerKernel
from .jit_operators import remembered_operators
from .jit_pieces import PieceLibrary, compile_those_left, pieces_of_one_function, put_off

LENDERS: set[Any] = set()
"""Pieces that return borrowed arrays."""
BORROWERS: set[Any] = set()
"""Pieces that remove reference counts from arrays."""


BORROWED = frozenset(
    {"build_tuple", "cast", "exhaust_iter", "getattr", "getitem", "phi", "static_getitem"}
)
"""Operations that create no array, but pass on an array with another owner."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _InferKernel(NopythonTypeInference):
    """Numba's type inference, for a kernel or a piece of one."""

    _name = "infer_kernel"

    def run_pass(self, state: Any) -> bool:
        """Infer the types; return True, as numba does."""
        with remembered_operators():
            return bool(super().run_pass(state))


@register_pass(mutates_CFG=False, analysis_only=True)
class _CountNoReferences(FunctionPass):
    """Disable reference counts in a piece that neither creates nor returns arrays.

    All its arrays belong to the calling kernel, and live as long as it runs. Numba would count a
    reference, atomically, for every view and every array that is passed on. In a loop over tiles,
    such counts take longer than the tiles.
    """

    _name = "count_no_references"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Change the target of such a piece, between typing and lowering; return False, as no code
        changes."""
        compile_those_left()
        _check_borrowed(state)
        if not _makes_arrays(state):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _AskAlike(FunctionPass):
    """Make kernels request pieces with the same options as pieces do.

    Numba stores compiled code by the options of its caller. The options of a kernel, which make it
    callable from Python, would have every piece compiled twice.
    """

    _name = "ask_alike"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Change the options before typing; return False, as no code changes."""
        # The top is a copy of the kernel's options; calls within the kernel inherit from it.
        flags = ConfigStack.top_or_none()
        if flags is not None:
            flags.release_gil = flags.forceinline = False
            flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return False


def _makes_arrays(state: Any) -> bool:
    """Return whether a piece may need reference counts of arrays.

    That is so if it may create an array, return one that is not borrowed, or call a function that
    creates one.
    """
    models, kinds = state.targetctx.data_model_manager, state.typemap

    def counts(kind: types.Type) -> bool:
        return bool(models[kind].contains_nrt_meminfo())

    if counts(state.return_type) and state.func_id.func not in LENDERS:
        return True
    for block in state.func_ir.blocks.values():
        for statement in block.body:
            if isinstance(statement, (ir.SetItem, ir.StaticSetItem)):
                # An array assigned to a slice is first copied if the two may overlap.
                if counts(kinds[statement.value.name]):
                    return True
            elif isinstance(statement, ir.Assign):
                expression = statement.value
                if isinstance(expression, ir.Yield):
                    return True
                if not isinstance(expression, ir.Expr) or expression.op in BORROWED:
                    continue
                if expression.op == "call" and _hands_on(expression, kinds):
                    continue
                if counts(kinds[statement.target.name]):
                    return True
                if expression.op == "call" and not _is_piece_or_scalar(expression, kinds, counts):
                    return True
    return False


def _check_borrowed(state: Any) -> None:
    """Check that no array passed to ``borrowed`` is created in the same piece.

    Raises:
        NumbaTypeError: The piece creates it: numba would free the array while it is in use.
    """
    models, kinds = state.targetctx.data_model_manager, state.typemap

    def is_made_here(name: str, seen: frozenset[str]) -> bool:
        if name in seen or not models[kinds[name]].contains_nrt_meminfo():
            return False
        seen = seen | {name}
        # Follow the variable back through its definitions to the operation that created it.
        for definition in state.func_ir._definitions.get(name, ()):
            parts = (
                [part.name for part in definition.list_vars()]
                if hasattr(definition, "list_vars")
                else []
            )
            if isinstance(definition, ir.Expr) and definition.op == "call":
                if _callee(definition, kinds) in LENDERS:
                    continue
                if not isinstance(kinds[definition.func.name], types.NamedTupleClass):
                    return True
            elif isinstance(definition, ir.Expr) and definition.op not in BORROWED:
                return True
            if any(is_made_here(part, seen) for part in parts if part in kinds):
                return True
        return False

    for block in state.func_ir.blocks.values():
        for call in block.find_exprs("call"):
            if _callee(call, kinds) in BORROWERS and is_made_here(call.args[0].name, frozenset()):
                raise NumbaTypeError(
                    f"borrowed() is given an array that {state.func_id.func_name} makes, which "
                    "would be freed while it is in use",
                    loc=call.loc,
                )


def _hands_on(call: Any, kinds: Mapping[str, types.Type]) -> bool:
    """Return whether a call creates a named tuple, or calls a piece that lends."""
    is_tuple = isinstance(kinds[call.func.name], types.NamedTupleClass)
    return is_tuple or _callee(call, kinds) in LENDERS


def _callee(call: Any, kinds: Mapping[str, types.Type]) -> Any:
    """Return the key by which numba finds the code of a call, or None."""
    return getattr(kinds[call.func.name], "typing_key", None)


def _is_piece_or_scalar(
    call: Any, kinds: Mapping[str, types.Type], counts: Callable[[types.Type], bool]
) -> bool:
    """Return whether a call is to a piece, or to a function of scalars.

    Methods of arrays, and NumPy's functions of arrays, may create arrays internally.
    """
    function = kinds[call.func.name]
    if isinstance(function, types.BoundFunction):
        return not counts(function.this)
    if getattr(_callee(call, kinds), "__module__", "").startswith("numpy"):
        return not any(counts(kinds[argument.name]) for argument in call.args)
    return True


class KernelCompiler(Compiler):
    """Numba's compiler with the passes of this module, for kernels."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's pipelines, extended by the passes of this module."""
        replaced = {NativeLowering: LowerKernel, NopythonTypeInference: _InferKernel}
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.add_pass_after(_AskAlike, IRProcessing)
            pipeline.add_pass_after(_CountNoReferences, NoPythonSupportedFeatureValidation)
            pipeline.passes = [(replaced.get(step, step), *rest) for step, *rest in pipeline.passes]
            pipeline.finalize()
        return pipelines

    def compile_extra(self, func: Any) -> Any:
        """Compile a function; it is called for pieces, too, within the call for their kernel."""
        with _without_garbage_collection(), pieces_of_one_function():
            return super().compile_extra(func)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Disable Python's collector of reference cycles, which takes a tenth of the time of compiling.

    Memory grows by up to 60 MB per kernel, until the next collection of all objects.  The caller
    holds numba's lock of the compiler.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():
                # Add the new objects to the oldest ones, which are seldom collected.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


class PieceCompiler(KernelCompiler):
    """Numba's compiler with the passes of this module, for pieces of kernels."""

    def __init__(
        self, typing_context: Any, target_context: Any, library: Any, *others: Any
    ) -> None:
        self._library = library
        piece_library = (
            PieceLibrary(target_context.codegen(), "piece") if library is None else library
        )
        super().__init__(typing_context, target_context, piece_library, *others)

    def compile_extra(self, func: Any) -> Any:
        """Compile a piece, or put it off until its code is needed."""
        state = self.state

        def compile() -> Any:
            # An interrupted compilation leaves a state with which numba does not begin again.
            contexts = state.typingctx, state.targetctx
            piece = type(self)(
                *contexts, self._library, state.args, state.return_type, state.flags, state.locals
            )
            return super(PieceCompiler, piece).compile_extra(func)

        return put_off(self, compile, func)
