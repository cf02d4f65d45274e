"""Which algorithm?  Every iterative variant, and every weight of the average, on a suite of games
of which one part is to choose on and the other to judge on.

python -m scripts.variants games              save the games that come from OpenSpiel
python -m scripts.variants measure [PART]     iterations to ten decades; goes on where it stopped
python -m scripts.variants seconds            seconds of an iteration; wants an idle machine
python -m scripts.variants write              tables and pictures of docs/results/variants.md
python -m scripts.variants peers              OpenSpiel and LiteEFG, results/algorithms.md
python -m scripts.variants auto               the table that "auto" rests on
python -m scripts.variants slopes             last iterates, results/algorithms.md
python -m scripts.variants own-draws          samplers of own actions, docs/results/sampling.md

``measure`` counts iterations, which do not depend on the machine.  It needs no OpenSpiel, only the
games that ``games`` has saved, and takes some ten minutes for each part on one core.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import CONTESTS, TOOLS, Contest, available, duration, progress, table
from benchmarks.compare import exploitability_curve
from tensorcfr import CompiledGame, compile_game, load_game, save_game, solve
from tensorcfr._util.hardware import machine, versions
from tensorcfr.payoff import count_entries
from tensorcfr.solvers.base import IterativeSolver, solver_class
from tensorcfr.solvers.choose import EXACT_ENTRIES
from tensorcfr.sweep import SweepRow, reached, read_algorithm, sweep

from ._pages import page_with
from .variants_page import (
    CARDS,
    DEFAULT,
    FOLDER,
    FORMER,
    JUDGE,
    JUDGED,
    KINDS,
    LONGER,
    MAIN,
    MANY_PLAYERS,
    NOT_REACHED,
    ON_CARDS,
    PARTS,
    RULES,
    SHOWN,
    SINGLE,
    TARGETS,
    WEIGHTS,
    Cost,
    Solved,
    Suited,
    append,
    draw,
    read_solved,
    tables,
    with_weights,
    write_costs,
)

ROOT = Path(__file__).resolve().parent.parent
SAVED = ROOT / "build" / "variants"
"""The games that come from OpenSpiel, as files."""
PAGE = ROOT / "docs" / "results" / "variants.md"
CHOICE = ROOT / "docs" / "results" / "algorithms.md"
SAMPLERS = ROOT / "docs" / "results" / "sampling.md"

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
AUTO_ALGORITHMS = ("dcfr", DEFAULT)
AUTO_TARGETS = (1e-3, 1e-4, 1e-6)

SLOPE_GAMES = ("kuhn", "leduc", "goofspiel(cards=4)", "liars_dice(faces=4)")
SLOPE_ALGORITHMS = (
    "cfr+",
    "sapcfr+",
    DEFAULT,
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
BESIDE_PEERS = ("cfr+", "dcfr", "pcfr+", "pdcfr+", DEFAULT)
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

PEERS_TARGETS = SHOWN[:3]
PEERS_SECONDS = (1.0, 2.0)
"""Seconds of iterating for ours and for the peers, which are slower."""
AUTO_SECONDS = 4.0

PER_DECADE = 25
"""Evaluations per factor of ten in iterations."""
COST_SECONDS = 0.02
"""Seconds of a span that is timed, at least."""
COST_ROUNDS = 5


def game_of(name: str, suited: Suited) -> CompiledGame:
    """A game of the suite; those of OpenSpiel from their files."""
    if isinstance(suited.source, str):
        return replace(load_game(SAVED / f"{name}.npz"), name=name)
    if suited.source is not None:
        return compile_game("holdem", **suited.source)
    return compile_game(name)


def save_games() -> None:
    """Compile the games of OpenSpiel, and save them."""
    SAVED.mkdir(parents=True, exist_ok=True)
    for part in PARTS.values():
        for name, suited in part.items():
            if isinstance(suited.source, str):
                path = save_game(compile_game(suited.source), SAVED / f"{name}.npz")
                progress(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")


def measure(part: str) -> None:
    """Iterations of all algorithms to the targets, on a part of the suite."""
    groups: list[tuple[str, ...]] = [(name,) for name in (CARDS, SINGLE, *reversed(JUDGED))]
    if part == "choose":
        groups = [(rule, *(with_weights(rule, one) for one in WEIGHTS)) for rule in reversed(RULES)]
    known = {(one.game, one.algorithm) for one in read_solved()}
    for specs, (name, suited) in product(groups, PARTS[part].items()):
        missing = [spec for spec in specs if (name, spec) not in known]
        if part == "judge":
            own = ON_CARDS if suited.is_of_cards else JUDGED
            missing = [spec for spec in missing if spec in own]
        if not missing:
            continue
        game, begun = game_of(name, suited), time.process_time()
        for spec in missing:
            try:
                found = solved_of(name, suited, game, spec)
                # Weights change the average alone.
                append(found if spec in (*RULES, *JUDGED) else found[:1])
            except ValueError as refused:
                progress(f"{name}: {refused}")
        progress(f"{specs[0]} on {name}: {time.process_time() - begun:.0f} s")


def solved_of(name: str, suited: Suited, game: CompiledGame, spec: str) -> list[Solved]:
    """A solve to the smallest target, or to the most iterations."""
    solver = solver_of(game, spec)
    reached: dict[str, list[int]] = {kind: [] for kind in KINDS}
    least, most = math.inf, suited.most
    if spec == FORMER and name in JUDGE and name not in MANY_PLAYERS and not suited.is_of_cards:
        most *= LONGER
    count = 1 + round(PER_DECADE * math.log10(most))
    for iteration in np.unique(np.geomspace(1, most, count).astype(int)).tolist():
        solver.iterate(iteration - solver.iteration)
        found = solver.evaluate(), solver.evaluate_current()
        average, last = (one.exploitability / suited.unit for one in found)
        least = min(least, average, last)
        here = dict(zip(KINDS, (average, last, least), strict=True))
        for kind, value in here.items():
            own = reached[kind]
            own += [iteration] * sum(value <= target for target in TARGETS[len(own) :])
        if all(len(own) == len(TARGETS) for own in reached.values()):
            break
    return [
        Solved(name, spec, kind, " ".join(map(str, reached[kind])), iteration, value)
        for kind, value in here.items()
    ]


def measure_seconds() -> None:
    """Seconds of an iteration: the least of some spans, between which all solvers take turns."""
    rows = []
    for name, suited in PARTS["judge"].items():
        game = game_of(name, suited)
        specs = ON_CARDS if suited.is_of_cards else MAIN
        solvers = {spec: solver_of(game, spec) for spec in specs}
        spans, least = dict.fromkeys(specs, 1), dict.fromkeys(specs, math.inf)
        for spec, solver in solvers.items():
            solver.iterate(2)  # Compiles.
            while (taken := _span(solver, spans[spec])) < COST_SECONDS:
                spans[spec] *= 2 if taken > COST_SECONDS / 8 else 4
        for _ in range(COST_ROUNDS):
            for spec, solver in solvers.items():
                least[spec] = min(least[spec], _span(solver, spans[spec]) / spans[spec])
        rows += [Cost(name, spec, seconds) for spec, seconds in least.items()]
        progress(f"{name}: {min(least.values()):.2g} to {max(least.values()):.2g} s")
    write_costs(rows, f"{machine()}; {versions()}; {date.today()}.")


def _span(solver: IterativeSolver, iterations: int) -> float:
    """Processor seconds of some iterations."""
    started = time.process_time()
    solver.iterate(iterations)
    return time.process_time() - started


def solver_of(game: CompiledGame, spec: str) -> IterativeSolver:
    """A solver of the kind that an algorithm takes.

    Raises:
        ValueError: The algorithm does not apply to the game.
    """
    record = read_algorithm(spec)
    kind = solver_class(record, game)
    assert kind is not None
    return kind(game, record, **({"seed": 0} if record.is_sampled else {}))


def measure_peers() -> str:
    """Seconds of the peers, and of ours in the same run, to every target; kept."""
    rows = sweep(
        FOLDER / "variants_beside_peers.csv",
        [contest.spec for contest in PEERS_GAMES],
        BESIDE_PEERS,
        time_limit=PEERS_SECONDS[0],
        target=PEERS_TARGETS[-1],
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
                TOOLS[tool](contest, algorithm), PEERS_TARGETS[-1], PEERS_SECONDS[1]
            )
            own[contest.spec] = {
                f"{target:g}": next(
                    (mark for mark in curve if mark["exploitability"] <= target), None
                )
                for target in PEERS_TARGETS
            } | {"budget": PEERS_SECONDS[1]}
            path.write_text(json.dumps(found, indent=1) + "\n")
    return peers_table(rows, found)


def peers_table(rows: Sequence[SweepRow], peers: dict[str, Any]) -> str:
    """A row per algorithm, a column per game; in a cell the seconds to every target."""
    marks = {
        (mark.algorithm, mark.game, mark.level): mark.seconds
        for mark in reached(rows, PEERS_TARGETS)
    }
    specs = [contest.spec for contest in PEERS_GAMES]
    times: dict[str, dict[str, list[float | None]]] = {
        f"`{name}`": {spec: [marks[name, spec, t] for t in PEERS_TARGETS] for spec in specs}
        for name in BESIDE_PEERS
    }
    for peer, own in peers.items():
        times[peer] = {
            spec: [
                mark and mark["seconds"] for mark in (own[spec][f"{t:g}"] for t in PEERS_TARGETS)
            ]
            for spec in specs
        }
    first = {
        (spec, k): min((own[spec][k] or math.inf) for own in times.values())
        for spec in specs
        for k in range(len(PEERS_TARGETS))
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
    targets = ", ".join(f"{t:g}" for t in PEERS_TARGETS)
    about = (
        f"{rows[0].machine}; {rows[0].versions}; {max(row.date for row in rows)}.  One core.  In "
        f"a cell, the times to exploitabilities {targets}, a dash if not reached in "
        f"{PEERS_SECONDS[0]:g} s (peers: {PEERS_SECONDS[1]:g} s of CPU time).  Bold: first."
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
        game = compile_game(spec, cut=False)
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
            solver = solver_of(compile_game(name), spec)
            values = []
            for mark in SLOPE_MARKS:
                solver.iterate(int(mark) - solver.iteration)
                found = solver.evaluate(), solver.evaluate_current()
                values.append([one.exploitability for one in found])
            cells += [_slope(np.array(column)) for column in zip(*values, strict=True)]
        body.append([f"`{spec}`", *cells])
    header = [f"{name}: {what}" for name in SLOPE_GAMES for what in ("average", "last")]
    return table(["", *header], body)


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


def write() -> None:
    """Pictures and the page, from what is measured."""
    draw()
    PAGE.write_text(page_with(PAGE.read_text(), "variants", tables()))


WHOLE = {
    "games": save_games,
    "seconds": measure_seconds,
    "write": write,
}
"""What needs no argument."""
TABLES = {
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
    parser.add_argument("what", choices=("measure", *WHOLE, *TABLES))
    parser.add_argument("part", nargs="?", choices=PARTS, help="to measure; by default both")
    options = parser.parse_args()
    if options.what == "measure":
        for part in [options.part] if options.part else PARTS:
            measure(part)
    elif options.what in WHOLE:
        WHOLE[options.what]()
    else:
        page, measured = TABLES[options.what]
        part = measured()
        page.write_text(page_with(page.read_text(), "variants", {options.what: part}))


if __name__ == "__main__":
    main()
