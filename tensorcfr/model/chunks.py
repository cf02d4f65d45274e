"""A game in chunks: the arrays of its trunk, of the shapes of its chunks, and of the chunks.

The public tree of a game is cut.  What is above the cut is the *trunk*, a sequence form whose
leaves may lead on.  What is below it is grouped into *chunks*: forests of subtrees.  A chunk is
entered through its *entries*, the last sequences of both players in the trunk, and gives their
values back to them.  Chunks of equal structure have one *shape*: a sequence form, whose first
sequences are the entries of player 0, and whose last ones are those of player 1.

The tree may be cut again below a cut.  Then a chunk is entered from another chunk as it would be
from the trunk.  A chunk that is entered from the trunk, and all chunks below it, are a *branch*.

A solver's arrays over such a game hold the trunk's sequences first and then those of one chunk
after the other, without the entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Annotated, NamedTuple, TypeVar

import numpy as np

from .._util.growing import GrowingArray
from ..payoff import ARRAYS
from .arrays import SequenceForm, frozen_array, frozen_arrays, named_arrays, there

ALIGNED = 16
"""Numbers: the buckets of a chunk begin at multiples of it, which is a line of the cache in
single precision and two in double precision."""
ROW = 64
"""Numbers that share a scale where a solver keeps them in 16 bits.  The sequences of chunks begin
at multiples of it, so that no row belongs to two chunks."""


def _fields(*kinds: str) -> tuple[str, ...]:
    """The arrays of a sequence form with some kinds of parts, which are ``"kind/array"``."""
    return (*FORM_FIELDS, *(f"{kind}/{name}" for kind in kinds for name in ARRAYS[kind]))


FORM_FIELDS = tuple(name for name in SequenceForm._fields if name != "operator")
"""The arrays of a sequence form without its operator, in the order in which they are placed."""
FIELDS = _fields("payoff", "blocks")
"""The arrays of a sequence form, in the order in which :class:`Shapes` places them."""
CARD_FIELDS = _fields("cards")
"""The arrays of a sequence form, in the order in which :class:`CardShapes` places them."""


class Shapes(NamedTuple):
    """Sequence forms of two players, one after the other in three pools of numbers.

    Kernels take the form of a shape apart with :func:`tensorcfr.kernels.shapes.shape_form`: a
    tuple of forms would be a type of its own for every number of shapes.
    """

    place: np.ndarray
    """int64 (shapes, fields, 3): where each array of :data:`FIELDS` begins in its pool, how many
    numbers it has, and how long its rows are."""
    integers: np.ndarray
    """int64: the pool of the arrays of int64."""
    indices: np.ndarray
    """uint32: the pool of the arrays of uint32."""
    reals: np.ndarray
    """float64: the pool of the arrays of float64."""

    @property
    def n_shapes(self) -> int:
        """Shapes."""
        return len(self.place)

    def array(self, shape: int, name: str) -> np.ndarray:
        """An array of a shape, int64 and flat; ``name`` is one of :data:`FORM_FIELDS`."""
        begin, size, _ = self.place[shape, FORM_FIELDS.index(name)]
        return self.integers[begin : begin + size]

    @property
    def fields(self) -> tuple[str, ...]:
        """The arrays of a shape, in their order in ``place``."""
        return FIELDS

    @property
    def sequences(self) -> np.ndarray:
        """int64 (shapes,): sequences of each shape, the entries included."""
        return self._numbers("player_sequences", 2)

    @property
    def spans(self) -> np.ndarray:
        """int64 (shapes, 2): the first sequence of each shape that is no entry of player 0, and the
        one after the last that is no entry of player 1, but for gaps before the entries."""
        # Where nobody acts any more, both are where player 1 begins.
        middle = self._numbers("player_sequences", 1)
        acts = self.place[:, FORM_FIELDS.index("bucket_sequence"), 1] > 0
        first = self._numbers("bucket_sequence", 0)
        last, actions, lanes = (
            self._numbers(f"bucket_{name}", -1) for name in ("sequence", "actions", "lanes")
        )
        return np.where(acts, [first, last + actions * lanes], middle).T

    @property
    def structures(self) -> tuple[np.ndarray, np.ndarray]:
        """int64 (structures,): a shape of each structure; int64 (shapes,): the structure of each
        shape.  Shapes of one structure have the same betting and the same numbers of hands."""
        # The array is in the pool once for all shapes of a structure.
        begin = self.place[:, FORM_FIELDS.index("player_sequences"), 0]
        _, examples, structure = np.unique(begin, return_index=True, return_inverse=True)
        return examples, structure

    def _numbers(self, name: str, at: int) -> np.ndarray:
        """One number of an array of each shape, int64 (shapes,); any where there is none."""
        begin, size, _ = self.place[:, FORM_FIELDS.index(name)].T
        return self.integers[np.minimum(begin + at % np.maximum(size, 1), len(self.integers) - 1)]


class BareShapes(Shapes):
    """Shapes without their operators, with the arrays of :data:`FORM_FIELDS`."""

    __slots__ = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """See :attr:`Shapes.fields`."""
        return FORM_FIELDS


class CardShapes(Shapes):
    """Shapes whose operator is a :class:`~tensorcfr.payoff.cards.PayoffCards`, with the arrays of
    :data:`CARD_FIELDS`.

    Every chunk is a shape of its own, but what it has in common with others lies in the pools
    once: boards differ in their walks, and in weights where these vary by board.
    """

    __slots__ = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """See :attr:`Shapes.fields`."""
        return CARD_FIELDS


class SubsetShapes(CardShapes):
    """Card shapes whose operator is a :class:`~tensorcfr.payoff.cards.PayoffSubsets`."""

    __slots__ = ()


class CardShapesBesideEntries(CardShapes):
    """Card shapes in a game whose trunk pays by entries: their forms have entries that pay nothing,
    because kernels take one type of form for trunk and chunks.  Three zeros end ``integers``."""

    __slots__ = ()


class SubsetShapesBesideEntries(SubsetShapes):
    """The same as :class:`CardShapesBesideEntries` of shapes of hands of three or four cards."""

    __slots__ = ()


def beside_entries(shapes: CardShapes) -> CardShapes:
    """The shapes in a game whose trunk pays by entries; see :class:`CardShapesBesideEntries`."""
    wide = isinstance(shapes, SubsetShapes)
    kind = SubsetShapesBesideEntries if wide else CardShapesBesideEntries
    integers = np.concatenate([shapes.integers, np.zeros(3, dtype=np.int64)])
    return kind(shapes.place, integers, shapes.indices, shapes.reals)


class ChunkedForm(NamedTuple):
    """A game of two players as trunk and chunks."""

    trunk: SequenceForm
    """The part above the cut."""
    shapes: Shapes | None
    """The structures of the chunks; None without chunks."""
    shape: Annotated[np.ndarray, np.int64, "chunks"]
    """int64 (chunks,): shape of each chunk."""
    first: Annotated[np.ndarray, np.int64, "chunks + 1"]
    """int64 (chunks + 1,): where the numbers of each chunk begin in a solver's arrays; the last one
    is the length of those arrays."""
    base: Annotated[np.ndarray, np.int64, "chunks"]
    """int64 (chunks,): sequence ``s`` of a chunk has the number ``base + s``, unless it is an
    entry."""
    above: Annotated[np.ndarray, np.int64, "chunks"]
    """int64 (chunks,): the part that each chunk is entered from: 0 for the trunk, ``c + 1`` for
    chunk ``c``.  The chunks below a chunk come right after it."""
    entry_offset: Annotated[np.ndarray, np.int64, "chunks", 3]
    """int64 (chunks, players + 1): the entries of player ``i`` are ``[c, i]`` to ``[c, i + 1] - 1``
    of those of all chunks, in the order of the shape's sequences.  Those behind the trunk come
    first."""
    row_offset: Annotated[np.ndarray, np.int64, "chunks", 3]
    """int64 (chunks, players + 1): the rows of player ``i`` are ``[c, i]`` to ``[c, i + 1] - 1`` of
    ``row``."""
    row: Annotated[np.ndarray, np.uint32, "rows", 3]
    """uint32 (rows, 3): entries that follow each other: how many, a sequence of the part that the
    chunk is entered from, and where in ``beyond`` it says how far beyond it the sequence behind
    each entry is."""
    beyond: Annotated[np.ndarray, np.uint32, "distances"]
    """uint32 (distances,): see ``row``.  Most rows have the same hands as others."""
    room: Annotated[np.ndarray, np.int64, "chunks"]
    """int64 (chunks,): where in the scratch of a branch the sequences of each chunk begin: at 0
    unless a chunk is below it, which needs the numbers of all chunks above it."""
    visit: Annotated[np.ndarray, np.int64, "visits"]
    """int64 (visits,): the parts in the order in which a pass visits them: ``part`` on the way
    down, ``~part`` on the way up.  A chunk with none below it has one visit for both."""
    branch: Annotated[np.ndarray, np.int64, "branches + 3"]
    """int64 (branches + 3,): where the visits begin of the trunk on the way down, of each branch,
    and of the trunk on the way up; the last one is the number of visits."""

    @property
    def bare(self) -> ChunkedForm:
        """The game without payoffs; see :attr:`~tensorcfr.model.arrays.SequenceForm.bare`."""
        shapes = None if self.shapes is None else BareShapes(*self.shapes)
        return self._replace(trunk=self.trunk.bare, shapes=shapes)

    @property
    def n_chunks(self) -> int:
        """Chunks."""
        return len(self.shape)

    @property
    def n_players(self) -> int:
        """Players."""
        return self.trunk.n_players

    @property
    def n_numbers(self) -> int:
        """Length of a solver's arrays."""
        return int(self.first[-1])

    @property
    def n_branches(self) -> int:
        """Branches: chunks that are entered from the trunk."""
        return len(self.branch) - 3

    @property
    def n_entries(self) -> int:
        """Entries of the chunks that are entered from the trunk."""
        return int(self.entry_offset[self.above == 0].max(initial=0))

    def rows(self, chunk: int, player: int) -> list[np.ndarray]:
        """The sequences behind a player's entries into a chunk, in the part that it is entered
        from, row by row, int64 each."""
        begin, end = self.row_offset[chunk, player : player + 2].tolist()
        return [
            after + self.beyond[at : at + count].astype(np.int64)
            for count, after, at in self.row[begin:end].tolist()
        ]

    def entries(self, chunk: int, player: int) -> np.ndarray:
        """The sequences behind a player's entries into a chunk, in the part that it is entered
        from, int64 (entries,)."""
        return np.concatenate(self.rows(chunk, player))

    @property
    def most_sequences(self) -> int:
        """Sequences of scratch that a branch needs, at most: those of the largest chunk and of the
        chunks above it, entries included; 0 without chunks."""
        if not self.n_chunks:
            return 0
        return int((self.room + there(self.shapes).sequences[self.shape]).max())


