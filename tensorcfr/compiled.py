"""The compiled game: one frozen record of read-only arrays, in two views.

:class:`HistoryTree` is the game as histories, :class:`SequenceForm` the game as the solver
sweeps it.  Both number infosets alike.  What every array must satisfy is written in
``docs/data-model.md`` and checked by :mod:`tensorcfr.invariants`.

Numbering, for both views:

* A *node* is a history.  Nodes are in breadth-first order: a child's index is larger than its
  parent's, the children of a node are contiguous, and so are the children of consecutive
  nodes.
* An *infoset* index runs over all players: by player, then by level (how many infosets of his
  own the player has passed before), then by number of actions.
* A *sequence* index runs over all players too.  The first sequence of each player is the
  empty one.  The infosets of one player, level and number of actions form a *bucket*; the
  sequences of a bucket are laid out ``[action, lane]`` with one lane per infoset, so that the
  lanes of an action are contiguous.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

CHANCE = -1
"""``HistoryTree.player`` and ``HistoryTree.infoset`` of a chance node."""
TERMINAL = -2
"""``HistoryTree.player`` and ``HistoryTree.infoset`` of a terminal."""
NO_PARENT = -1
"""``HistoryTree.parent`` of the root."""
CHANCE_TOLERANCE = 1e-9
"""How far the probabilities of a chance node may be from summing to 1."""
NO_OUTCOME = -1
"""``HistoryTree.outcome`` of a node that chance did not step into."""


class HistoryTree(NamedTuple):
    """The game as a tree of histories."""

    parent: np.ndarray
    """int64 (nodes,): the history one step shorter; ``NO_PARENT`` for the root, node 0."""
    first_child: np.ndarray
    """int64 (nodes + 1,): the children of node ``h`` are ``first_child[h]`` to
    ``first_child[h + 1] - 1``, in the order of the actions; this is the action offset."""
    player: np.ndarray
    """int8 (nodes,): who acts; ``CHANCE`` or ``TERMINAL`` otherwise."""
    infoset: np.ndarray
    """int64 (nodes,): infoset of the player who acts; ``CHANCE`` or ``TERMINAL`` otherwise."""
    probability: np.ndarray
    """float64 (nodes,): chance probability of the step into the node; 1 where the parent is no
    chance node, and for the root."""
    outcome: np.ndarray
    """int32 (nodes,): which of ``CompiledGame.outcome_labels`` chance chose to step into the
    node; ``NO_OUTCOME`` where the parent is no chance node, and for the root."""
    terminal: np.ndarray
    """int64 (terminals,): the terminal nodes, ascending."""
    utility: np.ndarray
    """float64 (terminals, players): what each terminal pays, in the game's own unit."""

    @property
    def n_nodes(self) -> int:
        """Histories: decision nodes, chance nodes and terminals."""
        return len(self.parent)


