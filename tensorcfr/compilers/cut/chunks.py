"""From a public tree to a trunk and chunks.

The tree is taken as a graph of public states: then it is never unfolded beyond the trunk and one
forest for each shape.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...invariants import check_chunks
from ...model.arrays import NO_PARENT, PublicTree, SequenceForm
from ...model.chunks import ChunkedForm, Entries, chunked, pack
from .. import form_of_public_tree
from ..form_of_public_tree import Built, Forest, possible_hands
from ..payoff_blocks import places_of
from ..public_states import Cut, Graph, Unfolded, sequences_below, unfold

SPLIT = 8
"""Chunks that are smaller than the limit by this factor take in the subtrees below the next node
of the trunk, too; larger ones end with the children of a node, which makes more of them alike."""


@dataclass
class CutTree:
    """A game in chunks, and which public nodes lie where in it."""

    form: ChunkedForm
    trunk: PublicTree
    """The trunk, with buckets and ranks."""
    shapes: list[PublicTree]
    """The forest of each shape, likewise, below a node 0 that is no part of the game."""
    built: list[SequenceForm]
    """The sequence form of each shape."""
    root_chunk: np.ndarray
    """int32 (trunk nodes,): the chunk that a node where the tree is cut belongs to; -1 for the
    others."""
    root_node: np.ndarray
    """int32 (trunk nodes,): which node of the chunk's forest it is; -1 likewise."""


def build(graph: Graph, cut: Cut, *, limit: int, alone: bool = False) -> CutTree:
    """Cut a game.

    Args:
        graph: The public states, two players, without what is not to be solved.
        cut: Where to cut; where nobody acts any more the tree is not cut.
        limit: Sequences that a chunk of several subtrees may have.
        alone: Whether each subtree is a chunk of its own.
    """
    size = sequences_below(graph)
    cut_here: Cut = lambda states, depth: cut(states, depth) & (size[states] > 0)  # noqa: E731
    above = unfold(graph, cut=cut_here)
    trunk = form_of_public_tree.lay_out(above.tree)
    groups = _groups(above, size, 0 if alone else limit)
    chunks = _Chunks(graph, trunk)
    root_chunk = np.full(len(above.state), -1, dtype=np.int32)
    root_node = root_chunk.copy()
    for number, nodes in enumerate(groups):
        chunks.add(nodes, above.state[nodes])
        root_chunk[nodes], root_node[nodes] = number, np.arange(1, len(nodes) + 1)
    form = chunks.form()
    check_chunks(form, sequences=int(size[graph.root]) + 2)
    return CutTree(
        form=form,
        trunk=trunk.tree,
        shapes=[built.tree for built in chunks.built],
        built=[built.form for built in chunks.built],
        root_chunk=root_chunk,
        root_node=root_node,
    )


def _groups(above: Unfolded, size: np.ndarray, limit: int) -> list[np.ndarray]:
    """The nodes where the tree is cut, grouped to chunks."""
    groups: list[list[int]] = []
    total, before = 0, NO_PARENT
    for node in above.cut.tolist():
        own, parent = int(size[above.state[node]]), int(above.tree.parent[node])
        joins = total + own <= limit and (parent == before or total <= limit // SPLIT)
        if not (groups and joins):
            groups.append([])
            total = 0
        groups[-1].append(node)
        total, before = total + own, parent
    return [np.array(group) for group in groups]


@dataclass
class _Chunks:
    """The chunks of a game as they are found."""

    graph: Graph
    trunk: Built
    built: list[Built] = field(default_factory=list)
    """The shapes."""
    shape: list[int] = field(default_factory=list)
    entries: Entries = field(default_factory=Entries)

    def __post_init__(self) -> None:
        self._possible, masks = possible_hands(self.graph.tables, everybody=True)
        self._hands = masks.sum(axis=1)
        self._by_states: dict[tuple[bytes, ...], int] = {}
        self._by_structure: dict[tuple[bytes, ...], int] = {}

    def add(self, nodes: np.ndarray, states: np.ndarray) -> None:
        """A chunk of the subtrees at some nodes of the trunk."""
        entry, mask, sequences = zip(
            *(self._entries(player, nodes) for player in range(2)), strict=True
        )
        forest = Forest(np.stack(entry), mask)
        how = (forest.entry.tobytes(), *(own.tobytes() for own in mask))
        key = (states.tobytes(), *how)
        if key not in self._by_states:
            self._by_states[key] = self._shape(states, forest, how)
        self.shape.append(self._by_states[key])
        self.entries.add(sequences)

    def _entries(
        self, player: int, nodes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """The entries of a player: which leads to each node; their masks; their sequences in the
        trunk, hand by hand for each."""
        trunk = self.trunk
        steps, first, entry = np.unique(
            trunk.last[player, nodes].astype(np.int64), return_index=True, return_inverse=True
        )
        # In the order in which they come, which is alike in chunks that are alike.
        order = np.argsort(first)
        steps, entry = steps[order], np.argsort(order)[entry]
        before = steps < 0
        weight = trunk.tree.weight[trunk.tree.parent[steps]].astype(np.int64)
        mask = self._possible[player, np.where(before, -1, weight)]
        owner = np.full(len(steps), player)
        above = places_of(trunk.tree, trunk.form, trunk.entered, owner, steps)
        hands = self._hands[mask]
        places = zip(above.sequence, above.stride, hands, strict=True)
        return entry, mask, [first + step * np.arange(count) for first, step, count in places]

    def _shape(self, states: np.ndarray, forest: Forest, how: tuple[bytes, ...]) -> int:
        """The shape of a forest, which may be known from other states."""
        tree = unfold(self.graph, states).tree
        arrays = (tree.parent, tree.player, tree.weight, tree.payoff)
        key = (*(array.astype(np.int32).tobytes() for array in arrays), *how)
        if key not in self._by_structure:
            self._by_structure[key] = len(self.built)
            self.built.append(form_of_public_tree.lay_out(tree, forest))
        return self._by_structure[key]

    def form(self) -> ChunkedForm:
        """The game."""
        shapes = pack([built.form for built in self.built])
        shape = np.array(self.shape, dtype=np.int64)
        return chunked(self.trunk.form, shapes, shape, self.entries.finish())
