"""Invariants K: the trunk, the shapes and the chunks of a game in chunks."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .._util.declared import declared
from ..kernels.shapes import POOLS, shape_form
from ..model.arrays import SequenceForm
from ..model.chunks import (
    ALIGNED,
    CARD_FIELDS,
    FIELDS,
    FORM_FIELDS,
    ROW,
    CardShapes,
    ChunkedForm,
    Shapes,
)
from ..payoff import ARRAYS
from .arrays import check_declared, declared_form, named
from .reader import check_ranges, fail, first_true, named_after, outside

OF_WHOLE_GAMES = ("S5", "B4")
"""Lines that a shape does not keep: its players have entries in place of an empty sequence."""
OF_BOARDS = ("cards/walk", "cards/board", "cards/amount")
"""The arrays in which shapes of equal structure may differ."""


class ChunkReader:
    """A game in chunks under check.

    Args:
        game: The game.
        sequences: Sequences of the game that was cut; None if they have not been counted.
    """

    def __init__(self, game: ChunkedForm, sequences: int | None = None) -> None:
        self.game, self.sequences = game, sequences

    @property
    def shapes(self) -> Shapes:
        """The shapes."""
        assert self.game.shapes is not None
        return self.game.shapes

    @property
    def fields(self) -> tuple[str, ...]:
        """The arrays of a shape."""
        return CARD_FIELDS if isinstance(self.shapes, CardShapes) else FIELDS

    @cached_property
    def _structures(self) -> tuple[np.ndarray, np.ndarray]:
        # The array is in the pool once for all shapes of a structure.
        begin = self.shapes.place[:, FORM_FIELDS.index("player_sequences"), 0]
        _, examples, structure = np.unique(begin, return_index=True, return_inverse=True)
        return examples, structure

    @property
    def examples(self) -> np.ndarray:
        """int64 (structures,): a shape of each structure."""
        return self._structures[0]

    @property
    def structure(self) -> np.ndarray:
        """int64 (shapes,): the structure of each shape."""
        return self._structures[1]

    @cached_property
    def forms(self) -> list[SequenceForm]:
        """The form of each shape in :attr:`examples`; valid only after K3 has been checked."""
        return [shape_form(self.shapes, shape) for shape in self.examples.tolist()]

    def of_chunks(self, of_structures: np.ndarray) -> np.ndarray:
        """Numbers of structures, chunk by chunk; valid only after K6 has been checked."""
        return of_structures[self.structure[self.game.shape]]


def check_arrays(reader: ChunkReader) -> None:
    """Dtypes and shapes of the arrays over chunks and of the pools."""
    game, shapes = reader.game, reader.shapes
    arrays = {name: getattr(game, name) for name in declared(ChunkedForm)}
    arrays |= {f"shapes.{name}": array for name, array in shapes._asdict().items()}
    of_shapes = {"shapes.place": (np.int64, ("shapes", len(reader.fields), 3))}
    pools = {f"shapes.{pool}": (dtype, (f"numbers of {pool}",)) for dtype, pool in POOLS.items()}
    wanted = {**declared(ChunkedForm), **of_shapes, **pools}
    check_declared(arrays, wanted, {"chunks": len(game.shape)})


def check_form_arrays(form: SequenceForm) -> None:
    """Dtypes and shapes of the arrays of a sequence form of two players."""
    check_declared(dict(named(form)), declared_form(form), {"players": 2})


def check_pools(reader: ChunkReader) -> None:
    """Every array of a shape lies within its pool; shapes of equal structure share their arrays."""
    place = reader.shapes.place
    for field, name in enumerate(reader.fields):
        kind, _, own = name.rpartition("/")
        dtype = ARRAYS[kind][own][0] if kind else np.int64
        pool = "indices" if name == "infoset_parent" else POOLS[dtype]
        begin, size, _ = place[:, field].T
        end = len(getattr(reader.shapes, pool))
        if (shape := first_true((begin < 0) | (size < 0) | (size > end - begin))) is not None:
            fail(
                f"{name} of shape {shape} has {size[shape]} numbers from {begin[shape]} on in a "
                f"pool of {end}"
            )
        of_structure = place[reader.examples[reader.structure], field]
        differs = (place[:, field] != of_structure).any(axis=1)
        if name not in OF_BOARDS and (shape := first_true(differs)) is not None:
            fail(
                f"shapes {reader.examples[reader.structure[shape]]} and {shape} share "
                f"player_sequences, but not {name}"
            )
    for shape, form in zip(reader.examples.tolist(), reader.forms, strict=True):
        with named_after(f"shape {shape}: "):
            check_form_arrays(form)


def check_tiles(reader: ChunkReader) -> None:
    """A player's entries are the first sequences; buckets come after them in order, with gaps for
    alignment alone."""
    for shape, form in zip(reader.examples.tolist(), reader.forms, strict=True):
        end = int(form.player_sequences[0])
        if end:
            fail(f"shape {shape} begins at sequence {end}, not 0")
        for player in range(2):
            buckets = range(*form.player_buckets[player : player + 2].tolist())
            for nth, bucket in enumerate(buckets):
                begin = int(form.bucket_sequence[bucket])
                # How many entries come before the first bucket is checked chunk by chunk.
                if nth and not end <= begin < end + ALIGNED:
                    fail(
                        f"bucket {bucket} of shape {shape} begins at sequence {begin}, after one "
                        f"that ends at {end}"
                    )
                end = begin + int(form.bucket_actions[bucket] * form.bucket_lanes[bucket])
            last = int(form.player_sequences[player + 1])
            if buckets and not end <= last < end + ALIGNED:
                fail(
                    f"player {player} of shape {shape} ends at sequence {last}, and the last "
                    f"bucket at {end}"
                )
            end = last


def check_shape(reader: ChunkReader) -> None:
    """Every chunk has a shape, and every shape a chunk."""
    shape, shapes = reader.game.shape, reader.shapes.n_shapes
    if (chunk := outside(shape, 0, shapes)) is not None:
        fail(f"chunk {chunk} has shape {shape[chunk]} of {shapes}")
    if (unused := first_true(np.bincount(shape, minlength=shapes) == 0)) is not None:
        fail(f"shape {unused} has no chunk")


def check_first(reader: ChunkReader) -> None:
    """The sequences of the trunk, then those of chunk after chunk, each from a whole row on."""
    game = reader.game
    sizes = np.append(game.trunk.n_sequences, reader.shapes.sequences[game.shape])
    ends = np.cumsum(-(-sizes // ROW) * ROW)
    if (at := first_true(game.first != ends)) is not None:
        which = f"chunk {at} begins" if at < game.n_chunks else "the arrays end"
        fail(f"{which} at number {game.first[at]}, not {ends[at]}")


def check_entry_offset(reader: ChunkReader) -> None:
    """The entries of chunk after chunk and player after player tile ``entry``."""
    game = reader.game
    counts = np.diff(game.entry_offset, axis=1)
    if (chunk := first_true(counts.min(axis=1, initial=1) < 1)) is not None:
        fail(f"chunk {chunk} has {counts[chunk].tolist()} entries")
    ranges = np.append(game.entry_offset[:, 0], game.entry_offset[-1:, 2])
    if len(ranges) == 0:
        if len(game.entry):
            fail(f"there are {len(game.entry)} entries and no chunks")
        return
    if (chunk := first_true(game.entry_offset[:, 2] != ranges[1:])) is not None:
        fail(f"chunk {chunk} ends at entry {game.entry_offset[chunk, 2]}, not {ranges[chunk + 1]}")
    check_ranges("entry_offset", ranges, len(game.entry), what="chunk")


def check_entry_counts(reader: ChunkReader) -> None:
    """A chunk has the entries of its shape."""
    room = np.zeros((len(reader.forms), 2), dtype=np.int64)
    for structure, form in enumerate(reader.forms):
        for player in range(2):
            begin, end = form.player_buckets[player : player + 2].tolist()
            first = (
                form.bucket_sequence[begin] if end > begin else form.player_sequences[player + 1]
            )
            room[structure, player] = first - form.player_sequences[player]
    counts, room = np.diff(reader.game.entry_offset, axis=1), reader.of_chunks(room)
    wrong = ((counts > room) | (room - counts >= ALIGNED)).any(axis=1)
    if (chunk := first_true(np.asarray(wrong))) is not None:
        fail(
            f"chunk {chunk} has {counts[chunk].tolist()} entries, and its shape room for "
            f"{room[chunk].tolist()} before the first buckets"
        )


def check_entry(reader: ChunkReader) -> None:
    """Entries lie behind sequences of the trunk of their player."""
    game = reader.game
    if not game.n_chunks:
        return
    begins = game.entry_offset[:, :2].ravel()
    low, high = game.trunk.player_sequences[:-1], game.trunk.player_sequences[1:]
    least = np.minimum.reduceat(game.entry, begins).reshape(-1, 2)
    most = np.maximum.reduceat(game.entry, begins).reshape(-1, 2)
    wrong = (least < low) | (most >= high)
    if (chunk := first_true(np.asarray(wrong.any(axis=1)))) is not None:
        player = int(wrong[chunk].argmax())
        begin, end = game.entry_offset[chunk, player : player + 2].tolist()
        at = outside(game.entry[begin:end], int(low[player]), int(high[player]))
        assert at is not None
        fail(
            f"entry {at} of player {player} into chunk {chunk} lies behind sequence "
            f"{game.entry[begin + at]} of the trunk, which is none of this player's"
        )


def check_sequences(reader: ChunkReader) -> None:
    """Trunk and chunks have all sequences of the game that was cut, entries not counted."""
    own = np.array(
        [int(form.bucket_actions @ form.bucket_lanes) for form in reader.forms], dtype=np.int64
    )
    found = reader.game.trunk.n_sequences + int(reader.of_chunks(own).sum())
    if reader.sequences is not None and found != reader.sequences:
        fail(f"trunk and chunks have {found:,} sequences, and the game {reader.sequences:,}")
