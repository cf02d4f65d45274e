"""When coverage looks away: it doubles the time of whatever it watches."""

from __future__ import annotations

import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.dispatcher import Dispatcher

SECONDS = 1.0
"""So long coverage watches a test: what it does later repeats what it did before.  Seconds of
the processor, without those in which kernels are compiled."""
WATCHED, LATER = 3, 0.2
"""So many times a test is watched for that long.  With further parameters it mostly takes the same
lines, and is watched for :data:`LATER` seconds: bad input is refused at once."""
SMALL = ("support.card_games",)
"""Modules whose kernels are small."""
seen: Counter[str] = Counter()
"""How often each test has run."""
CAN_TIME = hasattr(signal, "setitimer")
"""Windows cannot; there coverage watches to the end."""


def compile_untraced() -> None:
    """Coverage looks away while numba compiles, which is a third of the time that it would cost.

    It watches the few small kernels that the tests themselves have, and all that is compiled for
    them: what writes machine code runs nowhere else.
    """
    compile_one = Dispatcher.compile
    watched = False

    def compile_unwatched(dispatcher: Dispatcher, signature: object) -> object:
        nonlocal watched
        before, tracer, left = watched, sys.gettrace(), _set_timer(0.0)
        watched |= dispatcher.py_func.__module__ in SMALL
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


@contextmanager
def traced_at_first(test: str) -> Iterator[None]:
    """Coverage, if it watches, looks away after a while, until the end of the test, whose name
    without parameters this is."""
    if sys.gettrace() is None or not CAN_TIME:
        yield
        return
    seen[test] += 1
    from coverage import Coverage

    # Stopped and started, not only taken off: it would go on with functions that have ended.
    watching, stopped = Coverage.current(), []

    def look_away(*_: Any) -> None:
        if watching is not None:
            watching.stop()
            stopped.append(True)

    before = signal.signal(signal.SIGVTALRM, look_away)
    _set_timer(SECONDS if seen[test] <= WATCHED else LATER)
    try:
        yield
    finally:
        _set_timer(0.0)
        signal.signal(signal.SIGVTALRM, before)
        if stopped:
            watching.start()
