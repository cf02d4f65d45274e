"""Detection and announcement of kernels that are being compiled, which takes seconds once per
machine."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

COMPILE = "numba:compile"
LOG = logging.getLogger(__name__)
FIRST_MESSAGE, NEXT_MESSAGES = 1.0, 5.0
"""Seconds of compiling until the first message, and between messages."""


class Compiles(event.Listener):
    """Listener that counts the kernels that numba compiles; kernels read from the disk do not
    count."""

    def __init__(self) -> None:
        self.begun = 0
        """Number of kernels and pieces of kernels whose compilation has begun."""
        self.now = 0
        """Number of kernels and pieces that are being compiled."""

    @property
    def shown(self) -> int:
        """:attr:`begun` while something is being compiled; otherwise 0."""
        return self.begun if self.now else 0

    def on_start(self, event: Any) -> None:
        """Count a kernel whose compilation begins."""
        self.begun += 1
        self.now += 1

    def on_end(self, event: Any) -> None:
        """Count a kernel whose compilation has ended."""
        self.now -= 1


@contextmanager
def compiles_seen() -> Iterator[Compiles]:
    """Yield the counts of compilations, by any thread, within the context."""
    seen = Compiles()
    with event.install_listener(COMPILE, seen):
        yield seen


class _Announcer(Compiles):
    """Listener that logs a warning while kernels of this package are compiled.

    Python prints warnings of a log on standard error unless the program configures logging.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0
        """Seconds of compiling, up to the last kernel that has ended."""
        self.due = FIRST_MESSAGE
        """Seconds of compiling at which the next message is due."""
        self.began = 0.0
        self.kernel: Any = None

    def on_start(self, event: Any) -> None:
        """Log a message if one is due."""
        dispatcher = event.data["dispatcher"]
        if self.now == 0:
            # The kernels of a user's own program are not announced; they may have no module.
            module = dispatcher.py_func.__module__ or ""
            if module.partition(".")[0] != __name__.partition(".")[0]:
                return
            self.began, self.kernel = time.monotonic(), dispatcher
        super().on_start(event)
        seconds = self.seconds + time.monotonic() - self.began
        if seconds < self.due:
            return
        is_first, self.due = self.due == FIRST_MESSAGE, seconds + NEXT_MESSAGES
        is_kept = getattr(self.kernel._cache, "cache_path", None) is not None
        LOG.warning(
            "tensorcfr: compiling kernels%s: %d so far, in %.0f s, now %s",
            ", once on this machine" if is_first and is_kept else "",
            self.begun,
            seconds,
            self.kernel.py_func.__name__,
        )

    def on_end(self, event: Any) -> None:
        """Add the seconds of a kernel that has ended."""
        if self.now == 0:
            return
        super().on_end(event)
        if self.now == 0:
            self.seconds += time.monotonic() - self.began


def announce_compiles() -> None:
    """Log a warning from now on, whenever compiling takes longer than a second."""
    event.register(COMPILE, _Announcer())  # type: ignore[no-untyped-call]
