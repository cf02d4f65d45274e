"""Exploitability of large games of private hands: curves for docs/results/large-games.md.

    python -m scripts.large_games bluff_2_2        Bluff(2,2): 22 million infosets
    python -m scripts.large_games nl_leduc         no-limit Leduc
    python -m scripts.large_games full_bluff_2_2   all six faces can be bid: 352 million infosets
    python -m scripts.large_games bluff_3_2        Bluff(3,2): 1.3 billion infosets
    python -m scripts.large_games flop_holdem      flop hold'em from the first card: 5e12 histories
    python -m scripts.large_games rhode_island     Rhode Island hold'em: 7e9 histories
    python -m scripts.large_games nolimit_flop     no-limit, 20 big blinds, 25 flops: to the flop
    python -m scripts.large_games nolimit_turn     the same to the turn: 7 billion sequences

Each writes docs/figures/<name>.csv (or one in ``--out``), a row per evaluation, as it goes;
``--minutes`` says how long.  The games are cut into chunks, no-limit Leduc is not.
The exploitability is that of an exact best response in the whole game.

    python -m scripts.large_games page             tables and picture, results/large-games.md
"""

from __future__ import annotations

import ast
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._common import process_bytes, table
from tensorcfr import compile_game
from tensorcfr.compilers import game_size
from tensorcfr.plots.style import (
    COLOURS,
    caption,
    darker,
    draw_line,
    line_style,
    log_axes,
    metric,
    new_figure,
    save_picture,
)
from tensorcfr.solvers.driver import make_solver
from tensorcfr.solvers.request import SolveRequest

from ._pages import (
    DOCS,
    FIGURES,
    GIB,
    arguments,
    origin,
    origin_of,
    read_rows,
    write_parts,
    write_rows,
)

PAGE = DOCS / "results" / "large-games.md"
Curve = list[dict[str, Any]]
"""Rows of a measurement, oldest first."""
TARGETS = (1e-2, 1e-3, 1e-4)
"""Exploitabilities whose times the table says."""
TITLES = {
    "bluff_2_2": "Bluff(2,2)",
    "nl_leduc": "no-limit Leduc",
    "full_bluff_2_2": "Bluff(2,2), sixes biddable",
    "bluff_3_2": "Bluff(3,2)",
}
TUTORIAL = {
    "CFR": (2.5e10 * 0.925 / 2.72, 0.15, "x"),
    "chance sampling": (1.2e10, 0.06, "+"),
}
"""Bluff(2,2) in the tutorials: nodes touched, and exploitability there, read off their charts.  Its
program rolls the dice in order, so that its game has 2.72e9 histories and ours 0.925e9; a sampled
deal touches as many in both."""


@dataclass(frozen=True)
class Run:
    """A game and how it is solved."""

    game: str
    algorithm: str | None
    """None for the default."""
    options: dict[str, Any]
    every: float
    """An evaluation whenever the iterations are this many times as many."""
    cut: bool = True
    """True if the game is cut into chunks."""


RUNS = {
    "bluff_2_2": Run("bluff(dice=(2, 2))", "dcfr", {"threads": 2}, 1.25),
    "nl_leduc": Run("nl_leduc", "dcfr", {}, 1.25, cut=False),
    "full_bluff_2_2": Run(
        "liars_dice(dice=(2, 2))", "dcfr", {"precision": "float32", "threads": 2}, 1.4
    ),
    "bluff_3_2": Run("bluff(dice=(3, 2))", "dcfr", {"precision": "int16", "threads": 2}, 1.8),
    "flop_holdem": Run("flop_holdem", None, {"precision": "float32", "threads": 2}, 1.2),
    "rhode_island": Run("rhode_island", None, {"precision": "float32"}, 1.2),
    "nolimit_flop": Run(
        "nolimit_poker(stacks=20, raises='2.5x,a', bets='66%', deals=(3,), flops=25)",
        *(None, {"precision": "float32"}, 1.2),
    ),
    "nolimit_turn": Run(
        "nolimit_poker(stacks=20, raises=('2.5x,a', 'a', 'a'), bets='66%', deals=(3, 1), flops=25)",
        *(None, {"precision": "float32", "threads": 2}, 1.2),
    ),
}

