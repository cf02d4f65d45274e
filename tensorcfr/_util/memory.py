"""How much memory there is to spend."""

from __future__ import annotations

import os
import sys
from pathlib import Path

FALLBACK = 4 << 30
"""Bytes assumed free where the system does not say."""


def free_memory() -> int:
    """Bytes of memory that may be taken: nine tenths of what the system has free."""
    try:
        with open("/proc/meminfo") as lines:
            available = next(line for line in lines if line.startswith("MemAvailable"))
        free = int(available.split()[1]) * 1024
    except (OSError, StopIteration, ValueError):
        try:
            free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        except (AttributeError, OSError, ValueError):
            free = FALLBACK
    return min(free, _left_in_container()) * 9 // 10


def _left_in_container() -> int:
    """What the control group of this process leaves it, where there is one with a limit.

    Cached files count as used there, though they give way when memory is asked for.
    """
    try:
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        counts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return limit - used + int(counts["inactive_file"])
    except (KeyError, OSError, ValueError):
        return sys.maxsize
