"""Set-up time and memory of one tool on one game, in a process of its own.

``python -m benchmarks.footprint leduc OpenSpiel`` prints a line of JSON.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from typing import Any

from ._common import CACHE_VARIABLE, CONTESTS, ROOT, TOOLS, peer_cache, process_bytes

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
    gc.collect()
    before = process_bytes("VmRSS")
    started, used = time.perf_counter(), time.process_time()
    runner = TOOLS[tool](CONTESTS[contest], "cfr")
    set_up_seconds, set_up_wall = time.process_time() - used, time.perf_counter() - started
    runner.iterate(ITERATIONS)
    gc.collect()
    held = process_bytes("VmRSS")
    return {
        "set_up_seconds": set_up_seconds,
        "set_up_wall_seconds": set_up_wall,
        "held_bytes": max(0, held - before),
        "peak_bytes": max(0, process_bytes("VmHWM") - before, held - before),
    }


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
