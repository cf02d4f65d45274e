"""The public nodes of a flat game: the nodes of its public tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from .arrays import CHANCE, NO_PARENT
from .flat_views import FlatViews
from .public_nodes import TRUNK, Edge, FoundInfoset, NodeLayout, TabledNodes


class FlatNodes(TabledNodes):
    """Public nodes of a flat game.

    Args:
        game: A game with a public tree.
    """

    def __init__(self, game: FlatViews) -> None:
        self.game, self.public, self.places = game, game.public_game, game.places
        self.tables, self.hands, self.unit = game.public_tree, self.public.hands, game.unit

    @property
    def joins_labels(self) -> bool:  # type: ignore[override]  # noqa: D102
        return self.game.joins_labels

    @property
    def count(self) -> int:  # noqa: D102
        return self.tables.n_nodes

    def wording(self) -> bytes:  # noqa: D102
        return repr(self.public.edges).encode()

    def _state(self, node: int) -> int:
        if not 0 <= node < self.count:
            raise ValueError(f"there is no public node {node}")
        return node

    def children(self, node: int) -> list[Edge]:  # noqa: D102
        return [Edge(below, label) for label, below in zip(*self.public.steps(node), strict=True)]

    def path(self, node: int) -> list[Edge]:  # noqa: D102
        steps = []
        while node:
            steps.append(Edge(node, self.public.edges[int(self.tables.edge[node])]))
            node = int(self.tables.parent[node])
        return steps[::-1]

    def layout(self, node: int) -> NodeLayout:  # noqa: D102
        game, player = self.game, self.player(node)
        if player < 0:
            raise ValueError(f"{game.name}: nobody acts at this public node")
        hands = len(self.hands[player])
        lane, first, stride = np.full(hands, -1), 0, 1
        if len(possible_hands := np.flatnonzero(self.possible(node, player))):
            infosets = self.places.infosets(np.full(len(possible_hands), node), possible_hands)
            stride = int(game.infoset_stride[infosets[0]])
            lane[possible_hands] = game.infoset_sequence[infosets]
        return NodeLayout(
            player, self.public.actions(node), TRUNK, first, stride, lane, np.ones(hands)
        )

    def decisions(self, player: int) -> Iterator[int]:  # noqa: D102
        nodes = self.places.nodes
        return iter(nodes[self.tables.player[nodes] == player].tolist())

    def label(self, node: int) -> str:  # noqa: D102
        return self.public.node_label(node)

    def labels(self, node: int, hands: Iterable[int]) -> list[str]:  # noqa: D102
        hand_numbers = np.array(list(hands), dtype=np.int64)
        infosets = self.places.infosets(np.full(len(hand_numbers), node), hand_numbers)
        return [self.game.infoset_labels[infoset] for infoset in infosets.tolist()]

    def possible(self, node: int, player: int) -> np.ndarray:  # noqa: D102
        form, bucket = self.game.form, int(self.tables.bucket[node])
        if bucket >= 0 and self.tables.player[node] == player:
            possible_hands: np.ndarray = np.diff(form.hand_rank[form.bucket_mask[bucket]]) > 0
            return possible_hands[: len(self.hands[player])]
        return self.tables.alive[int(self.tables.weight[node])].any(axis=1 - player)

    def find(self, label: str) -> FoundInfoset | None:  # noqa: D102
        infoset = self.game.infoset_index.get(label)
        if infoset is None:
            return None
        node, hand = self.places.place(infoset)
        return FoundInfoset(self.game.infoset_labels[infoset], node, self.layout(node), hand)

    # ---------------------------------------------------------------------- hands by their deals

    def shown(self, player: int) -> tuple[tuple[str, ...], np.ndarray]:
        """Return the names of a player's hands, and the hands in the order of display.

        A game that was compiled from histories has no names of hands.  A hand is then named by the
        chance outcomes that all its deals share, without their common prefix.  It keeps its number
        if there is no such outcome, or if the outcomes do not tell the hands apart.
        """
        if not self.game.by_histories:
            return super().shown(player)
        numbers, outcomes = self.hands[player], self.game.outcome_labels
        shared = self._shared_outcomes(player)
        names = [" ".join(outcomes[c] for c in shared.get(h, ())) for h in range(len(numbers))]
        if len(set(names)) < len(names) or not all(names):
            return super().shown(player)
        by_outcome = sorted((shared[hand], hand) for hand in range(len(names)))
        return tuple(_without_prefix(names)), np.array([hand for _, hand in by_outcome])

    def _shared_outcomes(self, player: int) -> dict[int, tuple[int, ...]]:
        """Return the chance outcomes that all deals of a hand have in the same position, by
        hand."""
        tree, public = self.game.tree, self.tables
        shared: dict[int, tuple[int, ...]] = {}
        for node in np.flatnonzero((public.player == player) & (public.bucket >= 0)).tolist():
            new_hands = [
                h for h in np.flatnonzero(self.possible(node, player)).tolist() if h not in shared
            ]
            infosets = self.places.infosets(
                np.full(len(new_hands), node), np.array(new_hands, dtype=np.int64)
            )
            for hand, infoset in zip(new_hands, infosets.tolist(), strict=True):
                deals = [self._deal_codes(int(h)) for h in np.flatnonzero(tree.infoset == infoset)]
                # Compare all deals of the hand, position by position.
                columns = zip(*deals, strict=False)
                shared[hand] = tuple(column[0] for column in columns if len(set(column)) == 1)
            if len(shared) == len(self.hands[player]):
                break
        return shared

    def _deal_codes(self, node: int) -> list[int]:
        """Return the chance outcomes on the path to a history, before any action."""
        tree, codes = self.game.tree, list[int]()
        while (parent := int(tree.parent[node])) != NO_PARENT:
            if tree.player[parent] == CHANCE:
                codes.append(int(tree.outcome[node]))
            else:
                # An action: the outcomes after it are not part of the deal.
                codes.clear()
            node = parent
        return codes[::-1]


def _without_prefix(names: list[str]) -> list[str]:
    """Remove the words that all names begin with: ``Deal:1`` becomes ``1``."""
    prefix = names[0]
    while not all(name.startswith(prefix) for name in names):
        prefix = prefix[:-1]
    while prefix and prefix[-1].isalnum():
        prefix = prefix[:-1]
    shorter = [name[len(prefix) :] for name in names]
    is_word = any(map(str.isalnum, prefix))
    return shorter if is_word and all(shorter) else names
