"""Lossless merging: hands and public outcomes that the payoffs cannot tell apart become one.

Suits are the example: nothing in Leduc tells the J of spades from the J of hearts, so both hands
are one hand of twice the probability, and the two boards one board.  What may be merged is
found by colour refinement, as for linear programs (Grohe, Kersting, Mladenov and Selman,
"Dimension reduction via colour refinement", 2014): hands begin alike, and are told apart as
soon as the multisets of payoffs that they meet, under the colours so far, differ.  Infosets of
one colour have equal counterfactual values against strategies that are equal within colours,
so they have equal regrets in every iteration, and an equilibrium of the merged game is one of
the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..model.arrays import CHANCE, PublicTree, SequenceForm
from .public_tree import small

MIX = np.uint64(0x9E3779B97F4A7C15)
DIGITS = 2.0**40
"""Payoffs are alike if they agree to this part of their leading binary digit."""


Fold = Callable[[np.ndarray], np.ndarray]
"""What sums a table over hands by merged hands."""


class Quotient(NamedTuple):
    """The merged game, and where everything went."""

    tree: PublicTree
    """The merged public tree; buckets and ranks are not set yet."""
    node: np.ndarray
    """int64 (nodes,): the merged node that stands for each public node; -1 where no deal gets."""
    hand: tuple[np.ndarray, ...]
    """int64 (hands,), for each player: the merged hand that stands for each hand."""


def merge(tree: PublicTree) -> Quotient | None:
    """The game with all that is alike merged, or None where nothing is, or where hands that are
    alike at the root are told apart further down (suits with flushes, say)."""
    colours = _root_colours(tree)
    if colours is None:
        return None
    signatures, outcome = colours.signatures, _outcome_classes(tree, colours)
    if not _is_uniform(tree, colours.hand, signatures):
        return None
    exists = tree.exists
    # No deal gets to the others, whatever they look like: nothing stands for them.
    stands_for = np.where(exists, _representatives(tree, outcome, exists), -1)
    kept = np.flatnonzero(stands_for == np.arange(tree.n_nodes))
    all_hands_differ = all(len(set(own)) == len(own) for own in colours.hand)
    if all_hands_differ and len(kept) == np.count_nonzero(exists):
        return None
    return _quotient(tree, colours.hand, stands_for, kept)


def tells_hands_apart(tables: PublicTree, ways: np.ndarray) -> bool:
    """Whether the payoffs alone tell all hands of a game without public chance apart.

    Args:
        tables: Arrays over public states, or nodes.
        ways: int64 (states,): how many nodes each state is.
    """
    payoffs = _Payoffs(tables)
    count = ways[payoffs.over].astype(np.uint64)[:, None]
    colour = [np.zeros(hands, dtype=np.int64) for hands in tables.prior.shape]
    while True:
        before = [int(own.max()) for own in colour]
        rows = payoffs.rows(colour)
        with np.errstate(over="ignore"):
            met = [
                (_pair(own[payoffs.table], payoffs.coefficient[:, None]) * count).sum(
                    axis=0, dtype=np.uint64
                )
                for own in rows
            ]
        colour = [
            _number(_pair(own.astype(np.uint64), new)) for own, new in zip(colour, met, strict=True)
        ]
        after = [int(own.max()) for own in colour]
        if all(top + 1 == len(own) for top, own in zip(after, colour, strict=True)):
            return True
        if after == before:
            return False


@dataclass
class Colours:
    """What tells hands apart."""

    hand: list[np.ndarray]
    """int64 (hands,), for each player: colour."""
    signatures: list[np.ndarray]
    """uint64 (nodes, hands), for each player: what the rest of the game means to a hand."""


def _mix(values: np.ndarray) -> np.ndarray:
    """A bijection of uint64 that leaves nothing of their order (splitmix64)."""
    with np.errstate(over="ignore"):
        values = values + MIX
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return values ^ (values >> np.uint64(31))


def _pair(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """One number for two."""
    with np.errstate(over="ignore"):
        return _mix(_mix(first) * np.uint64(3) + second)


def _bits(numbers: np.ndarray) -> np.ndarray:
    """Floats as uint64, those that agree to :data:`DIGITS` alike."""
    mantissa, exponent = np.frexp(numbers)
    rounded = np.ldexp(np.round(mantissa * DIGITS) / DIGITS, exponent) + 0.0
    return np.ascontiguousarray(rounded).view(np.uint64)


class _Payoffs:
    """Signatures of the rows of every payoff table, under given colours."""

    def __init__(self, tree: PublicTree) -> None:
        self.over = np.flatnonzero(tree.payoff >= 0)
        payoff, weight = tree.payoff[self.over].astype(np.int64), tree.weight[self.over]
        pair = weight.astype(np.int64) * len(tree.matrix_table) + tree.matrix[payoff]
        met, self.table = np.unique(pair, return_inverse=True)
        self.coefficient = _bits(tree.coefficient[payoff])
        weights, matrices = np.divmod(met, len(tree.matrix_table))
        self.alive = tree.alive[weights]
        bits = _bits(tree.expected_utility(weights, matrices))
        mass = _bits(np.where(self.alive, tree.prior * tree.weight_table[weights], 0.0))
        self.cell = _pair(_pair(bits[:, 0], bits[:, 1]), mass)

    def rows(self, colour: list[np.ndarray]) -> list[np.ndarray]:
        """uint64 (tables, hands), for each player."""
        found = []
        for player in range(2):
            cell, alive = self.cell, self.alive
            if player == 1:
                cell, alive = cell.swapaxes(1, 2), alive.swapaxes(1, 2)
            met = _pair(cell, colour[1 - player].astype(np.uint64))
            with np.errstate(over="ignore"):
                found.append(np.where(alive, met, np.uint64(0)).sum(axis=2, dtype=np.uint64))
        return found


def _root_colours(tree: PublicTree) -> Colours | None:
    """Colours of the hands when refining changes nothing any more; None if all hands differ and
    there is no public chance whose outcomes could be alike."""
    public_chance = bool((tree.player == CHANCE).any())
    colour = [np.zeros(hands, dtype=np.int64) for hands in tree.prior.shape]
    payoffs = _Payoffs(tree)
    # First as bags of terminals, which is quick and tells most hands apart.
    for by_tree in (False, True):
        while True:
            before = [int(own.max()) for own in colour]
            rows = payoffs.rows(colour)
            if by_tree:
                signatures = _signatures(tree, payoffs, rows, colour)
                at_root = [own[0] for own in signatures]
            else:
                kinds, count = np.unique(
                    np.stack([payoffs.table.astype(np.uint64), payoffs.coefficient]),
                    axis=1,
                    return_counts=True,
                )
                table = kinds[0].astype(np.int64)
                with np.errstate(over="ignore"):
                    at_root = [
                        (
                            _pair(own[table], kinds[1][:, None]) * count.astype(np.uint64)[:, None]
                        ).sum(axis=0, dtype=np.uint64)
                        for own in rows
                    ]
            colour = [
                _number(_pair(own.astype(np.uint64), new))
                for own, new in zip(colour, at_root, strict=True)
            ]
            after = [int(own.max()) for own in colour]
            if not public_chance and all(
                top + 1 == len(own) for top, own in zip(after, colour, strict=True)
            ):
                return None
            if after == before:
                break
    return Colours(colour, signatures)


def _number(values: np.ndarray) -> np.ndarray:
    """Equal values as equal numbers from 0, in the order in which they come."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _signatures(
    tree: PublicTree, payoffs: _Payoffs, rows: list[np.ndarray], colour: list[np.ndarray]
) -> list[np.ndarray]:
    """What the game from a node on means to each hand, from the leaves up."""
    found = [np.zeros((tree.n_nodes, hands), dtype=np.uint64) for hands in tree.prior.shape]
    for own, row in zip(found, rows, strict=True):
        own[payoffs.over] = _pair(row[payoffs.table], payoffs.coefficient[:, None])
    live = _live(tree)
    depth = [0, 1]
    while depth[-1] < tree.n_nodes:
        depth.append(int(tree.first_child[depth[-1]]))
    for start, stop in zip(depth[-2:0:-1], depth[:1:-1], strict=False):
        children = np.arange(start, stop)
        above = tree.parent[children]
        by_chance = tree.player[above] == CHANCE
        action = (children - tree.first_child[above]).astype(np.uint64)
        with np.errstate(over="ignore"):
            node = _node_signatures(found, live, colour, children, tree.weight)
            step = np.where(by_chance, node, action)
            who = tree.player[above].astype(np.int64).astype(np.uint64)
            step = _pair(step, who)
            for player, own in enumerate(found):
                part = _pair(own[children], step[:, None])
                part = np.where(live[player][tree.weight[children]], part, np.uint64(0))
                np.add.at(own, above, part)
    return found


