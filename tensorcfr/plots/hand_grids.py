"""Pictures of a solved spot: grids of hands, 13 x 13 or by groups, and 13 x 4 grids of cards."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._util.argument_checks import brief
from ..analysis import HandTable, Runouts, TableChange
from ..analysis.action_colours import PASSIVE, action_colours
from ..games.poker.deck import RANKS
from .style import COLOURS, axes_in, check_format, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

What = Literal["strategy", "value", "equity", "combos"]
TITLES = {
    "strategy": "strategy",
    "value": "expected value",
    "equity": "equity, %",
    "combos": "combos",
}
SUITS = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}
EMPTY = "#f2f2f2"


def hand_grid(
    table: HandTable,
    what: What = "strategy",
    *,
    path: str | Path | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw all hands at a line as a grid.

    Hands of two cards have pairs on the diagonal and suited hands above it; longer hands are
    in groups, by pairs and suits. With ``"strategy"`` the filled height of a cell is the share of
    its hands that is left at the line. The filled part is split from left to right among the
    actions, in proportion to their frequencies. The other pictures have one colour per cell:
    expected value, equity, or combos.

    Args:
        table: Table from :meth:`tensorcfr.analysis.SolvedSpot.table`.
        what: ``"strategy"``, ``"value"``, ``"equity"`` or ``"combos"``.
        path: File for the picture; its suffix gives the format.
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The figure, not shown.

    Raises:
        ValueError: ``what`` is unknown, or the suffix of ``path`` is not a picture format.
        MissingExtraError: Matplotlib is not installed; the message names the extra.
    """
    check_format(path)
    if what not in tuple(TITLES):
        raise ValueError(f"hand_grid draws strategy, value, equity or combos, not {brief(what)}")
    figure, panel = axes_in(ax, 8.6, 9.6)
    combos = table.grid(table.weight, total=True)
    if what == "strategy":
        _draw_strategy(panel, table, combos)
    elif what == "combos":
        _draw_numbers(panel, table, combos, "Blues", 0.0, 1.5 * float(np.nanmax(combos)))
    elif what == "equity":
        _draw_numbers(panel, table, 100.0 * table.grid(table.equity), "RdYlGn", 0.0, 100.0)
    else:
        values = table.grid(table.value)
        limit = float(np.nanmax(np.abs(values))) if not np.isnan(values).all() else 1.0
        _draw_numbers(panel, table, values, "RdYlGn", -limit, limit)
    _frame(panel, table, TITLES[what])
    return written(figure, path)


def change_grid(
    change: TableChange, *, path: str | Path | None = None, ax: Axes | None = None
) -> Figure:
    """Draw the difference between two solutions at a line as a grid of hands.

    The colours of a cell are the actions that the second solution takes more often than the first,
    in the width of the increase. The number is the share of the play that differs, in per cent.

    Args:
        change: Difference from :func:`tensorcfr.analysis.table_change`.
        path: File for the picture; its suffix gives the format.
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The figure, not shown.

    Raises:
        ValueError: The suffix of ``path`` is not a picture format.
        MissingExtraError: Matplotlib is not installed; the message names the extra.
    """
    check_format(path)
    figure, panel = axes_in(ax, 8.6, 9.6)
    table, changes = change.first, change.grid()
    increases = np.maximum(changes, 0.0)
    _draw_shares(panel, table, increases, np.ones(table.places.shape))
    for row, column in np.ndindex(table.places.shape):
        differing = increases[row, column].sum()
        if differing >= 0.005:  # Not of cells that one solution does not reach, which have NaN.
            text = f"{100 * differing:.0f}"
            panel.text(column + 0.94, row + 0.9, text, fontsize=8, ha="right")
    _legend(panel, table, {k: f"{100 * c:+.1f}" for k, c in change.frequencies.items()})
    _frame(panel, table, "change from the first solution to the second, %")
    return written(figure, path)


def _frame(panel: Any, table: HandTable, title: str) -> None:
    """Set the limits of a grid of hands, the names of its rows and columns, and its title."""
    rows, columns = table.places.shape
    panel.set_xlim(0, columns)
    panel.set_ylim(rows, 0)
    panel.set_aspect("equal")
    heads = table.places.heads or ((), ())
    panel.set_xticks([k + 0.5 for k in range(len(heads[1]))], heads[1])
    panel.set_yticks([k + 0.5 for k in range(len(heads[0]))], heads[0])
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    where = _where(table.line, table.seat, table.board)
    panel.set_title(f"{where}: {title}", fontsize=11)


