"""Recognition of private hands x public tree in a game that is compiled from histories.

A game has that form if chance deals first, each player observes a part of the deal (the player's
hand) and everything after the deal, and nothing else.  The infosets alone decide.  Deals that a
player cannot distinguish are one hand, and histories that differ only in the deal are one public
node.  Every infoset must be one hand at one public node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._util.limits import HAND_PAIRS_PER_DEAL, SHARE_DECIMALS
from .._util.memory_budget import reserve
from ..model.arrays import (
    CHANCE,
    NO_PARENT,
    TERMINAL,
    HistoryTree,
    PublicTree,
    levels,
    levels_below_root,
    smallest_int,
)
from ..model.labels import PublicGame
from .history_reader import HistoryGame
from .shared_tables import ChanceProducts, fingerprint


@dataclass
class Recognised:
    """Game as hands x public tree, with the position of each infoset in it."""

    game: PublicGame
    """Public tree, without buckets and ranks yet, and its labels."""
    node: np.ndarray
    """int64 (infosets,): public node of each infoset of the history tree."""
    hand: np.ndarray
    """int64 (infosets,): hand of the infoset's player."""


@dataclass
class _Deals:
    """Chance outcomes before the first decision."""

    of_node: np.ndarray
    """int64 (nodes,): deal on the path to each history; -1 before the deal is complete."""
    probability: np.ndarray
    """float64 (deals,): probability of each deal."""
    first: slice
    """Histories directly after the deals, as a range of nodes."""


def recognise(history_game: HistoryGame) -> Recognised | None:
    """Convert a history tree to private hands x public tree, or return None if it lacks that
    form."""
    if history_game.n_players != 2:
        return None
    deals = _deals(history_game.tree)
    if deals is None:
        return None
    hand = [_hands(history_game.tree, deals, player) for player in range(2)]
    hands = tuple(int(player_hands.max()) + 1 for player_hands in hand)
    pair = hand[0] * hands[1] + hand[1]
    # Two deals with the same pair of hands would share one cell of the tables over hands.
    if len(np.unique(pair)) < len(pair) or hands[0] * hands[1] > HAND_PAIRS_PER_DEAL * len(pair):
        return None
    public = _public_nodes(history_game, deals)
    if public is None:
        return None
    place = _infoset_places(
        history_game.tree, deals, hand, public, len(history_game.infosets.labels)
    )
    if place is None:
        return None
    prior = np.zeros(hands)
    prior[hand[0], hand[1]] = deals.probability
    tree, edges = _public_tree(history_game, deals, hand, public, prior)
    names = tuple(tuple(map(str, range(count))) for count in hands)
    return Recognised(PublicGame(tree, names, edges, None), *place)


def _deals(tree: HistoryTree) -> _Deals | None:
    """Return the deals, or None unless chance acts first and all deals end at one depth."""
    from_root = levels(tree.first_child)
    first = next(from_root)
    reach = np.ones(1)
    while (tree.player[first] == CHANCE).all():
        below = next(from_root, None)
        if below is None:
            return None
        reach = reach[tree.parent[below] - first.start] * tree.probability[below]
        first = below
    if first.start == 0 or (reach <= 0).any():
        return None
    of_node = np.full(tree.n_nodes, -1, dtype=np.int64)
    of_node[first] = np.arange(first.stop - first.start)
    for level in from_root:
        of_node[level] = of_node[tree.parent[level]]
    return _Deals(of_node, reach, first)


def _hands(tree: HistoryTree, deals: _Deals, player: int) -> np.ndarray:
    """Return the player's hand in each deal, int64 (deals,).

    Two deals with a common infoset of the player have the same hand.
    """
    acts = np.flatnonzero(tree.player == player)
    infoset, deal = tree.infoset[acts], deals.of_node[acts]
    label = np.arange(len(deals.probability))
    if not len(acts):
        return np.zeros_like(label)
    while True:
        # Hands are the connected components of deals that share an infoset.  Each pass takes the
        # smallest label of every infoset and follows labels one link further, until nothing
        # changes.
        least = np.full(int(infoset.max()) + 1, len(label))
        np.minimum.at(least, infoset, label[deal])
        new = label.copy()
        np.minimum.at(new, deal, least[infoset])
        new = new[new]
        if (new == label).all():
            return np.unique(label, return_inverse=True)[1]
        label = new


