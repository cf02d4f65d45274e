"""Invariants K: the trunk, the shapes and the chunks of a game in chunks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..._util.declared import check_declared, declared
from ..._util.violations import fail, first_true, named_after, outside
from ...model.arrays import SequenceForm
from ...model.chunked_form import (
    ALIGNED,
    POOLS,
    ROW,
    ChunkedForm,
    ChunkShapes,
    pass_order_of,
    whole_rows,
)
from ...payoff import ARRAYS, KIND_OF_CLASS
from .array_checks import declared_form, named
from .reader import ChunkReader

OF_WHOLE_GAMES = ("S5", "B4")
"""Lines that a shape does not satisfy, because its players have entries in place of an empty
sequence."""


def check_arrays(reader: ChunkReader) -> None:
    """Check dtypes and shapes of the arrays over chunks and of the pools."""
    game, shapes = reader.game, reader.shapes
    arrays = {name: getattr(game, name) for name in declared(ChunkedForm)}
    arrays |= {f"shapes.{name}": array for name, array in shapes._asdict().items()}
    of_shapes = {f"shapes.{name}": array for name, array in declared(ChunkShapes).items()}
    sizes = {
        "chunks": len(game.shape),
        "fields": len(shapes.fields),
        "players": game.n_players,
    }
    check_declared(arrays, {**declared(ChunkedForm), **of_shapes}, sizes)


def check_form_arrays(form: SequenceForm, players: int) -> None:
    """Check dtypes and shapes of the arrays of a sequence form."""
    check_declared(dict(named(form)), declared_form(form), {"players": players})


def check_pools(reader: ChunkReader) -> None:
    """Check that every array of a shape lies within its pool, and that shapes of equal structure
    share their arrays."""
    place, (examples, structure) = reader.shapes.place, reader.structures
    same = examples[structure]
    kinds = (KIND_OF_CLASS[part] for part in reader.shapes.kinds)
    by_board = {f"{kind.name}/{array}" for kind in kinds for array in kind.by_board}
    for field, name in enumerate(reader.shapes.fields):
        kind, _, array = name.rpartition("/")
        dtype = ARRAYS[kind][array][0] if kind else np.int64
        # Without a kind, infoset_parent is uint32 and every other array int64.
        pool = "indices" if name == "infoset_parent" else POOLS[dtype]
        begin, size, _ = place[:, field].T
        end = len(getattr(reader.shapes, pool))
        if (shape := first_true((begin < 0) | (size < 0) | (size > end - begin))) is not None:
            fail(
                f"{name} of shape {shape} has {size[shape]} numbers from {begin[shape]} on in a "
                f"pool of {end}"
            )
        differs = (place[:, field] != place[same, field]).any(axis=1)
        if name not in by_board and (shape := first_true(differs)) is not None:
            fail(f"shapes {same[shape]} and {shape} share player_sequences, but not {name}")
    for shape, form in reader.examples:
        with named_after(f"shape {shape}: "):
            check_form_arrays(form, reader.game.n_players)


def entry_space(form: SequenceForm) -> list[int]:
    """Return the number of sequences before the first bucket of each player, from the player's
    first sequence on; those of the last player are not entries."""
    begins = form.player_sequences.tolist()
    buckets = form.player_buckets.tolist()
    return [
        (int(form.bucket_sequence[first]) if first < last else end) - begin
        for (begin, end), (first, last) in zip(pairwise(begins), pairwise(buckets), strict=True)
    ]


def check_tiles(reader: ChunkReader) -> None:
    """Check that buckets are in order, and that gaps are for alignment, or for the entries of a
    player who is neither the first nor the last."""
    for shape, form in reader.examples:
        if begin := int(form.player_sequences[0]):
            fail(f"shape {shape} begins at sequence {begin}, not 0")
        if (begin := int(form.bucket_sequence[:1].sum())) % ROW:
            fail(f"bucket 0 of shape {shape} begins at sequence {begin}, within a row")
        ends = form.bucket_sequence + form.bucket_actions * form.bucket_lanes
        gaps = form.bucket_sequence[1:] - ends[:-1]
        space = entry_space(form)
        for player in range(1, form.n_players - 1):
            if 0 < (first := int(form.player_buckets[player])) < len(ends):
                gaps[first - 1] -= space[player]
        if (bucket := outside(gaps, 0, ALIGNED)) is not None:
            fail(
                f"bucket {bucket + 1} of shape {shape} begins at sequence "
                f"{form.bucket_sequence[bucket + 1]}, after one that ends at {ends[bucket]}"
            )


def check_shape(reader: ChunkReader) -> None:
    """Check that every chunk has a shape, and every shape a chunk."""
    shape, shapes = reader.game.shape, reader.shapes.n_shapes
    if (chunk := outside(shape, 0, shapes)) is not None:
        fail(f"chunk {chunk} has shape {shape[chunk]} of {shapes}")
    if (unused := first_true(np.bincount(shape, minlength=shapes) == 0)) is not None:
        fail(f"shape {unused} has no chunk")


def check_number_offset(reader: ChunkReader) -> None:
    """Check that the numbers of the trunk come first, then those of chunk after chunk, each from a
    whole row on."""
    game, (before, last) = reader.game, reader.spans.T
    begin = max(whole_rows(game.trunk.n_sequences), int(before.max(initial=0)))
    ends = np.cumsum([begin, *(last - before).tolist()])
    if (index := first_true(game.number_offset != ends)) is not None:
        which = f"chunk {index} begins" if index < game.n_chunks else "the arrays end"
        fail(f"{which} at number {game.number_offset[index]}, not {ends[index]}")
    if (index := first_true(game.sequence_offset != ends[:-1] - before)) is not None:
        fail(
            f"chunk {index} has the sequence offset {game.sequence_offset[index]}, not "
            f"{ends[index] - before[index]}"
        )


def check_pass_order(reader: ChunkReader) -> None:
    """Check the order of a pass.

    A chunk is entered from the trunk, or from a chunk that was entered and not left.  A pass visits
    every part in this order, and chunks with others below them have scratch space of their own.
    """
    game, path = reader.game, [0]
    for chunk, parent_part in enumerate(game.parent_part.tolist()):
        while path and path[-1] != parent_part:
            path.pop()
        if not path:
            fail(f"chunk {chunk} is entered from part {parent_part}, which does not lead to it")
        path.append(chunk + 1)
    order = pass_order_of(game.parent_part, reader.shapes.sequences[game.shape])
    for name, expected in order._asdict().items():
        numbers = getattr(game, name)
        if len(numbers) != len(expected):
            fail(f"{name} has {len(numbers)} numbers, not {len(expected)}")
        if (index := first_true(numbers != expected)) is not None:
            fail(f"{name} {index} is {numbers[index]}, not {expected[index]}")


def check_entry_offset(reader: ChunkReader) -> None:
    """Check that the entries of all chunks, and the rows of ``entry_runs``, are tiled chunk by
    chunk and player by player; entries from the trunk come first."""
    game = reader.game
    beyond = len(game.entry_distances)
    for first, (count, _, begin) in reader.rows():
        if (index := first_true((count < 1) | (count > beyond - begin))) is not None:
            row = first + index
            fail(
                f"row {row} of entries is {game.entry_runs[row].tolist()}, with {beyond} distances"
            )
    behind_trunk_first = np.argsort(game.parent_part > 0, kind="stable")
    for name, order in (
        ("run_offset", np.arange(game.n_chunks)),
        ("entry_offset", behind_trunk_first),
    ):
        offset = getattr(game, name)
        what = name.removesuffix("_offset")
        if (chunk := first_true(np.diff(offset, axis=1).min(axis=1, initial=1) < 1)) is not None:
            fail(f"chunk {chunk} has {what} {offset[chunk].tolist()}")
        ends = offset[order, -1]
        gaps = offset[order, 0] != np.append(0, ends[:-1])[: len(ends)]
        if (index := first_true(gaps)) is not None:
            chunk = int(order[index])
            fail(f"chunk {chunk} begins at {what} {offset[chunk, 0]}, not where others end")
        if name == "run_offset" and (end := int(ends[-1]) if len(ends) else 0) != len(
            game.entry_runs
        ):
            fail(f"there are {len(game.entry_runs)} rows of entries, and the chunks end at {end}")
    counts = np.diff(game.entry_offset, axis=1).ravel()
    counted = np.zeros_like(counts)
    for first, (count, _, _) in reader.rows():
        np.add.at(counted, reader.owners(first, len(count)), count)
    if (index := first_true(counts != counted)) is not None:
        fail(
            f"player {index % game.n_players} has {counts[index]} entries into chunk "
            f"{index // game.n_players}, and rows of {counted[index]}"
        )


def check_entry_counts(reader: ChunkReader) -> None:
    """Check that a chunk has the entries of its shape."""
    game = reader.game
    counts = np.diff(game.entry_offset, axis=1)
    of_forms = np.array([entry_space(form) for form in reader.forms], np.int64)
    expected = of_forms.reshape(-1, game.n_players)[reader.structures[1][game.shape]]
    expected[:, -1] = reader.shapes.sequences[game.shape] - reader.spans[:, 1]
    # Entries before other sequences are padded to whole rows, so that these begin at a row.
    padded = counts.copy()
    padded[:, :-1] = whole_rows(counts[:, :-1])
    if (chunk := first_true((padded != expected).any(axis=1))) is not None:
        fail(
            f"chunk {chunk} has {counts[chunk].tolist()} entries, and its shape space for "
            f"{expected[chunk].tolist()}"
        )


def check_entry(reader: ChunkReader) -> None:
    """Check that entries lie behind sequences of their player in the part that the chunk is entered
    from."""
    game = reader.game
    of_forms = np.array([form.player_sequences for form in reader.forms], np.int64)
    of_chunks = of_forms.reshape(-1, game.n_players + 1)[reader.structures[1][game.shape]]
    # Sequences of each player in the parent part: the trunk, or a chunk.
    bounds = np.concatenate([[game.trunk.player_sequences], of_chunks])[game.parent_part]
    lowest, end = bounds[:, :-1].ravel(), bounds[:, 1:].ravel()
    for first, (count, after, begin) in reader.rows():
        # Few pairs of a count and an offset occur, so compute the maximum of each pair once.
        kinds, kind = np.unique(np.stack([count, begin]), axis=1, return_inverse=True)
        furthest = [int(game.entry_distances[i : i + size].max()) for size, i in kinds.T.tolist()]
        last = after + np.array(furthest)[kind]
        owner = reader.owners(first, len(after))
        wrong = (after < lowest[owner]) | (last >= end[owner])
        if (i := first_true(wrong)) is not None:
            chunk, player = divmod(int(owner[i]), game.n_players)
            fail(
                f"an entry of player {player} into chunk {chunk} lies behind sequences "
                f"{after[i]} to {last[i]} of part {game.parent_part[chunk]}, which are not all "
                "this player's"
            )


def check_sequences(reader: ChunkReader) -> None:
    """Check that trunk and chunks have all sequences of the game that was cut, without entries."""
    of_shapes = np.array(
        [form.bucket_actions @ form.bucket_lanes for form in reader.forms], np.int64
    )
    of_chunks = of_shapes[reader.structures[1][reader.game.shape]]
    total = reader.game.trunk.n_sequences + int(of_chunks.sum())
    if reader.sequences is not None and total != reader.sequences:
        fail(f"trunk and chunks have {total:,} sequences, and the game {reader.sequences:,}")