class ChunkLocks(NamedTuple):
    """Locked infosets of a game in chunks, those of the trunk first and then chunk by chunk."""

    part: np.ndarray
    """int64 (chunks + 2,): the trunk has the locks before ``[1]``, chunk ``c`` those from
    ``[c + 1]`` to ``[c + 2] - 1``."""
    bucket: np.ndarray
    """int64 (locks,): bucket of each lock in the form of its part, ascending within a part."""
    lane: np.ndarray
    """int64 (locks,): lane of each lock, ascending within a bucket."""
    offset: np.ndarray
    """int64 (locks,): action ``a`` of a lock has the probability ``[offset + a]``."""
    probability: np.ndarray
    """float64: as in :class:`tensorcfr.model.arrays.LockedLanes`."""
    most_buckets: np.ndarray
    """int64 (1,): buckets of the form that has most."""


def trunk_alone(form: SequenceForm) -> ChunkedForm:
    """A sequence form as a trunk without chunks."""
    none = frozen_array(np.zeros((0, form.n_players + 1), dtype=np.int64))
    return ChunkedForm(
        trunk=form,
        shapes=None,
        shape=none[:, 0],
        first=frozen_array(np.array([form.n_sequences])),
        base=none[:, 0],
        above=none[:, 0],
        entry_offset=none,
        row_offset=none,
        row=frozen_array(np.zeros((0, 3), dtype=np.uint32)),
        beyond=frozen_array(np.zeros(0, dtype=np.uint32)),
        **tour_of(none[:, 0], none[:, 0])._asdict(),
    )


