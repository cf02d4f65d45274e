"""Three players: distance of ten rivers from a Nash equilibrium; resolving; larger spots.

    python -m scripts.three_players measure   variants of CFR, the default among them
    python -m scripts.three_players spots     the default, CFR and CFR+ for longer, spot by spot
    python -m scripts.three_players starts    values of solutions from random strategies
    python -m scripts.three_players resolve   gains before and after rivers are solved again
    python -m scripts.three_players joint     the gap of the joint play of CFR+, with its time
    python -m scripts.three_players sizes     time and memory of turns and flops
    python -m scripts.three_players write     the tables of docs/results/three-players.md

Every second spot of the list is to choose a variant on; the others are to judge it.  Iterations do
not depend on the machine.  Measurements are in docs/figures/three_players.csv, and times and bytes
in docs/figures/three_players_sizes.csv.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from multiprocessing import get_context
from typing import Any

import numpy as np

from benchmarks._common import progress, table
from tensorcfr import Policy, Solver, compile_game, evaluate, solve
from tensorcfr.algorithms import CFR_PLUS, Record, find_algorithm
from tensorcfr.analysis import regrets
from tensorcfr.compilers import game_size
from tensorcfr.model.chunked_form import buckets_by_part
from tensorcfr.model.compiled_game import CompiledGame
from tensorcfr.solvers.choose import CARDS_ALGORITHM
from tensorcfr.subgames import resolve

from ._pages import DOCS, FIGURES, arguments, read_rows, write_parts, write_rows
from .memory_told import MMAP_THRESHOLD, Peak

RESULTS, SIZES = FIGURES / "three_players.csv", FIGURES / "three_players_sizes.csv"
PAGE = DOCS / "results" / "three-players.md"
MARKS = (30, 100, 300)
LONG = 1_000
"""Iterations of the table of spots."""
COLUMNS = (
    "part",
    "spot",
    "variant",
    "mark",
    "mean",
    "max",
    "mean of last",
    "max of last",
    "spread",
)
FIRST = "22+,A2s+,K7s+,Q8s+,J8s+,T8s+,97s+,86s+,75s+,65s,54s,ATo+,KJo+,QJo"
MIDDLE = "99-22,ATs-A2s,KTs-K8s,QTs+,JTs,T9s,98s,87s,76s,65s,AJo-ATo,KQo"
LAST = "JJ-22,AJs-A2s,K9s+,Q9s+,J9s+,T8s+,97s+,87s,76s,AQo-ATo,KJo+,QJo"
SPOTS: dict[str, dict[str, Any]] = {
    board: {"board": board, "pot": pot, "stacks": stacks, "bets": bets, "raises": raises}
    for board, pot, stacks, bets, raises in (
        ("Td9d6hQc2s", 60, 180, "50%,100%", "60%,a"),
        ("Kh8h3c5d2c", 30, 90, "33%,75%", "a"),
        ("AsTs4d4c7h", 45, (40, 120, 120), "50%", "60%,a"),
        ("9c8c7dJhJs", 60, 120, "66%", "a"),
        ("QsJd2s6s3h", 24, (96, 48, 96), "40%,100%", "60%,a"),
        ("7h7c2d9sKd", 90, 150, "33%", "60%,a"),
        ("AhKdQc5s8h", 36, 180, "50%,150%", "60%,a"),
        ("6d5d4sTc9h", 48, (100, 100, 30), "75%", "60%,a"),
        ("JcJd8s3s3h", 30, 60, "50%,100%", "a"),
        ("Ad9s5h3d2d", 75, (200, 100, 60), "33%,100%", "a"),
    )
}
NAMES = ("cfr", "cfr+", "lcfr", "dcfr", "dcfr+", "pcfr+", "pdcfr+", "sapcfr+", "paced-cfr+")
VARIANTS: dict[str, Record] = {name: find_algorithm(name) for name in NAMES}
VARIANTS["default"] = CARDS_ALGORITHM
SHOWN = ("cfr", "cfr+", "default")
HUNDRED = (
    "55+,A9s+,KTs+,QTs+,JTs,AQo+",
    "99-22,A9s-A4s,KTs+,QTs+,JTs,T9s,98s,87s,76s,AJo",
    "JJ-33,AJs-A6s,KTs+,QTs+,J9s+,T8s+,98s,AQo",
)
NARROW = ("77+,ATs+,KQs,AKo", "99-55,AJs-A9s,KJs+,QJs,JTs", "JJ-66,AJs-A8s,KTs+,T9s")
"""Ranges in which rivers are resolved."""
WIDE = {
    "336 hands": "22+,A2s+,K2s+,Q5s+,J7s+,T7s+,96s+,86s+,75s+,64s+,54s,A8o+,KTo+,QTo+,JTo",
    "all hands": "random",
}
"""Ranges of the joint play."""
JOINT = {"336 hands": 1_000, "all hands": 2_000}
"""Iterations of the joint play."""
TURN = {"board": "Td9d6hQc", "pot": 60, "stacks": 180, "bets": "60%", "raises": "a"}
LARGE: dict[str, dict[str, Any]] = {
    "turn, a size": TURN | {"ranges": HUNDRED},
    "turn, two sizes": TURN | {"ranges": (FIRST, MIDDLE, LAST), "bets": "50%,100%"},
    "turn, a folded hand": TURN
    | {"ranges": HUNDRED[:2], "folded": HUNDRED[2:], "deal_folded": True},
    "flop, all-in": TURN
    | {
        "board": "Td9d6h",
        "ranges": ("QQ+,AKs,AQs", "JJ-TT,AJs,KQs,T9s", "99,66,ATs,KJs,98s"),
        "bets": "a",
        "raises": "",
    },
}
"""Spots before the river."""
PRECISIONS = "float32", "int16"
ROUNDS = 5
"""Rounds of iterations; the median of their times is reported."""


def compile_spot(name: str) -> CompiledGame:
    """Compile a spot of the list."""
    return compile_game("holdem", ranges=(FIRST, MIDDLE, LAST), **SPOTS[name])


def measure(part: str, names: Iterable[str], marks: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the gains of best responses to averages and to the last iterate, in percent of the
    pot."""
    for spot in SPOTS:
        game, percent = compile_spot(spot), 100 / SPOTS[spot]["pot"]
        for name in names:
            progress(f"{spot}, {name}")
            solution = solve(
                game, VARIANTS[name], iters=marks[-1], checkpoints=marks, precision="float64"
            )
            last = evaluate(game, solution.last_policy)
            for point in solution.trace:
                row = {"part": part, "spot": spot, "variant": name, "mark": point.iteration}
                row["mean"] = percent * point.exploitability
                if point.iteration == marks[-1]:
                    row["max"] = percent * max(solution.evaluation.gains)
                    row["mean of last"] = percent * last.exploitability
                    row["max of last"] = percent * max(last.gains)
                yield row


