"""Difference between two solutions at a line, hand by hand and as a grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import Kind, Where, brief, checked
from .._util.one_line import OneLine
from .hand_tables import HandTable
from .table_files import save_rows

TABLE = Kind((HandTable,), "a table of hands (from SolvedSpot.table)")


@dataclass(frozen=True, eq=False, repr=False)
class TableChange(OneLine):
    """Change of the play from a first to a second solution, at one line."""

    first: HandTable
    """Table of the first solution."""
    second: HandTable
    """Table of the second solution, with the same hands and actions."""

    @property
    def strategy(self) -> np.ndarray:
        """float64 (hands, actions): probability in the second solution minus that in the first."""
        change: np.ndarray = self.second.strategy - self.first.strategy
        return change

    @property
    def total_variation(self) -> np.ndarray:
        """float64 (hands,): share of the play that differs, half the sum of the absolute changes;
        from 0 to 1."""
        total: np.ndarray = np.abs(self.strategy).sum(axis=1) / 2.0
        return total

    @property
    def frequencies(self) -> dict[str, float]:
        """Change of the frequency of each action over all hands, each solution with its own
        range."""
        first, second = self.first.frequencies, self.second.frequencies
        return {action: second[action] - first[action] for action in first}

    def grid(self) -> np.ndarray:
        """Return the change of each cell's mean strategy, each solution with its own range.

        Returns:
            float64 (rows, columns, actions), 13 x 13 for hands of two cards; NaN in cells that one
            of the solutions does not reach.
        """
        first, second = (table.grid(table.strategy) for table in (self.first, self.second))
        change: np.ndarray = second - first
        return change

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each hand: its probability at the line and each action's probability, in
        both solutions, and the change of each action."""
        shares, change = (self.first.share, self.second.share), self.strategy
        for k, hand in enumerate(self.first.hands):
            row: dict[str, Any] = {"hand": hand}
            row |= {"first share": float(shares[0][k]), "second share": float(shares[1][k])}
            for a, action in enumerate(self.first.actions):
                row[f"first {action}"] = float(self.first.strategy[k, a])
                row[f"second {action}"] = float(self.second.strategy[k, a])
                row[f"change of {action}"] = float(change[k, a])
            yield row

    @checked()
    def save(self, path: Annotated[str | Path, Where()]) -> Path:
        """Write :meth:`rows` to a file (.csv, .json, .parquet), and return its path."""
        return save_rows(list(self.rows()), Path(path))


@checked()
def table_change(
    first: Annotated[HandTable, TABLE], second: Annotated[HandTable, TABLE]
) -> TableChange:
    """Return the difference between two solutions at a line.

    The solutions may be of games with different utilities, such as chips and prizes.

    Args:
        first: Table of the first solution, from :meth:`tensorcfr.analysis.SolvedSpot.table`.
        second: Table of the second solution at the same line.

    Raises:
        ValueError: The tables have different lines, boards, hands or actions.
    """
    for name in ("line", "board", "player", "actions", "hands"):
        before, after = getattr(first, name), getattr(second, name)
        if before != after:
            raise ValueError(
                f"second has another {name} than first: {brief(after)}, not {brief(before)}"
            )
    return TableChange(first, second)
