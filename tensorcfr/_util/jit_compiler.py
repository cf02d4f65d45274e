"""Steps of our own in numba's compiler: pieces of kernels get no code and no counts in vain.

This rests on internals of numba.  A version that has others is used without these steps; see
:mod:`tensorcfr._util.jit`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numba.core import ir, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import NumbaTypeError
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering, NoPythonSupportedFeatureValidation
from numba.core.untyped_passes import IRProcessing

from .jit_lowering import LowerKernel

LENDERS: set[Any] = set()
"""Pieces that return borrowed arrays."""
BORROWERS: set[Any] = set()
"""Pieces that take the counts from arrays."""


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
        _check_borrowed(state)
        if not _makes_arrays(state):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _AskAlike(FunctionPass):
    """Kernels ask for pieces as pieces do.

    Numba keeps what it compiled by the options of who calls it.  Those that make a kernel what
    Python calls would have every piece compiled twice.
    """

    _name = "ask_alike"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Numba calls this before typing; returns whether it changed the code."""
        asked = ConfigStack.top_or_none()  # A copy of the options of what is compiled.
        if asked is not None:
            asked.release_gil = asked.forceinline = False
            asked.no_cpython_wrapper = asked.no_cfunc_wrapper = True
        return False


def _makes_arrays(state: Any) -> bool:
    """Whether a piece may make an array, return one that is not lent, or call what makes one
    inside."""
    models, kinds = state.targetctx.data_model_manager, state.typemap

    def counts(kind: types.Type) -> bool:
        return bool(models[kind].contains_nrt_meminfo())

    if counts(state.return_type) and state.func_id.func not in LENDERS:
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
                if made.op == "call" and _hands_on(made, kinds):
                    continue
                if counts(kinds[statement.target.name]):
                    return True
                if made.op == "call" and not _is_piece_or_scalar(made, kinds, counts):
                    return True
    return False


def _check_borrowed(state: Any) -> None:
    """Check that ``borrowed`` is given no array that is made in the same piece.

    Raises:
        NumbaTypeError: It is: numba would free the array while it is in use.
    """
    models, kinds = state.targetctx.data_model_manager, state.typemap

    def is_made_here(name: str, seen: frozenset[str]) -> bool:
        if name in seen or not models[kinds[name]].contains_nrt_meminfo():
            return False
        seen = seen | {name}
        for made in state.func_ir._definitions.get(name, ()):
            parts = [part.name for part in made.list_vars()] if hasattr(made, "list_vars") else []
            if isinstance(made, ir.Expr) and made.op == "call":
                if _callee(made, kinds) in LENDERS:
                    continue
                if not isinstance(kinds[made.func.name], types.NamedTupleClass):
                    return True
            elif isinstance(made, ir.Expr) and made.op not in BORROWED:
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
    """Whether a call makes a named tuple, or is of a piece that lends."""
    is_tuple = isinstance(kinds[call.func.name], types.NamedTupleClass)
    return is_tuple or _callee(call, kinds) in LENDERS


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


class KernelCompiler(Compiler):
    """Numba's compiler, for kernels."""

    def define_pipelines(self) -> list[Any]:
        """Numba's steps, with those of this module among them."""
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.add_pass_after(_AskAlike, IRProcessing)
            pipeline.add_pass_after(_CountNoReferences, NoPythonSupportedFeatureValidation)
            pipeline.passes = [
                (LowerKernel, *rest) if step is NativeLowering else (step, *rest)
                for step, *rest in pipeline.passes
            ]
            pipeline.finalize()
        return pipelines


class PieceCompiler(KernelCompiler):
    """Numba's compiler, for pieces of kernels."""

    def __init__(
        self, typing_context: Any, target_context: Any, library: Any, *others: Any
    ) -> None:
        own = _PieceLibrary(target_context.codegen(), "piece") if library is None else library
        super().__init__(typing_context, target_context, own, *others)
