"""Find private hands x public tree in a game compiled from histories.

A game has that form if chance deals first, each player sees a part of the deal (the player's
hand) and everything after it, and nobody sees anything else.  The infosets alone decide: deals
that a player cannot tell apart are one hand, histories that differ only in the deal are one
public node, and every infoset must be one hand at one public node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._util.limits import HAND_PAIRS_PER_DEAL, SHARE_DECIMALS
from .._util.memory import reserve
from ..model.arrays import CHANCE, NO_PARENT, TERMINAL, HistoryTree, PublicTree
from ..model.labels import PublicGame
from ..model.levels import levels, levels_below_root
from .histories import WalkedGame
from .tables import ChanceProducts, fingerprint, smallest_int


@dataclass
class Recognised:
    """The game as hands x public tree, and the place of each infoset in it."""

    game: PublicGame
    """Its public tree, without buckets and ranks yet, and its labels."""
    node: np.ndarray
    """int64 (infosets,): public node of each infoset, numbered as in the walk."""
    hand: np.ndarray
    """int64 (infosets,): the owner's hand."""


@dataclass
class _Deals:
    """The chance outcomes before the first decision."""

    of_node: np.ndarray
    """int64 (nodes,): the deal on the way to each history; -1 before it is complete."""
    probability: np.ndarray
    """float64 (deals,)."""
    first: slice
    """The histories directly after the deals."""


def recognise(walked: WalkedGame) -> Recognised | None:
    """The game as private hands x public tree, or None if it does not have that form."""
    if walked.n_players != 2:
        return None
    deals = _deals(walked.tree)
    if deals is None:
        return None
    hand = [_hands(walked.tree, deals, player) for player in range(2)]
    hands = tuple(int(own.max()) + 1 for own in hand)
    pair = hand[0] * hands[1] + hand[1]
    if len(np.unique(pair)) < len(pair) or hands[0] * hands[1] > HAND_PAIRS_PER_DEAL * len(pair):
        return None
    public = _public_nodes(walked, deals)
    if public is None:
        return None
    place = _infoset_places(walked.tree, deals, hand, public, len(walked.infosets.labels))
    if place is None:
        return None
    prior = np.zeros(hands)
    prior[hand[0], hand[1]] = deals.probability
    tree, edges = _public_tree(walked, deals, hand, public, prior)
    names = tuple(tuple(map(str, range(count))) for count in hands)
    return Recognised(PublicGame(tree, names, edges, None), *place)


def _deals(tree: HistoryTree) -> _Deals | None:
    """The deals, if chance acts first and all deals end at one depth; else None."""
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
    """The player's hand in each deal, int64 (deals,).

    Two deals with a common infoset of the player have the same hand.
    """
    acts = np.flatnonzero(tree.player == player)
    infoset, deal = tree.infoset[acts], deals.of_node[acts]
    label = np.arange(len(deals.probability))
    if not len(acts):
        return np.zeros_like(label)
    while True:
        least = np.full(int(infoset.max()) + 1, len(label))
        np.minimum.at(least, infoset, label[deal])
        new = label.copy()
        np.minimum.at(new, deal, least[infoset])
        new = new[new]
        if (new == label).all():
            return np.unique(label, return_inverse=True)[1]
        label = new


@dataclass
class _Public:
    """Public nodes in breadth-first order."""

    of_node: np.ndarray
    """int64 (nodes,): the public node of each history after the deal; -1 before."""
    example: np.ndarray
    """int64 (public nodes,): a history of each."""
    parent: np.ndarray
    """int64 (public nodes,)."""


