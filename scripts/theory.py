"""Measure statements of the theory of CFR: pictures and tables of docs/results/tutorials.md.

    python -m scripts.theory            all of them, a minute
    python -m scripts.theory --quick    the same in seconds, into build/quick

The tables of the page stand between comments with their names, and are written anew; the rest of
the page is written by hand.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks._common import process_bytes, table
from tensorcfr import Policy, Solver, compile_game, evaluate, solve
from tensorcfr._util.hardware import machine, versions
from tensorcfr.algorithms import CFR, CFR_PLUS, EXTERNAL_SAMPLING
from tensorcfr.analysis import regrets
from tensorcfr.plots.style import (
    COLOURS,
    LABEL_SIZE,
    TITLE_SIZE,
    darker,
    draw_line,
    line_style,
    line_styles,
    log_axes,
    metric,
    new_figure,
    save_picture,
)
from tensorcfr.sweep import read_algorithm

from ._pages import ROOT, folder_of, publish, scaled_arguments

SLOPE_GAMES = ("kuhn", "leduc", "goofspiel(cards=4)", "liars_dice(faces=4)")
SLOPE_ALGORITHMS = ("cfr(alternating=False)", "cfr", "cfr+", "dcfr", "pcfr+", "hedge", "egt")


def _panels(columns: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a picture of several panels side by side."""
    figure = new_figure(5.6 * columns, 3.8)
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def _marks(last: int, per_ten: int = 8) -> list[int]:
    """Return iterations, evenly spaced on a logarithmic axis."""
    count = int(per_ten * np.log10(last)) + 1
    return sorted({round(m) for m in np.geomspace(1, last, count)})


# ------------------------------------------------------------------------------------- cycling


def cycle(folder: Path, quick: bool) -> None:
    """Draw last iterates, which cycle, and averages, which converge to the equilibrium."""
    game = compile_game("biased_rock_paper_scissors")
    iterations = 2_000 if quick else 20_000
    solver = Solver(game, CFR(alternating=False))
    last, average = [], []
    for _ in range(iterations):
        solver.iterate()
        last.append(solver.current_policy().probabilities[1:4])
        average.append(solver.average_policy().probabilities[1:4])
    exact = solve(game, "lp").policy.probabilities[1:4]
    corners = np.array([(0.0, 0.0), (1.0, 0.0), (0.5, np.sqrt(0.75))])
    names = list(game.infoset_actions[0])

    figure, axes = _panels(2)
    for panel, points, title in (
        (axes[0], last, "The strategy of each iteration"),
        (axes[1], average, "The average so far"),
    ):
        panel.plot(*np.vstack([corners, corners[:1]]).T, color="0.6", linewidth=1)
        panel.plot(*(np.array(points) @ corners).T, color=COLOURS[0], linewidth=0.6)
        panel.plot(*(exact @ corners), "o", color=COLOURS[1])
        panel.annotate(
            "equilibrium",
            exact @ corners,
            (14, 12),
            textcoords="offset points",
            color=darker(COLOURS[1]),
            fontsize=LABEL_SIZE,
        )
        for corner, name, shift in zip(corners, names, (-0.06, -0.06, 0.03), strict=True):
            panel.text(corner[0], corner[1] + shift, name, ha="center", fontsize=LABEL_SIZE)
        panel.set_title(title, loc="left", fontsize=TITLE_SIZE)
        panel.set(xlim=(-0.1, 1.1), ylim=(-0.12, 1.0), aspect="equal")
        panel.axis("off")
    save_picture(figure, folder / "theory_cycle.png")


# ------------------------------------------------------------------------- dominated actions


def dominated(folder: Path, quick: bool) -> None:
    """Draw the probability of actions that no equilibrium of Kuhn poker uses."""
    game = compile_game("kuhn")
    last = 1_000 if quick else 100_000
    wrong = {"Kb pass": ("Kb", "pass"), "Jb bet": ("Jb", "bet"), "Q bet": ("Q", "bet")}
    marks = _marks(last)
    found: dict[tuple[str, str], list[float]] = {}
    for algorithm in ("cfr", "cfr+"):
        solver, done = Solver(game, algorithm), 0
        for mark in marks:
            solver.iterate(mark - done)
            done = mark
            policy = solver.average_policy()
            for name, (infoset, action) in wrong.items():
                found.setdefault((algorithm, name), []).append(policy[infoset][action])

    figure, axes = _panels(2)
    ends = {}
    for panel, algorithm in zip(axes, ("cfr", "cfr+"), strict=True):
        log_axes(panel)
        ends[panel] = [
            draw_line(panel, name, marks, found[algorithm, name], line_style(number))
            for number, name in enumerate(wrong)
        ]
        panel.set_title(f"Kuhn poker, {algorithm}", loc="left", fontsize=TITLE_SIZE)
        panel.set_xlabel("iterations")
    axes[0].set_ylabel("probability in the average strategy")
    save_picture(figure, folder / "theory_dominated.png", ends)


