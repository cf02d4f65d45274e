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
    """What the control group of this process leaves it, where there is one with a limit."""
    try:
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text())
        return limit - int((group / "memory.current").read_text())
    except (OSError, ValueError):
        return sys.maxsize
