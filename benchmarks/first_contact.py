"""How long a newcomer waits: fresh processes, with a warm and with an empty JIT cache.

``python -m benchmarks.first_contact`` prints the table that ``benchmarks.compare`` includes.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from ._common import ROOT, children_seconds, duration, machine, machine_lines, progress, table

IMPORT = """
import sys
import time
started = time.perf_counter()
import tensorcfr
print(time.perf_counter() - started)
extras = "matplotlib scipy.linalg scipy.optimize scipy.sparse typer rich pyspiel".split()
print(*(name for name in extras if name in sys.modules))
"""
SOLVE = """
import time
marks = [time.perf_counter()]
from tensorcfr import compile_game, solve
marks.append(time.perf_counter())
game = compile_game("leduc")
marks.append(time.perf_counter())
solution = solve(game, iters=1000)
print(solution.exploitability, flush=True)
marks.append(time.perf_counter())
print(*(after - before for before, after in zip(marks, marks[1:])))
"""
GOALS = {"import": 0.6, "warm": 1.0, "cold": 10.0}
"""Seconds."""


def first_contact(*, warm_rounds: int = 7, cold_rounds: int = 2) -> dict[str, Any]:
    """Measure all three; seconds are medians of wall time."""
    cold, warm, imports = [], [], []
    directory = ""
    try:
        for _ in range(cold_rounds):
            shutil.rmtree(directory, ignore_errors=True)
            directory = tempfile.mkdtemp(prefix="benchmarks-")
            cold.append(_solve(directory))
        for _ in range(warm_rounds):
            warm.append(_solve(directory))
            imports.append(_fresh(IMPORT, directory))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    loaded = imports[0]["lines"][1].split()
    return {
        "import": {
            "seconds": statistics.median(float(run["lines"][0]) for run in imports),
            "process_seconds": statistics.median(run["wall"] for run in imports),
            "cpu_seconds": statistics.median(run["cpu"] for run in imports),
            "optional_packages_loaded": loaded,
        },
        "warm": _summary(warm),
        "cold": _summary(cold),
        "jit_seconds": _summary(cold)["seconds"] - _summary(warm)["seconds"],
    }


def _solve(directory: str) -> dict[str, Any]:
    """Run one fresh process that solves Leduc; return its phases."""
    run = _fresh(SOLVE, directory)
    phases = dict(
        zip(("import", "compile", "solve"), map(float, run["lines"][1].split()), strict=True)
    )
    return run | {"phases": phases}


def _summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return medians."""
    return {
        "seconds": statistics.median(run["wall"] for run in runs),
        "cpu_seconds": statistics.median(run["cpu"] for run in runs),
        "phases": {
            phase: statistics.median(run["phases"][phase] for run in runs)
            for phase in ("import", "compile", "solve")
        },
        "exploitability": float(runs[0]["lines"][0]),
    }


def _fresh(code: str, cache: str) -> dict[str, Any]:
    """Run code in a new interpreter.

    Returns:
        ``wall``, seconds from start to the first printed line; ``cpu``, seconds of the whole
        process; ``lines``, the printed lines.
    """
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["NUMBA_CACHE_DIR"] = cache
    before = children_seconds()
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        wall = time.perf_counter() - started
        lines = [first, *process.stdout]
    if process.returncode:
        raise RuntimeError(f"a fresh process failed:\n{code}")
    return {"wall": wall, "cpu": children_seconds() - before, "lines": lines}


def markdown(found: dict[str, Any]) -> str:
    """Return the table."""

    def phases(run: dict[str, Any]) -> str:
        return ", ".join(f"{name} {duration(spent)}" for name, spent in run["phases"].items())

    rows = [
        ["`import tensorcfr`", found["import"], ""],
        ["Leduc, 1000 iterations of CFR+, warm JIT cache", found["warm"], phases(found["warm"])],
        ["the same, empty JIT cache", found["cold"], phases(found["cold"])],
    ]
    return table(
        ["a fresh process", "wall time", "CPU time of the process", "goal", "of that"],
        [
            [what, duration(run["seconds"]), duration(run["cpu_seconds"]), f"≤ {goal} s", of_that]
            for (what, run, of_that), goal in zip(rows, GOALS.values(), strict=True)
        ],
    )


def main() -> None:
    """Measure and print."""
    progress("fresh processes …")
    found = first_contact()
    print(machine_lines(machine()))
    print()
    print(markdown(found))
    if found["import"]["optional_packages_loaded"]:
        print("`import tensorcfr` loads", *found["import"]["optional_packages_loaded"])


if __name__ == "__main__":
    main()
