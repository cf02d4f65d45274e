"""Compilation of the kernels of a first use by several processes at the same time.

A first solve needs a handful of kernels, one after the other, and numba compiles one at a time.
Here the calls of these kernels are *noted* first, without running them.  Helper processes compile a
part of the noted kernels into the cache, from which this process reads them.  On Linux they also
compile pieces of the kernel that this process compiles.  Without a helper, for example because no
process can be started, this process compiles all of them.

This relies on internals of numba; see :mod:`tensorcfr._util.jit`.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import IO, Any

import numba
import numpy as np
from numba.core import serialize
from numba.core.bytecode import FunctionIdentity
from numba.core.registry import CPUDispatcher, cpu_target

from .hardware import available_cores
from .jit_cache import KernelCache, digest_of_sources, import_array_functions
from .jit_pieces import PieceQueue, PutOff, compiled_piece, put_off_to
from .processes import end_with_parent, processor_seconds
from .signals import delayed

Plan = Callable[[], object]
"""Function that calls kernels, which are noted instead of run: they return 0.0 and change no array.
Kernels that this process has used before do run.  So a plan must work on objects of its own: its
numbers are meaningless."""
Call = tuple["KernelDispatcher", tuple[Any, ...]]
"""A kernel, and the types of its arguments."""

KERNELS: dict[tuple[str, str], KernelDispatcher] = {}
"""Kernels by module and name, by which a helper finds them."""
PYTHON_STEPS = "TENSORCFR_PYTHON_STEPS"
"""Environment variable with the work that a kernel may do in Python before it is compiled."""
MOST_STEPS = "50000"
"""Default of :data:`PYTHON_STEPS`.  A step takes about a microsecond, so all calls of a kernel in
Python take no longer than reading its machine code from the disk a few times."""
STEPS_OF_CALL = 200
"""Steps by which a call in Python counts in addition: it looks for machine code first."""
CALLS = 30
"""Calls that must be possible within that work; a kernel with more work per call is compiled."""
LARGE = 1000
"""Letters of the argument types of a kernel whose pieces are compiled together with a helper, even
if no other kernel is needed."""
NUMBER_BITS = 32
"""Functions of a process have numbers of this many bits."""
HELPERS = "TENSORCFR_HELPERS"
"""Environment variable with the largest number of helpers."""
MOST_HELPERS = "2"
"""Default of :data:`HELPERS`.  A helper takes half a second to start and 200 MB, and compiles the
pieces again that its kernels share with those of other processes."""


class _Thread(threading.local):
    """Variables of one thread."""

    plans: tuple[Plan, ...] = ()
    """Plans of the calls that follow; empty once they have been carried out."""
    is_together: bool = False
    """True while kernels are being compiled together with helpers."""
    noted: dict[Call, None] | None = None
    """Calls noted so far, in their order; None if kernels run."""


_thread = _Thread()


@contextmanager
def compiled_ahead(plan: Plan) -> Iterator[None]:
    """Compile the kernels of a plan together, as soon as one must be compiled in this context.

    Args:
        plan: Function that calls the kernels which the context is going to call, on arrays of the
            same types.  An exception ends the plan, and is ignored: a kernel that was not noted is
            compiled when it is called.
    """
    before = _thread.plans
    _thread.plans = (*before, plan)
    try:
        yield
    finally:
        _thread.plans = before if _thread.plans else ()


class KernelDispatcher(CPUDispatcher):
    """Numba's dispatcher of a kernel, whose calls can be noted.

    A kernel with :attr:`steps` is not compiled as long as it has little to do.
    """

    steps: Callable[..., float] | None = None
    """Function that estimates the steps of a call from its arguments, if the kernel computes the
    same bits in Python; see :func:`tensorcfr._util.jit.light`."""
    steps_done: float = 0.0
    """Steps of the calls that have run in Python."""

    @classmethod
    def adopt(cls, kernel: Any) -> None:
        """Turn a dispatcher of numba into one of this class."""
        kernel.__class__ = cls
        KERNELS[kernel.py_func.__module__, kernel.py_func.__qualname__] = kernel

    def compile(self, sig: Any) -> Any:
        """Return the machine code for argument types, compiled if necessary."""
        if _thread.noted is not None:
            _thread.noted[self, tuple(sig)] = None
            return _return_zero
        is_large = len(str(sig)) >= LARGE and not _thread.is_together
        if (_thread.plans or is_large) and self.is_missing(sig) and (most := _most_helpers()):
            plans, _thread.plans = _thread.plans, ()
            _thread.is_together = True
            try:
                if plans:
                    _compile_together(_noted(plans), most)
                if is_large and _can_fork() and self.is_missing(sig):
                    _compile_together([(self, tuple(sig))], 1)
            finally:
                _thread.is_together = False
        return super().compile(sig)

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """Return a function that numba calls for arguments of types that are not compiled."""
        steps = 0.0 if self.steps is None else self.steps(*args) + STEPS_OF_CALL
        if steps and self._is_light(steps):
            if _thread.noted is not None:
                return _return_zero
            if self.is_missing(tuple(map(numba.typeof, args))):
                self.steps_done += steps
                return self._run_in_python
        return super()._compile_for_args(*args, **kws)  # type: ignore[misc]

    def _is_light(self, steps: float) -> bool:
        most = _whole_number(PYTHON_STEPS, MOST_STEPS)
        return steps * CALLS <= most and self.steps_done + steps <= most

    def _run_in_python(self, *args: Any) -> Any:
        with np.errstate(all="ignore"):
            return self.py_func(*args)

    def is_missing(self, sig: Any) -> bool:
        """Return whether the code is neither in this process nor in the cache."""
        cache: KernelCache = self._cache  # type: ignore[attr-defined]
        return sig not in self.overloads and not cache.holds(sig, self.targetctx)


def _return_zero(*arguments: Any) -> float:
    return 0.0


def _noted(plans: tuple[Plan, ...]) -> list[Call]:
    """Return the calls of plans whose kernels are missing, those with most argument types first."""
    noted: dict[Call, None] = {}
    _thread.noted = noted
    try:
        for plan in plans:
            with suppress(Exception), np.errstate(all="ignore"):
                plan()
    finally:
        _thread.noted = None
    missing = [(kernel, sig) for kernel, sig in noted if kernel.is_missing(sig)]
    # A kernel of many arrays has much code.  The longest compilation should not begin last.
    return sorted(missing, key=lambda call: len(str(call[1])), reverse=True)


class _SharedWork(PieceQueue):
    """Kernels and pieces that are still to be compiled.

    Args:
        calls: The kernels; this process takes the first one, and helpers the last one.
        helpers: Helpers; more may be appended.
    """

    def __init__(self, calls: list[Call], helpers: list[_Helper]) -> None:
        super().__init__()
        self._kernels, self._helpers = deque(calls), helpers
        self._has_ended = False

    def first(self) -> Call | None:
        """Take the first kernel; None if none is left."""
        with self.changed:
            return self._kernels.popleft() if self._kernels else None

    def for_helper(self) -> Call | PutOff | None:
        """Take the last kernel, or else a piece, or wait; None if the work has ended."""
        with self.changed:
            while not self._has_ended:
                if self._kernels:
                    return self._kernels.pop()
                if piece := self.next():
                    return piece
                self.changed.wait()
        return None

    def helpers_seconds(self) -> float:
        """Return the processor time that all helpers have taken."""
        return sum(processor_seconds(helper.process.pid) for helper in self._helpers)

    def give_up(self) -> None:
        """End helpers that do not answer, and thereby the threads that wait for them."""
        for helper in self._helpers:
            helper.process.kill()

    def put_back(self, call: Call) -> None:
        """Return a kernel that no helper can compile."""
        with self.changed:
            self._kernels.appendleft(call)

    def end(self, *, drop: bool = False) -> None:
        """End the work for helpers, and drop the kernels that are left if told."""
        with self.changed:
            self._has_ended = True
            if drop:
                self._kernels.clear()
            self.changed.notify_all()


def _compile_together(calls: list[Call], most: int) -> None:
    """Compile kernels here, from the first on, and in helpers, from the last on.

    Args:
        calls: The kernels.
        most: Largest number of helpers.
    """
    helpers: list[_Helper] = []
    work = _SharedWork(calls, helpers)
    call = work.first()  # The largest: helpers that have no kernel compile its pieces.
    try:
        with suppress(OSError, RuntimeError):  # No more processes, or threads.
            # A new process starts too late for the pieces of the first kernel.
            for _ in range(min(most, len(calls) - (not _can_fork()))):
                helpers.append(_Helper(helpers))
            for helper in helpers:
                helper.begin(work)
        # The call that needs a kernel with an error will raise it again.
        with suppress(Exception), put_off_to(work):
            while helpers and call is not None:
                kernel, sig = call
                kernel.compile(sig)
                call = work.first()
        work.end()
        work.wait_until(lambda: not any(helper.is_busy for helper in helpers))
    finally:
        with delayed():  # A second Ctrl-C would leave helpers behind.
            work.end(drop=True)
            for helper in helpers:
                helper.end()


def _most_helpers() -> int:
    """Return the largest number of helpers.

    It is 0 in a process of ``multiprocessing``, which is one of many, and in a program that embeds
    Python, whose executable would start the program again.

    Raises:
        ValueError: The environment variable is not a whole number.
    """
    most = _whole_number(HELPERS, MOST_HELPERS)
    is_python = Path(sys.executable or "").stem.lower().startswith("python")
    if not is_python or multiprocessing.parent_process() is not None:
        return 0
    return min(most, available_cores() - 1)


def _whole_number(variable: str, default: str) -> int:
    """Return the value of an environment variable.

    Raises:
        ValueError: It is not a whole number.
    """
    text = os.environ.get(variable, default)
    if not text.isdecimal():
        raise ValueError(f"{variable} must be a whole number, 0 or more, not {text!r}")
    return int(text)


class _Helper:
    """Process that compiles kernels, and the thread of this process that sends them to it.

    Args:
        others: Helpers that have started before.
    """

    def __init__(self, others: list[_Helper]) -> None:
        # A new process has other numbers of functions than this one and than other helpers, because
        # the names of functions in LLVM have these numbers.
        first_number = (len(others) + 1) << NUMBER_BITS
        self.process = _Fork(first_number, others) if _can_fork() else _new_process(first_number)
        self._thread: threading.Thread | None = None
        self.is_busy = False
        """True while the thread sends work to the process."""

    def begin(self, work: _SharedWork) -> None:
        """Send work to the process, until it has ended."""
        self._thread = threading.Thread(target=self._send, args=(work,), daemon=True)
        self._thread.start()

    def _send(self, work: _SharedWork) -> None:
        """Send kernels and pieces, one after the other, until the work or the process has ended."""
        self.is_busy = True
        # The process may have ended.
        with suppress(Exception):
            while item := work.for_helper():
                if isinstance(item, PutOff):
                    answer = None
                    try:
                        answer = self._answer(item.request)
                    finally:
                        work.finish(item, answer)
                    continue
                kernel, sig = item
                name = kernel.py_func.__module__, kernel.py_func.__qualname__
                try:
                    message = serialize.dumps((name, (sig,)))  # type: ignore[no-untyped-call]
                except Exception:
                    work.put_back(item)  # This process compiles it.
                    break
                self._answer(message)
        with work.changed:
            self.is_busy = False
            work.changed.notify_all()

    def end(self) -> None:
        """End the process, even if it is compiling."""
        self.process.kill()
        if self._thread is not None:
            self._thread.join()
        self.process.communicate()

    def _answer(self, message: bytes | None) -> Any:
        """Send a message to the process, and return its answer."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        pickle.dump(message, stdin)
        stdin.flush()
        return pickle.load(stdout)


