"""Finding private hands x public tree in a game that came in as histories.

A game has that form if chance deals first, each player sees a part of the deal (his hand) and
everything after it, and nobody sees anything else.  Whether it has is decided by the infosets
alone: the deals that a player cannot tell apart are one hand, histories that differ in the
deal alone are one public node, and every infoset must be one hand at one public node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._util.memory import reserve
from ..model.arrays import CHANCE, NO_PARENT, TERMINAL, HistoryTree, PublicTree
from ..model.labels import PublicGame
from .histories import WalkedGame
from .public_tree import Weights, fingerprint, small

SPARSE = 16
"""How many pairs of hands there may be per deal; beyond that, hands say more than they share."""

DIGITS = 12
"""Decimals to which payoffs must agree, relative to the largest of a terminal, to be multiples of
one matrix: the division has rounded them."""


@dataclass
class Recognised:
    """The game, and where its infosets went."""

    game: PublicGame
    """Its public tree, buckets and ranks not set yet, and labels."""
    node: np.ndarray
    """int64 (infosets,): public node of each infoset, numbered as in the walk."""
    hand: np.ndarray
    """int64 (infosets,): the owner's hand."""


@dataclass
class _Deals:
    """What chance does before anybody acts."""

    of_node: np.ndarray
    """int64 (nodes,): the deal; -1 before it is complete."""
    probability: np.ndarray
    """float64 (deals,)."""
    first: slice
    """The nodes right after the deals."""


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
    if len(np.unique(pair)) < len(pair) or hands[0] * hands[1] > SPARSE * len(pair):
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
    """The deals, if chance acts first and all deals end at one depth."""
    begin, end = 0, 1
    reach = np.ones(1)
    while (tree.player[begin:end] == CHANCE).all():
        children = slice(int(tree.first_child[begin]), int(tree.first_child[end]))
        reach = reach[tree.parent[children] - begin] * tree.probability[children]
        begin, end = children.start, children.stop
        if begin == end:
            return None
    if begin == 0 or (reach <= 0).any():
        return None
    of_node = np.full(tree.n_nodes, -1, dtype=np.int64)
    of_node[begin:end] = np.arange(end - begin)
    first = slice(begin, end)
    while begin < end:
        begin, end = end, int(tree.first_child[end])
        of_node[begin:end] = of_node[tree.parent[begin:end]]
    return _Deals(of_node, reach, first)


