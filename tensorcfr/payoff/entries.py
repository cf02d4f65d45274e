"""Payoffs as single entries: a sparse matrix in slices of rows with equally many entries."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from .._util.limits import PAYOFF_ROUNDING
from .payoff_form import PayoffForm


class PayoffEntries(NamedTuple):
    """Sparse part of the payoff operator: single entries, in slices of rows of equal length.

    Rows of a slice are adjacent sequences, so kernels process them as lanes.
    """

    row: Annotated[np.ndarray, np.int64, "slices"]
    """int64 (slices,): sequence of the first row of each slice."""
    rows: Annotated[np.ndarray, np.int64, "slices"]
    """int64 (slices,): number of rows (consecutive sequences) of each slice."""
    entries: Annotated[np.ndarray, np.int64, "slices"]
    """int64 (slices,): number of entries of every row of the slice, at least one."""
    offset: Annotated[np.ndarray, np.int64, "slices"]
    """int64 (slices,): index of the first entry of the slice; its entries are ordered ``[entry,
    row]``."""
    slices: Annotated[np.ndarray, np.int64, "players + 1"]
    """int64 (players + 1,): player ``i`` has slices ``[i]`` to ``[i + 1] - 1``."""
    column: Annotated[np.ndarray, np.uint32, "players - 1", "entries"]
    """uint32 (players - 1, entries): last sequences of the other players, in the order of the
    players."""
    value: Annotated[np.ndarray, np.float64, "entries"]
    """float64 (entries,): chance probability times utility to the row's player, summed over the
    terminals with the same last sequences of all players."""

    @property
    def kind(self) -> str:
        """Name of the kind; see :attr:`tensorcfr.payoff.PayoffPart.kind`."""
        return "payoff"

    @property
    def is_empty(self) -> bool:
        """True if there are no entries."""
        return not len(self.value)

    @property
    def entry_row(self) -> np.ndarray:
        """Sequence of each entry's row, int64 (entries,)."""
        # One run per slice and entry number: the rows of the slice, in order.
        length = np.repeat(self.rows, self.entries)
        begin = np.cumsum(length) - length
        row = np.repeat(np.repeat(self.row, self.entries) - begin, length)
        row += np.arange(len(row))
        return row

    def of_player(self, player: int) -> slice:
        """Return the range of a player's entries."""
        ends = np.append(self.offset, len(self.value))
        return slice(int(ends[self.slices[player]]), int(ends[self.slices[player + 1]]))

    def product(self, form: PayoffForm, player: int, x: np.ndarray) -> np.ndarray:
        """Compute a player's payoffs; see :meth:`tensorcfr.payoff.PayoffPart.product`."""
        begin, end = form.player_sequences[player : player + 2].tolist()
        entries = self.of_player(player)
        term = self.value[entries] * x[self.column[:, entries]].prod(axis=0)
        # Convert, because bincount returns integers if there are no entries.
        row = self.entry_row[entries] - begin
        return np.bincount(row, term, end - begin).astype(np.float64)

    def triples(self, form: PayoffForm, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the entries of a player; see :meth:`tensorcfr.payoff.PayoffPart.triples`."""
        entries = self.of_player(player)
        return (
            self.entry_row[entries],
            self.column[:, entries].astype(np.int64),
            self.value[entries],
        )

    def count_entries(self, form: PayoffForm, player: int) -> int:
        """Return the number of a player's entries."""
        entries = self.of_player(player)
        return entries.stop - entries.start

    def magnitudes(self) -> PayoffEntries:
        """Return the part with the absolute value of every payoff."""
        return self._replace(value=np.abs(self.value))

    def describe(self) -> str:
        """Return the numbers of entries and slices, as text."""
        return f"{len(self.value):,} payoff entries in {len(self.rows):,} slices"


def payoff_entries(
    last: np.ndarray, payoff: np.ndarray, player_sequences: np.ndarray
) -> PayoffEntries:
    """Build the entries of ``g = A x`` for all players.

    Payoffs of terminals with the same last sequences of all players are added.  A player has one
    row per own sequence.  Consecutive rows with equally many entries form a slice, in which entry
    ``e`` of all rows is contiguous.

    Args:
        last: int64 (players, terminals): last sequence of each player at each terminal.
        payoff: float64 (terminals, players): chance probability times utility.
        player_sequences: int64 (players + 1,): see :class:`SequenceForm`.
    """
    last, payoff = _add_equal_terminals(last, payoff)
    n_players, entries = last.shape
    parts: list[dict[str, np.ndarray]] = []
    for player in range(n_players):
        others = np.delete(last, player, axis=0)
        by_row = np.lexsort((*others[::-1], last[player]))
        rows, count = np.unique(last[player][by_row], return_counts=True)
        parts.append(_build_slices(rows, count, others[:, by_row], payoff[by_row, player]))
    for player, part in enumerate(parts):
        part["offset"] += player * entries
    joined = {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}
    counts = [len(part["row"]) for part in parts]
    return PayoffEntries(**joined, slices=np.concatenate([[0], np.cumsum(counts)]))


def _add_equal_terminals(last: np.ndarray, payoff: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add the payoffs of terminals with the same last sequences.

    Arguments and results have the shapes of the arguments of :func:`payoff_entries`.
    """
    order = np.lexsort(last[::-1])
    last, payoff = last[:, order], payoff[order]
    new = np.ones(last.shape[1], dtype=bool)
    new[1:] = (last[:, 1:] != last[:, :-1]).any(axis=0)
    if new.all():
        return last, payoff
    first = np.flatnonzero(new)
    total = np.add.reduceat(payoff, first, axis=0)
    # Payoffs that cancel leave a rounding error, which would decide ties: set it to 0.
    size = np.add.reduceat(np.abs(payoff), first, axis=0)
    return last[:, new], np.where(np.abs(total) <= PAYOFF_ROUNDING * size, 0.0, total)


def _build_slices(
    rows: np.ndarray, count: np.ndarray, columns: np.ndarray, values: np.ndarray
) -> dict[str, np.ndarray]:
    """Build the slices of one player's entries.

    Args:
        rows: int64 (rows,): sequences that have entries, ascending.
        count: int64 (rows,): number of entries of each row.
        columns: int64 (players - 1, entries): last sequences of the others, sorted by row.
        values: float64 (entries,): payoffs, sorted by row.

    Returns:
        The fields of :class:`PayoffEntries`, except ``slices``; offsets begin at 0.
    """
    # A slice ends where the next row is not adjacent or has another number of entries.
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (np.diff(rows) != 1) | (np.diff(count) != 0)
    first = np.flatnonzero(new)
    height = np.diff(np.append(first, len(rows)))
    width = count[first]
    offset = np.cumsum(height * width) - height * width
    # Entry e of row r of a slice goes to offset + e * height + r.
    of_row = np.repeat(np.arange(len(first)), height)
    row_in_slice = np.arange(len(rows)) - first[of_row]
    entry_row = np.repeat(np.arange(len(rows)), count)
    entry = np.arange(len(values)) - np.repeat(np.cumsum(count) - count, count)
    target = offset[of_row][entry_row] + entry * height[of_row][entry_row] + row_in_slice[entry_row]
    column = np.empty(columns.shape, dtype=np.uint32)
    column[:, target] = columns
    value = np.empty(len(values))
    value[target] = values
    return {
        "row": rows[first],
        "rows": height,
        "entries": width,
        "offset": offset,
        "column": column,
        "value": value,
    }
