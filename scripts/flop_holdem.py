"""The page on flop hold'em, solved: strategies before the flop.

python -m scripts.flop_holdem                       solve, then write page and picture
python -m scripts.flop_holdem --solution FILE       from a solution that was saved

Solving takes some minutes and 2.3 GiB.  The curve on the page is that of
``python -m scripts.large_games flop_holdem``.
"""

from __future__ import annotations

import argparse
import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from tensorcfr import Solution, compile_game, solve
from tensorcfr._util.hardware import versions
from tensorcfr.analysis import HandTable, SolvedSpot
from tensorcfr.games.holdem import grid_label
from tensorcfr.plots import hand_grid
from tensorcfr.plots.style import draw_line, line_style, log_axes, new_figure, save_picture

from ._pages import page_with
from .large_games import FIGURES, curve

PAGE = FIGURES.parent / "flop-holdem.md"
HANDS = FIGURES / "flop_holdem_hands.json"
MBB = 0.1
"""Chips of a thousandth of the big blind, which is 100 chips."""
TARGET = 0.1
"""Thousandths of a big blind to which the game is solved."""
LINES = {
    "": "Small blind opens",
    "raise": "Big blind after a raise",
    "call": "Big blind after a call",
    "raise raise": "Small blind after two raises",
    "call raise": "Small blind, called and raised",
    "raise raise raise": "Big blind after three raises",
    "call raise raise": "Big blind, raised and raised again",
    "call raise raise raise": "Small blind after the last raise",
}
"""All decisions before the flop; the first four are drawn."""
PUBLISHED = {"NFSP": 47.0, "Deep CFR": 37.0}
"""Exploitabilities in N. Brown, A. Lerer, S. Gross, T. Sandholm, "Deep counterfactual regret
minimization", ICML 2019, in thousandths of a big blind."""


def main() -> None:
    """Solve, look, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--solution", type=Path, help="a file to read, or to write if there is none"
    )
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.solution and options.solution.exists():
        solution = Solution.load(options.solution)
    else:
        solution = solve(
            compile_game("flop_holdem"),
            target=TARGET * MBB,
            precision="float32",
            threads=options.threads,
        )
        if options.solution:
            solution.save(options.solution)
    spot = SolvedSpot(solution)
    tables = {line: spot.table(line) for line in LINES}
    draw_grids(tables)
    draw_curve()
    HANDS.write_text(json.dumps(record_of(solution, tables), indent=1) + "\n")
    write_page()


def record_of(solution: Solution, tables: dict[str, HandTable]) -> dict[str, Any]:
    """What the page says, as data."""
    lines = {}
    for line, table in tables.items():
        strategy, value = table.grid(table.strategy), table.grid(table.value)
        left = table.grid(table.weight, total=True)
        lines[line] = {
            "player": table.player,
            "frequencies": {name: round(f, 6) for name, f in table.frequencies.items()},
            "hands": {
                grid_label(row, column): {
                    "combos": round(float(left[row, column]), 4),
                    "strategy": [round(p, 4) for p in strategy[row, column].tolist()],
                    "chips": round(float(value[row, column]), 2),
                }
                for row, column in np.ndindex(13, 13)
                if left[row, column] > 0.0
            },
        }
    return {
        "iterations": solution.iterations,
        "value": solution.value[0],
        "exploitability": solution.exploitability,
        "versions": versions(),
        "date": str(date.today()),
        "lines": lines,
    }


def draw_grids(tables: dict[str, HandTable]) -> None:
    """The first four lines, as grids of hands."""
    figure = new_figure(14.0, 15.6)
    panels = figure.subplots(2, 2)
    for ax, (line, title) in zip(panels.flat, LINES.items(), strict=False):
        hand_grid(tables[line], ax=ax)
        ax.set_title(title, fontsize=13)
    figure.savefig(FIGURES / "flop_holdem_hands.png")


def draw_curve() -> None:
    """Exploitability against seconds, with what is published."""
    figure = new_figure(8.0, 4.4)
    ax = figure.subplots()
    log_axes(ax)
    ax.set_xlabel("seconds of iterating, two cores")
    ax.set_ylabel("exploitability, mbb/g")
    rows = curve("flop_holdem")
    end = draw_line(
        ax,
        "flop hold'em",
        [float(row["seconds"]) for row in rows],
        [float(row["exploitability"]) / MBB for row in rows],
        line_style(0),
    )
    for name, reached in PUBLISHED.items():
        ax.axhline(reached, color="#888888", lw=0.8, ls="--")
        ax.annotate(
            f"{name}, published",
            (float(rows[0]["seconds"]), reached),
            va="bottom" if reached > 40 else "top",
            fontsize=8,
            color="#666666",
        )
    save_picture(figure, FIGURES / "flop_holdem_curve.png", {ax: [end]})


def write_page() -> None:
    """The parts of the page that are data."""
    found = json.loads(HANDS.read_text())
    gap = found["exploitability"]
    value = (
        f"After {found['iterations']:,} iterations the exploitability is {gap / MBB:.3f} mbb/g. "
        f"The small blind wins {-found['value']:.3f} chips a hand, "
        f"{-found['value'] / MBB:.2f} mbb/g, to within {2 * gap:.3f} chips.  "
        f"{found['versions']}; {found['date']}."
    )
    rows = ["| | decision | fold | check or call | raise |", "| --- | --- | ---: | ---: | ---: |"]
    for line, title in LINES.items():
        share = found["lines"][line]["frequencies"]
        passive = share.get("check", share.get("call", 0.0))
        cells = [
            f"{100 * share[name]:.1f} %" if name in share else "" for name in ("fold", "raise")
        ]
        rows.append(
            f"| `{line}` | {title} | {cells[0]} | {100 * passive:.1f} % | {cells[1]} |"
            if line
            else f"| | {title} | {cells[0]} | {100 * passive:.1f} % | {cells[1]} |"
        )
    parts = {"value": value, "lines": "\n".join(rows)}
    PAGE.write_text(page_with(PAGE.read_text(), "flop_holdem", parts))


if __name__ == "__main__":
    main()
