"""Processes that end with the one that started them, however that one ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from contextlib import suppress

PR_SET_PDEATHSIG = 1
"""Number of Linux' ``prctl`` option: the signal that a process gets when its parent ends."""


def end_with_parent() -> None:
    """End this process, which ``multiprocessing`` started, as soon as its parent is gone.

    A parent that is killed cannot tell its children.  On Linux the kernel does; everywhere a
    thread waits for the far end of a pipe to close, which the parent alone holds open.  Does
    nothing in a process that has no such parent.
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


def _ask_the_kernel() -> None:
    """Get SIGKILL when the parent's thread that started this process ends."""
    import ctypes

    # Without prctl in the C library the thread is enough.
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
