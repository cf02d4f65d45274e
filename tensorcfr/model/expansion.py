"""The history tree of private hands x public tree: the public tree, once for every deal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .arrays import CHANCE, NO_OUTCOME, TERMINAL, HistoryTree, PublicTree, tree_links
from .levels import levels

BYTES_PER_HISTORY = 130
"""Bytes per history that an expansion takes at its peak."""


def count_histories(tree: PublicTree) -> int:
    """Histories of the expanded game: those of the deal, and one per public node and deal that
    gets there."""
    return count_dealing(tree) + count_deals(tree, np.ones(tree.n_nodes, dtype=bool))


def count_dealing(tree: PublicTree) -> int:
    """Chance nodes at which a hand is dealt, one player after the other."""
    deals = np.argwhere(tree.prior > 0)
    return sum(len(np.unique(deals[:, :player], axis=0)) for player in range(tree.n_players))


def count_deals(tree: PublicTree, chosen: np.ndarray) -> int:
    """Deals that get to public nodes, summed over the nodes.

    Args:
        tree: The public tree.
        chosen: bool (nodes,): the nodes to count.
    """
    possible = tree.alive.reshape(len(tree.weight_table), -1).sum(axis=1)
    return int(np.bincount(tree.weight[chosen], minlength=len(possible)) @ possible)


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
        infoset_of: The infosets, int64, of players who act at public nodes (int64) with hands
            (int64).
        hand_outcomes: For each player, int64 (hands,): number of the chance outcome that deals
            the hand.
        edge_outcomes: int64 (edges,): number of the chance outcome with each public label.
    """
    deals = np.argwhere(tree.prior > 0)
    histories = _HistoryLevels()
    _add_deals(tree, deals, hand_outcomes, histories)
    possible = tree.alive[(slice(None), *deals.T)]
    for level in levels(tree.first_child):
        # Deal by deal, then in the order of the public tree: so are the children of the level
        # above.
        node = np.arange(level.start, level.stop)
        deal, at = np.nonzero(possible[tree.weight[node]].T)
        node = node[at]
        histories.add(tree, deals, possible, deal, node, infoset_of)
        if level.start > 0:
            histories.step(tree, deals, deal, node, edge_outcomes)
    return histories.assemble()


class _HistoryLevels:
    """The levels of the history tree, from the top down."""

    def __init__(self) -> None:
        self.player: list[np.ndarray] = []
        self.infoset: list[np.ndarray] = []
        self.children: list[np.ndarray] = []
        self.probability: list[np.ndarray] = [np.ones(1)]
        self.outcome: list[np.ndarray] = [np.full(1, NO_OUTCOME, dtype=np.int32)]
        self.utility: list[np.ndarray] = []

    def add_deal(self, children: np.ndarray, probability: np.ndarray, outcome: np.ndarray) -> None:
        """Add a level of chance nodes, and the steps into the next level.

        Args:
            children: int64 (chance nodes,): outcomes of each.
            probability: float64 (outcomes,): probability of each outcome.
            outcome: int32 (outcomes,): number of its label.
        """
        self.player.append(np.full(len(children), CHANCE, dtype=np.int8))
        self.infoset.append(np.full(len(children), CHANCE, dtype=np.int64))
        self.children.append(children)
        self.probability.append(probability)
        self.outcome.append(outcome)

    def add(
        self,
        tree: PublicTree,
        deals: np.ndarray,
        possible: np.ndarray,
        deal: np.ndarray,
        node: np.ndarray,
        infoset_of: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> None:
        """Add the histories of one public level.

        Args:
            tree: The public tree.
            deals: int64 (deals, players): hands of each deal.
            possible: bool (weights, deals): whether chance lets the deal get there.
            deal: int64 (histories,): the deal.
            node: int64 (histories,): the public node.
            infoset_of: As in :func:`expand`.
        """
        player = tree.player[node]
        infoset = player.astype(np.int64)
        acts = player >= 0
        hand = deals[deal[acts], player[acts]]
        infoset[acts] = infoset_of(node[acts], hand)
        children = (tree.first_child[node + 1] - tree.first_child[node]).astype(np.int64)
        for index in np.unique(node[player == CHANCE]).tolist():
            here = node == index
            after = slice(tree.first_child[index], tree.first_child[index + 1])
            children[here] = possible[tree.weight[after]].sum(axis=0)[deal[here]]
        over = player == TERMINAL
        payoff = tree.payoff[node[over]]
        utility = tree.coefficient[payoff, None] * tree.matrix_table[
            (tree.matrix[payoff], slice(None), *deals[deal[over]].T)
        ].reshape(len(payoff), tree.n_players)
        self.player.append(player)
        self.infoset.append(infoset)
        self.children.append(children)
        self.utility.append(utility)

    def step(
        self,
        tree: PublicTree,
        deals: np.ndarray,
        deal: np.ndarray,
        node: np.ndarray,
        edge_outcomes: np.ndarray,
    ) -> None:
        """Add chance probability and outcome of the step into each history of one public level;
        arguments as in :meth:`add`."""
        probability = np.ones(len(deal))
        outcome = np.full(len(deal), NO_OUTCOME, dtype=np.int32)
        drawn = tree.chance[node] >= 0
        table = tree.chance[node[drawn]]
        probability[drawn] = tree.chance_table[(table, *deals[deal[drawn]].T)]
        outcome[drawn] = edge_outcomes[tree.edge[node[drawn]]]
        self.probability.append(probability)
        self.outcome.append(outcome)

    def assemble(self) -> HistoryTree:
        """The tree of all levels."""
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


def _add_deals(
    tree: PublicTree, deals: np.ndarray, hand_outcomes: list[np.ndarray], histories: _HistoryLevels
) -> None:
    """Add one level of chance nodes per player: the player's hand, given the hands dealt before."""
    probability = tree.prior[tuple(deals.T)]
    for player in range(tree.n_players):
        prefix = deals[:, : player + 1]
        new = np.ones(len(deals), dtype=bool)
        new[1:] = (prefix[1:] != prefix[:-1]).any(axis=1)
        first = np.flatnonzero(new)
        mass = np.add.reduceat(probability, first)
        parent_new = np.ones(len(first), dtype=bool)
        before = prefix[first, :player]
        parent_new[1:] = (before[1:] != before[:-1]).any(axis=1)
        parent = np.cumsum(parent_new) - 1
        histories.add_deal(
            np.bincount(parent),
            mass / np.add.reduceat(mass, np.flatnonzero(parent_new))[parent],
            hand_outcomes[player][prefix[first, player]].astype(np.int32),
        )