class Entered(NamedTuple):
    """How chunks are entered; see :class:`ChunkedForm`."""

    above: np.ndarray
    entry_offset: np.ndarray
    row_offset: np.ndarray
    row: np.ndarray
    beyond: np.ndarray


class Entries:
    """The entries of chunks while they are found."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}
        self._beyond = GrowingArray(np.uint32)
        self._rows = GrowingArray(np.uint32)
        self._counts: list[list[list[int]]] = []
        self._above: list[int] = []

    def add(self, rows: Sequence[Sequence[np.ndarray]], above: int = 0) -> None:
        """A chunk: for each player and row the sequences, one at least, of the part that it is
        entered from."""
        self._above.append(above)
        self._counts.append([[len(of_player), sum(map(len, of_player))] for of_player in rows])
        for own in chain(*rows):
            after = int(own.min())
            beyond = (own - after).astype(np.uint32)
            if (key := beyond.tobytes()) not in self._known:
                self._known[key] = self._beyond.append(beyond)
            self._rows.append(np.array([len(own), after, self._known[key]]))

    def finish(self) -> Entered:
        """The arrays."""
        rows, entries = np.array(self._counts, dtype=np.int64).reshape(-1, 2, 2).T
        above = np.array(self._above, dtype=np.int64)
        return Entered(
            above,
            tiled(entries.T, above > 0),
            tiled(rows.T),
            self._rows.finish().reshape(-1, 3),
            self._beyond.finish(),
        )


def tiled(counts: np.ndarray, later: np.ndarray | None = None) -> np.ndarray:
    """Where the parts of each player and chunk begin and end, chunk by chunk, int64 (chunks,
    players + 1), from how many there are, int64 (chunks, players); ``later``, bool (chunks,), is
    whether a chunk comes after those for which it is False."""
    found = np.zeros((len(counts), counts.shape[1] + 1), dtype=np.int64)
    np.cumsum(counts, axis=1, out=found[:, 1:])
    order = np.arange(len(counts)) if later is None else np.argsort(later, kind="stable")
    own = found[order, -1]
    found[order] += (np.cumsum(own) - own)[:, None]
    return found


class Tour(NamedTuple):
    """How a pass goes through the chunks; see :class:`ChunkedForm`."""

    room: np.ndarray
    visit: np.ndarray
    branch: np.ndarray


def tour_of(above: np.ndarray, sequences: np.ndarray) -> Tour:
    """The way of a pass.

    Args:
        above: As in :class:`ChunkedForm`.
        sequences: int64 (chunks,): sequences of each chunk, entries included.
    """
    visit, branch, depth = [0], [0], [0]
    way = [0]  # The trunk, and the chunks that were entered and not left.
    for part, before in enumerate([*above.tolist(), -1], start=1):
        while way and way[-1] != before:
            if (done := way.pop()) == 0:
                branch.append(len(visit))
            if done == 0 or visit[-1] != done:
                visit.append(~done)
        if len(way) == 1:
            branch.append(len(visit))
        depth.append(len(way))
        if way:
            way.append(part)
            visit.append(part)
    branch.append(len(visit))
    # Chunks with none below them take turns in the first room, the others in one for each depth.
    level = np.array(depth[1:-1], dtype=np.int64)
    level[np.isin(np.arange(1, len(level) + 1), above, invert=True)] = 0
    most = np.zeros(level.max(initial=0) + 1, dtype=np.int64)
    np.maximum.at(most, level, whole_rows(sequences))
    room = (np.cumsum(most) - most)[level]
    found = Tour(room, np.array(visit, dtype=np.int64), np.array(branch, dtype=np.int64))
    return frozen_arrays(found)


Numbering = TypeVar("Numbering", int, np.ndarray)


def whole_rows(numbers: Numbering) -> Numbering:
    """How many numbers, up to the next whole :data:`ROW`."""
    return -(-numbers // ROW) * ROW


def chunked(
    trunk: SequenceForm, shapes: Shapes, shape: np.ndarray, entered: Entered
) -> ChunkedForm:
    """A trunk and chunks, one after the other, each from a whole row on.

    Args:
        trunk: As in :class:`ChunkedForm`.
        shapes: The structures.
        shape: int64 (chunks,): structure of each chunk.
        entered: How the chunks are entered.
    """
    before, last = whole_rows(shapes.spans[shape]).T
    # So much that ``base`` is nowhere below 0.
    begin = max(whole_rows(trunk.n_sequences), int(before.max(initial=0)))
    first = np.cumsum([begin, *(last - before).tolist()])
    tour = tour_of(entered.above, shapes.sequences[shape])
    over_chunks = shape, first, first[:-1] - before, *entered, *tour
    return ChunkedForm(trunk, shapes, *frozen_arrays(over_chunks))


class Pools:
    """The pools of :class:`Shapes` while they are filled."""

    def __init__(self) -> None:
        self._arrays = {kind: GrowingArray(kind) for kind in ("int64", "uint32", "float64")}

    def put(self, array: np.ndarray) -> tuple[int, int, int]:
        """Add an array; returns a row of :attr:`Shapes.place`."""
        return self._arrays[str(array.dtype)].append(array), array.size, array.shape[-1]

    def finish(self) -> tuple[np.ndarray, ...]:
        """The pools, in the order in which :class:`Shapes` has them."""
        return tuple(pool.finish() for pool in self._arrays.values())


def pack(forms: list[SequenceForm]) -> Shapes:
    """The given sequence forms, one after the other."""
    pools = Pools()
    place = np.zeros((len(forms), len(FIELDS), 3), dtype=np.int64)
    for shape, form in enumerate(forms):
        arrays = dict(named_arrays(form))
        assert set(arrays) == set(FIELDS)
        place[shape] = [pools.put(arrays[name]) for name in FIELDS]
    return Shapes(place, *pools.finish())


def most_buckets(form: ChunkedForm) -> int:
    """Buckets of the trunk, or of the shape that has most."""
    most = len(form.trunk.bucket_lanes)
    if not form.n_chunks:
        return most
    sizes = there(form.shapes).place[:, FORM_FIELDS.index("bucket_lanes"), 1]
    return max(most, int(sizes.max()))


def buckets_of(form: ChunkedForm, part: int) -> tuple[np.ndarray, ...]:
    """First sequence, actions and lanes of every bucket of the trunk, part 0, or of chunk
    ``part - 1``; int64 (buckets,) each."""
    names = ("bucket_sequence", "bucket_actions", "bucket_lanes")
    if part == 0:
        return tuple(getattr(form.trunk, name) for name in names)
    return tuple(there(form.shapes).array(int(form.shape[part - 1]), name) for name in names)


def own_buckets(form: ChunkedForm, part: int) -> np.ndarray:
    """Where the buckets of each player begin among those of a part, int64 (players + 1,)."""
    if part == 0:
        return form.trunk.player_buckets
    return there(form.shapes).array(int(form.shape[part - 1]), "player_buckets")


def buckets_by_part(form: ChunkedForm) -> Iterator[tuple[int, tuple[list[int], ...]]]:
    """The base of each part, and first sequence, actions and lanes of its buckets."""
    for part, base in enumerate([0, *form.base.tolist()]):
        yield base, tuple(array.tolist() for array in buckets_of(form, part))


def bounds_of_parts(form: ChunkedForm) -> np.ndarray:
    """int64 (chunks + 2,): where the numbers of each part begin, and the end of the last one."""
    return np.append(0, form.first)


def part_of(game: ChunkedForm, numbers: np.ndarray) -> int:
    """The part that some numbers lie in: 0 for the trunk, ``c + 1`` for chunk ``c``."""
    first = int(numbers.flat[0]) if numbers.size else 0
    return int(np.searchsorted(game.first[:-1], first, side="right"))