def _live(tree: PublicTree) -> list[np.ndarray]:
    """The hands that each player may hold, bool (weights, hands)."""
    return [np.any(tree.alive, axis=2), np.any(tree.alive, axis=1)]


def _node_signatures(
    signatures: list[np.ndarray],
    live: list[np.ndarray],
    colour: list[np.ndarray],
    nodes: np.ndarray,
    weight: np.ndarray,
) -> np.ndarray:
    """What nodes mean to everybody, uint64 (nodes,)."""
    total = np.zeros(len(nodes), dtype=np.uint64)
    for own, can, hand in zip(signatures, live, colour, strict=True):
        met = _pair(own[nodes], hand.astype(np.uint64))
        part = np.where(can[weight[nodes]], met, np.uint64(0)).sum(axis=1, dtype=np.uint64)
        total = _pair(total, part)
    return total


def _is_uniform(tree: PublicTree, colour: list[np.ndarray], signatures: list[np.ndarray]) -> bool:
    """Whether hands of one colour mean the same at every node where they are possible."""
    for own, can, hand in zip(signatures, _live(tree), colour, strict=True):
        possible = can[tree.weight]
        for one in range(int(hand.max()) + 1):
            members = np.flatnonzero(hand == one)
            if len(members) == 1:
                continue
            given, here = own[:, members], possible[:, members]
            first = given[np.arange(len(given)), here.argmax(axis=1)]
            if (here & (given != first[:, None])).any():
                return False
    return True


