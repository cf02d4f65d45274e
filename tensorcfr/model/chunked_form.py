"""A game in chunks: the arrays of its trunk, of the shapes of its chunks, and of the chunks.

The public tree of a game is cut.  The part above the cut is the *trunk*, a sequence form whose
leaves may lead into chunks.  The part below it is grouped into *chunks*: forests of subtrees.  A
chunk is entered through its *entries*, the last sequences of all players in the trunk, and returns
the values of its entries to them.  Chunks of equal structure have one *shape*: a sequence form, in
which the entries are the first sequences of their player, and those of the last player the last
ones.

The tree may be cut again below a cut.  Then a chunk is entered from another chunk in the same way
as from the trunk.  A chunk that is entered from the trunk, and all chunks below it, are a *branch*.

A solver's arrays over such a game hold the trunk's sequences first and then the sequences of one
chunk after the other, without the entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from .._util.declared import declared
from .._util.growing import GrowingArray
from ..payoff import KIND_OF_CLASS, PayoffPart, empty_arrays
from .arrays import SequenceForm, frozen_array, frozen_arrays, named_arrays, not_none

ALIGNED = 16
"""Alignment of a chunk's buckets, in numbers: one cache line of float32, two of float64."""
ROW = 64
"""Numbers that share a scale if a solver keeps them in 16 bits.  The sequences of a chunk begin at
a multiple of it, so no row of numbers belongs to two chunks."""
SCALES = 2
"""Scales of a row: a row has numbers of at most two players, one with an even number and one with
an odd number."""


FORM_FIELDS = tuple(name for name in SequenceForm._fields if name not in {"operator", "copies"})
"""Names of the arrays of a sequence form without its operator, in the order in which they are
placed."""
POOLS: dict[type, str] = {np.int64: "integers", np.uint32: "indices", np.float64: "reals"}
"""Pool of :class:`ChunkShapes` that stores the arrays of each dtype."""
Kinds = tuple[type[PayoffPart], ...]
"""Kinds of the parts of a payoff operator."""


@cache
def fields_of(kinds: Kinds) -> tuple[str, ...]:
    """Return the names of the arrays of a sequence form whose operator has parts of some kinds, in
    the order in which they are placed; an array of a part is named ``"kind/array"``."""
    of_parts = (f"{KIND_OF_CLASS[kind].name}/{array}" for kind in kinds for array in declared(kind))
    return (*FORM_FIELDS, *of_parts)


