"""Pot-limit Omaha with five cards after the flop, one spot at a time."""

from __future__ import annotations

from .omaha import Omaha


class FiveCardOmaha(Omaha):
    """Five-card pot-limit Omaha between two players from the flop, the turn or the river on.

    The players hold five cards each, and play two of them with three cards of the board.  All other
    rules and all parameters are those of :class:`~tensorcfr.games.omaha.Omaha`.  Ranges have the
    same notation, but no shares such as ``top 15%``, because the order of the hands is unknown.
    With full ranges each player has 1,533,939 hands on a river.

    Source: the rules of Omaha, with one more card for each player.
    """

    game = "omaha5"
    width = 5
    examples = "AAKK$ds,KKQQ$ds,AAJT9,JT987", "QQJJ$ds", "AAKQJ,KQJT9,QQJJ$ds"
