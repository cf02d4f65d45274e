"""Sampling straight on rules, measured: speed, and curves of games that nobody compiles.

python -m scripts.beyond_the_table speed         beside OpenSpiel's samplers, in one process
python -m scripts.beyond_the_table dark_hex      dark hex 3 x 3: more than 1e10 histories
python -m scripts.beyond_the_table phantom_ttt   phantom tic-tac-toe: more than 1e10 histories
python -m scripts.beyond_the_table bluff_2_2     Bluff(2,2) by its rules
python -m scripts.beyond_the_table dice          OpenSpiel's liar's dice with two dice each
python -m scripts.beyond_the_table deep_dice     the same by networks

Each writes docs/figures/beyond_<name>.csv.  The games run until the time is over or the table is
full; ``--minutes`` and ``--mib`` say when that is.  ``speed --game kuhn_poker`` measures the rows
of one game again.  Seconds are processor time of this process.

python -m scripts.beyond_the_table page          the tables of docs/results/beyond-the-table.md
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from random import Random
from typing import Any, cast

from tensorcfr import SampledSolver
from tensorcfr._util.hardware import machine, versions
from tensorcfr._util.memory_budget import taken
from tensorcfr.algorithms import DEEP_CFR, Deep, find_algorithm
from tensorcfr.analysis import LocalBestResponse, local_best_response
from tensorcfr.errors import MemoryLimitError
from tensorcfr.rules import Chance, Decision
from tensorcfr.solvers.base import solver_class
from tensorcfr.uncompiled import UncompiledGame

from ._pages import page_with

DOCS = Path(__file__).resolve().parent.parent / "docs"
FIGURES = DOCS / "figures"
PAGE = DOCS / "results" / "beyond-the-table.md"
MIB = 2**20


@dataclass(frozen=True)
class Run:
    """A game and how it is sampled."""

    title: str
    game: str
    algorithm: str | Deep
    first: float = 5.0
    """Seconds after which it is evaluated first."""
    factor: float = 1.7
    """How much later it is evaluated each time."""


DICE = "openspiel:liars_dice(numdice=2)"
RUNS = {
    "dark_hex": Run(
        "abrupt dark hex 3 x 3",
        "openspiel:dark_hex(board_size=3,gameversion=adh)",
        "outcome_sampling",
    ),
    "phantom_ttt": Run("phantom tic-tac-toe", "openspiel:phantom_ttt", "outcome_sampling"),
    "bluff_2_2": Run("Bluff(2,2)", "bluff(dice=(2, 2))", "external_sampling"),
    "dice": Run("OpenSpiel's liar's dice, two dice each", DICE, "external_sampling"),
    "deep_dice": Run(
        "OpenSpiel's liar's dice, two dice each, by networks",
        DICE,
        DEEP_CFR(
            traversals=30,
            buffer=500_000,
            layers=(64, 64),
            updates=200,
            batch=512,
            strategy_updates=500,
        ),
        first=30.0,
        factor=2.5,
    ),
}
SPEED = {
    ("kuhn_poker", "external"): 1000,
    ("kuhn_poker", "outcome"): 1000,
    ("leduc_poker", "external"): 200,
    ("leduc_poker", "outcome"): 500,
    ("leduc_poker(players=3)", "external"): 50,
    ("liars_dice", "external"): 50,
    ("liars_dice", "outcome"): 500,
    ("phantom_ttt", "outcome"): 500,
    ("dark_hex(board_size=3,gameversion=adh)", "outcome"): 500,
}
"""Games of OpenSpiel, schemes, and iterations in a round."""
ROUNDS = 7
"""Rounds that are measured at first, and again when tensorcfr has met more histories."""
BETWEEN = 25.0
"""Seconds of processor time that tensorcfr runs alone between them."""
TRIES, PLAYS = 300, 3000
"""Of the local best response at each point of a curve."""
PROBES = 2000
"""Random plays that estimate the number of histories."""


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=["speed", *RUNS, "page"])
    parser.add_argument("--minutes", type=float, default=2.0, help="of sampling")
    parser.add_argument("--mib", type=int, default=512, help="memory limit")
    parser.add_argument("--game", help="speed: the only game to measure; other rows stay")
    arguments = parser.parse_args()
    if arguments.name == "page":
        write_page()
    elif arguments.name == "speed":
        measure_speed(arguments.game)
    else:
        measure_curve(arguments.name, 60 * arguments.minutes, arguments.mib * MIB)


# ---------------------------------------------------------------------------------------- speed


def measure_speed(only: str | None) -> None:
    """Sampling on OpenSpiel's rules, by tensorcfr and by OpenSpiel, in turns."""
    rows: list[dict[str, Any]] = []
    before_now = _read("speed") if only else []
    for (name, scheme), iterations in SPEED.items():
        if only not in (None, name):
            rows += [row for row in before_now if (row["game"], row["scheme"]) == (name, scheme)]
            continue
        ours, tools = _tools(name, scheme)
        for when in ("first", "later"):
            if when == "later":
                begun = time.process_time()
                while time.process_time() - begun < BETWEEN:
                    ours.iterate(iterations)
            before, nodes = ours.iteration, ours.nodes_touched
            seconds: dict[str, list[float]] = {tool: [] for tool in tools}
            for _ in range(ROUNDS):
                for tool, iterate in tools.items():
                    begun = time.process_time()
                    iterate(iterations)
                    seconds[tool].append((time.process_time() - begun) / iterations)
            found = {tool: statistics.median(each) for tool, each in seconds.items()}
            each = (ours.nodes_touched - nodes) / (ours.iteration - before)
            rows.append(
                {
                    "game": name,
                    "scheme": scheme,
                    "iterations_before": before,
                    "nodes_per_iteration": f"{each:.0f}",
                    **{f"{tool}_us": f"{1e6 * s:.2f}" for tool, s in found.items()},
                    "times_python": f"{found['openspiel_python'] / found['tensorcfr']:.2f}",
                    "times_cpp": f"{found['openspiel_cpp'] / found['tensorcfr']:.2f}",
                    "machine": machine(),
                    "versions": versions(),
                    "date": date.today(),
                }
            )
            print(list(rows[-1].values())[:9], flush=True)
    _write("speed", rows)