POKER = {
    "flop_holdem": ("flop hold'em", 100.0 / 1000, "mbb", (37.0, 10.0, 1.0, 0.1)),
    "rhode_island": ("Rhode Island hold'em", 1.0, "chips", (1.0, 0.1, 0.01, 0.001)),
    "nolimit_turn": (
        *("no-limit, 20 big blinds, 25 flops, to the turn", 0.015, "% of the blinds"),
        (10.0, 1.0, 0.5),
    ),
}
"""Poker from the first card: title, chips of a unit, name of the unit, and targets. 37 mbb is a
published bound on Deep CFR's strategies (Brown et al., ICML 2019, figure 1)."""


def main() -> None:
    """Solve one of the games for a time."""
    parser = arguments(__doc__)
    parser.add_argument("name", choices=[*RUNS, "page"])
    parser.add_argument("--minutes", type=float, default=10.0, help="of iterating")
    parser.add_argument("--target", type=float, default=0.0, help="exploitability to end at")
    parser.add_argument("--algorithm", help="instead of the one that is set")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--out", type=Path, default=FIGURES, help="where the .csv goes")
    given = parser.parse_args()
    if given.name == "page":
        write_page()
        return
    run = RUNS[given.name]
    options = run.options | ({"threads": given.threads} if given.threads else {})

    # Told before anything is spent.
    size = game_size(run.game)
    told_bytes = size.bytes_in_all(options.get("precision", "float64"))[1]
    told_seconds = size.seconds_per_iteration
    print(size, f"\nhere {told_bytes / GIB:.2f} GiB in all", flush=True)

    started = time.perf_counter()
    game = compile_game(run.game, cut="auto" if run.cut else False)
    compiling = time.perf_counter() - started
    solver = make_solver(
        SolveRequest(game=game, algorithm=given.algorithm or run.algorithm, **options)
    )
    print(game.summary())
    print(f"compiled in {compiling:.1f} s", flush=True)

    rows: Curve = []
    mark, reached = 1, math.inf
    while solver.seconds < 60.0 * given.minutes and reached > given.target:
        solver.iterate(mark - solver.iteration)
        before = time.perf_counter()
        found = solver.evaluate()
        evaluating, reached = time.perf_counter() - before, found.exploitability
        row = {
            "game": run.game,
            "algorithm": str(solver.algorithm),
            "options": options,
            "iteration": solver.iteration,
            "seconds": f"{solver.seconds:.3f}",
            "evaluation_seconds": f"{evaluating:.3f}",
            "nodes_touched": solver.nodes_touched,
            "nash_conv": repr(found.nash_conv),
            "exploitability": repr(found.exploitability),
            "value": repr(found.values[0]),
            "compile_seconds": f"{compiling:.1f}",
            "peak_gib": f"{process_bytes('VmHWM') / GIB:.2f}",
            "told_gib": f"{told_bytes / GIB:.2f}",
            "told_seconds": f"{told_seconds[0]:.3g} to {told_seconds[1]:.3g}",
        }
        rows.append(row | origin())
        write_rows(given.out / f"{given.name}.csv", rows)
        print(*(f"{name} {row[name]}" for name in list(row)[3:]), sep="  ", flush=True)
        mark = max(mark + 1, round(mark * run.every))


def curves() -> dict[str, Curve]:
    """Return the measured curves of the games in the picture, by name."""
    return {name: rows for name in TITLES if (rows := read_rows(FIGURES / f"{name}.csv"))}


