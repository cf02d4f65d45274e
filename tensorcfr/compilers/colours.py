"""Colour refinement: which private hands the payoffs of a game cannot tell apart.

The method is that for linear programs (Grohe, Kersting, Mladenov and Selman, "Dimension reduction
via colour refinement", 2014).  All hands begin with one colour.  Two hands get different colours
as soon as their multisets of payoffs, against the opponent's hands under the colours so far,
differ.  Multisets are compared by hash: a uint64 per element, summed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._util.limits import PAYOFF_HASH_STEPS
from .._util.memory import reserve
from ..model.arrays import CHANCE, PublicTree
from ..model.levels import levels_below_root
from .tables import BYTES_PER_DEAL

HASH_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
"""The increment of splitmix64: 2^64 divided by the golden ratio."""


@dataclass
class Colours:
    """Colours and subgame hashes of hands."""

    hand: list[np.ndarray]
    """int64 (hands,), for each player: colour."""
    signatures: list[np.ndarray]
    """uint64 (nodes, hands), for each player: hash of the hand's subgame from the node on."""


# ---------------------------------------------------------------------------------------- hashes


def hash_one(values: np.ndarray) -> np.ndarray:
    """Hash of uint64 values (the finaliser of splitmix64; a bijection)."""
    with np.errstate(over="ignore"):
        values = values + HASH_INCREMENT
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return values ^ (values >> np.uint64(31))


