"""A game in chunks: the arrays of its trunk, of the shapes of its chunks, and of the chunks.

The public tree of a game is cut.  What is above the cut is the *trunk*, a sequence form whose
leaves may lead on.  What is below it is grouped into *chunks*: forests of subtrees.  A chunk is
entered through its *entries*, the last sequences of both players in the trunk, and gives their
values back to them.  Chunks of equal structure have one *shape*: a sequence form, in which the
entries of each player are the player's first sequences.

A solver's arrays over such a game hold the trunk's sequences first and then those of one chunk
after the other, each beginning at a multiple of :data:`ALIGNMENT` bytes.  They hold the entries of
chunks too, where they mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np

from .._util.growing import GrowingArray
from ..payoff import ARRAYS
from .arrays import SequenceForm, named_arrays

ALIGNMENT = 64
"""Bytes: a cache line, and the longest vectors."""
ALIGNED = 16
"""Numbers: the buckets of a chunk begin at multiples of it, which is :data:`ALIGNMENT` bytes in
single precision and twice that in double precision."""
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
    def sequences(self) -> np.ndarray:
        """int64 (shapes,): sequences of each shape, the entries included."""
        players = self.place[:, FORM_FIELDS.index("player_sequences")]
        return self.integers[players[:, 0] + players[:, 1] - 1]


class CardShapes(Shapes):
    """Shapes whose operator is a :class:`~tensorcfr.payoff.cards.PayoffCards`, with the arrays of
    :data:`CARD_FIELDS`.

    Every chunk is a shape of its own, but what it has in common with others lies in the pools
    once: boards differ in their walks alone.
    """

    __slots__ = ()


class CardShapesBesideEntries(CardShapes):
    """Card shapes in a game whose trunk pays by entries: their forms have entries that pay nothing,
    because kernels take one type of form for trunk and chunks.  Three zeros end ``integers``."""

    __slots__ = ()

    @classmethod
    def of(cls, shapes: Shapes) -> CardShapesBesideEntries:
        """The given shapes of cards."""
        integers = np.concatenate([shapes.integers, np.zeros(3, dtype=np.int64)])
        return cls(shapes.place, integers, shapes.indices, shapes.reals)


class ChunkedForm(NamedTuple):
    """A game of two players as trunk and chunks."""

    trunk: SequenceForm
    """The part above the cut."""
    shapes: Shapes | None
    """The structures of the chunks; None without chunks."""
    shape: Annotated[np.ndarray, np.int64, "chunks"]
    """int64 (chunks,): shape of each chunk."""
    first: Annotated[np.ndarray, np.int64, "chunks + 1"]
    """int64 (chunks + 1,): where the sequences of each chunk begin in a solver's arrays; the last
    one is the length of those arrays."""
    entry_offset: Annotated[np.ndarray, np.int64, "chunks", 3]
    """int64 (chunks, players + 1): the entries of player ``i`` are ``[c, i]`` to ``[c, i + 1] - 1``
    of ``entry``, in the order of the shape's sequences."""
    entry: Annotated[np.ndarray, np.uint32, "entries"]
    """uint32 (entries,): the trunk's sequence behind each sequence through which a chunk is
    entered."""

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
    def most_sequences(self) -> int:
        """Sequences of the largest shape, its entries included; 0 without chunks."""
        return 0 if self.shapes is None else int(self.shapes.sequences.max(initial=0))


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
    players = form.n_players
    return ChunkedForm(
        trunk=form,
        shapes=None,
        shape=np.zeros(0, dtype=np.int64),
        first=np.array([form.n_sequences]),
        entry_offset=np.zeros((0, players + 1), dtype=np.int64),
        entry=np.zeros(0, dtype=np.uint32),
    )


def chunked(
    trunk: SequenceForm, shapes: Shapes, shape: np.ndarray, counts: np.ndarray, entry: np.ndarray
) -> ChunkedForm:
    """A trunk and chunks, one after the other, each from a whole row on.

    Args:
        trunk: As in :class:`ChunkedForm`, and so are the next two.
        shapes: The structures.
        shape: int64 (chunks,): structure of each chunk.
        counts: int64 (chunks, players): entries of each chunk and player.
        entry: As in :class:`ChunkedForm`.
    """
    sizes = np.append(trunk.n_sequences, shapes.sequences[shape] if len(shape) else [])
    offset = np.zeros((len(shape), 3), dtype=np.int64)
    np.cumsum(counts, axis=1, out=offset[:, 1:])
    offset += (np.cumsum(counts.sum(axis=1)) - counts.sum(axis=1))[:, None]
    first = np.cumsum(-(-sizes.astype(np.int64) // ROW) * ROW)
    return ChunkedForm(trunk, shapes, shape, first, offset, entry)


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


def aligned(shape: tuple[int, ...] | int, dtype: np.dtype) -> np.ndarray:
    """Zeros that begin at a multiple of :data:`ALIGNMENT` bytes."""
    size = int(np.prod(shape)) * dtype.itemsize
    room = np.zeros(size + ALIGNMENT, dtype=np.uint8)
    begin = -room.ctypes.data % ALIGNMENT
    return room[begin : begin + size].view(dtype).reshape(shape)


def most_buckets(form: ChunkedForm) -> int:
    """Buckets of the trunk, or of the shape that has most."""
    most = len(form.trunk.bucket_lanes)
    if form.shapes is None:
        return most
    sizes = form.shapes.place[:, FORM_FIELDS.index("bucket_lanes"), 1]
    return max(most, int(sizes.max(initial=0)))


def buckets_of(form: ChunkedForm, part: int) -> tuple[np.ndarray, ...]:
    """First sequence, actions and lanes of every bucket of the trunk, part 0, or of chunk
    ``part - 1``; int64 (buckets,) each."""
    names = ("bucket_sequence", "bucket_actions", "bucket_lanes")
    if part == 0:
        return tuple(getattr(form.trunk, name) for name in names)
    assert form.shapes is not None
    return tuple(form.shapes.array(int(form.shape[part - 1]), name) for name in names)


def buckets_by_part(form: ChunkedForm) -> Iterator[tuple[int, tuple[list[int], ...]]]:
    """Where each part begins, and first sequence, actions and lanes of its buckets."""
    for part, begin in enumerate([0, *form.first[:-1].tolist()]):
        yield begin, tuple(array.tolist() for array in buckets_of(form, part))


def part_of(game: ChunkedForm, numbers: np.ndarray) -> int:
    """The part that some numbers lie in: 0 for the trunk, ``c + 1`` for chunk ``c``."""
    first = int(numbers.flat[0]) if numbers.size else 0
    return int(np.searchsorted(game.first[:-1], first, side="right"))
