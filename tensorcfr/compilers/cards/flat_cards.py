"""Rules of a card game, with all hands of the players spelled out."""

from __future__ import annotations

from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np

from ...model.card_structure import code_of, orders_of
from ...rules import (
    CardGame,
    Chance,
    Deal,
    Decision,
    Fold,
    Payoff,
    PublicTreeGame,
    Runout,
    SidePots,
)
from ..derived_rules import Derived
from .card_sums import (
    Dealing,
    cards_label,
    held_cards,
    outer,
    pair_odds,
    payoff_scale,
    read_deal,
    shares_of_runouts,
    side_pot_payoffs,
    without,
)

Deals = tuple[tuple[int, ...], ...]
"""The cards of each deal so far."""
SCALES_KEPT = 8
"""Boards whose scales of payoffs are kept, arrays of hands x hands."""


class HandByHand(Derived, PublicTreeGame):
    """Card game with all hands of the players spelled out, for small decks.

    If weights vary by board, cards are dealt by weight, and payoffs are multiplied by
    :func:`~tensorcfr.compilers.cards.card_sums.payoff_scale`.

    Args:
        rules: The card game.
    """

    def __init__(self, rules: CardGame) -> None:
        super().__init__(rules)
        self.hands = [
            [rules.hand_label(player, hand) for hand in range(len(rules.hands[player]))]
            for player in range(rules.n_players)
        ]
        self._dealing = Dealing(rules)
        self.prior = self._dealing.pairs
        self._orders = orders_of(rules.n_players)
        self._scales: dict[Deals, np.ndarray | float] = {}

    def scale(self, dealt: Deals) -> np.ndarray | float:
        """Return :func:`~tensorcfr.compilers.cards.card_sums.payoff_scale` after some deals."""
        if dealt not in self._scales:
            if len(self._scales) == SCALES_KEPT:
                self._scales.clear()
            self._scales[dealt] = payoff_scale(self.rules, dealt)
        return self._scales[dealt]

    def root(self) -> tuple[Any, Deals]:
        """Return the state of the betting, and the cards of each deal so far: none."""
        return self.rules.root(), ()

    def node(self, state: tuple[Any, Deals]) -> Decision | Chance | Payoff:
        """Return the node of a state; payoffs refer to matrices over pairs of hands."""
        betting, dealt = state
        node = self.rules.node(betting)
        if isinstance(node, Decision):
            return node
        if isinstance(node, Deal):
            return Chance(self.cards(dealt, node.cards))
        if isinstance(node, Fold):
            rows = (node.utilities,) * len(self._orders)
            return Payoff(1.0, (*rows, dealt) if self.rules.weights_vary else rows)
        if isinstance(node, SidePots):
            payoffs = side_pot_payoffs(node, self._orders, self.name)
            runs = (node.cards,) if node.cards else ()
            return Payoff(1.0, (*map(tuple, payoffs.tolist()), dealt, *runs))
        return Payoff(1.0, node if isinstance(node, Runout) else (*node, dealt))

    def cards(self, dealt: Deals, count: int) -> dict[Any, np.ndarray]:
        """Return the probability of each set of ``count`` cards that can be dealt next.

        Args:
            dealt: The cards of each deal so far.
            count: Cards of the next deal.

        Returns:
            The label of each set of cards, with float64 (hands of player 0, hands of player 1,
            ...): its probability given the hands.
        """
        rules, shown = self.rules, tuple(chain.from_iterable(dealt))
        if rules.weights_vary:
            weights = dict(pair_odds(rules, (*rules.board, *shown), count))
            total = sum(weights.values())
            total = np.where(total > 0.0, total, 1.0)
            return {cards_label(rules, cards): w / total for cards, w in weights.items()}
        free = [card for card in rules.free.tolist() if card not in shown]
        deals = comb(len(free) - held_cards(rules), count)
        probabilities = {}
        board_weights = {} if dealt else self._dealing.boards
        for cards in sorted(board_weights) or combinations(free, count):
            out = outer(without(hands, np.array(cards)) for hands in rules.hands)
            label = cards_label(rules, cards)
            if board_weights:
                both_possible = self._dealing.apart
                probabilities[label] = (
                    board_weights[cards] * out / np.where(both_possible > 0.0, both_possible, 1.0)
                )
            else:
                probabilities[label] = out / deals
        return probabilities

    def next(self, state: tuple[Any, Deals], action: Any) -> tuple[Any, Deals]:
        """Return the state after an action or a deal."""
        betting, dealt = state
        if isinstance(node := self.rules.node(betting), Deal):
            cards = read_deal(self.rules, str(action), node.cards) or ()
            return self.rules.next(betting, None), (*dealt, cards)
        return self.rules.next(betting, action), dealt

    def matrix(self, key: Any) -> np.ndarray:
        """Return the payoffs for all hands, float64 (players, hands of player 0, hands of player 1,
        ...)."""
        if isinstance(key, Runout):
            # The payoff is the mean over all boards.
            shares = np.array(shares_of_runouts(self.rules, key.cards))
            payoffs: np.ndarray = np.tensordot(np.array(key[:3]), shares, axes=(0, 0))
            return payoffs
        n_orders, players = len(self._orders), range(self.rules.n_players)
        rows, dealt = key[:n_orders], key[n_orders:]
        deals: Deals = dealt[0] if dealt else ()
        if len(dealt) > 1 and len(set(rows)) > 1:
            return self._mean_over_boards(rows, dealt[1])
        cards = (*self.rules.board, *chain.from_iterable(deals))
        scale = np.broadcast_to(self.scale(deals), self.prior.shape)
        if len(set(rows)) == 1:
            return np.array([rows[0][player] * scale for player in players])
        paid = self._paid_on(cards, rows)
        return np.array([scale * paid[..., player] for player in players])

    def _paid_on(self, cards: tuple[int, ...], rows: tuple[Any, ...]) -> np.ndarray:
        """Return the payoffs of all hands on a board, float64 (hands of player 0, ..., players);
        any number for hands with a card of the board.

        Args:
            cards: The board.
            rows: Payoffs of the players for each order of their hands.
        """
        rules, players, strengths = self.rules, range(self.rules.n_players), []
        for player, hands in enumerate(rules.hands):
            live = without(hands, np.array(cards))
            strength = np.zeros((rules.rankings, len(hands)), dtype=np.int64)
            strength[:, live] = rules.strengths(cards, hands[live])
            axes = [1 + axis for axis in players if axis != player]
            shape = rules.rankings, *self.prior.shape
            strengths.append(np.broadcast_to(np.expand_dims(strength, axes), shape))
        orders = np.searchsorted(code_of(self._orders.T), code_of(np.stack(strengths)))
        paid: np.ndarray = np.array(rows, dtype=np.float64)[orders].mean(axis=0)
        return paid

    def _mean_over_boards(self, rows: tuple[Any, ...], count: int) -> np.ndarray:
        """Return the mean payoffs over all boards of ``count`` cards that can be dealt."""
        rules, free = self.rules, self.rules.free.tolist()
        payoffs = np.zeros((rules.n_players, *self.prior.shape))
        for cards in combinations(free, count):
            live = outer(without(hands, np.array(cards)) for hands in rules.hands)
            payoffs += live * np.moveaxis(self._paid_on(cards, rows), -1, 0)
        return payoffs / comb(len(free) - held_cards(rules), count)
