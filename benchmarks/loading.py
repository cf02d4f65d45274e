"""Measure the checks of a game, and how long it takes to save and load it.

``python -m benchmarks.loading "bluff(dice=(2, 1))"`` prints a line of JSON.  It has the CPU seconds
of compiling, of its checks, of saving and loading, and the ratio of the checks to one reading of
the arrays.  It also has the peak of memory of loading, in sizes of the arrays.  For small games
this peak is that of the program.

``python -m benchmarks.loading --json benchmarks/results/loading.json`` measures how fast files are
read, and how fast their checks are: games, solutions, and checkpoints of games in chunks.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scripts._pages import arguments, origin, write_json
from tensorcfr import Solution, compile_game, load_game, save_game, solve
from tensorcfr.compilers.invariants import check

from ._common import process_bytes
from .bandwidth import triad_bandwidth

ROUNDS = 3


def measure(name: str) -> dict[str, Any]:
    """Measure in this process; kernels are compiled before."""
    _warm_up()
    compiling, game = _timed(lambda: compile_game(name))
    checking = min(_timed(lambda: check(game))[0] for _ in range(ROUNDS))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "game.npz"
        saving, _ = _timed(lambda: save_game(game, path))
        loading = min(_timed(lambda: load_game(path))[0] for _ in range(ROUNDS))
        peak = _peak_of_loading(path)
    millions = game.n_sequences / 1e6
    bandwidth = triad_bandwidth()["memory"]
    return {
        "game": name,
        "sequences": game.n_sequences,
        "bytes": game.nbytes,
        "compile_seconds": round(compiling, 3),
        "save_seconds": round(saving, 3),
        "load_seconds": round(loading, 3),
        "check_seconds": round(checking, 3),
        "check_seconds_per_million": round(checking / millions, 4),
        "share_of_compiling": round(checking / compiling, 3),
        "share_of_loading": round(checking / loading, 3),
        "times_one_reading": round(checking / (game.nbytes / bandwidth), 1),
        "bandwidth": round(bandwidth / 1e9, 1),
        "peak_of_loading": round(peak / game.nbytes, 2),
    }


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and its result."""
    started = time.process_time()
    found = call()
    return time.process_time() - started, found


def _warm_up() -> None:
    """Compile the kernels of the checks, for large games too."""
    from tensorcfr.compilers.invariants import merged_checks

    before, merged_checks.COMPILED_CHECK_FROM = merged_checks.COMPILED_CHECK_FROM, 0
    check(compile_game("leduc"))
    merged_checks.COMPILED_CHECK_FROM = before


def _peak_of_loading(path: Path) -> int:
    """Return the peak of bytes that loading takes, beyond those of the program before."""
    code = "import sys; from benchmarks import loading; loading.print_growth(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def print_growth(path: str) -> None:
    """Print by how much loading a game raises the peak of bytes of this process."""
    _warm_up()
    before = process_bytes("VmHWM")
    load_game(path)
    print(process_bytes("VmHWM") - before)


FILES: tuple[tuple[str, str, bool, dict[str, Any]], ...] = (
    ("game", "bluff(dice=(2,1), faces=7)", False, {}),
    ("game", "liars_dice(faces=9)", False, {}),
    ("solution", "bluff(dice=(2,1), faces=7)", False, {"algorithm": "hedge"}),
    ("solution", "liars_dice(faces=9)", False, {"algorithm": "hedge"}),
    ("checkpoint", "bluff(dice=(2,1), faces=7)", True, {"algorithm": "cfr+"}),
    ("checkpoint", "bluff(dice=(2,2))", True, {"algorithm": "dcfr", "precision": "float32"}),
    ("checkpoint", "bluff(dice=(2,2))", True, {"algorithm": "dcfr", "precision": "int16"}),
)
"""Kinds of files, games, whether these are cut, and options of ``solve``."""


def measure_file(kind: str, name: str, cut: bool, options: dict[str, Any]) -> dict[str, Any]:
    """Measure how fast a file is loaded, with its game if it is a checkpoint, and how fast it is
    without reading its bytes; CPU seconds, the least of several rounds."""
    _warm_up()
    small = compile_game("leduc", cut=3 if cut else False)
    game = compile_game(name, cut=cut)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.npz"
        for each in (small, game):
            if kind == "game":
                save_game(each, path)
                load: Callable[[], Any] = lambda: load_game(path)  # noqa: E731
            else:
                solve(each, iters=1, checkpoints=(), **options).save(path)
                known = each if kind == "checkpoint" else None
                load = lambda: Solution.load(path, game=known)  # noqa: B023, E731
            load()  # Loads the kernels of the checks.
        loading = min(_timed(load)[0] for _ in range(ROUNDS))
        reading = min(_timed(path.read_bytes)[0] for _ in range(ROUNDS))
        size = path.stat().st_size
    return {
        "kind": kind,
        "game": name,
        "options": options,
        "bytes": size,
        "load_seconds": round(loading, 4),
        "read_seconds": round(reading, 4),
        "load_gb_per_second": round(size / loading / 1e9, 3),
        "checks_gb_per_second": round(size / max(loading - reading, 1e-9) / 1e9, 3),
    }


def main() -> None:
    """Measure games by name, or the files that there are."""
    parser = arguments(__doc__)
    parser.add_argument("games", nargs="*")
    parser.add_argument("--json", type=Path, help="measure files, and write the figures here")
    asked = parser.parse_args()
    for name in asked.games:
        print(json.dumps(measure(name)), flush=True)
    if asked.json:
        found = []
        for one in FILES:
            found.append(measure_file(*one))
            print(json.dumps(found[-1]), flush=True)
        write_json(asked.json, {**origin(), "files": found})


if __name__ == "__main__":
    main()
