"""Time per iteration from games that fit the first cache level to games that fill memory.

``python -m benchmarks.scaling`` writes ``docs/scaling.png`` and ``benchmarks/results/scaling.csv``.
The time per sequence is comparable in games that grow by public actions: Leduc with any number of
raises has five payoff entries per sequence.  With more private hands, the entries per sequence grow
(to 250 in Kuhn poker with 200 cards).  ``--quick`` leaves out the largest games.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import tensorcfr
from scripts._pages import write_rows
from tensorcfr.payoff import PayoffBlocks, PayoffEntries
from tensorcfr.plots.style import TITLE_SIZE, line_style, log_axes, new_figure, save_picture
from tensorcfr.solvers.solver import bytes_needed

from ._common import (
    RESULTS,
    ROOT,
    Timing,
    cache_level,
    duration,
    interleaved,
    machine,
    machine_lines,
    megabytes,
    progress,
    table,
)

FAMILIES = {
    "leduc, raise cap 1 to 64": [
        f"leduc(raise_cap={cap})" for cap in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
    ],
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
    "liar's dice, 3 to 10 faces": [f"liars_dice(faces={faces})" for faces in range(3, 11)],
    "liar's dice, 2 dice, 2 to 5 faces": [
        f"liars_dice(dice=(2, 2), faces={faces})" for faces in range(2, 6)
    ],
    "Bluff, 1 and 2 dice": [f"bluff(dice={dice})" for dice in ((1, 1), (2, 1), (2, 2))],
    "no-limit Leduc, stack 4 to 20": [f"nl_leduc(stack={stack})" for stack in (4, 6, 9, 13, 20)],
    "goofspiel, 3 to 6 cards": [f"goofspiel(cards={cards})" for cards in range(3, 7)],
}
LARGEST = ("bluff(dice=(2, 2))", "liars_dice(dice=(2, 2), faces=5)", "leduc(raise_cap=64)")
"""Left out by ``--quick``."""
MARKERS = {"L1": "o", "L2": "s", "L3": "D", "memory": "*"}


@dataclass(frozen=True)
class Point:
    """One game, measured."""

    family: str
    game: str
    histories: int
    infosets: int
    solved_sequences: int
    """Sequences that the solver sweeps: symmetries merged, decisions without a choice left out."""
    payoff_entries: int
    block_terminals: int
    memory_bytes: int
    """Compiled game and solver, all arrays."""
    compile_seconds: float
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
        return self.seconds / self.solved_sequences * 1e9


def measure(*, quick: bool) -> Iterator[Point]:
    """Yield every game of every family that fits into memory."""
    for family, specs in FAMILIES.items():
        for spec in specs:
            if quick and spec in LARGEST:
                continue
            progress(f"{spec} …")
            try:
                started = time.process_time()
                game = tensorcfr.compile_game(spec, cut=False)
                compiling = time.process_time() - started
                solver = tensorcfr.Solver(game, "cfr")
            except tensorcfr.MemoryLimitError as error:
                progress(f"  left out: {error}")
                continue
            timing: Timing = interleaved({"": solver.iterate})[""]
            form = game.solver_form
            entries, blocks = form.part(PayoffEntries), form.part(PayoffBlocks)
            arrays = [*(array for part in form.operator for array in part), form.infoset_parent]
            # Regrets, averages, strategies, reaches and values.
            working_set = sum(array.nbytes for array in arrays) + 5 * 8 * form.n_sequences
            yield Point(
                family=family,
                game=game.name,
                histories=game.n_histories,
                infosets=game.n_infosets,
                solved_sequences=form.n_sequences,
                payoff_entries=0 if entries is None else len(entries.value),
                block_terminals=0 if blocks is None else len(blocks.coefficient),
                memory_bytes=game.nbytes + bytes_needed(game, solver.algorithm),
                compile_seconds=compiling,
                working_set_bytes=working_set,
                level=cache_level(working_set),
                seconds=timing.seconds,
                disturbance=timing.disturbance,
            )


def plot(points: list[Point], path: Path) -> None:
    """Draw the chart."""
    from matplotlib.lines import Line2D

    figure = new_figure(12.5, 5.0)
    axes = figure.subplots(1, 2)
    panels = (
        ("seconds per iteration", [point.seconds for point in points]),
        ("bytes of game and solver", [float(point.memory_bytes) for point in points]),
    )
    ends = {}
    for axis, (label, values) in zip(axes, panels, strict=True):
        log_axes(axis)
        ends[axis] = []
        for k, family in enumerate(FAMILIES):
            own = [i for i, point in enumerate(points) if point.family == family]
            x, y = [points[i].infosets for i in own], [values[i] for i in own]
            style = line_style(k) | {"linewidth": 1.0}
            axis.plot(x, y, **style)
            for i in own:
                marker = MARKERS.get(points[i].level, "o")
                at = points[i].infosets, values[i]
                axis.plot(*at, marker, color=style["color"], markersize=5)
            ends[axis].append((family.replace(", ", ",\n", 1), str(style["color"]), x[-1], y[-1]))
        axis.set(xlabel="infosets of the game", ylabel=label)
    levels = [
        Line2D([], [], color="grey", marker=marker, linestyle="", label=level)
        for level, marker in MARKERS.items()
    ]
    figure.legend(
        handles=levels,
        title="working set fits in",
        frameon=False,
        fontsize=8,
        loc="outside lower center",
        ncols=len(levels),
    )
    title = "One CFR iteration as games grow (alternating, float64, one core)"
    figure.suptitle(title, x=0.01, ha="left", fontsize=TITLE_SIZE)
    save_picture(figure, path, ends)


def listing(points: list[Point]) -> str:
    """Return all points as a table."""
    return table(
        [
            "game",
            "histories",
            "infosets",
            "sequences swept",
            "payoff entries",
            "terminals in blocks",
            "memory",
            "level",
            "compile",
            "iteration",
            "ns per sequence",
        ],
        [
            [
                point.game,
                f"{point.histories:,}",
                f"{point.infosets:,}",
                f"{point.solved_sequences:,}",
                f"{point.payoff_entries:,}",
                f"{point.block_terminals:,}",
                megabytes(point.memory_bytes),
                point.level,
                duration(point.compile_seconds),
                duration(point.seconds),
                f"{point.per_sequence:.1f}",
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
    rows = [asdict(point) | {"ns_per_sequence": point.per_sequence} for point in points]
    write_rows(RESULTS / "scaling.csv", rows)
    plot(points, ROOT / "docs" / "scaling.png")
    print(machine_lines(machine()))
    print()
    print(listing(points))


if __name__ == "__main__":
    main()