# ---------------------------------------------------------------------------- regrets, bounds


def bounds(folder: Path, quick: bool) -> None:
    """Draw theorem 1 as an equality, and regrets with their bounds."""
    game, last = compile_game("leduc"), 200 if quick else 3_000
    marks = _marks(last)
    points = regrets(game, CFR(alternating=False), checkpoints=marks)
    solver, done, gaps = Solver(game, CFR(alternating=False, average_power=0)), 0, []
    for mark in marks:
        solver.iterate(mark - done)
        done = mark
        gaps.append(solver.evaluate().nash_conv)
    overall = [sum(point.average) for point in points]
    positive = [sum(point.immediate) for point in points]
    allowed = [sum(point.average_bound) for point in points]

    figure, (panel,) = _panels()
    log_axes(panel)
    named = {
        "bound:\n|I| \N{GREEK CAPITAL LETTER DELTA} \N{SQUARE ROOT}(|A| T) / T": allowed,
        "sum of positive\ninfoset regrets / T": positive,
        "sum of overall\nregrets / T;\ncircles: nash_conv": overall,
    }
    ends = [
        draw_line(panel, name, marks, values, line_style(number))
        for number, (name, values) in enumerate(named.items())
    ]
    panel.plot(marks, gaps, "o", ms=4, mfc="none", color="black")
    panel.set_title("Leduc poker, CFR, simultaneous updates", loc="left", fontsize=TITLE_SIZE)
    panel.set(xlabel="iterations T", ylabel="chips")
    save_picture(figure, folder / "theory_regrets.png", {panel: ends})


# ----------------------------------------------------------------------------------- slopes


