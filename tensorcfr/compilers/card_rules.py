"""What the rules of a game of cards say of cards, hands and weights: checks and sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import GameError
from ..payoff.cards import HAND_BITS, MOST_CARDS
from ..rules import CardGame


class Weighted(NamedTuple):
    """The rules, with other weights."""

    rules: CardGame
    weights: list[np.ndarray]

    @property
    def cards(self) -> Any:
        """Those of the rules."""
        return self.rules.cards

    @property
    def hands(self) -> Any:
        """Those of the rules."""
        return self.rules.hands


def check(rules: CardGame, name: str) -> None:
    """Check what the rules say of cards, hands and weights.

    Raises:
        GameError: It breaks the contract of :class:`~tensorcfr.rules.CardGame`.
    """
    cards = len(rules.cards)
    if rules.n_players != 2:
        raise GameError(f"{name} has {rules.n_players} players; games of cards have two")
    if not 0 < cards <= MOST_CARDS:
        raise GameError(f"{name} has {cards} cards; a deck has 1 to {MOST_CARDS}")
    if len(set(rules.board)) != len(rules.board) or not set(rules.board) <= set(range(cards)):
        raise GameError(f"{name}: the board {rules.board} must be different cards of the deck")
    widths = set()
    for player in range(2):
        hands, weights = rules.hands[player], rules.weights[player]
        if hands.ndim != 2 or hands.shape[1] not in (1, 2) or hands.dtype != np.int64:
            raise GameError(f"{name}: the hands of player {player} must be int64 (hands, 1 or 2)")
        if not 0 < len(hands) < 1 << HAND_BITS:
            raise GameError(f"{name}: player {player} has {len(hands):,} hands")
        widths.add(hands.shape[1])
        if weights.shape != (len(hands),) or not (np.isfinite(weights) & (weights > 0)).all():
            raise GameError(f"{name}: the weights of player {player} must be a number above 0 each")
        wrong = (hands < 0) | (hands >= cards) | np.isin(hands, rules.board)
        if wrong.any():
            hand = int(np.flatnonzero(wrong.any(axis=1))[0])
            raise GameError(f"{name}: hand {hand} of player {player} has a card that is not there")
        if hands.shape[1] == 2 and (hands[:, 0] == hands[:, 1]).any():
            raise GameError(f"{name}: a hand of player {player} has one card twice")
        if len(np.unique(np.sort(hands, axis=1), axis=0)) != len(hands):
            raise GameError(f"{name}: player {player} has a hand twice")
    if len(widths) > 1:
        raise GameError(f"{name}: the hands of both players must have equally many cards")
    if deal_weight(rules) <= 0.0:
        raise GameError(f"{name}: every hand of one player shares a card with every other hand")


def sums_by_card(rules: CardGame | Weighted, player: int, weight: np.ndarray) -> np.ndarray:
    """The sum of weights of the hands with each card, float64 (cards,)."""
    found = np.zeros(len(rules.cards))
    for column in rules.hands[player].T:
        found += np.bincount(column, weight, minlength=len(found))
    return found


def same_hands(rules: CardGame | Weighted) -> list[np.ndarray]:
    """For each player, the hand of the other player with the same cards, or the number of the other
    player's hands; int64 (hands,)."""
    found = []
    base = len(rules.cards)
    keys = [np.sort(hands, axis=1) @ base ** np.arange(hands.shape[1]) for hands in rules.hands]
    for player in range(2):
        own, other = keys[player], keys[1 - player]
        order = np.argsort(other)
        at = np.minimum(np.searchsorted(other, own, sorter=order), len(other) - 1)
        found.append(np.where(other[order[at]] == own, order[at], len(other)))
    return found


def weight_met(rules: CardGame | Weighted, player: int) -> np.ndarray:
    """For every hand of a player, the weights of the other player's hands without a common card,
    summed; float64 (hands,)."""
    other = 1 - player
    weight = rules.weights[other]
    by_card = sums_by_card(rules, other, weight)
    hands = rules.hands[player]
    met = weight.sum() - by_card[hands].sum(axis=1)
    if hands.shape[1] == 2:
        met += np.append(weight, 0.0)[same_hands(rules)[player]]
    return met


def deal_weight(rules: CardGame) -> float:
    """The sum over all pairs of hands without a common card of the products of their weights."""
    return float(rules.weights[0] @ weight_met(rules, 0))


def without(hands: np.ndarray, cards: np.ndarray) -> np.ndarray:
    """Whether hands have none of some cards, bool (hands,)."""
    free: np.ndarray = np.logical_not(np.any(np.isin(hands, cards), axis=1))
    return free