def random_policy(game: CompiledGame, seed: int) -> Policy:
    """Return a policy with independent random probabilities at every infoset."""
    weights = np.random.default_rng(seed).exponential(size=game.n_numbers)
    for base, buckets in buckets_by_part(game.chunks):
        for first, actions, lanes in zip(*buckets, strict=True):
            of_bucket = weights[base + first : base + first + actions * lanes]
            of_bucket = of_bucket.reshape(actions, lanes)
            of_bucket /= of_bucket.sum(axis=0)
    return Policy(game, np.minimum(weights, 1.0))


def starts(count: int, mark: int) -> Iterator[dict[str, Any]]:
    """Yield the largest difference between the values of solutions from random strategies."""
    for spot in SPOTS:
        game, percent = compile_spot(spot), 100 / SPOTS[spot]["pot"]
        values, gains = [], []
        for seed in range(count):
            progress(f"{spot}, start {seed}")
            solution = solve(
                game,
                iters=mark,
                checkpoints=(),
                warm_start=random_policy(game, seed),
                precision="float64",
            )
            values.append(solution.value)
            gains.append(solution.evaluation.gains)
        yield {
            "part": "starts",
            "spot": spot,
            "variant": "default",
            "mark": mark,
            "mean": percent * float(np.mean(gains)),
            "max": percent * float(np.max(gains)),
            "spread": percent * float(np.ptp(values, axis=0).max()),
        }


