"""Payoffs of a card game of three players: amounts of terminals, and hands by strength."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ...model.card_structure import FOLD, HandClasses, orders_of
from ...payoff.three_hands import BOTH, CONSTANT, FIRST, PLAYERS, SECOND, PayoffThreeHands
from ...rules import CardGame
from .card_sums import without
from .form import CardForm
from .payoffs import PayoffBuilder

ROUNDING = 1e-12
"""Largest difference between payoffs, relative to the largest, that counts as rounding."""


class ThreeHandPayoffs(PayoffBuilder):
    """Builder for the payoffs of a card game of three players."""

    kind = PayoffThreeHands

    def __init__(self, rules: CardGame, *others: Any) -> None:
        super().__init__(rules, *others)
        self._begin = np.append(0, np.cumsum([len(hands) for hands in rules.hands]))

    def of(  # noqa: D102
        self, form: CardForm, inside: np.ndarray, on_boards: list[list[list[np.ndarray]]]
    ) -> PayoffThreeHands:
        rules, where = self.rules, form.where
        boards, sequences, amounts = list[int](), [], []
        kinds = [kind for of_round in where.classes[: len(on_boards)] for kind in of_round.tolist()]
        first_board = np.cumsum([0, *map(len, on_boards)])
        for r in range(len(on_boards) or self.betting.rounds + 1):
            solved_for, before = np.ones(1), 0
            if on_boards:
                solved_for, before = self.solved_for[r][where.boards[r]], int(first_board[r])
            is_end = inside & (self.betting.kind >= FOLD) & (self.betting.round == r)
            for node in np.flatnonzero(is_end).tolist():
                ends = [form.ended(p, acts[node], r) for p, acts in enumerate(self.last)]
                pays = self.dealing.share(r) * amounts_of(self.betting.amounts[node])
                boards += range(before, before + len(solved_for))
                sequences += list(np.stack(ends, axis=1))
                amounts += list(pays * solved_for[:, None, None])
        classes = self.symmetry.classes
        if not on_boards:
            kinds, classes = [0], (classes[int(where.classes[-1][0])],)
        class_of, own_weight = self._classes(classes)
        hands = np.concatenate(rules.hands)
        if hands.shape[1] == 1:
            hands = np.column_stack([hands, hands + len(rules.cards)])
        # Cards of the board are in no hand, so they need no number.
        cards, numbers = np.unique(hands, return_inverse=True)
        return PayoffThreeHands(
            cards=np.array([len(cards)]),
            hand_begin=self._begin,
            hand=numbers.reshape(hands.shape),
            weight=np.concatenate(rules.weights),
            class_of=class_of,
            own_weight=own_weight,
            board_kind=np.array(kinds),
            terminal_board=np.array(boards, dtype=np.int64),
            sequence=np.array(sequences, dtype=np.int64).reshape(-1, PLAYERS).T.copy(),
            amount=np.array(amounts).reshape(-1, PLAYERS, BOTH + 1).swapaxes(0, 1).copy(),
            **self._by_strength([level for of_round in on_boards for (level,) in of_round]),
        )

    def board_arrays(  # noqa: D102
        self, r: int, board: int, on_board: list[np.ndarray]
    ) -> dict[str, np.ndarray]:
        return self._by_strength(on_board)

    def on_boards(self, r: int) -> Iterator[list[np.ndarray]]:
        """Yield the ranks of the strengths of all hands on every solved board of a round."""
        for board in self.symmetry.rounds[r].board.tolist():
            yield [self._levels(r, board)]

    def _by_strength(self, levels: list[np.ndarray]) -> dict[str, np.ndarray]:
        """Return :attr:`PayoffThreeHands.level` of some boards, and the arrays that follow from
        it."""
        level = np.array(levels, dtype=np.int64).reshape(-1, int(self._begin[-1]))
        ranks = np.arange(level.max(initial=-1) + 2)[:, None]
        of_players = [level[:, begin:end] for begin, end in pairwise(self._begin)]
        order = [np.argsort(of_player, axis=1, kind="stable") for of_player in of_players]
        ends = [(of_player[:, None] < ranks).sum(axis=2) for of_player in of_players]
        return {
            "level": level,
            "order": np.concatenate(order, axis=1),
            "level_end": np.stack(ends, axis=1),
        }

    def _levels(self, r: int, board: int) -> np.ndarray:
        """Return the ranks of the strengths of all hands on a board, int64 (hands,)."""
        dealt = self.boards[r].cards[board]
        cards = (*self.rules.board, *dealt.tolist())
        hands = np.concatenate(self.rules.hands)
        live, level = without(hands, dealt), np.full(len(hands), -1)
        level[live] = 0
        if self.shows[r] and live.any():
            strength = np.asarray(self.rules.strength(cards, hands[live]))
            level[live] = np.unique(strength, return_inverse=True)[1]
        return level

    def _classes(self, kinds: tuple[tuple[HandClasses, ...], ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return :attr:`PayoffThreeHands.class_of` and :attr:`PayoffThreeHands.own_weight`."""
        class_of = np.array(
            [np.concatenate([classes.of_hand for classes in kind]) for kind in kinds]
        )
        own_weight = np.zeros(class_of.shape)
        for of_kind, kind in zip(own_weight, kinds, strict=True):
            for player, classes in enumerate(kind):
                weights = self.rules.weights[player][classes.first] * classes.size
                of_kind[self._begin[player] + classes.first] = weights
        return class_of, own_weight


def amounts_of(utilities: np.ndarray) -> np.ndarray:
    """Return :attr:`PayoffThreeHands.amount` of a terminal, per unit of weight.

    Args:
        utilities: float64 (orders, 3): utilities by the order of the hands, as in
            :func:`~tensorcfr.model.card_structure.orders_of`.

    Returns:
        float64 (3, 4).
    """
    orders = orders_of(PLAYERS)
    amounts = np.empty((PLAYERS, BOTH + 1))
    for player, of_player in enumerate(amounts):
        others = np.delete(orders, player, axis=1)
        first, second = (1 + np.sign(others - orders[:, player : player + 1])).T
        payoff = np.empty((3, 3))
        # Several orders have both other hands stronger, or both weaker.  The payoffs of side pots
        # are equal in them.
        payoff[first, second] = utilities[:, player]
        of_player[CONSTANT] = payoff[2, 2]
        of_player[FIRST] = payoff[0, 2] - payoff[2, 2]
        of_player[SECOND] = payoff[2, 0] - payoff[2, 2]
        of_player[BOTH] = payoff[0, 0] - payoff[0, 2] - payoff[2, 0] + payoff[2, 2]
        # Pots for nobody must be exactly 0.
        of_player[np.abs(of_player) < ROUNDING * np.abs(payoff).max()] = 0.0
    return amounts
