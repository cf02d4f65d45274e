"""The probability with which chance and the others lead to infosets, in games that are laid out."""

from __future__ import annotations

import numpy as np

from ..model.flat_game import FlatGame
from ..model.levels import levels_below_root

TOGETHER = 50_000
"""Public nodes, at most, whose joint probabilities of hands are worked out together."""


def bytes_needed(game: FlatGame) -> int:
    """Bytes that :class:`OthersReach` takes."""
    if game.by_histories:
        return 8 * len(game.tree.player) * (2 + game.n_players)
    return 8 * game.public_tree.n_nodes * sum(game.public_tree.prior.shape) + 24 * game.n_infosets


class OthersReach:
    """What chance and the others bring to infosets.

    Where every infoset lies is found once; then it is worked out from own reaches alone.

    Args:
        game: The game.
    """

    def __init__(self, game: FlatGame) -> None:
        self.game = game
        empty = game.form.player_sequences[:-1]
        sequences = empty, game.infoset_sequence, game.infoset_stride
        self._last: list[np.ndarray]
        if game.by_histories:
            last, self._chance = game.tree.traced(*sequences)
            self._last = list(last)
            players = range(game.n_players)
            self._nodes = [np.flatnonzero(game.tree.player == player) for player in players]
        else:
            self._last = _last_of_hands(game)
            self._places = [_places_of_hands(game, player) for player in range(2)]

    def of(self, player: int, reach: np.ndarray) -> np.ndarray:
        """The probability with which chance and the others lead to each infoset of a player,
        float64 (infosets of the player,), from own reaches, float64 (sequences,); the player's own
        are not looked at."""
        begin, end = self.game.form.player_infosets[player : player + 2].tolist()
        if self.game.by_histories:
            at = self._nodes[player]
            met = self._chance[at]
            for other, last in enumerate(self._last):
                if other != player:
                    met *= reach[last[at]]
            return np.bincount(self.game.tree.infoset[at] - begin, met, end - begin)
        found, others = np.zeros(end - begin), self._last[1 - player]
        for row, nodes, at, hand, infoset in self._places[player]:
            joint = np.moveaxis(self.game.public_tree.dealt(row), player, 0)
            found[infoset - begin] = (joint @ reach[others[:, nodes]])[hand, at]
        return found

    def everywhere(self, reach: np.ndarray) -> np.ndarray:
        """The same of all players, float64 (infosets,)."""
        return np.concatenate([self.of(player, reach) for player in range(self.game.n_players)])


def _last_of_hands(game: FlatGame) -> list[np.ndarray]:
    """For each player the last sequence of each hand before every public node, int64 (hands,
    nodes)."""
    tree, places = game.public_tree, game.places
    first_child = tree.first_child.astype(np.int64)
    found = [
        np.full((hands, tree.n_nodes), empty)
        for hands, empty in zip(tree.prior.shape, game.form.player_sequences[:-1], strict=True)
    ]
    for level in levels_below_root(first_child):
        up = tree.parent[level].astype(np.int64)
        for player, last in enumerate(found):
            last[:, level] = last[:, up]
            # Public nodes that no deal gets to have no infosets.
            moved = np.flatnonzero((tree.player[up] == player) & (tree.bucket[up] >= 0))
            node, above = level.start + moved, up[moved]
            infoset = places.infosets(above, np.arange(len(last))[:, None])
            # A hand that is impossible takes a neighbour's place; its joint probability is 0.
            infoset = np.minimum(infoset, game.n_infosets - 1)
            action = node - first_child[above]
            sequence = game.infoset_sequence[infoset] + action * game.infoset_stride[infoset]
            last[:, node] = np.minimum(sequence, game.n_sequences - 1)
    return found


def _places_of_hands(
    game: FlatGame, player: int
) -> list[tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Decisions of a player, some with the same chance at a time: row of ``weight_table``, the
    public nodes, and of each infoset the place among these, the hand and the infoset."""
    tree, form, found = game.public_tree, game.form, []
    acts = (tree.bucket >= 0) & (tree.player == player)
    for row in np.unique(tree.weight[acts]).tolist():
        nodes = np.flatnonzero(acts & (tree.weight == row))
        for some in np.array_split(nodes, len(nodes) // TOGETHER + 1):
            held = np.diff(form.hand_rank[form.bucket_mask[tree.bucket[some]]]) > 0
            at, hand = np.nonzero(held)
            found.append((row, some, at, hand, game.places.infosets(some[at], hand)))
    return found
