"""How much memory there is to spend."""

from __future__ import annotations

import os

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
    return free * 9 // 10
