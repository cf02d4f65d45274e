"""Colour refinement: partition of private hands that the payoffs of a game cannot distinguish.

The method is the one for linear programs (Grohe, Kersting, Mladenov and Selman, "Dimension
reduction via colour refinement", 2014).  All hands begin with one colour.  Two hands get different
colours as soon as their multisets of payoffs against the opponent's coloured hands differ.
Multisets are compared by hash: the sum of one uint64 per element.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._util.limits import PAYOFF_HASH_STEPS
from .._util.memory_budget import reserves
from ..model.arrays import CHANCE, PublicTree, levels_below_root
from .shared_tables import BYTES_PER_DEAL

HASH_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
"""Increment of splitmix64: 2^64 divided by the golden ratio."""


@dataclass
class Colours:
    """Colours and subgame hashes of hands."""

    hand: list[np.ndarray]
    """int64 (hands,) for each player: colour of each hand."""
    signatures: list[np.ndarray]
    """uint64 (nodes, hands) for each player: hash of the hand's subgame below the node."""


# ---------------------------------------------------------------------------------------- hashes


def hash_one(values: np.ndarray) -> np.ndarray:
    """Hash uint64 values by the finaliser of splitmix64, a bijection."""
    with np.errstate(over="ignore"):
        values = values + HASH_INCREMENT
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return values ^ (values >> np.uint64(31))


