"""Pictures; the extra ``tensorcfr[plot]``.

Matplotlib is imported inside the functions, and without pyplot: no window, no global state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .algorithms import ALGORITHMS, LinearProgram, Record
from .algorithms.records import describe
from .errors import MissingExtraError, suggest
from .solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

X_AXES = {
    "iterations": ("iteration", "iterations (each updates every player once)"),
    "nodes": ("nodes_touched", "nodes touched (histories visited)"),
    "seconds": ("seconds", "time spent iterating, evaluations not charged (seconds)"),
}
"""What can be on the x axis: the field of a trace point, and the axis label."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The palette of M. Okabe and K. Ito, 'Color universal design', 2008: told apart by everybody
(its yellow left out, which white paper swallows)."""

DASHES: Sequence[Any] = (
    "solid",
    (0, (6, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (3, 1)),
    (0, (1.2, 3)),
    (0, (8, 1.5, 1.2, 1.5, 1.2, 1.5)),
)
"""Line styles, so that a print in grey can be read; as many as colours."""

LABEL_SIZE = 9.0
"""Font size of the names at the line ends, in points."""

LABEL_X = 1.04
"""Where the names begin, in widths of the axes: room for a leader where one had to move."""

LINE_SPACING = 1.15
"""Room that a name takes, in heights of its letters."""


def convergence(
    solutions: Iterable[Solution],
    *,
    x: Literal["iterations", "nodes", "seconds"] = "iterations",
    path: str | Path | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Exploitability against effort, both on log scales, one line per solution.

    Exploitability is ``nash_conv / players``, in the game's own unit.  Checkpoints at which it
    or the effort is 0 have no place on a log scale and are left out; the title names a solution
    that has no others.

    Args:
        solutions: What to compare; usually one game solved by several algorithms.
        x: The effort: iterations, nodes touched, or seconds.
        path: File to write the picture to; its ending says the format.
        ax: Axes to draw on; by default a figure of its own.

    Returns:
        The figure; nothing is shown.

    Raises:
        ValueError: There is no solution, one without a trace, no such ``x``, or the ending of
            ``path`` is no picture format.
        MissingExtraError: Matplotlib is missing; says what installs it.
    """
    solutions = list(solutions)
    if x not in X_AXES:
        raise ValueError(f"there is no x axis {x!r}; {suggest(x, X_AXES)}")
    if not solutions:
        raise ValueError("there is no solution to draw")
    for solution in solutions:
        if not solution.trace:
            raise ValueError(f"the solution by {solution.algorithm} has no trace to draw")
    if path is not None:
        check_format(path)
    if ax is None:
        figure, ax = _new_figure()
    else:
        figure = ax.get_figure(root=True)  # type: ignore[assignment]

    attribute, x_label = X_AXES[x]
    ends, without = [], []
    for index, (solution, name) in enumerate(zip(solutions, _names(solutions), strict=True)):
        points = [
            (getattr(point, attribute), point.exploitability)
            for point in solution.trace
            if getattr(point, attribute) > 0 and point.exploitability > 0
        ]
        if not points:
            without.append(name)
            continue
        colour = COLOURS[index % len(COLOURS)]
        ax.plot(
            *zip(*points, strict=True),
            color=colour,
            linestyle=DASHES[index % len(DASHES)],
            linewidth=1.8,
            # A line of one point would be invisible.
            marker="o" if len(points) == 1 else None,
        )
        ends.append((name, colour, *points[-1]))
    _dress(ax, solutions, x_label, without)
    if ends:
        ax.set_xscale("log")
        ax.set_yscale("log")
        _name_lines(ax, ends)
    else:
        ax.set(xticks=[], yticks=[])
    if path is not None:
        figure.savefig(path)
    return figure


def check_format(path: str | Path) -> None:
    """Make sure that a picture can be written, before the work that it would show.

    Raises:
        ValueError: The ending is no picture format.
        MissingExtraError: Matplotlib is missing; says what installs it.
    """
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    known = FigureCanvasBase.get_supported_filetypes()
    ending = Path(path).suffix.removeprefix(".").lower()
    if ending not in known:
        raise ValueError(
            f"cannot draw to {str(path)!r}: its ending must be one of .{', .'.join(sorted(known))}"
        )


