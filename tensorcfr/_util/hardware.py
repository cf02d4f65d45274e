"""Descriptions of the machine, its caches and the installed versions, for measurements."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

import numba
import numpy as np

from .version import __version__


@cache
def machine() -> str:
    """Return the processor and the number of cores: ``"AMD EPYC, 2 cores"``."""
    cores = os.cpu_count() or 1
    return f"{cpu_model()}, {cores} core{'s' if cores > 1 else ''}"


@cache
def versions() -> str:
    """Return the versions: ``"tensorcfr 0.1.0, Python 3.11.7, numpy 2.4.6, numba 0.68.1"``."""
    return (
        f"tensorcfr {__version__}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, numba {numba.__version__}"
    )


def cpu_model() -> str:
    """Return the model name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def available_cores() -> int:
    """Return the number of cores that this process may use.

    Schedulers such as Slurm restrict a process to some cores, and containers to a share of time.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        cores = min(cores, max(1, int(quota) // int(period)))
    except (OSError, ValueError):
        pass  # There is no quota, or another system of quotas.
    return cores


FALLBACK = 1 << 20
"""Bytes assumed if the system does not report the size; processors since about 2017 have at least
as much."""


@cache
def second_level_cache() -> int:
    """Return the bytes of the second-level cache of one core."""
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
