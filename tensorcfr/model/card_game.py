"""A compiled game of cards: betting x boards x hands, in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import suggest
from ..rules import CardGame
from .card_boards import Boards, Symmetry
from .chunks import ChunkedForm
from .cut_game import Counts, CutGame, Recipe
from .game import CompiledGame
from .lines import Found, Lines, Place

ANY_CARD = "*"
"""In a line, any card that can be dealt."""
DECISION, DEAL, FOLD, SHOWDOWN = range(4)
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
    """int64 (nodes,): cards that have been dealt on the way."""
    amounts: np.ndarray
    """float64 (nodes, 3, 2): what each player gets for a win of player 0, a tie, and a loss."""

    @property
    def n_nodes(self) -> int:
        """Public nodes of the betting."""
        return len(self.kind)

    @property
    def rounds(self) -> int:
        """Cards that are dealt to the board on the longest way."""
        return int(self.round.max())


class CompiledCardGame(CutGame):
    """A game of cards in chunks.

    Args:
        name: How the game was asked for.
        rules: The rules.
        betting: Its betting.
        boards: The boards of each round.
        symmetry: Which of them are solved, and which hands on them are alike.
        chunks: The game in chunks.
        counts: What there is of it.
        deals: Sum of the weights of the pairs of hands that can be dealt.
        board_begin: For each player and round, where the classes of hands on each solved board
            begin, int64 (boards + 1,).
        node_place: int64 (kinds, nodes, 2): for every kind of board (in a chunk) and decision the
            group of lines of the last round that it is in, -1 for the trunk, and the sequence of
            its first class of hands on the first board; in a chunk, from the chunk's first
            sequence.
        node_stride: int64 (kinds, nodes): distance between the sequences of consecutive actions.
        groups: Groups of lines in the last round.
        recipe: How to compile the game again.
        flatten: Makes the flat game.
        number: From the flat game, the number of each of its sequences in a solver's arrays.
        lines: From this game, its public nodes.
    """

    def __init__(
        self,
        name: str,
        rules: CardGame,
        betting: BettingTree,
        boards: tuple[Boards, ...],
        symmetry: Symmetry,
        chunks: ChunkedForm,
        counts: Counts,
        deals: float,
        *,
        board_begin: list[list[np.ndarray]],
        node_place: np.ndarray,
        node_stride: np.ndarray,
        groups: int,
        recipe: Recipe,
        flatten: Callable[[], CompiledGame],
        number: Callable[[CompiledGame], np.ndarray],
        lines: Callable[[Any], Lines],
    ) -> None:
        hands = tuple(
            tuple(rules.hand_label(player, hand) for hand in range(len(rules.hands[player])))
            for player in range(2)
        )
        ends = betting.kind >= FOLD
        super().__init__(
            name,
            chunks,
            counts,
            recipe=recipe,
            hands=hands,
            utilities=betting.amounts[ends].reshape(-1, 2),
            merges_hands=not symmetry.is_trivial,
            flatten=flatten,
            number=number,
            lines=lines,
        )
        self.__dict__.update(
            rules=rules,
            betting=betting,
            boards=boards,
            symmetry=symmetry,
            board_begin=board_begin,
            deals=deals,
            node_place=node_place,
            node_stride=node_stride,
            groups=groups,
        )

    rules: CardGame
    betting: BettingTree
    boards: tuple[Boards, ...]
    symmetry: Symmetry
    board_begin: list[list[np.ndarray]]
    deals: float
    node_place: np.ndarray
    node_stride: np.ndarray
    groups: int

    def find(self, line: str | Sequence[str]) -> tuple[int, int]:
        """The public node of a line such as ``"check bet120 call 7s"``.

        Returns:
            The node of the betting, and the number of its board among those of its round.

        Raises:
            ValueError: There is no such line; names the step.
        """
        node, boards = self.find_all(line)
        if len(boards) > 1:
            raise ValueError(f"line: {ANY_CARD!r} is any card, and one line is asked for")
        return node, int(boards[0])

    def find_all(self, line: str | Sequence[str]) -> tuple[int, np.ndarray]:
        """The public nodes of a line that may have ``*`` for any card: ``"check check *"``.

        Returns:
            The node of the betting, and the numbers of its boards among those of its round, int64.

        Raises:
            ValueError: There is no such line; names the step.
        """
        betting, rules = self.betting, self.rules
        labels = {str(card): number for number, card in enumerate(rules.cards)}
        node, found = 0, np.zeros(1, dtype=np.int64)
        taken: list[str] = []
        for step in line.split() if isinstance(line, str) else line:
            where = f"after {' '.join(taken)!r}" if taken else "at the start"
            taken.append(str(step))
            first, count = int(betting.first_child[node]), int(betting.children[node])
            if betting.kind[node] == DEAL:
                of_round = self.boards[int(betting.round[node]) + 1]
                fits = np.isin(of_round.parent, found)
                if step != ANY_CARD:
                    fits &= of_round.cards[:, -1] == labels.get(str(step), -1)
                if not fits.any():
                    raise ValueError(f"line: in {self.name} {step!r} cannot be dealt {where}")
                node, found = first, np.flatnonzero(fits)
                continue
            actions = list(betting.step[first : first + count])
            if step not in actions:
                raise ValueError(
                    f"line: {self.name} has no step {step!r} {where}; {suggest(str(step), actions)}"
                )
            node = first + actions.index(str(step))
        return node, found

    def find_infoset(self, label: str) -> Found:
        """An infoset by one hand and a line, ``"AsKs check bet66"``.

        Raises:
            KeyError: There is no such infoset, or the label names several.
        """
        try:
            node, boards, named = self._hands_at(label)
        except ValueError as error:
            raise KeyError(str(error)) from None
        board = int(boards[0])
        place = self.place(node, board)
        hands = np.flatnonzero(named & self.possible(node, board, place.player))
        if len(boards) > 1 or len(hands) != 1:
            raise KeyError(f"{self.name}: {label!r} names several infosets")
        return Found(" ".join(label.split()), self.node_number(node, board), place, int(hands[0]))

    def node_number(self, node: int, board: int) -> int:
        """The number in :attr:`lines` of a node of the betting, on a board of its round."""
        return board * self.betting.n_nodes + node

    def lockable(self, label: str) -> tuple[str, tuple[str, ...]]:
        """What a label locks: hands and a line, ``"AA-TT,AKs check bet66"``.

        Raises:
            ValueError: There is no such line, nobody acts after it, or the player can have none of
                the hands.
        """
        node, _, _ = self._hands_at(label)
        begin, count = int(self.betting.first_child[node]), int(self.betting.children[node])
        return " ".join(label.split()), self.betting.step[begin : begin + count]

    def locked(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """As for any game."""
        return self.locked_numbers(rows)[self.numbers]

    def named(self, label: str) -> Iterable[tuple[int, np.ndarray]]:
        """As for any game in chunks: all boards and hands that a label names."""
        node, boards, named = self._hands_at(label)
        return [(self.node_number(node, board), named) for board in boards.tolist()]

    def _hands_at(self, label: str) -> tuple[int, np.ndarray, np.ndarray]:
        """The node of the betting, the boards, and the hands, bool (hands,), that a label names."""
        words = label.split()
        if not words:
            raise ValueError(f"{self.name}: a lock names hands and a line, 'AA-TT,AKs check bet66'")
        node, boards = self.find_all(words[1:])
        if self.betting.kind[node] != DECISION:
            raise ValueError(f"{self.name}: nobody acts after {' '.join(words[1:])!r}")
        player = int(self.betting.player[node])
        try:
            named = self.rules.named_hands(player, words[0])
        except ValueError as error:
            raise ValueError(f"lock of {label!r}: {error}") from None
        if not any((named & self.possible(node, board, player)).any() for board in boards.tolist()):
            raise ValueError(f"lock of {label!r}: player {player} can have none of these hands")
        return node, boards, named

    def board_cards(self, node: int, board: int) -> tuple[int, ...]:
        """The cards that lie on the board at a public node."""
        dealt = self.boards[int(self.betting.round[node])].cards[board]
        return (*self.rules.board, *dealt.tolist())

    def possible(self, node: int, board: int, player: int) -> np.ndarray:
        """Whether a player can hold each hand at a public node, bool (hands,)."""
        cards = self.board_cards(node, board)
        taken: np.ndarray = np.isin(self.rules.hands[player], cards)
        free: np.ndarray = np.logical_not(np.any(taken, axis=1))
        return free

    def place(self, node: int, board: int) -> Place:
        """Where the infosets of a decision lie.

        Raises:
            ValueError: Nobody acts there.
        """
        betting = self.betting
        if betting.kind[node] != DECISION:
            raise ValueError(f"{self.name}: nobody acts at this public node")
        player, r = int(betting.player[node]), int(betting.round[node])
        boards = self.symmetry.rounds[r]
        solved = int(boards.of_board[board])
        kind = int(boards.classes[solved])
        group, first = self.node_place[kind, node].tolist()
        chunk = solved * self.groups + group if group >= 0 else -1
        if chunk >= 0:
            first += int(self.chunks.first[chunk])
        else:
            first += int(self.board_begin[player][r][solved])
        begin, count = int(betting.first_child[node]), int(betting.children[node])
        return Place(
            player=player,
            actions=betting.step[begin : begin + count],
            chunk=chunk,
            first=first,
            stride=int(self.node_stride[kind, node]),
            lane=self.symmetry.class_of(player, r, board),
            stands_for=self.symmetry.stands_for(player, r, board),
        )
