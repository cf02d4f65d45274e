"""Convergence curves of single solves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..algorithms import ALGORITHMS, Record
from ..algorithms.registry import describe
from ..solvers.solution import Solution, TracePoint
from .style import (
    TITLE_SIZE,
    X_AXES,
    Effort,
    axes_in,
    check_efforts,
    check_format,
    fix_scales,
    light_grid,
    line_styles,
    metric,
    name_lines,
    written,
)
from .titles import game_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def convergence(
    solutions: Solution | Iterable[Solution],
    *,
    x: Effort = "iterations",
    path: str | Path | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw exploitability against effort, both on log scales, one line for each solution.

    Exploitability is ``nash_conv / players``, in the game's own unit. A log scale has no 0, so
    checkpoints with exploitability 0 or effort 0 are omitted. The title names solutions that
    have no other checkpoint.

    Args:
        solutions: A solution, or several to compare, usually of one game by several algorithms.
        x: Effort: iterations, nodes touched, decision nodes touched, the same with each traversal
            counted once for all players who learn from it (``"learning_nodes"``), or seconds.
        path: File for the picture; its suffix gives the format.
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The figure, not shown.

    Raises:
        ValueError: ``solutions`` is empty or one has no trace, ``x`` is unknown, or the suffix of
            ``path`` is not a picture format.
        MissingExtraError: Matplotlib is not installed; the message names the extra.
    """
    solutions = [solutions] if isinstance(solutions, Solution) else list(solutions)
    check_efforts([x])
    if not solutions:
        raise ValueError("there is no solution to draw")
    for solution in solutions:
        if not solution.trace:
            raise ValueError(f"the solution by {solution.algorithm} has no trace to draw")
    check_format(path)
    figure, ax = axes_in(ax, 7.2, 4.5)
    x_label = X_AXES[x][1]
    ends, without = [], []
    names = _names(solutions)
    # Styles are by name, and two solutions by one algorithm need two of them.
    styles = line_styles(
        f"{name} {index}" if name in names[:index] else name for index, name in enumerate(names)
    )
    for solution, name, style in zip(solutions, names, styles.values(), strict=True):
        points = [
            (effort, point.exploitability)
            for point in solution.trace
            if (effort := _effort(solution, point, x)) > 0 and point.exploitability > 0
        ]
        if not points:
            without.append(name)
            continue
        # A line of one point would be invisible.
        marker = "o" if len(points) == 1 else None
        ax.plot(*zip(*points, strict=True), **style, marker=marker)
        ends.append((name, style["color"], *points[-1]))
    title = "; ".join(dict.fromkeys(game_title(solution.game.name) for solution in solutions))
    if without:
        title += f"\n(not drawn, nothing above 0 for the log scales: {'; '.join(without)})"
    ax.set_title(title, loc="left", fontsize=TITLE_SIZE)
    ax.set_xlabel(x_label)
    ax.set_ylabel(metric({solution.game.n_players for solution in solutions}))
    light_grid(ax)
    if ends:
        ax.set_xscale("log")
        ax.set_yscale("log")
        fix_scales(ax, max(end_x for _, _, end_x, _ in ends))
        name_lines({ax: ends})
    else:
        ax.set(xticks=[], yticks=[])
    return written(figure, path)


def _effort(solution: Solution, point: TracePoint, x: Effort) -> float:
    """Return the effort of a solution up to a point of its trace."""
    if x == "learning_nodes":
        players = solution.game.n_players
        return solution.algorithm.learning_nodes(point.decision_nodes_touched, players)
    effort: float = getattr(point, X_AXES[x][0])
    return effort


def _names(solutions: Sequence[Solution]) -> list[str]:
    """Return a name for each solution: algorithm and options, and the game if games differ."""
    names = [_name(solution.algorithm) for solution in solutions]
    if len({solution.game.name for solution in solutions}) == 1:
        return names
    return [f"{s.game.name}, {name}" for s, name in zip(solutions, names, strict=True)]


def _name(algorithm: Record) -> str:
    """Return the algorithm's name with the options that were changed: ``dcfr (alpha=2)``."""
    published = ALGORITHMS.get(algorithm.name)
    if published is None or not algorithm.options:
        return str(algorithm)
    published_options = published.options
    changes = [
        describe(key, value)
        for key, value in algorithm.options.items()
        if value != published_options.get(key)
    ]
    return f"{algorithm.name} ({', '.join(changes)})" if changes else algorithm.name
