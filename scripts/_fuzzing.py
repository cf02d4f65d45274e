"""Limits of time, and a watch on files and imports, for ``scripts.fuzz`` and tests."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ._pages import ROOT


class HangError(BaseException):
    """An input takes too much time."""


def hear_hangs() -> None:
    """Raise a HangError at the signal of :func:`limited`."""

    def hang(*_: object) -> None:
        raise HangError

    signal.signal(signal.SIGPROF, hang)


HANG_SECONDS = 5.0
"""Processor time that an input may take."""


@contextmanager
def limited() -> Iterator[None]:
    """Limit the processor time of a block.

    Raises:
        HangError: The block takes more than :data:`HANG_SECONDS`.
    """
    signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class DefectError(Exception):
    """Error for a loader that accepts a bad value; the message names the value."""


OF_SYSTEM = ("/proc/", "/sys/", "/dev/null", "/dev/urandom", "/dev/shm/")
"""Beginnings of the paths that tell how much memory there is, and of the like."""
FORBIDDEN = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "socket.connect",
)
"""Audit events that no reader may raise."""


REQUIRED = ("llvmlite", "numba", "numpy", "scipy")
"""Packages that the library imports at their first use, independent of the contents of a file."""


class Watch:
    """Collects the paths that are opened, and the packages that are imported, while it is on.

    Args:
        folders: Folders whose files may be opened.
    """

    def __init__(self, *folders: Path) -> None:
        here = (*folders, ROOT / "tensorcfr", Path(sys.prefix), Path(sys.base_prefix))
        self.allowed = (*OF_SYSTEM, *(f"{folder.resolve()}{os.sep}" for folder in here))
        self.packages = {"tensorcfr", *REQUIRED, *sys.stdlib_module_names}
        self.is_on, self.found = False, list[str]()
        sys.addaudithook(self._hear)

    def know_packages(self) -> None:
        """Take the packages that are imported by now for those that readers need."""
        self.packages |= {name.partition(".")[0] for name in sys.modules}

    def _hear(self, event: str, details: tuple[Any, ...]) -> None:
        if not self.is_on:
            return
        if event == "open" and isinstance(details[0], (str, bytes)):
            path = os.path.realpath(os.fsdecode(details[0]))
            if not path.startswith(self.allowed):
                self.found.append(f"opens {path}")
        elif event == "import" and details[0].partition(".")[0] not in self.packages:
            self.found.append(f"imports {details[0]}")
        elif event in FORBIDDEN:
            self.found.append(event)

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Watch.

        Raises:
            DefectError: Something was opened or imported that a file must not name.
        """
        self.is_on, self.found = True, []
        try:
            yield
        finally:
            self.is_on = False
            if self.found:
                raise DefectError("; ".join(self.found[:9]))
