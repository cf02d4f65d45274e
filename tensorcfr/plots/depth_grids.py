"""Picture of a chart of push or fold by the depth of the stacks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.depth_charts import DepthChart
from ..games.holdem import grid_label
from ..games.poker.deck import RANKS
from .style import check_format, new_figure, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def depth_grid(chart: DepthChart, *, path: str | Path | None = None) -> Figure:
    """Draw the largest depth at which each hand goes all-in, and at which it calls.

    Args:
        chart: Chart from :func:`tensorcfr.analysis.depth_chart`.
        path: File for the picture; its suffix gives the format.

    Returns:
        The figure, not shown.

    Raises:
        ValueError: The suffix of ``path`` is not a picture format.
        MissingExtraError: Matplotlib is not installed; the message names the extra.
    """
    check_format(path)
    figure = new_figure(14.0, 7.4)
    panels = figure.subplots(1, 2)
    most = max(chart.depths)
    for panel, title, shares in zip(
        panels, ("small blind: all-in", "big blind: call"), (chart.pushes, chart.calls), strict=True
    ):
        depths = chart.deepest(shares)
        panel.imshow(depths, cmap="YlGn", vmin=0.0, vmax=1.4 * most)
        for row, column in np.ndindex(len(RANKS), len(RANKS)):
            depth = depths[row, column]
            number = "-" if depth == 0.0 else f"{depth:g}{'+' if depth == most else ''}"
            text = f"{grid_label(row, column)}\n{number}"
            panel.text(column, row, text, ha="center", va="center", fontsize=8)
        panel.set_xticks([])
        panel.set_yticks([])
        panel.spines[:].set_visible(False)
        panel.set_title(f"{title}, up to so many big blinds", fontsize=11)
    return written(figure, path)
