"""Short-deck hold'em and Omaha after the flop: 36 cards, from the six to the ace."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from .holdem import Holdem
from .omaha import Omaha
from .poker import omaha_ranges as four_cards
from .poker import ranges as pairs_of_cards
from .poker.deck import HANDS, SUITS
from .poker.omaha_strength import omaha_strengths
from .poker.strength import SHORT_CATEGORIES, SIX, short_strengths

BY_EQUITY = (
    "AA KK QQ JJ TT AKs AQs AKo AJs KQs AQo ATs KJs AJo QJs KTs KQo JTs QTs 99 ATo KJo A9s QJo "
    "KTo JTo QTo A8s A9o K9s T9s A8o Q9s J9s A7s K9o T9o Q9o J9o A7o 88 A6s K8s 98s T8s Q8s J8s "
    "K7s A6o K8o 98o T8o Q8o J8o K6s K7o 97s T7s Q7s J7s 77 Q6s K6o 97o T7o 87s Q7o J7o 96s Q6o "
    "T6s J6s 87o 96o 86s T6o J6o 66 76s 86o 76o"
)
"""Groups of hands by descending equity before the flop against a random hand (ties count half).

Equities range from .73076 for aces to .35282.  They are exact counts over all boards by
:meth:`NoLimitPoker.runouts <tensorcfr.games.nolimit_poker.NoLimitPoker.runouts>`.
"""


@cache
def _has_deck(every_hand: Callable[[], np.ndarray]) -> np.ndarray:
    """Return a mask of the hands that the short deck has, bool (hands of 52 cards,)."""
    return np.asarray((every_hand() >= len(SUITS) * SIX).all(axis=1))


class ShortDeck(Holdem):
    """Short-deck hold'em between two players from the flop, the turn or the river on.

    The deck has 36 cards, from the six up.  A flush beats a full house, and a straight beats three
    of a kind.  In a straight the ace also counts below the six.  All other rules and all parameters
    are those of :class:`~tensorcfr.games.holdem.Holdem`.

    Source: the rules of Triton Poker.
    """

    game = "short_deck"
    lowest = SIX
    categories = SHORT_CATEGORIES
    examples = (
        "99+,A9s+,AJo+,KTs+,KQo,QTs+,JTs,98s",
        "TT+,AJs+,KQs,JTs",
        "66+,A6s+,ATo+,K9s+,KJo+,Q9s+,QJo,J9s+,T8s+,97s+",
    )

    @staticmethod
    def every_hand() -> np.ndarray:
        """Return the 630 hands of the deck, int64 (630, 2)."""
        return HANDS[_has_deck(Holdem.every_hand)]

    @staticmethod
    def read_range(text: str, what: str) -> np.ndarray:
        """Return the weight of every hand of the deck, float64 (630,).

        The notation is that of :func:`~tensorcfr.games.poker.ranges.read_range`.  Groups leave out
        hands that the deck lacks, and ``top 20%`` follows the order of :data:`BY_EQUITY`.
        """
        deck = _has_deck(Holdem.every_hand)
        return pairs_of_cards.read_range(text, what, order=BY_EQUITY, deck=deck)[deck]

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """Return the strength of each hand on the board, int64 (hands,).

        The ranking is that of :func:`~tensorcfr.games.poker.strength.short_strengths`.
        """
        return short_strengths(np.array(board, dtype=np.int64), hands)


class ShortOmaha(Omaha):
    """Pot-limit short-deck Omaha between two players from the flop, the turn or the river on.

    The deck and the ranking of five cards are those of :class:`ShortDeck`; all other rules are
    those of :class:`~tensorcfr.games.omaha.Omaha`.

    Source: the sources of these two games.
    """

    game = "short_omaha"
    lowest = SIX
    categories = SHORT_CATEGORIES
    examples = "AA$ds,KK$ds,QQ$ds,JT98$ds", "QQ$ds,JJ$ds", "AA$ss,KQJT$ds,JT97$ds"

    @staticmethod
    def every_hand() -> np.ndarray:
        """Return the 58,905 hands of the deck, int8 (58905, 4)."""
        return Omaha.every_hand()[_has_deck(Omaha.every_hand)]

    @staticmethod
    def read_range(text: str, what: str) -> np.ndarray:
        """Return the weight of every hand of the deck, float64 (58905,).

        The notation is that of :func:`~tensorcfr.games.poker.omaha_ranges.read_range`.  Groups
        leave out hands that the deck lacks.
        """
        deck = _has_deck(Omaha.every_hand)
        return four_cards.read_range(text, what, deck=deck)[deck]

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """Return the strength of each hand on the board, int64 (hands,).

        The best choice of two cards of the hand and three of the board counts.
        """
        on_board = np.array(board, dtype=np.int64)
        return omaha_strengths(on_board, hands, short_strengths, ShortDeck.every_hand())