@dataclass
class _PublicNodes:
    """Public nodes in breadth-first order."""

    of_node: np.ndarray
    """int64 (nodes,): public node of each history after the deal; -1 before."""
    example: np.ndarray
    """int64 (public nodes,): one history of each public node."""
    parent: np.ndarray
    """int64 (public nodes,): parent of each public node."""


def _public_nodes(history_game: HistoryGame, deals: _Deals) -> _PublicNodes | None:
    """Combine histories that differ only in the deal into public nodes.

    Returns:
        The public nodes; None if histories of one public node differ in the acting player or the
        actions.
    """
    tree = history_game.tree
    numbers: dict[tuple[str, ...], int] = {}
    actions_of = np.array(
        [
            numbers.setdefault(tuple(map(str, labels)), len(numbers))
            for labels in history_game.infosets.actions
        ]
        or [0]
    )
    actions = np.where(tree.infoset >= 0, actions_of[np.maximum(tree.infoset, 0)], -1)
    of_node = np.full(tree.n_nodes, -1, dtype=np.int64)
    of_node[deals.first] = 0
    example, parent = [np.array([deals.first.start])], [np.array([NO_PARENT])]
    count = 1
    for level in levels(tree.first_child, deals.first):
        if level.start > deals.first.start:
            node = np.arange(level.start, level.stop)
            parent_nodes = tree.parent[level]
            action = node - tree.first_child[parent_nodes]
            edge = np.where(tree.player[parent_nodes] == CHANCE, tree.outcome[level], action)
            edges = int(edge.max(initial=0)) + 1
            distinct, first, inverse = np.unique(
                of_node[parent_nodes] * edges + edge, return_index=True, return_inverse=True
            )
            of_node[level] = count + inverse
            example.append(node[first])
            parent.append(distinct // edges)
            count += len(distinct)
        model = np.concatenate(example)[of_node[level]]
        if (tree.player[level] != tree.player[model]).any():
            return None
        if (actions[level] != actions[model]).any():
            return None
    return _PublicNodes(of_node, np.concatenate(example), np.concatenate(parent))


def _infoset_places(
    tree: HistoryTree, deals: _Deals, hand: list[np.ndarray], public: _PublicNodes, infosets: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the public node and the hand of every infoset, int64 (infosets,) each.

    The result is None if an infoset has several nodes or several hands, or if two infosets have
    both in common.
    """
    acts = np.flatnonzero(tree.player >= 0)
    deal = deals.of_node[acts]
    own_hand = np.where(tree.player[acts] == 0, hand[0][deal], hand[1][deal])
    node, infoset = public.of_node[acts], tree.infoset[acts]
    places = [np.full(infosets, -1, dtype=np.int64) for _ in range(2)]
    for place, values in zip(places, (node, own_hand), strict=True):
        place[infoset] = values
        if (place[infoset] != values).any():
            return None
    key = places[0] * (1 + int(own_hand.max(initial=0))) + places[1]
    if len(np.unique(key)) < infosets:
        return None
    return places[0], places[1]


def _public_tree(
    history_game: HistoryGame,
    deals: _Deals,
    hand: list[np.ndarray],
    public: _PublicNodes,
    prior: np.ndarray,
) -> tuple[PublicTree, tuple[str, ...]]:
    """Build the arrays of the public tree.  Return them with the labels of its edges."""
    tree = history_game.tree
    nodes = len(public.parent)
    player = tree.player[public.example]
    children = np.bincount(public.parent[1:], minlength=nodes)
    first_child = np.append(1, 1 + np.cumsum(children))
    by_chance = np.zeros(nodes, dtype=bool)
    by_chance[1:] = player[public.parent[1:]] == CHANCE
    edge, labels = _edges(history_game, public, by_chance)
    after = np.arange(deals.first.start, tree.n_nodes)
    deal = deals.of_node[after]
    cells = _Cells(public.of_node[after], hand[0][deal], hand[1][deal], prior.shape, nodes)
    chance, chance_table = _tables(
        np.flatnonzero(by_chance), cells, tree.probability[after, None], None
    )
    utility = np.zeros((tree.n_nodes, 2))
    utility[tree.terminal] = tree.utility
    payoff, payoffs, matrix_table = _payoffs(
        np.flatnonzero(player == TERMINAL), cells, utility[after]
    )
    products = ChanceProducts(prior.shape, chance_table[:, 0])
    weight = np.zeros(nodes, dtype=np.int64)
    for level in levels_below_root(first_child):
        weight[level] = products.after(weight[public.parent[level]], chance[level])
    public_tree = PublicTree(
        prior=prior,
        parent=smallest_int(public.parent),
        first_child=smallest_int(first_child),
        player=player,
        edge=smallest_int(edge),
        chance=smallest_int(chance),
        chance_table=np.ascontiguousarray(chance_table[:, 0]),
        weight=smallest_int(weight),
        weight_table=np.array(products.table),
        payoff=smallest_int(payoff),
        coefficient=np.ascontiguousarray(payoffs[1]),
        matrix=payoffs[0].astype(np.int64),
        matrix_table=matrix_table,
        bucket=np.empty(0, dtype=np.int8),
        rank=np.empty(0, dtype=np.int8),
    )
    return public_tree, labels


def _edges(
    history_game: HistoryGame, public: _PublicNodes, by_chance: np.ndarray
) -> tuple[list[int], tuple[str, ...]]:
    """Return the edge into every public node, -1 for the root, and the labels of the edges."""
    tree = history_game.tree
    labels: dict[str, int] = {}
    edge = [-1]
    for node, history in enumerate(public.example[1:].tolist(), start=1):
        parent = int(tree.parent[history])
        if by_chance[node]:
            label = history_game.outcome_labels[tree.outcome[history]]
        else:
            actions = history_game.infosets.actions[tree.infoset[parent]]
            label = str(actions[history - int(tree.first_child[parent])])
        edge.append(labels.setdefault(label, len(labels)))
    return edge, tuple(labels)


@dataclass
class _Cells:
    """Table cell of each history after the deal: one table per public node, one cell per deal."""

    node: np.ndarray
    """int64 (histories,): public node of each history."""
    first: np.ndarray
    """int64 (histories,): hand of player 0."""
    second: np.ndarray
    """int64 (histories,): hand of player 1."""
    hands: tuple[int, ...]
    """Number of hands of each player, which is the shape of a table."""
    nodes: int
    """Number of public nodes."""


def _payoffs(
    terminals: np.ndarray, cells: _Cells, utility: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Factor the utilities of histories into coefficients and matrices.

    Args:
        terminals: int64 (terminals,): the public terminals.
        cells: The table cell of each history.
        utility: float64 (histories, 2): utilities of the histories; 0 except at terminals.

    Returns:
        int64 (nodes,): index of the payoff, or -1; float64 (2, payoffs): matrix and coefficient;
        float64 (matrices, 2, hands, hands): the matrices.
    """
    scale = np.zeros(cells.nodes)
    np.maximum.at(scale, cells.node, np.abs(utility).max(axis=1))
    scale[scale == 0] = 1.0
    matrix, tables = _tables(terminals, cells, utility / scale[cells.node, None], SHARE_DECIMALS)
    payoffs, payoff_of = np.unique(
        np.stack([matrix[terminals], scale[terminals]]), axis=1, return_inverse=True
    )
    payoff = np.full(cells.nodes, -1, dtype=np.int64)
    payoff[terminals] = payoff_of
    return payoff, payoffs, tables


def _tables(
    wanted: np.ndarray, cells: _Cells, value: np.ndarray, decimals: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct tables over the deals of some public nodes.

    Args:
        wanted: int64 (tables,): the public nodes.
        cells: The table cell of each history.
        value: float64 (histories, columns): the entries.
        decimals: Decimals to which equal tables agree; None compares all bits.

    Returns:
        int64 (nodes,): index of each node's table, or -1; float64 (distinct, columns, hands,
        hands): the tables.
    """
    position = np.full(cells.nodes, -1, dtype=np.int64)
    position[wanted] = np.arange(len(wanted))
    used = np.flatnonzero(position[cells.node] >= 0)
    reserve(2 * 8 * len(wanted) * value.shape[1] * cells.hands[0] * cells.hands[1])
    tables = np.zeros((len(wanted), value.shape[1], *cells.hands))
    tables[position[cells.node[used]], :, cells.first[used], cells.second[used]] = value[used]
    known: dict[bytes, int] = {}
    distinct: list[int] = []
    number = np.full(cells.nodes, -1, dtype=np.int64)
    for index, table in enumerate(tables):
        rounded = table if decimals is None else np.round(table, decimals)
        row = known.setdefault(fingerprint(rounded + 0.0), len(distinct))
        if row == len(distinct):
            distinct.append(index)
        number[wanted[index]] = row
    return number, tables[distinct]
