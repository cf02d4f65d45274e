"""What players who have folded leave of the deck: the *bunching effect*.

A player who folds held no strong hand, so that strong cards are likelier in the other hands and on
the board than they would be otherwise.  For a set of cards let its *share* be the probability that
the folded hands, dealt by their ranges, have none of these cards.  Shares of up to four cards are
worked out: of one and two folded players from all their hands, of more from a sample of deals.

A pair of hands and a board are weighted with the share of all their cards, which is no product of
something of one hand and something of the other.  Here it is made one: the share of the board and
the one hand, times that of the board and the other hand, over that of the board, times a factor of
either hand, by which the two ranges of the deal are exact.  What is lost is how the cards of one
hand and those of the other go together beyond that; :class:`OfDeal` says how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from .cards import CARDS, RANKS, SUITS, orders_of_suits

MOST_FOLDED = 4
"""Players who can have folded: six play."""
MOST_DEALT = 2
"""Cards that can still be dealt: shares are those of four cards, two of them a hand's."""
DEALS = 1 << 20
"""Deals of the sample, before those are left out in which two players have one card."""
SEED = 1
ROUNDING = 1e-12
"""Shares below this are those of cards without which the folded players had no hands."""
LEAST = 1e-12
"""Likelihood of hands on boards that the folded players make impossible."""
ROUNDS = 10
"""Times that the factors of one player's hands are made of those of the other's."""


class OfDeal(NamedTuple):
    """How the hands of a deal are weighted."""

    factors: tuple[np.ndarray, np.ndarray]
    """For each player float64 (hands,)."""
    lost: float
    """By how much the weight of a pair of hands is off, on average over all pairs of the deal; a
    share of it."""
    most: float
    """By how much it is off at most."""


