"""Signals that ask a process to end, handled so that work stops cleanly and no result is lost.

Ctrl-C (SIGINT) raises KeyboardInterrupt in Python, and :func:`interrupts` delays it. SIGTERM and
SIGHUP end a process at once. A library must not change that, because programs that call it may rely
on it. The command line changes it for its own process, by :func:`terminations`.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

STATUS_OF_SIGNAL = 128
"""Exit status of a process that a signal ended, minus the number of the signal, as in shells."""
TERMINATIONS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals, except Ctrl-C, that ask a process to end; Windows has no SIGHUP."""


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP has arrived within :func:`terminations`."""


@dataclass
class _State:
    """Signals that this process has received."""

    signum: int | None = None
    """SIGTERM or SIGHUP, once one of them has arrived."""
    pressed: bool = False
    """True if Ctrl-C has ended some work."""
    held: int = 0
    """Number of contexts that delay the exception."""


_state = _State()


def exit_status() -> int:
    """Return the exit status after an interrupt: 130 after Ctrl-C, 143 after SIGTERM, 129 after
    SIGHUP."""
    return STATUS_OF_SIGNAL + (_state.signum or signal.SIGINT)


def should_end() -> bool:
    """Return whether Ctrl-C has ended some work, or SIGTERM or SIGHUP has arrived."""
    return _state.pressed or is_terminated()


def is_terminated() -> bool:
    """Return whether SIGTERM or SIGHUP has arrived within :func:`terminations`."""
    return _state.signum is not None


@contextmanager
def terminations() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise :class:`Terminated` once; later ones are ignored.

    Within :func:`interrupts` and :func:`put_off` they raise nothing: the caller of those ends the
    work. A signal that this process already ignores (``nohup``) stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old_handlers = {number: signal.getsignal(number) for number in TERMINATIONS}
    replaced = {number: old for number, old in old_handlers.items() if old is signal.SIG_DFL}
    _state.signum, _state.pressed = None, False
    for number in replaced:
        signal.signal(number, _note_termination)
    try:
        yield
    finally:
        for number, old in replaced.items():
            signal.signal(number, old)


def _note_termination(signum: int, frame: FrameType | None) -> None:
    # A second signal often reports the same event: a closed terminal notifies both the process and
    # its shell, and the shell notifies the process again.
    if _state.signum is None:
        _state.signum = signum
        if not _state.held:
            raise Terminated


@contextmanager
def put_off() -> Iterator[None]:
    """Hold back SIGTERM and SIGHUP within the context; :func:`is_terminated` then reports them."""
    _state.held += 1
    try:
        yield
    finally:
        _state.held -= 1


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether the process was asked to end.

    A second Ctrl-C raises KeyboardInterrupt as usual. Python delivers signals only to the main
    thread, so in other threads the function always returns False. A Ctrl-C that the process
    ignores, or that a handler in C handles, is left alone.
    """
    default = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    pressed = False

    def note(signum: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = _state.pressed = True
        # The next Ctrl-C interrupts at once: the work may not reach a place where it can stop.
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


@contextmanager
def delayed() -> Iterator[None]:
    """Hold back signals that would raise an exception until the context has ended."""
    handlers: dict[int, Any] = {}
    arrived: dict[int, None] = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *TERMINATIONS)}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        for number in handlers:
            signal.signal(number, lambda signum, frame: arrived.setdefault(signum))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in arrived:
            signal.raise_signal(number)
