"""Whether kernels are being compiled, which takes seconds once on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

COMPILE = "numba:compile"


class Compiles(event.Listener):
    """Counts kernels that numba compiles while it listens; those read from the disk are none."""

    def __init__(self) -> None:
        self.begun = 0
        """Kernels and pieces of kernels whose compiling has begun."""
        self.now = 0
        """Those that are being compiled."""

    def on_start(self, event: Any) -> None:
        """A kernel begins."""
        self.begun += 1
        self.now += 1

    def on_end(self, event: Any) -> None:
        """A kernel is compiled."""
        self.now -= 1


@contextmanager
def compiles_seen() -> Iterator[Compiles]:
    """What is compiled in the meantime, by any thread."""
    seen = Compiles()
    with event.install_listener(COMPILE, seen):
        yield seen
