"""Payoffs of a card game of three players: groups of terminals, and hands by strength."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ...model.card_structure import (
    FOLD,
    SHOWDOWN,
    BettingTree,
    RoundBoards,
    Symmetry,
    orders_of,
)
from ...payoff.three_hands import LANES, PLAYERS, RELATIONS, PayoffThreeHands
from ...rules import CardGame
from .card_sums import Dealing, without
from .form import CardForm, Last


class ThreeHandPayoffs:
    """Builder for the payoffs of a card game of three players.

    Args:
        rules: The rules.
        betting: The betting.
        boards: The boards of each round.
        symmetry: The solved boards, and the classes of hands on them.
        last: Each player's last action before every node.
    """

    def __init__(
        self,
        rules: CardGame,
        betting: BettingTree,
        boards: tuple[RoundBoards, ...],
        symmetry: Symmetry,
        last: list[list[Last]],
    ) -> None:
        self.rules, self.betting, self.boards, self.last = rules, betting, boards, last
        self.symmetry = symmetry
        self.dealing = Dealing(rules, betting.deals)
        self._begin = np.append(0, np.cumsum([len(hands) for hands in rules.hands]))
        self._by_relation = _orders_by_relation()

    def of(self, form: CardForm) -> PayoffThreeHands:
        """Build the payoffs of a form that contains the whole game."""
        rules, rounds = self.rules, range(self.betting.rounds + 1)
        cards, width = len(rules.cards), rules.hands[0].shape[1]
        groups: list[tuple[int, int, int]] = []
        sequences, amounts = [], []
        kinds, levels = list[int](), list[np.ndarray]()
        for r in rounds:
            first_board = len(kinds)
            solved = self.symmetry.rounds[r]
            kinds += solved.classes.tolist()
            levels += [self._levels(r, board) for board in solved.board.tolist()]
            for compared, nodes in self._group_terminals(form, r):
                lanes = [*nodes, *[nodes[0]] * (LANES - len(nodes))]
                ends = np.array(
                    [
                        [form.ended(player, acts[node], r) for node in lanes]
                        for player, acts in enumerate(self.last)
                    ]
                )
                pays = self.dealing.share(r) * np.stack([self._amounts(n) for n in lanes], axis=-1)
                for board, multiplicity in enumerate(solved.orbit_size.tolist()):
                    groups.append((len(nodes), first_board + board, compared))
                    sequences.append(ends[:, :, board])
                    amounts.append(pays * multiplicity)
        level = np.array(levels)
        class_of, own_weight = self._classes()
        hands = np.concatenate(rules.hands)
        return PayoffThreeHands(
            cards=np.array([cards]),
            hand_begin=self._begin,
            hand=np.column_stack([hands, np.full((len(hands), 2 - width), cards)]),
            weight=np.concatenate(rules.weights),
            with_cards=self._with_cards(),
            class_of=class_of,
            own_weight=own_weight,
            board_kind=np.array(kinds),
            level=np.column_stack([level, np.full(len(level), -1)]),
            order=np.concatenate(
                [
                    np.argsort(level[:, begin:end], axis=1, kind="stable")
                    for begin, end in zip(self._begin[:-1], self._begin[1:], strict=True)
                ],
                axis=1,
            ),
            group=np.array(groups),
            sequence=np.ascontiguousarray(np.array(sequences).swapaxes(0, 1)),
            amount=np.ascontiguousarray(np.array(amounts).swapaxes(0, 1)),
        )

    def _group_terminals(self, form: CardForm, r: int) -> list[tuple[int, list[int]]]:
        """Group the terminals of a round, up to :data:`LANES` with the same compared players.

        The terminals of a group end different sequences of each player.

        Returns:
            For each group, the sum of ``1 << i`` over the players ``i`` who are compared, and the
            terminals.
        """
        betting, groups = self.betting, list[tuple[int, list[int]]]()
        taken: dict[int, list[set[tuple[int, int]]]] = defaultdict(list)
        open_groups: dict[int, list[list[int]]] = defaultdict(list)
        for node in np.flatnonzero((betting.kind >= FOLD) & (betting.round == r)).tolist():
            compared = self._compared(node)
            ends = {(p, int(form.ended(p, acts[node], r)[0])) for p, acts in enumerate(self.last)}
            for members, used in zip(open_groups[compared], taken[compared], strict=True):
                if len(members) < LANES and not used & ends:
                    members.append(node)
                    used |= ends
                    break
            else:
                members = [node]
                open_groups[compared].append(members)
                taken[compared].append(set(ends))
                groups.append((compared, members))
        return groups

    def _compared(self, node: int) -> int:
        """Return the sum of ``1 << i`` over the players whose hands are compared at a terminal."""
        amounts, compared = self._amounts(node), 0
        for player in range(PLAYERS):
            others = [p for p in range(PLAYERS) if p != player]
            for axis, opponent in enumerate(others):
                if np.ptp(amounts[player].reshape(3, 3), axis=axis).any():
                    compared |= 1 << player | 1 << opponent
        return compared

    def _amounts(self, node: int) -> np.ndarray:
        """Return :attr:`PayoffThreeHands.amount` of a terminal, per unit of weight: float64 (3,
        9)."""
        amounts = self.betting.amounts[node]
        return np.stack([amounts[orders, p] for p, orders in enumerate(self._by_relation)])

    def _levels(self, r: int, board: int) -> np.ndarray:
        """Return the ranks of the strengths of all hands on a board, int64 (hands,)."""
        dealt = self.boards[r].cards[board]
        cards = (*self.rules.board, *dealt.tolist())
        hands = np.concatenate(self.rules.hands)
        live, level = without(hands, dealt), np.full(len(hands), -1)
        is_shown = (self.betting.kind == SHOWDOWN) & (self.betting.round == r)
        level[live] = 0
        if is_shown.any() and live.any():
            strength = np.asarray(self.rules.strength(cards, hands[live]))
            level[live] = np.unique(strength, return_inverse=True)[1]
        return level

    def _with_cards(self) -> np.ndarray:
        """Return :attr:`PayoffThreeHands.with_cards`."""
        deck = len(self.rules.cards) + 1
        with_cards = np.empty((PLAYERS, deck, deck), dtype=np.int64)
        for of_player, hands in zip(with_cards, self.rules.hands, strict=True):
            of_player[:] = len(hands)
            if hands.shape[1] == 2:
                first, second = hands.T
                of_player[first, second] = of_player[second, first] = np.arange(len(hands))
        return with_cards

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


def _orders_by_relation() -> np.ndarray:
    """Return an order of the hands with each pair of relations of each player's hand.

    Returns:
        int64 (3, 9): index among the orders of :func:`orders_of`.  Several orders have both other
        hands stronger, or both weaker; the payoffs of side pots are equal in them.
    """
    orders = orders_of(PLAYERS)
    by_relation = np.empty((PLAYERS, RELATIONS), dtype=np.int64)
    for player in range(PLAYERS):
        others = np.delete(orders, player, axis=1)
        first, second = (1 + np.sign(others - orders[:, player : player + 1])).T
        by_relation[player, 3 * first + second] = np.arange(len(orders))
    return by_relation
