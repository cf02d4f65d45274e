"""Shares of a game in chunks: consecutive chunks as a game of their own.

Another process works on a share.  It needs the reaches of the trunk's sequences through which its
chunks are entered, and gives the values of its entries back.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .chunks import ChunkedForm, ChunkLocks, Entries


class Share(NamedTuple):
    """Consecutive chunks of a game."""

    begin: int
    """The first chunk."""
    end: int
    """The chunk after the last one."""
    form: ChunkedForm
    """The chunks alone.  The trunk has no infosets, and of the sequences those through which the
    chunks are entered, and the empty sequences."""
    down: tuple[np.ndarray, np.ndarray]
    """For each player int64: the sequences of the game's trunk that the trunk of ``form`` has."""
    up: tuple[np.ndarray, np.ndarray]
    """For each player int64: the entries of the chunks, as the game numbers them."""
    first_entry: int
    """The first of these entries."""


def divide(form: ChunkedForm, count: int) -> list[tuple[int, int]]:
    """Consecutive chunks for each of some shares, with about equally many numbers.

    Returns:
        For each share its first chunk and the one after its last; ``count`` of them, or fewer
        where there are fewer chunks.
    """
    ends = form.first - form.first[0]
    goals = ends[-1] * np.arange(1, count) / count
    above = np.searchsorted(ends, goals)
    nearest = above - (goals - ends[above - 1] < ends[above] - goals) if form.n_chunks else above
    bounds = np.unique([0, *nearest, form.n_chunks])
    return list(pairwise(bounds.tolist()))


def share_of(form: ChunkedForm, begin: int, end: int) -> Share:
    """The chunks from ``begin`` to ``end - 1``.

    The dtypes of the arrays, and that they are read-only, are those of the game: kernels compiled
    for the game take the share.
    """
    offset = form.entry_offset[begin:end]
    first = int(offset[0, 0])
    down, up = [], []
    for player in range(2):
        ranges = zip(offset[:, player].tolist(), offset[:, player + 1].tolist(), strict=True)
        up.append(np.concatenate([np.arange(a, b) for a, b in ranges]))
        empty = form.trunk.player_sequences[player]
        own = [np.unique(form.entries(c, player)) for c in range(begin, end)]
        down.append(np.unique(np.concatenate([[empty], *own])))
    needed, entries = np.concatenate(down), Entries()
    for c in range(begin, end):
        entries.add([[np.searchsorted(needed, own) for own in form.rows(c, p)] for p in range(2)])
    entered = frozen_arrays(entries.finish())
    trunk = _changed(form.trunk, lambda array: array[:0])._replace(
        player_infosets=_frozen(np.zeros(3, dtype=np.int64)),
        player_sequences=_frozen(np.cumsum([0, len(down[0]), len(down[1])])),
    )
    alone = some_chunks(form, begin, end)._replace(trunk=trunk, **entered._asdict())
    return Share(begin, end, alone, (down[0], down[1]), (up[0], up[1]), first)


def some_chunks(form: ChunkedForm, begin: int, end: int) -> ChunkedForm:
    """The chunks from ``begin`` to ``end - 1`` under the whole trunk, with numbers of their own."""
    # So much that ``base`` is nowhere below 0.
    before = form.first[begin:end] - form.base[begin:end]
    shift = form.first[begin] - before.max()
    return form._replace(
        shape=form.shape[begin:end],
        first=_frozen(form.first[begin : end + 1] - shift),
        base=_frozen(form.base[begin:end] - shift),
        entry_offset=form.entry_offset[begin:end],
        row_offset=form.row_offset[begin:end],
    )


def share_of_locks(locks: ChunkLocks | None, begin: int, end: int) -> ChunkLocks | None:
    """The locks of the chunks from ``begin`` to ``end - 1``; the trunk of the share has none."""
    if locks is None:
        return None
    first, last = int(locks.part[begin + 1]), int(locks.part[end + 1])
    return locks._replace(
        part=np.maximum(locks.part[begin : end + 2] - first, 0),
        bucket=locks.bucket[first:last].copy(),
        lane=locks.lane[first:last].copy(),
        offset=locks.offset[first:last].copy(),
    )


def frozen_arrays(value: Any) -> Any:
    """A tuple of arrays and tuples with every array read-only and in one piece, as kernels take
    those of a game; a copy where an array is not."""
    return _changed(value, lambda array: _frozen(np.ascontiguousarray(array)))


def _changed(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """An array that is changed, or a tuple of such values."""
    if isinstance(value, np.ndarray):
        return change(value)
    found = (_changed(one, change) for one in value)
    return type(value)(*found) if hasattr(value, "_fields") else tuple(found)


def _frozen(array: np.ndarray) -> np.ndarray:
    """The array, read-only; a view where others may write to it."""
    own = array.view()
    own.flags.writeable = False
    return own