class SequenceForm(NamedTuple):
    """The game as the solver sweeps it."""

    player_infosets: np.ndarray
    """int64 (players + 1,): player ``i`` owns infosets ``[i]`` to ``[i + 1] - 1``."""
    player_sequences: np.ndarray
    """int64 (players + 1,): likewise for sequences; the first one is the empty sequence."""
    player_buckets: np.ndarray
    """int64 (players + 1,): likewise for buckets, shallow levels first."""
    bucket_level: np.ndarray
    """int64 (buckets,): own infosets passed before; 0 at the player's first decisions."""
    bucket_actions: np.ndarray
    """int64 (buckets,): actions of every infoset in the bucket."""
    bucket_lanes: np.ndarray
    """int64 (buckets,): infosets in the bucket."""
    bucket_infoset: np.ndarray
    """int64 (buckets,): first infoset of the bucket; lane ``l`` is infoset ``[b] + l``."""
    bucket_sequence: np.ndarray
    """int64 (buckets,): first sequence of the bucket; action ``a`` of lane ``l`` is sequence
    ``[b] + a * lanes + l``."""
    infoset_parent: np.ndarray
    """uint32 (infosets,): the owner's last sequence before the infoset."""
    payoff_row: np.ndarray
    """int64 (slices,): first sequence of a slice of the payoff operator."""
    payoff_rows: np.ndarray
    """int64 (slices,): consecutive sequences in the slice."""
    payoff_entries: np.ndarray
    """int64 (slices,): payoff entries of every sequence in the slice, at least one."""
    payoff_offset: np.ndarray
    """int64 (slices,): first entry of the slice; its entries are laid out ``[entry, row]``."""
    payoff_slices: np.ndarray
    """int64 (players + 1,): player ``i`` owns slices ``[i]`` to ``[i + 1] - 1``."""
    payoff_column: np.ndarray
    """uint32 (players - 1, entries): the last sequences of the other players, in the order
    of the players."""
    payoff_value: np.ndarray
    """float64 (entries,): chance probability times utility to the owner of the row, summed
    over the terminals that share the last sequences of all players."""

    @property
    def n_players(self) -> int:
        """Players."""
        return len(self.player_infosets) - 1

    @property
    def n_infosets(self) -> int:
        """Infosets of all players."""
        return len(self.infoset_parent)

    @property
    def n_sequences(self) -> int:
        """Sequences of all players, the empty ones included."""
        return int(self.player_sequences[-1])


