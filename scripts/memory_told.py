"""Compare the announced memory of solves with the measured peak, and check memory limits.

``python -m scripts.memory_told`` measures twenty-five games, each in a process of its own.  It
writes a table with the ratio of announced to measured memory, and ends with status 1 if one is off
by more than a twentieth.

``python -m scripts.memory_told --limits`` runs every function with a limit
(``scripts._limited_doors``) in a process of its own.  Work that does not fit must end with a
MemoryLimitError, work that just fits must not, and the process must not grow by more than 1.1 times
the limit.

``--json FILE`` puts the figures of either into a file, and keeps those of the other.

``python -m scripts.memory_told --files`` solves games in chunks with their state in files, writes
checkpoints, and continues from them, each in a process with less private memory than the size of
the state.  Private pages and pages of files are measured separately, 500 times a second, on Linux
only.
"""

from __future__ import annotations

import ctypes
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Thread
from typing import Any

from benchmarks._common import process_bytes
from tensorcfr import Solution, compile_game, solve
from tensorcfr._util.memory_budget import taken
from tensorcfr.algorithms import Algorithm, Sampling
from tensorcfr.errors import MemoryLimitError
from tensorcfr.model.chunked_game import ChunkedGame
from tensorcfr.solvers import sampled_solver, solver
from tensorcfr.solvers.solver_state import state_bytes
from tensorcfr.sweep import read_algorithm

from ._limited_doors import DOORS
from ._pages import ROOT, arguments, origin, origin_of, read_json, write_json

TOLERANCE = 0.05
NOLIMIT = "nolimit_poker(stacks=20, raises='50%,a', bets='50%,a', deals=(3,), flops=6)"
CASES = (
    ("bluff(dice=(2,1))", "cfr", "float64"),
    ("bluff(dice=(2,1), faces=7)", "cfr+", "float64"),
    ("bluff(dice=(2,1), faces=7)", "pcfr+", "float64"),
    ("bluff(dice=(2,1), faces=7)", "dcfr", "float32"),
    ("liars_dice(faces=9)", "cfr", "float64"),
    ("liars_dice(faces=8)", "hedge", "float64"),
    ("nl_leduc", "cfr+", "float64"),
    ("nl_leduc", "dcfr", "float64"),
    ("nl_leduc", "external_sampling", "float64"),
    ("nl_leduc(stack=16)", "outcome_sampling(baseline=0.5)", "float64"),
    ("liars_dice(faces=8)", "chance_sampling", "float64"),
    ("nl_leduc(ranks=4, stack=14)", "public_chance_sampling", "float64"),
    ("turn, wide", "dcfr", "float32"),
    ("turn, wide", "dcfr", "int16"),
    ("turn, wide", "cfr+", "float64"),
    ("turn, wide", "pcfr+", "float32"),
    ("flop", "dcfr", "float32"),
    ("flop", "dcfr", "int16"),
    ("flop, two sizes", "dcfr", "float32"),
    ("flop, two sizes", "cfr+", "int16"),
    ("flop, cut twice", "dcfr", "float32"),
    ("flop, cut twice", "dcfr", "int16"),
    ("flop, cut twice", "cfr+", "float64"),
    (NOLIMIT, "dcfr", "float32"),
    (NOLIMIT, "dcfr", "int16"),
)
"""Game or spot, algorithm, precision: large enough that arrays count, small enough to be compiled
soon."""
SPOTS = {
    "turn, wide": {
        "board": "Ah7c2s5h",
        "ranges": ("22+,A2s+,K8s+,Q9s+,ATo+,KQo", "22+,A2s+,K5s+,Q8s+,J8s+,A8o+"),
        **{"pot": 20, "stacks": 190, "bets": "33%,75%", "raises": "60%"},
    },
    "flop": {
        "board": "Td9d6h",
        "ranges": ("TT+,AQs+", "QQ-99,AJs+"),
        **{"pot": 55, "stacks": 200, "bets": "50%"},
    },
    "flop, cut twice": {
        "board": "Ks8h3d",
        "ranges": ("99+,AJs+", "88-TT,AQs+,KQs"),
        **{"pot": 60, "stacks": 150, "bets": "40%,a", "cut": 1},
    },
    "flop, two sizes": {
        "board": "Ks8h3d",
        "ranges": ("99+,AJs+", "88-TT,AQs+,KQs"),
        **{"pot": 60, "stacks": 150, "bets": "40%,a"},
    },
}
"""Options of hold'em, and of ``compile_game``, by the names of spots above."""


