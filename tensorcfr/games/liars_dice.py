"""Liar's dice (Bluff): bid on the dice of both players, or call the last bid a lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Annotated, NamedTuple

import numpy as np

from .._util.arguments import Flag, Several, Whole, checked
from .._util.memory import reserve
from ..rules import Decision, Payoff, PublicTreeGame

LIAR = "liar"
MOST_ROLLS = 100_000
"""Hands of a player, at most."""
Dice = Annotated[int | Sequence[int], Several(Whole(1, 50), length=2, alone=True)]
Faces = Annotated[int, Whole(2, 100)]


class Claim(NamedTuple):
    """The public state: bids before the last one have no effect."""

    player: int
    """The player who acts; once the last bid is called, the player who made it."""
    last: int | None
    """The last bid."""
    called: bool


class LiarsDice(PublicTreeGame):
    """Liar's dice for two: both players roll in secret, then the bids go up until one is called.

    A bid "3x5" says that among all dice at least three show a five.  Each bid must be higher
    than the last: more dice, or as many of a higher face.  The player who calls ``liar``
    wins 1 if the last bid is false and loses 1 if it is true.

    Args:
        dice: Dice of player 0 and of player 1; one number means both.
        faces: Faces of a die.
        wild: Whether the highest face counts as every face.
        bid_wild: Whether the wild face can itself be bid.

    Hands are the dice in ascending order, without regard to which die shows what, with their
    multinomial probabilities.  Infoset labels are the hand and the bids: ``"3"``,
    ``"26 1x3 2x3"``.

    The defaults equal OpenSpiel's ``liars_dice`` (one die each, six faces, sixes wild and
    biddable): 294,883 histories, value -0.0271318 for player 0.  :class:`Bluff` has the rules
    of the tutorials.

    Source: V. Lisý, M. Lanctot, M. Bowling, "Online Monte Carlo counterfactual regret
    minimization for search in imperfect information games", AAMAS 2015; T. W. Neller and
    S. Hnath, "Approximating optimal Dudo play with fixed-strategy iteration counterfactual
    regret minimization", 2011.
    """

    states_repeat = True

    @checked("liars_dice")
    def __init__(
        self,
        *,
        dice: Dice = 1,
        faces: Faces = 6,
        wild: Annotated[bool, Flag()] = True,
        bid_wild: Annotated[bool, Flag()] = True,
    ) -> None:
        counts = (dice, dice) if isinstance(dice, int) else tuple(dice) * (2 // len(dice))
        for n in counts:
            if (made := comb(faces + n - 1, n)) > MOST_ROLLS:
                raise ValueError(
                    f"liars_dice: dice = {n} with faces = {faces} make {made:,} hands, "
                    f"more than {MOST_ROLLS:,}"
                )
        if not wild and not bid_wild:
            raise ValueError("liars_dice: bid_wild=False needs wild=True: no face is wild")
        self.wild = faces if wild else None
        biddable = faces if bid_wild else faces - 1
        self.bids = [
            (quantity, face)
            for quantity in range(1, sum(counts) + 1)
            for face in range(1, biddable + 1)
        ]
        self.rolls = [list(combinations_with_replacement(range(1, faces + 1), n)) for n in counts]
        rolls = self.rolls
        separator = "" if faces < 10 else "."
        self.hands = [[separator.join(map(str, roll)) for roll in own] for own in rolls]
        probabilities = [[_probability(roll, faces) for roll in own] for own in rolls]
        reserve(2 * 8 * len(rolls[0]) * len(rolls[1]))
        self.prior = np.multiply.outer(*map(np.array, probabilities))
        names = [f"{quantity}x{face}" for quantity, face in self.bids]
        self._index = {name: index for index, name in enumerate(names)}
        self._actions = [(*names[last + 1 :], LIAR) for last in range(len(names))]
        self._opening = tuple(names)

    def root(self) -> Claim:
        """No bid yet."""
        return Claim(player=0, last=None, called=False)

    def node(self, claim: Claim) -> Decision | Payoff:
        """Any higher bid, or ``liar`` once there is a bid."""
        if claim.last is None:
            return Decision(claim.player, None, self._opening)
        if claim.called:
            return Payoff(1.0, (claim.player, claim.last))
        return Decision(claim.player, None, self._actions[claim.last])

    def next(self, claim: Claim, action: str) -> Claim:
        """The claim that stands after a bid, or after it is called."""
        after = 1 - claim.player
        if action == LIAR:
            return Claim(after, claim.last, called=True)
        return Claim(after, self._index[action], called=False)

    def matrix(self, key: tuple[int, int]) -> np.ndarray:
        """+1 for the bidder where the bid holds, -1 where it does not."""
        bidder, bid = key
        quantity, face = self.bids[bid]
        showing = [
            np.array([sum(die in (face, self.wild) for die in roll) for roll in own])
            for own in self.rolls
        ]
        reserve(4 * 8 * self.prior.size)
        bidder_wins = np.where(np.add.outer(*showing) >= quantity, 1.0, -1.0)
        to_player_0 = bidder_wins if bidder == 0 else -bidder_wins
        return np.stack([to_player_0, -to_player_0])


class Bluff(LiarsDice):
    """Bluff, liar's dice as the Rust tutorials play it: sixes are wild and cannot be bid.

    ``Bluff(dice=(2, 1))`` is Bluff(2,1): faces 1 to 5 can be bid, up to three of them.

    Args:
        dice: Dice of player 0 and of player 1.
        faces: Faces of a die, the highest of them wild.
    """

    @checked("bluff")
    def __init__(self, *, dice: Dice = (1, 1), faces: Faces = 6) -> None:
        super().__init__(dice=dice, faces=faces, bid_wild=False)


def _probability(roll: tuple[int, ...], faces: int) -> float:
    """Multinomial probability of an unordered roll."""
    orders = factorial(len(roll)) // prod(factorial(count) for count in Counter(roll).values())
    return orders / faces ** len(roll)
