"""The payoff operator entry by entry: ``g = A x`` in slices of rows with equally many entries."""

from __future__ import annotations

import numpy as np

from .._util.limits import PAYOFF_ROUNDING
from .entries import PayoffEntries


def payoff_entries(
    last: np.ndarray, payoff: np.ndarray, player_sequences: np.ndarray
) -> PayoffEntries:
    """The entries of ``g = A x``, for every player.

    Terminals that share the last sequences of all players are added up.  A player has one row
    per own sequence; consecutive rows with equally many entries form a slice, in which entry
    ``e`` of all rows is contiguous.

    Args:
        last: int64 (players, terminals): last sequence of each player at each terminal.
        payoff: float64 (terminals, players): chance probability times utility.
        player_sequences: As in :class:`SequenceForm`.
    """
    last, payoff = _add_equal_terminals(last, payoff)
    n_players, entries = last.shape
    parts: list[dict[str, np.ndarray]] = []
    for player in range(n_players):
        others = np.delete(last, player, axis=0)
        by_row = np.lexsort((*others[::-1], last[player]))
        rows, count = np.unique(last[player][by_row], return_counts=True)
        parts.append(_slices(rows, count, others[:, by_row], payoff[by_row, player]))
    for player, part in enumerate(parts):
        part["offset"] += player * entries
    joined = {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}
    counts = [len(part["row"]) for part in parts]
    return PayoffEntries(**joined, slices=np.concatenate([[0], np.cumsum(counts)]))


def _add_equal_terminals(last: np.ndarray, payoff: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add up the payoffs of terminals with equal last sequences; arguments and results as in
    :func:`payoff_entries`."""
    order = np.lexsort(last[::-1])
    last, payoff = last[:, order], payoff[order]
    new = np.ones(last.shape[1], dtype=bool)
    new[1:] = (last[:, 1:] != last[:, :-1]).any(axis=0)
    if new.all():
        return last, payoff
    first = np.flatnonzero(new)
    total = np.add.reduceat(payoff, first, axis=0)
    # A sum that cancels leaves a rounding error, which would decide ties.
    size = np.add.reduceat(np.abs(payoff), first, axis=0)
    return last[:, new], np.where(np.abs(total) <= PAYOFF_ROUNDING * size, 0.0, total)


def _slices(
    rows: np.ndarray, count: np.ndarray, columns: np.ndarray, values: np.ndarray
) -> dict[str, np.ndarray]:
    """Lay out one player's entries in slices.

    Args:
        rows: int64 (rows,): the sequences that have entries, ascending.
        count: int64 (rows,): entries of each.
        columns: int64 (players - 1, entries): last sequences of the others, sorted by row.
        values: float64 (entries,): likewise.

    Returns:
        The fields of :class:`PayoffEntries`, except ``slices``; offsets begin at 0.
    """
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
