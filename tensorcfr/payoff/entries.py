"""Payoffs entry by entry: a sparse matrix in slices of equal rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..model.arrays import SequenceForm

ARRAYS: Mapping[str, tuple[type, tuple[str | int, ...]]] = {
    "row": (np.int64, ("slices",)),
    "rows": (np.int64, ("slices",)),
    "entries": (np.int64, ("slices",)),
    "offset": (np.int64, ("slices",)),
    "slices": (np.int64, ("players + 1",)),
    "column": (np.uint32, ("players - 1", "entries")),
    "value": (np.float64, ("entries",)),
}
"""Dtype and shape of the arrays of a part; equal names of sizes are equal."""


class PayoffEntries(NamedTuple):
    """The sparse part of the payoff operator: single entries, in slices of equal rows."""

    row: np.ndarray
    """int64 (slices,): first sequence of a slice of the payoff operator."""
    rows: np.ndarray
    """int64 (slices,): consecutive sequences in the slice."""
    entries: np.ndarray
    """int64 (slices,): payoff entries of every sequence in the slice, at least one."""
    offset: np.ndarray
    """int64 (slices,): first entry of the slice; its entries are laid out ``[entry, row]``."""
    slices: np.ndarray
    """int64 (players + 1,): player ``i`` owns slices ``[i]`` to ``[i + 1] - 1``."""
    column: np.ndarray
    """uint32 (players - 1, entries): the last sequences of the other players, in the order
    of the players."""
    value: np.ndarray
    """float64 (entries,): chance probability times utility to the owner of the row, summed
    over the terminals that share the last sequences of all players."""

    @property
    def kind(self) -> str:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        return "payoff"

    @property
    def is_empty(self) -> bool:
        """Whether there are no entries."""
        return not len(self.value)

    @property
    def entry_row(self) -> np.ndarray:
        """int64 (entries,): the sequence whose row each entry is in."""
        # One run per slice and entry: the rows of the slice, in order.
        length = np.repeat(self.rows, self.entries)
        begin = np.cumsum(length) - length
        row = np.repeat(np.repeat(self.row, self.entries) - begin, length)
        row += np.arange(len(row))
        return row

    def of_player(self, player: int) -> slice:
        """The entries of a player."""
        ends = np.append(self.offset, len(self.value))
        return slice(int(ends[self.slices[player]]), int(ends[self.slices[player + 1]]))

    def product(self, form: SequenceForm, player: int, x: np.ndarray) -> np.ndarray:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        begin, end = form.player_sequences[player : player + 2].tolist()
        own = self.of_player(player)
        term = self.value[own] * x[self.column[:, own]].prod(axis=0)
        # Without entries bincount would count integers.
        row = self.entry_row[own] - begin
        return np.bincount(row, term, end - begin).astype(np.float64)

    def triples(self, form: SequenceForm, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        own = self.of_player(player)
        return self.entry_row[own], self.column[:, own].astype(np.int64), self.value[own]

    def count_entries(self, form: SequenceForm, player: int) -> int:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        own = self.of_player(player)
        return own.stop - own.start

    def magnitudes(self) -> PayoffEntries:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        return self._replace(value=np.abs(self.value))

    def describe(self) -> str:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        return f"{len(self.value):,} payoff entries in {len(self.rows):,} slices"
