"""Shares of a game in chunks: consecutive branches as a game that another process works on.

The process needs the reaches of the trunk's sequences through which the chunks of its share are
entered, and returns the values of the entries.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .arrays import changed_arrays, frozen_array, frozen_arrays
from .chunked_form import ChunkedForm, ChunkLocks, EntryBuilder, pass_order_of


class BranchShare(NamedTuple):
    """Consecutive branches of a game."""

    begin: int
    """First chunk of the share."""
    end: int
    """Chunk after the last one."""
    form: ChunkedForm
    """Form of these chunks only.  Its trunk has no infosets, and as sequences only the empty ones
    and those through which the chunks are entered."""
    down: tuple[np.ndarray, ...]
    """Sequences of the game's trunk that the trunk of ``form`` has, for each player int64."""
    up: tuple[np.ndarray, ...]
    """Entries of the branches, as the game numbers them, for each player int64."""
    first_entry: int
    """First of these entries."""


def divide(form: ChunkedForm, count: int) -> list[tuple[int, int]]:
    """Divide the branches into runs of consecutive branches with about equally many numbers.

    Args:
        form: The game.
        count: Number of shares.

    Returns:
        For each share its first chunk and the chunk after its last; ``count`` shares, or fewer if
        there are fewer branches.
    """
    bounds = np.append(np.flatnonzero(form.parent_part == 0), form.n_chunks)
    ends = form.number_offset[bounds] - form.number_offset[0]
    # Cut at the branch boundary that is nearest to each goal.
    goals = ends[-1] * np.arange(1, count) / count
    above = np.searchsorted(ends, goals)
    nearest = above - (goals - ends[above - 1] < ends[above] - goals) if form.n_chunks else above
    return list(pairwise(np.unique([0, *bounds[nearest], form.n_chunks]).tolist()))


def share_of(form: ChunkedForm, begin: int, end: int) -> BranchShare:
    """Return the share of the chunks from ``begin`` to ``end - 1``, which must be whole branches.

    The arrays have the dtypes of the game's arrays and are read-only like them, so that kernels
    compiled for the game accept the share.
    """
    is_top = form.parent_part[begin:end] == 0
    offset = form.entry_offset[begin:end][is_top]
    first = int(offset[0, 0])
    down, up = [], []
    players = range(form.n_players)
    for player in players:
        ranges = zip(offset[:, player].tolist(), offset[:, player + 1].tolist(), strict=True)
        up.append(np.concatenate([np.arange(a, b) for a, b in ranges]))
        empty = form.trunk.player_sequences[player]
        top_chunks = (begin + np.flatnonzero(is_top)).tolist()
        sequences = [np.unique(form.entries(c, player)) for c in top_chunks]
        down.append(np.unique(np.concatenate([[empty], *sequences])))
    needed, entries = np.concatenate(down), EntryBuilder(len(players))
    for c in range(begin, end):
        rows, above = [form.runs(c, player) for player in players], int(form.parent_part[c])
        # Renumber the sequences of the trunk; chunks below other chunks keep their sequences.
        if above == 0:
            rows = [
                [np.searchsorted(needed, sequences) for sequences in of_player]
                for of_player in rows
            ]
        # Parts of the share are numbered from 1; the trunk stays 0.
        entries.add(rows, max(above - begin, 0))
    entered = frozen_arrays(entries.finish())
    trunk = changed_arrays(form.trunk, lambda array: array[:0])._replace(
        player_infosets=frozen_array(np.zeros(len(players) + 1, dtype=np.int64)),
        player_sequences=frozen_array(np.cumsum([0, *map(len, down)])),
    )
    share_form = some_chunks(form, begin, end)._replace(trunk=trunk, **entered._asdict())
    return BranchShare(begin, end, share_form, tuple(down), tuple(up), first)


def some_chunks(form: ChunkedForm, begin: int, end: int) -> ChunkedForm:
    """Return a form of the chunks from ``begin`` to ``end - 1``, which must be whole branches.

    The trunk is whole; the numbers of the chunks are shifted to follow it.
    """
    assert form.shapes is not None
    # Leave enough space before the first chunk that ``sequence_offset`` is never negative.
    before = form.number_offset[begin:end] - form.sequence_offset[begin:end]
    shift = form.number_offset[begin] - before.max()
    above = np.maximum(form.parent_part[begin:end] - begin, 0)
    order = pass_order_of(above, form.shapes.sequences[form.shape[begin:end]])
    return form._replace(
        shape=form.shape[begin:end],
        number_offset=frozen_array(form.number_offset[begin : end + 1] - shift),
        sequence_offset=frozen_array(form.sequence_offset[begin:end] - shift),
        parent_part=frozen_array(above),
        entry_offset=form.entry_offset[begin:end],
        run_offset=form.run_offset[begin:end],
        **order._asdict(),
    )


def visits_to(form: ChunkedForm, chunk: int) -> ChunkedForm:
    """Return the game with visits to one chunk only: the chunks above it in the forward direction,
    the chunk and all chunks below it in both."""
    # Go up from the chunk to the trunk.
    path = [chunk + 1]
    while above := int(form.parent_part[path[0] - 1]):
        path.insert(0, above)
    # The visits of the chunk and of all chunks below it are contiguous.
    first, *last = np.flatnonzero(
        (form.pass_order == chunk + 1) | (form.pass_order == ~(chunk + 1))
    )
    visits_below = form.pass_order[first : max(last, default=first) + 1]
    visit = np.concatenate([np.array([0, *path[:-1]]), visits_below, [~0]])
    ends = np.array([0, 1, len(visit) - 1, len(visit)])
    return form._replace(pass_order=frozen_array(visit), branch_offset=frozen_array(ends))


def share_of_locks(
    locks: ChunkLocks | None, form: ChunkedForm, begin: int, end: int, share: ChunkedForm
) -> ChunkLocks | None:
    """Return the locks of the chunks from ``begin`` to ``end - 1``; the trunk of the share has
    none.

    Args:
        locks: Locks of the game.
        form: The game.
        begin: First chunk of the share.
        end: Chunk after the last one.
        share: The form of the share.
    """
    if locks is None:
        return None

    def numbers(whole: np.ndarray) -> np.ndarray:
        if not whole.size:
            return whole
        part = np.zeros(share.n_numbers, dtype=whole.dtype)
        first = share.number_offset[0]
        part[first:] = whole[form.number_offset[begin] : form.number_offset[end]]
        return part

    first, last = int(locks.part[begin + 1]), int(locks.part[end + 1])
    return locks._replace(
        part=np.maximum(locks.part[begin : end + 2] - first, 0),
        bucket=locks.bucket[first:last].copy(),
        lane=locks.lane[first:last].copy(),
        offset=locks.offset[first:last].copy(),
        least=numbers(locks.least),
        payoff=numbers(locks.payoff),
    )