class ChunkShapes(NamedTuple):
    """Sequence forms, one after the other in three pools of numbers.

    Kernels unpack the form of a shape with :func:`tensorcfr.kernels.shapes.shape_form`.  A tuple of
    forms would not do: its type, and so every kernel, would differ for each number of shapes.

    Shapes may share arrays, which are in the pools once.  Every chunk of a game of cards has its
    own shape.  Shapes of different boards differ in the array ``hand_list``, the order of the hands
    by strength, and in their weights if these vary by board.
    """

    place: Annotated[np.ndarray, np.int64, "shapes", "fields", 3]
    """int64 (shapes, fields, 3): for each array of ``fields`` its offset in its pool, its size, and
    the length of its last axis."""
    integers: Annotated[np.ndarray, np.int64, "numbers of integers"]
    """int64: pool of the int64 arrays."""
    indices: Annotated[np.ndarray, np.uint32, "numbers of indices"]
    """uint32: pool of the uint32 arrays."""
    reals: Annotated[np.ndarray, np.float64, "numbers of reals"]
    """float64: pool of the float64 arrays."""
    kinds: Kinds
    """Kinds of the parts of a shape's operator.  They are part of the type of the shapes, so
    kernels are compiled for them."""
    empty_kinds: Kinds = ()
    """Kinds of empty parts that come first in the operator; see :meth:`with_empty_parts`."""

    @property
    def n_shapes(self) -> int:
        """Number of shapes."""
        return len(self.place)

    def array(self, shape: int, name: str) -> np.ndarray:
        """Return an array of a shape, int64 and flat; ``name`` is one of :data:`FORM_FIELDS`."""
        begin, size, _ = self.place[shape, FORM_FIELDS.index(name)]
        return self.integers[begin : begin + size]

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the arrays of a shape, in their order in ``place``."""
        return fields_of(self.kinds)

    def with_empty_parts(self, kinds: Kinds) -> ChunkShapes:
        """Return the shapes with empty parts of the kinds that they lack.

        Kernels take one type of form for trunk and chunks, so the operator of a shape needs a part
        of every kind that the trunk has.  Zeros at the end of the pools hold its arrays.
        """
        missing = tuple(kind for kind in kinds if kind not in self.empty_kinds + self.kinds)
        arrays = [array for kind in missing for array in empty_arrays(kind)]
        changes: dict[str, Any] = {"empty_kinds": missing + self.empty_kinds}
        for dtype, name in POOLS.items():
            if size := max([array.size for array in arrays if array.dtype == dtype], default=0):
                changes[name] = np.append(getattr(self, name), np.zeros(size, dtype=dtype))
        return self._replace(**changes)

    @property
    def sequences(self) -> np.ndarray:
        """int64 (shapes,): sequences of each shape, the entries included."""
        return self._numbers("player_sequences", -1)

    @property
    def spans(self) -> np.ndarray:
        """int64 (shapes, 2): begin and end of the sequences that have numbers in the arrays of a
        solver.

        Before them are the entries of player 0, and after them those of the last player.  Entries
        of a player between them have unused numbers.
        """
        # A shape without decisions has no such sequences: both bounds are where the last player
        # begins.
        middle = self._numbers("player_sequences", -2)
        acts = self.place[:, FORM_FIELDS.index("bucket_sequence"), 1] > 0
        first = self._numbers("bucket_sequence", 0)
        last, actions, lanes = (
            self._numbers(f"bucket_{name}", -1) for name in ("sequence", "actions", "lanes")
        )
        # If only earlier players decide, the entries of players between them are last.
        return np.where(acts, [first, np.maximum(last + actions * lanes, middle)], middle).T

    @property
    def structures(self) -> tuple[np.ndarray, np.ndarray]:
        """int64 (structures,): a shape of each structure; int64 (shapes,): the structure of each
        shape.  Shapes of one structure have the same betting and the same numbers of hands."""
        # Shapes of one structure share this array in the pool, so its offset identifies the
        # structure.
        begin = self.place[:, FORM_FIELDS.index("player_sequences"), 0]
        _, examples, structure = np.unique(begin, return_index=True, return_inverse=True)
        return examples, structure

    def _numbers(self, name: str, index: int) -> np.ndarray:
        """Return element ``index`` of an array of each shape, int64 (shapes,); an arbitrary number
        if the array is empty."""
        begin, size, _ = self.place[:, FORM_FIELDS.index(name)].T
        return self.integers[
            np.minimum(begin + index % np.maximum(size, 1), len(self.integers) - 1)
        ]


class ChunkedForm(NamedTuple):
    """Sequence form of a game, split into a trunk and chunks.

    A chunk is entered from the part above it: the trunk, or another chunk.  Chunks with the same
    structure share one shape.  Solver arrays hold the numbers of the trunk first, then those of
    chunk 0, 1, ...
    """

    trunk: SequenceForm
    """The part above the cut."""
    shapes: ChunkShapes | None
    """The structures of the chunks; None without chunks."""
    shape: Annotated[np.ndarray, np.int64, "chunks"]
    """int64 (chunks,): index into ``shapes`` of each chunk's structure."""
    number_offset: Annotated[np.ndarray, np.int64, "chunks + 1"]
    """int64 (chunks + 1,): start of each chunk's numbers in solver arrays; the last element is the
    length of these arrays."""
    sequence_offset: Annotated[np.ndarray, np.int64, "chunks"]
    """int64 (chunks,): sequence ``s`` of chunk ``c`` has the number ``sequence_offset[c] + s``.
    Entries are the exception: their numbers belong to the part above."""
    parent_part: Annotated[np.ndarray, np.int64, "chunks"]
    """int64 (chunks,): part that each chunk is entered from, 0 for the trunk and ``c + 1`` for
    chunk ``c``.  The chunks below a chunk directly follow it."""
    entry_offset: Annotated[np.ndarray, np.int64, "chunks", "players + 1"]
    """int64 (chunks, players + 1): player ``i`` has the entries ``[c, i]`` to ``[c, i + 1] - 1`` of
    chunk ``c``.  They are numbered over all chunks, in the order of the shape's sequences, the
    entries from the trunk first."""
    run_offset: Annotated[np.ndarray, np.int64, "chunks", "players + 1"]
    """int64 (chunks, players + 1): player ``i`` has the rows ``[c, i]`` to ``[c, i + 1] - 1`` of
    ``entry_runs`` in chunk ``c``."""
    entry_runs: Annotated[np.ndarray, np.uint32, "rows", 3]
    """uint32 (rows, 3): runs of consecutive entries.  The columns are the number of entries, the
    smallest sequence behind them in the part above, and an index into ``entry_distances``, which
    holds the distance of each entry's sequence from the smallest one."""
    entry_distances: Annotated[np.ndarray, np.uint32, "distances"]
    """uint32 (distances,): distances of ``entry_runs``.  Rows with the same distances share them;
    most rows do."""
    scratch_offset: Annotated[np.ndarray, np.int64, "chunks"]
    """int64 (chunks,): start of each chunk's sequences in the scratch arrays of its branch.  It is
    0 for a chunk with no chunks below it.  Any other chunk has the space of its depth, because the
    chunks below it need its numbers."""
    pass_order: Annotated[np.ndarray, np.int64, "visits"]
    """int64 (visits,): parts in the order in which a pass visits them, ``part`` for the forward and
    ``~part`` for the backward direction.  A chunk with none below it is visited once for both."""
    branch_offset: Annotated[np.ndarray, np.int64, "branches + 3"]
    """int64 (branches + 3,): index into ``pass_order`` of the forward visit of the trunk, of the
    first visit of each branch, and of the backward visit of the trunk; the last element is the
    number of visits."""

    @property
    def bare(self) -> ChunkedForm:
        """Form without payoffs; see :attr:`~tensorcfr.model.arrays.SequenceForm.bare`."""
        shapes = self.shapes and self.shapes._replace(kinds=(), empty_kinds=())
        return self._replace(trunk=self.trunk.bare, shapes=shapes)

    @property
    def n_chunks(self) -> int:
        """Number of chunks; 0 for a flat game."""
        return len(self.shape)

    @property
    def n_players(self) -> int:
        """Number of players."""
        return self.trunk.n_players

    @property
    def n_numbers(self) -> int:
        """Length of a solver's arrays."""
        return int(self.number_offset[-1])

    @property
    def n_branches(self) -> int:
        """Number of branches: chunks that are entered from the trunk."""
        return len(self.branch_offset) - 3

    @property
    def n_entries(self) -> int:
        """Number of entries of the chunks that are entered from the trunk."""
        return int(self.entry_offset[self.parent_part == 0].max(initial=0))

    def runs(self, chunk: int, player: int) -> list[np.ndarray]:
        """Return the sequences behind a player's entries into a chunk, row by row, int64 each.
        They are sequences of the part above the chunk."""
        begin, end = self.run_offset[chunk, player : player + 2].tolist()
        return [
            after + self.entry_distances[offset : offset + count].astype(np.int64)
            for count, after, offset in self.entry_runs[begin:end].tolist()
        ]

    def entries(self, chunk: int, player: int) -> np.ndarray:
        """Return the sequences behind a player's entries into a chunk, int64 (entries,).  They are
        sequences of the part above the chunk."""
        return np.concatenate(self.runs(chunk, player))

    @property
    def most_sequences(self) -> int:
        """Sequences of scratch that a branch needs at most, entries included; 0 without chunks.

        They are the sequences of the largest chunk and of the chunks above it.
        """
        if not self.n_chunks:
            return 0
        return int((self.scratch_offset + not_none(self.shapes).sequences[self.shape]).max())