def hash_pair(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Hash of ordered pairs of uint64 values."""
    with np.errstate(over="ignore"):
        return hash_one(hash_one(first) * np.uint64(3) + second)


def hash_sum(hashes: np.ndarray, axis: int) -> np.ndarray:
    """Hash of multisets: their elements' hashes, summed along an axis, modulo 2^64."""
    with np.errstate(over="ignore"):
        return np.asarray(hashes.sum(axis=axis, dtype=np.uint64))


def float_bits(numbers: np.ndarray) -> np.ndarray:
    """Floats as uint64; numbers that agree to :data:`PAYOFF_HASH_STEPS` have the same bits."""
    mantissa, exponent = np.frexp(numbers)
    rounded = np.ldexp(np.round(mantissa * PAYOFF_HASH_STEPS) / PAYOFF_HASH_STEPS, exponent) + 0.0
    return np.ascontiguousarray(rounded).view(np.uint64)


def as_uint64(numbers: np.ndarray) -> np.ndarray:
    """Integers as uint64, negative ones modulo 2^64."""
    return numbers.astype(np.int64).view(np.uint64)


# ------------------------------------------------------------------------------------ refinement


def root_colours(tree: PublicTree) -> Colours | None:
    """The coarsest stable colours of the hands.

    Returns:
        The colours; None if all hands differ and the game has no public chance.
    """
    public_chance = bool((tree.player == CHANCE).any())
    hashes = _PayoffHashes(tree)
    signatures: list[np.ndarray] = []

    def by_tree(colour: list[np.ndarray]) -> list[np.ndarray]:
        signatures[:] = _signatures(tree, hashes, colour)
        return [own[0] for own in signatures]

    colour = _one_colour(tree)
    # Compare multisets of terminals first, which is fast and separates most hands.
    for hash_of_hands in (hashes.bags_of_terminals, by_tree):
        colour, all_differ = _refined(colour, hash_of_hands, until_apart=not public_chance)
        if all_differ and not public_chance:
            return None
    return Colours(colour, signatures)


def tells_hands_apart(tables: PublicTree, ways: np.ndarray) -> bool:
    """Whether the payoffs alone tell all hands of a game without public chance apart.

    Args:
        tables: Arrays over public states in place of those over nodes.
        ways: int64 (states,): number of public nodes of each state.
    """
    hashes = _PayoffHashes(tables)
    _, all_differ = _refined(
        _one_colour(tables), lambda own: hashes.bags_of_terminals(own, ways), until_apart=True
    )
    return all_differ


def _one_colour(tree: PublicTree) -> list[np.ndarray]:
    """One colour for all hands of each player."""
    return [np.zeros(hands, dtype=np.int64) for hands in tree.prior.shape]


def _refined(
    colour: list[np.ndarray],
    hash_of_hands: Callable[[list[np.ndarray]], list[np.ndarray]],
    *,
    until_apart: bool,
) -> tuple[list[np.ndarray], bool]:
    """Colours told apart by the hashes of hands under them, uint64 (hands,) for each player, until
    no hash tells more apart or, on demand, all hands differ; and whether they do."""
    while True:
        before = [int(own.max()) for own in colour]
        colour = [
            _number(hash_pair(own.astype(np.uint64), new))
            for own, new in zip(colour, hash_of_hands(colour), strict=True)
        ]
        after = [int(own.max()) for own in colour]
        all_differ = all(top + 1 == len(own) for top, own in zip(after, colour, strict=True))
        if after == before or (all_differ and until_apart):
            return colour, all_differ


def _number(values: np.ndarray) -> np.ndarray:
    """Numbers from 0 for distinct values, in the order in which the values occur first."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def bytes_needed(tree: PublicTree) -> int:
    """Least memory of the search for symmetries in bytes, in order to refuse it early."""
    terminals = np.flatnonzero(tree.payoff >= 0)
    pair = tree.weight[terminals].astype(np.int64) * len(tree.matrix_table)
    pair += tree.matrix[tree.payoff[terminals]]
    tables = BYTES_PER_DEAL * len(np.unique(pair)) * tree.prior.size
    return max(tables, _bytes_of_signatures(tree))


def _bytes_of_signatures(tree: PublicTree) -> int:
    # Half of the nodes or more are of one depth, which takes five arrays of scratch.
    return int(3.5 * 8 * tree.n_nodes * sum(tree.prior.shape))


class _PayoffHashes:
    """Hashes of the rows of every payoff table, under given colours."""

    def __init__(self, tree: PublicTree) -> None:
        self.terminals = np.flatnonzero(tree.payoff >= 0)
        payoff = tree.payoff[self.terminals].astype(np.int64)
        weight = tree.weight[self.terminals].astype(np.int64)
        pair = weight * len(tree.matrix_table) + tree.matrix[payoff]
        distinct, self.table = np.unique(pair, return_inverse=True)
        self.coefficient = float_bits(tree.coefficient[payoff])
        weights, matrices = np.divmod(distinct, len(tree.matrix_table))
        reserve(BYTES_PER_DEAL * len(distinct) * tree.prior.size)
        self.possible = tree.alive[weights]
        bits = float_bits(tree.expected_utility(weights, matrices))
        mass = np.where(self.possible, tree.prior * tree.weight_table[weights], 0.0)
        self.cell = hash_pair(hash_pair(bits[:, 0], bits[:, 1]), float_bits(mass))

    def rows(self, colour: list[np.ndarray]) -> list[np.ndarray]:
        """uint64 (tables, hands), for each player."""
        found = []
        for player in range(2):
            cell, possible = self.cell, self.possible
            if player == 1:
                cell, possible = cell.swapaxes(1, 2), possible.swapaxes(1, 2)
            hashes = hash_pair(cell, colour[1 - player].astype(np.uint64))
            found.append(hash_sum(np.where(possible, hashes, np.uint64(0)), axis=2))
        return found

    def bags_of_terminals(
        self, colour: list[np.ndarray], ways: np.ndarray | None = None
    ) -> list[np.ndarray]:
        """The payoffs of each hand as a multiset over all terminals, uint64 (hands,), for each
        player; ``ways``, int64 (nodes,), says how often each node counts."""
        kinds, kind, count = np.unique(
            np.stack([self.table.astype(np.uint64), self.coefficient]),
            axis=1,
            return_inverse=True,
            return_counts=True,
        )
        if ways is not None:
            count = np.zeros(len(count), dtype=np.int64)
            np.add.at(count, kind, ways[self.terminals])
        table = kinds[0].astype(np.int64)
        with np.errstate(over="ignore"):
            return [
                hash_sum(
                    hash_pair(own[table], kinds[1][:, None]) * count.astype(np.uint64)[:, None],
                    axis=0,
                )
                for own in self.rows(colour)
            ]


def _signatures(
    tree: PublicTree, payoffs: _PayoffHashes, colour: list[np.ndarray]
) -> list[np.ndarray]:
    """Hash of each hand's subgame at every node, from the leaves up, uint64 (nodes, hands) for each
    player."""
    reserve(_bytes_of_signatures(tree))
    found = [np.zeros((tree.n_nodes, hands), dtype=np.uint64) for hands in tree.prior.shape]
    for own, row in zip(found, payoffs.rows(colour), strict=True):
        own[payoffs.terminals] = hash_pair(row[payoffs.table], payoffs.coefficient[:, None])
    possible = possible_hands(tree)
    for level in reversed(list(levels_below_root(tree.first_child))):
        children = np.arange(level.start, level.stop)
        above = tree.parent[children]
        by_chance = tree.player[above] == CHANCE
        action = (children - tree.first_child[above]).astype(np.uint64)
        with np.errstate(over="ignore"):
            # Hash actions with their number, but outcomes of chance only by their subgames.
            node = node_signatures(found, possible, colour, children, tree.weight)
            step = np.where(by_chance, node, action)
            step = hash_pair(step, as_uint64(tree.player[above]))
            for player, own in enumerate(found):
                part = hash_pair(own[children], step[:, None])
                part = np.where(possible[player][tree.weight[children]], part, np.uint64(0))
                np.add.at(own, above, part)
    return found


def possible_hands(tree: PublicTree) -> list[np.ndarray]:
    """The hands that each player may hold, bool (weights, hands), for each player."""
    return [np.any(tree.alive, axis=2), np.any(tree.alive, axis=1)]


def node_signatures(
    signatures: list[np.ndarray],
    possible: list[np.ndarray],
    colour: list[np.ndarray],
    nodes: np.ndarray,
    weight: np.ndarray,
) -> np.ndarray:
    """Hash of the subgame of some nodes over all hands of both players, uint64 (nodes,), from the
    signatures, possible hands and colours of each player; ``weight`` is over all nodes."""
    total = np.zeros(len(nodes), dtype=np.uint64)
    for own, can, hand in zip(signatures, possible, colour, strict=True):
        hashes = hash_pair(own[nodes], hand.astype(np.uint64))
        part = hash_sum(np.where(can[weight[nodes]], hashes, np.uint64(0)), axis=1)
        total = hash_pair(total, part)
    return total


def is_uniform(tree: PublicTree, colours: Colours) -> bool:
    """Whether hands of one colour have equal subgames at every node where they are possible.

    In games with flushes, for example, suits have one colour at the root and differ further down.
    """
    for own, can, hand in zip(colours.signatures, possible_hands(tree), colours.hand, strict=True):
        possible = can[tree.weight]
        for colour in range(int(hand.max()) + 1):
            members = np.flatnonzero(hand == colour)
            if len(members) == 1:
                continue
            given, here = own[:, members], possible[:, members]
            first = given[np.arange(len(given)), here.argmax(axis=1)]
            if (here & (given != first[:, None])).any():
                return False
    return True


def outcome_signatures(tree: PublicTree, colours: Colours) -> np.ndarray:
    """uint64 (nodes,): hash that is equal for children of a chance node with equal subgames; 0 at
    all other nodes."""
    by_chance = np.zeros(tree.n_nodes, dtype=bool)
    by_chance[1:] = tree.player[tree.parent[1:]] == CHANCE
    found = np.zeros(tree.n_nodes, dtype=np.uint64)
    nodes = np.flatnonzero(by_chance)
    found[nodes] = node_signatures(
        colours.signatures, possible_hands(tree), colours.hand, nodes, tree.weight
    )
    return found