def _outcome_classes(tree: PublicTree, colours: Colours) -> np.ndarray:
    """uint64 (nodes,): alike for children of a chance node that mean the same to everybody."""
    by_chance = np.zeros(tree.n_nodes, dtype=bool)
    by_chance[1:] = tree.player[tree.parent[1:]] == CHANCE
    found = np.zeros(tree.n_nodes, dtype=np.uint64)
    nodes = np.flatnonzero(by_chance)
    found[nodes] = _node_signatures(
        colours.signatures, _live(tree), colours.hand, nodes, tree.weight
    )
    return found


def _representatives(tree: PublicTree, outcome: np.ndarray, exists: np.ndarray) -> np.ndarray:
    """The public node that stands for each that exists, int64 (nodes,): the first of those
    alike."""
    stands_for = np.zeros(tree.n_nodes, dtype=np.int64)
    start, stop = 1, int(tree.first_child[1])
    while start < stop:
        nodes = start + np.flatnonzero(exists[start:stop])
        above = tree.parent[nodes]
        action = nodes - tree.first_child[above]
        stands_for[nodes] = tree.first_child[stands_for[above]] + action
        chosen = nodes[tree.player[above] == CHANCE]
        if len(chosen):
            # Among the children of the node that stands for the parent, the first one alike.
            family = stands_for[tree.parent[chosen]]
            order = np.lexsort((chosen, outcome[chosen], family))
            new = np.ones(len(order), dtype=bool)
            new[1:] = (np.diff(family[order]) != 0) | (
                outcome[chosen][order][1:] != outcome[chosen][order][:-1]
            )
            leader = chosen[order][np.flatnonzero(new)]
            stands_for[chosen[order]] = leader[np.cumsum(new) - 1]
        start, stop = stop, int(tree.first_child[stop])
    return stands_for


