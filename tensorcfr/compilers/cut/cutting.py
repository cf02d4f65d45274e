"""Conversion of a public tree to a trunk and chunks.

The tree is given as a graph of public states.  So only the trunk and one forest per shape are ever
unfolded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...invariants import check_chunks
from ...model.arrays import NO_PARENT, PublicTree, SequenceForm
from ...model.chunked_form import ChunkedForm, EntryBuilder, chunked, pack
from .. import form_of_public_tree
from ..form_of_public_tree import Built, Forest, possible_hands
from ..payoff_blocks import action_sequences
from ..public_states import Cut, Graph, Unfolded, sequences_below, unfold

SPLIT = 8
"""Factor by which a chunk must be smaller than the limit to also include subtrees below the next
node of the trunk.  Larger chunks end with the children of a node, which makes more chunks equal."""


class CutRoots(NamedTuple):
    """Nodes of a part below which other chunks begin."""

    chunk: np.ndarray
    """int32 (nodes,): the chunk that begins at the node, if the tree is cut there; -1 at other
    nodes."""
    node: np.ndarray
    """int32 (nodes,): node of the chunk's forest at a cut; -1 at other nodes."""


@dataclass
class CutTree:
    """Game in chunks, with the positions of its public nodes."""

    form: ChunkedForm
    trunk: PublicTree
    """Trunk, with buckets and ranks."""
    shapes: list[PublicTree]
    """Forest of each shape, with buckets and ranks; node 0 is artificial and not part of the
    game."""
    built: list[SequenceForm]
    """Sequence form of each shape."""
    roots: dict[int, CutRoots]
    """Cuts of each part: part 0 is the trunk, part ``c + 1`` is chunk ``c``."""


def build(graph: Graph, cuts: Sequence[Cut], *, limit: int, alone: bool = False) -> CutTree:
    """Cut a game into a trunk and chunks.

    Args:
        graph: The public states of the game to solve, with two players.
        cuts: Where to cut the tree, then the forests of its chunks, and so on.  Depths count from
            the last cut.  Nothing is cut where nobody acts any more.
        limit: Maximum number of sequences in a chunk with several subtrees.
        alone: Whether each subtree is a chunk of its own.
    """
    chunks = _Chunks(graph, cuts, 0 if alone else limit)
    unfolded = unfold(graph, cut=chunks.cut(0))
    trunk = form_of_public_tree.lay_out(unfolded.tree)
    chunks.add_below(0, 0, unfolded, trunk, None)
    form = chunks.form(trunk.form)
    check_chunks(form, sequences=int(chunks.size[graph.root]) + 2)
    return CutTree(
        form=form,
        trunk=trunk.tree,
        shapes=[built.tree for built in chunks.built],
        built=[built.form for built in chunks.built],
        roots=chunks.roots,
    )


