"""Figures of the pages on hold'em.

python -m scripts.holdem_figures          the pictures of docs/holdem-tutorial.md, from its spot
python -m scripts.holdem_figures flop     a flop with all hands and three sizes in 16 bits: a row of
                                          docs/figures/holdem_flop.csv every ten iterations, for
                                          --minutes; goes on from the --checkpoint if there is one
"""

from __future__ import annotations

import argparse
import csv
import re
import resource
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.holdem import ALL
from tensorcfr import Solution, compile_game, solve
from tensorcfr._util.hardware import machine, versions
from tensorcfr.analysis import SolvedSpot
from tensorcfr.formats import parse_spot
from tensorcfr.plots import hand_grid, runout_grid
from tensorcfr.solvers.driver import Progress

DOCS = Path(__file__).parents[1] / "docs"
POT = 200
FLOP: dict[str, Any] = {
    "board": "Td9d6h",
    "ranges": (ALL, ALL),
    "pot": POT,
    "stacks": 900,
    "bets": "33%,75%,150%",
    "raises": "60%",
}
"""All hands and three sizes of bets on every street."""
GIB = 2**30
MEMORY = 16 * GIB
"""What compiling and solving may take."""


def main(words: list[str] | None = None) -> int:
    """Draw the pictures, or solve the flop."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["tutorial", "flop"], default="tutorial")
    parser.add_argument("--out", type=Path, default=DOCS / "figures", help="where files go")
    parser.add_argument("--minutes", type=float, default=60.0, help="of iterating")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--checkpoint", type=Path, help="a file for the solution so far (.npz)")
    options = parser.parse_args(words)
    if options.what == "tutorial":
        draw_tutorial(options.out)
    else:
        solve_flop(
            options.out / "holdem_flop.csv", options.minutes, options.threads, options.checkpoint
        )
    return 0


def draw_tutorial(folder: Path) -> None:
    """The pictures of the tutorial."""
    page = (DOCS / "holdem-tutorial.md").read_text("utf-8")
    found = re.search(r">>> text = '''\n(.*?)\.\.\. '''", page, re.DOTALL)
    assert found is not None
    spot = parse_spot(re.sub(r"^\.\.\. ?", "", found[1], flags=re.MULTILINE))
    solved = SolvedSpot(solve(compile_game(spot), target=0.1, precision="float32"))
    hand_grid(solved.table("check")).savefig(folder / "holdem_turn.png", dpi=80)
    rivers = solved.runouts("check bet36 call * check")
    runout_grid(rivers).savefig(folder / "holdem_rivers.png", dpi=100)


def solve_flop(path: Path, minutes: float, threads: int, checkpoint: Path | None) -> None:
    """Solve :data:`FLOP` in 16 bits, and write a row at each evaluation."""
    begin = time.perf_counter()
    start = Solution.load(checkpoint) if checkpoint and checkpoint.exists() else None
    game = start.game if start else compile_game("holdem", memory_limit=MEMORY, **FLOP)
    compiling = time.perf_counter() - begin
    print(game.summary(), f"compiled in {compiling:.1f} s", sep="\n", flush=True)
    known = len(start.trace) if start else 0

    def write(progress: Progress) -> None:
        nonlocal known
        new, known = progress.trace[known:], len(progress.trace)
        for point in new:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB
            row = {
                "iteration": point.iteration,
                "seconds": f"{point.seconds:.1f}",
                "percent_of_pot": f"{100.0 * point.exploitability / POT:.4f}",
                "compile_seconds": f"{compiling:.1f}",
                "peak_gib": f"{peak:.2f}",
                "threads": threads,
                "machine": machine(),
                "versions": versions(),
                "date": date.today(),
            }
            print(time.strftime("%H:%M:%S"), *list(row.values())[:5], flush=True)
            is_first = point is progress.trace[0]
            with path.open("w" if is_first else "a", newline="") as file:
                table = csv.DictWriter(file, list(row), lineterminator="\n")
                if is_first:
                    table.writeheader()
                table.writerow(row)

    solve(
        game,
        precision="int16",
        threads=threads,
        time_limit=60.0 * minutes,
        checkpoints=10,
        start=start,
        checkpoint=checkpoint,
        checkpoint_every=1800,
        memory_limit=MEMORY,
        progress=write,
    )


if __name__ == "__main__":
    sys.exit(main())
