"""Pieces of kernels whose compilation is put off, so that another process may do it meanwhile.

A kernel cannot be translated before the pieces that it calls.  It can be typed, however, if they
return nothing, because numba needs only the type of their result.  So while helpers run, a piece
that is declared to return None is put off: it goes into a queue, from which helpers take the oldest
piece.  This process compiles those that are left, the newest first, before it translates the kernel
that calls them.

This relies on internals of numba; see :mod:`tensorcfr._util.jit`.
"""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from importlib import import_module
from threading import Condition
from typing import Any

from llvmlite import binding  # type: ignore[import-untyped]
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import serialize, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, Flags, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaTypeError
from numba.core.targetconfig import ConfigStack
from numba.core.typing.templates import signature

_NO_ENVIRONMENT = _dynfunc.Environment({})
COMPILED_HERE: set[Any] = set()
"""Pieces that are not put off, see :func:`tensorcfr._util.jit.compiled_here`."""
PATIENCE = 120.0
"""Seconds in which a helper that takes no processor time is given up; this process then compiles
the piece itself."""
MOST_PATIENCE = 10.0
"""Processor time after which a helper without an answer is given up, in units of
:data:`PATIENCE`."""


class PieceLibrary(JITCodeLibrary):
    """Code of a piece of kernels, before optimisation.

    It is optimised and translated to machine code as part of the kernels that call it. Numba would
    also do both for every piece separately, for code that never runs.
    """

    def _optimize_final_module(self) -> None:
        """Skip the optimisation, which the kernels do."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, because there is no machine code."""
        return 0

    @property
    def codegen(self) -> Any:
        """Stand-in for the code generator, which ignores the environments that numba sets."""
        return _NoMachineCode

    @classmethod
    def of_bitcode(cls, codegen: Any, bitcode: bytes) -> PieceLibrary:
        """Return the code of a piece that another process has compiled."""
        library = cls(codegen, "piece")
        library._final_module = binding.parse_bitcode(bitcode)
        library._finalize_final_module()
        return library


class _NoMachineCode:
    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Ignore the environment: no machine code would use it."""


class PieceQueue:
    """Pieces that are put off, and that no process compiles yet."""

    def __init__(self) -> None:
        self.pieces: deque[PutOff] = deque()
        self.changed = Condition()
        """Condition that guards the queue; it is notified when a piece is added or compiled."""

    def add(self, piece: PutOff) -> None:
        """Add a piece."""
        with self.changed:
            self.pieces.append(piece)
            self.changed.notify_all()

    def next(self) -> PutOff | None:
        """Take the oldest piece that can be sent to another process; the caller holds the lock."""
        while self.pieces:
            piece = self.pieces.popleft()
            if piece.request is not None and piece.take():
                return piece
        return None

    def wait_until(self, is_done: Callable[[], bool]) -> None:
        """Wait for helpers until something is done, or give them up."""
        with self.changed:
            first = last = self.helpers_seconds()
            while not self.changed.wait_for(is_done, PATIENCE):
                taken = self.helpers_seconds()
                if taken == last or taken - first > MOST_PATIENCE * PATIENCE:
                    self.give_up()
                    return
                last = taken

    def helpers_seconds(self) -> float:
        """Return the processor time that all helpers have taken."""
        return 0.0

    def give_up(self) -> None:
        """End helpers that do not answer."""

    def finish(self, piece: PutOff, answer: bytes | None) -> None:
        """Pass on the answer of a helper, or None if it has failed."""
        with self.changed:
            piece.answer, piece.is_finished = answer, True
            self.changed.notify_all()


class _PutOffPieces:
    """Pieces that are put off; numba's lock of the compiler guards it."""

    def __init__(self) -> None:
        self.queue: PieceQueue | None = None
        """The queue; None if each piece is compiled at once, because there is no helper."""
        self.callers: list[list[PutOff]] = []
        """Pieces by the function that calls them, for the functions that are being compiled, the
        innermost last."""
        self.results: dict[tuple[Any, ...], Any] | None = None
        """Compiled pieces by name and argument types, in a helper; otherwise None."""


_put_off = _PutOffPieces()


@contextmanager
def put_off_to(queue: PieceQueue) -> Iterator[None]:
    """Put off pieces to a queue within the context."""
    _put_off.queue = queue
    try:
        yield
    finally:
        _put_off.queue = None


def returns_nothing(function: Callable[..., Any]) -> bool:
    """Return whether a function is declared to return None."""
    return function.__annotations__.get("return", "") in (None, "None")