class Folded:
    """How likely hands and boards are after some players have folded.

    Args:
        hands: int64 (hands, 2): all hands of the deck.
        ranges: For each of them float64 (hands,): how often they fold each hand.
        known: The cards of the board and the dead cards.

    Raises:
        ValueError: The known cards leave a player no hand; or all of them, no deal.
    """

    def __init__(
        self, hands: np.ndarray, ranges: Sequence[np.ndarray], known: Sequence[int]
    ) -> None:
        orders = orders_of_suits(len(RANKS), len(SUITS))
        number = np.zeros(len(CARDS) ** 2, dtype=np.int64)
        number[_codes(hands)] = np.arange(len(hands))
        moved = number[_codes(orders[:, hands])]
        same = np.logical_and.reduce([(own[moved] == own).all(axis=1) for own in ranges])
        self.symmetries = orders[same]
        """int64 (permutations, cards): the orders of suits that leave the ranges as they are."""
        live = np.setdiff1d(np.arange(len(CARDS)), known)
        self._place = np.full(len(CARDS), -1)
        self._place[live] = np.arange(len(live))
        places = self._place[self.symmetries[:, live]]
        # What these make of each other is alike to the last bit.
        self._permutations = places[(places >= 0).all(axis=1)]
        self.free = len(live) - 2 * len(ranges)
        """Cards that nobody has folded, hands and boards to come among them."""
        deals = _deals([self._live_hands(hands, own) for own in ranges])
        self._shares = self._of_sets(deals, len(live))

    def _live_hands(self, hands: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The hands that a player can have folded, as places among the live cards, and weights."""
        places = self._place[hands]
        found = np.flatnonzero((weights > 0.0) & (places >= 0).all(axis=1))
        if not len(found):
            raise ValueError("the board and the dead cards leave no hand of a range")
        return places[found], weights[found]

    def _of_sets(self, deals: tuple[np.ndarray, np.ndarray], live: int) -> list[np.ndarray]:
        """The share of every set of up to four live cards, by size; float64 (sets,)."""
        dealt, weight = deals
        dealt, total = np.sort(dealt, axis=1), weight.sum()
        if total <= 0.0:
            raise ValueError("no deal leaves all of them different cards")
        shares, held = [np.ones(1)], [np.ones(1)]
        for size in range(1, 3 + MOST_DEALT):
            # How likely the folded hands have all cards of a set.
            here = np.zeros(comb(live, size))
            for columns in combinations(range(dealt.shape[1]), size):
                which = _number(dealt[:, columns])
                here += np.bincount(which, weight, minlength=len(here))
            held.append(here / total)
            sets = np.array(list(combinations(range(live), size)))
            sets = sets[np.argsort(_number(sets))]
            none = np.zeros(len(sets))
            for some in range(size + 1):
                for columns in combinations(range(size), some):
                    none += (-1) ** some * held[some][_number(sets[:, columns])]
            none[none < ROUNDING] = 0.0
            least = _number(np.sort(self._permutations[:, sets], axis=2)).min(axis=0)
            alike = np.bincount(least, none, minlength=len(none)) / np.maximum(
                np.bincount(least, minlength=len(none)), 1
            )
            shares.append(alike[least])
        return shares

    def share(self, sets: np.ndarray) -> np.ndarray:
        """The probability that the folded hands have none of some cards beside the known ones.

        Args:
            sets: int64 (sets, up to 4): different cards that are not known.

        Returns:
            float64 (sets,).
        """
        places = np.sort(self._place[sets], axis=1)
        return self._shares[sets.shape[1]][_number(places)]

    def likelihood(self, dealt: Sequence[int], hands: np.ndarray) -> np.ndarray:
        """How likely a board is with each of some hands, next to a board without more cards and
        without the hand: the share of both, over the root of that of the board.

        The product of two of them, times the even probability of the board, is the probability of
        the board with both hands, but for how the hands go together.

        Args:
            dealt: Cards of the board that are not known, two at most.
            hands: int64 (hands, 2).

        Returns:
            float64 (hands,), :data:`LEAST` where the folded hands rule out the board with the hand;
            any number for hands with a card of the board.
        """
        count, every = len(dealt), len(self._permutations[0])
        board = np.array([dealt], dtype=np.int64)
        apart = ~np.isin(hands, board).any(axis=1)
        sets = np.column_stack([np.repeat(board, len(hands), axis=0), hands])
        found = np.ones(len(hands))
        found[apart] = self.share(sets[apart]) / np.sqrt(self.share(board)[0] or 1.0)
        # Weights are above 0: the infosets of a hand are the same on all boards.
        found = np.maximum(found, LEAST)
        # Cards that nobody holds are dealt, and folded ones are not among them.
        evenly, really = (comb(n - 4, count) for n in (every, self.free))
        return found * np.sqrt(evenly / really)

    def of_deal(self, hands: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> OfDeal:
        """The factors that make the ranges of the deal exact, and what is lost.

        Args:
            hands: For each player int64 (hands, 2).
            weights: For each player float64 (hands,): the weight of each hand in the range.
        """
        first, second = hands
        pairs = np.concatenate(
            np.broadcast_arrays(first[:, None], second[None]), axis=2, dtype=np.int64
        )
        apart = (np.diff(np.sort(pairs, axis=2), axis=2) > 0).all(axis=2)
        exact = np.zeros(apart.shape)
        exact[apart] = self.share(pairs[apart])
        alone = [self.likelihood((), own) for own in hands]
        made = np.outer(*alone) * apart
        one, other = (np.ones(len(own)) for own in hands)
        # No linear algebra library, whose sums are other bits on other machines.
        wanted = [(exact * weights[1]).sum(axis=1), (exact.T * weights[0]).sum(axis=1)]
        for _ in range(ROUNDS):
            one = self._evened(first, wanted[0], (made * (weights[1] * other)).sum(axis=1))
            other = self._evened(second, wanted[1], (made.T * (weights[0] * one)).sum(axis=1))
        off, given = np.abs(np.outer(one, other) * made - exact), np.outer(*weights)
        lost = float((given * off).sum() / (given * exact).sum())
        can = exact > 0.0
        return OfDeal((one, other), lost, float((off[can] / exact[can]).max()))

    def _evened(self, hands: np.ndarray, wanted: np.ndarray, has: np.ndarray) -> np.ndarray:
        """What makes ``wanted`` of ``has``, hand by hand, the same bits for hands that are alike;
        1 where there is nothing."""
        moved = np.sort(self._permutations[:, self._place[hands]], axis=2)
        _, alike = np.unique(_number(moved).min(axis=0), return_inverse=True)
        wanted, has = (np.bincount(alike, own) for own in (wanted, has))
        found: np.ndarray = np.divide(wanted, has, out=np.ones(len(has)), where=has > 0.0)[alike]
        return found


def _deals(hands: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Deals of hands to the folded players: places of cards, int64 (deals, two of each player),
    and weights, float64 (deals,)."""
    if len(hands) <= 2:
        numbers = np.meshgrid(*(np.arange(len(own)) for own, _ in hands), indexing="ij")
        rows = [number.ravel() for number in numbers]
        weight = np.prod([w[row] for row, (_, w) in zip(rows, hands, strict=True)], axis=0)
    else:
        draw = np.random.default_rng(SEED)
        rows = [draw.choice(len(own), DEALS, p=w / w.sum()) for own, w in hands]
        weight = np.ones(DEALS)
    dealt = np.column_stack([own[row] for row, (own, _) in zip(rows, hands, strict=True)])
    apart = (np.diff(np.sort(dealt, axis=1), axis=1) > 0).all(axis=1)
    return dealt[apart], weight[apart]


def _number(sets: np.ndarray) -> np.ndarray:
    """The number of each set of places among the sets of its size, int64 (...,), from its places
    in ascending order, int64 (..., size)."""
    found = np.zeros(sets.shape[:-1], dtype=np.int64)
    for column in range(sets.shape[-1]):
        found += _WAYS[sets[..., column], column + 1]
    return found


def _codes(hands: np.ndarray) -> np.ndarray:
    """A number for each hand of two cards, in any order, int64 (...,)."""
    return hands.max(axis=-1) * len(CARDS) + hands.min(axis=-1)


_WAYS = np.array([[comb(n, k) for k in range(5)] for n in range(len(CARDS))])