def _tools(name: str, scheme: str) -> tuple[SampledSolver, dict[str, Callable[[int], object]]]:
    """Our solver of a game of OpenSpiel; and functions that run iterations, by tool."""
    import pyspiel
    from open_spiel.python.algorithms.external_sampling_mccfr import ExternalSamplingSolver
    from open_spiel.python.algorithms.outcome_sampling_mccfr import OutcomeSamplingSolver

    game = pyspiel.load_game(name)
    ours = SampledSolver(game, f"{scheme}_sampling", seed=1)
    python: Any
    if scheme == "external":
        simple = pyspiel.MCCFRAverageType.SIMPLE
        cpp = pyspiel.ExternalSamplingMCCFRSolver(game, avg_type=simple, seed=1)
        python = ExternalSamplingSolver(game)
    else:
        cpp = pyspiel.OutcomeSamplingMCCFRSolver(game, epsilon=0.6, seed=1)
        python = OutcomeSamplingSolver(game)
    return ours, {
        "tensorcfr": ours.iterate,
        "openspiel_cpp": lambda n: [cpp.run_iteration() for _ in range(n)],
        "openspiel_python": lambda n: [python.iteration() for _ in range(n)],
    }


# --------------------------------------------------------------------------------------- curves


def measure_curve(name: str, seconds: float, limit: int) -> None:
    """Sample one of the games, and bound its exploitability on the way."""
    run = RUNS[name]
    before = taken()
    game = UncompiledGame(run.game)
    histories = estimate_histories(game)
    record = find_algorithm(run.algorithm)
    solver: Any = solver_class(record, cast(Any, game))(  # type: ignore[misc]
        cast(Any, game), record, seed=1, memory_limit=limit
    )
    print(f"{run.title}: about {histories:.2g} histories", flush=True)
    rows: list[dict[str, Any]] = []
    spent, mark, ended = 0.0, run.first, ""
    while not ended and spent < seconds:
        begun, iteration = time.process_time(), solver.iteration
        while time.process_time() - begun < mark - spent:
            try:
                solver.iterate()
            except MemoryLimitError as error:
                ended = str(error)
                print(ended, flush=True)
                break
        now = time.process_time() - begun
        held = taken() - before
        bound = local_best_response(
            game, solver.average_policy(), tries=TRIES, plays=PLAYS, seed=len(rows)
        )
        rows.append(_row(run, solver, spent + now, now, iteration, held, bound, histories, ended))
        print({key: rows[-1][key] for key in list(rows[-1])[2:12]}, flush=True)
        spent += now
        mark = max(mark, spent) * run.factor
        _write(name, rows)


