"""Policies over the infosets of a growing table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from ..errors import Lookup, UnknownNameError, suggest
from ..model.infoset import Infoset
from ..model.infoset_rows import InfosetRows
from ..model.policy import MOST_COMPARED
from ..model.sequence_table import Tabular
from .infoset_table import InfosetTable
from .uncompiled_game import UncompiledGame


class TablePolicy(Tabular, Mapping[str, dict[str, float]]):
    """Behaviour strategy: mapping of infoset label to action to probability.

    The mapping contains the visited infosets.  Called with an
    :class:`~tensorcfr.model.infoset.Infoset`, the policy also answers at unvisited infosets, with
    equal probabilities.  It can therefore be passed to :func:`tensorcfr.evaluate` with the compiled
    game.

    Args:
        game: The game.
        table: The infosets.
        probabilities: float64 (sequences,): probability of each action; made read-only.
    """

    def __init__(
        self, game: UncompiledGame, table: InfosetTable, probabilities: np.ndarray
    ) -> None:
        self.game = game
        self.probabilities = probabilities
        probabilities.flags.writeable = False
        self._size, self._table = len(table), table

    def _row(self, label: Any) -> int | None:
        row = self._table.rows.get(label)
        # The table may have grown since the policy was made.
        return row if row is not None and row < self._size else None

    def _names(self, row: int) -> tuple[str, ...]:
        """Return the actions of an infoset."""
        return self._table.names[self._table.kind[row]]

    def _at(self, row: int) -> list[float]:
        first = self._table.first
        return self.probabilities[first[row] : first[row + 1]].tolist()

    def __call__(self, infoset: Infoset) -> list[float]:
        """Return the probabilities at an infoset of the game, visited or not.

        Raises:
            ValueError: The table has other actions for the infoset; names it.
        """
        row = self._row(infoset)
        if row is None:
            return [1.0 / len(infoset.actions)] * len(infoset.actions)
        names = self._names(row)
        if names != infoset.actions:
            raise ValueError(
                f"infoset {str(infoset)!r} has the actions {', '.join(infoset.actions)}, and "
                f"{', '.join(names)} in {self.game.name}"
            )
        return self._at(row)

    def __getitem__(self, label: str) -> dict[str, float]:
        row = self._row(label)
        if row is None:
            near = suggest(str(label), list(islice(self, MOST_COMPARED)))
            raise UnknownNameError(
                f"no play of {self.game.name} reached an infoset {label!r}; {near}"
            )
        return Lookup(zip(self._names(row), self._at(row), strict=True))

    def __iter__(self) -> Iterator[str]:
        return islice(self._table.rows, self._size)

    def __len__(self) -> int:
        return self._size

    def first_of(self, player: int, most: int | None = None) -> dict[str, dict[str, float]]:
        """Return the first visited infosets of a player; see
        :meth:`tensorcfr.model.policy.Policy.first_of`."""
        players = self._table.player
        labels = (label for row, label in enumerate(self) if players[row] == player)
        return {label: self[label] for label in islice(labels, most)}

    def count_of(self, player: int) -> int:
        """Return the number of visited infosets of a player."""
        return int(np.count_nonzero(np.array(self._table.player[: self._size]) == player))

    def rows(self, player: int) -> Iterator[InfosetRows]:
        """Yield a player's visited infosets; see :meth:`tensorcfr.model.policy.Policy.rows`."""
        table = self._table
        by_count: dict[int, tuple[list[int], list[str]]] = {}
        for row, label in enumerate(self):
            if table.player[row] == player:
                rows, labels = by_count.setdefault(len(self._names(row)), ([], []))
                rows.append(row)
                labels.append(label)
        for count, (rows, labels) in by_count.items():
            first = np.array([table.first[row] for row in rows], np.int64)
            actions = [self._names(row) for row in rows]
            numbers = first[:, None] + np.arange(count)
            yield InfosetRows(player, labels, actions, numbers, np.ones(len(rows)))

    @property
    def n_probabilities(self) -> int:
        """Number of probabilities: the number of actions of all visited infosets."""
        return self._table.first[self._size]

    def at(self, numbers: np.ndarray) -> np.ndarray:
        """Return the probabilities at the sequence numbers of :meth:`rows`."""
        return self.probabilities[numbers]

    def to_dict(self, player: int | None = None) -> dict[str, dict[str, float]]:
        """Return the visited infosets as a dictionary; see
        :meth:`tensorcfr.model.policy.Policy.to_dict`."""
        return dict(self) if player is None else self.first_of(player)

    def __repr__(self) -> str:
        return f"<TablePolicy for {self.game.name}: {len(self):,} infosets>"
