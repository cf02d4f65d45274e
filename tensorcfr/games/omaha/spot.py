"""Heads-up pot-limit Omaha after the flop, one spot at a time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...rules import HandGroups
from ..holdem.cards import CARDS
from ..holdem.spot import Spot
from . import groups
from .ranges import every_hand, read_range
from .strength import omaha_strengths


class Omaha(Spot):
    """Pot-limit Omaha between two players from the flop, the turn or the river on.

    The players hold four cards each, and play two of them with three of the board.  Nobody bets or
    raises by more than the pot after a call: larger sizes become that, and all-in is an action only
    where it is no more.  Everything else, and all parameters, are those of
    :class:`~tensorcfr.games.holdem.Holdem`; ``pot`` is a size.  Hands are many: 178,365 of each
    player on a river, if no range leaves some out.

    Args:
        board: Three, four or five cards, ``"Td9d6hQc"``.
        ranges: The ranges of player 0 and player 1, as
            :func:`~tensorcfr.games.omaha.ranges.read_range` reads them.
        pot: Chips in the pot.
        stacks: Chips that each player has left.
        bets: Sizes of bets, ``"pot,50%"``.
        raises: Sizes of raises, likewise.

    Source: the usual rule of the limit, a call and then a raise by the pot (pot-limit betting).
    """

    game = "omaha"
    pot_limit = True

    @staticmethod
    def every_hand() -> np.ndarray:
        """All 270,725 hands."""
        return every_hand()

    @staticmethod
    def read_range(text: str, what: str) -> np.ndarray:
        """As :func:`~tensorcfr.games.omaha.ranges.read_range` has it."""
        return read_range(text, what)

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """As :func:`~tensorcfr.games.omaha.strength.omaha_strengths` has it."""
        return omaha_strengths(np.array(board, dtype=np.int64), hands)

    def groups(self, player: int, board: tuple[int, ...]) -> Mapping[str, HandGroups]:
        """``"pairs"``, ``"suits"`` and ``"made"``, as :mod:`tensorcfr.games.omaha.groups` has
        them."""
        hands = self.hands[player]
        return {
            "pairs": groups.pairs(hands),
            "suits": groups.suits(hands),
            "made": groups.made_hands(board, hands, self.strength(board, hands), self.categories),
        }

    def hand_label(self, player: int, hand: int) -> str:
        """``"AsKdQh2c"``."""
        return "".join(CARDS[card] for card in sorted(self.hands[player][hand], reverse=True))
