"""Time hold'em spots with this library and with postflop-solver, a solver in Rust, in turn.

    python -m benchmarks.holdem --anchor PATH [--spots river turn] [--threads 1 2] [--rounds 3]

``PATH`` (or the variable ``POSTFLOP_SOLVER``) is a checkout of postflop-solver
(https://github.com/b-inary/postflop-solver, AGPL), which is built with cargo, or the built program.
Without it, this library is timed alone.  Both solve in float32.  Figures are milliseconds per
iteration, in wall and processor time, and the iterations and seconds to 0.1 % of the pot; medians
of the rounds.  They go to ``benchmarks/results/holdem.json``, from which ``python -m scripts.spots
write`` makes the table of ``docs/results/spots.md``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from statistics import median
from typing import Any

from scripts._pages import arguments, origin, read_json, write_json
from tensorcfr import Solver, compile_game, solve
from tensorcfr.model.chunked_game import ChunkedGame
from tensorcfr.solvers.solver import bytes_needed

OOP = "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s"
IP = "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+"
ALL = (
    "22+,A2s+,A2o+,K2s+,K2o+,Q2s+,Q2o+,J2s+,J2o+,T2s+,T2o+,92s+,92o+,82s+,82o+,72s+,72o+,"
    "62s+,62o+,52s+,52o+,42s+,42o+,32s,32o"
)
FOLDED = (
    "66-22,A9o-A2o,KTo-K2o,QTo-Q2o,J9o-J2o,T9o-T2o,K8s-K2s,Q8s-Q2s,J7s-J2s,98o-92o,97s-92s,87o-82o,"
    "86s-82s,76o-72o,75s-72s,65o-62o,54o-52o,43o-42o,32o"
)
RIVER = {"board": "QsJh2h8d3c", "bets": "50%,100%", "raises": "60%", "donk": None}
TURN = {"board": "Td9d6hQc", "bets": "60%,e,a", "raises": "2.5x", "donk": "50%"}
SPOTS: dict[str, tuple[dict[str, Any], int]] = {
    "river": (RIVER | {"ranges": (ALL, ALL)}, 500),
    "river_narrow": (RIVER | {"ranges": (OOP, IP)}, 1000),
    "turn_small": (TURN | {"ranges": (OOP, IP), "bets": "60%", "donk": None}, 60),
    "turn": (TURN | {"ranges": (OOP, IP)}, 30),
    "turn_all": (TURN | {"ranges": (ALL, ALL)}, 8),
    "turn_folded": (TURN | {"ranges": (OOP, IP), "folded": (FOLDED,) * 2}, 30),
    "flop": (TURN | {"board": "Td9d6h", "ranges": (OOP, IP), "bets": "60%", "donk": None}, 2),
}
"""Each spot, and iterations to time; 200 chips in the pot and 900 behind."""
POT, STACKS = 200, 900
RESULTS = Path(__file__).parent / "results" / "holdem.json"
COLUMNS = ("mean ms", "least ms", "cpu ms", "iterations", "seconds", "cpu s", "bytes")
TARGET = 0.001 * POT


def build_anchor(checkout: Path) -> Path | None:
    """Build the program of postflop-solver for one spot; return None and print a reason if that
    fails."""
    if checkout.is_file():
        return checkout
    if not (checkout / "Cargo.toml").is_file():
        print(f"no source of postflop-solver at {checkout}: only this library is timed")
        return None
    if shutil.which("cargo") is None:
        print("cargo is not installed: only this library is timed")
        return None
    shutil.copy(Path(__file__).with_name("holdem_anchor.rs"), checkout / "examples" / "anchor.rs")
    command = ["cargo", "build", "--release", "--example", "anchor"]
    # Compilers of 2025 and later refuse three lines of its last commit, for a lint.
    flags = {"RUSTFLAGS": "-Ctarget-cpu=native -Adangerous-implicit-autorefs"}
    done = subprocess.run(
        command, cwd=checkout, capture_output=True, text=True, env={**flags, **os.environ}
    )
    if done.returncode != 0:
        print(f"postflop-solver does not build: {done.stderr.strip().splitlines()[-1]}")
        return None
    return checkout / "target" / "release" / "examples" / "anchor"


def run_anchor(program: Path, spot: dict[str, Any], iterations: int, threads: int) -> list[float]:
    """Return milliseconds per iteration (mean, least, of the processor); iterations, seconds and
    processor seconds to the target; and bytes."""
    arguments = [*spot["ranges"], spot["board"], POT, STACKS, spot["bets"], spot["raises"]]
    arguments += [spot["donk"] or "-", 0, 0, threads, iterations, TARGET]
    arguments += ["float32", "1.5/0.15/0.1", "|".join(spot.get("folded", ["-"]))]
    done = subprocess.run(
        [str(program), *map(str, arguments)], capture_output=True, text=True, check=True
    )
    hands, speed, target = (line.split() for line in done.stdout.splitlines())
    return [float(speed[k]) for k in (3, 5, 7)] + [
        *(float(target[k]) for k in (2, 4, 6)),
        float(hands[4]),
    ]


def run_own(game: ChunkedGame, iterations: int, threads: int) -> list[float]:
    """Return the same numbers of this library."""
    solver = Solver(game, precision="float32", threads=threads)
    solver.iterate(1)
    solver.evaluate()
    least, begin, cpu = float("inf"), time.perf_counter(), time.process_time()
    parts = 8 if iterations >= 8 else iterations
    for _ in range(parts):
        start = time.perf_counter()
        solver.iterate(iterations // parts)
        least = min(least, (time.perf_counter() - start) / (iterations // parts))
    done = parts * (iterations // parts)
    mean, used = (time.perf_counter() - begin) / done, (time.process_time() - cpu) / done
    memory = bytes_needed(game, solver.algorithm, "float32", threads=threads) + game.nbytes
    begin, cpu = time.perf_counter(), time.process_time()
    solution = solve(game, target=TARGET, precision="float32", threads=threads)
    end, used_end = time.perf_counter(), time.process_time()
    speed = (1e3 * mean, 1e3 * least, 1e3 * used)
    return [*speed, solution.iterations, end - begin, used_end - cpu, float(memory)]


def compare(
    name: str, threads: int, rounds: int, program: Path | None
) -> dict[str, dict[str, float]]:
    """Return the medians of each program, and with two programs those of the ratios."""
    spot, iterations = SPOTS[name]
    game = compile_game("holdem", **spot, pot=POT, stacks=STACKS)
    assert isinstance(game, ChunkedGame)
    runs: dict[str, list[list[float]]] = {}
    for _ in range(rounds):
        own = run_own(game, iterations, threads)
        runs.setdefault("tensorcfr", []).append(own)
        if program is not None:
            there = run_anchor(program, spot, iterations, threads)
            runs.setdefault("postflop-solver", []).append(there)
            ratios = [b / a for a, b in zip(own, there, strict=True)]
            runs.setdefault("ratio", []).append(ratios)
    return {
        solver: dict(zip(COLUMNS, map(median, zip(*found, strict=True)), strict=True))
        for solver, found in runs.items()
    }


def main() -> None:
    """Measure, print and store the results."""
    parser = arguments(__doc__)
    parser.add_argument("--anchor", default=os.environ.get("POSTFLOP_SOLVER"))
    parser.add_argument("--spots", nargs="+", choices=SPOTS, default=list(SPOTS))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    program = None
    if options.anchor:
        program = build_anchor(Path(options.anchor))
    else:
        print("no checkout of postflop-solver is given (--anchor): only this library is timed")
    stored = {"spots": {}} | read_json(RESULTS)
    print(f"{'spot':14}{'solver':18}" + "".join(f"{name:>12}" for name in COLUMNS))
    for name in options.spots:
        for threads in options.threads:
            found = compare(name, threads, options.rounds, program)
            for solver, figures in found.items():
                line = "".join(f"{figure:12.4g}" for figure in figures.values())
                print(f"{name:14}{solver:18}" + line, flush=True)
            stored["spots"].setdefault(name, {})[str(threads)] = found
            write_json(RESULTS, stored | {"rounds": options.rounds} | origin())


if __name__ == "__main__":
    main()
