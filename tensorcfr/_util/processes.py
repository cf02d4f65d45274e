"""Processes that end when their parent ends, even if it is killed, and the time that they take."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1
"""Option of Linux' ``prctl`` that sets the signal a process receives when its parent ends."""


def end_with_parent() -> None:
    """End this process, which ``multiprocessing`` started, as soon as its parent ends.

    A parent that is killed cannot notify its children. On Linux the kernel does. On every system, a
    thread waits until the far end of a pipe closes, which only the parent holds open. In a process
    without such a parent nothing happens.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    if sys.platform == "linux":
        _ask_the_kernel()

    def watch() -> None:
        parent.join()
        os._exit(1)  # Not sys.exit: the main thread may be in a kernel for minutes.

    threading.Thread(target=watch, name="tensorcfr-parent", daemon=True).start()


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process; 0 on systems that have no file of it."""
    with suppress(OSError):
        # The name of the program, in parentheses, may have spaces.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _ask_the_kernel() -> None:
    """Request SIGKILL for the moment when the parent's thread that started this process ends."""
    import ctypes

    # If the C library has no prctl, the thread alone ends the process.
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