MMAP_THRESHOLD = -3
"""Number of the option of glibc from which size on pieces go back to the system when freed.  It
grows to 32 MiB by itself, and then the holes that smaller arrays leave count as taken."""


class Peak:
    """The bytes by which this process grows at most from now on, as ``grown`` says."""

    def __init__(self) -> None:
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        before = taken()
        Path("/proc/self/clear_refs").write_text("5")
        self._before = before + process_bytes("VmRSS") - taken()

    @property
    def grown(self) -> int:
        """Bytes so far."""
        return process_bytes("VmHWM") - self._before


def measure(spec: str, algorithm: str, precision: str) -> dict[str, Any]:
    """Return the announced bytes and the bytes that this process takes."""
    ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, 1 << 18)
    spot = SPOTS.get(spec)
    record = read_algorithm(algorithm)
    # Histories are sampled of a flat game.
    cut: Any = not isinstance(record, Sampling) and "auto"
    game = compile_game(spec, cut=cut) if spot is None else compile_game("holdem", **spot)
    options: dict[str, Any] = {} if isinstance(record, Sampling) else {"precision": precision}
    solve(game, record, iters=1, **options)  # Compiles the kernels.
    if isinstance(record, Algorithm):
        told = solver.bytes_needed(game, record, precision)
    else:
        assert isinstance(record, Sampling)
        told = sampled_solver.bytes_needed(game, record)
    measured = Peak()
    solution = solve(game, record, iters=3, **options)
    peak = measured.grown
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


LIMIT_TOLERANCE = 0.1


def hold(number: int, folder: Path) -> dict[str, Any]:
    """Run work under a limit in this process; return the result and the growth of the process in
    bytes."""
    door = DOORS[number]
    ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, 1 << 18)
    work, limit, refused = door.prepare(folder), door.mebibytes << 20, ""
    measured, began = Peak(), time.process_time()
    try:
        work(limit)
    except MemoryLimitError as error:
        refused = str(error)
    grown = measured.grown
    return {
        "door": door.what,
        "limit": limit,
        "is enough": door.fits,
        "refused": refused,
        "grown": grown,
        "ratio": grown / limit,
        "seconds": round(time.process_time() - began, 2),
    }


def print_limits(path: Path | None, only: str) -> bool:
    """Print the table of limits; return whether all hold."""
    print("| door | limit, MiB | grown, MiB | refused |\n| --- | ---: | ---: | --- |")
    all_hold = True
    for number, door in enumerate(DOORS):
        if only not in door.what:
            continue
        with tempfile.TemporaryDirectory() as folder:
            one = _in_a_process("--limits", "--one", str(number), "--folder", folder)
        holds = one["ratio"] <= 1.0 + LIMIT_TOLERANCE and bool(one["refused"]) != one["is enough"]
        write(path, "limits", "door", {**one, "holds": holds})
        all_hold &= holds
        sizes = f"{one['limit'] / 2**20:,.0f} | {one['grown'] / 2**20:,.1f}"
        fault = "" if holds else f" WRONG {one['refused']}"
        words = f"{'yes' if one['refused'] else 'no'} |{fault}"
        print(f"| {one['door']} | {sizes} | {words}", flush=True)
    return all_hold


def write(path: Path | None, part: str, key: str, found: dict[str, Any]) -> None:
    """Write the results of a case into a file, if there is one, in place of earlier results."""
    said = read_json(path)
    cases = [one for one in said.get(part, {}).get("cases", []) if one[key] != found[key]]
    write_json(path, said | {part: {**origin(), "cases": [*cases, found]}})


IN_FILES = (
    ("bluff(dice=(2,2))", "cfr+", "float64"),
    ("bluff(dice=(2,2))", "pcfr+", "float64"),
    ("bluff(dice=(2,2))", "dcfr", "float32"),
)
"""Games in chunks whose state is in files."""
ROOM = 96 << 20
"""Private bytes that a process may take beyond the announced number: stacks of threads, and the
blocks of 16 MiB in which a checkpoint is written."""


