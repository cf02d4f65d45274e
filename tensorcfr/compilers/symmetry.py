"""Lossless merging of hands and public outcomes with indistinguishable payoffs.

For example, no payoff in Leduc distinguishes the J of spades from the J of hearts.  So both hands
become one hand with twice the probability, and both boards become one board.  Hands may be merged
if they have one colour (:mod:`.colour_refinement`).  Against strategies that are equal within
colours, all infosets of one colour have equal counterfactual values.  So they have equal regrets in
every iteration, and an equilibrium of the merged game is an equilibrium of the whole game.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._util.memory_budget import reserves
from ..model.arrays import CHANCE, PublicTree, SequenceForm, levels_below_root, smallest_int
from ..model.flat_game import Merged
from . import form_of_public_tree
from .colour_refinement import (
    as_uint64,
    float_bits,
    hash_pair,
    is_uniform,
    outcome_signatures,
    root_colours,
)
from .public_graph import contracted, graph_of_tree, only_one_action, unfold

SumOverClasses = Callable[[np.ndarray], np.ndarray]
"""Function that sums a table over hands, float64 (hands, hands), into a table over merged hands."""


class Quotient(NamedTuple):
    """Merged game, with the image of each node and hand in it."""

    tree: PublicTree
    """Public tree of the merged game; buckets and ranks are not set yet."""
    node: np.ndarray
    """int64 (nodes,): merged node of each public node; -1 if no deal reaches the node."""
    hand: tuple[np.ndarray, ...]
    """int64 (hands,) for each player: merged hand of each hand."""

    @property
    def merges(self) -> bool:
        """True if several hands or several nodes have one image."""
        images = (self.node[self.node >= 0], *self.hand)
        return any(len(np.unique(image)) < len(image) for image in images)


def _merge_by_colours(tree: PublicTree) -> Quotient | None:
    """Merge all indistinguishable hands and chance outcomes.

    Returns:
        The merged game.  None if nothing can be merged, or if hands with one colour at the root
        differ further down, like suits in a game with flushes.
    """
    colours = root_colours(tree)
    if colours is None:
        return None
    outcome = outcome_signatures(tree, colours)
    if not is_uniform(tree, colours):
        return None
    reachable = tree.exists
    representative = np.where(reachable, _representatives(tree, outcome, reachable), -1)
    merged_nodes = np.flatnonzero(representative == np.arange(tree.n_nodes))
    all_hands_differ = all(len(set(colour)) == len(colour) for colour in colours.hand)
    if all_hands_differ and len(merged_nodes) == np.count_nonzero(reachable):
        return None
    return quotient_by(tree, colours.hand, representative, merged_nodes)


def _representatives(tree: PublicTree, outcome: np.ndarray, reachable: np.ndarray) -> np.ndarray:
    """Return the first node of each node's class, int64 (nodes,).

    The values at nodes that no deal reaches are undefined.

    Args:
        tree: The public tree.
        outcome: uint64 (nodes,): signature of the subgame after each chance outcome.
        reachable: bool (nodes,): whether some deal reaches the node.
    """
    representative = np.zeros(tree.n_nodes, dtype=np.int64)
    for level in levels_below_root(tree.first_child):
        nodes = level.start + np.flatnonzero(reachable[level])
        parent = tree.parent[nodes]
        action = nodes - tree.first_child[parent]
        # Levels run from the root down, because the representative of a child is a child of its
        # parent's representative.
        representative[nodes] = tree.first_child[representative[parent]] + action
        chosen = nodes[tree.player[parent] == CHANCE]
        if not len(chosen):
            continue
        # Of several outcomes with one signature, the representative is the first child of the
        # parent's representative that has it.
        family = representative[tree.parent[chosen]]
        order = np.lexsort((chosen, outcome[chosen], family))
        signature = outcome[chosen][order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(family[order]) != 0) | (signature[1:] != signature[:-1])
        leader = chosen[order][np.flatnonzero(new)]
        representative[chosen[order]] = leader[np.cumsum(new) - 1]
    return representative


def quotient_by(
    tree: PublicTree,
    colour: list[np.ndarray],
    representative: np.ndarray,
    representative_nodes: np.ndarray,
) -> Quotient:
    """Build the game whose hands are the colours and whose nodes are the representatives.

    Payoffs of merged hands are averaged by the probability of each hand.  The average loses nothing
    if the payoffs do not distinguish the hands, or if their player does not.

    Args:
        tree: The public tree.
        colour: int64 (hands,) for each player: colour of each hand.
        representative: int64 (nodes,): representative of each node; -1 if no deal reaches the node.
        representative_nodes: int64 (merged nodes,): the representatives, ascending.
    """
    indicator = [np.eye(int(player_colours.max()) + 1)[player_colours] for player_colours in colour]

    def merge_hands(table: np.ndarray) -> np.ndarray:
        return indicator[0].T @ table @ indicator[1]

    place = np.full(tree.n_nodes, -1, dtype=np.int64)
    place[representative_nodes] = np.arange(len(representative_nodes))
    node = np.where(representative >= 0, place[representative], -1)
    mass, weight = _masses(tree, merge_hands, node, representative_nodes)
    prior = mass[weight[0]]
    children = np.bincount(
        place[tree.parent[representative_nodes[1:]]], minlength=len(representative_nodes)
    )
    first_child = np.append(1, 1 + np.cumsum(children))
    drawn = tree.chance[representative_nodes] >= 0
    parent = np.append(-1, place[tree.parent[representative_nodes[1:]]])
    steps, chance = np.unique(
        np.stack([weight[parent[drawn]], weight[drawn]]), axis=1, return_inverse=True
    )
    chance_of = np.full(len(representative_nodes), -1, dtype=np.int64)
    chance_of[drawn] = chance
    chance_table, weight_table = _ratio(mass[steps[1]], mass[steps[0]]), _ratio(mass, prior)
    # These rows belong to nodes before any chance outcome: their factor is 1 for every deal, even
    # for deals with probability 0.
    chance_table[steps[1] == steps[0]] = 1.0
    weight_table[weight[0]] = 1.0
    payoff, coefficient, matrix, matrix_table = _payoffs(
        tree, merge_hands, node, representative_nodes, mass, weight
    )
    merged = PublicTree(
        prior=prior,
        parent=smallest_int(parent),
        first_child=smallest_int(first_child),
        player=tree.player[representative_nodes],
        edge=tree.edge[representative_nodes],
        chance=smallest_int(chance_of),
        chance_table=chance_table,
        weight=smallest_int(weight),
        weight_table=weight_table,
        payoff=smallest_int(payoff),
        coefficient=coefficient,
        matrix=matrix,
        matrix_table=matrix_table,
        bucket=np.empty(0, dtype=np.int8),
        rank=np.empty(0, dtype=np.int8),
    )
    return Quotient(merged, node, tuple(colour))


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return ``numerator / denominator``, and 0 where ``denominator`` is 0."""
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator > 0)


