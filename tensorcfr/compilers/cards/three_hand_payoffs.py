"""Payoffs of a card game of three players: amounts of terminals, and hands by strength."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...kernels.evaluation import add_payoffs
from ...model.arrays import SequenceForm, frozen_array, frozen_arrays
from ...model.card_structure import FOLD, RUNOUT, SHOWDOWN, HandClasses, orders_of
from ...payoff.three_hands import (
    BOTH,
    BY_ORDER,
    CONSTANT,
    FIRST,
    PLAYERS,
    POTS,
    RELATIONS,
    SECOND,
    PayoffThreeHands,
    PayoffThreeOrders,
    payoffs_by_order,
)
from ...rules import CardGame
from .card_sums import without
from .form import CardForm
from .payoffs import PayoffBuilder
from .triple_payoffs import ALL_TIE, ROUNDING


class ThreeHandPayoffs(PayoffBuilder):
    """Builder for the payoffs of a card game of three players."""

    def __init__(self, rules: CardGame, *others: Any) -> None:
        super().__init__(rules, *others)
        self._begin = _begins(rules)
        shown = self.betting.amounts[self.betting.kind == SHOWDOWN]
        self.kind: Any = PayoffThreeHands if all(map(are_pots, shown)) else PayoffThreeOrders

    def of(  # noqa: D102
        self, form: CardForm, inside: np.ndarray, on_boards: list[list[list[np.ndarray]]]
    ) -> PayoffThreeHands:
        rules, where = self.rules, form.where
        boards, sequences, amounts = list[int](), [], []
        kinds = [
            kind
            for of_round, lists in zip(where.classes[: len(on_boards)], self.n_lists, strict=False)
            for kind in np.repeat(of_round, lists).tolist()
        ]
        first_board = self.first_boards(on_boards)
        for r in range(len(on_boards) or self.betting.rounds + 1):
            solved_for, before = np.ones(1), 0
            if on_boards:
                solved_for, before = self.solved_for[r][where.boards[r]], int(first_board[r])
            is_end = inside & (self.betting.kind >= FOLD) & (self.betting.round == r)
            for node in np.flatnonzero(is_end).tolist():
                ends = [form.ended(p, acts[node], r) for p, acts in enumerate(self.last)]
                utilities = self.betting.amounts[node]
                if self.betting.kind[node] == RUNOUT:
                    # Tables have the differences from a tie of all hands; see triple_payoffs.
                    utilities = np.repeat(utilities[[ALL_TIE]], len(utilities), axis=0)
                of_terminal = amounts_of if self.kind is PayoffThreeHands else amounts_by_order
                pays = self.dealing.share(r) * of_terminal(utilities)
                # Each ranking decides an equal share; a fold does not read the ranking.
                n_lists = self.n_lists[r]
                rankings = n_lists if self.betting.kind[node] == SHOWDOWN else 1
                for ranking in range(rankings):
                    boards += range(before + ranking, before + n_lists * len(solved_for), n_lists)
                    sequences += list(np.stack(ends, axis=1))
                    amounts += list(pays * solved_for[:, None, None] / rankings)
        classes = self.symmetry.classes
        if not on_boards:
            of_board = int(where.classes[-1][0])
            kinds, classes = [0] * self.n_lists[len(where.classes) - 1], (classes[of_board],)
        class_of, own_weight = self._classes(classes)
        levels = [level for of_round in on_boards for on_board in of_round for level in on_board]
        return self.kind(
            **_hands_by_level(rules, levels),
            weight=np.concatenate(rules.weights),
            class_of=class_of,
            own_weight=own_weight,
            board_kind=np.array(kinds),
            terminal_board=np.array(boards, dtype=np.int64),
            sequence=np.array(sequences, dtype=np.int64).reshape(-1, PLAYERS).T.copy(),
            amount=self._stacked(amounts),
        )

    def _stacked(self, amounts: list[np.ndarray]) -> np.ndarray:
        """Return the amounts of all terminals, float64 (3, terminals, amounts)."""
        width = POTS if self.kind is PayoffThreeHands else BY_ORDER
        return np.array(amounts).reshape(-1, PLAYERS, width).swapaxes(0, 1).copy()

    def board_arrays(  # noqa: D102
        self, r: int, board: int, on_board: list[np.ndarray]
    ) -> dict[str, np.ndarray]:
        return _by_strength(self.rules, on_board)

    def on_boards(self, r: int) -> Iterator[list[np.ndarray]]:
        """Yield the ranks of the strengths of all hands on every solved board of a round, ranking
        by ranking."""
        for dealt in self.boards[r].cards[self.symmetry.rounds[r].board].tolist():
            cards = (*self.rules.board, *dealt)
            yield list(_levels_on(self.rules, cards, is_shown=bool(self.shows[r])))

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


def _levels_on(rules: CardGame, cards: tuple[int, ...], *, is_shown: bool) -> np.ndarray:
    """Return :attr:`PayoffThreeHands.level` of a board, int64 (rankings, hands); all live hands are
    equal unless they are shown there, and then one ranking is enough."""
    hands = np.concatenate(rules.hands)
    live = without(hands, np.array(cards, dtype=np.int64))
    levels = np.full((rules.rankings if is_shown else 1, len(hands)), -1)
    levels[:, live] = 0
    if is_shown and live.any():
        for level, strength in zip(levels, rules.strengths(cards, hands[live]), strict=True):
            level[live] = np.unique(strength, return_inverse=True)[1]
    return levels


def _begins(rules: CardGame) -> np.ndarray:
    """Return :attr:`PayoffThreeHands.hand_begin`."""
    return np.append(0, np.cumsum([len(hands) for hands in rules.hands]))


def _by_strength(rules: CardGame, levels: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of :class:`PayoffThreeHands` about strengths.

    Args:
        rules: The rules.
        levels: int64 (hands,) for each board: :attr:`PayoffThreeHands.level`.
    """
    begins = _begins(rules)
    level = np.array(levels, dtype=np.int64).reshape(-1, int(begins[-1]))
    of_players = [level[:, begin:end] for begin, end in pairwise(begins)]
    orders = [np.argsort(of_player, axis=1, kind="stable") for of_player in of_players]
    ranks = np.arange(level.max(initial=-1) + 2)[:, None]
    ends = [(of_player[:, None] < ranks).sum(axis=2) for of_player in of_players]
    return {
        "level": level,
        "order": np.concatenate(orders, axis=1),
        "level_end": np.stack(ends, axis=1),
    }


