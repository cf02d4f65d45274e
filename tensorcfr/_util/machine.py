"""The machine and the versions that a figure was measured with."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numba
import numpy as np


@cache
def machine() -> str:
    """Processor and cores: ``"AMD EPYC, 2 cores"``."""
    cores = os.cpu_count() or 1
    return f"{cpu_model()}, {cores} core{'s' if cores > 1 else ''}"


@cache
def versions() -> str:
    """``"tensorcfr 0.1.0, Python 3.11.7, numpy 2.4.6, numba 0.68.1"``."""
    return (
        f"tensorcfr {version('tensorcfr')}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, numba {numba.__version__}"
    )


def cpu_model() -> str:
    """What the processor calls itself."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
