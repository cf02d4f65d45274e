"""Signals that ask a process to end: work stops at a good place, and nothing is lost.

Ctrl-C (SIGINT) is Python's own: it raises KeyboardInterrupt, and :func:`interrupts` puts that off.
SIGTERM and SIGHUP end a process at once, and a library must not change that: a program that calls
it may rely on it.  The command line changes it for its own process, by :func:`terminations`.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

STATUS_OF_SIGNAL = 128
"""Exit status of a process that a signal ended, less the number of the signal, as shells say it."""
TERMINATIONS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals that ask a process to end, Ctrl-C apart; Windows has no SIGHUP."""


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, where :func:`terminations` listens."""


@dataclass
class _State:
    """What this process was asked."""

    signum: int | None = None
    """SIGTERM or SIGHUP, once one of them has come."""
    pressed: bool = False
    """Whether Ctrl-C has ended some work."""
    held: int = 0
    """How many callers put off the end."""


_state = _State()


def exit_status() -> int:
    """The exit status after an interrupt: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
    return STATUS_OF_SIGNAL + (_state.signum or signal.SIGINT)


def is_asked_to_end() -> bool:
    """Whether Ctrl-C has ended some work, or SIGTERM or SIGHUP has come."""
    return _state.pressed or is_terminated()


def is_terminated() -> bool:
    """Whether SIGTERM or SIGHUP has come, where :func:`terminations` listens."""
    return _state.signum is not None


@contextmanager
def terminations() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise :class:`Terminated`, once; they are ignored from then on.

    Within :func:`interrupts` and :func:`put_off` they raise nothing: whoever called that ends the
    work.  A signal that this process ignores (``nohup``) stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in TERMINATIONS}
    taken = {number: old for number, old in before.items() if old is signal.SIG_DFL}
    _state.signum, _state.pressed = None, False
    for number in taken:
        signal.signal(number, _note_termination)
    try:
        yield
    finally:
        for number, old in taken.items():
            signal.signal(number, old)


def _note_termination(signum: int, frame: FrameType | None) -> None:
    # The second one is often the same event again: a closed terminal tells the shell, and the shell
    # tells its processes.
    if _state.signum is None:
        _state.signum = signum
        if not _state.held:
            raise Terminated


@contextmanager
def put_off() -> Iterator[None]:
    """Let SIGTERM and SIGHUP wait; :func:`is_terminated` says afterwards whether they came."""
    _state.held += 1
    try:
        yield
    finally:
        _state.held -= 1


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Whether the process was asked to end; a second Ctrl-C raises KeyboardInterrupt as always.

    Python delivers signals to the main thread alone; elsewhere there is nothing to catch.  A
    Ctrl-C that somebody else ignores or handles in C is left to them.
    """
    default = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    pressed = False

    def note(signum: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = _state.pressed = True
        signal.signal(signal.SIGINT, default)

    listens = default not in (None, signal.SIG_IGN)
    with put_off():
        if listens:
            signal.signal(signal.SIGINT, note)
        try:
            yield lambda: pressed or is_terminated()
        finally:
            if listens:
                signal.signal(signal.SIGINT, default)
