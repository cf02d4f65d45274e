"""The boards of a game of cards, and which of them, and which hands on them, are alike.

Two boards are alike if a permutation of cards that changes neither a strength nor a range makes one
of the other.  One of them is solved for all.  On a board that such permutations leave as it is,
hands that they make of each other are alike too, and are solved as one *class*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Boards(NamedTuple):
    """The boards of one round, in the order in which their cards are dealt."""

    cards: np.ndarray
    """int64 (boards, round): the cards that were dealt."""
    parent: np.ndarray
    """int64 (boards,): the board before the last card."""


class SolvedBoards(NamedTuple):
    """The boards of one round that are solved, and how all boards are turned into them."""

    board: np.ndarray
    """int64 (solved,): number of each solved board among all of the round, ascending."""
    parent: np.ndarray
    """int64 (solved,): the solved board before the last card."""
    alike: np.ndarray
    """int64 (solved,): how many boards each is solved for."""
    classes: np.ndarray
    """int64 (solved,): index of its classes of hands in :attr:`Symmetry.classes`."""
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
    rounds: tuple[SolvedBoards, ...]
    """The boards of each round."""

    @property
    def is_trivial(self) -> bool:
        """Whether no two hands or boards are alike."""
        return len(self.cards) == 1

    def n_classes(self, player: int, round_: int) -> np.ndarray:
        """int64 (solved boards,): classes of a player's hands on each solved board of a round."""
        counts = np.array([both[player].n_classes for both in self.classes])
        found: np.ndarray = counts[self.rounds[round_].classes]
        return found

    def class_of(self, player: int, round_: int, board: int) -> np.ndarray:
        """int64 (hands,): for hands on a board, their classes on the solved board that it is
        like."""
        boards = self.rounds[round_]
        classes = self.classes[boards.classes[boards.of_board[board]]][player]
        found: np.ndarray = classes.of_hand[self.hands[player][boards.permutation[board]]]
        return found

    def stands_for(self, player: int, round_: int, board: int) -> np.ndarray:
        """int64 (hands,): of how many pairs of a board and a hand, each hand's class on the solved
        board has the sum."""
        boards = self.rounds[round_]
        solved = int(boards.of_board[board])
        classes = self.classes[boards.classes[solved]][player]
        found: np.ndarray = (
            boards.alike[solved] * classes.size[self.class_of(player, round_, board)]
        )
        return found
