"""Detection of kernels that are being compiled, which takes seconds once per machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

COMPILE = "numba:compile"


class Compiles(event.Listener):
    """Listener that counts the kernels that numba compiles; kernels read from the disk do not
    count."""

    def __init__(self) -> None:
        self.begun = 0
        """Number of kernels and pieces of kernels whose compilation has begun."""
        self.now = 0
        """Number of kernels and pieces that are being compiled."""

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
