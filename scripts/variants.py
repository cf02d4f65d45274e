"""Which algorithm?  Every iterative variant on a suite of eighteen games.

python -m scripts.variants games                    save the games that come from OpenSpiel
python -m scripts.variants measure --out DIR        measure; goes on where it stopped
python -m scripts.variants write --out DIR          profiles, tables, docs/results/variants.md
python -m scripts.variants curves                   curves by iteration; goes on where it stopped
python -m scripts.variants costs                    seconds of an iteration, for the other axis
python -m scripts.variants more                     those that came later, results/algorithms.md
python -m scripts.variants peers                    OpenSpiel and LiteEFG, results/algorithms.md
python -m scripts.variants auto                     the table that "auto" rests on
python -m scripts.variants slopes                   last iterates, results/algorithms.md
python -m scripts.variants own-draws                samplers of own actions, docs/sampling.md

``measure`` needs no OpenSpiel, only the games that ``games`` has saved.  It runs ``--processes``
solves at a time, each for ``--seconds`` of iterating, and ends after ``--wall`` seconds in any
case.  With 16 processes on as many cores it takes five minutes.  ``curves`` takes ten minutes on
one core, which need not be idle; ``costs`` half a minute of an idle one.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import CONTESTS, TOOLS, Contest, available, duration, progress, table
from benchmarks.compare import exploitability_curve
from tensorcfr import CompiledGame, Solver, compile_game, load_game, save_game, solve
from tensorcfr._util.machine import machine, versions
from tensorcfr.payoff import count_entries
from tensorcfr.solvers.base import IterativeSolver, solver_class
from tensorcfr.solvers.choose import EXACT_ENTRIES
from tensorcfr.sweep import Row, SweepProgress, reached, read_algorithm, sweep

from ._pages import page_with
from .redraw import read_records
from .variants_page import (
    ALGORITHMS,
    FOLDER,
    GAMES,
    MAIN,
    MANY_PLAYERS,
    NOT_REACHED,
    TARGETS,
    Cost,
    Mark,
    append_curve,
    draw,
    keep,
    more_table,
    read_curves,
    read_marks,
    tables,
    write_costs,
    write_marks,
)

ROOT = Path(__file__).resolve().parent.parent
SAVED = ROOT / "build" / "variants"
"""The games that come from OpenSpiel, as files."""
PAGE = ROOT / "docs" / "results" / "variants.md"
CHOICE = ROOT / "docs" / "results" / "algorithms.md"
SAMPLERS = ROOT / "docs" / "sampling.md"

AUTO_GAMES = (
    "leduc",
    "leduc(ranks=5)",
    "leduc(ranks=7)",
    "goofspiel(cards=5)",
    "nl_leduc(stack=6)",
    "liars_dice(faces=5)",
    "leduc(ranks=13, suits=4)",
    "nl_leduc(stack=8)",
    "liars_dice",
    "liars_dice(faces=7)",
)
"""Games around the limits of ``algorithm="auto"``."""
AUTO_ALGORITHMS = ("dcfr", "pdcfr+")
AUTO_TARGETS = (1e-3, 1e-4, 1e-6)

SLOPE_GAMES = ("kuhn", "leduc", "goofspiel(cards=4)", "liars_dice(faces=4)")
SLOPE_ALGORITHMS = (
    "cfr+",
    "sapcfr+",
    "mmd",
    "mmd(alpha=0)",
    "mmd-moving(eta=2)",
    "domwu(eta=2)",
    "domwu(eta=8)",
    "rtcfr+",
    "rtcfr+(mu=0.01, stay=20)",
    "egt",
)
SLOPE_MARKS = np.unique(np.geomspace(100, 10_000, 25).astype(int))
"""Iterations that a slope is fitted to."""
ROUNDING = 1e-12
"""Exploitabilities below it are rounding, and left out of the fit."""

MORE_REFERENCE = "sapcfr+"
"""What those that came later are compared with."""
MORE = (
    "rtcfr+",
    "mmd-moving(eta=2)",
    "domwu(eta=2)",
    "egt",
    "external_sampling",
    "robust_sampling(tries=2)",
    "average_strategy_sampling(bonus=1000)",
)
"""Measured after the suite: last iterates, plans and samples."""
LAST_ITERATES = ("rtcfr+", "mmd-moving", "domwu")
"""Those whose last iterate is measured, too."""
LAST = "{}, last"
"""What its marks are called."""
MORE_SECONDS = 1.0
"""Processor time of each solve."""
MORE_CHECKPOINTS = np.unique(np.geomspace(1, 1e9, 91).astype(int))

OWN_DRAWS_GAMES = ("nl_leduc(stack=9)", "goofspiel(cards=5)", "liars_dice")
OWN_DRAWS = (
    "external_sampling",
    "robust_sampling(tries=1)",
    "robust_sampling(tries=2)",
    "robust_sampling(tries=3)",
    "average_strategy_sampling",
    "average_strategy_sampling(bonus=1000)",
    "outcome_sampling",
)
OWN_DRAWS_NODES = 10_000_000
OWN_DRAWS_SEEDS = 5

PEERS = (("OpenSpiel", "cfr+"), ("LiteEFG", "cfr+"), ("LiteEFG", "dcfr"), ("LiteEFG", "pcfr+"))
"""The variants that the peers have in C++ and that are candidates for their best one."""
BESIDE_PEERS = ("cfr+", "dcfr", "pcfr+", "pdcfr+")
"""Ours beside them."""

PEERS_GAMES = (
    *CONTESTS.values(),
    Contest(
        "goofspiel_4",
        "goofspiel, 4 cards",
        "goofspiel(cards=4)",
        CONTESTS["goofspiel"].openspiel.replace("num_cards=5", "num_cards=4"),
    ),
    Contest(
        "liars_dice_4",
        "liar's dice, 4 faces",
        "liars_dice(faces=4)",
        "liars_dice(dice_sides=4)",
    ),
)
"""Those of our games that the peers have."""

SECONDS = 6.0
"""Seconds of iterating that each solve gets, unless told otherwise."""
WALL = 400.0
"""Seconds after which measuring ends, unless told otherwise."""
PEERS_SECONDS = (1.0, 2.0)
"""The same for ours and for the peers, which are slower."""
AUTO_SECONDS = 4.0


CURVE_ITERATIONS = {
    "kuhn": 5_000_000,
    "kuhn(cards=13)": 1_000_000,
    "leduc": 300_000,
    "leduc(ranks=5)": 150_000,
    "nl_leduc(stack=9)": 10_000,
    "goofspiel(cards=4)": 500_000,
    "goofspiel(cards=5)": 50_000,
    "goofspiel(cards=4, prizes='random')": 50_000,
    "liars_dice(faces=4)": 200_000,
    "liars_dice(faces=5)": 50_000,
    "liars_dice": 10_000,
    "blotto_10_3": 200_000,
    "blotto_6_4": 200_000,
    "battleship_2x2": 100_000,
    "battleship_3x2": 20_000,
    "kuhn(players=3)": 500_000,
    "kuhn(players=4)": 20_000,
    "leduc(players=3)": 200,
}
"""Last iteration of the curves, which takes some seconds."""
COST_SECONDS = 0.02
"""Seconds of a span that is timed, at least."""
COST_ROUNDS = 5


class OutOfTimeError(Exception):
    """The wall time is used up; all rows so far are in the table."""


def games() -> list[str | CompiledGame]:
    """The suite: names, and games of OpenSpiel from their files."""
    return [
        replace(load_game(SAVED / f"{name}.npz"), name=name) if source else name
        for name, source in GAMES.items()
    ]


def save_games() -> None:
    """Compile the games of OpenSpiel, and save them."""
    SAVED.mkdir(parents=True, exist_ok=True)
    for name, source in GAMES.items():
        if source:
            path = save_game(compile_game(source), SAVED / f"{name}.npz")
            progress(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")


def measure(folder: Path, seconds: float, wall: float, processes: int) -> None:
    """Every variant on every game, and the linear program on games of two players."""
    begun = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    suite = games()
    told: set[int] = set()

    def tell(news: SweepProgress) -> None:
        if news.finished not in told:
            told.add(news.finished)
            if news.finished % 20 == 0:
                progress(f"{time.monotonic() - begun:.0f} s: {news.finished} of {news.total}")
        if time.monotonic() - begun > wall:
            raise OutOfTimeError

    run = partial(sweep, processes=processes, progress=tell)
    two = [game for game in suite if str(getattr(game, "name", game)) not in MANY_PLAYERS]
    try:
        with tempfile.TemporaryDirectory() as short:
            # Kernels are compiled here once, and not by every process.
            run(Path(short) / "1.csv", ["kuhn"], ALGORITHMS, iters=2)
            run(Path(short) / "2.csv", suite, ALGORITHMS[:1], iters=2)
        progress(f"compiled after {time.monotonic() - begun:.0f} s")
        run(folder / "variants_lp.csv", two, ["lp"], time_limit=seconds)
        run(folder / "variants.csv", suite, ALGORITHMS, time_limit=seconds, target=TARGETS[-1])
    except OutOfTimeError:
        progress(f"ended after {wall:g} s, before all was measured")
    progress(f"done after {time.monotonic() - begun:.0f} s")


def measure_curves() -> None:
    """The curves of the pictures, each to a number of iterations or to the smallest target."""
    done = {(point.game, point.algorithm) for point in read_curves()}
    for game in games():
        spec = str(getattr(game, "name", game))
        for algorithm in MAIN:
            if (spec, algorithm) in done:
                continue
            progress(f"{spec} by {algorithm}")
            last = CURVE_ITERATIONS[spec]
            marks = np.unique(np.geomspace(1, last, 1 + round(10 * math.log10(last))).astype(int))
            compiled = compile_game(game) if isinstance(game, str) else game
            solution = solve(
                compiled, algorithm, iters=last, target=TARGETS[-1], checkpoints=marks.tolist()
            )
            append_curve(spec, algorithm, solution.trace)


def measure_costs() -> None:
    """Seconds of an iteration: the least of some spans, between which all solvers take turns."""
    rows = []
    for game in games():
        compiled = compile_game(game) if isinstance(game, str) else game
        solvers = {name: Solver(compiled, name) for name in MAIN}
        spans, least = dict.fromkeys(MAIN, 1), dict.fromkeys(MAIN, math.inf)
        for name, solver in solvers.items():
            solver.step(2)  # Compiles.
            while (taken := _span(solver, spans[name])) < COST_SECONDS:
                spans[name] *= 2 if taken > COST_SECONDS / 8 else 4
        for _ in range(COST_ROUNDS):
            for name, solver in solvers.items():
                least[name] = min(least[name], _span(solver, spans[name]) / spans[name])
        rows += [Cost(compiled.name, name, seconds) for name, seconds in least.items()]
        progress(f"{compiled.name}: {min(least.values()):.2g} to {max(least.values()):.2g} s")
    write_costs(rows, f"{machine()}; {versions()}; {date.today()}.")


def _span(solver: Solver, iterations: int) -> float:
    """Processor seconds of some iterations."""
    started = time.process_time()
    solver.step(iterations)
    return time.process_time() - started


def measure_peers() -> str:
    """Seconds of the peers, and of ours in the same run, to every target; kept."""
    rows = sweep(
        FOLDER / "variants_beside_peers.csv",
        [contest.spec for contest in PEERS_GAMES],
        BESIDE_PEERS,
        time_limit=PEERS_SECONDS[0],
        target=TARGETS[-1],
    )
    path = FOLDER / "variants_peers.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for tool, algorithm in PEERS:
        if not available(tool):
            progress(f"{tool} is not installed")
            continue
        own = found.setdefault(f"{tool} {algorithm}", {})
        for contest in PEERS_GAMES:
            if contest.spec in own:
                continue
            progress(f"{tool} {algorithm} on {contest.spec}")
            curve = exploitability_curve(
                TOOLS[tool](contest, algorithm), TARGETS[-1], PEERS_SECONDS[1]
            )
            own[contest.spec] = {
                f"{target:g}": next(
                    (mark for mark in curve if mark["exploitability"] <= target), None
                )
                for target in TARGETS
            } | {"budget": PEERS_SECONDS[1]}
            path.write_text(json.dumps(found, indent=1) + "\n")
    return peers_table(rows, found)


def peers_table(rows: Sequence[Row], peers: dict[str, Any]) -> str:
    """A row per algorithm, a column per game; in a cell the seconds to every target."""
    marks = {
        (mark.algorithm, mark.game, mark.level): mark.seconds for mark in reached(rows, TARGETS)
    }
    specs = [contest.spec for contest in PEERS_GAMES]
    times: dict[str, dict[str, list[float | None]]] = {
        f"`{name}`": {spec: [marks[name, spec, t] for t in TARGETS] for spec in specs}
        for name in BESIDE_PEERS
    }
    for peer, own in peers.items():
        times[peer] = {
            spec: [mark and mark["seconds"] for mark in (own[spec][f"{t:g}"] for t in TARGETS)]
            for spec in specs
        }
    first = {
        (spec, k): min((own[spec][k] or math.inf) for own in times.values())
        for spec in specs
        for k in range(len(TARGETS))
    }

    def cell(spec: str, k: int, seconds: float | None) -> str:
        if seconds is None:
            return NOT_REACHED
        emphasis = "**" if seconds <= first[spec, k] else ""
        return f"{emphasis}{duration(seconds)}{emphasis}"

    body = [
        [name, *(", ".join(cell(spec, k, s) for k, s in enumerate(own[spec])) for spec in specs)]
        for name, own in times.items()
    ]
    about = (
        f"{rows[0].machine}; {rows[0].versions}; {max(row.date for row in rows)}.  One core.  In "
        f"a cell, the times to exploitabilities {', '.join(f'{t:g}' for t in TARGETS)}, a dash if "
        f"not reached in {PEERS_SECONDS[0]:g} s (peers: {PEERS_SECONDS[1]:g} s of CPU time).  "
        "Bold: first."
    )
    return f"{about}\n\n{table(['', *specs], body)}"


def measure_auto() -> str:
    """The table that the limits of ``algorithm="auto"`` rest on."""
    rows = sweep(
        FOLDER / "variants_auto.csv",
        AUTO_GAMES,
        AUTO_ALGORITHMS,
        time_limit=AUTO_SECONDS,
        target=AUTO_TARGETS[-1],
    )
    marks = {
        (mark.game, mark.algorithm, mark.level): mark.seconds
        for mark in reached(rows, AUTO_TARGETS)
    }
    solve(compile_game("kuhn"), "lp")  # the first one imports what it needs
    body = []
    for spec in AUTO_GAMES:
        game = compile_game(spec)
        entries = count_entries(game.form, 0)
        times = [marks[spec, name, level] for name in AUTO_ALGORITHMS for level in AUTO_TARGETS]
        cells = [NOT_REACHED if t is None else duration(t) for t in times]
        exact = ""
        if entries <= EXACT_ENTRIES:
            started = time.perf_counter()
            solve(game, "lp")
            exact = duration(time.perf_counter() - started)
        body.append([spec, f"{game.solver_form.n_sequences:,}", *cells, exact, f"{entries:,}"])
    names = [f"`{name}` to {level:g}" for name in AUTO_ALGORITHMS for level in AUTO_TARGETS]
    return table(["", "sequences", *names, "`lp`", "entries"], body)


def measure_slopes() -> str:
    """Slopes of log exploitability against log iterations, of average and last iterates."""
    body = []
    for spec in SLOPE_ALGORITHMS:
        cells = []
        for name in SLOPE_GAMES:
            progress(f"{spec} on {name}")
            solver = _solver_of(compile_game(name), spec)
            values = []
            for mark in SLOPE_MARKS:
                solver.step(int(mark) - solver.iteration)
                found = solver.evaluate(), solver.evaluate_current()
                values.append([one.exploitability for one in found])
            cells += [_slope(np.array(column)) for column in zip(*values, strict=True)]
        body.append([f"`{spec}`", *cells])
    header = [f"{name}: {what}" for name in SLOPE_GAMES for what in ("average", "last")]
    return table(["", *header], body)


def _solver_of(game: CompiledGame, spec: str) -> IterativeSolver:
    """A solver of the kind that an algorithm takes.

    Raises:
        ValueError: The algorithm does not apply to the game.
    """
    record = read_algorithm(spec)
    kind = solver_class(record, game)
    assert kind is not None
    return kind(game, record, **({"seed": 0} if record.is_sampled else {}))


def measure_more() -> str:
    """Those that came later, on every game; what is kept is not measured again."""
    path, names = FOLDER / "variants_more.csv", (MORE_REFERENCE, *MORE)
    kept = read_records(path, Mark, Mark.__annotations__) if path.exists() else []
    known = {(mark.game, mark.algorithm) for mark in kept}
    for game in games():
        missing = [spec for spec in names if (getattr(game, "name", game), spec) not in known]
        compiled = compile_game(game) if missing and isinstance(game, str) else game
        for spec in missing:
            assert isinstance(compiled, CompiledGame)
            progress(f"{spec} on {compiled.name}")
            try:
                kept += _marks_of(compiled, spec)
            except ValueError as refused:
                progress(str(refused))
        keep(path, kept)
    return more_table(kept, names, [LAST.format(spec) for spec in names])


def _marks_of(game: CompiledGame, spec: str) -> list[Mark]:
    """The first checkpoints at or below the targets, and the last one, by processor time."""
    _solver_of(game, spec).step(1)  # Compiles.
    solver, taken = _solver_of(game, spec), 0.0
    judges = {spec: solver.evaluate}
    if solver.algorithm.name in LAST_ITERATES:
        judges[LAST.format(spec)] = solver.evaluate_current
    found: list[Mark] = []
    left = {name: list(TARGETS) for name in judges}
    for iteration in MORE_CHECKPOINTS.tolist():
        before = time.process_time()
        solver.step(iteration - solver.iteration)
        taken += time.process_time() - before
        ends = taken >= MORE_SECONDS
        for name, judge in judges.items():
            here = partial(Mark, game.name, name, iteration=iteration, seconds=taken)
            value = judge().exploitability
            while left[name] and value <= left[name][0]:
                found.append(here(f"target {left[name].pop(0):g}", exploitability=value))
            if ends:
                found.append(here("end", exploitability=value))
        if ends or not any(left.values()):
            return found
    return found


def _slope(values: np.ndarray) -> str:
    """The slope, and the exploitability in the end."""
    kept = values > ROUNDING
    end = "0" if values[-1] <= ROUNDING else f"{values[-1]:.1g}"
    if np.count_nonzero(kept) < 3:
        return f"{NOT_REACHED} ({end})"
    slope = np.polyfit(np.log(SLOPE_MARKS[kept]), np.log(values[kept]), 1)[0]
    return f"{slope:.2f} ({end})"


def measure_own_draws() -> str:
    """Exploitability at equal nodes, where some of the player's own actions are drawn."""
    body = []
    for spec in OWN_DRAWS:
        cells = []
        for name in OWN_DRAWS_GAMES:
            progress(f"{spec} on {name}")
            game, record = compile_game(name), read_algorithm(spec)
            found = [
                solve(game, record, nodes=OWN_DRAWS_NODES, seed=seed, checkpoints=())
                for seed in range(OWN_DRAWS_SEEDS)
            ]
            middle = statistics.median(solution.exploitability for solution in found)
            iterations = statistics.median(solution.iterations for solution in found)
            cells.append(f"{middle:.2g} ({iterations:,.0f})")
        body.append([f"`{spec}`", *cells])
    return table(["", *OWN_DRAWS_GAMES], body)


