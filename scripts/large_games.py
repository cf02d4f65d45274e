"""Exploitability of large games of private hands, solved exactly: curves for docs/large-games.md.

python scripts/large_games.py bluff_2_2        Bluff(2,2): 22 million infosets
python scripts/large_games.py nl_leduc         no-limit Leduc
python scripts/large_games.py full_bluff_2_2   all six faces can be bid: 352 million infosets

Each writes docs/figures/<name>.csv, a row per evaluation, as it goes; ``--minutes`` says how long.
The exploitability is that of an exact best response in the whole game.
"""

from __future__ import annotations

import argparse
import csv
import resource
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from tensorcfr import Solver, compile_game
from tensorcfr.machine import machine, versions
from tensorcfr.solver import bytes_needed

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures"
GIB = 2**30


@dataclass(frozen=True)
class Run:
    """A game and how it is solved."""

    game: str
    algorithm: str
    options: dict[str, Any]
    every: float
    """An evaluation whenever the iterations are this many times as many."""


RUNS = {
    "bluff_2_2": Run("bluff(dice=(2, 2))", "dcfr", {"threads": 2}, 1.25),
    "nl_leduc": Run("nl_leduc", "dcfr", {}, 1.25),
    "full_bluff_2_2": Run(
        "liars_dice(dice=(2, 2))", "dcfr", {"precision": "float32", "threads": 2}, 1.4
    ),
}


def main() -> None:
    """Solve one of the games for a time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=RUNS)
    parser.add_argument("--minutes", type=float, default=10.0, help="of iterating")
    parser.add_argument("--algorithm", help="instead of the one that is set")
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    run = RUNS[arguments.name]
    options = run.options | ({"threads": arguments.threads} if arguments.threads else {})

    started = time.perf_counter()
    game = compile_game(run.game)
    compiling = time.perf_counter() - started
    solver = Solver(game, arguments.algorithm or run.algorithm, **options)
    needed = bytes_needed(game, solver.algorithm, options.get("precision", "float64"))
    print(game)
    print(f"compiled in {compiling:.1f} s; the solver takes {needed / GIB:.2f} GiB", flush=True)

    with open(FIGURES / f"{arguments.name}.csv", "w", newline="") as file:
        rows = None
        mark = 1
        while solver.seconds < 60.0 * arguments.minutes:
            solver.step(mark - solver.iteration)
            before = time.perf_counter()
            found = solver.evaluate()
            evaluating = time.perf_counter() - before
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB
            row = {
                "game": run.game,
                "algorithm": str(solver.algorithm),
                "options": options,
                "iteration": solver.iteration,
                "seconds": f"{solver.seconds:.3f}",
                "evaluation_seconds": f"{evaluating:.3f}",
                "nodes_touched": solver.nodes_touched,
                "nash_conv": repr(found.nash_conv),
                "exploitability": repr(found.exploitability),
                "value": repr(found.values[0]),
                "compile_seconds": f"{compiling:.1f}",
                "peak_gib": f"{peak:.2f}",
                "machine": machine(),
                "versions": versions(),
                "date": date.today(),
            }
            if rows is None:
                rows = csv.DictWriter(file, list(row), lineterminator="\n")
                rows.writeheader()
            rows.writerow(row)
            file.flush()
            print(
                f"{solver.iteration:7,} iterations  {solver.seconds:8.1f} s  "
                f"{solver.nodes_touched:.3g} nodes  exploitability {found.exploitability:.3e}  "
                f"value {found.values[0]:+.9f}  evaluation {evaluating:.2f} s  {peak:.2f} GiB",
                flush=True,
            )
            mark = max(mark + 1, round(mark * run.every))


if __name__ == "__main__":
    main()
