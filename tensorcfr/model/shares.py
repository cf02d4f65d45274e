"""Shares of a game in chunks: consecutive branches as a game of their own.

Another process works on a share.  It needs the reaches of the trunk's sequences through which its
chunks are entered, and gives the values of its entries back.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .arrays import changed_arrays, frozen_array, frozen_arrays
from .chunks import ChunkedForm, ChunkLocks, Entries, tour_of


class Share(NamedTuple):
    """Consecutive branches of a game."""

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
    """For each player int64: the entries of the branches, as the game numbers them."""
    first_entry: int
    """The first of these entries."""


def divide(form: ChunkedForm, count: int) -> list[tuple[int, int]]:
    """Consecutive branches for each of some shares, with about equally many numbers.

    Returns:
        For each share its first chunk and the one after its last; ``count`` of them, or fewer
        where there are fewer branches.
    """
    bounds = np.append(np.flatnonzero(form.above == 0), form.n_chunks)
    ends = form.first[bounds] - form.first[0]
    goals = ends[-1] * np.arange(1, count) / count
    above = np.searchsorted(ends, goals)
    nearest = above - (goals - ends[above - 1] < ends[above] - goals) if form.n_chunks else above
    return list(pairwise(np.unique([0, *bounds[nearest], form.n_chunks]).tolist()))


def share_of(form: ChunkedForm, begin: int, end: int) -> Share:
    """The chunks from ``begin`` to ``end - 1``, whole branches.

    The dtypes of the arrays, and that they are read-only, are those of the game: kernels compiled
    for the game take the share.
    """
    behind_trunk = form.above[begin:end] == 0
    offset = form.entry_offset[begin:end][behind_trunk]
    first = int(offset[0, 0])
    down, up = [], []
    for player in range(2):
        ranges = zip(offset[:, player].tolist(), offset[:, player + 1].tolist(), strict=True)
        up.append(np.concatenate([np.arange(a, b) for a, b in ranges]))
        empty = form.trunk.player_sequences[player]
        behind = (begin + np.flatnonzero(behind_trunk)).tolist()
        own = [np.unique(form.entries(c, player)) for c in behind]
        down.append(np.unique(np.concatenate([[empty], *own])))
    needed, entries = np.concatenate(down), Entries()
    for c in range(begin, end):
        rows, above = [form.rows(c, player) for player in range(2)], int(form.above[c])
        if above == 0:
            rows = [[np.searchsorted(needed, own) for own in of_player] for of_player in rows]
        entries.add(rows, max(above - begin, 0))
    entered = frozen_arrays(entries.finish())
    trunk = changed_arrays(form.trunk, lambda array: array[:0])._replace(
        player_infosets=frozen_array(np.zeros(3, dtype=np.int64)),
        player_sequences=frozen_array(np.cumsum([0, len(down[0]), len(down[1])])),
    )
    alone = some_chunks(form, begin, end)._replace(trunk=trunk, **entered._asdict())
    return Share(begin, end, alone, (down[0], down[1]), (up[0], up[1]), first)


def some_chunks(form: ChunkedForm, begin: int, end: int) -> ChunkedForm:
    """The chunks from ``begin`` to ``end - 1``, whole branches, under the whole trunk, with numbers
    of their own."""
    assert form.shapes is not None
    # So much that ``base`` is nowhere below 0.
    before = form.first[begin:end] - form.base[begin:end]
    shift = form.first[begin] - before.max()
    above = np.maximum(form.above[begin:end] - begin, 0)
    tour = tour_of(above, form.shapes.sequences[form.shape[begin:end]])
    return form._replace(
        shape=form.shape[begin:end],
        first=frozen_array(form.first[begin : end + 1] - shift),
        base=frozen_array(form.base[begin:end] - shift),
        above=frozen_array(above),
        entry_offset=form.entry_offset[begin:end],
        row_offset=form.row_offset[begin:end],
        **tour._asdict(),
    )


def way_to(form: ChunkedForm, chunk: int) -> ChunkedForm:
    """The game with visits to one chunk alone: to the chunks above it on the way down, and to it
    and all chunks below it both ways."""
    way = [chunk + 1]
    while above := int(form.above[way[0] - 1]):
        way.insert(0, above)
    first, *last = np.flatnonzero((form.visit == chunk + 1) | (form.visit == ~(chunk + 1)))
    own = form.visit[first : max(last, default=first) + 1]
    visit = np.concatenate([np.array([0, *way[:-1]]), own, [~0]])
    ends = np.array([0, 1, len(visit) - 1, len(visit)])
    return form._replace(visit=frozen_array(visit), branch=frozen_array(ends))


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
