"""Pictures of the documentation: comparisons of algorithms, strategies, stored measurements.

    python -m scripts.figures                 all of them, at full scale, into docs/figures
    python -m scripts.figures --quick         at a scale of seconds, into build/quick
    python -m scripts.figures kuhn_nodes ...  only these
    python -m scripts.figures --again         measures all with an axis of seconds again: half an
                                              hour of a machine on which nothing else runs

Each sweep goes on where it stopped; without its CSV it is measured again.  A picture is written as
.png, and as .svg if it has curves.  Not among them: the pictures of the viewer (``python -m
scripts.screenshots``, which needs a browser), and those of finished measurements.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcfr import compile_game, solve
from tensorcfr.algorithms import CFR, CHANCE_SAMPLING, Record
from tensorcfr.analysis import SolvedSpot, robust_responses, simulate, walkthrough
from tensorcfr.formats import parse_spot
from tensorcfr.plots import (
    convergence,
    gain_against_risk,
    hand_grid,
    infoset_chart,
    iteration_tree,
    kuhn_stages,
    runout_grid,
    strategy_chart,
    sweep_curves,
)
from tensorcfr.plots.style import save_picture
from tensorcfr.sweep import SweepRow, curves, sweep

from . import variants
from ._pages import DOCS, FIGURES, RESULTS, ROOT, arguments, read_records

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Comparison:
    """A sweep and its picture."""

    title: str
    games: tuple[str, ...]
    algorithms: tuple[str, ...]
    full: dict[str, Any]
    """The budget of each solve at full scale."""
    quick: dict[str, Any]
    seeds: int = 1
    """Seeds of the algorithms that draw at random."""
    x: tuple[Any, ...] = ("nodes", "seconds")
    beside: str | None = None
    """Another sweep, with a budget of its own, whose curves are in the same picture."""
    marks: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Points of the first panel, by marker."""
    caption: str = ""
    runs: int = 1
    """Repetitions of a short sweep; the fastest time is drawn."""


COMPARISONS = {
    "kuhn_nodes": Comparison(
        "Kuhn poker: CFR, CFR+, chance sampling, external sampling",
        ("kuhn",),
        ("cfr", "cfr+", "chance_sampling", "external_sampling"),
        full={"nodes": 4_000_000_000},
        quick={"nodes": 4_000_000},
        seeds=3,
    ),
    "kuhn_time": Comparison(
        "Kuhn poker: CFR against CFR+ in time",
        ("kuhn",),
        ("cfr", "cfr+"),
        full={"iters": 100_000},
        quick={"iters": 10_000},
        x=("seconds", "iterations"),
        runs=40,
    ),
    "hundred_time": Comparison(
        "Kuhn poker with 100 cards: CFR against CFR+ in time",
        ("kuhn(cards=100)",),
        ("cfr(alternating=False)", "cfr+(alternating=False, average_power=0)"),
        full={"iters": 100_000},
        quick={"iters": 300},
        x=("seconds", "iterations"),
        runs=5,
    ),
    "kuhn_cards": Comparison(
        "Kuhn poker with 10 cards, by external sampling",
        ("kuhn(cards=10)",),
        ("external_sampling", "cfr", "cfr+"),
        full={"nodes": 4_000_000_000},
        quick={"nodes": 10_000_000},
        seeds=3,
    ),
    "bluff_1_1": Comparison(
        "Bluff, one die each: CFR, CFR+ and chance sampling",
        ("bluff(dice=(1, 1))",),
        ("cfr", "cfr+", "chance_sampling"),
        full={"nodes": 4_000_000_000},
        quick={"nodes": 200_000_000},
        seeds=3,
    ),
    "bluff_2_2_chance": Comparison(
        "Bluff, two dice each: chance sampling",
        ("bluff(dice=(2, 2))",),
        ("chance_sampling",),
        full={"nodes": 12_000_000_000},
        quick={"nodes": 20_000_000},
        x=("nodes",),
    ),
    "bluff_2_2_nodes": Comparison(
        "Bluff, two dice each: CFR, CFR+ and chance sampling",
        ("bluff(dice=(2, 2))",),
        ("cfr", "cfr+"),
        full={"time_limit": 120.0},
        quick={"time_limit": 5.0},
        x=("nodes",),
        beside="bluff_2_2_chance",
        # Read off the charts.  The tutorial's program rolls the dice in order, so that its game has
        # 2.72e9 histories and ours 0.925e9; a sampled deal touches as many in both.
        marks={"x": (2.5e10 * 0.925 / 2.72, 0.15), "+": (1.2e10, 0.06)},
        caption="Marks: in the charts of a tutorial, CFR x, chance sampling +, its nodes counted "
        "in ours.",
    ),
    "leduc_sampling": Comparison(
        "Leduc poker: public chance, chance and external sampling",
        ("leduc",),
        ("public_chance_sampling", "chance_sampling", "external_sampling", "cfr+"),
        full={"time_limit": 10.0},
        quick={"time_limit": 0.5},
        seeds=5,
        x=("seconds", "decision_nodes"),
    ),
    "nl_leduc_nodes": Comparison(
        "No-limit Leduc: external sampling against exact CFR+",
        ("nl_leduc",),
        ("external_sampling", "cfr+"),
        full={"time_limit": 60.0},
        quick={"time_limit": 5.0},
        seeds=3,
    ),
}
"""The figures by name."""


