"""Effect of players who have folded on the remaining cards: the *bunching effect*.

A player who folds rarely held a strong hand, so strong cards are likelier in the other hands and on
the board.  The *share* of a set of cards is the probability that the folded hands, dealt by their
ranges, contain none of these cards.  Shares are computed for sets of up to four cards: exactly for
one or two folded players, and from a sample of deals for more.

The exact weight of a pair of hands and a board is the share of all their cards.  It does not factor
into one number per hand, but the solver needs such factors.  The approximation is the share of the
board and one hand, times the share of the board and the other hand, divided by the board's share.
It is multiplied by one factor per hand, fitted so that both players' marginal ranges are exact.
The error is the remaining correlation between the cards of both hands; :class:`DealFactors`
reports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb, prod
from typing import NamedTuple

import numpy as np

from ..._util.memory_budget import reserve
from .deck import CARDS, RANKS, SUITS, orders_of_suits

MAX_FOLDED = 4
"""Largest number of folded players; six play."""
MAX_DEALT = 2
"""Largest number of cards still to be dealt: turn and river."""
MAX_CARDS = 2 + MAX_DEALT
"""Largest number of cards in a set with a share: a hand and the cards still to be dealt."""
DEALS = 1 << 20
"""Number of sampled deals, before deals are dropped in which two players have the same card."""
SEED = 1
"""Seed of the sample, so that equal spots have equal weights."""
ROUNDING = 1e-12
"""Shares below this are rounding errors and become 0."""
BYTES_OF_DEAL, BYTES_OF_CARDS = 44, 5
"""Scratch bytes per deal to the folded players, and per folded hand in it."""
BYTES_OF_SET = 24
"""Scratch bytes per card of a set and permutation of the suits."""
BYTES_OF_PAIR = 100
"""Scratch bytes per pair of hands of the two remaining players."""
LEAST = 1e-12
"""Likelihood of hands on boards that the folded players make impossible."""
ROUNDS = 10
"""Number of rounds that fit the factors of each player to the factors of the other one."""


class DealFactors(NamedTuple):
    """Weights of the hands at the deal, with their approximation error."""

    factors: tuple[np.ndarray, np.ndarray]
    """float64 (hands,) for each player: factor of each hand."""
    lost: float
    """Mean relative error of the weight of a pair of hands, over all pairs of the deal."""
    most: float
    """Largest relative error of the weight of a pair of hands."""
    nbytes: int
    """Peak scratch memory of shares and factors, in bytes."""


class Bunching:
    """Probabilities of hands and boards after some players have folded.

    Args:
        hands: int64 (hands, 2): all hands of the deck.
        ranges: float64 (hands,) for each folded player: probability of folding each hand.
        known: Cards of the board and dead cards.

    Raises:
        ValueError: The known cards leave a folded player without a hand, or no deal gives all
            folded players different cards.
    """

    def __init__(
        self, hands: np.ndarray, ranges: Sequence[np.ndarray], known: Sequence[int]
    ) -> None:
        orders = orders_of_suits(len(RANKS), len(SUITS))
        number = np.zeros(len(CARDS) ** 2, dtype=np.int64)
        number[_codes(hands)] = np.arange(len(hands))
        images = number[_codes(orders[:, hands])]  # (permutations, hands): number of the image.
        preserves_ranges = np.logical_and.reduce(
            [(weights[images] == weights).all(axis=1) for weights in ranges]
        )
        self.symmetries = orders[preserves_ranges]
        """int64 (permutations, cards): the permutations of suits that preserve the ranges."""
        live = np.setdiff1d(np.arange(len(CARDS)), known)
        self._position = np.full(len(CARDS), -1, dtype=np.int8)
        self._position[live] = np.arange(len(live))
        positions = self._position[self.symmetries[:, live]]
        # Permutations that also preserve the known cards.  Shares of sets that they map to each
        # other are made equal to the last bit, so that the compiler can merge these sets.
        self._permutations = positions[(positions >= 0).all(axis=1)]
        self.free = len(live) - 2 * len(ranges)
        """Number of cards that are neither known nor folded."""
        live_ranges = [self._live_hands(hands, weights) for weights in ranges]
        count = (
            DEALS
            if len(live_ranges) > 2
            else prod(len(live_hands) for live_hands, _ in live_ranges)
        )
        sets = len(self._permutations) * MAX_CARDS * comb(len(live), MAX_CARDS)
        self.nbytes = max(
            (BYTES_OF_DEAL + BYTES_OF_CARDS * len(live_ranges)) * count, BYTES_OF_SET * sets
        )
        """Peak scratch memory of the constructor, in bytes."""
        reserve(self.nbytes, "folded: deals and sets of cards")
        deals = _deals(live_ranges)
        self._shares = self._shares_of_sets(deals, len(live))

    def _live_hands(self, hands: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the hands that a player can have folded and their weights, float64 (hands,).

        A hand is given by the positions of its cards among the live cards, int8 (hands, 2).
        """
        positions = self._position[hands]
        possible = np.flatnonzero((weights > 0.0) & (positions >= 0).all(axis=1))
        if not len(possible):
            raise ValueError("the board and the dead cards leave no hand of a range")
        return positions[possible], weights[possible]

    def _shares_of_sets(self, deals: tuple[np.ndarray, np.ndarray], live: int) -> list[np.ndarray]:
        """Return the share of every set of up to four live cards: float64 (sets,) for each size."""
        dealt, weight = deals
        dealt, total = np.sort(dealt, axis=1), weight.sum()
        if total <= 0.0:
            raise ValueError("no deal gives all of them different cards")
        shares, all_held = [np.ones(1)], [np.ones(1)]
        for size in range(1, 1 + MAX_CARDS):
            # Probability that the folded hands contain all cards of a set.
            weight_sums = np.zeros(comb(live, size))
            for columns in combinations(range(dealt.shape[1]), size):
                set_number = _number(dealt[:, columns])
                weight_sums += np.bincount(set_number, weight, minlength=len(weight_sums))
            all_held.append(weight_sums / total)
            sets = np.array(list(combinations(range(live), size)), dtype=np.int8)
            sets = sets[np.argsort(_number(sets))]
            # Inclusion and exclusion: from "contain all of a subset" to "contain none of the set".
            none_held = np.zeros(len(sets))
            for n_held in range(size + 1):
                for columns in combinations(range(size), n_held):
                    none_held += (-1) ** n_held * all_held[n_held][_number(sets[:, columns])]
            none_held[none_held < ROUNDING] = 0.0
            # Average over each orbit of the permutations, named by its smallest set.
            orbit = _number(np.sort(self._permutations[:, sets], axis=2)).min(axis=0)
            orbit_mean = np.bincount(orbit, none_held, minlength=len(none_held)) / np.maximum(
                np.bincount(orbit, minlength=len(none_held)), 1
            )
            shares.append(orbit_mean[orbit])
        return shares

    def share(self, sets: np.ndarray) -> np.ndarray:
        """Return the probability that the folded hands contain none of some cards.

        Args:
            sets: int64 (sets, up to 4): different cards, none of them known.

        Returns:
            float64 (sets,).
        """
        positions = np.sort(self._position[sets], axis=1)
        return self._shares[sets.shape[1]][_number(positions)]

    def likelihood(self, dealt: Sequence[int], hands: np.ndarray) -> np.ndarray:
        """Return the factor by which folded hands change the weight of each hand on a board.

        The factor is the share of hand and board, divided by the root of the board's share.  The
        product of the factors of two hands, times the uniform probability of the board, is the
        probability of the board and both hands.  It neglects the correlation between the hands.

        Args:
            dealt: Cards of the board that are not known, two at most.
            hands: int64 (hands, 2).

        Returns:
            float64 (hands,), :data:`LEAST` where the folded hands rule out the board with the hand;
            meaningless for hands with a card of the board.
        """
        count, n_live = len(dealt), len(self._permutations[0])
        board = np.array([dealt], dtype=np.int64)
        disjoint = ~np.isin(hands, board).any(axis=1)
        sets = np.column_stack([np.repeat(board, len(hands), axis=0), hands])
        factors = np.ones(len(hands))
        # A board with share 0 cannot occur; divide its shares by 1 to avoid 0 / 0.
        factors[disjoint] = self.share(sets[disjoint]) / np.sqrt(self.share(board)[0] or 1.0)
        # Keep weights above 0, because the infosets of a hand are the same on all boards.
        factors = np.maximum(factors, LEAST)
        # Boards are dealt uniformly from the cards that nobody holds.  Folded cards are not among
        # them, so there are fewer boards than without folded players.
        boards_of_live, boards_of_free = (comb(n - 4, count) for n in (n_live, self.free))
        return factors * np.sqrt(boards_of_live / boards_of_free)

    def of_deal(self, hands: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> DealFactors:
        """Fit the factors that make both players' marginal ranges exact, and measure the error.

        Args:
            hands: int64 (hands, 2) for each player.
            weights: float64 (hands,) for each player: weight of each hand in the range.
        """
        first, second = hands
        needed = BYTES_OF_PAIR * len(first) * len(second)
        reserve(needed, "folded: pairs of hands")
        pairs = np.concatenate(
            np.broadcast_arrays(first.astype(np.int8)[:, None], second.astype(np.int8)[None]),
            axis=2,
        )
        disjoint = (np.diff(np.sort(pairs, axis=2), axis=2) > 0).all(axis=2)
        exact = np.zeros(disjoint.shape)
        exact[disjoint] = self.share(pairs[disjoint])
        likelihoods = [self.likelihood((), player_hands) for player_hands in hands]
        approximation = np.outer(*likelihoods) * disjoint
        first_factors, second_factors = (np.ones(len(player_hands)) for player_hands in hands)
        # Plain sums instead of `@`: a linear algebra library rounds differently on each machine.
        marginals = [(exact * weights[1]).sum(axis=1), (exact.T * weights[0]).sum(axis=1)]
        # Alternate between the players (iterative proportional fitting) until both marginals fit.
        for _ in range(ROUNDS):
            first_factors = self._fit_factors(
                first, marginals[0], (approximation * (weights[1] * second_factors)).sum(axis=1)
            )
            second_factors = self._fit_factors(
                second, marginals[1], (approximation.T * (weights[0] * first_factors)).sum(axis=1)
            )
        error = np.abs(np.outer(first_factors, second_factors) * approximation - exact)
        pair_weights = np.outer(*weights)
        mean_error = float((pair_weights * error).sum() / (pair_weights * exact).sum())
        possible = exact > 0.0
        largest_error = float((error[possible] / exact[possible]).max())
        return DealFactors(
            (first_factors, second_factors), mean_error, largest_error, max(needed, self.nbytes)
        )

    def _fit_factors(
        self, hands: np.ndarray, target: np.ndarray, current: np.ndarray
    ) -> np.ndarray:
        """Return ``target / current`` for each hand; 1 where ``current`` is 0.

        Both are first summed over hands that a permutation maps to each other, so that these hands
        get the same bits.

        Args:
            hands: int64 (hands, 2).
            target: float64 (hands,): marginal weights to reach.
            current: float64 (hands,): current marginal weights.

        Returns:
            float64 (hands,).
        """
        images = np.sort(self._permutations[:, self._position[hands]], axis=2)
        _, orbit = np.unique(_number(images).min(axis=0), return_inverse=True)
        target, current = (np.bincount(orbit, weights) for weights in (target, current))
        ratios: np.ndarray = np.divide(
            target, current, out=np.ones(len(current)), where=current > 0.0
        )[orbit]
        return ratios


def _deals(hands: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return deals of hands to the folded players: all for two players or fewer, else a sample.

    Returns:
        int8 (deals, 2 * players): positions of the cards; and float64 (deals,): weights.
    """
    if len(hands) <= 2:
        numbers = np.meshgrid(*(np.arange(len(cards)) for cards, _ in hands), indexing="ij")
        rows = [number.ravel() for number in numbers]
        weight = np.prod([w[row] for row, (_, w) in zip(rows, hands, strict=True)], axis=0)
    else:
        draw = np.random.default_rng(SEED)
        rows = [draw.choice(len(cards), DEALS, p=w / w.sum()) for cards, w in hands]
        weight = np.ones(DEALS)
    dealt = np.column_stack(
        [cards.astype(np.int8)[row] for row, (cards, _) in zip(rows, hands, strict=True)]
    )
    distinct = (np.diff(np.sort(dealt, axis=1), axis=1) > 0).all(axis=1)
    return dealt[distinct], weight[distinct]


def _number(sets: np.ndarray) -> np.ndarray:
    """Return the index of each set among all sets of its size (combinatorial number system).

    Returns:
        int64 (...,).
    """
    numbers = np.zeros(sets.shape[:-1], dtype=np.int64)
    for column in range(sets.shape[-1]):
        numbers += _BINOMIALS[sets[..., column], column + 1]
    return numbers


def _codes(hands: np.ndarray) -> np.ndarray:
    """Return a number for each hand of two cards in any order, int64 (...,)."""
    return hands.max(axis=-1) * len(CARDS) + hands.min(axis=-1)


_BINOMIALS = np.array([[comb(n, k) for k in range(5)] for n in range(len(CARDS))])
"""int64 (52, 5): the binomial coefficients n over k, up to k = MAX_CARDS."""