def _public_nodes(walked: WalkedGame, deals: _Deals) -> _Public | None:
    """The public nodes: histories that differ only in the deal are one; None if such histories
    differ in the acting player or the actions."""
    tree = walked.tree
    numbers: dict[tuple[str, ...], int] = {}
    actions_of = np.array(
        [numbers.setdefault(tuple(map(str, own)), len(numbers)) for own in walked.infosets.actions]
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
            above = tree.parent[level]
            action = node - tree.first_child[above]
            edge = np.where(tree.player[above] == CHANCE, tree.outcome[level], action)
            edges = int(edge.max(initial=0)) + 1
            distinct, first, inverse = np.unique(
                of_node[above] * edges + edge, return_index=True, return_inverse=True
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
    return _Public(of_node, np.concatenate(example), np.concatenate(parent))


def _infoset_places(
    tree: HistoryTree, deals: _Deals, hand: list[np.ndarray], public: _Public, infosets: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Public node and hand of every infoset, int64 (infosets,) each; None if an infoset has several
    of either, or if two infosets have both in common."""
    acts = np.flatnonzero(tree.player >= 0)
    deal = deals.of_node[acts]
    held = np.where(tree.player[acts] == 0, hand[0][deal], hand[1][deal])
    node, infoset = public.of_node[acts], tree.infoset[acts]
    found = [np.full(infosets, -1, dtype=np.int64) for _ in range(2)]
    for place, given in zip(found, (node, held), strict=True):
        place[infoset] = given
        if (place[infoset] != given).any():
            return None
    key = found[0] * (1 + int(held.max(initial=0))) + found[1]
    if len(np.unique(key)) < infosets:
        return None
    return found[0], found[1]


def _public_tree(
    walked: WalkedGame,
    deals: _Deals,
    hand: list[np.ndarray],
    public: _Public,
    prior: np.ndarray,
) -> tuple[PublicTree, tuple[str, ...]]:
    """The arrays of the public tree, and the labels of its edges."""
    tree = walked.tree
    nodes = len(public.parent)
    player = tree.player[public.example]
    children = np.bincount(public.parent[1:], minlength=nodes)
    first_child = np.append(1, 1 + np.cumsum(children))
    by_chance = np.zeros(nodes, dtype=bool)
    by_chance[1:] = player[public.parent[1:]] == CHANCE
    edge, labels = _edges(walked, public, by_chance)
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
    found = PublicTree(
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
    return found, labels


def _edges(
    walked: WalkedGame, public: _Public, by_chance: np.ndarray
) -> tuple[list[int], tuple[str, ...]]:
    """The edge into every public node, -1 for the root; and the labels of the edges."""
    tree = walked.tree
    labels: dict[str, int] = {}
    edge = [-1]
    for node, history in enumerate(public.example[1:].tolist(), start=1):
        above = int(tree.parent[history])
        if by_chance[node]:
            label = walked.outcome_labels[tree.outcome[history]]
        else:
            actions = walked.infosets.actions[tree.infoset[above]]
            label = str(actions[history - int(tree.first_child[above])])
        edge.append(labels.setdefault(label, len(labels)))
    return edge, tuple(labels)


@dataclass
class _Cells:
    """The cell of each history after the deal: one table per public node, one cell per deal."""

    node: np.ndarray
    """int64 (histories,): public node."""
    first: np.ndarray
    """int64 (histories,): hand of player 0."""
    second: np.ndarray
    """int64 (histories,): hand of player 1."""
    hands: tuple[int, ...]
    """Hands of each player: the shape of a table."""
    nodes: int
    """Public nodes."""


def _payoffs(
    terminals: np.ndarray, cells: _Cells, utility: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The utilities of histories, float64 (histories, 2), as multiples of matrices.

    Returns:
        int64 (nodes,): payoff, or -1; float64 (2, payoffs): matrix and coefficient; float64
        (matrices, 2, hands, hands): the matrices.
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
    """Tables of float64 (histories, columns) over the deals of some public nodes, each distinct one
    once, up to some decimals or, if None, all bits: int64 (nodes,), the table, or -1; float64
    (tables, columns, hands, hands)."""
    place = np.full(cells.nodes, -1, dtype=np.int64)
    place[wanted] = np.arange(len(wanted))
    used = np.flatnonzero(place[cells.node] >= 0)
    reserve(2 * 8 * len(wanted) * value.shape[1] * cells.hands[0] * cells.hands[1])
    tables = np.zeros((len(wanted), value.shape[1], *cells.hands))
    tables[place[cells.node[used]], :, cells.first[used], cells.second[used]] = value[used]
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