class Watched:
    """The most private bytes and bytes of mapped files that are resident, while it is entered."""

    def __enter__(self) -> Watched:
        self._before = process_bytes("RssAnon"), process_bytes("RssFile")
        self._most, self._is_over = [0, 0], Event()
        self._thread = Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._is_over.wait(0.002):
            now = process_bytes("RssAnon"), process_bytes("RssFile")
            self._most = list(map(max, self._most, now))

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    @property
    def grown(self) -> list[int]:
        """By how much both have grown at most."""
        return [most - before for most, before in zip(self._most, self._before, strict=True)]


def measure_in_files(spec: str, algorithm: str, precision: str, folder: Path) -> dict[str, Any]:
    """Measure a solve that keeps its state in files, from the start or from a checkpoint if there
    is one."""
    game, record = compile_game(spec, cut=True), read_algorithm(algorithm)
    assert isinstance(game, ChunkedGame)
    assert isinstance(record, Algorithm)
    solve(compile_game("kuhn", cut=1), record, iters=1, precision=precision)  # Loads the kernels.
    state = state_bytes(game.chunks, record, precision)
    told = solver.bytes_needed(game, record, precision, state_dir=folder)
    allowed = told + ROOM
    assert state > 1.5 * allowed
    gc.collect()
    resource.setrlimit(resource.RLIMIT_DATA, (process_bytes("VmData") + allowed,) * 2)
    at, options = folder / "at.npz", {"iters": 2, "state_dir": folder / "state"}
    with Watched() as watched:
        if at.exists():
            start = Solution.load(at, game=game, state_dir=folder / "start")
            assert solve(game, start=start, **options).iterations == start.iterations + 2
        else:
            options |= {"checkpoint": at, "checkpoint_iterations": 1}
            solve(game, record, precision=precision, **options)
    return {
        "case": [spec, algorithm, precision],
        "sizes": [state, told, allowed, *watched.grown],
    }


def print_in_files() -> None:
    """Print the table of states in files."""
    columns = ("game", "algorithm", "floats", "process", "state, MiB", "announced", "allowed")
    print(f"| {' | '.join(columns)} | private | files |")
    print("| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for number in range(len(IN_FILES)):
        with tempfile.TemporaryDirectory() as folder:
            for what in ("solve, checkpoints", "resume"):
                found = _in_a_process("--files", "--one", str(number), "--folder", folder)
                sizes = " | ".join(f"{size / 2**20:,.0f}" for size in found["sizes"])
                print(f"| {' | '.join(found['case'])} | {what} | {sizes} |", flush=True)


def _in_a_process(*words: str) -> Any:
    command = [sys.executable, "-m", "scripts.memory_told", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def main(words: list[str] | None = None) -> int:
    """Measure all cases, or one in this process."""
    parser = arguments(__doc__)
    parser.add_argument("--one", type=int, help="measure this case here, and print it as JSON")
    parser.add_argument("--files", action="store_true", help="measure states in files")
    parser.add_argument("--limits", action="store_true", help="give limits, at every door")
    parser.add_argument("--only", default="", help="cases or doors whose name contains this")
    parser.add_argument("--json", type=Path, help="put the figures into this file")
    parser.add_argument("--folder", type=Path, help="of the one that is measured here")
    asked = parser.parse_args(words)
    if asked.one is not None:
        if asked.limits:
            found = hold(asked.one, asked.folder)
        elif asked.files:
            found = measure_in_files(*IN_FILES[asked.one], asked.folder)
        else:
            found = measure(*CASES[asked.one])
        print(json.dumps(found))
        return 0
    if asked.files:
        print_in_files()
        return 0
    if asked.limits:
        return int(not print_limits(asked.json, asked.only))
    print(
        f"{origin_of(origin())}\n\n"
        "| game | algorithm | floats | sequences | told, MiB | measured, MiB | told / measured |\n"
        "| --- | --- | --- | --- | --- | --- | --- |"
    )
    worst = 0.0
    for number, case in enumerate(CASES):
        if asked.only not in " ".join(case):
            continue
        found = _in_a_process("--one", str(number))
        worst = max(worst, abs(found["ratio"] - 1.0))
        write(asked.json, "told", "case", {"case": " ".join(case), **found})
        print(
            f"| {found['game']} | {found['algorithm']} | {found['precision']} "
            f"| {found['sequences']:,} | {found['told'] / 2**20:.1f} "
            f"| {found['measured'] / 2**20:.1f} | {found['ratio']:.2f} |",
            flush=True,
        )
    print(f"off by {worst:.0%} at most")
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