CHARTS: dict[str, tuple[str, Callable[..., Figure], int, int]] = {
    "kuhn_strategy": ("kuhn", kuhn_stages, 100_000, 1000),
    "kuhn_hundred_strategy": ("kuhn(cards=100)", kuhn_stages, 100_000, 1000),
    "leduc_strategy": ("leduc", strategy_chart, 100_000, 1000),
    "bluff_strategy": ("bluff(dice=(1, 1))", strategy_chart, 10_000, 500),
    "goofspiel_strategy": ("goofspiel(cards=4, prizes='random')", infoset_chart, 10_000, 500),
}
"""Strategies: game, function that draws, and iterations of CFR+ at full scale and quick."""


TOGETHER = CHANCE_SAMPLING(alternating=False)
TREES: dict[str, tuple[Record, tuple[str, ...] | None, int]] = {
    "kuhn_tree": (CFR(alternating=False), None, 1),
    "walkthrough_1": (TOGETHER, ("Q", "K"), 1),
    "walkthrough_2": (TOGETHER, ("Q", "K"), 2),
}
"""Iterations of Kuhn poker on its tree: algorithm, deal, which iteration."""


def draw_responses(folder: Path, quick: bool) -> None:
    """Draw gain against risk of both methods in Leduc: responses to three iterations of CFR after
    3,000 plays of the other player were seen."""
    game = compile_game("leduc")
    counts = simulate(game, solve(game, "cfr", iters=3).policy, 3000, seed=1).counts(1)
    weights = {"data-biased": (0.1, 0.25, 0.5, 0.75, 1), "restricted": (0.1, 0.25, 0.5, 0.6, 0.7)}
    drawn = gain_against_risk(
        {
            method: robust_responses(game, counts, 0, method=method, weights=trusted)
            for method, trusted in weights.items()
        }
    )
    save_picture(drawn, folder / "robust_responses.png")


def draw_convergence(folder: Path, quick: bool) -> None:
    """Draw the default and three textbook algorithms on Leduc poker: the picture of the README."""
    game, names = compile_game("leduc"), ("cfr", "cfr+", "dcfr", "paced-cfr+")
    solutions = [solve(game, name, iters=1_000 if quick else 10_000) for name in names]
    path = DOCS if folder == FIGURES else folder
    save_picture(convergence(solutions), path / "convergence.png")


def draw_holdem(folder: Path, quick: bool) -> None:
    """Draw the pictures of docs/holdem-tutorial.md from its spot."""
    page = (DOCS / "holdem-tutorial.md").read_text("utf-8")
    found = re.search(r">>> text = '''\n(.*?)\.\.\. '''", page, re.DOTALL)
    assert found is not None
    spot = parse_spot(re.sub(r"^\.\.\. ?", "", found[1], flags=re.MULTILINE))
    solved = SolvedSpot(solve(compile_game(spot), target=0.1, precision="float32"))
    hand_grid(solved.table("check")).savefig(folder / "holdem_turn.png", dpi=80)
    rivers = solved.runouts("check bet36 call * check")
    runout_grid(rivers).savefig(folder / "holdem_rivers.png", dpi=100)


