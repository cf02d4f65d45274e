"""The history tree of a game of private hands: the public tree, once for every deal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .arrays import CHANCE, NO_OUTCOME, TERMINAL, HistoryTree, PublicTree, levels, tree_links

BYTES_PER_HISTORY = 130
"""Peak memory of an expansion per history, in bytes."""


def count_histories(tree: PublicTree) -> int:
    """Count the histories of the expanded game: one per chance node that deals a hand, and one per
    public node and deal that reaches it."""
    return tree.n_dealing + int(tree.n_deals.sum())


def expand(
    tree: PublicTree,
    infoset_of: Callable[[np.ndarray, np.ndarray], np.ndarray],
    hand_outcomes: list[np.ndarray],
    edge_outcomes: np.ndarray,
) -> HistoryTree:
    """Expand a public tree into its histories, one public level at a time.

    Hands are dealt one player after the other, then the public tree follows.

    Args:
        tree: The public tree.
        infoset_of: Function from public nodes and hands of the acting players, int64 (n,) each, to
            their infosets, int64 (n,).
        hand_outcomes: For each player int64 (hands,): number of the chance outcome that deals the
            hand.
        edge_outcomes: int64 (edges,): number of the chance outcome with each public label.
    """
    histories = _HistoryLevels(tree, infoset_of, hand_outcomes, edge_outcomes)
    for player in range(tree.n_players):
        histories.deal(player)
    for level in levels(tree.first_child):
        histories.follow(level)
    return histories.assemble()


@dataclass
class _HistoryLevels:
    """Levels of the history tree, from the top down; arguments as in :func:`expand`."""

    tree: PublicTree
    infoset_of: Callable[[np.ndarray, np.ndarray], np.ndarray]
    hand_outcomes: list[np.ndarray]
    edge_outcomes: np.ndarray

    def __post_init__(self) -> None:
        self.deals = np.argwhere(self.tree.prior > 0)
        """int64 (deals, players): hands of each deal."""
        self.possible = self.tree.alive[(slice(None), *self.deals.T)]
        """Deals that chance can bring to nodes of each weight, bool (weights, deals)."""
        self.player: list[np.ndarray] = []
        self.infoset: list[np.ndarray] = []
        self.children: list[np.ndarray] = []
        self.probability: list[np.ndarray] = [np.ones(1)]
        self.outcome: list[np.ndarray] = [np.full(1, NO_OUTCOME, dtype=np.int32)]
        self.utility: list[np.ndarray] = []

    def deal(self, player: int) -> None:
        """Add a level of chance nodes, which deal a player's hand given the hands dealt before."""
        prefix = self.deals[:, : player + 1]
        # Deals are sorted, so equal prefixes are adjacent; a history begins where the prefix
        # changes.
        first = np.flatnonzero(_changes(prefix))
        mass = np.add.reduceat(self.tree.prior[tuple(self.deals.T)], first)
        parent_new = _changes(prefix[first, :player])
        parent = np.cumsum(parent_new) - 1
        children = np.bincount(parent)
        self.player.append(np.full(len(children), CHANCE, dtype=np.int8))
        self.infoset.append(np.full(len(children), CHANCE, dtype=np.int64))
        self.children.append(children)
        parent_mass = np.add.reduceat(mass, np.flatnonzero(parent_new))
        self.probability.append(mass / parent_mass[parent])
        outcome = self.hand_outcomes[player][prefix[first, player]]
        self.outcome.append(outcome.astype(np.int32))

    def follow(self, level: slice) -> None:
        """Add the histories of one public level, and the chance outcomes that lead into them."""
        # The order is by deal, then by public node: the children of the level above have this
        # order.
        tree, node = self.tree, np.arange(level.start, level.stop)
        deal, position = np.nonzero(self.possible[tree.weight[node]].T)
        node, hands = node[position], self.deals[deal]
        player = tree.player[node]
        infoset = player.astype(np.int64)
        acts, is_terminal = player >= 0, player == TERMINAL
        infoset[acts] = self.infoset_of(node[acts], hands[acts, player[acts]])
        children = (tree.first_child[node + 1] - tree.first_child[node]).astype(np.int64)
        for index in np.unique(node[player == CHANCE]).tolist():
            is_node = node == index
            after = slice(tree.first_child[index], tree.first_child[index + 1])
            # The children of a chance node are the outcomes that are possible with the deal.
            children[is_node] = self.possible[tree.weight[after]].sum(axis=0)[deal[is_node]]
        payoff = tree.payoff[node[is_terminal]]
        utility = tree.coefficient[payoff, None] * tree.matrix_table[
            (tree.matrix[payoff], slice(None), *hands[is_terminal].T)
        ].reshape(len(payoff), tree.n_players)
        self.player.append(player)
        self.infoset.append(infoset)
        self.children.append(children)
        self.utility.append(utility)
        if level.start == 0:
            return
        probability = np.ones(len(node))
        outcome = np.full(len(node), NO_OUTCOME, dtype=np.int32)
        drawn = tree.chance[node] >= 0
        table = tree.chance[node[drawn]]
        probability[drawn] = tree.chance_table[(table, *hands[drawn].T)]
        outcome[drawn] = self.edge_outcomes[tree.edge[node[drawn]]]
        self.probability.append(probability)
        self.outcome.append(outcome)

    def assemble(self) -> HistoryTree:
        """Return the tree of all levels."""
        player = np.concatenate(self.player)
        parent, first_child = tree_links(np.concatenate(self.children))
        return HistoryTree(
            parent=parent,
            first_child=first_child,
            player=player,
            infoset=np.concatenate(self.infoset),
            probability=np.concatenate(self.probability),
            outcome=np.concatenate(self.outcome),
            terminal=np.flatnonzero(player == TERMINAL),
            utility=np.concatenate(self.utility),
        )


def _changes(rows: np.ndarray) -> np.ndarray:
    """Return whether each row differs from the one before, bool (rows,); True for the first one."""
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return new
