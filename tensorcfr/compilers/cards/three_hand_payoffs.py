"""Payoffs of a card game of three players: amounts of terminals, and hands by strength."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ...model.card_structure import FOLD, RUNOUT, orders_of
from ...payoff.three_hands import BOTH, CONSTANT, FIRST, PLAYERS, SECOND, PayoffThreeHands
from ...rules import CardGame
from .card_sums import without
from .form import CardForm
from .payoffs import PayoffBuilder
from .triple_payoffs import ALL_TIE

ROUNDING = 1e-12
"""Largest difference between payoffs, relative to the largest, that counts as rounding."""


class ThreeHandPayoffs(PayoffBuilder):
    """Builder for the payoffs of a card game of three players."""

    def __init__(self, rules: CardGame, *others: Any) -> None:
        super().__init__(rules, *others)
        self._begin = np.append(0, np.cumsum([len(hands) for hands in rules.hands]))

    def of(self, form: CardForm) -> PayoffThreeHands:
        """Build the payoffs of a form that contains the whole game."""
        rules, rounds = self.rules, range(self.betting.rounds + 1)
        boards, sequences, amounts = list[int](), [], []
        kinds, levels = list[int](), list[np.ndarray]()
        for r in rounds:
            first_board = len(kinds)
            solved = self.symmetry.rounds[r]
            kinds += solved.classes.tolist()
            levels += [self._levels(r, board) for board in solved.board.tolist()]
            is_end = (self.betting.kind >= FOLD) & (self.betting.round == r)
            for node in np.flatnonzero(is_end).tolist():
                ends = [form.ended(p, acts[node], r) for p, acts in enumerate(self.last)]
                utilities = self.betting.amounts[node]
                if self.betting.kind[node] == RUNOUT:
                    # Tables have the differences from a tie of all hands; see triple_payoffs.
                    utilities = np.repeat(utilities[[ALL_TIE]], len(utilities), axis=0)
                pays = self.dealing.share(r) * amounts_of(utilities)
                boards += range(first_board, len(kinds))
                sequences += list(np.stack(ends, axis=1))
                amounts += list(pays * self.solved_for[r][:, None, None])
        level = np.array(levels)
        class_of, own_weight = self._classes()
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
            level=level,
            order=np.concatenate(
                [
                    np.argsort(level[:, begin:end], axis=1, kind="stable")
                    for begin, end in pairwise(self._begin)
                ],
                axis=1,
            ),
            level_end=np.stack(
                [
                    (level[:, None, begin:end] < np.arange(level.max() + 2)[:, None]).sum(axis=2)
                    for begin, end in pairwise(self._begin)
                ],
                axis=1,
            ),
            terminal_board=np.array(boards),
            sequence=np.ascontiguousarray(np.array(sequences).T),
            amount=np.ascontiguousarray(np.array(amounts).swapaxes(0, 1)),
        )

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

    def _classes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return :attr:`PayoffThreeHands.class_of` and :attr:`PayoffThreeHands.own_weight`."""
        kinds = self.symmetry.classes
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
