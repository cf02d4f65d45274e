"""The suite of ``scripts/variants.py``, and what its results become: marks, tables, pictures."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks._common import TIMES, duration, table
from tensorcfr._util.specs import parse_spec
from tensorcfr.plots.style import (
    TITLE_SIZE,
    X_AXES,
    End,
    caption,
    draw_line,
    light_grid,
    line_styles,
    log_axes,
    metric,
    new_figure,
    save_picture,
)
from tensorcfr.plots.sweeps import PANEL_SIZE
from tensorcfr.plots.titles import game_title
from tensorcfr.solvers.solution import TracePoint
from tensorcfr.sweep import Row, curves, reached, read_sweep

from .redraw import read_records

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "figures"

BLOTTO = "openspiel:turn_based_simultaneous_game(game=blotto(coins={},fields={},players=2))"
SHIPS = (
    "openspiel:battleship(board_width={},board_height=2,ship_sizes=[{}],ship_values=[{}],"
    "num_shots=2,allow_repeated_shots=False)"
)
FAMILIES: dict[str, dict[str, str]] = {
    "poker": {
        "kuhn": "",
        "kuhn(cards=13)": "",
        "leduc": "",
        "leduc(ranks=5)": "",
        "nl_leduc(stack=9)": "",
    },
    "bidding": {
        "goofspiel(cards=4)": "",
        "goofspiel(cards=5)": "",
        "goofspiel(cards=4, prizes='random')": "",
        "liars_dice(faces=4)": "",
        "liars_dice(faces=5)": "",
        "liars_dice": "",
    },
    "boards": {
        "blotto_10_3": BLOTTO.format(10, 3),
        "blotto_6_4": BLOTTO.format(6, 4),
        "battleship_2x2": SHIPS.format(2, "1;2", "1;2"),
        "battleship_3x2": SHIPS.format(3, "2", "1"),
    },
    "many": {
        "kuhn(players=3)": "",
        "kuhn(players=4)": "",
        "leduc(players=3)": "",
    },
}
"""The games by family, each with what OpenSpiel calls it, if it is not built in."""
TITLES = {
    "blotto_10_3": "Blotto, 10 coins, 3 fields",
    "blotto_6_4": "Blotto, 6 coins, 4 fields",
    "battleship_2x2": "Battleship, 2 by 2 cells, ships of 1 and 2 cells",
    "battleship_3x2": "Battleship, 3 by 2 cells, a ship of 2 cells",
}
"""Titles of the games of OpenSpiel."""
GAMES = {name: source for family in FAMILIES.values() for name, source in family.items()}
MANY_PLAYERS = frozenset(FAMILIES["many"])
"""Games of three players or more: no algorithm is known to find their equilibria."""

MAIN = ("cfr", "cfr+", "dcfr", "dcfr+", "pcfr+", "pdcfr+", "sapcfr+", "idcfr+")
"""Those of the first row of pictures, and of the tables game by game."""
OTHERS = (
    "icfr",
    "icfr+",
    "pcfr+gradient",
    "mmd(alpha=0)",
)
"""Those of the second row."""
ALGORITHMS = (
    *MAIN,
    *OTHERS,
    "lcfr",
    "hedge",
    "cfr+(average_power=2)",
    "dcfr(average_power=3, restart_base=4)",
)

TARGETS = (1e-3, 1e-6, 1e-9)
"""Exploitabilities (nash_conv / players) to reach, in units of utility."""
NOT_REACHED = "\N{EN DASH}"
MOST_RATIO = 1000.0
"""Right end of the profiles."""


class Mark(NamedTuple):
    """An effort of an algorithm on a game, and the exploitability then."""

    game: str
    algorithm: str
    kind: str
    """``target 1e-06``: the first checkpoint at or below; ``end``."""
    iteration: int
    seconds: float
    exploitability: float


class Point(NamedTuple):
    """A checkpoint of a curve."""

    game: str
    algorithm: str
    iteration: int
    exploitability: float


class Cost(NamedTuple):
    """What an iteration takes."""

    game: str
    algorithm: str
    seconds: float


CURVES = FOLDER / "variants_curves.csv"
COSTS = FOLDER / "variants_costs.csv"
SAID = FOLDER / "variants_costs.txt"
"""Machine, versions and date of the costs."""


def read_curves() -> list[Point]:
    """The curves of the pictures."""
    return read_records(CURVES, Point, Point.__annotations__) if CURVES.exists() else []


def append_curve(game: str, algorithm: str, trace: Sequence[TracePoint]) -> None:
    """Add a curve to those that are kept, with few digits."""
    begins = not CURVES.exists()
    with CURVES.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if begins:
            writer.writerow(Point._fields)
        writer.writerows(
            (game, algorithm, point.iteration, f"{point.exploitability:.4g}") for point in trace
        )


def write_costs(costs: Sequence[Cost], said: str) -> None:
    """Keep the costs."""
    with COSTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Cost._fields)
        writer.writerows((game, name, f"{seconds:.4g}") for game, name, seconds in costs)
    SAID.write_text(f"{said}\n")


def read_marks(folder: Path) -> tuple[list[Row], list[Row]]:
    """The rows of the variants, and of the linear program."""
    return read_sweep(folder / "variants.csv"), read_sweep(folder / "variants_lp.csv")


def write_marks(rows: Sequence[Row], exact: Sequence[Row]) -> None:
    """Keep what the page says of every solve; all checkpoints would take too many bytes."""
    keep(FOLDER / "variants.csv", marks([*rows, *exact]))


def keep(path: Path, kept: Sequence[Mark]) -> None:
    """Write marks."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Mark._fields)
        writer.writerows(kept)


