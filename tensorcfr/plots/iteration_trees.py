"""Picture of one iteration on the history tree, with the numbers of a walk-through."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis.walkthroughs import HistoryRow, Iteration
from .style import COLOURS, LABEL_SIZE, TITLE_SIZE, check_format, darker, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_DETAILED = 12
"""Largest number of terminal histories in a tree with all numbers of the infosets; in larger trees
infosets have only labels."""


def iteration_tree(iteration: Iteration, *, path: str | Path | None = None) -> Figure:
    """Draw an iteration of :func:`tensorcfr.analysis.walkthrough` on its history tree.

    Edges show the probabilities of actions at the start of the iteration; terminals and decisions
    show their values to the players. A decision shows its infoset. In small trees it also shows the
    infoset's regrets, strategy and strategy sum, before and after the iteration. Dotted lines join
    the histories of an infoset.

    Args:
        iteration: The iteration.
        path: File for the picture; its suffix gives the format.

    Returns:
        The figure, not shown.

    Raises:
        ValueError: The iteration shows no histories, or the suffix of ``path`` is not a picture
            format.
        MissingExtraError: Matplotlib is not installed; the message names the extra.
    """
    if path is not None:
        check_format(path)
    rows = {row.steps: row for row in iteration.histories}
    if not rows:
        raise ValueError(f"{iteration.title} shows no histories: fix a deal")
    height, ends = _heights(rows)
    detailed = ends <= MAX_DETAILED
    depth = max(map(len, rows))
    width, row_height = (2.8, 0.7) if detailed else (1.5, 0.25)
    figure = new_figure(width * (depth + 0.6), max(2.5, row_height * ends))
    ax = figure.add_subplot()
    infosets = {row.infoset: row for row in iteration.rows}
    infoset_histories: dict[str, list[tuple[str, ...]]] = {}
    for steps, row in rows.items():
        position = len(steps), height[steps]
        if steps:
            parent = rows[steps[:-1]]
            parent_position = len(steps) - 1, height[steps[:-1]]
            ax.plot(
                *zip(parent_position, position, strict=True),
                color="#b0b0b0",
                linewidth=0.8,
                zorder=1,
            )
            text = steps[-1]
            if parent.infoset in infosets:
                parent_row = infosets[parent.infoset]
                text += f" {parent_row.strategy[parent_row.actions.index(text)]:.3g}"
            middle = (
                0.42 * parent_position[0] + 0.58 * position[0],
                0.42 * parent_position[1] + 0.58 * position[1],
            )
            ax.annotate(text, middle, ha="center", va="center", **_SMALL)
        colour = "#404040"
        if row.infoset in infosets:
            colour = COLOURS[infosets[row.infoset].player % len(COLOURS)]
            infoset_histories.setdefault(row.infoset, []).append(steps)
        text = _numbers(row.value) if row.infoset is None else row.infoset
        if detailed and row.infoset in infosets:
            infoset_row = infosets[row.infoset]
            text += f":  {_numbers(row.value)}"
            for name, before, after in (
                ("regret", infoset_row.regret, infoset_row.new_regret),
                ("strategy", infoset_row.strategy, infoset_row.new_strategy),
                ("sum", infoset_row.strategy_sum, infoset_row.new_strategy_sum),
            ):
                text += f"\n{name} {_numbers(before)} \N{RIGHTWARDS ARROW} {_numbers(after)}"
        ax.annotate(
            text,
            position,
            ha="center",
            va="center",
            fontsize=LABEL_SIZE - (2 if detailed else 1),
            color=darker(colour),
            bbox={"boxstyle": "round,pad=0.25", "fc": "white", "ec": colour, "lw": 0.8}
            if row.infoset is not None
            else {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"},
            zorder=3,
        )
    # Dotted lines that would overlap get different lanes: a line takes the first lane whose last
    # line ends above its top (heights are negative and fall).
    lanes: dict[tuple[int, int], float] = {}
    for label, places in infoset_histories.items():
        top, bottom = height[places[0]], height[places[-1]]
        lane = next(k for k in count() if lanes.get((len(places[0]), k), 1.0) > top)
        lanes[len(places[0]), lane] = bottom
        # Lanes alternate around the middle of the column: 0, -1, +1, -2, +2 ...
        x = len(places[0]) + 0.055 * ((lane + 1) // 2) * (-1) ** lane
        colour = COLOURS[infosets[label].player % len(COLOURS)]
        ax.plot([x, x], [top, bottom], color=colour, linestyle=":", linewidth=1.1, zorder=2)
    ax.set_title(iteration.title, loc="left", fontsize=TITLE_SIZE)
    ax.set(xlim=(-0.45, depth + 0.15), ylim=(-ends + 0.4, 0.6))
    ax.axis("off")
    if path is not None:
        figure.savefig(path)
    return figure


_SMALL: dict[str, Any] = {
    "fontsize": LABEL_SIZE - 2,
    "color": "#404040",
    "bbox": {"boxstyle": "square,pad=0.05", "fc": "white", "ec": "none"},
}


def _heights(rows: dict[tuple[str, ...], HistoryRow]) -> tuple[dict[tuple[str, ...], float], int]:
    """Return the height of each history and the number of terminal histories.

    Terminal histories are one below the other; any other history is halfway between its first and
    its last child.
    """
    inner = {steps[:-1] for steps in rows if steps}
    height = {steps: -float(k) for k, steps in enumerate(s for s in rows if s not in inner)}
    ends = len(height)
    for steps in sorted(inner, key=len, reverse=True):
        below = [height[child] for child in rows if len(child) and child[:-1] == steps]
        height[steps] = (below[0] + below[-1]) / 2
    return height, ends


def _numbers(numbers: tuple[float, ...]) -> str:
    return ", ".join(f"{number + 0.0:.3g}" for number in numbers)
