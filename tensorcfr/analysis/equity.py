"""Equity: the share of the pot that hands win if nobody bets any more."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from .._util.jit import inlined, kernel
from ..compilers.cards.rules import same_hands
from ..rules import CardGame


def equities(
    rules: CardGame, board: tuple[int, ...], weights: tuple[np.ndarray, np.ndarray], dealt: int
) -> tuple[np.ndarray, np.ndarray]:
    """The equity of every hand of both players against the other player's range.

    All ways to deal the rest of the board are counted, each in a time that is proportional to the
    hands.

    Args:
        rules: The game of cards.
        board: The cards that lie on the board.
        weights: For each player float64 (hands,): the range; hands with a card of the board have 0.
        dealt: Cards that are still to come.

    Returns:
        For each player float64 (hands,), from 0 to 1, where a tie counts half; NaN for hands that
        meet no hand of the other player.
    """
    deck = np.arange(len(rules.cards))
    has = [(hands[:, None] == deck[:, None]).any(axis=2).T for hands in rules.hands]
    cards = [_two_cards(hands, len(deck) + own) for own, hands in enumerate(rules.hands)]
    twice = float(rules.hands[0].shape[1] == 2)
    same = [
        twice * np.append(weights[1 - own], 0.0)[at] for own, at in enumerate(same_hands(rules))
    ]
    won, met = ([np.zeros(len(own)) for own in weights] for _ in range(2))
    sums = np.empty(len(deck) + 2)
    for rest in combinations(np.setdiff1d(deck, board).tolist(), dealt):
        whole, sides = (*board, *rest), []
        for player, hands in enumerate(rules.hands):
            live = np.flatnonzero(~has[player][list(whole)].any(axis=0))
            strength = np.zeros(len(hands), dtype=np.int64)
            strength[live] = found = np.asarray(rules.strength(whole, hands[live]))
            order = live[np.argsort(found, kind="stable")]
            sides.append(_Side(order, strength, cards[player], weights[player]))
        for player, own in enumerate(sides):
            _compare(own, same[player], sides[1 - player], sums, won[player], met[player])
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (
            np.where(all_met > 1e-12 * max(all_met.max(initial=0.0), 1e-300), own / all_met, np.nan)
            for own, all_met in zip(won, met, strict=True)
        )
    return first, second


def _two_cards(hands: np.ndarray, beyond: int) -> np.ndarray:
    """Hands with a second card, which is one beyond the deck where they have one card."""
    if hands.shape[1] == 2:
        return hands
    return np.concatenate([hands, np.full_like(hands, beyond)], axis=1)


@inlined
def _without(sums: np.ndarray, total: float, cards: np.ndarray, hand: int) -> float:
    """The sum of all without those of a hand's cards."""
    return total - sums[cards[hand, 0]] - sums[cards[hand, 1]]


class _Side(NamedTuple):
    """The hands of a player on a board."""

    order: np.ndarray
    """int64: those that are possible, weakest first."""
    strength: np.ndarray
    """int64 (hands,)."""
    cards: np.ndarray
    """int64 (hands, 2)."""
    weight: np.ndarray
    """float64 (hands,)."""


@kernel
def _compare(
    mine: _Side,
    same: np.ndarray,
    theirs: _Side,
    sums: np.ndarray,
    won: np.ndarray,
    met: np.ndarray,
) -> None:
    """Add what hands meet and win on a board.

    Args:
        mine: The hands.
        same: float64 (hands,): the weight of the other player's hand with the same two cards, which
            the sums by card take off twice.
        theirs: The hands of the other player.
        sums: float64 (cards + 2,): scratch.
        won: float64 (hands,): the weights of the weaker hands, and half of those of equal strength,
            without a common card; modified in place.
        met: float64 (hands,): those of all; likewise.
    """
    order, strength, cards = mine.order, mine.strength, mine.cards
    others, weight = theirs.order, theirs.weight
    sums[:] = 0.0
    total, begin, place = 0.0, 0, 0
    while begin < len(order):
        level, end = strength[order[begin]], begin
        while end < len(order) and strength[order[end]] == level:
            end += 1
        # The weaker hands first, then those of equal strength: a hand gets half of the sums of
        # both times.
        for tied in range(2):
            while place < len(others) and theirs.strength[others[place]] < level + tied:
                hand = others[place]
                total += weight[hand]
                for card in theirs.cards[hand]:
                    sums[card] += weight[hand]
                place += 1
            for own in order[begin:end]:
                won[own] += 0.5 * (_without(sums, total, cards, own) + tied * same[own])
        begin = end
    for hand in others[place:]:
        total += weight[hand]
        for card in theirs.cards[hand]:
            sums[card] += weight[hand]
    for own in order:
        met[own] += _without(sums, total, cards, own) + same[own]
