"""Memory that is told before a solve, against the peak that was measured: ten games.

``python -m scripts.memory_told`` measures each in a process of its own and writes a table, with the
ratio of told to measured; it ends with status 1 if one is off by more than a tenth.  Linux only.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tensorcfr import compile_game, solve
from tensorcfr._util.machine import machine, versions
from tensorcfr._util.memory import taken
from tensorcfr.algorithms import Algorithm, Sampling
from tensorcfr.solvers import sampled_solver, solver
from tensorcfr.sweep import read_algorithm

ROOT = Path(__file__).parent.parent
TOLERANCE = 0.1
CASES = (
    ("bluff(dice=(2,1))", "cfr", "float64"),
    ("bluff(dice=(2,1), faces=7)", "cfr+", "float64"),
    ("bluff(dice=(2,1), faces=7)", "pcfr+gradient", "float64"),
    ("bluff(dice=(2,1), faces=7)", "dcfr", "float32"),
    ("liars_dice(faces=9)", "cfr", "float64"),
    ("liars_dice(faces=8)", "hedge", "float64"),
    ("nl_leduc", "cfr+", "float64"),
    ("nl_leduc", "cfr-avg", "float64"),
    ("nl_leduc", "external_sampling", "float64"),
    ("nl_leduc(stack=16)", "outcome_sampling(baseline=0.5)", "float64"),
    ("liars_dice(faces=8)", "chance_sampling", "float64"),
    ("nl_leduc(ranks=4, stack=14)", "public_chance_sampling", "float64"),
)
"""Game, algorithm, precision: large enough that arrays count, small enough to be compiled soon."""


def measure(spec: str, algorithm: str, precision: str) -> dict[str, Any]:
    """What is told and what is taken, in bytes; in this process."""
    game, record = compile_game(spec), read_algorithm(algorithm)
    options: dict[str, Any] = {} if isinstance(record, Sampling) else {"precision": precision}
    solve(game, record, iters=1, **options)  # Compiles the kernels.
    if isinstance(record, Algorithm):
        told = solver.bytes_needed(game, record, precision)
    else:
        assert isinstance(record, Sampling)
        told = sampled_solver.bytes_needed(game, record)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = taken()
    Path("/proc/self/clear_refs").write_text("5")
    shared = _status("VmRSS") - taken()
    solution = solve(game, record, iters=3, **options)
    peak = _status("VmHWM") - shared - before
    assert solution.iterations == 3
    return {
        "game": spec,
        "algorithm": algorithm,
        "precision": precision,
        "sequences": game.n_sequences,
        "told": told,
        "measured": peak,
        "ratio": told / peak,
    }


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))


def main(words: list[str] | None = None) -> int:
    """Measure all cases, or one in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", type=int, help="measure this case here, and print it as JSON")
    parser.add_argument("--out", type=Path, help="write the table to this file, too")
    asked = parser.parse_args(words)
    if asked.one is not None:
        print(json.dumps(measure(*CASES[asked.one])))
        return 0
    lines = [
        f"Measured {datetime.now(UTC).date()}: {machine()}; {versions()}",
        "",
        "| game | algorithm | floats | sequences | told, MiB | measured, MiB | told / measured |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    worst = 0.0
    for number in range(len(CASES)):
        command = [sys.executable, "-m", "scripts.memory_told", "--one", str(number)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        worst = max(worst, abs(found["ratio"] - 1.0))
        lines.append(
            f"| {found['game']} | {found['algorithm']} | {found['precision']} "
            f"| {found['sequences']:,} | {found['told'] / 2**20:.1f} "
            f"| {found['measured'] / 2**20:.1f} | {found['ratio']:.2f} |"
        )
        print(lines[-1], flush=True)
    if asked.out:
        asked.out.write_text("\n".join([*lines, ""]))
    print(f"off by {worst:.0%} at most")
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
