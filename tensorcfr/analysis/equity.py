"""Equity: the share of the pot that hands win if nobody bets any more."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ..rules import CardGame


def equities(
    rules: CardGame, board: tuple[int, ...], weights: tuple[np.ndarray, np.ndarray], dealt: int
) -> tuple[np.ndarray, np.ndarray]:
    """The equity of every hand of both players against the other player's range.

    All ways to deal the rest of the board are counted, so a flop takes some seconds.

    Args:
        rules: The game of cards.
        board: The cards that lie on the board.
        weights: For each player float64 (hands,): the range; hands with a card of the board have 0.
        dealt: Cards that are still to come.

    Returns:
        For each player float64 (hands,), from 0 to 1, where a tie counts half; NaN for hands that
        meet no hand of the other player.
    """
    won = [np.zeros(len(own)) for own in weights]
    met = [np.zeros(len(own)) for own in weights]
    free = np.setdiff1d(np.arange(len(rules.cards)), board)
    for rest in combinations(free.tolist(), dealt):
        whole = (*board, *rest)
        live = [np.flatnonzero(~np.isin(hands, whole).any(axis=1)) for hands in rules.hands]
        strength = [
            np.asarray(rules.strength(whole, hands[own]))
            for own, hands in zip(live, rules.hands, strict=True)
        ]
        for player in range(2):
            own, other = live[player], live[1 - player]
            below, equal, every = _met(
                rules.hands[player][own],
                strength[player],
                rules.hands[1 - player][other],
                strength[1 - player],
                weights[1 - player][other],
                len(rules.cards),
            )
            won[player][own] += below + equal / 2.0
            met[player][own] += every
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (
            np.where(all_met > 1e-12 * max(all_met.max(initial=0.0), 1e-300), own / all_met, np.nan)
            for own, all_met in zip(won, met, strict=True)
        )
    return first, second


def _met(
    own: np.ndarray,
    strength: np.ndarray,
    others: np.ndarray,
    other_strength: np.ndarray,
    weight: np.ndarray,
    deck: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each own hand, the weights of the hands without a common card that are weaker, as strong,
    and all; float64 (own hands,).  Sums by card take out those with a common card."""
    order = np.argsort(other_strength, kind="stable")
    level = other_strength[order]
    weight, others = weight[order], others[order]
    sums = np.zeros((len(order) + 1, deck + 1))
    rows = np.arange(1, len(order) + 1)
    for column in others.T:
        sums[rows, column] += weight
    sums[1:, deck] = weight
    np.cumsum(sums, axis=0, out=sums)
    ends = (
        np.searchsorted(level, strength, side="left"),
        np.searchsorted(level, strength, side="right"),
        np.full(len(own), len(order)),
    )
    below, up_to, every = (
        sums[end, deck] - sum(sums[end, column] for column in own.T) for end in ends
    )
    if own.shape[1] == 2:
        # A hand with both cards was taken out twice; it is as strong as the own hand.
        keys = np.sort(others, axis=1) @ [deck, 1]
        wanted = np.sort(own, axis=1) @ [deck, 1]
        by_key = np.argsort(keys)
        at = np.minimum(np.searchsorted(keys, wanted, sorter=by_key), max(len(keys) - 1, 0))
        same = np.where(keys[by_key[at]] == wanted, weight[by_key[at]], 0.0) if len(keys) else 0.0
        up_to, every = up_to + same, every + same
    return below, up_to - below, every
