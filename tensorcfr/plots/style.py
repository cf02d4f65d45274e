"""Common parts of all pictures: colours, line styles, names at the ends of lines, file formats.

Functions import matplotlib when called, without pyplot: no window opens, no global state changes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .._util.extras import needs
from ..errors import suggest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

Effort = Literal["iterations", "nodes", "decision_nodes", "learning_nodes", "seconds"]
"""Quantities for the x axis."""
X_AXES = {
    "iterations": ("iteration", "iterations (each updates every player once)"),
    "nodes": ("nodes_touched", "nodes touched (histories visited)"),
    "decision_nodes": ("decision_nodes_touched", "decision nodes touched"),
    "learning_nodes": (
        "learning_nodes",
        "decision nodes, once for all players who learn from a traversal",
    ),
    "seconds": ("seconds", "time spent iterating, without evaluations (seconds)"),
}
"""Field of a row, and axis label, by effort."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Palette of M. Okabe and K. Ito, 'Color universal design', 2008, which colour-blind people can
distinguish. Its yellow, which is pale on white paper, is omitted."""

DASHES: Sequence[Any] = (
    "solid",
    (0, (6, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (3, 1)),
    (0, (2, 2)),
    (0, (8, 1.5, 1.2, 1.5, 1.2, 1.5)),
)
"""Line styles, which keep lines apart in a grey print; as many as colours."""

TITLE_SIZE = 11.0
"""Font size of the title of a panel, in points."""

LABEL_SIZE = 9.0
"""Font size of the names at the line ends, in points."""

LABEL_X = 1.04
"""Left edge of the names, in widths of the axes; leaves room for a leader to a moved name."""

LINE_SPACING = 1.15
"""Height of a line of a name, in heights of its letters."""


CAPTION_SIZE = 7.0
"""Font size of the caption, in points."""

CAPTION_COLUMNS = 17.5
"""Characters of the caption per inch of the figure."""

End = tuple[str, str, float, float]
"""End of a line: name, colour, x and y."""

ORDER = (
    *("cfr", "cfr+", "dcfr", "dcfr+", "pcfr+", "pdcfr+", "sapcfr+"),
    *("idcfr+", "icfr", "icfr+", "apcfr+", "spcfr+", "rtcfr+", "hs-dcfr"),
    *("hs-pcfr+", "mmd", "chance_sampling", "external_sampling", "public_chance_sampling"),
    *("outcome_sampling", "hedge", "whole_traversal", "cfr-d", "dream", "lcfr", "sd-cfr"),
    *("deep-cfr", "paced-cfr+"),
)
"""Algorithms with a fixed :func:`line_style` in all pictures, which is their index here."""


def line_styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the style of every line of a picture.

    A published algorithm has a fixed style. Other names (with options, or user-defined algorithms)
    take the remaining styles, preferably in a colour that no other line of the picture has.
    """
    chosen = {name: ORDER.index(name) if name in ORDER else -1 for name in names}
    free = [k for k in range(len(COLOURS) * len(DASHES)) if k not in chosen.values()]
    for name, index in chosen.items():
        if index < 0 and free:
            colours = {k % len(COLOURS) for k in chosen.values() if k >= 0}
            index = next((k for k in free if k % len(COLOURS) not in colours), free[0])
            free.remove(index)
            chosen[name] = index
    return {name: line_style(max(index, 0)) for name, index in chosen.items()}


def line_style(index: int) -> dict[str, Any]:
    """Return the colour and dashes of a line; there are 49 combinations."""
    # Each round of colours shifts the dashes by one, so no combination repeats.
    turn, colour = divmod(index, len(COLOURS))
    return {
        "color": COLOURS[colour],
        "linestyle": DASHES[(colour + turn) % len(DASHES)],
        "linewidth": 1.8,
    }


def check_efforts(names: Iterable[str]) -> None:
    """Check the names of x axes before the work that they will show.

    Raises:
        ValueError: There is no such axis; names it and suggests similar names.
    """
    for name in names:
        if name not in X_AXES:
            raise ValueError(f"there is no x axis {name!r}; {suggest(name, X_AXES)}")


