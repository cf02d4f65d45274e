"""Labels of the infosets of a game of private hands, made on demand.

Such a game has one label per hand and public node; a large game has too many labels to store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeVar, overload

import numpy as np

from .arrays import NO_OUTCOME, PublicTree, SequenceForm

Item = TypeVar("Item")


class PublicGame(NamedTuple):
    """Game as private hands x public tree: arrays and labels."""

    tree: PublicTree
    """Public tree of the game."""
    hands: tuple[tuple[str, ...], ...]
    """Labels of each player's hands."""
    edges: tuple[str, ...]
    """Labels of the public actions and outcomes."""
    node_labels: tuple[str | None, ...] | None
    """Public part of the infoset labels, by node.  If it is None, the public part of a label is the
    labels of the edges to the node, each after a space."""

    def named(self) -> dict[str, int]:
        """Return the nodes that have a label in ``node_labels``, by label."""
        labels = self.node_labels or ()
        return {label: node for node, label in enumerate(labels) if label is not None}

    def readings(self, label: str) -> Iterator[tuple[int, int, str]]:
        """Yield the readings of an infoset label: player, hand, and public label."""
        for player, hands in enumerate(self.hands):
            for index, hand in enumerate(hands):
                if label.startswith(hand):
                    yield player, index, label[len(hand) :]

    def node_label(self, node: int) -> str:
        """Return the public part of the labels of a decision node."""
        label = self.node_labels[node] if self.node_labels is not None else None
        if label is not None:
            return label
        return "".join(f" {self.edges[edge]}" for edge in self.path(node))

    def path(self, node: int) -> list[int]:
        """Return the edges from the root to a node."""
        edges: list[int] = []
        while node:
            edges.append(int(self.tree.edge[node]))
            node = int(self.tree.parent[node])
        return edges[::-1]

    def outcome_codes(self, outcome_labels: Sequence[str]) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the numbers of the chance outcomes that deal hands or are public.

        Args:
            outcome_labels: The labels of all chance outcomes.

        Returns:
            For each player int64 (hands,): number of the outcome that deals each hand; int64
            (edges,): number of the outcome with each public label, ``NO_OUTCOME`` for an action.
        """
        number = {label: index for index, label in enumerate(outcome_labels)}
        dealt = [np.array([number[hand] for hand in hands]) for hands in self.hands]
        return dealt, np.array([number.get(edge, NO_OUTCOME) for edge in self.edges])

    def ambiguity(self) -> str | None:
        """Find a reason for which two infosets might have the same label.

        A label is the hand and the public label, joined.

        Returns:
            None if every label can be split into hand and public label in one way only.  This is
            decided without making the labels.  Otherwise the step, public label or hand at fault.
        """
        labels = self.node_labels
        public_labels = [label for label in labels or () if label is not None]
        acts = np.flatnonzero(self.tree.player >= 0).tolist()
        if labels is None or any(labels[node] is None for node in acts):
            # Labels of steps begin with a space, and no other label does.
            for edge in self.edges:
                if " " in edge:
                    return f"the public step {edge!r} contains a space"
            for label in public_labels:
                if not label or label[0] == " ":
                    return (
                        f"the public label {label!r} looks like labels of steps, which begin "
                        "with a space"
                    )
        hands = dict.fromkeys(chain(*self.hands))
        # If a hand began with another hand, the rest could be part of the public label.  Labels of
        # steps begin with a space, so without other public labels only a space is ambiguous.
        for hand in hands:
            for end, following in enumerate(hand):
                if hand[:end] in hands and (public_labels or following == " "):
                    return f"the hand {hand!r} begins with the hand {hand[:end]!r}"
        return None

    def actions(self, node: int) -> tuple[str, ...]:
        """Return the labels of a node's actions."""
        return self.steps(node)[0]

    def steps(self, node: int) -> tuple[tuple[str, ...], range]:
        """Return the labels of the edges from a node, and the nodes that they lead to."""
        below = range(int(self.tree.first_child[node]), int(self.tree.first_child[node + 1]))
        edges = self.tree.edge[below.start : below.stop].tolist()
        return tuple(self.edges[edge] for edge in edges), below


class InfosetPlaces:
    """Map between infosets and pairs of a public node and a hand.

    Args:
        game: The game as hands x public tree.
        form: Its sequence form.
    """

    def __init__(self, game: PublicGame, form: SequenceForm) -> None:
        self.game = game
        self.form = form

    @cached_property
    def nodes(self) -> np.ndarray:
        """int64 (public decision nodes,): decision nodes by bucket, then by rank."""
        return self.game.tree.by_place

    @cached_property
    def first(self) -> np.ndarray:
        """int64 (buckets,): index in :attr:`nodes` of the first node of each bucket."""
        nodes = self.form.bucket_stride
        return np.cumsum(nodes) - nodes

    @cached_property
    def named(self) -> dict[str, int]:
        """Public nodes that have a label in ``node_labels``, by label."""
        return self.game.named()

    def infosets(self, node: np.ndarray, hand: np.ndarray) -> np.ndarray:
        """Return the infosets of hands at public decision nodes, int64 (n,)."""
        form, tree = self.form, self.game.tree
        bucket = tree.bucket[node].astype(np.int64)
        # Lanes are laid out [hand, node], with only the hands that are possible in the bucket.
        nth = form.hand_rank[form.bucket_mask[bucket], hand]
        return form.bucket_infoset[bucket] + nth * form.bucket_stride[bucket] + tree.rank[node]

    def place(self, infoset: int) -> tuple[int, int]:
        """Return public node and hand of an infoset."""
        form = self.form
        bucket = int(np.searchsorted(form.bucket_infoset, infoset, side="right")) - 1
        nth, rank = divmod(
            infoset - int(form.bucket_infoset[bucket]), int(form.bucket_stride[bucket])
        )
        return int(self.nodes[self.first[bucket] + rank]), int(form.possible_hands(bucket)[nth])

    def find(self, label: str) -> int | None:
        """Return the infoset with a label, or None."""
        tree, form = self.game.tree, self.form
        for player, hand, rest in self.game.readings(label):
            if (node := self.named.get(rest)) is None:
                path = follow(rest, 0, self.game.steps)
                if path is None:
                    continue
                node = path[0][-1]
            bucket = int(tree.bucket[node])
            if tree.player[node] == player and bucket >= 0 and hand in form.possible_hands(bucket):
                return int(self.infosets(np.array([node]), np.array([hand]))[0])
        return None


