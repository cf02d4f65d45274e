"""A game in chunks beside the flat engine, in turns in one process: seconds of an iteration.

``python -m benchmarks.chunks`` takes ``bluff(dice=(2,2))`` and some minutes; processor time is what
to read on a machine that has other work, too.  ``python -m benchmarks.chunks kuhn --cut 0 --step
20000`` shows what a visit of a small chunk costs.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

from tensorcfr import Solver, compile_game
from tensorcfr.model.cut_game import CutGame
from tensorcfr.solvers.chunked_solver import ChunkedSolver


def compare(
    spec: str,
    cut_at: int | None,
    algorithm: str,
    precision: str,
    threads: int,
    rounds: int,
    step: int,
) -> str:
    """A line for each engine: medians and minima of processor and wall time."""
    cut = compile_game(spec, cut=True if cut_at is None else cut_at)
    assert isinstance(cut, CutGame)
    options = {"precision": precision, "threads": threads}
    solvers = {
        "flat": Solver(compile_game(spec), algorithm, **options),  # type: ignore[arg-type]
        "chunks": ChunkedSolver(cut, algorithm, **options),  # type: ignore[arg-type]
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in solvers}
    for solver in solvers.values():
        solver.step(1)
    for _ in range(rounds):
        for name, solver in solvers.items():
            used, started = time.process_time(), time.perf_counter()
            solver.step(step)
            spent = time.process_time() - used, time.perf_counter() - started
            times[name].append((spent[0] / step, spent[1] / step))
    chunks = cut.chunks.n_chunks
    lines = [f"{spec}, {chunks} chunks, {algorithm}, {precision}, {threads} threads"]
    for name, found in times.items():
        used_times, wall_times = zip(*found, strict=True)
        lines.append(
            f"  {name:7}processor {median(used_times):.4g} ({min(used_times):.4g})   "
            f"wall {median(wall_times):.4g} ({min(wall_times):.4g})   "
            f"exploitability {solvers[name].evaluate().exploitability:.12g}"
        )
    return "\n".join(lines)


def main() -> None:
    """Compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", nargs="?", default="bluff(dice=(2,2))")
    parser.add_argument("--cut", type=int, help="after so many public steps; else by cache sizes")
    parser.add_argument("--algorithm", default="cfr+")
    parser.add_argument("--precision", default="float64")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--step", type=int, default=3)
    given = parser.parse_args()
    print(compare(*vars(given).values()))


if __name__ == "__main__":
    main()