@dataclass(frozen=True, eq=False)
class CompiledGame:
    """A game compiled into flat arrays, once; what :func:`tensorcfr.solve` sweeps.

    All arrays are read-only.  Build one with :func:`tensorcfr.compile_game`.
    """

    name: str
    """How the game was asked for."""
    tree: HistoryTree
    """The game as histories."""
    form: SequenceForm
    """The game as the solver sweeps it."""
    infoset_labels: Sequence[str]
    """Label of each infoset."""
    infoset_actions: Sequence[tuple[str, ...]]
    """Action labels of each infoset."""
    outcome_labels: Sequence[str]
    """Labels of the chance outcomes."""

    @property
    def n_players(self) -> int:
        """Players; they are numbered from 0."""
        return self.form.n_players

    @property
    def n_histories(self) -> int:
        """Histories, the root, chance nodes and terminals included."""
        return self.tree.n_nodes

    @cached_property
    def n_decision_nodes(self) -> int:
        """Histories where a player acts."""
        return int(np.count_nonzero(self.tree.player >= 0))

    @property
    def n_infosets(self) -> int:
        """Infosets of all players."""
        return self.form.n_infosets

    @property
    def n_sequences(self) -> int:
        """Sequences of all players, the empty ones included."""
        return self.form.n_sequences

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays of both views (labels not counted)."""
        return sum(array.nbytes for view in (self.tree, self.form) for array in view)

    @cached_property
    def utility_sums(self) -> tuple[float, float]:
        """Smallest and largest sum of the players' utilities over the terminals."""
        sums = self.tree.utility.sum(axis=1)
        return float(sums.min()), float(sums.max())

    @property
    def zero_sum(self) -> bool:
        """Whether the utilities sum to 0 at every terminal, to rounding."""
        return max(map(abs, self.utility_sums)) <= self.utility_tolerance

    @property
    def utility_tolerance(self) -> float:
        """What is rounding in a sum of utilities: 1e-12 of the largest of them."""
        return 1e-12 * float(np.abs(self.tree.utility).max())

    @cached_property
    def infoset_sequence(self) -> np.ndarray:
        """int64 (infosets,): sequence of the first action of each infoset."""
        form = self.form
        lane = np.arange(form.n_infosets) - np.repeat(form.bucket_infoset, form.bucket_lanes)
        return np.repeat(form.bucket_sequence, form.bucket_lanes) + lane

    @cached_property
    def infoset_stride(self) -> np.ndarray:
        """int64 (infosets,): distance between the sequences of consecutive actions."""
        return np.repeat(self.form.bucket_lanes, self.form.bucket_lanes)

    @cached_property
    def infoset_player(self) -> np.ndarray:
        """int64 (infosets,): who acts."""
        return np.repeat(np.arange(self.n_players), np.diff(self.form.player_infosets))

    @cached_property
    def infoset_index(self) -> dict[str, int]:
        """Infoset by label."""
        return {label: index for index, label in enumerate(self.infoset_labels)}

    def sequences(self, infoset: int) -> slice:
        """The sequences of an infoset, in the order of its actions, as a slice."""
        first, stride = int(self.infoset_sequence[infoset]), int(self.infoset_stride[infoset])
        return slice(first, first + stride * len(self.infoset_actions[infoset]), stride)

    def history(self, node: int) -> tuple[str, ...]:
        """The labels of the actions and chance outcomes that lead to a node."""
        return history_labels(self.tree, self.infoset_actions, self.outcome_labels, node)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of all arrays and labels, the game's name apart."""
        digest = hashlib.sha256()
        for view in (self.tree, self.form):
            for name, array in view._asdict().items():
                digest.update(f"{name} {array.dtype} {array.shape}".encode())
                digest.update(np.ascontiguousarray(array).data)
        labels = (self.infoset_labels, self.infoset_actions, self.outcome_labels)
        digest.update(repr(labels).encode())
        return digest.hexdigest()

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.freeze()

    def freeze(self) -> None:
        """Make every array read-only."""
        for view in (self.tree, self.form):
            for array in view:
                array.flags.writeable = False

    def summary(self) -> str:
        """A short text: counts, levels, payoff entries, bytes."""
        form, tree = self.form, self.tree
        per_player = ", ".join(
            f"player {i}: {infosets:,} infosets, {sequences:,} sequences, {levels} levels"
            for i, infosets, sequences, levels in self._player_rows()
        )
        kind = "zero-sum" if self.zero_sum else "general-sum"
        return (
            f"{self.name}: {self.n_players} players, {kind}\n"
            f"  {tree.n_nodes:,} histories: {np.count_nonzero(tree.player >= 0):,} decision nodes, "
            f"{np.count_nonzero(tree.player == CHANCE):,} chance nodes, "
            f"{len(tree.terminal):,} terminals\n"
            f"  {per_player}\n"
            f"  {len(form.bucket_lanes):,} buckets, {len(form.payoff_value):,} payoff entries in "
            f"{len(form.payoff_rows):,} slices\n"
            f"  {self.nbytes:,} bytes"
        )

    def _player_rows(self) -> Iterator[tuple[int, int, int, int]]:
        form = self.form
        for player in range(self.n_players):
            buckets = slice(form.player_buckets[player], form.player_buckets[player + 1])
            levels = form.bucket_level[buckets]
            yield (
                player,
                int(np.diff(form.player_infosets)[player]),
                int(np.diff(form.player_sequences)[player]),
                int(levels.max()) + 1 if len(levels) else 0,
            )

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return (
            f"<CompiledGame {self.name}: {self.n_players} players, "
            f"{self.n_histories:,} histories, {self.n_infosets:,} infosets>"
        )

    def save(self, path: str | Path) -> Path:
        """Write the game to an ``.npz`` file (plain arrays, no pickle); returns its path."""
        from .storage import save_game

        return save_game(self, path)

    @classmethod
    def load(cls, path: str | Path) -> CompiledGame:
        """Read a game that :meth:`save` wrote.

        Raises:
            ValueError: The file is no compiled game, or of another format version, or its
                arrays break an invariant.
        """
        from .storage import load_game

        return load_game(path)


def history_labels(
    tree: HistoryTree,
    infoset_actions: Sequence[Sequence[object]],
    outcome_labels: Sequence[object],
    node: int,
) -> tuple[str, ...]:
    """The labels of the actions and chance outcomes on the way from the root to a node."""
    labels: list[str] = []
    while (parent := int(tree.parent[node])) != NO_PARENT:
        if tree.player[parent] == CHANCE:
            labels.append(str(outcome_labels[tree.outcome[node]]))
        else:
            action = node - int(tree.first_child[parent])
            labels.append(str(infoset_actions[tree.infoset[parent]][action]))
        node = parent
    return tuple(reversed(labels))