class ChunkLocks(NamedTuple):
    """Locked infosets of a game in chunks, first of the trunk and then chunk by chunk."""

    part: np.ndarray
    """int64 (chunks + 2,): the trunk has the locks before ``[1]``, chunk ``c`` the locks from
    ``[c + 1]`` to ``[c + 2] - 1``."""
    bucket: np.ndarray
    """int64 (locks,): bucket of each lock in the form of its part, ascending within a part."""
    lane: np.ndarray
    """int64 (locks,): lane of each lock, ascending within a bucket."""
    offset: np.ndarray
    """int64 (locks,): action ``a`` of a lock has the probability ``[offset + a]``."""
    probability: np.ndarray
    """float64: probabilities; see :class:`tensorcfr.model.arrays.LockedLanes`."""
    most_buckets: np.ndarray
    """int64 (1,): largest number of buckets of a form."""
    modelled: np.ndarray
    """int64 (1,); see :class:`tensorcfr.model.arrays.LockedLanes` for this field and the next."""
    least: np.ndarray
    """float (numbers,), or empty."""
    share: np.ndarray
    """float (1,)."""
    payoff: np.ndarray
    """float (numbers,), or empty.  Payoffs of the entries of a chunk belong to the sequences before
    the chunk."""


def as_trunk(form: SequenceForm) -> ChunkedForm:
    """Return a sequence form as a trunk without chunks."""
    no_offsets = frozen_array(np.zeros((0, form.n_players + 1), dtype=np.int64))
    return ChunkedForm(
        trunk=form,
        shapes=None,
        shape=no_offsets[:, 0],
        number_offset=frozen_array(np.array([form.n_sequences])),
        sequence_offset=no_offsets[:, 0],
        parent_part=no_offsets[:, 0],
        entry_offset=no_offsets,
        run_offset=no_offsets,
        entry_runs=frozen_array(np.zeros((0, 3), dtype=np.uint32)),
        entry_distances=frozen_array(np.zeros(0, dtype=np.uint32)),
        **pass_order_of(no_offsets[:, 0], no_offsets[:, 0])._asdict(),
    )