def hash_pair(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Hash ordered pairs of uint64 values."""
    with np.errstate(over="ignore"):
        return hash_one(hash_one(first) * np.uint64(3) + second)


def hash_sum(hashes: np.ndarray, axis: int) -> np.ndarray:
    """Hash multisets: sum the hashes of their elements along an axis, modulo 2^64."""
    with np.errstate(over="ignore"):
        return np.asarray(hashes.sum(axis=axis, dtype=np.uint64))


def float_bits(numbers: np.ndarray) -> np.ndarray:
    """Return floats as uint64; floats that agree to :data:`PAYOFF_HASH_STEPS` have the same
    bits."""
    mantissa, exponent = np.frexp(numbers)
    rounded = np.ldexp(np.round(mantissa * PAYOFF_HASH_STEPS) / PAYOFF_HASH_STEPS, exponent) + 0.0
    return np.ascontiguousarray(rounded).view(np.uint64)


def as_uint64(numbers: np.ndarray) -> np.ndarray:
    """Return integers as uint64, negative ones modulo 2^64."""
    return numbers.astype(np.int64).view(np.uint64)


# ------------------------------------------------------------------------------------ refinement


def root_colours(tree: PublicTree) -> Colours | None:
    """Compute the coarsest stable colours of the hands.

    Returns:
        The colours; None if all hands differ and the game has no public chance.
    """
    public_chance = bool((tree.player == CHANCE).any())
    hashes = _PayoffHashes(tree)
    signatures: list[np.ndarray] = []

    def by_tree(colour: list[np.ndarray]) -> list[np.ndarray]:
        signatures[:] = _signatures(tree, hashes, colour)
        return [player_signatures[0] for player_signatures in signatures]

    colour = _one_colour(tree)
    # Compare multisets of terminals first, which is fast and separates most hands.
    for hash_of_hands in (hashes.bags_of_terminals, by_tree):
        colour, all_differ = _refine(colour, hash_of_hands, until_apart=not public_chance)
        if all_differ and not public_chance:
            return None
    return Colours(colour, signatures)


def distinguishes_all_hands(tables: PublicTree, ways: np.ndarray) -> bool:
    """Return whether the payoffs alone distinguish all hands of a game without public chance.

    Args:
        tables: Tables whose arrays over nodes hold public states instead.
        ways: int64 (states,): number of public nodes of each state.
    """
    hashes = _PayoffHashes(tables)
    _, all_differ = _refine(
        _one_colour(tables), lambda colour: hashes.bags_of_terminals(colour, ways), until_apart=True
    )
    return all_differ


def _one_colour(tree: PublicTree) -> list[np.ndarray]:
    """Return one colour for all hands of each player."""
    return [np.zeros(hands, dtype=np.int64) for hands in tree.prior.shape]


def _refine(
    colour: list[np.ndarray],
    hash_of_hands: Callable[[list[np.ndarray]], list[np.ndarray]],
    *,
    until_apart: bool,
) -> tuple[list[np.ndarray], bool]:
    """Refine colours by hashes of the hands until the partition is stable.

    Args:
        colour: int64 (hands,) for each player: the colours so far.
        hash_of_hands: Function from colours to uint64 (hands,) for each player.
        until_apart: Whether to stop as soon as all hands differ.

    Returns:
        The colours, and whether all hands differ.
    """
    while True:
        before = [int(player_colours.max()) for player_colours in colour]
        colour = [
            _renumber(hash_pair(player_colours.astype(np.uint64), new))
            for player_colours, new in zip(colour, hash_of_hands(colour), strict=True)
        ]
        # The old colour is part of the key, so colours only split.  An equal number of colours
        # means that the partition is stable.
        after = [int(player_colours.max()) for player_colours in colour]
        all_differ = all(
            top + 1 == len(player_colours)
            for top, player_colours in zip(after, colour, strict=True)
        )
        if after == before or (all_differ and until_apart):
            return colour, all_differ


def _renumber(values: np.ndarray) -> np.ndarray:
    """Map distinct values to numbers from 0, in the order of their first occurrences."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def bytes_needed(tree: PublicTree) -> int:
    """Return a lower bound on the memory of the search for symmetries, in bytes, to refuse it
    early."""
    terminals = np.flatnonzero(tree.payoff >= 0)
    pair = tree.weight[terminals].astype(np.int64) * len(tree.matrix_table)
    pair += tree.matrix[tree.payoff[terminals]]
    tables = BYTES_PER_DEAL * len(np.unique(pair)) * tree.prior.size
    return max(tables, _bytes_of_signatures(tree))


def _bytes_of_signatures(tree: PublicTree) -> int:
    """Return the bytes of :func:`_signatures`, its scratch included."""
    # Half of the nodes or more have one depth, and a level needs five arrays of scratch.
    return int(3.5 * 8 * tree.n_nodes * sum(tree.prior.shape))


class _PayoffHashes:
    """Hashes of the rows of every payoff table, for given colours."""

    def __init__(self, tree: PublicTree) -> None:
        self.terminals = np.flatnonzero(tree.payoff >= 0)
        payoff = tree.payoff[self.terminals].astype(np.int64)
        weight = tree.weight[self.terminals].astype(np.int64)
        pair = weight * len(tree.matrix_table) + tree.matrix[payoff]
        distinct, self.table = np.unique(pair, return_inverse=True)
        self.coefficient = float_bits(tree.coefficient[payoff])
        self._hash_cells(tree, distinct)

    @reserves(lambda self, tree, distinct: BYTES_PER_DEAL * len(distinct) * tree.prior.size)
    def _hash_cells(self, tree: PublicTree, distinct: np.ndarray) -> None:
        """Hash the cells of tables with these weights and matrices, which are combined."""
        weights, matrices = np.divmod(distinct, len(tree.matrix_table))
        self.possible = tree.alive[weights]
        bits = float_bits(tree.expected_utility(weights, matrices))
        # The probability is hashed in addition to the payoff: hands of different probability must
        # differ even if they are paid nothing.
        mass = np.where(self.possible, tree.prior * tree.weight_table[weights], 0.0)
        self.cell = hash_pair(hash_pair(bits[:, 0], bits[:, 1]), float_bits(mass))

    def rows(self, colour: list[np.ndarray]) -> list[np.ndarray]:
        """Hash the rows of all tables, uint64 (tables, hands) for each player."""
        row_hashes = []
        for player in range(2):
            cell, possible = self.cell, self.possible
            if player == 1:
                cell, possible = cell.swapaxes(1, 2), possible.swapaxes(1, 2)
            hashes = hash_pair(cell, colour[1 - player].astype(np.uint64))
            row_hashes.append(hash_sum(np.where(possible, hashes, np.uint64(0)), axis=2))
        return row_hashes

    def bags_of_terminals(
        self, colour: list[np.ndarray], ways: np.ndarray | None = None
    ) -> list[np.ndarray]:
        """Hash the payoffs of each hand as a multiset over all terminals.

        Args:
            colour: int64 (hands,) for each player: the colours.
            ways: int64 (nodes,): multiplicity of each node; 1 by default.

        Returns:
            uint64 (hands,) for each player.
        """
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
                    hash_pair(row_hashes[table], kinds[1][:, None])
                    * count.astype(np.uint64)[:, None],
                    axis=0,
                )
                for row_hashes in self.rows(colour)
            ]


