"""Games under check, with derived arrays that several invariants use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...kernels.shapes import shape_form
from ...model.arrays import (
    CHANCE,
    HistoryTree,
    PublicTree,
    SequenceForm,
    levels_below_root,
    not_none,
)
from ...model.chunked_form import ChunkedForm, ChunkShapes, whole_rows

TOGETHER = 1 << 12
"""Number of rows of entries that are checked at a time; all at once would take more memory than the
game."""


class Reader:
    """Game or sequence form that is being checked: names for error messages, and derived arrays.

    Args:
        form: The sequence form to check: the game's form, its merged form, a trunk or a shape.
        game: The game, with the views that the checked rows of the list need; None for a trunk or a
            shape.
        expand: True to expand the histories of a game that does not have them.
    """

    def __init__(self, form: SequenceForm, game: Any = None, *, expand: bool = False) -> None:
        self.form, self.game = form, game
        self.labels: Sequence[str] = ()
        self.actions: Sequence[tuple[str, ...]] = ()
        self.has_tree = game is not None and (expand or "tree" in game.views)
        # Labels made on demand are computed from arrays that may not have been checked yet.
        if game is not None and form is game.form and not game.joins_labels:
            self.labels, self.actions = game.infoset_labels, game.infoset_actions

    @property
    def tree(self) -> HistoryTree:
        """Game as histories, expanded if necessary."""
        history_tree: HistoryTree = self.game.tree
        return history_tree

    @property
    def public(self) -> PublicTree:
        """Public tree of a game that has one."""
        tree: PublicTree = self.game.public.tree
        return tree

    @cached_property
    def merged(self) -> Reader:
        """Merged form of a game that has one."""
        return Reader(self.game.merged.form, self.game)

    def node(self, node: int) -> str:
        """Describe a node, ``node 4 (history [J, Q])``; valid only after T1 has been checked."""
        try:
            labels = self.game.history(node)
        except (IndexError, TypeError):  # labels are checked last
            return f"node {node}"
        return f"node {node} (history [{', '.join(labels)}])" if labels else "the root"

    def infoset(self, infoset: int) -> str:
        """Describe an infoset, ``infoset 3 ('Jpb')``."""
        try:
            return f"infoset {infoset} ({self.labels[infoset]!r})"
        except IndexError:
            return f"infoset {infoset}"

    def sequence(self, sequence: int) -> str:
        """Describe a sequence, ``sequence 7 ('pass' at infoset 3 ('Jpb'))``; valid only after S1 to
        S5."""
        form = self.form
        if sequence in form.player_sequences[:-1]:
            player = int(np.searchsorted(form.player_sequences, sequence))
            return f"sequence {sequence} (the empty one of player {player})"
        bucket = int(np.searchsorted(form.bucket_sequence, sequence, side="right")) - 1
        action, lane = divmod(
            sequence - int(form.bucket_sequence[bucket]), int(form.bucket_lanes[bucket])
        )
        infoset = int(form.bucket_infoset[bucket]) + lane
        try:
            label = repr(self.actions[infoset][action])
        except (IndexError, TypeError):
            label = f"action {action}"
        return f"sequence {sequence} ({label} at {self.infoset(infoset)})"

    @cached_property
    def children(self) -> np.ndarray:
        """int64 (nodes,): number of children."""
        return np.diff(self.tree.first_child)

    @cached_property
    def by_chance(self) -> np.ndarray:
        """Edges that are chance outcomes, by the node that they lead into, bool (nodes,)."""
        stepped = np.zeros(self.tree.n_nodes, dtype=bool)
        stepped[1:] = np.repeat(self.tree.player == CHANCE, self.children)
        return stepped

    @cached_property
    def chance_nodes(self) -> np.ndarray:
        """int64 (chance nodes,): chance nodes, ascending."""
        return np.flatnonzero(self.tree.player == CHANCE)

    @cached_property
    def deciding(self) -> np.ndarray:
        """int64 (decision nodes,): decision nodes, ascending."""
        return np.flatnonzero(self.tree.player >= 0)

    @cached_property
    def bucket_player(self) -> np.ndarray:
        """int64 (buckets,): player of each bucket."""
        return self.form.bucket_player

    @cached_property
    def last_and_reach(self) -> tuple[np.ndarray, np.ndarray]:
        """Last sequences, int64 (players, nodes), and chance reaches, float64 (nodes,)."""
        form = self.form
        return self.tree.traced(
            form.player_sequences[:-1], form.infoset_sequence, form.infoset_stride
        )

    # ------------------------------------------------------------------------- hands x public tree

    @cached_property
    def alive(self) -> np.ndarray:
        """Deals of positive probability by weight row, bool (weights, hands, hands)."""
        return self.public.alive

    @cached_property
    def exists(self) -> np.ndarray:
        """Public nodes that some deal reaches, bool (nodes,)."""
        return self.public.exists

    @cached_property
    def last_step(self) -> np.ndarray:
        """int32 (2, nodes): node that the last action of each player leads into; 0 if there is
        none."""
        tree = self.public
        last = np.zeros((2, tree.n_nodes), dtype=np.int32)
        for level in levels_below_root(tree.first_child):
            node, parent = np.arange(level.start, level.stop), tree.parent[level]
            for player, last_of_player in enumerate(last):
                last_of_player[level] = np.where(
                    tree.player[parent] == player, node, last_of_player[parent]
                )
        return last

    def sequences_after(self, player: int, steps: np.ndarray) -> np.ndarray:
        """Return the sequences of a player that end with public steps, int64 (hands, steps).

        The sequence of a hand that is impossible at a step is undefined.

        Args:
            player: The player.
            steps: int (steps,): node after each step; 0 for the empty sequence.
        """
        tree, form = self.public, self.form
        empty = int(form.player_sequences[player])
        if not len(form.bucket_lanes):
            return np.full((tree.prior.shape[player], len(steps)), empty)
        parent = tree.parent[steps]
        bucket = np.where(steps > 0, tree.bucket[parent], 0)
        action = steps - tree.first_child[parent]
        first = form.bucket_sequence[bucket] + action * form.bucket_lanes[bucket]
        rank = form.hand_rank[form.bucket_mask[bucket], : tree.prior.shape[player]].T
        sequences = first + tree.rank[parent] + rank * form.bucket_stride[bucket]
        return np.where(steps > 0, sequences, empty)

    def public_node(self, node: int) -> str:
        """Describe a public node, ``public node 4 (K bet)``; valid only if parents come before
        children."""
        try:
            labels = [self.game.public.edges[edge] for edge in self.game.public.path(node)]
        except (IndexError, TypeError):
            return f"public node {node}"
        return f"public node {node} ({' '.join(map(str, labels))})" if labels else "the public root"

    def sequence_bucket(self, sequence: np.ndarray) -> np.ndarray:
        """Return the bucket of each sequence, int64; undefined for empty sequences (it may be
        -1)."""
        return np.searchsorted(self.form.bucket_sequence, sequence, side="right") - 1


class ChunkReader:
    """Game in chunks that is being checked.

    Args:
        game: The game.
        sequences: Number of sequences of the game that was cut; None if they have not been counted.
    """

    def __init__(self, game: ChunkedForm, sequences: int | None = None) -> None:
        self.game, self.sequences = game, sequences

    @property
    def shapes(self) -> ChunkShapes:
        """Shapes of the game."""
        return not_none(self.game.shapes)

    @cached_property
    def structures(self) -> tuple[np.ndarray, np.ndarray]:
        """Structures of the shapes; see
        :attr:`tensorcfr.model.chunked_form.ChunkShapes.structures`."""
        return self.shapes.structures

    @property
    def examples(self) -> Iterator[tuple[int, SequenceForm]]:
        """Shape of each structure, and its form; valid only after K3 has been checked."""
        return zip(self.structures[0].tolist(), self.forms, strict=True)

    @cached_property
    def forms(self) -> list[SequenceForm]:
        """Form of each structure; valid only after K3 has been checked."""
        return [shape_form(self.shapes, shape) for shape in self.structures[0].tolist()]

    @cached_property
    def spans(self) -> np.ndarray:
        """int64 (chunks, 2): begin and end of the rows of each chunk in its shape, without entries;
        valid only after K6 has been checked."""
        return whole_rows(self.shapes.spans[self.game.shape])

    def rows(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield some rows of entries at a time: the index of the first row, and int64 (3, rows)."""
        for first in range(0, len(self.game.entry_runs), TOGETHER):
            yield first, self.game.entry_runs[first : first + TOGETHER].T.astype(np.int64)

    def owners(self, first: int, rows: int) -> np.ndarray:
        """Return the chunk times the number of players, plus the player, of each of some rows of
        entries, int64 (rows,); valid only if ``run_offset`` ascends."""
        ends = self.game.run_offset[:, 1:].ravel()
        return np.searchsorted(ends, np.arange(first, first + rows), side="right")
