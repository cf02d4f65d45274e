"""Set-up time and memory of one tool on one game, in a process of its own.

``python -m benchmarks.footprint leduc OpenSpiel`` prints a line of JSON.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ._common import CACHE_VARIABLE, CONTESTS, ROOT, TOOLS, peer_cache

ITERATIONS = 3


def footprint(contest: str, tool: str) -> dict[str, Any]:
    """Measure in a fresh process."""
    finished = subprocess.run(
        [sys.executable, "-m", "benchmarks.footprint", contest, tool],
        cwd=ROOT,
        env=os.environ | {CACHE_VARIABLE: peer_cache()},
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode:
        raise RuntimeError(f"{tool} on {contest} failed:\n{finished.stderr}")
    result: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return result


def measure(contest: str, tool: str) -> dict[str, Any]:
    """Measure in this process; memory is beyond that of the imported, warmed tool."""
    warm_up = TOOLS[tool](CONTESTS["kuhn"], "cfr")
    warm_up.iterate(1)
    warm_up.exploitability()
    del warm_up
    before = _resident()
    started, used = time.perf_counter(), time.process_time()
    runner = TOOLS[tool](CONTESTS[contest], "cfr")
    set_up_seconds, set_up_wall = time.process_time() - used, time.perf_counter() - started
    runner.iterate(ITERATIONS)
    held = _resident()
    return {
        "set_up_seconds": set_up_seconds,
        "set_up_wall_seconds": set_up_wall,
        "held_bytes": max(0, held - before),
        "peak_bytes": max(0, _peak() - before, held - before),
    }


def _resident() -> int:
    """Return the bytes of this process in memory."""
    gc.collect()
    return _status("VmRSS")


def _peak() -> int:
    """Return the largest number of bytes that this process had in memory."""
    return _status("VmHWM")


def _status(key: str) -> int:
    """Return a figure from Linux's account of this process; elsewhere the peak.

    ``ru_maxrss`` will not do where the account is at hand: it starts from the peak of the
    process that started this one.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
