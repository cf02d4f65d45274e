"""Pot-limit Omaha hi-lo after the flop: the high hand and an eight-or-better low split the pot."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..rules import HandGroups
from .omaha import Omaha
from .poker.deck import CARDS, RANKS, SUITS
from .poker.omaha_strength import omaha_strengths
from .poker.strength import CATEGORIES, CATEGORY_SHIFT

LOW_RANKS = 8
"""Number of ranks of low hands, from the ace to the eight."""
RANKS_OF_CARD = 1 << np.minimum((np.arange(len(CARDS)) // len(SUITS) + 1) % len(RANKS), LOW_RANKS)
"""int64 (52,): the rank of each card as a set, which is a number with one bit for each rank.  Ace,
deuce, ..., eight are the lowest bits, and all higher ranks are one bit above them."""
LOW_OF_RANKS = np.array(
    [
        (1 << LOW_RANKS) - ranks if ranks < 1 << LOW_RANKS and ranks.bit_count() == 5 else 0
        for ranks in range(2 << LOW_RANKS)
    ]
)
"""int64 (512,): for each set of ranks of five cards, how good a low hand it is: the larger number
is better, and 0 is none.  The set with the lower highest rank is the smaller number, so it is the
better hand; with equal highest ranks the next ones decide."""
ABOVE = len(CATEGORIES) << CATEGORY_SHIFT
"""Number above the strengths of all high hands."""
LOWS = ("wheel", "six low", "seven low", "eight low", "no low")
"""Names of low hands by their highest rank, the best first."""


def lows(three: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return how good the low hand of every two cards with three cards of the board is.

    A low hand has five different ranks from the ace to the eight, whose suits do not matter.

    Args:
        three: int64 (3,): cards of the board.
        pairs: int64 (pairs, 2): cards.

    Returns:
        int64 (pairs,): numbers of :data:`LOW_OF_RANKS`.
    """
    first, second = RANKS_OF_CARD[pairs].T
    ranks = np.bitwise_or.reduce(RANKS_OF_CARD[three]) | first | second
    of_pairs: np.ndarray = LOW_OF_RANKS[ranks]
    return of_pairs


class OmahaHiLo(Omaha):
    """Pot-limit Omaha hi-lo, eight or better, between two players from the flop, the turn or the
    river on.

    The best high hand gets a half of the pot, and the best low hand the other half: five different
    ranks from the ace to the eight.  If no player has a low hand, the high hand gets the whole pot.
    Each of both hands has two cards of the player and three of the board; the two may differ.  All
    other rules and all parameters are those of :class:`~tensorcfr.games.omaha.Omaha`.  Payoffs are
    chips, so there are no prizes.

    Source: Robert's Rules of Poker (R. Ciaffone), Omaha high-low split, 8-or-better.
    """

    game = "omaha_hi_lo"
    rankings = 2
    examples = "AA$ds,A23$ss,A24$ds,KK$ds", "A23,QQ$ds", "AA$ss,A34,KQJT,2345"

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """Return the strength of each hand for both halves of the pot, int64 (2, hands).

        For the low half, every low hand is above all hands without one.  These have the order of
        high hands, because the best high hand gets this half if no player has a low hand.
        """
        high, low = super().strength(board, hands), self._lows(board, hands)
        return np.stack([high, np.where(low > 0, ABOVE + low, high)])

    def groups(self, player: int, board: tuple[int, ...]) -> Mapping[str, HandGroups]:
        """Return the groups of :class:`~tensorcfr.games.omaha.Omaha`, and ``"low"``: the names of
        low hands."""
        low = self._lows(board, self.hands[player])
        # The sets of ranks of a six low have the bit of the six, 32; those of a wheel are below.
        highest = np.searchsorted([32, 64, 128], (1 << LOW_RANKS) - low, side="right")
        of_hand = np.where(low > 0, highest, len(LOWS) - 1)
        return {**super().groups(player, board), "low": HandGroups(LOWS, of_hand)}

    @staticmethod
    def _lows(board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """Return the number of :func:`lows` of the best low of each hand, int64 (hands,)."""
        return omaha_strengths(np.array(board, dtype=np.int64), hands, lows)
