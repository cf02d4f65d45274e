"""Public nodes of a game in chunks that is compiled from a public tree."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count, pairwise
from typing import NamedTuple

import numpy as np

from ...errors import GameError
from ...model.arrays import PublicTree, SequenceForm
from ...model.chunked_form import ChunkedForm
from ...model.labels import PublicGame, follow
from ...model.public_nodes import TRUNK, Edge, FoundInfoset, NodeLayout, TabledNodes
from ..flat_compiler import holder, not_text, used_twice
from ..form_of_public_tree import possible_hands
from ..public_graph import Graph, nodes_below

NodePath = tuple[list[int], list[int]]
"""Path from the root to a node: the states on it, and the number of the child at each edge."""
OwnLabel = Callable[[int, int, str], str]
"""Function that makes the label of an infoset from its state, its hand, and the public label."""


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


class TreeNodes(TabledNodes):
    """Public nodes in depth-first order, each node before the nodes below it.

    Args:
        graph: The public states of the whole game.
        public: Labels of hands, edges and nodes; its tree is the tree of ``graph``.
        steps: Function that converts a path to a decision to a path in the game that was cut.  It
            takes the states on the path, the root first, and the number of the child at each edge.
            It returns the numbers of the children, or None if the decision is not in that game.
        hand: int64 (hands,) for each player: the hand in the cut game for each hand.
        multiplicity: Function from a state and a player to :attr:`NodeLayout.multiplicity`.
        cut: The game in chunks.
        own_label: Function that makes labels; None if labels are hand and public label, joined, and
            can be split again.
    """

    def __init__(
        self,
        graph: Graph,
        public: PublicGame,
        steps: Callable[[list[int], list[int]], list[int] | None],
        hand: tuple[np.ndarray, ...],
        multiplicity: Callable[[int, int], np.ndarray],
        cut: CutTree,
        own_label: OwnLabel | None,
    ) -> None:
        self._graph, self.public, self.tables = graph, public, graph.tables
        self._steps, self._hand, self._cut = steps, hand, cut
        self._multiplicity, self._own_label = multiplicity, own_label
        self.hands = public.hands
        self.joins_labels = own_label is None
        self._recent: tuple[int, NodePath]
        self._forget()

    def _forget(self) -> None:
        """Reset the cached path to the path of the root."""
        self._recent = 0, ([self._graph.root], [])

    @cached_property
    def _possible(self) -> tuple[np.ndarray, np.ndarray]:
        return possible_hands(self.tables)

    @cached_property
    def _below(self) -> np.ndarray:
        """int64 (states,): nodes of the tree from each state on, itself included."""
        return nodes_below(self._graph)

    def wording(self) -> bytes:  # noqa: D102
        return repr(self.public[2:]).encode() + self.tables.edge.astype(np.int64).tobytes()

    # --------------------------------------------------------------------------------- numbers

    @property
    def count(self) -> int:  # noqa: D102
        return int(self._below[self._graph.root])

    def _path_to(self, node: int) -> NodePath:
        """Return the path to a node.

        Raises:
            ValueError: There is no such node.
        """
        recent, path = self._recent
        if node == recent:
            return path
        if not 0 <= node < self.count:
            raise ValueError(f"there is no public node {node}")
        states, child_numbers, number = [self._graph.root], list[int](), 0
        while number != node:
            next_states = self._next_states(states[-1])
            # Depth-first numbers: child ``k`` and the nodes below it have numbers less than
            # ``ends[k]``.
            ends = number + 1 + self._below[next_states].cumsum()
            child_numbers.append(int(ends.searchsorted(node, side="right")))
            states.append(int(next_states[child_numbers[-1]]))
            number = int(ends[child_numbers[-1]] - self._below[states[-1]])
        self._recent = node, (states, child_numbers)
        return states, child_numbers

    def _number(self, path: NodePath) -> int:
        """Return the number of the node at the end of a path."""
        node = 0
        for state, child in zip(*path, strict=False):
            node += 1 + int(self._below[self._next_states(state)[:child]].sum())
        return node

    def _state(self, node: int) -> int:
        return self._path_to(node)[0][-1]

    def _children(self, state: int) -> tuple[tuple[str, ...], list[int]]:
        """Return the labels of a state's edges, and the states after them."""
        begin, end = self.tables.first_child[state : state + 2].tolist()
        labels = tuple(self.public.edges[edge] for edge in self.tables.edge[begin:end].tolist())
        return labels, self._next_states(state).tolist()

    def _next_states(self, state: int) -> np.ndarray:
        """Return the states after a state, int64 (children,)."""
        begin, end = self.tables.first_child[state : state + 2].tolist()
        return self._graph.child[begin:end]

    def _step(self, state: int, child: int) -> str:
        """Return the label of an edge."""
        return self.public.edges[self.tables.edge[self.tables.first_child[state] + child]]

    # ----------------------------------------------------------------------------------- nodes

    def children(self, node: int) -> list[Edge]:  # noqa: D102
        labels, states = self._children(self._state(node))
        ends = node + 1 + np.cumsum(self._below[states])
        return [
            Edge(end - size, label)
            for end, size, label in zip(
                ends.tolist(), self._below[states].tolist(), labels, strict=True
            )
        ]

    def path(self, node: int) -> list[Edge]:  # noqa: D102
        states, child_numbers = self._path_to(node)
        return [
            Edge(self._number((states[: k + 1], child_numbers[: k + 1])), self._step(states[k], a))
            for k, a in enumerate(child_numbers)
        ]

    def label(self, node: int) -> str:  # noqa: D102
        states, child_numbers = self._path_to(node)
        labels = self.public.node_labels
        own_label = None if labels is None else labels[states[-1]]
        if own_label is not None:
            return own_label
        return "".join(
            f" {self._step(state, child)}"
            for state, child in zip(states, child_numbers, strict=False)
        )

    def layout(self, node: int) -> NodeLayout:  # noqa: D102
        states, child_numbers = self._path_to(node)
        player = int(self.tables.player[states[-1]])
        actions, _ = self._children(states[-1])
        is_possible = self._possible_hands(states[-1], player)
        steps = self._steps(states, child_numbers)
        if steps is None:
            empty = int(self._cut.form.trunk.player_sequences[player])
            lane = np.where(is_possible, 0, -1)
            return NodeLayout(player, actions, TRUNK, empty, 0, lane, np.ones(len(lane)))
        chunk, tree, form, tree_node = self._place(steps)
        bucket = int(tree.bucket[tree_node])
        first = int(form.bucket_sequence[bucket]) + int(tree.rank[tree_node])
        if chunk != TRUNK:
            first += int(self._cut.form.sequence_offset[chunk])
        rank = form.hand_rank[form.bucket_mask[bucket], self._hand[player]]
        lane = np.where(is_possible, rank * form.bucket_stride[bucket], -1)
        multiplicity = self._multiplicity(states[-1], player)
        stride = int(form.bucket_lanes[bucket])
        return NodeLayout(player, actions, chunk, first, stride, lane, multiplicity)

    def _place(self, steps: list[int]) -> tuple[int, PublicTree, SequenceForm, int]:
        """Locate a path of the cut game, given by the number of the child at each edge.

        Returns:
            The chunk at the end of the path, or ``TRUNK``; the tree and the form of the trunk or of
            the chunk's shape; the node in that tree.
        """
        cut = self._cut
        chunk, tree, form, node = TRUNK, cut.trunk, cut.form.trunk, 0
        for step in (None, *steps):
            if step is not None:
                node = int(tree.first_child[node]) + step
            roots = cut.roots.get(chunk + 1)
            if roots is not None and roots.chunk[node] != TRUNK:
                chunk, node = int(roots.chunk[node]), int(roots.node[node])
                shape = int(cut.form.shape[chunk])
                tree, form = cut.shapes[shape], cut.built[shape]
        return chunk, tree, form, node

    def possible(self, node: int, player: int) -> np.ndarray:  # noqa: D102
        return self._possible_hands(self._state(node), player)

    def _possible_hands(self, state: int, player: int) -> np.ndarray:
        rows, masks = self._possible
        mask: np.ndarray = masks[rows[player, self.tables.weight[state]]]
        return mask[: len(self._hand[player])]

    # ---------------------------------------------------------------------------------- labels

    def find(self, label: str) -> FoundInfoset | None:  # noqa: D102
        spellings = (label, label[:-1] if label.endswith(" ") else f"{label} ")
        if self._own_label is not None:
            match = (match for spelling in spellings if (match := self._find_by_label(spelling)))
            return next(match, None)
        for spelling in spellings:
            for player, hand, rest in self.public.readings(spelling):
                path = self._find_path(rest)
                if path is None or self.tables.player[path[0][-1]] != player:
                    continue
                node = self._number(path)
                self._recent = node, path
                layout = self.layout(node)
                if layout.lane[hand] >= 0:
                    return FoundInfoset(spelling, node, layout, hand)
        return None

    def labels(self, node: int, hands: Iterable[int]) -> list[str]:  # noqa: D102
        state, public = self._state(node), self.label(node)
        if self._own_label is None:
            names = self.public.hands[self.tables.player[state]]
            return [f"{names[hand]}{public}" for hand in hands]
        return [self._own_label(state, hand, public) for hand in hands]

    def decisions(self, player: int) -> Iterator[int]:  # noqa: D102
        return (node for node, state in self._depth_first() if self.tables.player[state] == player)

    def _depth_first(self) -> Iterator[tuple[int, int]]:
        """Yield all nodes in depth-first order, each with its state."""
        fan, begin, child = self._graph.fan, self.tables.first_child, self._graph.child
        states, child_numbers = [self._graph.root], list[int]()
        for node in count():
            self._recent = node, (states, child_numbers)
            yield node, states[-1]
            self._forget()  # The lists of the cached path are modified below.
            step = 0
            while step == fan[states[-1]]:
                if not child_numbers:
                    return
                states.pop()
                step = child_numbers.pop() + 1
            child_numbers.append(step)
            states.append(int(child[begin[states[-1]] + step]))

    @cached_property
    def _index(self) -> np.ndarray:
        """int64 (infosets, 3): hash of the label, node and hand of every infoset, sorted by hash.

        Raises:
            GameError: A label is not a string, or two infosets have one label.
        """
        players, numbers = self.tables.player, array("q")
        for node, state in self._depth_first():
            if players[state] < 0:
                continue
            hands = np.flatnonzero(self._possible_hands(state, int(players[state]))).tolist()
            for hand, label in zip(hands, self.labels(node, hands), strict=True):
                if not isinstance(label, str):
                    raise GameError(not_text(label, self._holder(node, hand)))
                numbers.extend((hash(label), node, hand))
        table = np.frombuffer(numbers, dtype=np.int64).reshape(-1, 3)
        table = table[np.argsort(table[:, 0], kind="stable")]
        # Equal hashes do not prove equal labels, so compare the labels themselves.
        for row in np.flatnonzero(np.diff(table[:, 0]) == 0).tolist():
            (_, node, hand), (_, other_node, other_hand) = table[row : row + 2].tolist()
            label = self.labels(node, [hand])[0]
            if self.labels(other_node, [other_hand]) == [label]:
                raise GameError(
                    used_twice(
                        label, self._holder(node, hand), self._holder(other_node, other_hand)
                    )
                )
        return table

    def _holder(self, node: int, hand: int) -> str:
        player, steps = self.player(node), [step.label for step in self.path(node)]
        return holder(player, self.public.hands[player][hand], steps)

    def _find_by_label(self, label: str) -> FoundInfoset | None:
        """Find the infoset with a label that the game makes itself."""
        hashes = self._index[:, 0]
        # Several infosets may share a hash; compare the labels of all of them.
        begin = int(np.searchsorted(hashes, hash(label)))
        end = int(np.searchsorted(hashes, hash(label), side="right"))
        for _, node, hand in self._index[begin:end].tolist():
            if self.labels(node, [hand]) == [label]:
                return FoundInfoset(label, node, self.layout(node), hand)
        return None

    def _node_of(self, state: int) -> int:
        return self._number(path_to(self.public.tree, state))

    def _find_path(self, label: str) -> NodePath | None:
        """Return the path to the node with a public label, or None if there is none."""
        if (named := self.named_states.get(label)) is not None:
            return path_to(self.public.tree, named)
        return follow(label, self._graph.root, self._children)


def path_to(tree: PublicTree, node: int) -> NodePath:
    """Return the nodes from the root to a node, and the number of the child at each edge."""
    nodes = [node]
    while nodes[-1]:
        nodes.append(int(tree.parent[nodes[-1]]))
    nodes.reverse()
    return nodes, [low - int(tree.first_child[up]) for up, low in pairwise(nodes)]