def check_format(path: str | Path | None) -> None:
    """Check the format of a picture before the work that it will show.

    Raises:
        ValueError: The suffix of the path is not a picture format.
        MissingExtraError: Matplotlib is not installed; the message names the extra.
    """
    if path is None:
        return
    bases = needs("matplotlib.backend_bases", "plot")
    known = bases.FigureCanvasBase.get_supported_filetypes()
    ending = Path(path).suffix.removeprefix(".").lower()
    if ending not in known:
        raise ValueError(
            f"cannot draw to {str(path)!r}: its ending must be one of .{', .'.join(sorted(known))}"
        )


def new_figure(width: float, height: float) -> Figure:
    """Return a figure without a window; its size is in inches.

    Raises:
        MissingExtraError: Matplotlib is not installed; the message names the extra.
    """
    figures = needs("matplotlib.figure", "plot")
    figure: Figure = figures.Figure(figsize=(width, height), dpi=150, layout="constrained")
    needs("matplotlib.backends.backend_agg", "plot").FigureCanvasAgg(figure)
    return figure


def figure_of(ax: Axes) -> Figure:
    """Return the outermost figure that axes belong to."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def axes_in(ax: Axes | None, width: float, height: float) -> tuple[Figure, Any]:
    """Return a figure and its axes: the given axes, or those of a new figure with a size in
    inches."""
    if ax is not None:
        return figure_of(ax), ax
    figure = new_figure(width, height)
    return figure, figure.add_subplot()


def written(figure: Figure, path: str | Path | None) -> Figure:
    """Save a figure if a path is given, and return the figure."""
    if path is not None:
        figure.savefig(path)
    return figure


def metric(players: set[int]) -> str:
    """Return the label of an exploitability axis, with definition and unit."""
    divisor = f"{min(players)} players" if len(players) == 1 else "players"
    return f"exploitability = nash_conv / {divisor}\n(units of utility)"


def light_grid(ax: Axes) -> None:
    """Draw a light grid without a box."""
    ax.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def caption(figure: Figure, text: str) -> None:
    """Write a caption in small print below the picture, wrapped to its width."""
    lines = textwrap.wrap(text, int(CAPTION_COLUMNS * figure.get_figwidth()))
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=CAPTION_SIZE, color="#444444")


def name_lines(ends: Mapping[Axes, Sequence[End]]) -> None:
    """Write the name of each line to the right of its axes.

    A name is as near to the height of its line's end as fits, in an order in which few leaders
    cross.
    """
    from matplotlib.text import Text

    labels = {
        ax: [_label(ax, end) for end in axes_ends] for ax, axes_ends in ends.items() if axes_ends
    }
    if not labels:
        return
    # Sizes of texts are known only after the layout, and the layout must reserve space for the
    # names. So write them first, and move them to their final heights afterwards.
    figure_of(next(iter(labels))).draw_without_rendering()
    for ax, axes_labels in labels.items():
        height = ax.get_window_extent().height
        rooms = [
            Text.get_window_extent(label).height * LINE_SPACING / height for label in axes_labels
        ]
        points = [_in_axes(ax, *label.xy) for label in axes_labels]
        for label, place in zip(axes_labels, uncrossed(points, rooms), strict=True):
            label.xyann = (LABEL_X, place)


def _label(ax: Axes, end: End) -> Annotation:
    """Write a name next to the axes, with a leader to the end of its line."""
    name, colour, end_x, end_y = end
    return ax.annotate(
        name,
        xy=(end_x, end_y),
        xytext=(LABEL_X, _in_axes(ax, end_x, end_y)[1]),
        textcoords="axes fraction",
        color=darker(colour),
        fontsize=LABEL_SIZE,
        verticalalignment="center",
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-",
            # A leader in the colour of the line would look like its continuation.
            "color": "#b0b0b0",
            "linewidth": 0.7,
            "relpos": (0.0, 0.5),
            "shrinkA": 2.0,
            "shrinkB": 1.0,
        },
    )


def draw_line(
    ax: Axes,
    name: str,
    x: Sequence[float],
    y: Sequence[float],
    style: Mapping[str, Any],
    *,
    band: tuple[Sequence[float], Sequence[float]] | None = None,
) -> End:
    """Draw a line with a dot at its end, and a band around it; return the end of the line."""
    colour = str(style["color"])
    ax.plot(x, y, **style)
    ax.plot(x[-1:], y[-1:], "o", color=colour, markersize=4, clip_on=False)
    if band is not None:
        ax.fill_between(x, *band, color=colour, alpha=0.2, linewidth=0)
    return name, colour, x[-1], y[-1]


def log_axes(ax: Axes) -> None:
    """Draw a light grid and set two log scales."""
    light_grid(ax)
    ax.set_xscale("log")
    ax.set_yscale("log")


def fix_scales(ax: Axes, right: float) -> None:
    """Fix the limits of the axes, so that names keep their heights; leave no margin on the
    right."""
    ax.set_xlim(ax.get_xlim()[0], right)
    ax.set_ylim(ax.get_ylim())


def save_picture(
    figure: Figure, path: Path, ends: Mapping[Axes, Sequence[End]] | None = None
) -> None:
    """Write a picture of the documentation as ``.png``, and as ``.svg`` for print next to it.

    The same picture gives the same bytes.

    Args:
        figure: The picture.
        path: Path of the bitmap.
        ends: Ends of the lines whose names are still to be written, as for :func:`name_lines`.
    """
    import matplotlib as mpl

    for ax in ends or {}:
        fix_scales(ax, ax.dataLim.x1)
    name_lines(ends or {})
    figure.savefig(path, metadata={"Software": None})
    # Without a salt, matplotlib gives SVG elements random ids.
    with mpl.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None, "Creator": None})


def _in_axes(ax: Axes, x: float, y: float) -> tuple[float, float]:
    """Return a data point in axes coordinates, from 0 to 1."""
    point = ax.transAxes.inverted().transform(ax.transData.transform((x, y)))
    return float(point[0]), float(point[1])


def uncrossed(points: Sequence[tuple[float, float]], rooms: Sequence[float]) -> list[float]:
    """Return places as :func:`spread` does, for names with leaders from points on their left.

    Neighbouring names are exchanged as long as that reduces the number of crossings.
    """
    wanted = [y for _, y in points]
    order = sorted(range(len(points)), key=lambda i: wanted[i])
    places = spread(wanted, rooms, order)
    fewest = _crossings(points, places)
    improves = True
    while fewest and improves:
        improves = False
        for k in range(len(order) - 1):
            tried = [*order[:k], order[k + 1], order[k], *order[k + 2 :]]
            new_places = spread(wanted, rooms, tried)
            if (crossings := _crossings(points, new_places)) < fewest:
                order, places, fewest, improves = tried, new_places, crossings, True
    return places


def _crossings(points: Sequence[tuple[float, float]], places: Sequence[float]) -> int:
    """Return the number of pairs of leaders that cross."""

    def height(k: int, x: float) -> float:
        own_x, own_y = points[k]
        return own_y + (places[k] - own_y) * (x - own_x) / (LABEL_X - own_x)

    count = 0
    for i, j in combinations(range(len(points)), 2):
        # Compare the leaders where both exist: from the later start up to the names.
        x = max(points[i][0], points[j][0])
        count += (height(i, x) - height(j, x)) * (places[i] - places[j]) < 0.0
    return count


def spread(
    wanted: Sequence[float], rooms: Sequence[float], order: Sequence[int] | None = None
) -> list[float]:
    """Return places from 0 to 1, near the wanted ones, with enough space for each name.

    The sum of squared moves is minimised by pooling adjacent violators. The distance between two
    neighbours is at least half the sum of their heights.

    Args:
        wanted: Wanted places.
        rooms: Heights of the names.
        order: Indices of the names, the lowest first; by default sorted by wanted place.
    """
    if order is None:
        order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    # Subtracting the smallest offsets turns the distances into a condition of monotony: levels
    # must not decrease, which pooling adjacent violators solves.
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


def darker(colour: str) -> str:
    """Return a colour at two thirds of its brightness: thin letters need more contrast than
    lines."""
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{channel * 2 // 3:02x}" for channel in channels)