class Entered(NamedTuple):
    """Arrays that describe how chunks are entered; see :class:`ChunkedForm`."""

    parent_part: np.ndarray
    entry_offset: np.ndarray
    run_offset: np.ndarray
    entry_runs: np.ndarray
    entry_distances: np.ndarray


class EntryBuilder:
    """Builder of the entries of chunks.

    Args:
        players: Number of players.
    """

    def __init__(self, players: int = 2) -> None:
        self._players = players
        self._known: dict[bytes, int] = {}
        self._beyond = GrowingArray(np.uint32)
        self._rows = GrowingArray(np.uint32)
        self._counts: list[list[list[int]]] = []
        self._above: list[int] = []

    def add(self, rows: Sequence[Sequence[np.ndarray]], above: int = 0) -> None:
        """Add a chunk.

        Args:
            rows: For each player and row the sequences of the part above, at least one, int64 each.
            above: The part that the chunk is entered from, as in :class:`ChunkedForm`.
        """
        self._above.append(above)
        self._counts.append([[len(of_player), sum(map(len, of_player))] for of_player in rows])
        for sequences in chain(*rows):
            # Many rows differ only in their smallest sequence, so distances are stored, each list
            # once.
            after = int(sequences.min())
            beyond = (sequences - after).astype(np.uint32)
            if (key := beyond.tobytes()) not in self._known:
                self._known[key] = self._beyond.append(beyond)
            self._rows.append(np.array([len(sequences), after, self._known[key]]))

    def finish(self) -> Entered:
        """Return the arrays of all chunks that were added."""
        counts = np.array(self._counts, dtype=np.int64).reshape(-1, self._players, 2)
        rows, entries = np.moveaxis(counts, 2, 0)
        parent_parts = np.array(self._above, dtype=np.int64)
        return Entered(
            parent_parts,
            tiled(entries, parent_parts > 0),
            tiled(rows),
            self._rows.finish().reshape(-1, 3),
            self._beyond.finish(),
        )


