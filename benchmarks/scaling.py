"""Time per iteration from games that fit the first cache level to games that fill memory.

``python -m benchmarks.scaling`` writes ``docs/scaling.png`` and ``benchmarks/results/scaling.csv``
and judges the goal: beyond the first cache level, the time per iteration and sequence stays
within a factor of two.  That is fair where games grow by public actions: Leduc with more and
more raises has five payoff entries per sequence throughout.  Where private hands grow in number
there are more and more entries per sequence (two hundred and fifty in Kuhn poker with 200
cards), so the time per sequence *and payoff entry* is shown too.
``--quick`` leaves out the largest games.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import tensorcfr

from ._common import (
    RESULTS,
    ROOT,
    TIMES,
    Timing,
    cache_level,
    duration,
    interleaved,
    machine,
    machine_lines,
    megabytes,
    progress,
    table,
    traffic,
)

CONSTANT = "leduc, raise cap 1 to 64"
"""The family whose payoff entries per sequence stay the same: the goal is judged on it."""
FAMILIES = {
    CONSTANT: [f"leduc(raise_cap={cap})" for cap in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)],
    "kuhn, 3 to 200 cards": [f"kuhn(cards={cards})" for cards in (3, 6, 13, 30, 60, 100, 200)],
    "leduc, 2 to 13 ranks": [
        f"leduc(ranks={ranks}, suits={suits})"
        for ranks, suits in (
            (2, 2),
            (3, 2),
            (4, 2),
            (5, 2),
            (6, 2),
            (8, 2),
            (8, 3),
            (8, 4),
            (13, 4),
        )
    ],
    "liar's dice, 3 to 8 faces": [f"liars_dice(faces={faces})" for faces in range(3, 9)],
    "goofspiel, 3 to 6 cards": [f"goofspiel(cards={cards})" for cards in range(3, 7)],
}
LARGEST = ("leduc(ranks=13, suits=4)", "liars_dice(faces=8)", "leduc(raise_cap=64)")
"""Left out by ``--quick``: they take 2 GB and ten seconds each to compile."""
FACTOR = 2.0
MARKERS = {"L1": "o", "L2": "s", "L3": "D", "memory": "*"}


@dataclass(frozen=True)
class Point:
    """One game, measured."""

    family: str
    game: str
    histories: int
    sequences: int
    payoff_entries: int
    working_set_bytes: int
    level: str
    """The fastest level of memory that holds the working set."""
    seconds: float
    """Median CPU seconds per iteration."""
    disturbance: float
    """Wall time over CPU time."""

    @property
    def per_sequence(self) -> float:
        """Nanoseconds per iteration and sequence."""
        return self.seconds / self.sequences * 1e9

    @property
    def per_element(self) -> float:
        """Nanoseconds per iteration and sequence or payoff entry."""
        return self.seconds / (self.sequences + self.payoff_entries) * 1e9


def measure(*, quick: bool) -> Iterator[Point]:
    """Every game of every family that fits."""
    for family, specs in FAMILIES.items():
        for spec in specs:
            if quick and spec in LARGEST:
                continue
            progress(f"{spec} …")
            try:
                game = tensorcfr.compile_game(spec)
                solver = tensorcfr.Solver(game, "cfr")
            except tensorcfr.MemoryLimitError as error:
                progress(f"  left out: {error}")
                continue
            timing: Timing = interleaved({"": solver.step})[""]
            working_set = traffic(game).working_set
            yield Point(
                family=family,
                game=game.name,
                histories=game.n_histories,
                sequences=game.n_sequences,
                payoff_entries=len(game.form.payoff_value),
                working_set_bytes=working_set,
                level=cache_level(working_set),
                seconds=timing.seconds,
                disturbance=timing.disturbance,
            )


def verdict(points: list[Point]) -> str:
    """Largest over smallest time per sequence, beyond the first cache level."""
    beyond = [point for point in points if point.level != "L1"]
    lines = []

    def spread(name: str, chosen: list[Point]) -> None:
        if len(chosen) < 2:
            return
        cells = []
        for what, times in (
            ("per sequence", [point.per_sequence for point in chosen]),
            ("per sequence and payoff entry", [point.per_element for point in chosen]),
        ):
            factor = max(times) / min(times)
            mark = "within" if factor <= FACTOR else "beyond"
            cells.append(
                f"{what} {min(times):.2f} to {max(times):.2f} ns, "
                f"{factor:.1f}{TIMES} ({mark} {FACTOR:g}{TIMES})"
            )
        lines.append(f"{name}: {'; '.join(cells)}")

    for family in FAMILIES:
        spread(family, [point for point in beyond if point.family == family])
    spread("all games", beyond)
    return f"Beyond the first cache level (the goal is on {CONSTANT}, per sequence):\n" + "\n".join(
        f"  {line}" for line in lines
    )


def plot(points: list[Point], path: Path) -> None:
    """The chart."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter, ScalarFormatter

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    panels = (
        ("ns per sequence", [point.per_sequence for point in points]),
        ("ns per sequence and payoff entry", [point.per_element for point in points]),
    )
    for axis, (label, times) in zip(axes, panels, strict=True):
        for k, family in enumerate(FAMILIES):
            own = [i for i, point in enumerate(points) if point.family == family]
            x = [points[i].sequences for i in own]
            axis.plot(x, [times[i] for i in own], color=f"C{k}", linewidth=1, label=family)
            for i in own:
                axis.plot(
                    points[i].sequences,
                    times[i],
                    color=f"C{k}",
                    marker=MARKERS.get(points[i].level, "o"),
                )
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("sequences")
        axis.set_ylabel(label)
        axis.yaxis.set_major_formatter(ScalarFormatter())
        axis.yaxis.set_minor_formatter(
            FuncFormatter(lambda y, _: f"{y:g}" if f"{y:e}"[0] in "25" else "")
        )
        axis.grid(which="both", alpha=0.2)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    levels = [
        Line2D([], [], color="grey", marker=marker, linestyle="", label=level)
        for level, marker in MARKERS.items()
    ]
    axes[1].legend(
        handles=levels, title="working set fits in", frameon=False, fontsize=8, loc="best"
    )
    figure.suptitle("One CFR iteration as games grow (alternating, float64, one core)")
    figure.savefig(path, dpi=150, metadata={"Software": None})
    plt.close(figure)


def listing(points: list[Point]) -> str:
    """All points as a table."""
    return table(
        [
            "game",
            "histories",
            "sequences",
            "payoff entries",
            "working set",
            "level",
            "iteration",
            "ns per sequence",
            "ns per sequence and entry",
        ],
        [
            [
                point.game,
                f"{point.histories:,}",
                f"{point.sequences:,}",
                f"{point.payoff_entries:,}",
                megabytes(point.working_set_bytes),
                point.level,
                duration(point.seconds),
                f"{point.per_sequence:.1f}",
                f"{point.per_element:.2f}",
            ]
            for point in points
        ],
    )


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the largest games")
    options = parser.parse_args()
    points = list(measure(quick=options.quick))
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / "scaling.csv").open("w", newline="") as file:
        writer = csv.DictWriter(
            file, [*asdict(points[0]), "ns_per_sequence", "ns_per_element"], lineterminator="\n"
        )
        writer.writeheader()
        for point in points:
            writer.writerow(
                asdict(point)
                | {"ns_per_sequence": point.per_sequence, "ns_per_element": point.per_element}
            )
    plot(points, ROOT / "docs" / "scaling.png")
    print(machine_lines(machine()))
    print()
    print(listing(points))
    print()
    print(verdict(points))


if __name__ == "__main__":
    main()