def resolved(boards: Sequence[str], counts: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the gains before and after all rivers are resolved that follow three checks."""
    line = "check check check"
    for board in boards:
        spot = SPOTS[board] | {"board": board[:8], "bets": "60%", "raises": "a"}
        game, percent = compile_game("holdem", ranges=NARROW, **spot), 100 / spot["pot"]
        rivers = [step.label for step in game.nodes.children(game.nodes.find_line(line))]
        for count in counts:
            progress(f"{board[:8]}, {count} iterations")
            solution = solve(game, iters=count, checkpoints=(), precision="float64")
            lines = [f"{line} {river}" for river in rivers]
            policy = resolve(game, solution, lines, method="unsafe", iters=MARKS[-1]).policy
            for variant, found in (
                ("before", solution.evaluation),
                ("after", evaluate(policy.game, policy)),
            ):
                yield {
                    "part": "resolve",
                    "spot": board[:8],
                    "variant": variant,
                    "mark": count,
                    "mean": percent * found.exploitability,
                    "max": percent * max(found.gains),
                }


def joint(ranges: Mapping[str, str], marks: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Yield the gap of the joint play of CFR+ with simultaneous updates, by ranges of all three
    players, with the seconds of processor time as the spread."""
    record, spot = CFR_PLUS(alternating=False), SPOTS["Td9d6hQc2s"]
    few = compile_game("holdem", ranges=("QsQh", "JsJd", "9h9s"), **spot)
    regrets(few, record, checkpoints=[2])  # Compiles the kernels.
    for name, text in ranges.items():
        progress(name)
        began = time.process_time()
        game = compile_game("holdem", ranges=(text,) * 3, **spot)
        (point,) = regrets(game, record, checkpoints=[marks[name]])
        yield {
            "part": "joint",
            "spot": "Td9d6hQc2s",
            "variant": name,
            "mark": marks[name],
            "mean": 100 / spot["pot"] * max(point.weighted),
            "max": 100 / spot["pot"] * max(point.average),
            "spread": time.process_time() - began,
        }


def size_of(name: str, precision: str) -> dict[str, Any]:
    """Return the time and the memory of a spot, told before it is compiled and measured after, in
    this process."""
    ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, 1 << 18)
    few = {"ranges": ("AsAc,KsKc", "QsQh,JsJc", "2s2c,3s3c")[: len(LARGE[name]["ranges"])]}
    if "folded" in LARGE[name]:
        few["folded"] = ("2s2c,3s3c",)
    # The small spot compiles the kernels.
    solve(compile_game("holdem", **LARGE[name] | few), iters=2, precision=precision)
    told = game_size("holdem", **LARGE[name])
    measured, began = Peak(), time.process_time()
    game = compile_game("holdem", **LARGE[name])
    compiling = time.process_time() - began
    solver = Solver(game, CARDS_ALGORITHM, precision=precision)
    solver.iterate(1)
    seconds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        solver.iterate(2)
        seconds.append((time.process_time() - began) / 2)
    solver.evaluate()
    low, high = told.seconds_per_iteration
    return {
        "spot": name,
        "precision": precision,
        "hands": " ".join(str(len(hands)) for hands in game.nodes.hands),
        "sequences": game.n_sequences,
        "chunks": game.chunks.n_chunks,
        "told bytes": int(told.bytes_in_all(precision)[1]),
        "bytes": measured.grown,
        "told seconds, least": low,
        "told seconds, most": high,
        "seconds": float(np.median(seconds)),
        "seconds to compile": compiling,
    }


def sizes() -> Iterator[dict[str, Any]]:
    """Yield the sizes of all spots, each measured in a process of its own."""
    for name in LARGE:
        for precision in PRECISIONS:
            progress(f"{name}, {precision}")
            with get_context("spawn").Pool(1) as pool:
                yield pool.apply(size_of, (name, precision))


def table_of_sizes() -> str:
    """Return the table of time and memory."""

    def mebibytes(text: str) -> str:
        return f"{float(text) / 2**20:,.1f}"

    def milliseconds(*texts: str) -> str:
        return " to ".join(f"{1000 * float(text):,.3g}" for text in texts)

    columns = ["spot", "hands", "sequences", "precision", "MiB, told", "MiB", "ms, told", "ms"]
    lines = [
        [
            row["spot"],
            row["hands"].replace(" ", ", "),
            f"{int(row['sequences']):,}",
            row["precision"],
            mebibytes(row["told bytes"]),
            mebibytes(row["bytes"]),
            milliseconds(row["told seconds, least"], row["told seconds, most"]),
            milliseconds(row["seconds"]),
        ]
        for row in read_rows(SIZES)
    ]
    return table(columns, lines)


