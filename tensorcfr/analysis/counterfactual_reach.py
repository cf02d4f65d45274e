"""Probability with which chance and the other players lead to infosets, in flat games."""

from __future__ import annotations

import numpy as np

from ..model.arrays import levels_below_root
from ..model.flat_game import FlatGame

TOGETHER = 50_000
"""Largest number of public nodes whose joint probabilities of hands are computed in one
operation."""


def bytes_needed(game: FlatGame) -> int:
    """Return the number of bytes that :class:`CounterfactualReach` takes."""
    if game.by_histories:
        return 8 * len(game.tree.player) * (2 + game.n_players)
    return 8 * game.public_tree.n_nodes * sum(game.public_tree.prior.shape) + 24 * game.n_infosets


class CounterfactualReach:
    """Probability with which chance and the other players lead to infosets.

    The positions of the infosets are found once; after that, own reaches are the only input.

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
        """Return the probability with which chance and the others lead to each infoset of a player.

        Args:
            player: The player.
            reach: float64 (sequences,): own reaches of all players; the player's entries are not
                read.

        Returns:
            float64 (infosets of the player,).
        """
        begin, end = self.game.form.player_infosets[player : player + 2].tolist()
        if self.game.by_histories:
            histories = self._nodes[player]
            weight = self._chance[histories]
            for opponent, last in enumerate(self._last):
                if opponent != player:
                    weight *= reach[last[histories]]
            return np.bincount(self.game.tree.infoset[histories] - begin, weight, end - begin)
        infoset_reach, opponent_last = np.zeros(end - begin), self._last[1 - player]
        for row, nodes, index, hand, infoset in self._places[player]:
            joint = np.moveaxis(self.game.public_tree.deal_probability(row), player, 0)
            infoset_reach[infoset - begin] = (joint @ reach[opponent_last[:, nodes]])[hand, index]
        return infoset_reach

    def everywhere(self, reach: np.ndarray) -> np.ndarray:
        """Return the others' reach of the infosets of all players, float64 (infosets,)."""
        return np.concatenate([self.of(player, reach) for player in range(self.game.n_players)])


def _last_of_hands(game: FlatGame) -> list[np.ndarray]:
    """Return for each player the last sequence of each hand at every public node.

    The arrays are int64 (hands, nodes).
    """
    tree, places = game.public_tree, game.places
    first_child = tree.first_child.astype(np.int64)
    last_sequences = [
        np.full((hands, tree.n_nodes), empty)
        for hands, empty in zip(tree.prior.shape, game.form.player_sequences[:-1], strict=True)
    ]
    # Levels run from the root down, because a node copies the last sequences of its parent.
    for level in levels_below_root(first_child):
        parents = tree.parent[level].astype(np.int64)
        for player, last in enumerate(last_sequences):
            last[:, level] = last[:, parents]
            # Public nodes that no deal leads to have no infosets.
            moved = np.flatnonzero((tree.player[parents] == player) & (tree.bucket[parents] >= 0))
            node, moved_parents = level.start + moved, parents[moved]
            infoset = places.infosets(moved_parents, np.arange(len(last))[:, None])
            # An impossible hand gets the infoset of a neighbour, because its joint probability
            # is 0; the bounds keep the index valid.
            infoset = np.minimum(infoset, game.n_infosets - 1)
            action = node - first_child[moved_parents]
            sequence = game.infoset_sequence[infoset] + action * game.infoset_stride[infoset]
            last[:, node] = np.minimum(sequence, game.n_sequences - 1)
    return last_sequences


def _places_of_hands(
    game: FlatGame, player: int
) -> list[tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """List the decisions of a player, in groups of nodes with the same row of chance weights.

    Returns:
        For each group the row of ``weight_table``; the public nodes, int64 (nodes,); and for each
        infoset, int64 (infosets of the group,), its index among these nodes, its hand and its
        number.
    """
    tree, form, groups = game.public_tree, game.form, []
    is_acting = (tree.bucket >= 0) & (tree.player == player)
    for row in np.unique(tree.weight[is_acting]).tolist():
        nodes = np.flatnonzero(is_acting & (tree.weight == row))
        for part in np.array_split(nodes, len(nodes) // TOGETHER + 1):
            possible = np.diff(form.hand_rank[form.bucket_mask[tree.bucket[part]]]) > 0
            index, hand = np.nonzero(possible)
            groups.append((row, part, index, hand, game.places.infosets(part[index], hand)))
    return groups
