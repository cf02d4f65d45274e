"""A compiled game in chunks, whose flat arrays are made when they are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .arrays import FREE, HistoryTree, SequenceForm, named_arrays
from .chunks import ChunkedForm
from .game import CompiledGame, Merged
from .labels import PublicGame
from .lines import Found, Lines


class Counts(NamedTuple):
    """What there is of a game, counted and not laid out."""

    player_infosets: tuple[int, int]
    """Infosets of each player."""
    sequences: int
    """Sequences of all players, the empty ones included."""
    histories: int
    """Histories, the root, chance nodes and terminals included."""
    decision_nodes: int
    """Histories where a player acts."""
    public_nodes: int
    """Nodes of the public tree."""

    @property
    def infosets(self) -> int:
        """Infosets of all players."""
        return sum(self.player_infosets)


class Recipe(NamedTuple):
    """How to compile a game in chunks again."""

    source: str | None
    """Name and parameters of a built-in game; None for games of one's own."""
    cut: bool | int | tuple[str, ...]
    """Where it was cut, as for :func:`tensorcfr.compile_game`."""
    limit: int
    """Sequences that a chunk of several subtrees may have."""
    symmetry: bool
    """As for :func:`tensorcfr.compile_game`."""


class CutGame(CompiledGame):
    """A game of private hands in chunks; what is over all its sequences is compiled on demand.

    Args:
        name: How the game was asked for.
        chunks: The game in chunks.
        recipe: How to compile it again.
        counts: What there is of it.
        hands: Labels of each player's hands.
        utilities: float64 (some, players): all utilities that occur.
        merges_hands: Whether hands or outcomes that the payoffs cannot tell apart are one in it.
        flatten: Makes the flat game.
        number: From the flat game, the number of each of its sequences in a solver's arrays, int64.
        lines: From this game, its public nodes without the flat game.
    """

    def __init__(
        self,
        name: str,
        chunks: ChunkedForm,
        counts: Counts,
        *,
        recipe: Recipe,
        hands: tuple[tuple[str, ...], ...],
        utilities: np.ndarray,
        merges_hands: bool,
        flatten: Callable[[], CompiledGame],
        number: Callable[[CompiledGame], np.ndarray],
        lines: Callable[[Any], Lines],
    ) -> None:
        self.__dict__.update(
            name=name,
            _chunks=chunks,
            counts=counts,
            recipe=recipe,
            hands=hands,
            utilities=utilities,
            merges_hands=merges_hands,
            histories=None,
            _flatten=flatten,
            _number=number,
            _lines=lines,
        )
        self.freeze()

    _chunks: ChunkedForm
    counts: Counts
    recipe: Recipe
    hands: tuple[tuple[str, ...], ...]
    merges_hands: bool
    _flatten: Callable[[], CompiledGame]
    _number: Callable[[CompiledGame], np.ndarray]
    _lines: Callable[[Any], Lines]

    @property
    def chunks(self) -> ChunkedForm:
        """The game in chunks."""
        return self._chunks

    @cached_property
    def flat(self) -> CompiledGame:
        """The same game as one flat form."""
        return self._flatten()

    @cached_property
    def lines(self) -> Lines:
        """The public nodes, found without the flat game."""
        return self._lines(self)

    @cached_property
    def numbers(self) -> np.ndarray:
        """int64 (sequences,): where the sequences of :attr:`flat` lie in a solver's arrays."""
        return self._number(self.flat)

    def summed(self, whole: np.ndarray) -> np.ndarray:
        """Numbers of the flat sequences, float64 (sequences,), in a solver's arrays, float64
        (numbers,): summed where one sequence there stands for several."""
        found = np.bincount(self.numbers, weights=whole, minlength=self.chunks.n_numbers)
        found[self.chunks.trunk.player_sequences[:-1]] = 0.0
        return found

    def find_infoset(self, label: str) -> Found:
        """An infoset by its label, without the flat game.

        Raises:
            KeyError: There is no such infoset.
        """
        found = self.lines.find(label)
        if found is None:
            raise KeyError(label)
        return found

    def labels_of(self, player: int) -> Iterator[str]:
        """As for any game, without the flat game: in the order of its public nodes."""
        return (label for here in self.lines.infosets(player) for label in here.labels)

    def count_of(self, player: int) -> int:
        """As for any game."""
        return self.counts.player_infosets[player]

    def lockable(self, label: str) -> tuple[str, tuple[str, ...]]:
        """As for any game, without the flat game."""
        found = self.find_infoset(label)
        return found.label, found.place.actions

    def named(self, label: str) -> Iterable[tuple[int, np.ndarray]]:
        """The infosets that a :meth:`lockable` label names: public nodes of :attr:`lines`, and at
        each of them the hands, bool (hands,) or int."""
        found = self.find_infoset(label)
        return [(found.node, np.array([found.hand]))]

    def locked_numbers(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """Locked probabilities, as for :meth:`locked`, in a solver's arrays, float64 (numbers,).

        Raises:
            ValueError: Infosets that the game takes for one are locked differently.
        """
        tables: dict[int, np.ndarray] = {}
        for label, row in rows.items():
            for node, hands in self.named(label):
                if node not in tables:
                    player = self.lines.player(node)
                    tables[node] = np.full((len(self.hands[player]), len(row)), FREE)
                tables[node][hands] = row
        found = np.full(self.chunks.n_numbers, FREE)
        firsts, counts = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        is_apart = False
        for node, table in tables.items():
            place = self.lines.place(node)
            locked = (table != FREE).any(axis=1) & self.lines.held(node, place.player)
            hands = np.flatnonzero(locked)
            at = place.first + place.lane[hands, None] + np.arange(table.shape[1]) * place.stride
            before = (found[at] != FREE).any(axis=1)
            is_apart |= bool((found[at] != table[hands])[before].any())
            found[at] = table[hands]
            is_apart |= bool((found[at] != table[hands]).any())
            firsts.append(at[:, 0])
            counts.append(np.rint(place.stands_for[hands]).astype(np.int64))
        # Every infoset that was merged into one must be locked.
        _, which, times = np.unique(np.concatenate(firsts), return_inverse=True, return_counts=True)
        if is_apart or (times[which] != np.concatenate(counts)).any():
            raise ValueError(
                f"the locks tell infosets apart that {self.name} has merged: compile it with "
                "symmetry=False"
            )
        return found

    @property
    def form(self) -> SequenceForm:
        """The flat sequence form."""
        return self.flat.form

    @property
    def infoset_labels(self) -> Sequence[str]:
        """Label of each infoset."""
        return self.flat.infoset_labels

    @property
    def infoset_actions(self) -> Sequence[tuple[str, ...]]:
        """Action labels of each infoset."""
        return self.flat.infoset_actions

    @property
    def outcome_labels(self) -> Sequence[str]:
        """Labels of the chance outcomes."""
        return self.flat.outcome_labels

    @property
    def public(self) -> PublicGame | None:
        """The game as private hands x public tree."""
        return self.flat.public

    @property
    def merged(self) -> Merged | None:
        """The smaller flat game that stands for this one, if it has symmetries."""
        return self.flat.merged

    @property
    def tree(self) -> HistoryTree:
        """The game as histories; see :attr:`CompiledGame.tree`."""
        return self.flat.tree

    @property
    def n_players(self) -> int:
        """Players."""
        return self.chunks.n_players

    @property
    def n_histories(self) -> int:
        """Histories, the root, chance nodes and terminals included."""
        return self.counts.histories

    @property
    def n_decision_nodes(self) -> int:
        """Histories where a player acts."""
        return self.counts.decision_nodes

    @property
    def n_infosets(self) -> int:
        """Infosets of all players."""
        return self.counts.infosets

    @property
    def n_sequences(self) -> int:
        """Sequences of all players, the empty ones included."""
        return self.counts.sequences

    def arrays(self) -> dict[str, np.ndarray]:
        """Every array of the game in chunks by name: ``"chunks/trunk/infoset_parent"``, ..."""
        chunks = self.chunks
        found = {f"chunks/trunk/{name}": array for name, array in named_arrays(chunks.trunk)}
        found |= {f"chunks/{name}": array for name, array in named_arrays(chunks.shapes, "shapes/")}
        own = ("shape", "first", "entry_offset", "entry")
        return found | {f"chunks/{name}": getattr(chunks, name) for name in own}

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the arrays and of the hands' labels."""
        digest = hashlib.sha256(repr(self.hands).encode())
        for name, array in self.arrays().items():
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def summary(self) -> str:
        """A short text: counts, the cut, bytes."""
        counts, chunks = self.counts, self.chunks
        hands = " x ".join(f"{len(own):,}" for own in self.hands)
        kind = "zero-sum" if self.zero_sum else "general-sum"
        sizes = chunks.shapes.sequences
        largest = f", the largest of {int(sizes.max()):,} sequences" if len(sizes) else ""
        return "\n".join(
            [
                f"{self.name}: {self.n_players} players, {kind}",
                f"  {counts.histories:,} histories",
                f"  {hands} private hands, {counts.public_nodes:,} nodes in the public tree",
                f"  {counts.infosets:,} infosets, {counts.sequences:,} sequences",
                f"  solved in {chunks.n_chunks:,} chunks of {len(sizes):,} shapes{largest}",
                f"  a trunk of {chunks.trunk.n_sequences:,} sequences",
                f"  {self.nbytes:,} bytes, {chunks.n_numbers:,} numbers in each array of a solver",
            ]
        )
