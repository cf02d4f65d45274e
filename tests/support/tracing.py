"""When coverage looks away: it doubles the time of whatever it watches."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from numba.core.dispatcher import Dispatcher

if TYPE_CHECKING:
    from coverage import Coverage

PATIENCE, LATER = 0.5, 0.05
"""So long coverage watches a test after the last line or branch that is new to it: when the test
runs for the first time, and with further parameters, with which it mostly takes the same lines.
Seconds of the processor, without those in which kernels are compiled."""
AWAY = 0.5
"""Seconds after which coverage looks again, for what a long test calls at its end."""
SMALL = ("add_payoffs",)
"""Names of small kernels."""
seen: set[str] = set()
"""Tests that have run."""
CAN_TIME = hasattr(signal, "setitimer")
"""Windows cannot; there coverage watches to the end."""


def compile_untraced() -> None:
    """Coverage looks away while numba compiles, which is a third of the time that it would cost.

    It watches small kernels, and all that is compiled for them: what writes machine code runs
    nowhere else.
    """
    compile_one = Dispatcher.compile
    watched = False

    def compile_unwatched(dispatcher: Dispatcher, signature: object) -> object:
        nonlocal watched
        before, tracer, left = watched, sys.gettrace(), _set_timer(0.0)
        watched |= dispatcher.py_func.__name__ in SMALL
        if not watched:
            sys.settrace(None)
        try:
            return compile_one(dispatcher, signature)
        finally:
            watched = before
            sys.settrace(tracer)
            _set_timer(left)

    Dispatcher.compile = compile_unwatched


def _set_timer(seconds: float) -> float:
    """Start the timer of the test, or with 0 stop it; returns what it had left."""
    return signal.setitimer(signal.ITIMER_VIRTUAL, seconds)[0] if CAN_TIME else 0.0


def _n_known(coverage: Coverage) -> int:
    """The number of lines and branches that coverage has seen in this process."""
    assert coverage._collector is not None  # What it has seen is not public before it is saved.
    return sum(map(len, coverage._collector.data.values()))


@contextmanager
def traced_at_first(test: str) -> Iterator[None]:
    """Coverage, if it watches, looks away while it learns nothing new from a test, whose name
    without parameters this is."""
    if sys.gettrace() is None or not CAN_TIME:
        yield
        return
    from coverage import Coverage

    if (coverage := Coverage.current()) is None:  # Another program traces.
        yield
        return
    patience = LATER if test in seen else PATIENCE
    seen.add(test)
    known, is_watching = _n_known(coverage), True

    def look(*_: Any) -> None:
        nonlocal known, is_watching
        before, known = known, _n_known(coverage)
        if known == before:
            is_watching = not is_watching
            # Not only taken off: it would go on with functions that have ended.
            (coverage.start if is_watching else coverage.stop)()
        _set_timer(patience if is_watching else AWAY)

    before = signal.signal(signal.SIGVTALRM, look)
    _set_timer(patience)
    try:
        yield
    finally:
        _set_timer(0.0)
        signal.signal(signal.SIGVTALRM, before)
        if not is_watching:
            coverage.start()
