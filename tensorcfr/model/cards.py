"""The betting and the boards of a game of cards, and which boards and hands are alike.

Two boards are alike if a permutation of cards that changes neither a strength nor a range makes one
of the other.  One of them is solved for all.  On a board that such permutations leave as it is,
hands that they make of each other are alike too, and are solved as one *class*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

DECISION, DEAL, FOLD, SHOWDOWN, RUNOUT = range(5)
"""Kinds of public nodes of the betting."""


class BettingTree(NamedTuple):
    """The betting of a game of cards, the same on every board."""

    kind: np.ndarray
    """int8 (nodes,): :data:`DECISION`, ..."""
    player: np.ndarray
    """int8 (nodes,): who acts; -1 elsewhere."""
    parent: np.ndarray
    """int64 (nodes,): the node before; -1 for the root, node 0.  Parents come first."""
    step: tuple[str, ...]
    """Per node, the action that leads into it; "" after a deal and for the root."""
    first_child: np.ndarray
    """int64 (nodes,): the first of the nodes after a decision or a deal, which are adjacent."""
    children: np.ndarray
    """int64 (nodes,): how many nodes come after."""
    round: np.ndarray
    """int64 (nodes,): how often cards have been dealt on the way."""
    amounts: np.ndarray
    """float64 (nodes, 3, 2): what each player gets for a win of player 0, a tie, and a loss."""
    runs: np.ndarray
    """int64 (nodes,): how many cards are run out there; 0 elsewhere."""
    deals: tuple[int, ...]
    """How many cards are dealt for the first time, for the second time, ..."""

    @property
    def n_nodes(self) -> int:
        """Public nodes of the betting."""
        return len(self.kind)

    @property
    def rounds(self) -> int:
        """How often cards are dealt to the board on the longest way."""
        return len(self.deals)


class Boards(NamedTuple):
    """The boards of one round, in the order in which their cards are dealt."""

    cards: np.ndarray
    """int64 (boards, cards): the cards that were dealt; those that came at once ascend."""
    parent: np.ndarray
    """int64 (boards,): the board before the last deal."""
    dealt: int
    """How many cards came last."""

    @property
    def last(self) -> np.ndarray:
        """int64 (boards, dealt): the cards that came last."""
        return self.cards[:, self.cards.shape[1] - self.dealt :]


class SolvedBoards(NamedTuple):
    """The boards of one round that are solved, and how all boards are turned into them."""

    board: np.ndarray
    """int64 (solved,): number of each solved board among all of the round, ascending."""
    parent: np.ndarray
    """int64 (solved,): the solved board before the last deal."""
    alike: np.ndarray
    """int64 (solved,): how many boards each is solved for."""
    classes: np.ndarray
    """int64 (solved,): index of its classes of hands in :attr:`Symmetry.classes`."""
    played: np.ndarray
    """int64 (solved,): index of those in which hands decide in :attr:`Symmetry.played`."""
    of_board: np.ndarray
    """int64 (boards,): the solved board that each board is like."""
    permutation: np.ndarray
    """int64 (boards,): index in :class:`Symmetry` of the permutation that makes it that one."""


class HandClasses(NamedTuple):
    """The hands of one player in classes."""

    of_hand: np.ndarray
    """int64 (hands,): class of each hand."""
    first: np.ndarray
    """int64 (classes,): the first hand of each class, ascending."""
    size: np.ndarray
    """int64 (classes,): hands of each class."""

    @property
    def n_classes(self) -> int:
        """Classes."""
        return len(self.first)


class Symmetry(NamedTuple):
    """The permutations of cards that leave the game as it is; the first one leaves all cards."""

    cards: np.ndarray
    """int64 (permutations, cards): what each makes of each card."""
    hands: tuple[np.ndarray, np.ndarray]
    """For each player int64 (permutations, hands): what each makes of each hand."""
    classes: tuple[tuple[HandClasses, HandClasses], ...]
    """The classes of hands of both players on some kind of boards."""
    played: tuple[tuple[HandClasses, HandClasses], ...]
    """The classes of hands that decide alike on some kind of boards: the same, or in an abstraction
    its buckets, each of some of these classes; a bucket is in one bucket of the board before."""
    rounds: tuple[SolvedBoards, ...]
    """The boards of each round."""

    @property
    def is_trivial(self) -> bool:
        """Whether no two hands or boards are alike."""
        return len(self.cards) == 1 and self.played is self.classes

    def n_classes(self, player: int, round_: int) -> np.ndarray:
        """int64 (solved boards,): classes in which a player's hands decide on each solved board of
        a round."""
        counts = np.array([both[player].n_classes for both in self.played])
        return counts[self.rounds[round_].played]

    def class_of(self, player: int, round_: int, board: int) -> np.ndarray:
        """int64 (hands,): for hands on a board, the classes in which they decide on the solved
        board that it is like."""
        boards = self.rounds[round_]
        classes = self.played[boards.played[boards.of_board[board]]][player]
        return classes.of_hand[self.hands[player][boards.permutation[board]]]

    def stands_for(self, player: int, round_: int, board: int) -> np.ndarray:
        """int64 (hands,): of how many pairs of a board and a hand, each hand's class on the solved
        board has the sum."""
        boards = self.rounds[round_]
        solved = int(boards.of_board[board])
        classes = self.played[boards.played[solved]][player]
        found: np.ndarray = (
            boards.alike[solved] * classes.size[self.class_of(player, round_, board)]
        )
        return found
