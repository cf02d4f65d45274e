"""How large the processor's caches are."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

FALLBACK = 1 << 20
"""Bytes assumed where the system does not say; processors since about 2017 have as much or more."""


@cache
def second_level_cache() -> int:
    """Bytes of the second-level cache of one core."""
    for index in range(8):
        entry = Path(f"/sys/devices/system/cpu/cpu0/cache/index{index}")
        try:
            if (entry / "level").read_text().strip() == "2":
                size = (entry / "size").read_text().strip()
                return int(size.removesuffix("K")) * 1024
        except (OSError, ValueError):
            break
    try:
        return os.sysconf("SC_LEVEL2_CACHE_SIZE") or FALLBACK
    except (AttributeError, OSError, ValueError):
        return FALLBACK
