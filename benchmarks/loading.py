"""What it costs to check a game, and to save and load it.

``python -m benchmarks.loading "bluff(dice=(2, 1))"`` prints a line of JSON: CPU seconds of
compiling, of the checks within, of saving and loading; how long the checks take in times of one
reading of the arrays; and the memory that loading takes at its peak, in sizes of the arrays (of
large games: that of small ones is lost in what the program takes).
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

from tensorcfr import compile_game, load_game, save_game
from tensorcfr.invariants import check

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
    """CPU seconds of a call, and what it returns."""
    started = time.process_time()
    found = call()
    return time.process_time() - started, found


def _warm_up() -> None:
    """Compile the kernels of the checks, for large games too."""
    from tensorcfr.invariants import merged

    before, merged.COMPILED_CHECK_FROM = merged.COMPILED_CHECK_FROM, 0
    check(compile_game("leduc"))
    merged.COMPILED_CHECK_FROM = before


def _peak_of_loading(path: Path) -> int:
    """Bytes that loading takes at its peak, beyond those of the warmed program."""
    code = (
        "import sys; from benchmarks import loading; loading._warm_up()\n"
        "before = loading.peak(); loading.load_game(sys.argv[1]); print(loading.peak() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def peak() -> int:
    """Most bytes that this process ever had in memory (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024


if __name__ == "__main__":
    for asked in sys.argv[1:]:
        print(json.dumps(measure(asked)), flush=True)
