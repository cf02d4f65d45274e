"""Measure spots of Omaha with five cards, and of hi-lo, for docs/omaha.md.

    python -m scripts.omaha          measure both, and write the page
    python -m scripts.omaha page     write the page again

Processor time of one thread, single precision, with kernels that are compiled before.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

from benchmarks._common import progress, table
from tensorcfr import CompiledGame, Solver, compile_game, solve
from tensorcfr.compilers import game_size
from tensorcfr.games import make_spot

from ._pages import DOCS, RESULTS, arguments, origin, origin_of, read_json, write_json, write_parts

FILE = RESULTS / "omaha.json"
PAGE = DOCS / "omaha.md"
RIVER = {"board": "Td9d6hQcTs", "pot": 100, "stacks": 300, "bets": "50%,pot", "raises": "pot"}
TURN = RIVER | {"board": "Td9d6hQc", "bets": "pot"}
LOW_RIVER = RIVER | {"board": "Ad2c7hKs8d"}
ALL = ("random", "random")
FIVE_CARDS: dict[str, tuple[dict[str, Any], str | None]] = {
    "river, two sizes": (RIVER | {"ranges": ("AAKK,AAQQ", "KKQQ,QQJJ")}, "0.1%"),
    "river, two sizes, wide": (RIVER | {"ranges": ("AA$op$ss", "KK$op$ss")}, "0.1%"),
    "river, two sizes, all hands": (RIVER | {"ranges": ALL}, None),
    "turn, one size": (TURN | {"ranges": ("QQJJ$ds", "KQJT9:0.5")}, "0.5%"),
    "turn, one size, wide": (TURN | {"ranges": ("QQJJ,TT99", "AAKK,KQJT9")}, "0.5%"),
}
"""Spots, and the exploitability to which each is solved; None to measure iterations alone."""
HI_LO = {"river, two sizes": ("AA,A2$ss,A3$ss",) * 2, "river, two sizes, all hands": ALL}
"""Ranges on the same board for Omaha and for hi-lo."""
ITERATIONS = 8
"""Iterations of a call; the first one of a call takes one pass more."""
CALLS = 3
MIB = 2**20


def measure_five_cards(spot: dict[str, Any], target: str | None) -> dict[str, Any]:
    """Return sizes and processor times of a spot."""
    rules = make_spot(game="omaha5", **spot)
    told = game_size(rules).bytes_in_all("float32")[1]
    began = time.process_time()
    game = compile_game(rules)
    compiling = time.process_time() - began
    row = {
        "hands": [len(hands) for hands in rules.hands],
        "sequences": game.n_sequences,
        "told": told / MIB,
        "compile": compiling,
        "iteration": iteration_seconds(game)[0],
    }
    if target:
        began = time.process_time()
        solution = solve(game, "dcfr", target=target, precision="float32", threads=1)
        row |= {"target": target, "iterations": solution.iterations}
        row["solve"] = time.process_time() - began
    return row


def measure_hi_lo(ranges: tuple[str, str]) -> dict[str, Any]:
    """Return hands, and the processor time of an iteration of Omaha and of hi-lo."""
    names = "omaha", "omaha_hi_lo"
    games = [compile_game(name, **LOW_RIVER, ranges=ranges) for name in names]
    row: dict[str, Any] = {"hands": [len(hands) for hands in games[0].nodes.hands]}
    for name, game, seconds in zip(names, games, iteration_seconds(*games), strict=True):
        payoffs = sum(array.nbytes for array in game.chunks.trunk.operator[0])
        row[name] = {"iteration": seconds, "payoffs": payoffs / MIB}
    return row


def iteration_seconds(*games: CompiledGame) -> list[float]:
    """Return the median processor time of an iteration of each game, over calls in turns."""
    solvers = [Solver(game, "dcfr", precision="float32", threads=1) for game in games]
    seconds: list[list[float]] = [[] for _ in games]
    for call in range(CALLS + 1):
        for solver, found in zip(solvers, seconds, strict=True):
            began = time.process_time()
            solver.iterate(ITERATIONS)
            # The first call touches the memory first.
            if call:
                found.append((time.process_time() - began) / ITERATIONS)
    return [median(found) for found in seconds]


def measure() -> None:
    """Measure all spots, and store the figures."""
    five, four = ("AsAhAdKsKh", "QsJsJhTc9c"), ("AsAhKdTs", "QsQhJs8h")
    for name, spot, ranges in (
        ("omaha5", RIVER, five),
        ("omaha5", TURN, five),
        ("omaha", LOW_RIVER, four),
    ):
        # A small spot compiles the kernels.
        small = compile_game(name, **spot, ranges=ranges)
        solve(small, "dcfr", target="0.1%", iters=100, precision="float32", threads=1)
    found: dict[str, Any] = {"five_cards": {}, "hi_lo": {}}
    for name, (spot, target) in FIVE_CARDS.items():
        progress(name)
        found["five_cards"][name] = measure_five_cards(spot, target)
    for name, ranges in HI_LO.items():
        progress(f"hi-lo, {name}")
        found["hi_lo"][name] = measure_hi_lo(ranges)
    write_json(FILE, found | origin())


def parts() -> dict[str, str]:
    """Return both tables, by name."""
    found = read_json(FILE)
    five = [
        [
            name,
            " and ".join(f"{hands:,}" for hands in row["hands"]),
            f"{row['sequences']:,}",
            f"{row['told']:,.0f} MiB",
            f"{row['compile']:.1f} s",
            f"{1e3 * row['iteration']:,.1f} ms",
            f"{row['target'][:-1]} %" if "target" in row else "",
            f"{row['iterations']}" if "target" in row else "",
            f"{row['solve']:.2g} s" if "target" in row else "",
        ]
        for name, row in found["five_cards"].items()
    ]
    hi_lo = [
        [
            name,
            f"{row['hands'][0]:,}",
            *(f"{1e3 * row[game]['iteration']:,.1f} ms" for game in ("omaha", "omaha_hi_lo")),
            *(f"{row[game]['payoffs']:.1f} MiB" for game in ("omaha", "omaha_hi_lo")),
        ]
        for name, row in found["hi_lo"].items()
    ]
    columns = ["spot", "hands", "sequences", "told", "compile", "an iteration"]
    pair = ["an iteration of `omaha`", "of `omaha_hi_lo`", "payoffs of `omaha`", "of `omaha_hi_lo`"]
    how = f"Processor time of one thread, float32. {origin_of(found)}."
    return {
        "five cards": f"{table([*columns, 'to', 'iterations', 'solve'], five)}\n\n{how}",
        "hi-lo": f"{table(['spot', 'hands', *pair], hi_lo)}\n\n{how}",
    }


def main() -> None:
    """Measure, and write the page."""
    parser = arguments(__doc__)
    parser.add_argument("do", nargs="?", choices=["page"])
    if not parser.parse_args().do:
        measure()
    write_parts(PAGE, "omaha", parts())


if __name__ == "__main__":
    main()
