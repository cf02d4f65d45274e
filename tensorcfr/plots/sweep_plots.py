"""Curves of a sweep: a panel for each game and effort, a line for each algorithm."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Sequence
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..solvers.solution import Status
from ..sweep import SweepRow, curves, read_sweep
from .style import (
    LABEL_SIZE,
    TITLE_SIZE,
    X_AXES,
    Effort,
    End,
    caption,
    check_efforts,
    check_format,
    darker,
    draw_line,
    fix_scales,
    line_styles,
    log_axes,
    metric,
    name_lines,
    new_figure,
    written,
)
from .titles import game_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_SIZE = (5.4, 3.5)
"""Size of a panel with its names, in inches."""

LONG_NAME = 16
"""Longest name that is written in one line, in characters."""

TITLE_PAD = 15.0
"""Points between a panel and its title, which leave space for the mark of an exact solution."""

EXACT = Status.EXACT.name.lower()
"""``SweepRow.status`` of an exact solution, which has a time but no curve."""


class _Curve(NamedTuple):
    """A line and the band around it."""

    x: list[float]
    median: list[float]
    low: list[float]
    high: list[float]


def sweep_curves(
    sweep: str | Path | Iterable[SweepRow],
    *,
    x: Sequence[Effort] = ("nodes", "seconds"),
    title: str | None = None,
    note: str = "",
    path: str | Path | None = None,
) -> Figure:
    """Draw exploitability against effort on log scales: a row per game, a column per effort.

    Several seeds are drawn as their median with a band from the smallest to the largest, at
    iterations with a checkpoint in every seed, and at their ends. An exact solution is a vertical
    line at its seconds.

    A curve against seconds begins at the first checkpoint at which iterating took at least half of
    the time.  Before, the axis would show the overhead of calls between checkpoints.

    Args:
        sweep: Path of a table of :func:`tensorcfr.sweep.sweep`, or its rows.
        x: Efforts: iterations, nodes touched, decision nodes touched, the same with each traversal
            counted once for all players who learn from it (``"learning_nodes"``), seconds.
        title: Title of the picture; without it, or with several games, each row of panels has the
            title of its game.
        note: Sentence at the start of the caption, before budget, machine and versions.
        path: File for the picture; its suffix gives the format.

    Returns:
        The figure, not shown.

    Raises:
        ValueError: ``sweep`` has no rows, ``x`` is unknown, the rows lack the effort (tables of
            earlier versions have no decision nodes), or the suffix of ``path`` is not a picture
            format.
        MissingExtraError: Matplotlib is not installed; the message names the extra.
    """
    check_efforts(x)
    check_format(path)
    rows = read_sweep(sweep) if isinstance(sweep, (str, Path)) else list(sweep)
    if not rows or not x:
        raise ValueError("there is nothing to draw" if x else "there is no x axis")
    for name in x:
        lacking = next((row for row in rows if getattr(row, X_AXES[name][0]) is None), None)
        if lacking:
            raise ValueError(
                f"the rows of {lacking.game} by {lacking.algorithm} are from a version without "
                f"{X_AXES[name][1]}: remove them and run the sweep again"
            )
    by_line = curves(rows)
    games = list(dict.fromkeys(game for game, _ in by_line))
    styles = line_styles(dict.fromkeys(algorithm for _, algorithm in by_line))
    figure = new_figure(PANEL_SIZE[0] * len(x), PANEL_SIZE[1] * len(games) + 0.7)
    panels = figure.subplots(len(games), len(x), squeeze=False)
    ends: dict[Axes, list[End]] = {}
    for line, game in zip(panels, games, strict=True):
        lines = {name: seeds for (owner, name), seeds in by_line.items() if owner == game}
        for effort, ax in zip(x, line, strict=True):
            ends[ax] = _draw(ax, lines, effort, styles)
            ax.set_xlabel(X_AXES[effort][1])
        players = {
            row.players for seeds in lines.values() for seed_rows in seeds for row in seed_rows
        }
        exact = any(seeds[0][-1].status == EXACT for seeds in lines.values())
        line[0].set_ylabel(metric(players))
        pad = TITLE_PAD if exact else None
        if title is None or len(games) > 1:
            line[0].set_title(game_title(game), loc="left", fontsize=TITLE_SIZE, pad=pad)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=TITLE_SIZE + 1)
    if "seconds" in x:
        note = f"{note} Seconds begin where iterating took half of them.".strip()
    caption(figure, _caption(rows, by_line, note))
    name_lines(ends)
    return written(figure, path)


def _draw(
    ax: Axes,
    lines: dict[str, list[list[SweepRow]]],
    effort: str,
    styles: dict[str, dict[str, object]],
) -> list[End]:
    """Draw the lines of a game against one effort; return their ends."""
    ends: list[End] = []
    right = 0.0
    attribute = X_AXES[effort][0]
    log_axes(ax)
    for name, seeds in lines.items():
        style = styles[name]
        colour = str(style["color"])
        if seeds[0][-1].status == EXACT:
            if effort == "seconds":
                right = max(right, 1.1 * _mark_exact(ax, name, colour, seeds[0][-1].seconds))
            continue
        if effort == "seconds":
            seeds = [_without_overhead(rows) for rows in seeds]
        curve = _curve(seeds, attribute)
        if not curve.x:
            continue
        band = (curve.low, curve.high) if len(seeds) > 1 else None
        ends.append(draw_line(ax, _wrapped(name), curve.x, curve.median, style, band=band))
        right = max(right, curve.x[-1])
    if right:
        fix_scales(ax, right)
    else:
        ax.set(xticks=[], yticks=[])
    return ends


def _curve(seeds: Sequence[Sequence[SweepRow]], attribute: str) -> _Curve:
    """Return the median effort and exploitability at common checkpoints of all seeds and at their
    ends.

    Points with effort or exploitability 0, which a log scale cannot show, are omitted.
    """
    by_iteration = [{row.iteration: row for row in seed_rows} for seed_rows in seeds]
    common = set(by_iteration[0]).intersection(*by_iteration[1:])
    groups = [
        [seed_by_iteration[iteration] for seed_by_iteration in by_iteration]
        for iteration in sorted(common)
    ]
    # A budget in nodes or seconds ends seeds at different iterations, which are not in common.
    if len({seed_rows[-1].iteration for seed_rows in seeds}) > 1:
        groups.append([seed_rows[-1] for seed_rows in seeds])
    curve = _Curve([], [], [], [])
    for group in groups:
        effort = statistics.median(getattr(row, attribute) for row in group)
        values = [row.exploitability for row in group]
        median = statistics.median(values)
        if effort > (curve.x[-1] if curve.x else 0) and median > 0:
            curve.x.append(effort)
            curve.median.append(median)
            curve.low.append(min(value for value in values if value > 0))
            curve.high.append(max(values))
    return curve


def _without_overhead(rows: Sequence[SweepRow]) -> list[SweepRow]:
    """Return the rows of a run without the first ones, whose seconds are mostly overhead.

    The last row gives the time of a node.  Seconds beyond that time are overhead.
    """
    last = rows[-1]
    if not last.nodes_touched:
        return list(rows)
    per_node = last.seconds / last.nodes_touched
    return list(dropwhile(lambda row: row.seconds > 2.0 * per_node * row.nodes_touched, rows))


def _wrapped(name: str) -> str:
    """Break a long name into lines, because names next to the axes make the axes narrower."""
    if len(name) <= LONG_NAME:
        return name
    return name.replace("(", "\n(", 1).replace(", ", ",\n ")


def _mark_exact(ax: Axes, name: str, colour: str, seconds: float) -> float:
    """Draw a vertical line at the seconds of an exact solution; return the seconds."""
    ax.axvline(seconds, color=colour, linewidth=1.2, linestyle=(0, (1.2, 1.2)))
    # The text is above the axes, because inside it would hide the curves.
    ax.annotate(
        f"{name}: exact after {seconds:.2g} s",
        xy=(seconds, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color=darker(colour),
        fontsize=LABEL_SIZE - 1,
        annotation_clip=False,
    )
    return seconds


def _caption(
    rows: Sequence[SweepRow], by_line: dict[tuple[str, str], list[list[SweepRow]]], note: str
) -> str:
    """Return definitions, budget, machine, versions and dates of the drawn rows, as a caption."""

    def all_of(attribute: str) -> str:
        return "; ".join(dict.fromkeys(getattr(row, attribute) for row in rows))

    sentences = [
        "nash_conv: sum over players of best-response value minus value, of the average strategy."
    ]
    counts = sorted({len(seeds) for seeds in by_line.values()} - {1})
    if counts:
        sentences.append(
            f"Line: median of {' or '.join(map(str, counts))} seeds; band: smallest to largest."
        )
    if note:
        sentences.append(note)
    budget = re.sub(r"\d{5,}", lambda number: f"{int(number[0]):,}", all_of("budget"))
    sentences.append(f"Each run to {budget}.")
    sentences.append(f"{all_of('machine')}; {all_of('versions')}; {all_of('date')}.")
    return " ".join(sentences)
