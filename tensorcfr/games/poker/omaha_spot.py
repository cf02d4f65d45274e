"""Heads-up pot-limit Omaha after the flop, one spot at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from ...rules import HandGroups
from . import omaha_groups
from .deck import CARDS
from .omaha_ranges import every_hand, read_range
from .omaha_strength import omaha_strengths
from .spot import Spot


class Omaha(Spot):
    """Pot-limit Omaha between two players from the flop, the turn or the river on.

    The players hold four cards each, and play two of them with three cards of the board.  A bet or
    raise is at most the pot after a call: larger sizes are reduced to it, and all-in is an action
    only within this limit.  All other rules and all parameters are those of
    :class:`~tensorcfr.games.holdem.Holdem`; ``pot`` is a size.  With full ranges each player has
    178,365 hands on a river.

    Args:
        board: Three, four or five cards, ``"Td9d6hQc"``.
        ranges: Ranges of player 0 and player 1, in the notation of
            :func:`~tensorcfr.games.poker.omaha_ranges.read_range`.
        pot: Chips in the pot.
        stacks: Chips that each player has left.
        bets: Sizes of bets, ``"pot,50%"``.
        raises: Sizes of raises, in the same notation.

    Source: the usual rule of the limit, a call and then a raise by the pot (pot-limit betting).
    """

    game = "omaha"
    pot_limit = True
    width: ClassVar[int] = 4
    """Number of cards of a hand."""
    examples = "AA$ds,KK$ds,QQ$ds,JT98,T987", "QQ$ds,JJ$ds", "AA$ss,KQJT,JT97,9876"

    @classmethod
    def every_hand(cls) -> np.ndarray:
        """Return all hands, int8 (hands, cards): 270,725 hands of four cards."""
        return every_hand(cls.width)

    @classmethod
    def read_range(cls, text: str, what: str) -> np.ndarray:
        """Read a range as :func:`~tensorcfr.games.omaha.read_range` does, float64 (hands,)."""
        return read_range(text, what, width=cls.width)

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """Return the strength of each hand on the board, int64 (hands,).

        The ranking is that of :func:`~tensorcfr.games.poker.omaha_strength.omaha_strengths`.
        """
        return omaha_strengths(np.array(board, dtype=np.int64), hands)

    def groups(self, player: int, board: tuple[int, ...]) -> Mapping[str, HandGroups]:
        """Return the groups ``"pairs"``, ``"suits"`` and ``"made"``.

        :mod:`tensorcfr.games.poker.omaha_groups` defines them.
        """
        hands = self.hands[player]
        return {
            "pairs": omaha_groups.pairs(hands),
            "suits": omaha_groups.suits(hands),
            "made": omaha_groups.made_hands(
                board, hands, self.strengths(board, hands)[0], self.categories
            ),
        }

    def hand_label(self, player: int, hand: int) -> str:
        """Return the label of a hand: ``"AsKdQh2c"``."""
        return "".join(CARDS[card] for card in sorted(self.hands[player][hand], reverse=True))