def draw_stored(folder: Path, quick: bool) -> None:
    """Draw the pictures of measurements that other programs have stored, into the documentation."""
    from benchmarks import scaling

    if folder != FIGURES:
        return
    points = read_records(RESULTS / "scaling.csv", scaling.Point)
    scaling.plot(points, DOCS / "scaling.png")
    variants.draw()


OTHERS = {
    "robust_responses": draw_responses,
    "convergence": draw_convergence,
    "holdem": draw_holdem,
    "stored": draw_stored,
}
"""Pictures with a function of their own."""


def measure(name: str, folder: Path, *, quick: bool, processes: int) -> list[SweepRow]:
    """Run the missing part of a sweep."""
    figure, table = COMPARISONS[name], folder / f"{name}.csv"
    games, algorithms = figure.games, figure.algorithms
    budget = figure.quick if quick else figure.full
    if figure.runs > 1 and not table.exists():
        _write_fastest(table, games, algorithms, budget, 2 if quick else figure.runs)
    return sweep(table, games, algorithms, seeds=range(figure.seeds), processes=processes, **budget)


def _write_fastest(
    table: Path, games: Sequence[str], algorithms: Sequence[str], budget: dict[str, Any], runs: int
) -> None:
    """Write the table of the fastest of several sweeps: other programs only make one slower."""
    trials = [table.with_suffix(f".{run}.csv") for run in range(runs)]
    seconds = {}
    for trial in trials:
        ends = curves(sweep(trial, games, algorithms, **budget)).values()
        seconds[trial] = sum(seeds[0][-1].seconds for seeds in ends)
    min(trials, key=lambda trial: seconds[trial]).rename(table)
    for trial in trials:
        trial.unlink(missing_ok=True)


def draw_comparison(name: str, folder: Path, *, quick: bool, processes: int) -> None:
    """Run a sweep and draw it."""
    figure = COMPARISONS[name]
    rows = measure(name, folder, quick=quick, processes=processes)
    if figure.beside:
        rows += measure(figure.beside, folder, quick=quick, processes=processes)
    drawn = sweep_curves(rows, x=figure.x, title=figure.title, note=figure.caption)
    for marker, (x, y) in figure.marks.items():
        drawn.axes[0].plot(x, y, marker, color="black", ms=7, mew=1.5)
    save_picture(drawn, folder / f"{name}.png")
    print(f"{name}: wrote {folder / name}.csv, .png and .svg")


def main() -> None:
    """Run a sweep and draw it."""
    known = [*COMPARISONS, *CHARTS, *TREES, *OTHERS]
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="in seconds, into build/quick")
    parser.add_argument("--out", type=Path, help="folder; by default docs/figures, and the page")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known)}")
    parser.add_argument(
        "--processes", type=int, default=1, help="solves at a time; more than 1 disturbs seconds"
    )
    parser.add_argument(
        "--again", action="store_true", help="measure figures with an axis of seconds again"
    )
    options = parser.parse_args()
    if options.again:
        options.names = [name for name, one in COMPARISONS.items() if "seconds" in one.x]
    for name in options.names:
        if name not in known:
            parser.error(f"there is no figure {name!r}; there are: {', '.join(known)}")
    folder = options.out or (ROOT / "build" / "quick" if options.quick else FIGURES)
    folder.mkdir(parents=True, exist_ok=True)
    besides = {one.beside for one in COMPARISONS.values()}
    for name in options.names or [name for name in known if name not in besides]:
        if options.again:
            (folder / f"{name}.csv").unlink(missing_ok=True)
        if name in OTHERS:
            OTHERS[name](folder, options.quick)
        elif name in COMPARISONS:
            draw_comparison(name, folder, quick=options.quick, processes=options.processes)
        elif name in TREES:
            record, deal, last = TREES[name]
            walked = walkthrough(compile_game("kuhn"), record, iters=last, deal=deal)
            save_picture(iteration_tree(walked.iterations[-1]), folder / f"{name}.png")
        else:
            game, draw, full, quick = CHARTS[name]
            solution = solve(compile_game(game), "cfr+", iters=quick if options.quick else full)
            save_picture(draw(solution), folder / f"{name}.png")
            print(f"{name}: wrote {folder / name}.png and .svg")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