def tiled(counts: np.ndarray, later: np.ndarray | None = None) -> np.ndarray:
    """Return the offsets of items that are laid out chunk by chunk and player by player.

    Args:
        counts: int64 (chunks, players): number of items.
        later: bool (chunks,): chunks whose items follow the items of all other chunks.

    Returns:
        int64 (chunks, players + 1): begin of each player's items, and their end.
    """
    offsets = np.zeros((len(counts), counts.shape[1] + 1), dtype=np.int64)
    np.cumsum(counts, axis=1, out=offsets[:, 1:])
    order = np.arange(len(counts)) if later is None else np.argsort(later, kind="stable")
    # So far the offsets are relative to the chunk; add the sizes of all chunks before it.
    sizes = offsets[order, -1]
    offsets[order] += (np.cumsum(sizes) - sizes)[:, None]
    return offsets


class PassOrder(NamedTuple):
    """Order in which a pass visits the chunks; see :class:`ChunkedForm`."""

    scratch_offset: np.ndarray
    pass_order: np.ndarray
    branch_offset: np.ndarray


def pass_order_of(above: np.ndarray, sequences: np.ndarray) -> PassOrder:
    """Compute the order in which a pass visits the chunks.

    Args:
        above: int64 (chunks,): as in :class:`ChunkedForm`.
        sequences: int64 (chunks,): sequences of each chunk, entries included.
    """
    visit, branch, depth = [0], [0], [0]
    open_parts = [0]  # The trunk, and the chunks that were entered and not left.
    # The part -1 at the end is nobody's parent, so it closes all parts that are still open.
    for part, before in enumerate([*above.tolist(), -1], start=1):
        while open_parts and open_parts[-1] != before:
            if (done := open_parts.pop()) == 0:
                branch.append(len(visit))
            # A chunk that was left right after it was entered has one visit for both directions.
            if done == 0 or visit[-1] != done:
                visit.append(~done)
        if len(open_parts) == 1:
            branch.append(len(visit))
        depth.append(len(open_parts))
        if open_parts:
            open_parts.append(part)
            visit.append(part)
    branch.append(len(visit))
    # Chunks with none below them share the space at 0.  A chunk with others below it must keep its
    # numbers meanwhile, so there is a space for each depth.
    level = np.array(depth[1:-1], dtype=np.int64)
    level[np.isin(np.arange(1, len(level) + 1), above, invert=True)] = 0
    largest = np.zeros(level.max(initial=0) + 1, dtype=np.int64)
    np.maximum.at(largest, level, whole_rows(sequences))
    scratch_offset = (np.cumsum(largest) - largest)[level]
    order = PassOrder(
        scratch_offset, np.array(visit, dtype=np.int64), np.array(branch, dtype=np.int64)
    )
    return frozen_arrays(order)


Numbering = TypeVar("Numbering", int, np.ndarray)


