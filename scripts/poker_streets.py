"""Games of poker with a turn and a river: ways to solve one, and what limit hold'em would take.

python -m scripts.poker_streets ways     20 big blinds to the turn, in memory, in files, by workers
python -m scripts.poker_streets limit    limit hold'em on a few flops, and the whole computed
python -m scripts.poker_streets buckets  flop hold'em with hands in buckets in both rounds
python -m scripts.poker_streets page     the tables, in results/large-games.md

The others write docs/figures/poker_ways.csv, poker_limit.csv and poker_buckets.csv.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import resource
import tempfile
import time
from datetime import date
from functools import partial
from typing import Any

import numpy as np

from tensorcfr import Solver, compile_game, evaluate
from tensorcfr._util.hardware import machine, versions
from tensorcfr.abstraction import abstract_cards, lift
from tensorcfr.compilers import game_size
from tensorcfr.compilers.sizes.counted import size_of_cards
from tensorcfr.formats import ByLine
from tensorcfr.games.limit_poker import LimitPoker
from tensorcfr.games.nolimit_poker import NoLimitPoker
from tensorcfr.rules import CardGame

from ._pages import page_with
from .large_games import FIGURES, GIB, PAGE, RUNS

ITERATIONS = 3
FLOPS = {"one": ("Kh9h4h",), "two": ("Kh7h2d", "Kh7d2c")}
"""The flop on which limit hold'em is iterated, the smallest kind, which fits; and two of the
largest kinds, a thousandth of all, on which a strategy is measured that nobody keeps."""

BUCKETS = (20, 10)
"""Before the flop, and on a flop in each of these."""


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["ways", "limit", "buckets", "page"])
    given = parser.parse_args()
    if given.what == "page":
        parts = {"ways": ways_table(), "limit": limit_table(), "buckets": buckets_table()}
        PAGE.write_text(page_with(PAGE.read_text(), "poker_streets", parts))
    else:
        {"ways": ways, "limit": limit, "buckets": buckets}[given.what]()


def ways() -> None:
    """Some iterations in every way, and the bits that they leave."""
    from distributed import Client, LocalCluster

    from tensorcfr.cluster.cluster_solver import ClusterSolver

    # All-ins before the flop see five cards here: how often hands win then is known.
    game = compile_game(RUNS["nolimit_turn"].game.replace("flops=25", "flops=25, runout=5"))
    rows = []

    def measure(name: str, solver: Any) -> None:
        solver.iterate(1)  # Kernels are loaded, and pages of memory taken.
        started = time.perf_counter()
        solver.iterate(ITERATIONS - 1)
        seconds = (time.perf_counter() - started) / (ITERATIONS - 1)
        state, digest = solver.state, hashlib.sha256()
        for array in state:
            digest.update(np.ascontiguousarray(array).data)
        rows.append(
            {
                "way": name,
                "seconds": f"{seconds:.2f}",
                "state_gib": f"{sum(array.nbytes for array in state) / GIB:.2f}",
                "peak_gib": f"{peak():.2f}",
                "bits": digest.hexdigest()[:16],
            }
        )
        print(rows[-1], flush=True)

    with tempfile.TemporaryDirectory(dir=".") as folder:
        solver = Solver(game, precision="float32", threads=2, state_dir=folder)
        measure("files (`state_dir`), 2 threads", solver)
        solver.close()
        del solver
    for threads in (1, 2):
        plural = "s" if threads > 1 else ""
        measure(
            f"memory, {threads} thread{plural}", Solver(game, precision="float32", threads=threads)
        )
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=None
    )
    with (
        cluster,
        Client(cluster) as client,
        ClusterSolver(game, precision="float32", cluster=client) as workers,
    ):
        measure("2 worker processes", workers)
    write("poker_ways", rows)


def limit_on(flops: tuple[str, ...]) -> CardGame:
    """Limit hold'em on some flops, after one of the seven lines of betting before the flop: after
    each of them the betting is the same, but for the pot."""
    rules = LimitPoker(raises=(0, 4, 4, 4), bets=(10, 10, 20, 20), deals=(3, 1, 1), blinds=(5, 10))
    rules.boards = NoLimitPoker(stacks=20, deals=(3, 1, 1), flops=flops).boards
    return rules


def limit() -> None:
    """Seconds of an iteration and of a best response where they fit, and for how many numbers."""
    whole, rows = game_size("limit_holdem").chunks, []
    assert whole is not None

    def note(what: str, flops: tuple[str, ...], numbers: int, seconds: float, every: float) -> None:
        rows.append(
            {
                "what": what,
                "flops": " ".join(flops),
                "numbers": numbers,
                "seconds": f"{seconds:.2f}",
                "processor_seconds": f"{every:.2f}",
                "peak_gib": f"{peak():.2f}",
                "whole_numbers": whole.numbers,
            }
        )
        print(rows[-1], flush=True)
        write("poker_limit", rows)

    def timed(call: Any) -> tuple[float, float]:
        wall, own = time.perf_counter(), time.process_time()
        call()
        return time.perf_counter() - wall, time.process_time() - own

    flops = FLOPS["one"]
    rules = limit_on(flops)
    numbers = size_of_cards(rules, "part").chunks.numbers
    solver = Solver(compile_game(rules), precision="int16", threads=2)
    solver.iterate(1)
    solver.evaluate()
    note("iteration, 16 bits", flops, numbers, *timed(partial(solver.iterate, 1)))
    note("best response to arrays, 16 bits", flops, numbers, *timed(solver.evaluate))
    del solver
    flops = FLOPS["two"]
    rules = limit_on(flops)
    numbers = size_of_cards(rules, "part").chunks.numbers
    game = compile_game(rules)
    policy = ByLine(
        lambda asked: np.full((len(asked.hands), len(asked.actions)), 1.0 / len(asked.actions)),
        symmetric=True,
    )
    took = timed(lambda: print(evaluate(game, policy)))
    note("best response to a function of lines", flops, numbers, *took)


def buckets() -> None:
    """Flop hold'em with hands in buckets, measured there and in the full game."""
    full, rows = compile_game("flop_holdem"), []
    started = time.perf_counter()
    small = abstract_cards(full, BUCKETS)
    compiling = time.perf_counter() - started
    print(f"{small.n_numbers:,} numbers, compiled in {compiling:.0f} s", flush=True)
    solver = Solver(small, precision="float32", threads=2)
    for count in (15, 15, 30, 60):
        solver.iterate(count)
        lost = evaluate(full, lift(solver.average_policy())).exploitability
        rows.append(
            {
                "buckets": " and ".join(map(str, BUCKETS)),
                "numbers": small.n_numbers,
                "compile_seconds": f"{compiling:.0f}",
                "iterations": solver.iteration,
                "seconds": f"{solver.seconds:.1f}",
                "inside": f"{10 * solver.evaluate().exploitability:.3g}",
                "full": f"{10 * lost:.4g}",
                "peak_gib": f"{peak():.2f}",
            }
        )
        print(rows[-1], flush=True)
        write("poker_buckets", rows)