def _masses(
    tree: PublicTree, merge_hands: SumOverClasses, node: np.ndarray, merged_nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability of the merged deals at every representative.

    Probabilities are summed over the nodes that are merged into the representative.

    Returns:
        float64 (masses, merged hands, merged hands): the distinct tables of probabilities; int64
        (merged nodes,): the index of each representative's table.
    """
    mapped = node >= 0
    pairs, count = np.unique(
        node[mapped] * len(tree.weight_table) + tree.weight[mapped].astype(np.int64),
        return_counts=True,
    )
    owner, weights = np.divmod(pairs, len(tree.weight_table))
    first = np.searchsorted(owner, np.arange(len(merged_nodes) + 1))
    known: dict[bytes, int] = {}
    masses: list[np.ndarray] = []
    weight = np.empty(len(merged_nodes), dtype=np.int64)
    members = np.stack([weights, count])
    for k in range(len(merged_nodes)):
        group = members[:, first[k] : first[k + 1]]
        number = known.setdefault(group.tobytes(), len(masses))
        if number == len(masses):
            masses.append(merge_hands(_mass(tree, *group)))
        weight[k] = number
    return np.array(masses), weight


@reserves(lambda tree, weights, count: 8 * (2 * len(count) + 1) * tree.prior.size)
def _mass(tree: PublicTree, weights: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return the probability of every deal at nodes of some weights, float64 (hands, hands).

    Args:
        tree: The public tree.
        weights: int64 (weights,): rows of the weight table.
        count: int64 (weights,): number of nodes of each weight.
    """
    tables = tree.weight_table[weights] * count[:, None, None]
    mass: np.ndarray = tree.prior * tables.sum(axis=0)
    return mass


def _payoffs(
    tree: PublicTree,
    merge_hands: SumOverClasses,
    node: np.ndarray,
    merged_nodes: np.ndarray,
    mass: np.ndarray,
    weight: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the payoffs of the merged terminals: means over the merged terminals and deals.

    Args:
        tree: The public tree.
        merge_hands: Function that sums a table over hands into one over merged hands.
        node: int64 (nodes,): merged node of each node; -1 if no deal reaches the node.
        merged_nodes: int64 (merged nodes,): the representatives.
        mass: float64 (masses, merged hands, merged hands): from :func:`_masses`.
        weight: int64 (merged nodes,): index into ``mass``.

    Returns:
        int64 (merged nodes,): index of the payoff, or -1; float64 (payoffs,): coefficients; int64
        (payoffs,): index of each payoff's matrix; float64 (matrices, 2, merged hands, merged
        hands): the matrices.
    """
    terminals = np.flatnonzero((tree.payoff >= 0) & (node >= 0))
    payoff = tree.payoff[terminals].astype(np.int64)
    rows = np.stack(
        [
            node[terminals],
            tree.weight[terminals].astype(np.int64),
            tree.matrix[payoff],
            float_bits(tree.coefficient[payoff]).view(np.int64),
        ]
    )
    kinds, terminal, count = np.unique(rows, axis=1, return_index=True, return_counts=True)
    first = np.flatnonzero(np.diff(kinds[0], prepend=-1))
    # The key compares coefficients by their rounded bits; the payoff keeps the coefficient itself.
    coefficients = tree.coefficient[payoff][terminal]
    scale = np.maximum.reduceat(np.abs(coefficients), first)
    scale[scale == 0] = 1.0
    share = coefficients / np.repeat(scale, np.diff(np.append(first, len(coefficients))))
    # Merged terminals with equal deals and equal shares have one table.  A sum of hashes identifies
    # the multiset of their members, in any order.
    term = hash_pair(hash_pair(as_uint64(kinds[1]), as_uint64(kinds[2])), as_uint64(count))
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(hash_pair(term, float_bits(share)), first)
    merged_terminals = kinds[0, first]
    _, example, row = np.unique(
        hash_pair(sums, as_uint64(weight[merged_terminals])), return_index=True, return_inverse=True
    )
    ends = np.append(first, len(coefficients))
    tables = _empty_tables(len(example), mass)
    for table, group in zip(tables, example.tolist(), strict=True):
        members = slice(ends[group], ends[group + 1])
        paid = np.zeros_like(table)
        for w, m, part, times in zip(
            kinds[1, members], kinds[2, members], share[members], count[members], strict=True
        ):
            paid += part * times * np.array([merge_hands(u) for u in tree.expected_utility(w, m)])
        table[:] = _ratio(paid, mass[weight[merged_terminals[group]]])
    pairs, payoff_of = np.unique(
        np.stack([scale, row.astype(np.float64)]), axis=1, return_inverse=True
    )
    number = np.full(len(merged_nodes), -1, dtype=np.int64)
    number[merged_terminals] = payoff_of
    return number, np.ascontiguousarray(pairs[0]), pairs[1].astype(np.int64), tables


@reserves(lambda count, mass: 8 * (count + 4) * 2 * mass[0].size)
def _empty_tables(count: int, mass: np.ndarray) -> np.ndarray:
    """Allocate payoffs of both players, float64 (count, 2, merged hands, merged hands)."""
    return np.empty((count, 2, *mass.shape[1:]))


def merged_sequences(
    tree: PublicTree, form: SequenceForm, quotient: Quotient, merged: SequenceForm
) -> np.ndarray:
    """Map every sequence to its sequence in the merged game, uint32 (sequences,).

    Args:
        tree: The public tree, with buckets and ranks.
        form: Its sequence form.
        quotient: The merged game, with buckets and ranks in its tree.  Nodes without an image (-1)
            are decisions with one action; their sequences map to the empty sequence, whose
            probability is also 1.
        merged: The sequence form of the merged game.
    """
    target = np.empty(form.n_sequences, dtype=np.uint32)
    target[form.player_sequences[:-1]] = merged.player_sequences[:-1]
    nodes = tree.by_place
    first = np.searchsorted(tree.bucket[nodes], np.arange(len(form.bucket_lanes) + 1))
    for b, (begin, end) in enumerate(pairwise(first.tolist())):
        images = quotient.node[nodes[begin:end]]
        player = int(tree.player[nodes[begin]])
        position = int(form.bucket_sequence[b])
        if images[0] < 0:
            target[position : position + int(form.bucket_lanes[b])] = merged.player_sequences[
                player
            ]
            continue
        # The nodes of one bucket may have images in several merged buckets, so look up the layout
        # per node.  Sequences of a bucket run by action, then by hand, then by node.
        buckets = quotient.tree.bucket[images].astype(np.int64)
        lanes, mask, stride = (
            array[buckets]
            for array in (merged.bucket_lanes, merged.bucket_mask, merged.bucket_stride)
        )
        hands = form.possible_hands(b)
        for action in range(int(form.bucket_actions[b])):
            base = merged.bucket_sequence[buckets] + action * lanes + quotient.tree.rank[images]
            for hand in quotient.hand[player][hands].tolist():
                target[position : position + end - begin] = (
                    base + merged.hand_rank[mask, hand] * stride
                )
                position += end - begin
    return target


def merge(tree: PublicTree, form: SequenceForm) -> Merged | None:
    """Return a smaller game with the same solutions, or None if there is none.

    Decisions with one action are removed first (:func:`.public_graph.contracted`).  Then hands and
    public outcomes with indistinguishable payoffs are merged (:func:`_merge_by_colours`).

    Args:
        tree: The public tree, with buckets and ranks.
        form: Its sequence form.
    """
    quotient = quotient_of(tree)
    if quotient is None:
        return None
    merged, smaller = form_of_public_tree.build(quotient.tree)
    quotient = quotient._replace(tree=smaller)
    return Merged(merged, merged_sequences(tree, form, quotient, merged))


def quotient_of(tree: PublicTree) -> Quotient | None:
    """Return the public tree of the smaller game, or None if there is none."""
    short = contraction_of(tree)
    quotient = _merge_by_colours(tree if short is None else short.tree)
    if short is None or quotient is None:
        return quotient or short
    return quotient._replace(node=np.where(short.node < 0, -1, quotient.node[short.node]))


def contraction_of(tree: PublicTree) -> Quotient | None:
    """Return the public tree without decisions that have one action, or None if there are none."""
    graph = graph_of_tree(tree)
    if not only_one_action(graph).any():
        return None
    short = unfold(contracted(graph))
    place = np.full(tree.n_nodes, -1, dtype=np.int64)
    place[short.state] = np.arange(len(short.state))
    return identity(tree)._replace(tree=short.tree, node=place)


def solved_game(tree: PublicTree, *, merges: bool) -> Quotient:
    """Return the smaller game, or the game itself if there is none or nothing may be merged."""
    return (quotient_of(tree) if merges else None) or identity(tree)


def identity(tree: PublicTree) -> Quotient:
    """Return the game itself as a quotient, with nothing merged."""
    return Quotient(tree, np.arange(tree.n_nodes), tuple(map(np.arange, tree.prior.shape)))