def _can_fork() -> bool:
    """Return whether a copy of this process can compile, which starts without a delay.

    Libraries of macOS do not work in a copy.  A lock that another thread holds is never released in
    a copy.
    """
    return sys.platform == "linux" and threading.active_count() == 1


class _Fork:
    """Copy of this process that compiles kernels, with the methods of ``subprocess.Popen``.

    Args:
        first_number: Number of the first function that the copy compiles.
        others: Helpers that have started before.
    """

    def __init__(self, first_number: int, others: list[_Helper]) -> None:
        (requests, send), (receive, answers) = os.pipe(), os.pipe()
        self.stdin, self.stdout = os.fdopen(send, "wb"), os.fdopen(receive, "rb")
        # A pipe ends when all copies of its file are closed.
        kept_open = [
            stream
            for process in (self, *(earlier.process for earlier in others))
            for stream in (process.stdin, process.stdout)
            if stream is not None
        ]

        # Both processes need numba's modules, which this one would import later.
        import_array_functions()
        cpu_target.target_context.refresh()

        def work() -> None:
            for stream in kept_open:
                stream.close()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            end_with_parent()
            logging.disable(logging.CRITICAL)
            warnings.simplefilter("ignore")
            serve(first_number, os.fdopen(requests, "rb"), os.fdopen(answers, "wb"))

        self._process = multiprocessing.get_context("fork").Process(target=work, daemon=True)
        try:
            # Python warns of threads of other libraries, such as those of BLAS, which kernels do
            # not use.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._process.start()
        except BaseException:
            self.stdin.close()
            self.stdout.close()
            raise
        finally:
            os.close(requests)
            os.close(answers)

    @property
    def pid(self) -> int:
        """Number of the process."""
        assert self._process.pid is not None
        return self._process.pid

    def kill(self) -> None:
        """End the process."""
        self._process.kill()

    def communicate(self) -> None:
        """Wait for the end of the process, and close its pipes."""
        self._process.join()
        for stream in (self.stdin, self.stdout):
            with suppress(OSError):
                stream.close()


