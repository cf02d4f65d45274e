"""Curves of the gain of responses to a model of a player, against their risk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..analysis.responses import RobustResponses
from .style import TITLE_SIZE, axes_in, check_format, light_grid, line_styles, written
from .titles import game_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def gain_against_risk(
    responses: RobustResponses | Mapping[str, RobustResponses],
    *,
    path: str | Path | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the gain of responses against the model over their possible loss.

    Each method is a line, and each weight a point.

    Args:
        responses: Result of :func:`tensorcfr.analysis.robust_responses`, or several results by
            name.
        path: File for the picture; its suffix gives the format.
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The figure, not shown.

    Raises:
        ValueError: ``responses`` is empty, or the suffix of ``path`` is not a picture format.
        MissingExtraError: Matplotlib is not installed; the message names the extra.
    """
    if isinstance(responses, RobustResponses):
        responses = {responses.method: responses}
    if not responses:
        raise ValueError("there is nothing to draw")
    check_format(path)
    figure, ax = axes_in(ax, 6.4, 4.2)
    styles = line_styles(responses)
    for name, result in responses.items():
        ax.plot(result.risk, result.gain, marker="o", markersize=4, label=name, **styles[name])
        for weight, risk, gain in zip(result.weights, result.risk, result.gain, strict=True):
            ax.annotate(
                f"{weight:g}", (risk, gain), (3, -9), textcoords="offset points", fontsize=7
            )
    first_result = next(iter(responses.values()))
    ax.set_xlabel("risk: value lost against a best response")
    ax.set_ylabel("gain against the model")
    ax.set_title(
        f"{game_title(first_result.game.name)}: responses of player {first_result.player}",
        fontsize=TITLE_SIZE,
    )
    ax.legend(frameon=False)
    light_grid(ax)
    return written(figure, path)