def follow(
    label: str | Sequence[str],
    root: int,
    children: Callable[[int], tuple[Sequence[str], Sequence[int]]],
) -> tuple[list[int], list[int]] | None:
    """Follow steps, or a public label with a space before each step, from a node.

    Args:
        label: The steps, or the label.
        root: The node to begin at.
        children: Function from a node to the labels of its steps and the nodes that they lead to.
            A step may contain spaces.

    Returns:
        The nodes from the root on, and the index of the child at each step; None if no step fits.
    """
    nodes: list[int] = [root]
    taken: list[int] = []
    rest = label
    while rest:
        steps, child_nodes = children(nodes[-1])
        if isinstance(rest, str):
            # Compare up to the next space, so that a step does not fit the beginning of a longer
            # one.
            matches = [f"{rest} ".startswith(f" {step} ") for step in steps]
        else:
            matches = [rest[0] == step for step in steps]
        if not any(matches):
            return None
        child = matches.index(True)
        taken.append(child)
        nodes.append(int(child_nodes[child]))
        # Remove the step and the space before it.
        rest = rest[1 + len(steps[child]) if isinstance(rest, str) else 1 :]
    return nodes, taken


class _OnDemand(Sequence[Item], ABC):
    """Sequence of one item per infoset, made on demand.

    Args:
        places: The infosets.
    """

    def __init__(self, places: InfosetPlaces) -> None:
        self.places = places

    @abstractmethod
    def _make(self, node: int, hand: int) -> Item:
        """Make the item of an infoset, from its public node and its hand."""

    def __len__(self) -> int:
        return self.places.form.n_infosets

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self._make(*self.places.place(range(len(self))[index]))


class InfosetLabels(_OnDemand[str]):
    """Labels of all infosets: the hand, then the public label."""

    def _make(self, node: int, hand: int) -> str:
        game = self.places.game
        return f"{game.hands[game.tree.player[node]][hand]}{game.node_label(node)}"

    def of_bucket(
        self, bucket: int, together: int
    ) -> Iterator[tuple[int, list[str], list[tuple[str, ...]]]]:
        """Yield first lane, labels and actions of about ``together`` lanes of a bucket at a time.

        Lanes are hands x public nodes, so each public label is made once.
        """
        places, form, public = self.places, self.places.form, self.places.game
        stride, first = int(form.bucket_stride[bucket]), int(places.first[bucket])
        nodes = places.nodes[first : first + stride]
        suffixes = _node_labels(public, nodes)
        actions = [public.actions(node) for node in nodes.tolist()]
        names = public.hands[int(public.tree.player[nodes[0]])]
        possible_hands = form.possible_hands(bucket).tolist()
        # Take whole hands, so that the labels of the nodes are used again for each.
        step = max(1, together // stride)
        for nth in range(0, len(possible_hands), step):
            hands = [names[hand] for hand in possible_hands[nth : nth + step]]
            labels = [hand + suffix for hand in hands for suffix in suffixes]
            yield nth * stride, labels, actions * len(hands)


def _node_labels(public: PublicGame, nodes: np.ndarray) -> list[str]:
    """Return :meth:`PublicGame.node_label` of many nodes, which share most of their edges."""
    if public.node_labels is not None:
        return [public.node_label(node) for node in nodes.tolist()]
    tree = public.tree
    levels: list[tuple[np.ndarray, np.ndarray]] = []
    above = nodes
    # Collect the ancestors level by level, each once, so that shared prefixes are joined once.
    while len(above) > 1 or above[0]:
        parents, parent_index = np.unique(
            np.where(above > 0, tree.parent[above], 0), return_inverse=True
        )
        levels.append((above, parent_index))
        above = parents
    labels = [""]
    for below, parent_index in reversed(levels):
        steps = zip(below.tolist(), tree.edge[below].tolist(), parent_index.tolist(), strict=True)
        labels = [
            f"{labels[parent]} {public.edges[edge]}" if node else "" for node, edge, parent in steps
        ]
    return labels


class InfosetActions(_OnDemand[tuple[str, ...]]):
    """Action labels of all infosets."""

    def _make(self, node: int, hand: int) -> tuple[str, ...]:
        return self.places.game.actions(node)


class InfosetIndex(Mapping[str, int]):
    """Mapping from labels to infosets, with or without a space at the end of the label.

    Labels of Leduc ended in a space after the board card, and labels in older files still do.

    Args:
        labels: The label of every infoset.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = labels
        self._find: Callable[[str], int | None]
        if isinstance(labels, InfosetLabels):
            self._find = labels.places.find
        else:
            self._find = {label: infoset for infoset, label in enumerate(labels)}.get

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    def __getitem__(self, label: str) -> int:
        infoset = self._find(label)
        if infoset is None and isinstance(label, str):
            infoset = self._find(label[:-1] if label.endswith(" ") else f"{label} ")
        if infoset is None:
            raise KeyError(label)
        return infoset