def marks(rows: Sequence[Row]) -> list[Mark]:
    """The marks of all solves."""

    def mark(kind: str, row: Row) -> Mark:
        return Mark(row.game, row.algorithm, kind, row.iteration, row.seconds, row.exploitability)

    found = []
    for own in curves(rows).values():
        (line,) = own
        for target in TARGETS:
            first = next((row for row in line if row.exploitability <= target), None)
            found += [mark(f"target {target:g}", first)] if first else []
        found.append(mark("end", line[-1]))
    return found


EFFORTS = ("seconds", "iteration")
"""Fields of a mark that are efforts."""


def ratios(marks: Sequence[Mark], effort: str) -> dict[tuple[str, float], list[float]]:
    """By algorithm and target, each game's effort over that of the first; inf if not reached."""
    pairs = [
        (mark.game, mark.algorithm)
        for mark in marks
        if mark.kind == "end" and mark.game not in MANY_PLAYERS and mark.algorithm in ALGORITHMS
    ]
    own = {(mark.game, mark.algorithm, mark.kind): getattr(mark, effort) for mark in marks}
    found: dict[tuple[str, float], list[float]] = {}
    for target in TARGETS:
        kind = f"target {target:g}"
        least: dict[str, float] = {}
        for game, name in pairs:
            value = own.get((game, name, kind), math.inf)
            least[game] = min(least.get(game, math.inf), value)
        for game, name in pairs:
            value = own.get((game, name, kind), math.inf)
            ratio = value / least[game] if value < math.inf else math.inf
            found.setdefault((name, target), []).append(ratio)
    return found


def tables(rows: Sequence[Row], exact: Sequence[Row]) -> dict[str, str]:
    """The generated parts of the page, by name."""
    two = [row for row in rows if row.game not in MANY_PLAYERS]
    about = (
        f"{rows[0].machine}; {rows[0].versions}; {max(row.date for row in rows)}.  Each solve "
        f"ended at {rows[0].budget}.  {len({row.game for row in two})} games of two players, "
        f"{len({row.algorithm for row in rows})} algorithms."
    )
    return {
        "about": about,
        "summary in seconds": _summary(marks(rows), "seconds"),
        "summary in iterations": _summary(marks(rows), "iteration"),
        **{f"to {target:g}": _by_game(two, exact, target) for target in TARGETS},
        "many players": _many(rows),
    }