def whole_rows(numbers: Numbering) -> Numbering:
    """Round a count of numbers up to a multiple of :data:`ROW`."""
    return -(-numbers // ROW) * ROW


def chunked(
    trunk: SequenceForm, shapes: ChunkShapes, shape: np.ndarray, entered: Entered
) -> ChunkedForm:
    """Combine a trunk and chunks; the numbers of each chunk begin at a multiple of :data:`ROW`.

    Args:
        trunk: The part above the cut.
        shapes: The structures.
        shape: int64 (chunks,): structure of each chunk.
        entered: The entries of the chunks.
    """
    before, last = whole_rows(shapes.spans[shape]).T
    # Leave enough space before the first chunk that ``base`` is never negative.
    begin = max(whole_rows(trunk.n_sequences), int(before.max(initial=0)))
    first = np.cumsum([begin, *(last - before).tolist()])
    order = pass_order_of(entered.parent_part, shapes.sequences[shape])
    over_chunks = shape, first, first[:-1] - before, *entered, *order
    return ChunkedForm(trunk, shapes, *frozen_arrays(over_chunks))


class Pools:
    """Builder of the pools of :class:`ChunkShapes`."""

    def __init__(self) -> None:
        self._arrays = {np.dtype(dtype): GrowingArray(dtype) for dtype in POOLS}

    def put(self, array: np.ndarray) -> tuple[int, int, int]:
        """Add an array and return its row of :attr:`ChunkShapes.place`."""
        return self._arrays[array.dtype].append(array), array.size, array.shape[-1]

    def finish(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pools, in the order in which :class:`ChunkShapes` has them."""
        integers, indices, reals = (pool.finish() for pool in self._arrays.values())
        return integers, indices, reals


def pack(forms: list[SequenceForm], kinds: Kinds) -> ChunkShapes:
    """Pack sequence forms, whose operators have parts of some kinds, in the given order."""
    pools, fields = Pools(), fields_of(kinds)
    place = np.zeros((len(forms), len(fields), 3), dtype=np.int64)
    for shape, form in enumerate(forms):
        arrays = dict(named_arrays(form))
        assert set(arrays) == set(fields)
        place[shape] = [pools.put(arrays[name]) for name in fields]
    return ChunkShapes(place, *pools.finish(), kinds)


def most_buckets(form: ChunkedForm) -> int:
    """Return the largest number of buckets of the trunk or a shape."""
    most = len(form.trunk.bucket_lanes)
    if not form.n_chunks:
        return most
    sizes = not_none(form.shapes).place[:, FORM_FIELDS.index("bucket_lanes"), 1]
    return max(most, int(sizes.max()))


def buckets_of(form: ChunkedForm, part: int) -> tuple[np.ndarray, ...]:
    """Return first sequence, actions and lanes of every bucket of a part, int64 (buckets,) each;
    the trunk is part 0, chunk ``c`` part ``c + 1``."""
    names = ("bucket_sequence", "bucket_actions", "bucket_lanes")
    if part == 0:
        return tuple(getattr(form.trunk, name) for name in names)
    return tuple(not_none(form.shapes).array(int(form.shape[part - 1]), name) for name in names)


def own_buckets(form: ChunkedForm, part: int) -> np.ndarray:
    """Return the first bucket of each player among the buckets of a part, int64 (players + 1,)."""
    if part == 0:
        return form.trunk.player_buckets
    return not_none(form.shapes).array(int(form.shape[part - 1]), "player_buckets")


def buckets_by_part(form: ChunkedForm) -> Iterator[tuple[int, tuple[list[int], ...]]]:
    """Yield the base of each part, and first sequence, actions and lanes of its buckets."""
    for part, base in enumerate([0, *form.sequence_offset.tolist()]):
        yield base, tuple(array.tolist() for array in buckets_of(form, part))


def count_lanes(form: ChunkedForm) -> int:
    """Return the number of infosets in the arrays of a solver: the lanes of all buckets."""
    return sum(sum(lanes) for _, (_, _, lanes) in buckets_by_part(form))


def bounds_of_parts(form: ChunkedForm) -> np.ndarray:
    """Return the start of each part's numbers and the end of the last part, int64 (chunks + 2,)."""
    return np.append(0, form.number_offset)


def part_of(game: ChunkedForm, numbers: np.ndarray) -> int:
    """Return the part that some numbers lie in: 0 for the trunk, ``c + 1`` for chunk ``c``."""
    # All numbers lie in one part, so the first one determines it.
    first = int(numbers.flat[0]) if numbers.size else 0
    return int(np.searchsorted(game.number_offset[:-1], first, side="right"))
