"""How far seeds of the sampling algorithms lie apart, by the way in which they average.

python -m scripts.averaging          measure, docs/figures/averaging.csv; then draw and write
python -m scripts.averaging draw     draw the picture from the table, and write results/sampling.md
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks._common import progress, table
from tensorcfr import compile_game
from tensorcfr.algorithms import (
    AVERAGE_STRATEGY_SAMPLING,
    CHANCE_SAMPLING,
    EXTERNAL_SAMPLING,
    OUTCOME_SAMPLING,
    Sampling,
)
from tensorcfr.algorithms.sampling_records import AVERAGING
from tensorcfr.plots.style import (
    TITLE_SIZE,
    End,
    caption,
    draw_line,
    line_style,
    log_axes,
    metric,
    new_figure,
    save_picture,
)
from tensorcfr.plots.titles import game_title
from tensorcfr.solvers.sampled_solver import SampledSolver

from ._pages import page_with
from ._records import read_records

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "figures" / "averaging.csv"
PAGE = ROOT / "docs" / "results" / "sampling.md"

SCHEMES: tuple[Sampling, ...] = (
    CHANCE_SAMPLING,
    EXTERNAL_SAMPLING,
    AVERAGE_STRATEGY_SAMPLING(bonus=1000),
    OUTCOME_SAMPLING,
)
NODES = {"kuhn": 1e6, "leduc": 1e7}
"""Nodes of each run."""
FIRST_NODES = 1e3
PER_TEN = 4
"""Evaluations per factor of ten."""
SEEDS = 20
WAYS = ("simple", "stochastic", "optimistic")
"""The ways to average, in the order of their line styles."""


class Spread(NamedTuple):
    """Exploitability over seeds."""

    game: str
    scheme: str
    averaging: str
    nodes: float
    """Nodes asked for; a run ends with the iteration that gets there."""
    seeds: int
    least: float
    quarter: float
    median: float
    three_quarters: float
    most: float


def measure() -> list[Spread]:
    """Every scheme with every way to average, at equal nodes."""
    found = []
    for name, most in NODES.items():
        game = compile_game(name)
        marks = np.geomspace(FIRST_NODES, most, 1 + round(PER_TEN * np.log10(most / FIRST_NODES)))
        for scheme in SCHEMES:
            for averaging in AVERAGING[scheme.scheme]:
                progress(f"{scheme.name}, {averaging}, on {name}")
                record = scheme(averaging=averaging)
                runs = np.array(
                    [_run(SampledSolver(game, record, seed=seed), marks) for seed in range(SEEDS)]
                )
                for nodes, column in zip(marks.tolist(), runs.T, strict=True):
                    quantiles = np.quantile(column, [0.0, 0.25, 0.5, 0.75, 1.0])
                    found.append(
                        Spread(name, scheme.name, averaging, nodes, SEEDS, *quantiles.tolist())
                    )
    return found


def _run(solver: SampledSolver, marks: np.ndarray) -> list[float]:
    """Exploitabilities of the average at the marks."""
    found = []
    for nodes in marks.tolist():
        while (left := nodes - solver.nodes_touched) > 0:
            each = max(solver.nodes_touched, 1) / max(solver.iteration, 1)
            # A little less than what seems to be left: iterations are not alike.
            solver.iterate(max(1, int(0.95 * left / each)) if solver.iteration else 1)
        found.append(solver.evaluate().exploitability)
    return found


def draw(rows: Sequence[Spread]) -> None:
    """A column of panels for each game, a row for each scheme, a line for each way to average."""
    figure = new_figure(9.0, 3.2 * len(SCHEMES))
    panels = figure.subplots(len(SCHEMES), len(NODES), squeeze=False, sharex="col", sharey="col")
    ends: dict[Axes, list[End]] = {}
    for line, game in zip(panels.T, NODES, strict=True):
        line[0].set_ylabel(metric({2}))
        for scheme, ax in zip(SCHEMES, line, strict=True):
            log_axes(ax)
            ends[ax] = []
            for way in AVERAGING[scheme.scheme]:
                own = [
                    r for r in rows if (r.game, r.scheme, r.averaging) == (game, scheme.name, way)
                ]
                low, high = [r.quarter for r in own], [r.three_quarters for r in own]
                ends[ax].append(
                    draw_line(
                        ax,
                        way,
                        [r.nodes for r in own],
                        [r.median for r in own],
                        line_style(WAYS.index(way)),
                        band=(low, high),
                    )
                )
            ax.set_xlabel("nodes touched (histories visited)")
            ax.set_title(f"{game_title(game)}: {scheme.name}", loc="left", fontsize=TITLE_SIZE)
    caption(
        figure,
        f"Line: median of {SEEDS} seeds; band: the middle half of them.  Average strategy "
        "sampling with bonus=1000; regrets are those of CFR.",
    )
    save_picture(figure, TABLE.with_suffix(".png"), ends)


def text(rows: Sequence[Spread]) -> str:
    """Median, and the smallest and largest of all seeds, at the end."""
    body = []
    for scheme in SCHEMES:
        for way in AVERAGING[scheme.scheme]:
            cells = []
            for game in NODES:
                own = [
                    r for r in rows if (r.game, r.scheme, r.averaging) == (game, scheme.name, way)
                ]
                last = own[-1]
                cells.append(f"{last.median:.2g} ({last.least:.2g} to {last.most:.2g})")
            body.append([f"`{scheme.name}`, {way}", *cells])
    header = [f"{game}, {nodes:,.0f} nodes" for game, nodes in NODES.items()]
    return table(["", *header], body)


def redraw() -> None:
    """The picture and the page, from the table."""
    rows = read_records(TABLE, Spread, Spread.__annotations__)
    draw(rows)
    PAGE.write_text(page_with(PAGE.read_text(), "averaging", {"spread": text(rows)}))


def main() -> None:
    """Measure, draw, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=("draw",))
    if parser.parse_args().what is None:
        rows = measure()
        with TABLE.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(Spread._fields)
            writer.writerows(rows)
    redraw()


if __name__ == "__main__":
    main()