def _summary(marks: Sequence[Mark], effort: str) -> str:
    """A row per algorithm: games reached, games within twice the first, the median ratio."""
    found = ratios(marks, effort)
    best = {
        target: min(
            statistics.median_high(own) for (_, level), own in found.items() if level == target
        )
        for target in TARGETS
    }
    body = []
    for name in ALGORITHMS:
        cells = [f"`{name}`"]
        for target in TARGETS:
            own = found[name, target]
            median = statistics.median_high(own)
            text = NOT_REACHED if median == math.inf else f"{median:.3g}"
            cells += [
                str(sum(ratio < math.inf for ratio in own)),
                str(sum(ratio <= 2.0 for ratio in own)),
                f"**{text}**" if median <= best[target] and median < math.inf else text,
            ]
        body.append(cells)
    header = [
        word
        for target in TARGETS
        for word in (f"{target:g}: reached", f"within 2{TIMES}", "median ratio")
    ]
    return table(["", *header], body)


def _by_game(rows: Sequence[Row], exact: Sequence[Row], target: float) -> str:
    """A row per game: seconds and iterations of the main algorithms that get there at all, and of
    the linear program."""
    found = {(mark.game, mark.algorithm): mark for mark in reached(rows, [target])}
    solved = {row.game: row.seconds for row in exact}
    names = [
        name for name in MAIN if any(found[g, n].seconds is not None for g, n in found if n == name)
    ]
    body = []
    for game in GAMES:
        if game in MANY_PLAYERS:
            continue
        times = [found[game, name].seconds for name in names if (game, name) in found]
        first = min((seconds for seconds in times if seconds is not None), default=math.inf)
        cells = []
        for name in names:
            mark = found.get((game, name))
            if mark is None or mark.seconds is None or mark.iteration is None:
                cells.append(NOT_REACHED)
                continue
            emphasis = "**" if mark.seconds <= first else ""
            cells.append(f"{emphasis}{duration(mark.seconds)}{emphasis} ({mark.iteration:,})")
        body.append([game, *cells, duration(solved[game]) if game in solved else NOT_REACHED])
    return table(["", *(f"`{name}`" for name in names), "`lp`"], body)


def _many(rows: Sequence[Row]) -> str:
    """Exploitability at the end, in games of three players or more."""
    last = {(row.game, row.algorithm): row for row in rows if row.ends_cell}
    names = [game for game in GAMES if game in MANY_PLAYERS]
    body = []
    for algorithm in (*MAIN, *OTHERS):
        ends = [last.get((game, algorithm)) for game in names]
        body.append(
            [
                f"`{algorithm}`",
                *(
                    f"{row.exploitability:.2g} ({row.iteration:,})" if row else NOT_REACHED
                    for row in ends
                ),
            ]
        )
    return table(["", *names], body)


def more_table(kept: Sequence[Mark], names: Sequence[str], last: Sequence[str]) -> str:
    """A row per algorithm: games reached, and the median ratios of seconds and of iterations to
    those of the first; then the exploitabilities in the end of games of many players."""
    at = {(mark.game, mark.algorithm, mark.kind): mark for mark in kept}
    known = {mark.algorithm for mark in kept}
    first, two = names[0], [game for game in GAMES if game not in MANY_PLAYERS]
    many = [game for game in GAMES if game in MANY_PLAYERS]
    body = []
    for name in (one for pair in zip(names, last, strict=True) for one in pair if one in known):
        cells = [f"`{name}`"]
        for target in TARGETS:
            kind = f"target {target:g}"
            own = {game: at[game, name, kind] for game in two if (game, name, kind) in at}
            pairs = [
                (own[game], at[game, first, kind]) for game in own if (game, first, kind) in at
            ]
            cells.append(str(len(own)))
            if not pairs:
                cells += [NOT_REACHED, NOT_REACHED]
                continue
            cells.append(f"{statistics.median(a.seconds / b.seconds for a, b in pairs):.3g}")
            cells.append(f"{statistics.median(a.iteration / b.iteration for a, b in pairs):.3g}")
        for game in many:
            end = at.get((game, name, "end")) or at.get((game, name, f"target {TARGETS[-1]:g}"))
            cells.append(f"{end.exploitability:.2g} ({end.iteration:,})" if end else NOT_REACHED)
        body.append(cells)
    header = [word for t in TARGETS for word in (f"{t:g}: reached", "time", "iterations")]
    return table(["", *header, *many], body)


