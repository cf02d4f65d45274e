"""The flop that solvers of hold'em are compared on, by this library and by postflop-solver.

    python -m scripts.preset --anchor PATH [--rounds 3] [--threads 1 2]
    python -m scripts.preset --page

The free preset of PioSOLVER, as the tests of postflop-solver have it (``solve_pio_preset_normal``),
to 0.1 % of the pot: in single precision and 16 bits, on one thread and two.  This library also
solves the smaller tree that its usual thresholds make.  Every run is a process of its own, which is
timed from its start to its end; its peak of memory is that of the operating system.  ``PATH`` is
as for :mod:`benchmarks.holdem`; without it this library runs alone.  The medians go to
``benchmarks/results/preset.json``, and from there to ``docs/results/spots.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from numba.core.event import install_timer

from benchmarks._common import progress, table
from benchmarks.holdem import build_anchor
from tensorcfr import compile_game, solve

from ._pages import RESULTS, ROOT, arguments, origin, origin_of, read_json, write_json, write_parts
from .spots import PAGE

FILE = RESULTS / "preset.json"
RANGES = (
    "88+,A8s+,A5s-A2s:0.5,AJo+,ATo:0.75,K9s+,KQo,KJo:0.75,KTo:0.25,Q9s+,QJo:0.5,J8s+,JTo:0.25,T8s+,"
    "T7s:0.45,97s+,96s:0.45,87s,86s:0.75,85s:0.45,75s+:0.75,74s:0.45,65s:0.75,64s:0.5,63s:0.45,"
    "54s:0.75,53s:0.5,52s:0.45,43s:0.5,42s:0.45,32s:0.45",
    "AA:0.25,99-22,AJs-A2s,AQo-A8o,K2s+,K9o+,Q2s+,Q9o+,J6s+,J9o+,T6s+,T9o,96s+,95s:0.5,98o,86s+,"
    "85s:0.5,75s+,74s:0.5,64s+,63s:0.5,54s,53s:0.5,43s",
)
BETS, RAISES, POT, STACKS = ("52%", "55%", "70%"), "45%", 180, 910
TARGET = 0.001 * POT
SPOT: dict[str, Any] = {
    **{"board": "QsJh2h", "ranges": RANGES, "pot": POT, "stacks": STACKS, "raises": RAISES},
    "bets": dict(zip(("flop", "turn", "river"), BETS, strict=True)),
}
# Postflop-solver's test sets no threshold, which is 0 there.
NO_THRESHOLDS = {"add_allin": 0, "force_allin": 0, "merging": 0}
OWN, OWN_TREE, PEER = "tensorcfr", "tensorcfr, thresholds as usual", "postflop-solver"


def solve_here(program: str, precision: str, threads: int) -> None:
    """Solve in a process of this library; print the figures as JSON."""
    begin, compiled = time.perf_counter(), list[float]()
    with install_timer("numba:compile", compiled.append):
        game = compile_game("holdem", **SPOT | (NO_THRESHOLDS if program == OWN else {}))
        laid_out = time.perf_counter()
        solution = solve(game, target=TARGET, precision=precision, threads=threads)
    solved = time.perf_counter()
    if compiled:
        raise SystemExit("kernels were compiled in a process that is timed: measure again")
    figures = {
        "compiling the game": laid_out - begin,
        "evaluating": solved - laid_out - solution.seconds,
        "evaluations": len(solution.trace),
        "iterations": solution.iterations,
        "iterating": solution.seconds,
        "exploitability": solution.exploitability / POT,
        "value": solution.value[0] + POT / 2,
    }
    print(json.dumps(figures))


def timed(command: list[str]) -> tuple[str, dict[str, float]]:
    """Run a process; return its output, seconds, processor seconds and peak of memory in bytes."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    if status:
        raise SystemExit(f"{command[0]} failed")
    usage = {"in all": seconds, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss * 1024}
    return output, usage


def run(program: str, anchor: Path | None, precision: str, threads: int) -> dict[str, float]:
    """Return the figures of one solve."""
    if program != PEER:
        solves = [program, precision, str(threads)]
        command = [sys.executable, "-m", "scripts.preset", "--solve", *solves]
        output, usage = timed(command)
        return usage | json.loads(output)
    spot = [*RANGES, SPOT["board"], POT, STACKS, "/".join(BETS), RAISES, "-", 0, 0]
    arguments = [*spot, threads, 0, TARGET, precision, "0/0/0", "-"]
    output, usage = timed([str(anchor), *map(str, arguments)])
    found = output.splitlines()[-1].split()
    names = {"iterations": 2, "iterating": 4, "exploitability": 8}
    own = {name: float(found[at]) for name, at in names.items()}
    return usage | own | {"exploitability": own["exploitability"] / POT}


def measure(anchor: Path | None, rounds: int, threads_of: list[int]) -> None:
    """Run all solvers, round by round, and keep the medians."""
    turn = {**SPOT, "board": "QsJh2h8d", "ranges": ("AA,KK", "QQ,TT"), "bets": "50%"}
    ways = [(precision, threads) for precision in ("float32", "int16") for threads in threads_of]
    for precision, threads in ways:  # Compiles the kernels.
        solve(compile_game("holdem", **turn), iters=2, precision=precision, threads=threads)
    found: dict[str, list[dict[str, float]]] = {}
    for number in range(rounds):
        for precision, threads in ways:
            for program in [OWN, OWN_TREE, *([PEER] if anchor else [])]:
                name = f"{program}; {precision}; {threads}"
                found.setdefault(name, []).append(run(program, anchor, precision, threads))
                progress(f"round {number + 1}, {name}: {found[name][-1]}")
    middle = {
        name: {key: median(row[key] for row in rows) for key in rows[0]}
        for name, rows in found.items()
    }
    write_json(FILE, {"runs": middle, "rounds": rounds} | origin())


def part_of_page() -> str:
    """Return the table."""
    kept, body = read_json(FILE), []
    for name, row in kept["runs"].items():
        program, precision, threads = name.split("; ")
        value = f"{row['value']:.2f}" if "value" in row else ""
        body.append(
            [
                *(program, precision, threads, f"{row['iterations']:.0f}"),
                *(f"{row['iterating']:.1f} s", f"{row['in all']:.1f} s", f"{row['cpu']:.0f} s"),
                *(f"{row['peak'] / 2**30:.2f} GiB", value),
            ]
        )
    header = ["", "kept in", "threads", "iterations", "iterating", "in all", "of processor", "peak"]
    rounds = "One round" if kept["rounds"] == 1 else f"Medians of {kept['rounds']} rounds"
    return f"{table([*header, 'value of 180'], body)}\n\n{rounds}; {origin_of(kept)}."


def main() -> None:
    """Measure, and write."""
    parser = arguments(__doc__)
    parser.add_argument("--anchor", default=os.environ.get("POSTFLOP_SOLVER"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--solve", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.solve:
        solve_here(*options.solve[:2], int(options.solve[2]))
        return
    if not options.page:
        anchor = build_anchor(Path(options.anchor)) if options.anchor else None
        measure(anchor, options.rounds, options.threads)
    write_parts(PAGE, "preset", {"preset": part_of_page()})


if __name__ == "__main__":
    main()
