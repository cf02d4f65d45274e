"""A compiled game in chunks: only the arrays of a policy cover all its sequences."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._util.declared import declared
from .arrays import FREE, named_arrays, not_none, stored_name
from .chunked_form import ChunkedForm, ChunkShapes, Entered
from .compiled_game import CompiledGame, Recipe
from .flat_game import FlatGame
from .infoset_rows import InfosetRows, Located
from .layout import Layout
from .public_nodes import PublicNodes

NUMBERED = ("player_sequences", "bucket_sequence", "bucket_actions", "infoset_parent")
"""Arrays of a game without chunks that number its infosets and actions."""


class Counts(NamedTuple):
    """Sizes of a game, counted without laying it out."""

    player_infosets: tuple[int, ...]
    """Number of infosets of each player."""
    sequences: int
    """Number of sequences of all players, the empty ones included."""
    histories: int
    """Number of histories, the root, chance nodes and terminals included."""
    decision_nodes: int
    """Number of histories where a player acts."""
    public_nodes: int
    """Number of nodes of the public tree."""

    @property
    def infosets(self) -> int:
        """Number of infosets of all players."""
        return sum(self.player_infosets)


class ChunkedGame(CompiledGame):
    """Game of private hands in chunks.

    Args:
        name: Name and parameters with which the game was requested.
        chunks: The game in chunks.
        nodes: Its public nodes.
        counts: Its sizes.
        recipe: The arguments that compile it again.
        utilities: float64 (n, players): all utilities that occur, in any order, possibly repeated.
        merges_hands: True if hands or outcomes that the payoffs cannot tell apart are merged.
        lay_out: Function that makes the flat game, from a limit in bytes.
    """

    def __init__(
        self,
        name: str,
        chunks: ChunkedForm,
        nodes: PublicNodes,
        counts: Counts,
        *,
        recipe: Recipe,
        utilities: np.ndarray,
        merges_hands: bool,
        lay_out: Callable[[int | None], FlatGame],
    ) -> None:
        self.name, self.chunks, self.nodes, self.counts = name, chunks, nodes, counts
        self.recipe, self.utilities, self.merges_hands = recipe, utilities, merges_hands
        self._lay_out = lay_out
        self.is_of_cards, self.defaults = nodes.is_of_cards, nodes.defaults
        self.n_players, self.n_numbers = chunks.n_players, chunks.n_numbers
        self.n_histories, self.n_decision_nodes = counts.histories, counts.decision_nodes
        self.n_infosets, self.n_sequences = counts.infosets, counts.sequences
        self.freeze()

    chunks: ChunkedForm
    nodes: PublicNodes
    recipe: Recipe
    utilities: np.ndarray
    n_players: int
    n_numbers: int
    n_histories: int
    n_decision_nodes: int
    n_infosets: int
    n_sequences: int

    layout = Layout.CHUNKS

    def flat(self, memory_limit: int | None = None) -> FlatGame:  # noqa: D102
        return self._lay_out(memory_limit)

    @property
    def caveat(self) -> str:  # noqa: D102
        return self.nodes.caveat

    def locate(self, label: str) -> Located:  # noqa: D102
        infoset = self.nodes.found(label)
        layout = infoset.layout
        return Located(infoset.label, layout.player, layout.actions, layout.of_hand(infoset.hand))

    def lockable(self, label: str) -> tuple[str, tuple[str, ...]]:  # noqa: D102
        return self.nodes.lockable(label)

    def labels_of(self, player: int) -> Iterator[str]:  # noqa: D102
        return (label for rows in self.rows(player) for label in rows.labels)

    def count_of(self, player: int) -> int:  # noqa: D102
        return self.counts.player_infosets[player]

    def rows(self, player: int) -> Iterator[InfosetRows]:
        """Yield the infosets of a player, public node by public node."""
        return map(self.nodes.rows, self.nodes.deciding(player))

    def locked(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:  # noqa: D102
        tables: dict[int, np.ndarray] = {}
        for label, row in rows.items():
            for node, hands in self.nodes.named(label):
                if node not in tables:
                    player = self.nodes.player(node)
                    tables[node] = np.full((len(self.nodes.hands[player]), len(row)), FREE)
                tables[node][hands] = row
        probabilities = np.full(self.chunks.n_numbers, FREE)
        firsts, counts = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        is_ambiguous = False
        for node, table in tables.items():
            layout = self.nodes.layout(node)
            locked = (table != FREE).any(axis=1) & self.nodes.possible(node, layout.player)
            hands = np.flatnonzero(locked)
            numbers = layout.numbers(hands)
            before = (probabilities[numbers] != FREE).any(axis=1)
            # Hands that are merged write to the same numbers.  Compare before and after the write:
            # a difference means that one infoset got two strategies.
            is_ambiguous |= bool((probabilities[numbers] != table[hands])[before].any())
            probabilities[numbers] = table[hands]
            is_ambiguous |= bool((probabilities[numbers] != table[hands]).any())
            firsts.append(numbers[:, 0])
            counts.append(np.rint(layout.multiplicity[hands]).astype(np.int64))
        # Every infoset that was merged into one must be locked, so count the locks of each.
        _, inverse, times = np.unique(
            np.concatenate(firsts), return_inverse=True, return_counts=True
        )
        if is_ambiguous or (times[inverse] != np.concatenate(counts)).any():
            raise ValueError(
                f"the locks distinguish infosets that {self.name} has merged: compile it with "
                "symmetry=False"
            )
        return probabilities

    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array of the game in chunks by name: ``"chunks/trunk/infoset_parent"``,
        ..."""
        chunks = self.chunks
        by_name = {
            f"chunks/trunk/{stored_name(name)}": array for name, array in named_arrays(chunks.trunk)
        }
        if chunks.shapes is not None:
            pools = declared(ChunkShapes)
            by_name |= {f"chunks/shapes/{name}": getattr(chunks.shapes, name) for name in pools}
        # Digests in files of games that are cut once were made without ``above``.
        names = ("shape", *Entered._fields[0 if chunks.parent_part.any() else 1 :])
        return by_name | {f"chunks/{stored_name(name)}": getattr(chunks, name) for name in names}

    @cached_property
    def digest(self) -> str:
        """Fingerprint of the arrays and of the labels of hands and steps."""
        digest = hashlib.sha256(repr(self.nodes.hands).encode() + self.nodes.wording())
        for name, array in self.arrays().items():
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def summary(self) -> str:
        """Return a short text: counts, the cut, bytes."""
        counts, chunks = self.counts, self.chunks
        hands = " x ".join(f"{len(labels):,}" for labels in self.nodes.hands)
        cut = "solved without chunks"
        if chunks.n_chunks:
            cut = (
                f"solved in {chunks.n_chunks:,} chunks of {not_none(chunks.shapes).n_shapes:,} "
                f"shapes, the largest of {int(not_none(chunks.shapes).sequences.max()):,} sequences"
            )
        return "\n".join(
            [
                self.headline,
                f"  {counts.histories:,} histories",
                f"  {hands} private hands, {counts.public_nodes:,} nodes in the public tree",
                f"  {counts.infosets:,} infosets, {counts.sequences:,} sequences",
                f"  {cut}",
                f"  a trunk of {chunks.trunk.n_sequences:,} sequences",
                f"  {self.nbytes:,} bytes, {chunks.n_numbers:,} numbers in each array of a solver",
            ]
        )


