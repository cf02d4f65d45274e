"""The betting and the boards of a card game, and their symmetries.

Two boards are equivalent if a permutation of cards that changes neither a strength nor a range maps
one to the other.  One of them is solved for all.  On a board that such permutations leave
unchanged, hands that they map to each other are equivalent too, and are solved as one *class*.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

DECISION, DEAL, FOLD, SHOWDOWN, RUNOUT = range(5)
"""Kinds of public nodes of the betting."""


@cache
def orders_of(players: int) -> np.ndarray:
    """Return all orders of the players' strengths, ties included.

    Returns:
        int64 (orders, players): rank of each player's hand; the weakest have rank 0.  The orders of
        two players are a win of player 0, a tie, and a loss.
    """
    ranks = product(range(players), repeat=players)
    dense = [order for order in ranks if set(order) == set(range(max(order) + 1))]
    dense.sort(key=lambda order: code_of(np.array(order)[:, None]).item())
    orders = np.array(dense, dtype=np.int64)
    orders.flags.writeable = False
    return orders


def code_of(strengths: np.ndarray) -> np.ndarray:
    """Encode the order of some strengths as a number.

    Args:
        strengths: int64 (players, ...): strengths, or ranks, of each player's hand.

    Returns:
        int64 (...): the order; smaller numbers have player 0 ahead.
    """
    code = np.zeros(strengths.shape[1:], dtype=np.int64)
    for first, second in combinations(strengths, 2):
        code = 3 * code + 1 - np.sign(first - second)
    return code


class BettingTree(NamedTuple):
    """Betting of a card game, the same on every board."""

    kind: np.ndarray
    """int8 (nodes,): kind, :data:`DECISION`, ..."""
    player: np.ndarray
    """int8 (nodes,): acting player; -1 elsewhere."""
    parent: np.ndarray
    """int64 (nodes,): parent; -1 for the root, node 0.  Parents come before their children."""
    step: tuple[str, ...]
    """Action that leads into each node; "" after a deal and for the root."""
    first_child: np.ndarray
    """int64 (nodes,): first child of a decision or a deal; its children are contiguous."""
    children: np.ndarray
    """int64 (nodes,): number of children."""
    round: np.ndarray
    """int64 (nodes,): number of deals on the path to the node."""
    amounts: np.ndarray
    """float64 (nodes, orders, players): amount that each player gets for each order of the hands,
    from :func:`orders_of`: of two players for a win of player 0, a tie, and a loss."""
    runs: np.ndarray
    """int64 (nodes,): number of cards that are run out there; 0 elsewhere."""
    deals: tuple[int, ...]
    """Number of cards of each deal."""
    competing: np.ndarray
    """bool (nodes, players): True where side pots may follow for which the player competes by the
    strength of the hand."""

    @property
    def n_nodes(self) -> int:
        """Number of public nodes of the betting."""
        return len(self.kind)

    @property
    def rounds(self) -> int:
        """Largest number of deals to the board on a path."""
        return len(self.deals)


class RoundBoards(NamedTuple):
    """Boards of one round, in the order in which their cards are dealt."""

    cards: np.ndarray
    """int64 (boards, cards): cards in the order of the deals; the cards of one deal ascend."""
    parent: np.ndarray
    """int64 (boards,): board before the last deal."""
    dealt: int
    """Number of cards of the last deal."""

    @property
    def last(self) -> np.ndarray:
        """int64 (boards, dealt): cards of the last deal."""
        return self.cards[:, self.cards.shape[1] - self.dealt :]


class SolvedBoards(NamedTuple):
    """Boards of one round that are solved, and the map from all boards to them."""

    board: np.ndarray
    """int64 (solved,): number of each solved board among all boards of the round, ascending."""
    parent: np.ndarray
    """int64 (solved,): solved board before the last deal."""
    orbit_size: np.ndarray
    """int64 (solved,): number of boards that each is solved for."""
    classes: np.ndarray
    """int64 (solved,): index of its classes of hands in :attr:`Symmetry.classes`."""
    played: np.ndarray
    """int64 (solved,): index in :attr:`Symmetry.played` of the classes in which hands decide."""
    of_board: np.ndarray
    """int64 (boards,): solved board that each board is equivalent to."""
    permutation: np.ndarray
    """int64 (boards,): index in :class:`Symmetry` of the permutation that maps each board to its
    solved board."""


class HandClasses(NamedTuple):
    """Partition of the hands of one player into classes."""

    of_hand: np.ndarray
    """int64 (hands,): class of each hand."""
    first: np.ndarray
    """int64 (classes,): first hand of each class, ascending."""
    size: np.ndarray
    """int64 (classes,): number of hands of each class."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.first)


class Symmetry(NamedTuple):
    """Permutations of cards that leave the game unchanged; the first one is the identity."""

    cards: np.ndarray
    """int64 (permutations, cards): image of each card."""
    hands: tuple[np.ndarray, ...]
    """Image of each hand under each permutation, for each player int64 (permutations, hands)."""
    classes: tuple[tuple[HandClasses, ...], ...]
    """Classes of hands of each player, for each kind of boards."""
    played: tuple[tuple[HandClasses, ...], ...]
    """Classes of hands that share a strategy, for each kind of boards.  They equal :attr:`classes`,
    or in an abstraction they are its buckets, each a union of classes; a bucket lies in one bucket
    of the board before."""
    rounds: tuple[SolvedBoards, ...]
    """Solved boards of each round."""

    @property
    def is_trivial(self) -> bool:
        """True if no two hands or boards are equivalent."""
        return len(self.cards) == 1 and self.played is self.classes

    def n_classes(self, player: int, round_: int) -> np.ndarray:
        """Return the number of classes in which a player's hands decide on each solved board of a
        round, int64 (solved boards,)."""
        counts = np.array([both[player].n_classes for both in self.played])
        return counts[self.rounds[round_].played]

    def class_of(self, player: int, round_: int, board: int) -> np.ndarray:
        """Return the class in which each hand on a board decides on the solved board that is
        equivalent to it, int64 (hands,)."""
        boards = self.rounds[round_]
        classes = self.played[boards.played[boards.of_board[board]]][player]
        return classes.of_hand[self.hands[player][boards.permutation[board]]]

    def multiplicity(self, player: int, round_: int, board: int) -> np.ndarray:
        """Return the multiplicity of each hand on a board, int64 (hands,): the number of pairs of a
        board and a hand that are solved as its class."""
        boards = self.rounds[round_]
        solved = int(boards.of_board[board])
        classes = self.played[boards.played[solved]][player]
        multiplicity: np.ndarray = (
            boards.orbit_size[solved] * classes.size[self.class_of(player, round_, board)]
        )
        return multiplicity