def peak() -> float:
    """The most memory that this process has had, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB


def write(name: str, rows: list[dict[str, Any]]) -> None:
    """A table of what was measured."""
    with open(FIGURES / f"{name}.csv", "w", newline="") as file:
        said = {"machine": machine(), "versions": versions(), "date": date.today()}
        found = csv.DictWriter(file, [*rows[0], *said], lineterminator="\n")
        found.writeheader()
        found.writerows(row | said for row in rows)


def read(name: str) -> list[dict[str, str]]:
    """The same, read."""
    with open(FIGURES / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def ways_table() -> str:
    """Ways to solve one game."""
    rows = read("poker_ways")
    lines = ["| | iteration | bits |", "| --- | ---: | --- |"]
    lines += [f"| {row['way']} | {row['seconds']} s | `{row['bits']}` |" for row in rows]
    last = rows[-1]
    return (
        "\n".join(lines) + "\n\n"
        f"{ITERATIONS} iterations in single precision; the state takes "
        f"{last['state_gib']} GiB, and the bits are the first of their SHA-256.  "
        f"{last['machine']}, with other programs at work; {last['versions']}; {last['date']}."
    )


def limit_table() -> str:
    """What was measured of limit hold'em, and the whole computed from it."""
    rows = read("poker_limit")
    lines = [
        "| | flops | numbers | measured | all of limit hold'em |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for row in rows:
        numbers, whole = int(row["numbers"]), int(row["whole_numbers"])
        days = float(row["processor_seconds"]) * whole / numbers / 86_400
        lines.append(
            f"| {row['what']} | {row['flops']} | {numbers:,} | {row['processor_seconds']} s | "
            f"{days:.2g} days of one core |"
        )
    size = game_size("limit_holdem")
    last = rows[-1]
    return (
        "\n".join(lines) + "\n\n"
        "Processor time, after one of the seven lines of betting before the flop; the whole has "
        f"{int(last['whole_numbers']):,} numbers in each of two arrays, "
        f"{size.bytes_in_all('int16')[1] / 2**40:.0f} TiB in 16 bits.  "
        f"{last['machine']}, with other programs at work; {last['versions']}; {last['date']}."
    )


def buckets_table() -> str:
    """Flop hold'em in buckets, in thousandths of a big blind a hand."""
    rows = read("poker_buckets")
    lines = [
        "| iterations | seconds | in buckets | in the full game |",
        "| ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row['iterations']} | {row['seconds']} | {row['inside']} | {row['full']} |"
        for row in rows
    ]
    last = rows[-1]
    return (
        "\n".join(lines) + "\n\n"
        f"{int(last['numbers']):,} numbers in each of two arrays; peak {last['peak_gib']} GiB.  "
        f"{last['machine']}, with other programs at work; {last['versions']}; {last['date']}."
    )


if __name__ == "__main__":
    main()
