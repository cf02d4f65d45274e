"""The pictures of solved spots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from support.tiers import tiered
from tensorcfr import compile_game, solve
from tensorcfr.analysis import SolvedSpot, table_change
from tensorcfr.games.holdem import grid_place
from tensorcfr.plots import change_grid, draw_line, hand_grid, runout_grid

TURN: dict[str, Any] = {
    "board": "Td9d6hQd",
    "ranges": ("AA:0.5,KK,AJs,76s", "QJs,JTs,88,AQs"),
    "pot": 100,
    "stacks": 300,
    "bets": "60%",
}

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def shown() -> SolvedSpot:
    return SolvedSpot(solve(compile_game("holdem", **TURN), "dcfr", iters=30, precision="float32"))


def test_a_strategy_fills_its_cells(shown: SolvedSpot) -> None:
    table = shown.table()
    (panel,) = hand_grid(table).axes
    row, column = grid_place(table.cards[table.hands.index("AsAc")])
    inside = [
        patch
        for patch in panel.patches
        if isinstance(patch, Rectangle)
        and row <= patch.get_y() < row + 1
        and column <= patch.get_x() < column + 1
        and patch.get_height() < 1
    ]
    # Aces have half of their weight, and are divided by action.
    assert {round(patch.get_height(), 12) for patch in inside} == {0.5}
    widths = [patch.get_width() for patch in inside]
    assert widths == pytest.approx(table.grid(table.strategy)[row, column].tolist())
    legend = [text.get_text() for text in panel.get_legend().get_texts()]
    assert legend == [f"{name} {100 * share:.1f} %" for name, share in table.frequencies.items()]


@pytest.mark.parametrize("what", tiered(["value", "equity", "combos"], ["value", "combos"]))
def test_numbers_are_written_in_their_cells(shown: SolvedSpot, what: Any, tmp_path: Path) -> None:
    table = shown.table("check")
    path = tmp_path / "grid.png"
    (panel,) = hand_grid(table, what, path=path).axes
    assert path.stat().st_size > 1000
    grid = {
        "value": table.grid(table.value),
        "equity": 100 * table.grid(table.equity),
        "combos": table.grid(table.weight, total=True),
    }[what]
    row, column = grid_place(table.cards[table.hands.index("QhJh")])
    written = {
        text.get_position(): text.get_text()
        for text in panel.texts
        if text.get_fontsize() == 8  # Names of hands are smaller.
    }
    assert float(written[column + 0.5, row + 0.72]) == pytest.approx(grid[row, column], abs=0.51)
    assert len(written) == np.count_nonzero(~np.isnan(grid))


def test_a_difference_fills_the_increases(shown: SolvedSpot, tmp_path: Path) -> None:
    other = SolvedSpot(solve(shown.game, "dcfr", iters=2, precision="float32"))
    change = table_change(shown.table(), other.table())
    (panel,) = change_grid(change).axes
    for hand in ("AsAc", "7s6s"):
        row, column = grid_place(change.first.cards[change.first.hands.index(hand)])
        widths = [
            patch.get_width()
            for patch in panel.patches
            if isinstance(patch, Rectangle)
            and patch.get_linewidth() == 0
            and (patch.get_y(), int(patch.get_x() + 1e-9)) == (row, column)
        ]
        increases = np.maximum(change.grid()[row, column], 0.0)
        assert widths == pytest.approx(increases.tolist())
        number = [
            text.get_text()
            for text in panel.texts
            if text.get_position() == (column + 0.94, row + 0.9)
        ]
        assert number == [f"{100 * increases.sum():.0f}"]
    legend = [text.get_text() for text in panel.get_legend().get_texts()]
    assert legend == [f"{name} {100 * c:+.1f} %" for name, c in change.frequencies.items()]
    assert draw_line(change, tmp_path / "change.svg").axes


def test_runouts(shown: SolvedSpot, tmp_path: Path) -> None:
    found = shown.runouts("check check *")
    (panel,) = runout_grid(found, "check").axes
    written = {text.get_position(): text.get_text() for text in panel.texts}
    at = found.cards.index(("7s",))
    assert written[7, 0] == f"{100 * found.frequency[at, 0]:.0f}"
    assert written[2, 2] == ""  # The queen of diamonds is on the board.
    assert draw_line(found, tmp_path / "cards.svg").axes
    assert draw_line(shown.table(), tmp_path / "hands.svg").axes


def test_bad_calls(shown: SolvedSpot, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="hand_grid draws strategy, value, equity or combos"):
        hand_grid(shown.table(), "ev")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="its ending must be one of"):
        hand_grid(shown.table(), path=tmp_path / "grid.txt")
    with pytest.raises(ValueError, match="action must be one of check, bet60, not 'bet'"):
        runout_grid(shown.runouts("check check *"), "bet")
