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

from typing import NamedTuple

import numpy as np

from .arrays import SequenceForm, named_arrays

ALIGNMENT = 64
"""Bytes: a cache line, and the longest vectors."""
ALIGNED = 16
"""Numbers: the buckets of a chunk begin at multiples of it, which is :data:`ALIGNMENT` bytes in
single precision and twice that in double precision."""
ROW = 64
"""Numbers that share a scale where a solver keeps them in 16 bits.  The sequences of chunks begin
at multiples of it, so that no row belongs to two chunks."""

FORM_FIELDS = (
    "player_infosets",
    "player_sequences",
    "player_buckets",
    "bucket_level",
    "bucket_actions",
    "bucket_lanes",
    "bucket_infoset",
    "bucket_sequence",
    "bucket_stride",
    "bucket_mask",
    "hand_rank",
    "infoset_parent",
)
"""The arrays of a sequence form without its operator, in the order in which they are placed."""
FIELDS = (
    *FORM_FIELDS,
    "payoff/row",
    "payoff/rows",
    "payoff/entries",
    "payoff/offset",
    "payoff/slices",
    "payoff/column",
    "payoff/value",
    "blocks/block",
    "blocks/coefficient",
    "blocks/order",
    "blocks/group_offset",
    "blocks/player_groups",
    "blocks/program_offset",
    "blocks/code",
    "blocks/weight",
)
"""The arrays of a sequence form, in the order in which :class:`Shapes` places them."""
CARD_FIELDS = (
    *FORM_FIELDS,
    "cards/sizes",
    "cards/lanes",
    "cards/weight",
    "cards/same",
    "cards/board",
    "cards/walk",
    "cards/group",
    "cards/sequence",
    "cards/amount",
)
"""The arrays of a sequence form, in the order in which :class:`CardShapes` places them."""


class Shapes(NamedTuple):
    """Sequence forms of two players, one after the other in three pools of numbers.

    Kernels take the form of a shape apart with :func:`tensorcfr.kernels.chunks.shape_form`: a
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
    shapes: Shapes
    """The structures of the chunks."""
    shape: np.ndarray
    """int64 (chunks,): shape of each chunk."""
    first: np.ndarray
    """int64 (chunks + 1,): where the sequences of each chunk begin in a solver's arrays; the last
    one is the length of those arrays."""
    entry_offset: np.ndarray
    """int64 (chunks, players + 1): the entries of player ``i`` are ``[c, i]`` to ``[c, i + 1] - 1``
    of ``entry``, in the order of the shape's sequences."""
    entry: np.ndarray
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
        return int(self.shapes.sequences.max(initial=0))


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


def pack(forms: list[SequenceForm]) -> Shapes:
    """The given sequence forms, one after the other."""
    pools: dict[str, list[np.ndarray]] = {"int64": [], "uint32": [], "float64": []}
    used = dict.fromkeys(pools, 0)
    place = np.zeros((len(forms), len(FIELDS), 3), dtype=np.int64)
    for shape, form in enumerate(forms):
        arrays = dict(named_arrays(form))
        assert set(arrays) == set(FIELDS)
        for field, name in enumerate(FIELDS):
            array = arrays[name]
            kind = str(array.dtype)
            place[shape, field] = used[kind], array.size, array.shape[-1]
            used[kind] += array.size
            pools[kind].append(array.ravel())
    integers, indices, reals = (
        np.concatenate([np.empty(0, dtype=kind), *parts]) for kind, parts in pools.items()
    )
    return Shapes(place, integers, indices, reals)
