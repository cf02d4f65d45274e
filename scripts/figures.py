"""The pictures of docs/figures: the field's classic comparisons, each one sweep and one picture.

python scripts/figures.py                 all of them, at full scale, into docs/figures
python scripts/figures.py --quick         at a scale of seconds, into build/figures
python scripts/figures.py kuhn_nodes ...  only these

Each sweep goes on where it stopped; remove its CSV to measure again.  What needs a game or an
algorithm that this version does not have is left out, with a line that says so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorcfr import GameError, compile_game, solve
from tensorcfr.errors import SweepError
from tensorcfr.games import make_game
from tensorcfr.plots import kuhn_stages, strategy_chart, sweep_curves
from tensorcfr.sweep import read_algorithm, read_sweep, sweep

ROOT = Path(__file__).resolve().parent.parent


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
        "Bluff(1,1): CFR, CFR+ and chance sampling",
        ("bluff(dice=(1, 1))",),
        ("cfr", "cfr+", "chance_sampling"),
        full={"nodes": 4_000_000_000},
        quick={"nodes": 200_000_000},
        seeds=3,
    ),
    "bluff_2_2_nodes": Comparison(
        "Bluff(2,2): CFR, CFR+ and chance sampling",
        ("bluff(dice=(2, 2))",),
        ("cfr", "cfr+", "chance_sampling"),
        full={"time_limit": 120.0},
        quick={"time_limit": 5.0},
        seeds=3,
    ),
    "leduc_sampling": Comparison(
        "Leduc poker: public chance sampling beside chance and external sampling",
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


def _kuhn_chart(path: Path, iterations: int) -> None:
    kuhn_stages(solve(compile_game("kuhn"), "cfr+", iters=iterations), path=path)


def _leduc_chart(path: Path, iterations: int) -> None:
    strategy_chart(solve(compile_game("leduc"), "cfr+", iters=iterations), path=path)


def _bluff_chart(path: Path, iterations: int) -> None:
    game = compile_game("bluff(dice=(1, 1))")
    strategy_chart(solve(game, "cfr+", iters=iterations), path=path)


CHARTS: dict[str, tuple[Callable[[Path, int], None], int, int]] = {
    "kuhn_strategy": (_kuhn_chart, 100_000, 1000),
    "leduc_strategy": (_leduc_chart, 100_000, 1000),
    "bluff_strategy": (_bluff_chart, 10_000, 500),
}
"""Strategies: what draws them, iterations at full scale and quick."""


def draw_comparison(name: str, folder: Path, *, quick: bool, processes: int) -> None:
    """One sweep and its picture, as far as this version can."""
    figure = COMPARISONS[name]
    games = [game for game in figure.games if _known(name, game, make_game)]
    algorithms = [spec for spec in figure.algorithms if _known(name, spec, read_algorithm)]
    if not games or not algorithms:
        print(f"{name}: skipped")
        return
    table = folder / f"{name}.csv"
    try:
        rows = sweep(
            table,
            games,
            algorithms,
            seeds=range(figure.seeds),
            processes=processes,
            **(figure.quick if quick else figure.full),
        )
    except SweepError as error:
        print(f"{name}: {error}")
        rows = read_sweep(table)
    if not rows:
        table.unlink()
        print(f"{name}: skipped")
        return
    sweep_curves(rows, x=figure.x, title=figure.title, path=folder / f"{name}.png")
    print(f"{name}: wrote {folder / name}.csv and .png")


def _known(name: str, spec: str, read: Callable[[str], object]) -> bool:
    """Whether this version has a game or an algorithm; says so if not."""
    try:
        read(spec)
    except (GameError, ValueError) as error:
        print(f"{name}: without {spec}: {error}")
        return False
    return True


def main() -> None:
    """Sweep and draw."""
    known = [*COMPARISONS, *CHARTS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known)}")
    parser.add_argument("--quick", action="store_true", help="at a scale of seconds")
    parser.add_argument("--out", type=Path, help="folder; by default docs/figures")
    parser.add_argument(
        "--processes", type=int, default=1, help="solves at a time; more than 1 disturbs seconds"
    )
    options = parser.parse_args()
    for name in options.names:
        if name not in known:
            parser.error(f"there is no figure {name!r}; there are: {', '.join(known)}")
    folder = options.out or ROOT / ("build/figures" if options.quick else "docs/figures")
    folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or known:
        if name in COMPARISONS:
            draw_comparison(name, folder, quick=options.quick, processes=options.processes)
        else:
            draw, full, quick = CHARTS[name]
            draw(folder / f"{name}.png", quick if options.quick else full)
            print(f"{name}: wrote {folder / name}.png")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