def _new_figure() -> tuple[Figure, Axes]:
    """A figure that belongs to nobody."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    figure = Figure(figsize=(7.2, 4.5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _names(solutions: Sequence[Solution]) -> list[str]:
    """The algorithm and what was changed in it; the game too where there are several."""
    names = [_name(solution.algorithm) for solution in solutions]
    if len({solution.game.name for solution in solutions}) == 1:
        return names
    return [f"{s.game.name}, {name}" for s, name in zip(solutions, names, strict=True)]


def _name(algorithm: Record) -> str:
    """``dcfr (alpha=2, simultaneous)``: the name, and where it departs from the published one."""
    published = ALGORITHMS.get(algorithm.name)
    if isinstance(algorithm, LinearProgram) or not isinstance(published, type(algorithm)):
        return str(algorithm)
    usual = published.options
    changes = [
        describe(key, value) for key, value in algorithm.options.items() if value != usual.get(key)
    ]
    return f"{algorithm.name} ({', '.join(changes)})" if changes else algorithm.name


def _dress(ax: Axes, solutions: Sequence[Solution], x_label: str, without: Sequence[str]) -> None:
    """Title, axis labels with definition and unit, a light grid."""
    games = list(dict.fromkeys(solution.game.name for solution in solutions))
    players = {solution.game.n_players for solution in solutions}
    divisor = f"{players.pop()} players" if len(players) == 1 else "players"
    title = ", ".join(games)
    if without:
        title += f"\n(not drawn, nothing above 0 for the log scales: {'; '.join(without)})"
    ax.set_title(title, loc="left", fontsize=11)
    ax.set_xlabel(x_label)
    ax.set_ylabel(f"exploitability = nash_conv / {divisor}\n(units of utility)")
    ax.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def _name_lines(ax: Axes, ends: Sequence[tuple[str, str, float, float]]) -> None:
    """Write each name right of the axes, level with its line's end or as near as there is room."""
    from matplotlib.text import Text

    figure = ax.get_figure(root=True)
    assert figure is not None
    # No scaling from here, or the names would leave their places; and no margin on their side.
    ax.set_xlim(ax.get_xlim()[0], max(end_x for _, _, end_x, _ in ends))
    ax.set_ylim(ax.get_ylim())
    labels = [
        ax.annotate(
            name,
            xy=(end_x, end_y),
            xytext=(LABEL_X, _height_in_axes(ax, end_y)),
            textcoords="axes fraction",
            color=_darker(colour),
            fontsize=LABEL_SIZE,
            verticalalignment="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.7,
                "alpha": 0.7,
                "relpos": (0.0, 0.5),
                "shrinkA": 2.0,
                "shrinkB": 1.0,
            },
        )
        for name, colour, end_x, end_y in ends
    ]
    # Sizes are known only when the layout is, and the layout makes room for the names.
    figure.draw_without_rendering()
    height = ax.get_window_extent().height
    rooms = [Text.get_window_extent(label).height * LINE_SPACING / height for label in labels]
    for label, place in zip(labels, _spread([lb.xyann[1] for lb in labels], rooms), strict=True):
        label.xyann = (LABEL_X, place)


def _height_in_axes(ax: Axes, y: float) -> float:
    """Where a value stands between the lower (0) and the upper (1) edge of the axes."""
    return float(ax.transAxes.inverted().transform(ax.transData.transform((1.0, y)))[1])


def _spread(wanted: Sequence[float], rooms: Sequence[float]) -> list[float]:
    """Places between 0 and 1 as near to those wanted as the room around each allows.

    The least sum of squared moves, by pooling adjacent violators; neighbours keep half of each
    one's room between them.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    offsets = [0.0]
    for lower, upper in pairwise(order):
        offsets.append(offsets[-1] + (rooms[lower] + rooms[upper]) / 2)
    pools: list[tuple[float, int]] = []
    for index, offset in zip(order, offsets, strict=True):
        pool = (wanted[index] - offset, 1)
        while pools and pools[-1][0] > pool[0]:
            mean, count = pools.pop()
            total = count + pool[1]
            pool = ((mean * count + pool[0] * pool[1]) / total, total)
        pools.append(pool)
    places = [0.0] * len(wanted)
    levels = (mean for mean, count in pools for _ in range(count))
    for index, offset, level in zip(order, offsets, levels, strict=True):
        places[index] = max(0.0, min(level, 1.0 - offsets[-1])) + offset
    return places


def _darker(colour: str) -> str:
    """The colour at two thirds of its light: thin letters need more contrast than lines."""
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{channel * 2 // 3:02x}" for channel in channels)