def write(folder: Path) -> None:
    """Marks, pictures and the page, from what is measured."""
    rows, exact = read_marks(folder)
    write_marks(rows, exact)
    draw()
    PAGE.write_text(page_with(PAGE.read_text(), "variants", tables(rows, exact)))


PARTS = {
    "more": (CHOICE, measure_more),
    "peers": (CHOICE, measure_peers),
    "auto": (CHOICE, measure_auto),
    "slopes": (CHOICE, measure_slopes),
    "own-draws": (SAMPLERS, measure_own_draws),
}
"""Parts of other pages: the page, and what measures the part."""


def main() -> None:
    """Measure, draw, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("games", "measure", "write", "curves", "costs", *PARTS))
    parser.add_argument("--out", type=Path, default=SAVED, help="what is measured")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each solve")
    parser.add_argument("--wall", type=float, default=WALL, help="seconds, of all measuring")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    if options.what == "games":
        save_games()
    elif options.what == "measure":
        measure(options.out, options.seconds, options.wall, options.processes)
    elif options.what == "curves":
        measure_curves()
    elif options.what == "costs":
        measure_costs()
    elif options.what == "write":
        write(options.out)
    else:
        page, measured = PARTS[options.what]
        part = measured()
        page.write_text(page_with(page.read_text(), "variants", {options.what: part}))


if __name__ == "__main__":
    main()