def _hands(tree: HistoryTree, deals: _Deals, player: int) -> np.ndarray:
    """Which hand a player holds in each deal: deals that share an infoset of his are one hand."""
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
    """Histories that differ in the deal alone, as one; None if they differ in more."""
    tree = walked.tree
    kinds: dict[tuple[str, ...], int] = {}
    named = np.array(
        [kinds.setdefault(tuple(map(str, one)), len(kinds)) for one in walked.infosets.actions]
        or [0]
    )
    kind = np.where(tree.infoset >= 0, named[np.maximum(tree.infoset, 0)], -1)
    of_node = np.full(tree.n_nodes, -1, dtype=np.int64)
    of_node[deals.first] = 0
    example, parent = [np.array([deals.first.start])], [np.array([NO_PARENT])]
    begin, end, count = deals.first.start, deals.first.stop, 1
    while begin < end:
        here = np.arange(begin, end)
        model = np.concatenate(example)[of_node[here]]
        if (tree.player[here] != tree.player[model]).any() or (kind[here] != kind[model]).any():
            return None
        begin, end = end, int(tree.first_child[end])
        below = np.arange(begin, end)
        above = tree.parent[below]
        edge = np.where(
            tree.player[above] == CHANCE, tree.outcome[below], below - tree.first_child[above]
        )
        edges = int(edge.max(initial=0)) + 1
        met, first, inverse = np.unique(
            of_node[above] * edges + edge, return_index=True, return_inverse=True
        )
        of_node[below] = count + inverse
        example.append(below[first])
        parent.append(met // edges)
        count += len(met)
    return _Public(of_node, np.concatenate(example), np.concatenate(parent))


def _infoset_places(
    tree: HistoryTree, deals: _Deals, hand: list[np.ndarray], public: _Public, infosets: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Public node and hand of every infoset, if each has one of both and shares them with none."""
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
    drawn = np.zeros(nodes, dtype=bool)
    drawn[1:] = player[public.parent[1:]] == CHANCE
    labels: dict[str, int] = {}
    edge = [-1]
    for node, history in enumerate(public.example[1:].tolist(), start=1):
        above = int(tree.parent[history])
        if drawn[node]:
            label = walked.outcome_labels[tree.outcome[history]]
        else:
            actions = walked.infosets.actions[tree.infoset[above]]
            label = str(actions[history - int(tree.first_child[above])])
        edge.append(labels.setdefault(label, len(labels)))
    # Per history after the deal: what a table says for its deal.
    after = np.arange(deals.first.start, tree.n_nodes)
    of, deal = public.of_node[after], deals.of_node[after]
    at = (hand[0][deal], hand[1][deal])
    chance, chance_table = _tables(
        np.flatnonzero(drawn), of, at, tree.probability[after, None], prior.shape, nodes
    )
    utility = np.zeros((tree.n_nodes, 2))
    utility[tree.terminal] = tree.utility
    over = np.flatnonzero(player == TERMINAL)
    unit = np.zeros(nodes)
    np.maximum.at(unit, of, np.abs(utility[after]).max(axis=1))
    unit[unit == 0] = 1.0
    matrix_of, matrix_table = _tables(
        over, of, at, utility[after] / unit[of, None], prior.shape, nodes, DIGITS
    )
    pairs, payoff = np.unique(np.stack([matrix_of[over], unit[over]]), axis=1, return_inverse=True)
    payoff_of = np.full(nodes, -1, dtype=np.int64)
    payoff_of[over] = payoff
    weights = Weights(prior.shape, chance_table[:, 0])
    weight = np.zeros(nodes, dtype=np.int64)
    begin, end = 0, 1
    while begin < end:
        begin, end = end, int(first_child[end])
        weight[begin:end] = weights.after(weight[public.parent[begin:end]], chance[begin:end])
    found = PublicTree(
        prior=prior,
        parent=small(public.parent),
        first_child=small(first_child),
        player=player,
        edge=small(edge),
        chance=small(chance),
        chance_table=np.ascontiguousarray(chance_table[:, 0]),
        weight=small(weight),
        weight_table=np.array(weights.table),
        payoff=small(payoff_of),
        coefficient=np.ascontiguousarray(pairs[1]),
        matrix=pairs[0].astype(np.int64),
        matrix_table=matrix_table,
        bucket=np.empty(0, dtype=np.int8),
        rank=np.empty(0, dtype=np.int8),
    )
    return found, tuple(labels)


def _tables(
    wanted: np.ndarray,
    node: np.ndarray,
    at: tuple[np.ndarray, np.ndarray],
    value: np.ndarray,
    hands: tuple[int, ...],
    nodes: int,
    digits: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Tables over hands of some public nodes, each distinct one once.

    Args:
        wanted: int64: the public nodes.
        node: int64 (histories,): public node of each history.
        at: Hands of both players in each history.
        value: float64 (histories, columns): what the tables say.
        hands: Hands of each player.
        nodes: Public nodes.
        digits: Decimals to which tables must agree to be one; all bits by default.

    Returns:
        int64 (nodes,): the table, or -1; float64 (tables, columns, hands, hands).
    """
    place = np.full(nodes, -1, dtype=np.int64)
    place[wanted] = np.arange(len(wanted))
    mine = np.flatnonzero(place[node] >= 0)
    reserve(2 * 8 * len(wanted) * value.shape[1] * hands[0] * hands[1])
    tables = np.zeros((len(wanted), value.shape[1], *hands))
    tables[place[node[mine]], :, at[0][mine], at[1][mine]] = value[mine]
    known: dict[bytes, int] = {}
    distinct: list[int] = []
    number = np.full(nodes, -1, dtype=np.int64)
    for index, one in enumerate(tables):
        alike = one if digits is None else np.round(one, digits)
        table = known.setdefault(fingerprint(alike + 0.0), len(distinct))
        if table == len(distinct):
            distinct.append(index)
        number[wanted[index]] = table
    return number, tables[distinct]