def have_same_numbers(game: CompiledGame, other_game: CompiledGame) -> bool:
    """Return whether two games have the same infosets and actions at the same numbers.

    Their payoffs may differ. False does not mean that the infosets differ, if the games have public
    nodes of another kind than games of cards.
    """
    if game is other_game:
        return True
    if isinstance(game, ChunkedGame) and isinstance(other_game, ChunkedGame):
        return _have_same_structure(game, other_game)
    form, other_form = game.chunks, other_game.chunks
    if form.n_chunks or other_form.n_chunks or game.n_players != other_game.n_players:
        return False
    trunk, other_trunk = form.trunk, other_form.trunk
    if not all(np.array_equal(getattr(trunk, n), getattr(other_trunk, n)) for n in NUMBERED):
        return False
    return all(
        # Older files have labels of Leduc that end in a blank.
        [label.rstrip(" ") for label in infosets.labels]
        == [label.rstrip(" ") for label in other_infosets.labels]
        and infosets.actions == other_infosets.actions
        for player in range(game.n_players)
        for infosets, other_infosets in zip(game.rows(player), other_game.rows(player), strict=True)
    )


def _have_same_structure(game: ChunkedGame, other_game: ChunkedGame) -> bool:
    """Return whether hands, steps and the numbers of infosets are equal."""
    nodes, other_nodes = game.nodes, other_game.nodes
    if nodes.hands != other_nodes.hands or nodes.wording() != other_nodes.wording():
        return False
    numbering, other_numbering = nodes.numbering(), other_nodes.numbering()
    if numbering is None or other_numbering is None:
        # Arrays of real numbers have payoffs and weights of hands.
        numbering, other_numbering = (
            [(name, array) for name, array in chunked.arrays().items() if array.dtype.kind != "f"]
            for chunked in (game, other_game)
        )
    return _are_equal(numbering, other_numbering)


def _are_equal(first: Any, second: Any) -> bool:
    """Return whether two arrays, or nested sequences of arrays, are equal."""
    if isinstance(first, (tuple, list)):
        return (
            isinstance(second, (tuple, list))
            and len(first) == len(second)
            and all(map(_are_equal, first, second))
        )
    return bool(np.array_equal(first, second))
