"""Equity: the share of the pot that hands win if there is no more betting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice

import numpy as np

from ...payoff.three_hands import BOTH, CONSTANT, FIRST, PLAYERS
from ...rules import CardGame
from .card_sums import odds_on, ranked_hands
from .subsets import all_sets, compare, signs_of, sums_of
from .three_hand_payoffs import HandsOnBoards

TOGETHER = 128
"""Number of boards whose hands are sorted together."""
NEGLIGIBLE = 1e-12
"""Weight of opponents' hands, relative to the largest, that is a rounding error."""


def equities(
    rules: CardGame, board: tuple[int, ...], weights: tuple[np.ndarray, np.ndarray], dealt: int
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the equity of every hand of both players against the other player's range.

    All ways to deal the rest of the board are enumerated. Each takes time proportional to the
    number of hands.

    Args:
        rules: The game of cards.
        board: The cards on the board.
        weights: For each player float64 (hands,): the range; 0 for hands with a card of the board.
        dealt: Number of cards still to be dealt.

    Returns:
        For each player float64 (hands,): equities from 0 to 1, with ties counted half. NaN if every
        hand in the other player's range shares a card with the hand or the board.
    """
    n_cards, width = len(rules.cards), rules.hands[0].shape[1]
    sets = [all_sets(hands, n_cards) for hands in rules.hands]
    signs, sums = signs_of(width), sums_of(n_cards, width)
    won, opponent_weight = (
        [np.zeros(len(hand_weights)) for hand_weights in weights] for _ in range(2)
    )
    for full_board in _boards(rules, board, dealt):
        odds: list[float | np.ndarray] = [1.0, 1.0]
        sides = []
        for player, weight in enumerate(weights):
            if rules.weights_vary:
                odds[player] = odds_on(rules, player, full_board, board)
                weight = weight * odds[player]
            sides.append(ranked_hands(rules, full_board, player, sets[player], weight))
        for in_ranking in zip(*sides, strict=True):
            for player, side in enumerate(in_ranking):
                of_hands = np.zeros((len(side.strength), 3))
                compare(side, in_ranking[1 - player], signs, sums, of_hands)
                # Column 0 is the weight of weaker hands, column 1 of weaker and equal ones, column
                # 2 of all: half the sum of the first two counts ties half.
                won[player] += 0.5 * odds[player] * (of_hands[:, 0] + of_hands[:, 1])
                opponent_weight[player] += odds[player] * of_hands[:, 2]
    first, second = map(_shares, won, opponent_weight)
    return first, second


def equities_of_three(
    rules: CardGame,
    board: tuple[int, ...],
    weights: Sequence[np.ndarray],
    dealt: int,
    competing: Sequence[int],
) -> tuple[np.ndarray, ...]:
    """Compute the equity of every hand of three players against the ranges of the others.

    Args:
        rules: The game of cards.
        board: The cards on the board.
        weights: For each player float64 (hands,): the range; 0 for hands with a card of the board.
        dealt: Number of cards still to be dealt.
        competing: Players who have not folded.

    Returns:
        For each player float64 (hands,): the share of the pot from 0 to 1, a tie of several hands
        in equal parts. NaN for players who have folded, for hands that are impossible, and
        for hands against which the others have no hands left.
    """
    won, opponent_weight = (
        [np.zeros(len(hand_weights)) for hand_weights in weights] for _ in range(2)
    )
    boards = _boards(rules, board, dealt)
    pots, constant = np.zeros((2, PLAYERS, BOTH + 1))
    constant[:, CONSTANT] = 1.0
    for player in competing:
        opponents = [p for p in range(PLAYERS) if p != player]
        pots_of_two = [FIRST + k for k, p in enumerate(opponents) if p in competing]
        pot = BOTH if len(pots_of_two) > 1 else max(pots_of_two, default=CONSTANT)
        pots[player, pot] = 1.0
    while some := list(islice(boards, TOGETHER)):
        hands = HandsOnBoards(rules, some)
        for player in competing:
            won[player] += hands.payoffs(player, pots, weights)
            opponent_weight[player] += hands.payoffs(player, constant, weights)
    return tuple(map(_shares, won, opponent_weight))


def _boards(rules: CardGame, board: tuple[int, ...], dealt: int) -> Iterator[tuple[int, ...]]:
    """Yield all boards that may follow a board, with some more cards."""
    for runout in combinations(np.setdiff1d(rules.free, board).tolist(), dealt):
        yield *board, *runout


def _shares(won: np.ndarray, opponent_weight: np.ndarray) -> np.ndarray:
    """Return the shares of the opponents' weights that hands win; NaN where there are none."""
    least = NEGLIGIBLE * max(opponent_weight.max(initial=0.0), 1e-300)
    shares = np.full_like(won, np.nan)
    return np.divide(won, opponent_weight, out=shares, where=opponent_weight > least)
