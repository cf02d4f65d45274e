"""Which algorithm?  Every iterative variant on the standard games, beside the LP and the peers.

python -m scripts.variants               measure (an hour on one core at most), write
python -m scripts.variants --seconds 1   the same with less time for each solve (ten minutes)

The sweeps go on where they stopped; remove docs/figures/variants* to measure again.  Curves and
tables go to docs/figures and to docs/which-algorithm.md, whose other parts are written by hand.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks._common import CONTESTS, TIMES, TOOLS, Contest, available, duration, progress, table
from benchmarks.compare import exploitability_curve
from tensorcfr import ALGORITHMS, Algorithm, compile_game, solve
from tensorcfr._util.machine import machine, versions
from tensorcfr.payoff import count_entries
from tensorcfr.plots import sweep_curves
from tensorcfr.solvers.choose import EXACT_ENTRIES
from tensorcfr.sweep import Reached, Row, SweepProgress, reached, sweep

from ._pages import page_with

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "figures"
PAGE = ROOT / "docs" / "which-algorithm.md"

GAMES = (
    "rock_paper_scissors_plus",
    "kuhn",
    "kuhn(cards=5)",
    "goofspiel(cards=4)",
    "goofspiel(cards=5)",
    "leduc",
    "liars_dice(faces=4)",
    "liars_dice",
)
"""The standard games, small to large; short names in the tables."""
SHORT = {"rock_paper_scissors_plus": "rps+"}

OPTIONS = ("cfr+(average_power=2)", "dcfr(average_power=3, restart_base=4)")
"""Beside the registered variants: quadratic averaging, and the recipe of postflop-solver."""

TARGETS = (1e-3, 1e-6, 1e-9)
"""Exploitabilities (nash_conv / 2) to reach, in units of utility."""

NOT_REACHED = "\N{EN DASH}"

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
AUTO_MORE = 4.0
"""How many times as long they get, which are larger."""

PEERS = (("OpenSpiel", "cfr+"), ("LiteEFG", "cfr+"), ("LiteEFG", "dcfr"), ("LiteEFG", "pcfr+"))
"""The variants that the peers have in C++ and that are candidates for their best one."""

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

SECONDS = 30.0
"""Seconds of iterating that each solve gets, unless told otherwise."""
PEERS_MORE = 2.0
"""How many times as long the peers get, which are slower."""


def measure(seconds: float) -> list[Row]:
    """Our variants and the LP, on every game."""
    names = [name for name, record in ALGORITHMS.items() if isinstance(record, Algorithm)]
    told: set[int] = set()

    def tell(news: SweepProgress) -> None:
        if news.finished not in told:
            told.add(news.finished)
            progress(f"{news.finished} of {news.total}, {news.cell}")

    return sweep(
        FOLDER / "variants.csv",
        GAMES,
        [*names, *OPTIONS, "lp"],
        time_limit=seconds,
        target=TARGETS[-1],
        progress=tell,
    )


def measure_peers(seconds: float) -> dict[str, Any]:
    """CPU seconds of every peer to every target, by ``"tool algorithm"`` and game; kept."""
    path = FOLDER / "variants_peers.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for tool, algorithm in PEERS:
        if not available(tool):
            progress(f"{tool} is not installed")
            continue
        rows = found.setdefault(f"{tool} {algorithm}", {})
        for contest in PEERS_GAMES:
            if contest.spec in rows:
                continue
            progress(f"{tool} {algorithm} on {contest.spec}")
            curve = exploitability_curve(TOOLS[tool](contest, algorithm), TARGETS[-1], seconds)
            rows[contest.spec] = {
                f"{target:g}": next(
                    (mark for mark in curve if mark["exploitability"] <= target), None
                )
                for target in TARGETS
            } | {"budget": seconds}
            path.write_text(json.dumps(found, indent=1) + "\n")
    return found


def markdown(rows: Sequence[Row], peers: dict[str, Any], pictures: Sequence[str]) -> str:
    """The generated part of the page."""
    marks: dict[tuple[str, str, float], Reached] = {
        (mark.game, mark.algorithm, mark.level): mark for mark in reached(rows, TARGETS)
    }
    names = list(dict.fromkeys(row.algorithm for row in rows))
    budgets = {mark["budget"] for games in peers.values() for mark in games.values()}
    text = [
        f"Written by `python -m scripts.variants`.  {machine()}; {versions()}; "
        f"{max(row.date for row in rows)}.  One core.",
        "",
        f"Each solve ended at {rows[0].budget}"
        + (f" (the peers: {max(budgets):g} s)" if budgets else "")
        + ".  Time is that of iterating, to the first checkpoint (25 per factor of ten in "
        "iterations) at which the exploitability of the average strategy, nash_conv / 2 in units "
        "of utility, was at or below the target; evaluation, compiling and set-up are not "
        "counted, for the peers CPU time.  Bold: the first of the iterative ones, the peers' "
        "included; italic: the LP, where it is before all of them.  An empty cell is a game "
        "that OpenSpiel, and LiteEFG through it, does not have, a dash not reached.",
    ]
    for target in TARGETS:
        text += ["", f"### To exploitability {target:g}", "", _table(marks, names, peers, target)]
    text += ["", "### Wins", "", _wins(marks, names), "", "### Curves"]
    text += [f"\n![Exploitability per iteration and per second](figures/{p})" for p in pictures]
    return "\n".join(text)


def _table(
    marks: dict[tuple[str, str, float], Reached],
    names: Sequence[str],
    peers: dict[str, Any],
    target: float,
) -> str:
    """Seconds to one target: a row per algorithm, a column per game."""
    times: dict[str, dict[str, float | None]] = {
        f"`{name}`": {game: marks[game, name, target].seconds for game in GAMES} for name in names
    }
    for peer, games in peers.items():
        found = {game: games[game][f"{target:g}"] for game in GAMES if game in games}
        times[peer] = {game: mark and mark["seconds"] for game, mark in found.items()}
    best = {
        game: min((own.get(game) or math.inf for name, own in times.items() if name != "`lp`"))
        for game in GAMES
    }
    body = []
    for name, own in times.items():
        cells = []
        for game in GAMES:
            seconds = own.get(game)
            cell = "" if game not in own else NOT_REACHED
            if seconds is not None:
                emphasis = ("*" if name == "`lp`" else "**") if seconds <= best[game] else ""
                cell = f"{emphasis}{duration(seconds)}{emphasis}"
            cells.append(cell)
        body.append([name, *cells])
    return table(["", *(SHORT.get(game, game) for game in GAMES)], body)


def _wins(marks: dict[tuple[str, str, float], Reached], names: Sequence[str]) -> str:
    """How often each of our variants is first, within twice of the first, and there at all."""
    contests = [(game, target) for game in GAMES for target in TARGETS]
    ratios: dict[str, list[float]] = {name: [] for name in names if name != "lp"}
    for game, target in contests:
        own = {name: marks[game, name, target].seconds for name in ratios}
        times = {name: seconds for name, seconds in own.items() if seconds is not None}
        for name, seconds in times.items():
            ratios[name].append(seconds / min(times.values()))
    body = []
    for name, found in ratios.items():
        counts = [sum(r <= 1 for r in found), sum(r <= 2 for r in found), len(found)]
        worst = f"{max(found):.3g}" if len(found) == len(contests) else NOT_REACHED
        body.append([f"`{name}`", *map(str, counts), worst])
    header = [f"of {len(contests)} (game, target)", "first", f"within 2{TIMES} of the first"]
    return table([*header, "reached", "largest ratio to the first"], body)


def draw(rows: Sequence[Row]) -> list[str]:
    """A picture per game; returns their names."""
    names = []
    for game in GAMES:
        own = [row for row in rows if row.game == game]
        name = "variants_" + "".join(c if c.isalnum() else "_" for c in game).strip("_") + ".png"
        sweep_curves(own, x=("iterations", "seconds"), path=FOLDER / name)
        names.append(name)
    return names


def measure_auto(seconds: float) -> str:
    """The table that the limits of ``algorithm="auto"`` rest on."""
    rows = sweep(
        FOLDER / "variants_auto.csv",
        AUTO_GAMES,
        AUTO_ALGORITHMS,
        time_limit=seconds,
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


def main() -> None:
    """Measure, draw, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each solve")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows = measure(options.seconds)
    peers = measure_peers(PEERS_MORE * options.seconds)
    parts = {
        "tables": markdown(rows, peers, draw(rows)),
        "auto": measure_auto(AUTO_MORE * options.seconds),
    }
    PAGE.write_text(page_with(PAGE.read_text(), "variants", parts))


if __name__ == "__main__":
    main()