def _group_cut_nodes(unfolded: Unfolded, size: np.ndarray, limit: int) -> list[np.ndarray]:
    """Group the nodes at which the tree is cut into chunks."""
    groups: list[list[int]] = []
    total, before = 0, NO_PARENT
    for node in unfolded.cut.tolist():
        n_sequences, parent = int(size[unfolded.state[node]]), int(unfolded.tree.parent[node])
        # ``unfolded.cut`` ascends and nodes are numbered breadth first, so siblings are adjacent.
        joins = total + n_sequences <= limit and (parent == before or total <= limit // SPLIT)
        if not (groups and joins):
            groups.append([])
            total = 0
        groups[-1].append(node)
        total, before = total + n_sequences, parent
    return [np.array(group) for group in groups]


@dataclass
class _Chunks:
    """Chunks of a game while they are collected."""

    graph: Graph
    cuts: Sequence[Cut]
    limit: int
    built: list[Built] = field(default_factory=list)
    """Shapes."""
    shape: list[int] = field(default_factory=list)
    """Shape of each chunk."""
    entries: EntryBuilder = field(default_factory=EntryBuilder)
    roots: dict[int, CutRoots] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.size = sequences_below(self.graph)
        self._possible, masks = possible_hands(self.graph.tables, everybody=True)
        self._hands = masks.sum(axis=1)
        self._by_states: dict[tuple[bytes, ...], int] = {}
        self._by_structure: dict[tuple[bytes, ...], int] = {}

    def cut(self, level: int) -> Cut | None:
        """Return the cut below ``level`` other cuts, or None if there is none."""
        if level == len(self.cuts):
            return None
        return lambda states, depth: self.cuts[level](states, depth) & (self.size[states] > 0)

    def add_below(
        self, part: int, level: int, unfolded: Unfolded, built: Built, forest: Forest | None
    ) -> None:
        """Add the chunks below a part, and recursively the chunks below them.

        Args:
            part: The part: 0 for the trunk, ``c + 1`` for chunk ``c``.
            level: Number of cuts above the part.
            unfolded: The unfolded nodes of the part.
            built: Its sequence form.
            forest: The entries into the part; None for the trunk.
        """
        roots = CutRoots(*np.full((2, len(unfolded.state)), -1, dtype=np.int32))
        for nodes in _group_cut_nodes(unfolded, self.size, self.limit):
            chunk, states = len(self.shape), unfolded.state[nodes]
            # Node 0 of a forest is artificial, and its children are the roots in this order.
            roots.chunk[nodes], roots.node[nodes] = chunk, np.arange(1, len(nodes) + 1)
            entry, mask, sequences = zip(
                *(self._entries(player, nodes, built, forest) for player in range(2)), strict=True
            )
            entered = Forest(np.stack(entry), mask)
            structure = (entered.entry.tobytes(), *(row.tobytes() for row in mask))
            self.entries.add(sequences, part)
            # Equal states have equal subtrees, but further cuts depend on the path as well, so only
            # the last level can reuse a shape without unfolding.
            key, is_last = (states.tobytes(), *structure), level + 1 == len(self.cuts)
            if is_last and key in self._by_states:
                self.shape.append(self._by_states[key])
                continue
            below = unfold(self.graph, states, cut=self.cut(level + 1))
            shape = self._shape(below.tree, entered, structure)
            if is_last:
                self._by_states[key] = shape
            self.shape.append(shape)
            self.add_below(chunk + 1, level + 1, below, self.built[shape], entered)
        if len(unfolded.cut):
            self.roots[part] = roots

    def _entries(
        self, player: int, nodes: np.ndarray, built: Built, forest: Forest | None
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Return the entries of a player into a chunk.

        Args:
            player: The player.
            nodes: int64 (roots,): the nodes of the part at which the chunk begins.
            built: The part.
            forest: The entries into the part; None for the trunk.

        Returns:
            int64 (roots,): the entry that leads to each root; int64 (entries,): the mask of each
            entry; for each entry, its sequences in the part, hand by hand.
        """
        steps, first, entry = np.unique(
            built.last[player, nodes].astype(np.int64), return_index=True, return_inverse=True
        )
        # Number entries in the order of their first occurrence, which is the same in chunks of
        # equal structure.
        order = np.argsort(first)
        steps, entry = steps[order], np.argsort(order)[entry]
        before = steps < 0
        weight = built.tree.weight[built.tree.parent[steps]].astype(np.int64)
        # The last column of ``_possible`` has the mask of all hands: the empty sequence does not
        # depend on the hand.
        mask = self._possible[player, np.where(before, -1, weight)]
        if forest is not None:
            mask[before] = forest.mask[player][-1 - steps[before]]
        owner = np.full(len(steps), player)
        parent_places = action_sequences(built.tree, built.form, built.entered, owner, steps)
        hands = self._hands[mask]
        places = zip(parent_places.sequence, parent_places.stride, hands, strict=True)
        return entry, mask, [first + step * np.arange(count) for first, step, count in places]

    def _shape(self, tree: PublicTree, forest: Forest, structure: tuple[bytes, ...]) -> int:
        """Return the shape of a forest, which may be known from other states."""
        # Two forests share a shape if these arrays and the entries are equal: the sequence form
        # depends on nothing else.
        arrays = (tree.parent, tree.player, tree.weight, tree.payoff)
        key = (*(array.astype(np.int32).tobytes() for array in arrays), *structure)
        if key not in self._by_structure:
            self._by_structure[key] = len(self.built)
            self.built.append(form_of_public_tree.lay_out(tree, forest))
        return self._by_structure[key]

    def form(self, trunk: SequenceForm) -> ChunkedForm:
        """Return the game in chunks."""
        kinds = tuple(type(part) for part in trunk.operator)
        shapes = pack([built.form for built in self.built], kinds)
        shape = np.array(self.shape, dtype=np.int64)
        return chunked(trunk, shapes, shape, self.entries.finish())
