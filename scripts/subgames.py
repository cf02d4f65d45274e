"""Exploitability of CFR-D by iterations, time and memory: figures for docs/results/large-games.md.

python -m scripts.subgames leduc                Leduc, by iterations on subgames and on the trunk
python -m scripts.subgames bluff --minutes 20   full Bluff(2,2), 352 million infosets, on one core
python -m scripts.subgames whole --minutes 5    the same game solved as a whole, on one core
python -m scripts.subgames page                 the tables of docs/results/large-games.md

Each but the last writes docs/figures/cfr_d_<name>.csv, a row per evaluation, as it goes.  Minutes
and seconds are those of the processor: they depend less on what else the machine does.
"""

from __future__ import annotations

import argparse
import csv
import resource
import time
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

from tensorcfr import Solver, compile_game
from tensorcfr._util.hardware import machine, versions
from tensorcfr.algorithms import CFR_D
from tensorcfr.solvers.base import IterativeSolver
from tensorcfr.subgames import DecomposedSolver
from tensorcfr.subgames.cfr_d import decomposed_bytes

from ._pages import page_with

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "results" / "large-games.md"
GIB = 2**30
BLUFF = "liars_dice(dice=(2,2))"
BLUFF_CFR_D = CFR_D(subgame_iterations=6, resolve_iterations=30)
LEDUC_TRUNK = (30, 100, 300, 1000, 3000, 10_000, 30_000)
LEDUC_SUBGAMES = {10: 1000, 30: 1000, 100: 30_000, 300: 30_000}
"""Iterations on each subgame, and up to how many on the trunk."""
LEDUC_CFR_D = CFR_D(resolve_iterations=5000, variant=CFR_D.variant(average_power=2))


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=["leduc", "bluff", "whole", "page"])
    parser.add_argument("--minutes", type=float, default=20.0, help="of iterating")
    given = parser.parse_args()
    if given.name == "page":
        PAGE.write_text(page_with(PAGE.read_text(), "subgames", {"results": tables()}))
        return
    rows = leduc() if given.name == "leduc" else bluff(given.name, 60.0 * given.minutes)
    with open(path_of(given.name), "w", newline="") as file:
        writer = None
        for row in rows:
            if writer is None:
                writer = csv.DictWriter(file, list(row), lineterminator="\n")
                writer.writeheader()
            writer.writerow(row)
            file.flush()
            print(row, flush=True)


def path_of(name: str) -> Path:
    """The file of what was measured."""
    return DOCS / "figures" / f"cfr_d_{name}.csv"


def leduc() -> Iterator[dict[str, Any]]:
    """Leduc, cut at the end of the first round."""
    game = compile_game("leduc")
    for inner, most in LEDUC_SUBGAMES.items():
        solver = DecomposedSolver(game, LEDUC_CFR_D(subgame_iterations=inner))
        yield from measured(solver, (mark for mark in LEDUC_TRUNK if mark <= most))


def bluff(name: str, seconds: float) -> Iterator[dict[str, Any]]:
    """Full Bluff(2,2), by CFR-D or as a whole."""
    game = compile_game(BLUFF, cut=True)
    solver: IterativeSolver
    if name == "bluff":
        solver = DecomposedSolver(game, BLUFF_CFR_D)
    else:
        solver = Solver(game, "dcfr", precision="float32")
    yield from measured(solver, (5 * 2**n for n in range(20)), seconds)


def measured(
    solver: IterativeSolver, marks: Iterable[int], seconds: float = float("inf")
) -> Iterator[dict[str, Any]]:
    """Rows at some numbers of iterations, until so many seconds are spent on iterations."""
    spent = 0.0
    for mark in marks:
        while solver.iteration < mark and spent < seconds:
            before = time.process_time()
            solver.iterate(1)
            spent += time.process_time() - before
        before = time.process_time()
        found = solver.evaluate()
        evaluating = time.process_time() - before
        told = None
        if isinstance(solver, DecomposedSolver):
            told = decomposed_bytes(solver.game, solver.algorithm) + solver.game.nbytes
        yield {
            "game": solver.game.name,
            "algorithm": str(solver.algorithm),
            "subgame_iterations": getattr(solver.algorithm, "subgame_iterations", ""),
            "iteration": solver.iteration,
            "seconds": f"{spent:.2f}",
            "evaluation_seconds": f"{evaluating:.2f}",
            "nash_conv": repr(found.nash_conv),
            "exploitability": repr(found.exploitability),
            "value": repr(found.values[0]),
            "peak_gib": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB:.3f}",
            "told_gib": "" if told is None else f"{told / GIB:.4f}",
            "machine": machine(),
            "versions": versions(),
            "date": date.today(),
        }
        if spent >= seconds:
            return


def rows_of(name: str) -> list[dict[str, str]]:
    """What was measured; nothing if there is no file."""
    if not (path := path_of(name)).exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def tables() -> str:
    """The tables, from what was measured."""
    rows = rows_of("leduc")
    marks = sorted({int(row["iteration"]) for row in rows})
    inner = sorted({int(row["subgame_iterations"]) for row in rows})
    found = {(int(row["subgame_iterations"]), int(row["iteration"])): row for row in rows}
    lines = [
        "Exploitability of Leduc, cut at the end of the first round, by iterations on the trunk "
        "and on each subgame.  Trunk and subgames are solved by CFR+; averages of the trunk are "
        "weighted by the square of the iteration.  Resolving takes "
        f"{LEDUC_CFR_D.resolve_iterations:,} iterations.\n",
        "| on each subgame | " + " | ".join(f"{mark:,} on the trunk" for mark in marks) + " |",
        "| ---: |" + " ---: |" * len(marks),
    ]
    for own in inner:
        cells = [
            f"{float(found[own, mark]['exploitability']):.3g}" if (own, mark) in found else ""
            for mark in marks
        ]
        lines.append(f"| {own:,} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "A row falls about as the paper's bound, one over the square root of the iterations on the "
        "trunk, until it reaches the error of the subgames.  The last figure takes "
        f"{max(float(row['seconds']) for row in rows):.0f} seconds of processor time.",
        "",
        "Bluff(2,2) with sixes that can be bid, 352 million infosets, on one core, by CFR-D "
        f"({BLUFF_CFR_D.subgame_iterations} iterations on each subgame, "
        f"{BLUFF_CFR_D.resolve_iterations} of resolving) and as a whole (DCFR, float32):\n",
        "| | iterations | seconds | seconds of evaluating | exploitability | peak memory |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, title in (("bluff", "CFR-D"), ("whole", "as a whole")):
        lines += [
            f"| {title} | {row['iteration']} | {float(row['seconds']):.0f} | "
            f"{float(row['evaluation_seconds']):.0f} | {float(row['exploitability']):.3g} | "
            f"{float(row['peak_gib']):.2f} GiB |"
            for row in rows_of(name)
        ]
    told = next((row for row in rows_of("bluff")), None)
    if told is not None:
        lines += [
            "",
            f"Seconds are processor time ({told['machine']}; {told['versions']}; "
            f"{told['date']}).  CFR-D and the compiled game take "
            f"{float(told['told_gib']) * 1024:.0f} MiB, which is checked beforehand.  The rest of "
            "the peak is Python and the compiled kernels.  CFR-D saves memory, not time.",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
