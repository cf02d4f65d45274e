"""Payoffs as single entries: a sparse matrix in slices of rows with equally many entries."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from .._util.jit import inlined
from .._util.limits import PAYOFF_ROUNDING
from .._util.violations import check_follow, check_ranges, fail, first_true
from .payoff_form import PayoffForm
from .payoff_kind import FormReader, PayoffKind
from .product_share import ProductShare

NARROW = 4
"""Smallest number of rows of a slice that are processed as lanes; in smaller slices each row is
summed alone."""
TILE = 512
"""Rows of a slice per tile.  Their sums stay in the first-level cache while their entries are read
once."""
TOGETHER = 1 << 16
"""Number of entries whose order is checked at a time; all at once would take more memory than the
game."""


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
    return entries_of_players([(last, player_payoff) for player_payoff in payoff.T])


def entries_of_players(entries: list[tuple[np.ndarray, np.ndarray]]) -> PayoffEntries:
    """Build the entries of ``g = A x`` from those of each player.

    Args:
        entries: For each player, the last sequences of all players, int64 (players, entries), and
            the payoffs, float64 (entries,).  No two entries have the same sequences.
    """
    parts: list[dict[str, np.ndarray]] = []
    begin = 0
    for player, (last, payoff) in enumerate(entries):
        others = np.delete(last, player, axis=0)
        by_row = np.lexsort((*others[::-1], last[player]))
        rows, count = np.unique(last[player][by_row], return_counts=True)
        parts.append(_build_slices(rows, count, others[:, by_row], payoff[by_row]))
        parts[-1]["offset"] += begin
        begin += len(payoff)
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


@inlined
def add_entries(part: PayoffEntries, share: ProductShare) -> None:
    """Add the products of single entries; the first share has all of them."""
    opponents = part.column.shape[0]
    begin, end = part.slices[share.player], part.slices[share.player + 1]
    reach, g = share.reach, share.g
    for s in range(begin, end if share.number == 0 else begin):
        if opponents != 1:
            _add_slice_of_many(part, s, reach, g)
        elif part.rows[s] < NARROW:
            _add_narrow_slice(part, s, reach, g)
        else:
            _add_wide_slice(part, s, reach, g)


@inlined
def entries_scratch(part: PayoffEntries) -> int:
    """Return 0, because single entries need no scratch."""
    return 0


@inlined
def _add_wide_slice(payoff: PayoffEntries, s: int, reach: np.ndarray, g: np.ndarray) -> None:
    """Add a slice with many rows, entry by entry, with rows as lanes.

    Four entries are added at a time, which reduces the loads and stores of the sums.
    """
    rows, entries, column = payoff.rows[s], payoff.entries[s], payoff.column[0]
    for begin in range(0, rows, TILE):
        length = min(TILE, rows - begin)
        first = payoff.row[s] + begin
        out = g[first : first + length]
        index = payoff.offset[s] + begin
        e = 0
        while e + 4 <= entries:
            value0, columns0 = payoff.value[index:], column[index:]
            value1, columns1 = payoff.value[index + rows :], column[index + rows :]
            value2, columns2 = payoff.value[index + 2 * rows :], column[index + 2 * rows :]
            value3, columns3 = payoff.value[index + 3 * rows :], column[index + 3 * rows :]
            for r in range(length):
                out[r] += (value0[r] * reach[columns0[r]] + value1[r] * reach[columns1[r]]) + (
                    value2[r] * reach[columns2[r]] + value3[r] * reach[columns3[r]]
                )
            e += 4
            index += 4 * rows
        while e < entries:
            value, columns = payoff.value[index:], column[index:]
            for r in range(length):
                out[r] += value[r] * reach[columns[r]]
            e += 1
            index += rows


@inlined
def _add_narrow_slice(payoff: PayoffEntries, s: int, reach: np.ndarray, g: np.ndarray) -> None:
    """Add a slice with few rows, row by row.

    There are four partial sums, so that additions do not wait for each other.
    """
    rows, entries, column = payoff.rows[s], payoff.entries[s], payoff.column[0]
    for r in range(rows):
        a = b = c = d = 0.0
        index = payoff.offset[s] + r
        e = 0
        while e + 4 <= entries:
            a += payoff.value[index] * reach[column[index]]
            b += payoff.value[index + rows] * reach[column[index + rows]]
            c += payoff.value[index + 2 * rows] * reach[column[index + 2 * rows]]
            d += payoff.value[index + 3 * rows] * reach[column[index + 3 * rows]]
            e += 4
            index += 4 * rows
        while e < entries:
            a += payoff.value[index] * reach[column[index]]
            e += 1
            index += rows
        g[payoff.row[s] + r] += (a + b) + (c + d)


@inlined
def _add_slice_of_many(payoff: PayoffEntries, s: int, reach: np.ndarray, g: np.ndarray) -> None:
    """Add a slice entry by entry, with the product of any number of opponents' reaches."""
    rows = payoff.rows[s]
    for e in range(payoff.entries[s]):
        index = payoff.offset[s] + e * rows
        for r in range(rows):
            weight = payoff.value[index + r]
            for j in range(payoff.column.shape[0]):
                weight *= reach[payoff.column[j, index + r]]
            g[payoff.row[s] + r] += weight


