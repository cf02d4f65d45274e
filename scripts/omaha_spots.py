"""Time and memory of spots of Omaha, into docs/omaha.md.

    python -m scripts.omaha_spots

Single precision, one thread, each spot in a process of its own with kernels compiled before.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks._common import table
from tensorcfr import compile_game, solve
from tensorcfr._util.machine import versions
from tensorcfr.compilers import game_size
from tensorcfr.payoff.cards import LANES

from ._pages import page_with

PAGE = Path(__file__).resolve().parent.parent / "docs" / "omaha.md"
BEST = (
    "AA,KK,QQ$ds,QQ$ss,JJ$ds,JJ$ss,TT$ds,TT$ss,AK$ds,AQ$ds,AJ$ds,AT$ds,KQ$ds,"
    "AKQJ,AKQT,KQJT,QJT9,JT98,T987,9876,8765"
)
"""39,328 hands, 14.5 % of all."""
SMALL = ("AsAhKsKh", "QsQhJsJh")
BASE = {"pot": 100, "stacks": 300, "raises": "pot"}
SPOTS: dict[str, tuple[dict[str, Any], float]] = {
    "river, all hands, two sizes": (
        BASE | {"board": "Td9d6hQcTs", "ranges": ("random", "random"), "bets": "50%,pot"},
        0.1,
    ),
    "turn, 14.5 % each, one size": (
        BASE | {"board": "Td9d6hQc", "ranges": (BEST, BEST), "bets": "pot"},
        0.5,
    ),
}
"""Options, and the exploitability at which to end, in per cent of the pot."""
MEBI = 1 << 20
CACHE = 100e9
"""Bytes a second of a second-level cache, about."""
SUMS = 15
PASSES = {0: 3, 1: 5}
"""Rows read and written for each hand and sum: by a fold, and by a showdown."""


def measure(name: str) -> dict[str, Any]:
    """Solve a spot, in this process."""
    options, percent = SPOTS[name]

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEBI

    warm = compile_game("omaha", **(options | {"ranges": SMALL}))
    solve(warm, iters=2)
    before, told = peak(), game_size("omaha", **options).bytes_in_all("float32")[1]
    begin = time.process_time()
    game = compile_game("omaha", **options)
    compiled = time.process_time() - begin
    found = solve(game, target=f"{percent}%")
    rows = 0
    if not game.chunks.n_chunks:
        for kind in game.chunks.trunk.operator[0].group[:, 2].tolist():
            rows += PASSES[min(kind, 1)] * SUMS * sum(map(len, game.nodes.rules.hands))
    return {
        "spot": name,
        "hands": len(game.nodes.rules.hands[0]),
        "to": f"{percent} % of the pot",
        "iterations": found.iterations,
        "compile": f"{compiled:.1f} s",
        "solve": f"{time.process_time() - begin - compiled:.1f} s",
        "told": f"{told / MEBI:,.0f} MiB",
        "peak": f"{peak() - before:,.0f} MiB",
        "bound": f"{found.iterations * rows * LANES * 4 / CACHE:.1f} s" if rows else "",
    }


def main() -> None:
    """Measure all spots, and write the page."""
    if sys.argv[1:]:
        print(json.dumps(measure(sys.argv[1])))
        return
    rows = []
    for name in SPOTS:
        command = [sys.executable, "-m", "scripts.omaha_spots", name]
        rows.append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    cells = table(list(rows[0]), [list(map(str, row.values())) for row in rows])
    text = f"{cells}\n\nOne core, processor time, single precision. {versions()}."
    PAGE.write_text(page_with(PAGE.read_text("utf-8"), "omaha_spots", {"measured": text}), "utf-8")


if __name__ == "__main__":
    main()