def _quotient(
    tree: PublicTree, colour: list[np.ndarray], stands_for: np.ndarray, kept: np.ndarray
) -> Quotient:
    """The game of the nodes that stand for others, between the colours of hands."""
    fold = [np.eye(int(own.max()) + 1)[own] for own in colour]

    def folded(table: np.ndarray) -> np.ndarray:
        return fold[0].T @ table @ fold[1]

    place = np.full(tree.n_nodes, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    node = np.where(stands_for >= 0, place[stands_for], -1)
    prior = folded(tree.prior)
    mass, weight = _masses(tree, folded, node, kept)
    children = np.bincount(place[tree.parent[kept[1:]]], minlength=len(kept))
    first_child = np.append(1, 1 + np.cumsum(children))
    drawn = tree.chance[kept] >= 0
    parent = np.append(-1, place[tree.parent[kept[1:]]])
    steps, chance = np.unique(
        np.stack([weight[parent[drawn]], weight[drawn]]), axis=1, return_inverse=True
    )
    chance_of = np.full(len(kept), -1, dtype=np.int64)
    chance_of[drawn] = chance
    payoff, coefficient, matrix, matrix_table = _payoffs(tree, folded, node, kept, mass, weight)
    merged = PublicTree(
        prior=prior,
        parent=small(parent),
        first_child=small(first_child),
        player=tree.player[kept],
        edge=tree.edge[kept],
        chance=small(chance_of),
        chance_table=_ratio(mass[steps[1]], mass[steps[0]]),
        weight=small(weight),
        weight_table=_ratio(mass, prior),
        payoff=small(payoff),
        coefficient=coefficient,
        matrix=matrix,
        matrix_table=matrix_table,
        bucket=np.empty(0, dtype=np.int8),
        rank=np.empty(0, dtype=np.int8),
    )
    return Quotient(merged, node, tuple(colour))


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """``above / below``, 0 where both are."""
    return np.divide(
        above,
        below,
        out=np.zeros(np.broadcast_shapes(above.shape, below.shape)),
        where=np.broadcast_to(below, above.shape) > 0,
    )


def _masses(
    tree: PublicTree, folded: Fold, node: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Probability of the deals at every kept node, summed over the nodes that it stands for.

    Returns:
        float64 (masses, merged hands, merged hands), and int64 (kept,): the mass of each node.
    """
    some = node >= 0
    pairs, count = np.unique(
        node[some] * len(tree.weight_table) + tree.weight[some].astype(np.int64),
        return_counts=True,
    )
    owner, given = np.divmod(pairs, len(tree.weight_table))
    first = np.searchsorted(owner, np.arange(len(kept) + 1))
    known: dict[bytes, int] = {}
    masses: list[np.ndarray] = []
    weight = np.empty(len(kept), dtype=np.int64)
    members = np.stack([given, count])
    for one in range(len(kept)):
        here = members[:, first[one] : first[one + 1]]
        number = known.setdefault(here.tobytes(), len(masses))
        if number == len(masses):
            tables = tree.weight_table[here[0]] * here[1][:, None, None]
            masses.append(folded(tree.prior * tables.sum(axis=0)))
        weight[one] = number
    return np.array(masses), weight


def _payoffs(
    tree: PublicTree,
    folded: Fold,
    node: np.ndarray,
    kept: np.ndarray,
    mass: np.ndarray,
    weight: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Payoffs of the kept terminals: over all that each stands for, by the merged deals.

    Returns:
        int64 (kept,): the payoff; then coefficient, matrix and matrix table.
    """
    over = np.flatnonzero((tree.payoff >= 0) & (node >= 0))
    payoff = tree.payoff[over].astype(np.int64)
    rows = np.stack(
        [
            node[over],
            tree.weight[over].astype(np.int64),
            tree.matrix[payoff],
            _bits(tree.coefficient[payoff]).view(np.int64),
        ]
    )
    kinds, terminal, count = np.unique(rows, axis=1, return_index=True, return_counts=True)
    first = np.flatnonzero(np.diff(kinds[0], prepend=-1))
    # The bits tell coefficients apart; what is paid is the coefficient itself.
    pots = tree.coefficient[payoff][terminal]
    unit = np.maximum.reduceat(np.abs(pots), first)
    unit[unit == 0] = 1.0
    share = pots / np.repeat(unit, np.diff(np.append(first, len(pots))))
    # Terminals that stand for the same deals with the same shares have one table.
    term = _pair(_pair(_unsigned(kinds[1]), _unsigned(kinds[2])), _unsigned(count))
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(_pair(term, _bits(share)), first)
    at = kinds[0, first]
    _, example, row = np.unique(
        _pair(sums, _unsigned(weight[at])), return_index=True, return_inverse=True
    )
    ends = np.append(first, len(pots))
    tables = np.empty((len(example), 2, *mass.shape[1:]))
    for table, group in zip(tables, example.tolist(), strict=True):
        members = slice(ends[group], ends[group + 1])
        paid = np.zeros_like(table)
        for w, m, part, times in zip(
            kinds[1, members], kinds[2, members], share[members], count[members], strict=True
        ):
            paid += part * times * np.array([folded(own) for own in tree.expected_utility(w, m)])
        table[:] = _ratio(paid, np.broadcast_to(mass[weight[at[group]]], paid.shape))
    pairs, payoff_of = np.unique(
        np.stack([unit, row.astype(np.float64)]), axis=1, return_inverse=True
    )
    number = np.full(len(kept), -1, dtype=np.int64)
    number[at] = payoff_of
    return number, np.ascontiguousarray(pairs[0]), pairs[1].astype(np.int64), tables


def _unsigned(numbers: np.ndarray) -> np.ndarray:
    return numbers.astype(np.int64).view(np.uint64)


def merged_sequences(
    tree: PublicTree, form: SequenceForm, quotient: Quotient, merged: SequenceForm
) -> np.ndarray:
    """For every sequence, the merged one that stands for it, uint32 (sequences,).

    Args:
        tree: The public tree, with buckets and ranks.
        form: Its sequence form.
        quotient: The merged game; its tree with buckets and ranks.  Nodes that nothing stands
            for (-1) have one action: for its sequence stands the empty one, which is as sure.
        merged: Its sequence form.
    """
    found = np.empty(form.n_sequences, dtype=np.uint32)
    found[form.player_sequences[:-1]] = merged.player_sequences[:-1]
    deciding = np.flatnonzero(tree.bucket >= 0)
    order = np.lexsort((tree.rank[deciding], tree.bucket[deciding]))
    nodes = deciding[order]
    first = np.searchsorted(tree.bucket[nodes], np.arange(len(form.bucket_lanes) + 1))
    for b, (begin, end) in enumerate(pairwise(first.tolist())):
        here = quotient.node[nodes[begin:end]]
        player = int(tree.player[nodes[begin]])
        if here[0] < 0:
            at = int(form.bucket_sequence[b])
            found[at : at + int(form.bucket_lanes[b])] = merged.player_sequences[player]
            continue
        to = quotient.tree.bucket[here].astype(np.int64)
        lanes, mask, stride = (
            merged.bucket_lanes[to],
            merged.bucket_mask[to],
            merged.bucket_stride[to],
        )
        held = np.flatnonzero(np.diff(form.hand_rank[form.bucket_mask[b]]))
        at = int(form.bucket_sequence[b])
        for action in range(int(form.bucket_actions[b])):
            base = merged.bucket_sequence[to] + action * lanes + quotient.tree.rank[here]
            for hand in quotient.hand[player][held].tolist():
                found[at : at + end - begin] = base + merged.hand_rank[mask, hand] * stride
                at += end - begin
    return found
