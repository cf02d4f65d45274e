"""Time and memory of spots of Omaha, into docs/omaha.md.

    python -m scripts.omaha_spots [WORD ...]

Each spot is solved in a process of its own, with kernels compiled before.  Words choose the spots
whose names have one of them; the rows of the others stay as they are.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks._common import table
from tensorcfr import compile_game, solve
from tensorcfr._util.hardware import versions
from tensorcfr.compilers import game_size
from tensorcfr.model.compiled_game import CompiledGame
from tensorcfr.payoff.card_payoffs import LANES

from ._pages import page_with

PAGE = Path(__file__).resolve().parent.parent / "docs" / "omaha.md"
BEST = (
    "AA,KK,QQ$ds,QQ$ss,JJ$ds,JJ$ss,TT$ds,TT$ss,AK$ds,AQ$ds,AJ$ds,AT$ds,KQ$ds,"
    "AKQJ,AKQT,KQJT,QJT9,JT98,T987,9876,8765"
)
"""39,328 hands, 14.5 % of all."""
SMALL = ("AsAhKsKh", "QsQhJsJh")
BASE = {"pot": 100, "stacks": 300, "raises": "pot"}
ALL = ("random", "random")
FLOP, TURN, RIVER = "Td9d6h", "Td9d6hQc", "Td9d6hQcTs"


class Spot(NamedTuple):
    """What is solved, and how."""

    options: dict[str, Any]
    percent: float
    """The exploitability at which to end, in per cent of the pot."""
    precision: str = "float32"
    threads: int = 1


SPOTS = {
    "river, all hands, two sizes": Spot(
        BASE | {"board": RIVER, "ranges": ALL, "bets": "50%,pot"}, 0.1
    ),
    "turn, 14.5 % each, one size": Spot(
        BASE | {"board": TURN, "ranges": (BEST, BEST), "bets": "pot"}, 0.5
    ),
    "turn, all hands, one size": Spot(
        BASE | {"board": TURN, "ranges": ALL, "bets": "pot"}, 0.5, "int16", 2
    ),
    "flop, best 1 %, one size": Spot(
        BASE | {"board": FLOP, "ranges": ("1%", "1%"), "bets": "pot"}, 0.5, "int16", 2
    ),
    "flop, best 5 %, one size": Spot(
        BASE | {"board": FLOP, "ranges": ("5%", "5%"), "bets": "pot"}, 0.5, "int16", 2
    ),
}
MEBI = 1 << 20
CACHE, MEMORY = 100e9, 20e9
"""Bytes a second of a second-level cache and of memory, for one core, about."""
SUMS = 15
PASSES = {0: 3, 1: 5}
"""Rows read and written for each hand and sum: by a fold, and by a showdown."""
BYTES = {"float32": 16.0, "int16": 8.25}
"""Read and written in an iteration for each sequence: a regret and a strategy."""


def rows_of_sums(game: CompiledGame) -> int:
    """Rows of sums that an iteration reads and writes."""
    chunks, hands = game.chunks, sum(map(len, game.nodes.rules.hands))
    shapes, groups = chunks.shapes, [part.group for part in chunks.trunk.operator]
    for shape in range(shapes.n_shapes if chunks.n_chunks else 0):
        begin, size, width = shapes.place[shape, shapes.fields.index("cards/group")]
        groups.append(shapes.integers[begin : begin + size].reshape(-1, width))
    kinds = [min(kind, 1) for of_part in groups for kind in of_part[:, 2].tolist()]
    return hands * SUMS * sum(PASSES[kind] for kind in kinds)


def measure(name: str) -> dict[str, Any]:
    """Solve a spot, in this process."""
    options, percent, precision, threads = SPOTS[name]

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEBI

    warm = compile_game("omaha", **(options | {"ranges": SMALL}))
    solve(warm, iters=2, precision=precision, threads=threads)
    before, size = peak(), game_size("omaha", **options)
    told = size.bytes_in_all(precision)[1]
    begin = time.process_time()
    game = compile_game("omaha", **options)
    compiled, at = time.process_time() - begin, time.perf_counter()
    found = solve(game, target=f"{percent}%", precision=precision, threads=threads)
    busy, clock = time.process_time() - begin - compiled, time.perf_counter() - at
    least = rows_of_sums(game) * LANES * 4 / CACHE + size.sequences * BYTES[precision] / MEMORY
    return {
        "spot": name,
        "hands": f"{len(game.nodes.rules.hands[0]):,}",
        "sequences": f"{size.sequences / 1e6:.3g} M",
        "kept in": precision,
        "to": f"{100 * found.exploitability / game.nodes.rules.pot:.2g} %",
        "iterations": found.iterations,
        "compile": f"{compiled:.1f} s",
        "solve": f"{busy:.1f} s",
        "bound": f"{found.iterations * least:.1f} s",
        "threads": threads,
        "on the clock": f"{clock:.0f} s",
        "told": f"{told / MEBI:,.0f} MiB",
        "peak": f"{peak() - before:,.0f} MiB",
    }


def main() -> None:
    """Measure spots, and write the page."""
    if sys.argv[1:] == ["--one", *sys.argv[2:]]:
        print(json.dumps(measure(sys.argv[2])))
        return
    page, words = PAGE.read_text("utf-8"), sys.argv[1:] or [""]
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in page.splitlines()}
    rows = []
    for name in SPOTS:
        if any(word in name for word in words):
            command = [sys.executable, "-m", "scripts.omaha_spots", "--one", name]
            found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            head, line, row = table(list(found), [list(map(str, found.values()))]).split("\n")
            lines |= {"spot": head, name: row}
        rows += [lines[name]] if name in lines else []
    cells = "\n".join([lines["spot"], line, *rows])
    text = f"{cells}\n\nProcessor time, but for the last column of seconds. {versions()}."
    PAGE.write_text(page_with(page, "omaha_spots", {"measured": text}), "utf-8")


if __name__ == "__main__":
    main()