def slopes(folder: Path, quick: bool) -> str:
    """Draw how fast exploitability falls: the slope on logarithmic axes."""
    last = 1_000 if quick else 30_000
    marks = [mark for mark in _marks(last) if mark >= last // 100]
    rows, shown = [], {}
    for spec in SLOPE_ALGORITHMS:
        row = [f"`{spec}`"]
        for name in SLOPE_GAMES:
            found = solve(
                compile_game(name), read_algorithm(spec), iters=last, checkpoints=marks
            ).trace
            values = [point.exploitability for point in found]
            # Below that, rounding.
            kept = [k for k, value in enumerate(values) if value > 1e-12]
            slope = np.polyfit(np.log(np.array(marks)[kept]), np.log(np.array(values)[kept]), 1)[0]
            row.append(f"{slope:.2f}")
            if name == "leduc":
                shown[spec] = values
        rows.append(row)

    figure, (panel,) = _panels()
    log_axes(panel)
    styles = line_styles(shown)
    ends = [
        draw_line(panel, name.replace("(", "\n("), marks, values, styles[name])
        for name, values in shown.items()
    ]
    start = 1.6 * max(values[0] for values in shown.values())
    guide = start * (np.array(marks) / marks[0]) ** -0.5
    panel.plot(marks, guide, color="0.6", linewidth=1)
    ends.append(("slope -1/2", "#999999", marks[-1], float(guide[-1])))
    panel.set_title("Leduc poker", loc="left", fontsize=TITLE_SIZE)
    panel.set(xlabel="iterations", ylabel=metric({2}))
    save_picture(figure, folder / "theory_slopes.png", {panel: ends})
    return table(["algorithm", *(f"`{name}`" for name in SLOPE_GAMES)], rows) + (
        f"\n\nSlope of a line through log exploitability against log iterations, from {marks[0]:,} "
        f"to {marks[-1]:,} iterations.  A guarantee of 1/√T is a slope of -0.5, one of 1/T a slope "
        "of -1."
    )


# -------------------------------------------------------------------------------------- targets

TARGETS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
TARGET_ALGORITHMS = ("paced-cfr+", "cfr+", "egt")
MOST = 200_000


def targets(folder: Path, quick: bool) -> str:
    """Count iterations to exploitabilities: their logarithm, or a power."""
    most = 2_000 if quick else MOST
    rows = []
    for name in SLOPE_GAMES:
        game = compile_game(name)
        for algorithm in TARGET_ALGORITHMS:
            row = [f"`{name}`", f"`{algorithm}`"]
            reached = True
            for target in TARGETS:
                # An algorithm that missed a target misses the next ones, too.
                if reached:
                    found = solve(game, algorithm, target=target, iters=most)
                    reached = found.exploitability <= target
                row.append(f"{found.iterations:,}" if reached else f"> {most:,}")
            rows.append(row)
    return table(["game", "algorithm", *(f"{target:g}" for target in TARGETS)], rows) + (
        "\n\nIterations until the exploitability was at or below the number, at checkpoints 25 per "
        f"factor of ten.  {versions()}."
    )


# --------------------------------------------------------------------------------- averaging


def averaging(folder: Path, quick: bool) -> str:
    """Measure bias and variance of the ways to sample an average."""
    game, seeds, last = compile_game("kuhn"), 20 if quick else 400, 300 if quick else 3_000
    rows = []
    for way in ("simple", "stochastic", "optimistic"):
        record = EXTERNAL_SAMPLING(averaging=way)
        found, earned = [], []
        for seed in range(seeds):
            solution = solve(game, record, iters=last, seed=seed)
            found.append(solution.policy.probabilities)
            earned.append(solution.exploitability)
        policies = np.array(found)
        mean = policies.mean(axis=0)
        rows.append(
            [
                f"`{way}`",
                f"{np.median(earned):.4f}",
                f"{np.std(earned):.4f}",
                f"{policies.std(axis=0).max():.4f}",
                f"{evaluate(game, Policy(game, mean)).exploitability:.5f}",
            ]
        )
    return (
        table(
            [
                "`averaging`",
                "exploitability, median",
                "its standard deviation",
                "largest standard deviation of a probability",
                "exploitability of the mean over seeds",
            ],
            rows,
        )
        + f"\n\nExternal sampling of Kuhn poker, {last:,} iterations, {seeds} seeds."
    )


# ------------------------------------------------------------------------------ last iterates


def solver_memory(delay: int, marks: Sequence[int]) -> None:
    """Print the memory that a solver takes up to the first mark, in MB, and the exploitability at
    all marks: of the average, or of the last iterate where the average never begins."""
    solver, found, taken = (
        Solver(compile_game("bluff(dice=(2, 1))"), CFR_PLUS(delay=delay)),
        [],
        0.0,
    )
    before = process_bytes("VmRSS")
    for mark in marks:
        solver.iterate(mark - solver.iteration)
        taken = taken or (process_bytes("VmRSS") - before) / 1e6
        judged = solver.evaluate_current() if delay else solver.evaluate()
        found.append(judged.exploitability)
    print(taken, *found)


def last(folder: Path, quick: bool) -> str:
    """Measure the cost of an average: a solver whose average never begins does not touch its
    array."""
    marks, rows = [2, 4] if quick else [100, 200, 300, 400, 1_000], []
    for name, delay in (("the average", 0), ("the last iterate, `delay=10**9`", 10**9)):
        call = f"from scripts.theory import solver_memory; solver_memory({delay}, {marks})"
        # In a process of its own, the second time: the first one may compile.
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", call], cwd=ROOT, capture_output=True, text=True, check=True
            )
        taken, *gaps = map(float, done.stdout.split())
        rows.append([name, f"{taken:.1f} MB", *(f"{gap:.2g}" for gap in gaps)])
    return table(["", "written by iterations", *(f"{mark:,}" for mark in marks)], rows) + (
        "\n\n`cfr+` on Bluff(2,1): the memory that iterations write, and exploitability by "
        "number of iterations."
    )


# -------------------------------------------------------------------------------------- main

PARTS: dict[str, Callable[[Path, bool], str | None]] = {
    "cycle": cycle,
    "dominated": dominated,
    "bounds": bounds,
    "slopes": slopes,
    "targets": targets,
    "averaging": averaging,
    "last": last,
}


def main() -> None:
    """Run the command line."""
    parser = scaled_arguments(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    options = parser.parse_args()
    folder = folder_of(options)
    found = {name: PARTS[name](folder, options.quick) for name in options.parts or PARTS}
    texts = {name: text for name, text in found.items() if text}  # Others have a picture alone.
    if not options.parts:
        texts["theory_said"] = f"{machine()}; {versions()}."
    publish("theory", texts, folder)


if __name__ == "__main__":
    main()
