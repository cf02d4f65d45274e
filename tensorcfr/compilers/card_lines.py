"""The public nodes of a game of cards in chunks."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ..model.arrays import CHANCE, TERMINAL
from ..model.card_game import DEAL, DECISION, CompiledCardGame
from ..model.lines import Found, Lines, Place, Step
from .card_rules import Weighted, weight_met


class CardLines(Lines):
    """Betting x boards: a node has the number ``board * betting nodes + betting node``, with the
    boards of its round.

    Args:
        game: The game.
    """

    def __init__(self, game: CompiledCardGame) -> None:
        self._game, self._betting = game, game.betting

    @property
    def count(self) -> int:  # noqa: D102
        boards = np.array([len(one.parent) for one in self._game.boards])
        return int(boards[self._betting.round].sum())

    def _at(self, number: int) -> tuple[int, int]:
        """Node of the betting, and board of its round.

        Raises:
            ValueError: There is no such node.
        """
        board, node = divmod(number, self._betting.n_nodes)
        if not 0 <= board < len(self._game.boards[int(self._betting.round[node])].parent):
            raise ValueError(f"there is no public node {number}")
        return node, board

    def player(self, node: int) -> int:  # noqa: D102
        at, _ = self._at(node)
        kind = self._betting.kind[at]
        if kind == DECISION:
            return int(self._betting.player[at])
        return CHANCE if kind == DEAL else TERMINAL

    def children(self, node: int) -> list[Step]:  # noqa: D102
        game, betting = self._game, self._betting
        at, board = self._at(node)
        begin, count = int(betting.first_child[at]), int(betting.children[at])
        if betting.kind[at] == DECISION:
            after = range(begin, begin + count)
            return [Step(game.node_number(one, board), betting.step[one]) for one in after]
        if betting.kind[at] != DEAL:
            return []
        dealt = game.boards[int(betting.round[at]) + 1]
        return [
            Step(game.node_number(begin, after), str(game.rules.cards[int(dealt.cards[after, -1])]))
            for after in np.flatnonzero(dealt.parent == board).tolist()
        ]

    def path(self, node: int) -> list[Step]:  # noqa: D102
        game, betting = self._game, self._betting
        at, board = self._at(node)
        found = []
        while at:
            above = int(betting.parent[at])
            label, number = betting.step[at], game.node_number(at, board)
            if betting.kind[above] == DEAL:
                dealt = game.boards[int(betting.round[at])]
                label = str(game.rules.cards[int(dealt.cards[board, -1])])
                board = int(dealt.parent[board])
            found.append(Step(number, label))
            at = above
        return found[::-1]

    def place(self, node: int) -> Place:  # noqa: D102
        return self._game.place(*self._at(node))

    def label(self, node: int) -> str:  # noqa: D102
        return "".join(f" {step.label}" for step in self.path(node))

    def labels(self, node: int, hands: Iterable[int]) -> list[str]:  # noqa: D102
        names, line = self._game.hands[self.player(node)], self.label(node)
        return [f"{names[hand]}{line}" for hand in hands]

    def held(self, node: int, player: int) -> np.ndarray:  # noqa: D102
        live = [self._game.possible(*self._at(node), one).astype(np.float64) for one in range(2)]
        found: np.ndarray = weight_met(Weighted(self._game.rules, live), player) * live[player] > 0
        return found

    def met(self, node: int, player: int, other: np.ndarray) -> np.ndarray:  # noqa: D102
        rules, (at, board) = self._game.rules, self._at(node)
        left = [rules.weights[0], rules.weights[1]]
        left[1 - player] = left[1 - player] * other * self._game.possible(at, board, 1 - player)
        met = weight_met(Weighted(rules, left), player)
        # Differences of sums leave rounding where all that is left shares a card with a hand.
        met[met <= 1e-12 * left[1 - player].sum()] = 0.0
        met *= self._game.possible(at, board, player)
        free = len(rules.cards) - len(rules.board) - 2 * rules.hands[0].shape[1]
        boards = math.prod(free - k for k in range(int(self._betting.round[at])))
        found: np.ndarray = rules.weights[player] * met / (self._game.deals * boards)
        return found

    def paid(self, node: int, player: int, other: np.ndarray) -> None:
        """Nothing: showdowns are worked out by chunks."""

    def find(self, label: str) -> Found | None:  # noqa: D102
        try:
            return self._game.find_infoset(label)
        except KeyError:
            return None