class PutOff:
    """A piece whose compilation is put off; numba asks it for the piece's code.

    Args:
        compiler: Numba's compiler of the piece.
        compile: Function that compiles the piece in this process.
        function: Python function of the piece.
        queue: Queue to which the piece is added.
    """

    def __init__(
        self,
        compiler: CompilerBase,
        compile: Callable[[], Any],
        function: Callable[..., Any],
        queue: PieceQueue,
    ) -> None:
        self._compile, self._queue, self._context = compile, queue, compiler.state.targetctx
        arguments = tuple(compiler.state.args)
        self.request = _request(function, arguments)
        """Message that asks a helper to compile the piece; None if no helper can."""
        self.answer: bytes | None = None
        self.is_finished = False
        """True once a helper has answered or has failed."""
        self._is_taken = False
        name = function.__name__
        self._key = _dynfunc.make_function(
            sys.modules[__name__], name, f"piece {name}, put off", 0, _NO_ENVIRONMENT, ()
        )
        self._context._defns[self._key] = self
        self.result: Any = compile_result(  # type: ignore[no-untyped-call]
            typing_context=compiler.state.typingctx,
            target_context=self._context,
            entry_point=self._key,
            signature=signature(types.none, *arguments),  # type: ignore[no-untyped-call]
            objectmode=False,
        )
        """Stand-in for the result of the compilation."""
        if _put_off.callers:
            _put_off.callers[-1].append(self)
        queue.add(self)

    def take(self) -> bool:
        """Return whether the piece was left; from now on it is not."""
        was_left, self._is_taken = not self._is_taken, True
        return was_left

    def compile_if_left(self) -> None:
        """Compile the piece in this process, unless a helper does or it is compiled."""
        with self._queue.changed:
            if not self.take():
                return
        try:
            self._compile_here()
        except BaseException:
            self._queue.finish(self, None)  # The next call of the piece raises the error again.
            raise

    def find(self, arguments: Any) -> Any:
        """Return the code for argument types, as numba's list of implementations does."""
        self.compile_if_left()
        if self._context._defns[self._key] is self:
            self._queue.wait_until(lambda: self.is_finished)
            if self.answer is None:
                self._compile_here()
            else:
                descriptor, bitcode = pickle.loads(self.answer)
                codegen = self._context.codegen()
                self._define(descriptor, PieceLibrary.of_bitcode(codegen, bitcode))
        return self._context._defns[self._key].find(arguments)

    def _compile_here(self) -> None:
        result = self._compile()
        self._define(result.fndesc, result.library)

    def _define(self, descriptor: Any, library: Any) -> None:
        if descriptor.restype != types.none:
            raise NumbaTypeError(
                f"{descriptor.qualname} is declared to return None, and returns "
                f"{descriptor.restype}"
            )
        del self._context._defns[self._key]
        self._context.insert_user_function(self._key, descriptor, [library])


@contextmanager
def pieces_of_one_function() -> Iterator[None]:
    """Collect the pieces that are put off by one function, which is compiled in the context."""
    _put_off.callers.append([])
    try:
        yield
    finally:
        _put_off.callers.pop()


def compile_those_left() -> None:
    """Compile the pieces that the innermost function has put off, the newest first."""
    for piece in reversed(_put_off.callers[-1]):
        piece.compile_if_left()


def put_off(
    compiler: CompilerBase, compile: Callable[[], Any], function: Callable[..., Any]
) -> Any:
    """Put off the compilation of a piece, or compile it if it may return something."""
    queue = _put_off.queue  # Another thread may end the work meanwhile.
    if queue is None or function in COMPILED_HERE or not returns_nothing(function):
        result = compile()
        if _put_off.results is not None:
            _put_off.results[name_of(function), tuple(compiler.state.args)] = result
        return result
    return PutOff(compiler, compile, function, queue).result


def name_of(function: Callable[..., Any]) -> tuple[str, str]:
    """Return module and name of a piece, by which kernels call it.

    A generated function has the attribute ``stands_for``, the function in whose place it is called.
    """
    function = getattr(function, "stands_for", function)
    return function.__module__, function.__qualname__


def _request(function: Callable[..., Any], arguments: Any) -> bytes | None:
    """Return a message that asks a helper for a piece; None if it could not find the function."""
    module, name = name_of(function)
    named = getattr(sys.modules.get(module), name, None)
    if named is not getattr(function, "stands_for", function):
        return None
    # Numba compiles a piece with options of its caller.
    options: Any = ConfigStack.top_or_none()  # type: ignore[no-untyped-call]
    try:
        message = None, (module, name, arguments, options._values)
        return bytes(serialize.dumps(message))  # type: ignore[no-untyped-call]
    except Exception:
        return None


def compiled_piece(
    contexts: tuple[Any, Any],
    module: str,
    name: str,
    arguments: tuple[types.Type, ...],
    options: dict[str, Any],
) -> bytes:
    """Compile a piece, and return its descriptor and its code, pickled.

    The piece is kept for kernels that this process compiles later.

    Raises:
        KeyError: Kernels do not call a function of this name with these types.
        ValueError: The code has addresses of this process.
    """
    typing_context, target_context = contexts
    _put_off.results = {} if _put_off.results is None else _put_off.results
    flags: Any = Flags()  # type: ignore[no-untyped-call]
    flags._values.update(options)
    with global_compiler_lock, ConfigStack().enter(flags):  # type: ignore[no-untyped-call]
        piece = getattr(import_module(module), name)
        # Numba does not know yet the functions of modules that have just been imported.
        typing_context.refresh()
        target_context.refresh()
        function = typing_context.resolve_value_type(piece)
        function.get_call_type(typing_context, arguments, {})
        result = _put_off.results[(module, name), arguments]
        library, descriptor = result.library, result.fndesc
        if library.has_dynamic_globals or library._reload_init:
            raise ValueError(f"{name} has addresses of this process")
        descriptor = copy(descriptor)
        descriptor.typemap = descriptor.calltypes = None
        _, _, bitcode = library.serialize_using_bitcode()
        return bytes(serialize.dumps((descriptor, bitcode)))  # type: ignore[no-untyped-call]