def _hands_by_level(rules: CardGame, levels: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of :class:`PayoffThreeHands` about cards and strengths.

    The arguments are those of :func:`_by_strength`.
    """
    hands = np.concatenate(rules.hands)
    if hands.shape[1] == 1:
        hands = np.column_stack([hands, hands + len(rules.cards)])
    # Cards of the board are in no hand, so they need no number.
    cards, numbers = np.unique(hands, return_inverse=True)
    return {
        "cards": np.array([len(cards)]),
        "hand_begin": _begins(rules),
        "hand": numbers.reshape(hands.shape),
        **_by_strength(rules, levels),
    }


class HandsOnBoards:
    """Three players' hands on some whole boards, for the payoffs of single terminals.

    Args:
        rules: The rules.
        boards: All cards of each board.
    """

    def __init__(self, rules: CardGame, boards: Sequence[tuple[int, ...]]) -> None:
        self._sizes = [len(hands) for hands in rules.hands]
        levels = [level for cards in boards for level in _levels_on(rules, cards, is_shown=True)]
        hands, ones = _hands_by_level(rules, levels), np.ones(sum(self._sizes))
        self._rankings = rules.rankings
        part = PayoffThreeHands(
            **hands,
            weight=ones,
            # Each hand is a class, with a sequence of its own.
            class_of=np.concatenate([np.arange(size) for size in self._sizes])[None],
            own_weight=ones[None],
            board_kind=np.zeros(len(levels), dtype=np.int64),
            terminal_board=np.arange(len(levels)),
            # All boards add to the same sequences.
            sequence=np.repeat(hands["hand_begin"][:-1, None], len(levels), axis=1),
            amount=np.zeros((PLAYERS, len(levels), BOTH + 1)),
        )
        self._part: PayoffThreeHands = frozen_arrays(part)
        # The payoffs read the sequences of the players only.
        unused: dict[str, Any] = dict.fromkeys(SequenceForm._fields, np.empty(0, dtype=np.int64))
        unused |= {"hand_rank": np.zeros((1, 2), dtype=np.int64)}
        unused |= {"infoset_parent": np.empty(0, dtype=np.uint32)}
        used = {"player_sequences": part.hand_begin, "operator": (self._part,)}
        self._form: SequenceForm = frozen_arrays(SequenceForm(**(unused | used)))

    def payoffs(
        self, player: int, amounts: np.ndarray, weights: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Sum the payoffs of a terminal over all boards and all hands of the other players.

        Args:
            player: The player.
            amounts: float64 (3, amounts): the amounts of the terminal, from
                :func:`amounts_by_order` or :func:`amounts_of`.
            weights: For each player float64 (hands,): weights of the hands that get there; the
                entry of ``player`` is not read.

        Returns:
            float64 (hands,): for each hand of the player, the sum of payoffs times the weights of
            disjoint hands of the other players; 0 for hands with a card of the boards.
        """
        boards = len(self._part.terminal_board)
        each = np.repeat(np.asarray(amounts)[:, None] / self._rankings, boards, axis=1)
        kind = PayoffThreeHands if each.shape[2] == POTS else PayoffThreeOrders
        part = kind(*self._part._replace(amount=frozen_array(each)))
        reach = np.concatenate([np.asarray(weight, dtype=np.float64) for weight in weights])
        paid = np.zeros(len(reach))
        add_payoffs(self._form._replace(operator=(part,)), player, reach, paid)
        begin = sum(self._sizes[:player])
        return paid[begin : begin + self._sizes[player]]


def amounts_of(utilities: np.ndarray) -> np.ndarray:
    """Return :attr:`PayoffThreeHands.amount` of a terminal, per unit of weight.

    Args:
        utilities: float64 (orders, 3): utilities by the order of the hands, as in
            :func:`~tensorcfr.model.card_structure.orders_of`.

    Returns:
        float64 (3, 4) if the utilities are those of pots, as :func:`are_pots` tells.
    """
    amounts = np.empty((PLAYERS, POTS))
    for of_player, payoffs in zip(amounts, _by_relations(utilities), strict=True):
        payoff = _if_others_tie(payoffs)
        of_player[CONSTANT] = payoff[2, 2]
        of_player[FIRST] = payoff[0, 2] - payoff[2, 2]
        of_player[SECOND] = payoff[2, 0] - payoff[2, 2]
        of_player[BOTH] = payoff[0, 0] - payoff[0, 2] - payoff[2, 0] + payoff[2, 2]
        # Pots for nobody must be exactly 0.
        of_player[np.abs(of_player) < ROUNDING * np.abs(payoff).max()] = 0.0
    return amounts


def are_pots(utilities: np.ndarray) -> bool:
    """Return whether the payoffs of a terminal are pots that equal hands share.

    Utilities of stacks, such as prizes, need not be pots: a tie may pay less than the mean, and a
    player's payoff may depend on which of the others wins.

    Args:
        utilities: float64 (orders, 3): as for :func:`amounts_of`.
    """
    payoffs = _by_relations(utilities)
    differences = np.abs(payoffs_by_order(amounts_of(utilities)) - payoffs)
    largest = np.nanmax(np.abs(payoffs), axis=(1, 2, 3), keepdims=True)
    return not (differences > ROUNDING * largest).any()


def amounts_by_order(utilities: np.ndarray) -> np.ndarray:
    """Return :attr:`PayoffThreeOrders.amount` of a terminal, float64 (3, 17), per unit of weight.

    The payoffs by order are 0 if pots are enough.  The arguments are those of :func:`amounts_of`.
    """
    amounts = np.zeros((PLAYERS, BY_ORDER))
    if are_pots(utilities):
        amounts[:, :POTS] = amounts_of(utilities)
        return amounts
    payoffs = _by_relations(utilities)
    for of_player, payoff in zip(amounts, payoffs, strict=True):
        of_player[POTS : POTS + RELATIONS] = _if_others_tie(payoff).ravel()
        differences = payoff[[0, 2], [0, 2]] - payoff[[0, 2], [0, 2], 1:2]
        of_player[POTS + RELATIONS :] = differences[:, [0, 2]].ravel()
    return amounts


def _if_others_tie(payoffs: np.ndarray) -> np.ndarray:
    """Return a player's payoffs by the relations to both others, float64 (3, 3).

    The others tie if the relations leave that open; otherwise only one order is possible.
    """
    relations: np.ndarray = np.nanmean(payoffs, axis=2)
    relations[[0, 2], [0, 2]] = payoffs[[0, 2], [0, 2], 1]
    return relations


def _by_relations(utilities: np.ndarray) -> np.ndarray:
    """Return the utilities by the relations of hands, float64 (3, 3, 3, 3).

    The axes are the player and those of
    :func:`~tensorcfr.payoff.three_hands.payoffs_by_order`.  Impossible relations have NaN.
    """
    orders = orders_of(PLAYERS)
    payoffs = np.full((PLAYERS, 3, 3, 3), np.nan)
    for player, of_player in enumerate(payoffs):
        first, second = np.delete(orders, player, axis=1).T
        ranks = orders[:, player]
        between = 1 + np.sign(second - first)
        of_player[1 + np.sign(first - ranks), 1 + np.sign(second - ranks), between] = utilities[
            :, player
        ]
    return payoffs
