"""Compilation of the kernels of a first use by several processes at the same time.

A first solve needs a handful of kernels, one after the other, and numba compiles one at a time.
Here the calls of these kernels are *noted* first, without running them.  Helper processes compile a
part of the noted kernels into the cache, from which this process reads them.  Without a helper, for
example because no process can be started, this process compiles all of them.

This relies on internals of numba; see :mod:`tensorcfr._util.jit`.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import serialize
from numba.core.registry import CPUDispatcher

from .hardware import available_cores
from .jit_cache import KernelCache

Plan = Callable[[], object]
"""Function that calls kernels, which are noted instead of run: they return 0.0 and change no array.
Kernels that this process has used before do run.  So a plan must work on objects of its own: its
numbers are meaningless."""
Call = tuple["KernelDispatcher", tuple[Any, ...]]
"""A kernel, and the types of its arguments."""

KERNELS: dict[tuple[str, str], KernelDispatcher] = {}
"""Kernels by module and name, by which a helper finds them."""
COMPILED, FAILED = b"1", b"0"
"""Answers of a helper."""
HELPERS = "TENSORCFR_HELPERS"
"""Environment variable with the largest number of helpers."""
MOST_HELPERS = "2"
"""Default of :data:`HELPERS`.  A helper takes half a second to start and 200 MB, and compiles the
pieces again that its kernels share with those of other processes."""


class _Thread(threading.local):
    """Variables of one thread."""

    plans: tuple[Plan, ...] = ()
    """Plans of the calls that follow; empty once they have been carried out."""
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
    """Numba's dispatcher of a kernel, whose calls can be noted."""

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
        if _thread.plans and self.is_missing(sig):
            plans, _thread.plans = _thread.plans, ()
            if most := _most_helpers():
                _compile_together(_noted(plans), most)
        return super().compile(sig)

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


def _compile_together(calls: list[Call], most: int) -> None:
    """Compile kernels here, from the first on, and in helpers, from the last on.

    Args:
        calls: The kernels.
        most: Largest number of helpers.
    """
    left = deque(calls)
    helpers: list[_Helper] = []
    try:
        with suppress(OSError, RuntimeError):  # No more processes, or threads.
            for _ in range(min(most, len(calls) - 1)):
                helpers.append(_Helper(left))
        # No kernel is left, or the call that needs the kernel will raise its error again.
        with suppress(Exception):
            while helpers:
                kernel, sig = left.popleft()
                kernel.compile(sig)
        for helper in helpers:
            helper.thread.join()
    finally:
        left.clear()
        for helper in helpers:
            helper.end()


def _most_helpers() -> int:
    """Return the largest number of helpers.

    It is 0 in a process of ``multiprocessing``, which is one of many, and in a program that embeds
    Python, whose executable would start the program again.

    Raises:
        ValueError: The environment variable is not a whole number.
    """
    text = os.environ.get(HELPERS, MOST_HELPERS)
    if not text.isdecimal():
        raise ValueError(f"{HELPERS} must be a whole number, 0 or more, not {text!r}")
    is_python = Path(sys.executable or "").stem.lower().startswith("python")
    if not is_python or multiprocessing.parent_process() is not None:
        return 0
    return min(int(text), available_cores() - 1)


class _Helper:
    """Process that compiles kernels, and the thread of this process that sends them to it.

    Args:
        left: Kernels that are still to be compiled; the helper takes them from the end.
    """

    def __init__(self, left: deque[Call]) -> None:
        path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
        environment = os.environ | {"PYTHONPATH": path}
        if folder := numba.config.CACHE_DIR:  # type: ignore[attr-defined]
            environment["NUMBA_CACHE_DIR"] = os.path.abspath(folder)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self.thread = threading.Thread(target=self._send, args=(left,), daemon=True)
        try:
            self.thread.start()
        except BaseException:
            self.process.kill()
            self.process.communicate()
            raise

    def _send(self, left: deque[Call]) -> None:
        """Send kernels, one after the other, until none is left or the process has ended."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        # No kernel is left, or the process has ended.
        with suppress(Exception):
            answer = COMPILED
            while answer:
                kernel, sig = left.pop()
                name = kernel.py_func.__module__, kernel.py_func.__qualname__
                try:
                    message = serialize.dumps((name, sig))  # type: ignore[no-untyped-call]
                except Exception:
                    left.appendleft((kernel, sig))  # This process compiles it.
                    break
                stdin.write(message)
                stdin.flush()
                answer = stdout.read(1)

    def end(self) -> None:
        """End the process, even if it is compiling."""
        self.process.kill()
        self.thread.join()
        self.process.communicate()


def serve() -> None:
    """Compile the kernels that arrive on standard input, in a helper process."""
    # Importing the package registers the rules, whose types are part of signatures.
    import_module(__name__.partition(".")[0])
    answers = sys.stdout.buffer
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            name, sig = pickle.load(sys.stdin.buffer)
            answer = FAILED
            with suppress(Exception):
                import_module(name[0])
                KERNELS[name].compile(sig)
                answer = COMPILED
            answers.write(answer)
            answers.flush()
