"""Threads of this process that run one kernel together.

Kernels release Python's global lock, so that Python threads suffice.  They wait for each other
within the kernel, by shared counters.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

import numpy as np

from ..kernels.barrier import RELEASED


def run_together(work: Callable[[int], object], threads: int, counters: np.ndarray) -> None:
    """Call ``work(thread)`` in all threads at the same time, and wait for all of them.

    Args:
        work: Function that calls a kernel in which the threads wait for each other.
        threads: Number of threads; the calling thread is the first.
        counters: Counters of the kernel.  If a thread fails, they are set so that no thread waits
            for it; the arrays of the kernel are then unusable.

    Raises:
        BaseException: The first error of any thread.
    """
    errors: list[BaseException] = []

    def guarded(thread: int) -> None:
        try:
            work(thread)
        except BaseException as error:
            errors.append(error)
            counters[:] = RELEASED

    helpers = [Thread(target=guarded, args=(thread,)) for thread in range(1, threads)]
    started = []
    try:
        for helper in helpers:
            helper.start()
            started.append(helper)
    except RuntimeError as error:  # The system has no more threads.
        errors.append(error)
        counters[:] = RELEASED
    guarded(0)
    for helper in started:
        helper.join()
    if errors:
        raise errors[0]