def costs(rows: Curve) -> list[str]:
    """Return compiling, peak memory, an iteration and an evaluation."""
    last, middle = rows[-1], rows[len(rows) // 2]
    each = (float(last["seconds"]) - float(middle["seconds"])) / (
        int(last["iteration"]) - int(middle["iteration"])
    )
    return [
        f"{float(last['compile_seconds']):.2g} s",
        f"{max(float(row['peak_gib']) for row in rows):.2f} GiB",
        f"{each:.3g} s",
        f"{float(middle['evaluation_seconds']):.2g} s",
    ]


def first_at(rows: Curve, target: float) -> tuple[int, float] | None:
    """Return iterations and seconds to an exploitability; None if it was not reached."""
    for row in rows:
        if float(row["exploitability"]) <= target:
            return int(row["iteration"]), float(row["seconds"])
    return None


def write_page() -> None:
    """Write tables and picture from the measured curves."""
    measured = curves()
    draw(measured)
    body = []
    for name, rows in measured.items():
        best = min(rows, key=lambda row: float(row["exploitability"]))
        reached = [first_at(rows, target) for target in TARGETS]
        body.append(
            [
                TITLES[name],
                f"{rows[-1]['algorithm'].partition('(')[0]}, {_options(rows[-1]['options'])}",
                *costs(rows),
                *(f"{hit[1]:.0f} s ({hit[0]})" if hit else "not reached" for hit in reached),
                f"{float(best['exploitability']):.2g} after {float(best['seconds']):.0f} s",
                f"{float(best['value']):+.5f} ± {float(best['nash_conv']):.1g}",
            ]
        )
    head = ["", "solved as", "compile", "peak memory", "iteration", "evaluation"]
    head += [*(f"to {target:g}" for target in TARGETS), "best", "value of player 0"]
    text = (
        f"{table(head, body)}\n\n"
        "Seconds of iterating, without evaluations, and iterations to an exploitability "
        "(nash_conv / 2, in units of the game: 1 for a won bluff, chips for poker).  The value is "
        "of the average strategies, and within nash_conv of the game's value.  "
        f"{origin_of(next(iter(measured.values()))[-1])}.\n\n"
        "![Exploitability of four large games against nodes touched, and against "
        "seconds of iterating](../figures/large_games.png)"
    )
    write_parts(PAGE, "large_games", {"results": text, "poker": poker_table()})


def poker_table() -> str:
    """Return the costs of games of poker from the first card."""
    body, where = [], []
    for name, (title, unit, called, targets) in POKER.items():
        rows = read_rows(FIGURES / f"{name}.csv")
        if not rows:
            continue
        last = rows[-1]
        where.append(f"- {title}: {origin_of(last)}")
        hits = [(target, hit) for target in targets if (hit := first_at(rows, target * unit))]
        reached = (f"{target:g} {called}: {n:,}, {s:.3g} s" for target, (n, s) in hits)
        best = f"{float(last['exploitability']) / unit:.2g} {called}"
        body.append(
            [
                f"{title}, {_options(last['options'])}",
                *costs(rows),
                "; ".join(reached),
                f"{best}, value {float(last['value']):+.4f} chips",
            ]
        )
    head = ["", "compile", "peak memory", "iteration", "evaluation"]
    return (
        f"{table([*head, 'iterations and seconds to', 'best'], body)}\n\n"
        "Seconds are without evaluations.  1 mbb is a thousandth of the big blind.  The value is "
        "player 0's, who has the big blind, under the average strategies."
        f"\n\n{chr(10).join(where)}, with other programs at work"
    )


def _options(options: str) -> str:
    """Return a text such as ``float64, 1 thread``."""
    given = ast.literal_eval(options)
    threads = given.get("threads", 1)
    return f"{given.get('precision', 'float64')}, {threads} thread{'s' if threads > 1 else ''}"


def draw(curves: dict[str, Curve]) -> None:
    """Draw exploitability against nodes touched, and against seconds."""
    figure = new_figure(12.0, 4.4)
    ends = {}
    panels = figure.subplots(1, 2, sharey=True)
    efforts = (("nodes_touched", "nodes touched"), ("seconds", "seconds of iterating"))
    for ax, (key, label) in zip(panels, efforts, strict=True):
        log_axes(ax)
        ax.set_xlabel(label)
        ends[ax] = [
            draw_line(
                ax,
                TITLES[name].replace(", ", ",\n"),
                [float(row[key]) for row in rows],
                [float(row["exploitability"]) for row in rows],
                line_style(number),
            )
            for number, (name, rows) in enumerate(curves.items())
        ]
    for nodes, reached, mark in TUTORIAL.values():
        panels[0].plot(nodes, reached, mark, color=darker(COLOURS[0]), ms=7, mew=1.5)
    panels[0].set_ylabel(metric({2}))
    rows = next(iter(curves.values()))
    caption(
        figure,
        "nash_conv of the average strategies by an exact best response.  Marks: Bluff(2,2) in the "
        "charts of a tutorial, "
        + ", ".join(f"{what} {mark}" for what, (_, _, mark) in TUTORIAL.items())
        + f", its nodes counted in ours.  {rows[-1]['machine']}.",
    )
    save_picture(figure, FIGURES / "large_games.png", ends)


if __name__ == "__main__":
    main()