def _row(
    run: Run,
    solver: Any,
    seconds: float,
    last: float,
    since: int,
    held: int,
    bound: LocalBestResponse,
    histories: float,
    ended: str,
) -> dict[str, Any]:
    found = bound.exploitability
    return {
        "game": run.game,
        "algorithm": str(solver.algorithm),
        "seconds": f"{seconds:.1f}",
        "iteration": solver.iteration,
        "iterations_per_second": f"{(solver.iteration - since) / last:.1f}",
        "nodes_touched": solver.nodes_touched,
        "infosets_held": solver.infosets_held,
        "mib_held": f"{solver.bytes_held / MIB:.0f}",
        "mib_process": f"{held / MIB:.0f}",
        "mib_limit": f"{solver.memory_limit / MIB:.0f}",
        "bound": f"{found.mean:.4f}",
        "bound_half_width": f"{found.half_width:.4f}",
        "value": f"{bound.profile.values[0].mean:.4f}",
        "value_half_width": f"{bound.profile.values[0].half_width:.4f}",
        "histories": f"{histories:.3g}",
        "ended": ended,
        "machine": machine(),
        "versions": versions(),
        "date": date.today(),
    }


def estimate_histories(game: UncompiledGame) -> float:
    """About how many histories a game has, by random plays (Knuth 1975)."""
    rng, total = Random(0), 0.0
    for _ in range(PROBES):
        state, product, found = game.rules.root(), 1.0, 1.0
        while isinstance(node := game.rules.node(state), (Decision, Chance)):
            edges = list(node.actions if isinstance(node, Decision) else node.outcomes)
            product *= len(edges)
            found += product
            state = game.rules.next(state, rng.choice(edges))
        total += found
    return total / PROBES


# ----------------------------------------------------------------------------------------- page


def write_page() -> None:
    """The tables, from what was measured."""
    parts = {"speed": _speed_table(_read("speed"))}
    parts["curves"] = "\n\n".join(_curve_table(RUNS[name], _read(name)) for name in RUNS)
    PAGE.write_text(page_with(PAGE.read_text("utf-8"), "beyond_the_table", parts), "utf-8")


def _speed_table(rows: list[dict[str, str]]) -> str:
    lines = [
        "| OpenSpiel's game | sampling | iterations before | nodes each | tensorcfr | its Python | "
        "its C++ | times Python | times C++ |",
        "| --- | --- |" + " ---: |" * 7,
    ]
    for row in rows:
        cells = [
            f"`{row['game']}`",
            row["scheme"],
            f"{int(row['iterations_before']):,}",
            row["nodes_per_iteration"],
            *(
                f"{float(row[f'{tool}_us']):,.1f} µs"
                for tool in ("tensorcfr", "openspiel_python", "openspiel_cpp")
            ),
            row["times_python"],
            row["times_cpp"],
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n\n" + _said(rows[-1])


def _curve_table(run: Run, rows: list[dict[str, str]]) -> str:
    about = f"{float(rows[-1]['histories']):.0e}".replace("+", "")
    lines = [
        f"**{run.title}**, about {about} histories, by `{run.algorithm}`, limit "
        f"{rows[-1]['mib_limit']} MiB:",
        "",
        "| seconds | iterations | per second | infosets held | MiB counted | process grew by, MiB "
        "| value of player 0 | exploitability at least |",
        "|" + " ---: |" * 8,
    ]
    for row in rows:
        cells = [
            f"{float(row['seconds']):.0f}",
            f"{int(row['iteration']):,}",
            f"{(pace := float(row['iterations_per_second'])):,.{0 if pace >= 10 else 1}f}",
            f"{int(row['infosets_held']):,}",
            row["mib_held"],
            row["mib_process"],
            f"{float(row['value']):+.3f} ± {float(row['value_half_width']):.3f}",
            f"{float(row['bound']):+.3f} ± {float(row['bound_half_width']):.3f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    if rows[-1]["ended"]:
        lines += ["", f"It ended with `{rows[-1]['ended']}`."]
    return "\n".join(lines) + "\n\n" + _said(rows[-1])


def _said(row: dict[str, str]) -> str:
    return f"{row['machine']}; {row['versions']}; {row['date']}."


def _write(name: str, rows: list[dict[str, Any]]) -> None:
    with open(FIGURES / f"beyond_{name}.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _read(name: str) -> list[dict[str, str]]:
    with open(FIGURES / f"beyond_{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