def runout_grid(
    runouts: Runouts,
    action: str | None = None,
    *,
    path: str | Path | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the frequency of an action after every next card, as a grid of ranks and suits.

    Args:
        runouts: Runouts from :meth:`tensorcfr.analysis.SolvedSpot.runouts`, with one ``*``.
        action: Action whose frequency is drawn; by default all actions that put chips in.
        path: File for the picture; its suffix gives the format.
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The figure, not shown.

    Raises:
        ValueError: The action does not exist, the runouts have several cards, or the suffix of
            ``path`` is not a picture format.
        MissingExtraError: Matplotlib is not installed; the message names the extra.
    """
    check_format(path)
    if len(runouts.cards[0]) != 1:
        raise ValueError(
            "runout_grid draws runouts of one card; to see several cards, write the table to a file"
        )
    if action is not None and action not in runouts.actions:
        raise ValueError(f"action must be one of {', '.join(runouts.actions)}, not {brief(action)}")
    chosen = [
        k
        for k, name in enumerate(runouts.actions)
        if (name == action if action else name not in PASSIVE)
    ]
    numbers = np.full((4, 13), np.nan)
    for (card,), share, probability in zip(
        runouts.cards, runouts.frequency[:, chosen].sum(axis=1), runouts.probability, strict=True
    ):
        if probability > 0:
            numbers["shdc".index(card[1]), 12 - RANKS.index(card[0])] = 100.0 * share
    figure, panel = axes_in(ax, 9.0, 3.6)
    panel.imshow(np.nan_to_num(numbers, nan=-1.0), cmap=_with_gap("OrRd"), vmin=0, vmax=100)
    for row, column in np.ndindex(4, 13):
        number = numbers[row, column]
        text = "" if np.isnan(number) else f"{number:.0f}"
        dark = number > 70
        panel.text(column, row, text, ha="center", va="center", color="white" if dark else "black")
    panel.set_xticks(range(13), list(RANKS[::-1]))
    panel.set_yticks(range(4), [SUITS[suit] for suit in "shdc"])
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    what = action or "bets and raises"
    panel.set_title(f"{runouts.line}: {what} of {_seat(runouts.seat)}, %", fontsize=11)
    return written(figure, path)


def draw_line(result: HandTable | Runouts | TableChange, path: str | Path) -> Figure:
    """Draw a table with :func:`hand_grid`, runouts with :func:`runout_grid`, or a difference with
    :func:`change_grid`."""
    if isinstance(result, TableChange):
        return change_grid(result, path=path)
    if isinstance(result, Runouts):
        return runout_grid(result, path=path)
    return hand_grid(result, path=path)


_ABBREVIATIONS = ("oop", "ip")


def _seat(name: str) -> str:
    return name.upper() if name in _ABBREVIATIONS else name


def _where(line: str, seat: str, board: tuple[str, ...]) -> str:
    cards = " ".join(card[0] + SUITS.get(card[1:], card[1:]) for card in board)
    return f"{cards}   {_seat(seat)} {'after ' + line if line else 'to open'}"


def _draw_strategy(panel: Any, table: HandTable, combos: np.ndarray) -> None:
    """Draw cells that are divided by action, with a legend of frequencies."""
    n_hands = table.grid(np.ones(len(table.hands)), total=True)
    # All hands of a range may have small weights, so the height is relative to the weights.
    _draw_shares(panel, table, table.grid(table.strategy), combos / n_hands)
    _legend(panel, table, {k: f"{100 * share:.1f}" for k, share in table.frequencies.items()})


def _colours(table: HandTable) -> list[str]:
    """Return the colour of each action."""
    return action_colours(table.actions) or [
        COLOURS[k % len(COLOURS)] for k in range(len(table.actions))
    ]


def _draw_shares(panel: Any, table: HandTable, shares: np.ndarray, heights: np.ndarray) -> None:
    """Draw cells with a part for each action.

    Args:
        panel: The axes.
        table: The table of hands.
        shares: float64 (rows, columns, actions): width of each part; NaN in empty cells.
        heights: float64 (rows, columns): height of the parts.
    """
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import withStroke

    colours = _colours(table)
    for row, column in np.ndindex(table.places.shape):
        panel.add_patch(Rectangle((column, row), 1, 1, facecolor=EMPTY, edgecolor="white"))
        parts = shares[row, column]
        if not np.isnan(parts).any():
            height = float(heights[row, column])
            left_edge = column
            for share, colour in zip(parts.tolist(), colours, strict=True):
                panel.add_patch(
                    Rectangle(
                        (left_edge, row + 1 - height), share, height, facecolor=colour, linewidth=0
                    )
                )
                left_edge += share
        panel.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor="white"))
        panel.text(
            column + 0.06,
            row + 0.28,
            _label(table, row, column),
            fontsize=8,
            color="#999999" if np.isnan(parts).any() else "black",
            path_effects=[withStroke(linewidth=1.5, foreground="#ffffffb0")],
        )


def _legend(panel: Any, table: HandTable, percents: Mapping[str, str]) -> None:
    """Write the colour and the per cent of each action below a grid."""
    from matplotlib.patches import Patch

    handles = [
        Patch(color=colour, label=f"{action} {percent} %")
        for colour, (action, percent) in zip(_colours(table), percents.items(), strict=True)
    ]
    panel.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.05 if table.places.heads else -0.01),
        ncols=5,
        frameon=False,
    )


def _label(table: HandTable, row: int, column: int) -> str:
    """Return the label of a cell, or "" if rows and columns have headings."""
    return "" if table.places.heads else table.places.labels[row][column]


def _draw_numbers(
    panel: Any, table: HandTable, numbers: np.ndarray, colours: str, low: float, high: float
) -> None:
    """Draw a colour and a number for each cell."""
    panel.imshow(
        np.nan_to_num(numbers, nan=low - 1.0),
        cmap=_with_gap(colours),
        vmin=low,
        vmax=max(high, low + 1e-9),
        extent=(0, numbers.shape[1], numbers.shape[0], 0),
        alpha=0.85,
    )
    for row, column in np.ndindex(numbers.shape):
        number = float(numbers[row, column])
        empty = np.isnan(number)
        panel.text(
            column + 0.06,
            row + 0.28,
            _label(table, row, column),
            fontsize=7,
            color="#999999" if empty else "#333333",
        )
        if not empty:
            whole = abs(number) >= 10 or number.is_integer()
            text = f"{number:.0f}" if whole else f"{number:.1f}"
            panel.text(column + 0.5, row + 0.72, text, fontsize=8, ha="center")


def _with_gap(name: str) -> Any:
    """Return a colour map with a colour for cells without hands below its lower limit."""
    from matplotlib import colormaps

    return colormaps[name].with_extremes(under=EMPTY)
