"""Threads of this process that run one kernel together.

Kernels release Python's lock, so Python's own threads will do.  They wait for each other within the
kernel, by counters that they share.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

import numpy as np

from ..kernels.meeting import GONE


def run_together(work: Callable[[int], object], threads: int, counters: np.ndarray) -> None:
    """Call ``work(thread)`` for every thread at the same time, and wait for all of them.

    Args:
        work: Calls a kernel in which the threads wait for each other.
        threads: How many; the first is the one that calls this.
        counters: What the kernel counts by.  If a thread fails they are set so that none waits for
            it; what the kernel worked on is then of no use.

    Raises:
        BaseException: The first error of any thread.
    """
    errors: list[BaseException] = []

    def guarded(thread: int) -> None:
        try:
            work(thread)
        except BaseException as error:
            errors.append(error)
            counters[:] = GONE

    others = [Thread(target=guarded, args=(thread,)) for thread in range(1, threads)]
    started = []
    try:
        for other in others:
            other.start()
            started.append(other)
    except RuntimeError as error:  # The system has no more threads.
        errors.append(error)
        counters[:] = GONE
    guarded(0)
    for other in started:
        other.join()
    if errors:
        raise errors[0]