@reserves(lambda tree, payoffs, colour: _bytes_of_signatures(tree))
def _signatures(
    tree: PublicTree, payoffs: _PayoffHashes, colour: list[np.ndarray]
) -> list[np.ndarray]:
    """Hash each hand's subgame at every node, uint64 (nodes, hands) for each player."""
    signatures = [np.zeros((tree.n_nodes, hands), dtype=np.uint64) for hands in tree.prior.shape]
    for player_signatures, row in zip(signatures, payoffs.rows(colour), strict=True):
        player_signatures[payoffs.terminals] = hash_pair(
            row[payoffs.table], payoffs.coefficient[:, None]
        )
    possible = possible_hands(tree)
    # Levels run from the deepest up, because each node adds its hash to its parent's.
    for level in reversed(list(levels_below_root(tree.first_child))):
        children = np.arange(level.start, level.stop)
        parent = tree.parent[children]
        by_chance = tree.player[parent] == CHANCE
        action = (children - tree.first_child[parent]).astype(np.uint64)
        with np.errstate(over="ignore"):
            # Hash actions with their number, but chance outcomes only by their subgames, so that
            # equal subgames after different outcomes can be merged.
            node = node_signatures(signatures, possible, colour, children, tree.weight)
            step = np.where(by_chance, node, action)
            step = hash_pair(step, as_uint64(tree.player[parent]))
            for player, player_signatures in enumerate(signatures):
                part = hash_pair(player_signatures[children], step[:, None])
                part = np.where(possible[player][tree.weight[children]], part, np.uint64(0))
                np.add.at(player_signatures, parent, part)
    return signatures


def possible_hands(tree: PublicTree) -> list[np.ndarray]:
    """Return the hands that each player may hold, bool (weights, hands) for each player."""
    return [np.any(tree.alive, axis=2), np.any(tree.alive, axis=1)]


def node_signatures(
    signatures: list[np.ndarray],
    possible: list[np.ndarray],
    colour: list[np.ndarray],
    nodes: np.ndarray,
    weight: np.ndarray,
) -> np.ndarray:
    """Hash the subgame of some nodes over all hands of both players, uint64 (nodes,).

    Args:
        signatures: uint64 (all nodes, hands) for each player: from :class:`Colours`.
        possible: bool (weights, hands) for each player: from :func:`possible_hands`.
        colour: int64 (hands,) for each player: the colours.
        nodes: int64 (nodes,): the nodes.
        weight: int (all nodes,): row of the weight table of each node.
    """
    total = np.zeros(len(nodes), dtype=np.uint64)
    for signature, is_possible, hand in zip(signatures, possible, colour, strict=True):
        hashes = hash_pair(signature[nodes], hand.astype(np.uint64))
        part = hash_sum(np.where(is_possible[weight[nodes]], hashes, np.uint64(0)), axis=1)
        total = hash_pair(total, part)
    return total


def is_uniform(tree: PublicTree, colours: Colours) -> bool:
    """Return whether hands of one colour have equal subgames at every node where they are possible.

    In games with flushes, for example, suits have one colour at the root and differ further down.
    """
    for signature, is_possible, hand in zip(
        colours.signatures, possible_hands(tree), colours.hand, strict=True
    ):
        possible = is_possible[tree.weight]
        for colour in range(int(hand.max()) + 1):
            members = np.flatnonzero(hand == colour)
            if len(members) == 1:
                continue
            hashes, can_hold = signature[:, members], possible[:, members]
            # Compare with the first possible hand; where none is possible, ``can_hold`` masks the
            # comparison.
            first = hashes[np.arange(len(hashes)), can_hold.argmax(axis=1)]
            if (can_hold & (hashes != first[:, None])).any():
                return False
    return True


def outcome_signatures(tree: PublicTree, colours: Colours) -> np.ndarray:
    """Return a hash of the subgame after each chance outcome, uint64 (nodes,).

    Children of a chance node have equal hashes if their subgames are equal.  All other nodes have
    0.
    """
    by_chance = np.zeros(tree.n_nodes, dtype=bool)
    by_chance[1:] = tree.player[tree.parent[1:]] == CHANCE
    signatures = np.zeros(tree.n_nodes, dtype=np.uint64)
    nodes = np.flatnonzero(by_chance)
    signatures[nodes] = node_signatures(
        colours.signatures, possible_hands(tree), colours.hand, nodes, tree.weight
    )
    return signatures