def tables() -> dict[str, str]:
    """Return the tables of the page."""
    rows = read_rows(RESULTS)
    spots, last = list(SPOTS), MARKS[-1]

    def mean(name: str, mark: int, of: Sequence[str], what: str = "mean") -> str:
        numbers = [
            float(row[what])
            for row in rows
            if (row["part"], row["variant"], row["mark"]) == ("measure", name, str(mark))
            and row["spot"] in of
        ]
        assert len(numbers) == len(of), (name, mark)
        return f"{np.exp(np.mean(np.log(numbers))):.2g}"

    halves = {"choose": spots[::2], "judge": spots[1::2]}
    choice = [
        [
            f"`{name}`",
            *(mean(name, mark, half) for half in halves.values() for mark in MARKS),
            mean(name, last, spots, "mean of last"),
        ]
        for name in VARIANTS
    ]
    header = ["variant", *(f"{half}, {mark}" for half in halves for mark in MARKS)]
    found = {(row["spot"], row["variant"]): row for row in rows if row["part"] == "spots"}
    found = {key: row for key, row in found.items() if row["mark"] == str(LONG)}
    spread = {row["spot"]: float(row["spread"]) for row in rows if row["part"] == "starts"}

    def pair(row: Mapping[str, Any], suffix: str) -> str:
        return ", ".join(f"{float(row[what + suffix]):.2g}" for what in ("mean", "max"))

    suffixes = {"average": "", "last": " of last"}
    lines = [
        [
            f"{spot} ({'choose' if spot in halves['choose'] else 'judge'})",
            *(pair(found[spot, name], suffix) for name in SHOWN for suffix in suffixes.values()),
            f"{spread[spot]:.2g}",
        ]
        for spot in spots
    ]
    columns = [f"`{name}`, {what}" for name in SHOWN for what in suffixes]
    again = {(r["spot"], r["mark"], r["variant"]): r for r in rows if r["part"] == "resolve"}
    resolved_lines = [
        [spot, mark, pair(again[spot, mark, "before"], ""), pair(again[spot, mark, "after"], "")]
        for spot, mark, variant in again
        if variant == "before"
    ]
    joint_lines = [
        [
            row["variant"],
            row["mark"],
            f"{float(row['mean']):.2g}",
            f"{float(row['max']):.2g}",
            f"{float(row['spread']):.0f}",
        ]
        for row in rows
        if row["part"] == "joint"
    ]
    return {
        "resolve": table(["turn", "iterations", "before", "after"], resolved_lines),
        "joint": table(["ranges", "iterations", "gap", "equally likely", "s"], joint_lines),
        "choice": table([*header, f"last iterate, {last}"], choice),
        "spots": table(["board", *columns, "difference of values"], lines),
        "sizes": table_of_sizes(),
    }


def main() -> None:
    """Measure, or write the page."""
    parser = arguments(__doc__)
    parser.add_argument(
        "part", choices=("measure", "spots", "starts", "resolve", "joint", "sizes", "write")
    )
    part = parser.parse_args().part
    if part == "write":
        write_parts(PAGE, "three_players", tables())
        return
    if part == "sizes":
        write_rows(SIZES, list(sizes()))
        return
    kept = [row for row in read_rows(RESULTS) if row["part"] != part]
    if part == "starts":
        new = starts(5, MARKS[-1])
    elif part == "resolve":
        new = resolved(list(SPOTS)[:3], (30, 300))
    elif part == "joint":
        new = joint(WIDE, JOINT)
    elif part == "spots":
        new = measure(part, SHOWN, (LONG,))
    else:
        new = measure(part, VARIANTS, MARKS)
    for row in new:
        kept.append(dict.fromkeys(COLUMNS, "") | row)
        write_rows(RESULTS, kept)


if __name__ == "__main__":
    main()