def _new_process(first_number: int) -> subprocess.Popen[bytes]:
    """Start Python with a helper."""
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    environment = os.environ | {"PYTHONPATH": path, HELPERS: "0"}
    if folder := numba.config.CACHE_DIR:  # type: ignore[attr-defined]
        environment["NUMBA_CACHE_DIR"] = os.path.abspath(folder)
    program = (
        f"import sys; from {__name__} import serve; "
        f"serve({first_number}, sys.stdin.buffer, sys.stdout.buffer, {digest_of_sources()!r})"
    )
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


def serve(
    first_number: int, requests: IO[bytes], answers: IO[bytes], digest: str | None = None
) -> None:
    """Compile the kernels and pieces that arrive, in a helper process.

    Args:
        first_number: Number of the first function that it compiles.
        requests: Stream of pickled names of kernels with the argument types, and of requests for
            pieces, which have None as name.
        answers: Stream for a pickled answer to each: the code of a piece, True for a kernel, or
            None if it cannot be compiled.
        digest: Digest of the sources of the other process; the helper ends if its own differ.  None
            for a copy of that process.
    """
    if digest not in (None, digest_of_sources()):
        return
    gc.disable()  # The process ends soon; collections take a twentieth of its time.
    # Importing the package registers the rules, whose types are part of signatures.
    import_module(__name__.partition(".")[0])
    import_array_functions()
    FunctionIdentity._unique_ids = count(first_number)
    contexts = cpu_target.typing_context, cpu_target.target_context
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            answer: Any = None
            message = pickle.load(requests)
            # A module may not exist here.
            with suppress(Exception):
                name, arguments = pickle.loads(message)
                if name is None:
                    answer = compiled_piece(contexts, *arguments)
                else:
                    import_module(name[0])
                    answer = bool(KERNELS[name].compile(*arguments))
            pickle.dump(answer, answers)
            answers.flush()
