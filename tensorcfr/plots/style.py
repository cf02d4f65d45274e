"""What all pictures share: colours, line styles, names at the ends of lines, the file format.

Matplotlib is imported inside the functions, and without pyplot: no window, no global state.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

Effort = Literal["iterations", "nodes", "decision_nodes", "seconds"]
"""What can be on the x axis."""
X_AXES = {
    "iterations": ("iteration", "iterations (each updates every player once)"),
    "nodes": ("nodes_touched", "nodes touched (histories visited)"),
    "decision_nodes": ("decision_nodes_touched", "decision nodes touched"),
    "seconds": ("seconds", "time spent iterating, evaluations not charged (seconds)"),
}
"""For each, the field of a trace point or row, and the axis label."""

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


CAPTION_SIZE = 7.0
"""Font size of the caption, in points."""

CAPTION_COLUMNS = 17.5
"""Characters of the caption per inch of the figure."""

End = tuple[str, str, float, float]
"""Where a line ends: its name, its colour, x and y."""


def line_style(index: int) -> dict[str, Any]:
    """Colour and dashes of a line; 49 differ."""
    turn, colour = divmod(index, len(COLOURS))
    return {
        "color": COLOURS[colour],
        "linestyle": DASHES[(colour + turn) % len(DASHES)],
        "linewidth": 1.8,
    }


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


def new_figure(width: float, height: float) -> Figure:
    """A figure that belongs to nobody, its size in inches."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def figure_of(ax: Axes) -> Figure:
    """The figure that axes belong to, the outermost one."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def metric(players: set[int]) -> str:
    """The label of an axis that shows exploitability: its definition and its unit."""
    divisor = f"{min(players)} players" if len(players) == 1 else "players"
    return f"exploitability = nash_conv / {divisor}\n(units of utility)"


def light_grid(ax: Axes) -> None:
    """A grid that does not shout, and no box."""
    ax.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def caption(figure: Figure, text: str) -> None:
    """Small print below the picture, wrapped to its width."""
    lines = textwrap.wrap(text, int(CAPTION_COLUMNS * figure.get_figwidth()))
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=CAPTION_SIZE, color="#444444")


def name_lines(ends: Mapping[Axes, Sequence[End]]) -> None:
    """Write each name right of its axes, level with its line's end or as near as there is room."""
    from matplotlib.text import Text

    labels = {ax: [_label(ax, end) for end in own] for ax, own in ends.items() if own}
    if not labels:
        return
    figure = next(iter(labels)).get_figure(root=True)
    assert figure is not None
    # Sizes are known only when the layout is, and the layout makes room for the names.
    figure.draw_without_rendering()
    for ax, own in labels.items():
        height = ax.get_window_extent().height
        rooms = [Text.get_window_extent(label).height * LINE_SPACING / height for label in own]
        for label, place in zip(own, spread([lb.xyann[1] for lb in own], rooms), strict=True):
            label.xyann = (LABEL_X, place)


def _label(ax: Axes, end: End) -> Annotation:
    """A name beside the axes, with a line that leads to the end it belongs to."""
    name, colour, end_x, end_y = end
    return ax.annotate(
        name,
        xy=(end_x, end_y),
        xytext=(LABEL_X, _height_in_axes(ax, end_y)),
        textcoords="axes fraction",
        color=darker(colour),
        fontsize=LABEL_SIZE,
        verticalalignment="center",
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-",
            # Grey: in the line's own colour it would seem to go on.
            "color": "#b0b0b0",
            "linewidth": 0.7,
            "relpos": (0.0, 0.5),
            "shrinkA": 2.0,
            "shrinkB": 1.0,
        },
    )


def fix_scales(ax: Axes, right: float) -> None:
    """No scaling from here, or the names would leave their places; no margin on their side."""
    ax.set_xlim(ax.get_xlim()[0], right)
    ax.set_ylim(ax.get_ylim())


def _height_in_axes(ax: Axes, y: float) -> float:
    """Where a value stands between the lower (0) and the upper (1) edge of the axes."""
    return float(ax.transAxes.inverted().transform(ax.transData.transform((1.0, y)))[1])


def spread(wanted: Sequence[float], rooms: Sequence[float]) -> list[float]:
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


def darker(colour: str) -> str:
    """The colour at two thirds of its light: thin letters need more contrast than lines."""
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{channel * 2 // 3:02x}" for channel in channels)