def check_slice_ranges(payoff: PayoffEntries, reader: FormReader) -> None:
    """Check the ranges of the players' slices, and that no slice is empty."""
    for name in ("rows", "entries"):
        column = getattr(payoff, name)
        if (i := first_true(column < 1)) is not None:
            fail(f"payoff.{name}[{i}] is {column[i]}")
    check_ranges("payoff.slices", payoff.slices, len(payoff.row))


def check_slice_tiles(payoff: PayoffEntries, reader: FormReader) -> None:
    """Check that the slices tile the entries in order."""
    # Longer slices could overflow in the sum.
    if (i := first_true(payoff.rows > len(payoff.value) // payoff.entries)) is not None:
        fail(
            f"slice {i} has {payoff.rows[i]} rows of {payoff.entries[i]} entries, but there are "
            f"{len(payoff.value)}"
        )
    entries = payoff.rows * payoff.entries
    check_follow("slice", "entry", payoff.offset, entries, len(payoff.value))


def check_row_order(payoff: PayoffEntries, reader: FormReader) -> None:
    """Check that the rows of a player are distinct sequences of the player, ascending."""
    form = reader.form
    owner = np.repeat(np.arange(form.n_players), np.diff(payoff.slices))
    begin, end = payoff.row, payoff.row + payoff.rows
    inside = (begin >= form.player_sequences[owner]) & (end <= form.player_sequences[owner + 1])
    if (i := first_true(~inside)) is not None:
        fail(
            f"slice {i} of player {owner[i]} has rows {begin[i]} to {end[i] - 1}, "
            "which are not all sequences of that player"
        )
    if (i := first_true((begin[1:] < end[:-1]) & (owner[1:] == owner[:-1]))) is not None:
        fail(
            f"slice {i + 1} begins at {reader.sequence(int(begin[i + 1]))}, which does not come "
            f"after the rows of slice {i}"
        )


def check_column(payoff: PayoffEntries, reader: FormReader) -> None:
    """Check that the columns are sequences of the other players."""
    form = reader.form
    for player in range(form.n_players):
        entries = payoff.of_player(player)
        others = [opponent for opponent in range(form.n_players) if opponent != player]
        for column, opponent in zip(payoff.column[:, entries], others, strict=True):
            low, high = form.player_sequences[opponent], form.player_sequences[opponent + 1]
            if (index := first_true((column < low) | (column >= high))) is not None:
                row = int(payoff.entry_row[entries.start + index])
                fail(
                    f"entry {entries.start + index}, of {reader.sequence(row)}, has column "
                    f"{column[index]}, which is not a sequence of player {opponent}"
                )


def check_entry_order(payoff: PayoffEntries, reader: FormReader) -> None:
    """Check that the entries of a row are distinct and sorted by column."""
    ends = payoff.offset + payoff.rows * (payoff.entries - 1)
    for begin in range(0, len(payoff.value), TOGETHER):
        entries = np.arange(begin, min(begin + TOGETHER, len(payoff.value)))
        slices = np.searchsorted(payoff.offset, entries, side="right") - 1
        before_last = entries < ends[slices]
        entries, slices = entries[before_last], slices[before_last]
        # Entries are laid out [entry, row], so the next entry of a row is ``rows`` further on.
        next_entries = entries + payoff.rows[slices]
        rises = np.zeros(len(entries), dtype=bool)
        for column in payoff.column[::-1]:
            rises = (column[entries] < column[next_entries]) | (
                (column[entries] == column[next_entries]) & rises
            )
        if (index := first_true(~rises)) is not None:
            fail(
                f"the columns of {reader.sequence(int(payoff.entry_row[entries[index]]))} go from "
                f"{payoff.column[:, entries[index]].tolist()} to "
                f"{payoff.column[:, next_entries[index]].tolist()}"
            )


def check_value(payoff: PayoffEntries, reader: FormReader) -> None:
    """Check that payoff values are finite."""
    value = payoff.value
    if (entry := first_true(~np.isfinite(value))) is not None:
        row = int(payoff.entry_row[entry])
        fail(f"entry {entry}, of {reader.sequence(row)}, has value {value[entry]}")


ENTRIES = PayoffKind(
    "payoff",
    PayoffEntries,
    add_entries,
    entries_scratch,
    (
        ("P1", "payoff slices", check_slice_ranges),
        ("P2", "slices tile the entries", check_slice_tiles),
        ("P3", "payoff rows", check_row_order),
        ("P4", "payoff columns", check_column),
        ("P5", "order of entries", check_entry_order),
        ("P6", "payoff values are finite", check_value),
    ),
)
"""Kind of single entries."""