def draw() -> None:
    """Curves by family, and profiles, from what is kept."""
    points = read_curves()
    costs = read_records(COSTS, Cost, Cost.__annotations__)
    cost = {(one.game, one.algorithm): one.seconds for one in costs}
    for family, names in FAMILIES.items():
        _draw_family(FOLDER / f"variants_{family}.png", tuple(names), points, cost)
    marks = read_records(FOLDER / "variants.csv", Mark, Mark.__annotations__)
    for effort, word in zip(EFFORTS, ("seconds", "iterations"), strict=True):
        _draw_profiles(FOLDER / f"variants_profile_{word}.png", marks, effort, word)


def _shrink(path: Path) -> None:
    """Write a bitmap in a palette, in a third of the bytes."""
    from PIL import Image

    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def _draw_family(
    path: Path,
    games: Sequence[str],
    points: Sequence[Point],
    cost: dict[tuple[str, str], float],
) -> None:
    """A row for each game: exploitability against iterations, and against seconds."""
    styles = line_styles(MAIN)
    figure = new_figure(2 * PANEL_SIZE[0], PANEL_SIZE[1] * len(games) + 0.7)
    panels = figure.subplots(len(games), 2, squeeze=False)
    ends: dict[Any, list[End]] = {}
    for line, game in zip(panels, games, strict=True):
        for ax in line:
            log_axes(ax)
            ends[ax] = []
        for name in MAIN:
            own = [point for point in points if (point.game, point.algorithm) == (game, name)]
            own = [point for point in own if point.exploitability > 0.0]
            y = [point.exploitability for point in own]
            for ax, unit in zip(line, (1.0, cost[game, name]), strict=True):
                x = [point.iteration * unit for point in own]
                ends[ax].append(draw_line(ax, name, x, y, styles[name]))
        players = int(parse_spec(game)[1].get("players", 2))
        line[0].set_ylabel(metric({players}))
        line[0].set_title(TITLES.get(game, game_title(game)), loc="left", fontsize=TITLE_SIZE)
        line[0].set_xlabel(X_AXES["iterations"][1])
        line[1].set_xlabel("seconds = iterations \N{MULTIPLICATION SIGN} seconds of an iteration")
    caption(
        figure,
        "nash_conv: sum over players of best-response value minus value, of the average strategy.  "
        f"A line ends at {TARGETS[-1]:g} or after some seconds.  Seconds of an iteration: "
        f"{SAID.read_text().strip()}",
    )
    save_picture(figure, path, ends)
    _shrink(path)


def _draw_profiles(path: Path, marks: Sequence[Mark], effort: str, word: str) -> None:
    """The share of games that an algorithm solves within a multiple of the first's effort.

    Source of the form: E. Dolan, J. More, "Benchmarking optimization software with performance
    profiles", Mathematical Programming 91, 2002.
    """
    found = ratios(marks, effort)
    # An algorithm with options has the style of the one as published.
    styles = {name: line_styles([name.partition("(")[0]]) for name in (*MAIN, *OTHERS)}
    figure = new_figure(13.5, 8.0)
    panels = figure.subplots(2, len(TARGETS), squeeze=False)
    ends: dict[Any, list[End]] = {}
    for line, names in zip(panels, (MAIN, OTHERS), strict=True):
        for target, ax in zip(TARGETS, line, strict=True):
            light_grid(ax)
            ax.set_xscale("log")
            ax.set_ylim(-0.02, 1.02)
            ends[ax] = []
            for name in names:
                ((short, style),) = styles[name].items()
                own = sorted(found[name, target])
                met = [ratio for ratio in own if ratio <= MOST_RATIO]
                x = [1.0, *met, MOST_RATIO]
                y = [0.0, *((k + 1) / len(own) for k in range(len(met))), len(met) / len(own)]
                ax.step(x, y, where="post", **style)
                ends[ax].append((short, str(style["color"]), x[-1], y[-1]))
            ax.set_xlim(1.0, MOST_RATIO)
            ax.set_title(f"to exploitability {target:g}", loc="left", fontsize=TITLE_SIZE)
            ax.set_xlabel(f"{word}, over those of the first algorithm")
        line[0].set_ylabel("share of the games of two players")
    options = ", ".join(name for name in OTHERS if "(" in name)
    caption(
        figure,
        "A line that begins high is often first; a line that ends high is reliable.  First: of all "
        f"algorithms of both rows and of the tables.  In the lower row {options}.",
    )
    save_picture(figure, path, ends)
    _shrink(path)
