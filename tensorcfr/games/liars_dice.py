"""Liar's dice (Bluff): bid on the dice of all players, or call the last bid a lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Annotated, NamedTuple

import numpy as np

from .._util.argument_checks import Flag, Several, Whole, checked
from .._util.memory_budget import reserve
from ..rules import Decision, Payoff, PublicTreeGame
from .small_poker import MAX_PLAYERS

LIAR = "liar"
MAX_ROLLS = 100_000
"""Largest number of hands (unordered rolls) of a player."""
Dice = Annotated[int | Sequence[int], Several(Whole(1, 50), alone=True)]
Players = Annotated[int | None, Whole(2, MAX_PLAYERS)]
Faces = Annotated[int, Whole(2, 100)]


class Claim(NamedTuple):
    """Public state; bids before the last one have no effect."""

    player: int
    """Player who acts; once the last bid is called, the player who made it."""
    last: int | None
    """Index of the last bid; None before the first one."""
    called: bool
    """True if the last bid was called a lie, which ends the game."""


class LiarsDice(PublicTreeGame):
    """Liar's dice: all players roll in secret, then in turn the bids go up until one is called.

    A bid "3x5" claims that among all dice at least three show a five.  Each bid must be higher
    than the last: more dice, or as many dice of a higher face.  The player who calls ``liar``
    wins 1 from the bidder if the last bid is false, and pays 1 to the bidder if it is true.  All
    other players get 0.

    Args:
        dice: Number of dice of each player; one number applies to all players.
        faces: Number of faces of a die.
        wild: True if the highest face counts as every face.
        bid_wild: True if the wild face can itself be bid.
        players: Number of players, 2 to 10; by default the length of ``dice``, or 2 if ``dice`` is
            one number.

    A hand is a roll with its dice in ascending order; its probability is multinomial.  Infoset
    labels are the hand and the bids: ``"3"``, ``"26 1x3 2x3"``.

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
        players: Players = None,
    ) -> None:
        counts = _dice_of_each(dice, players)
        self.n_players = len(counts)
        for n in counts:
            if (n_hands := comb(faces + n - 1, n)) > MAX_ROLLS:
                raise ValueError(
                    f"liars_dice: dice = {n} with faces = {faces} make {n_hands:,} hands, "
                    f"more than {MAX_ROLLS:,}"
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
        self.hands = [
            [separator.join(map(str, roll)) for roll in player_rolls] for player_rolls in rolls
        ]
        probabilities = [
            [_probability(roll, faces) for roll in player_rolls] for player_rolls in rolls
        ]
        reserve(2 * 8 * prod(map(len, rolls)))
        self.prior = reduce(np.multiply.outer, map(np.array, probabilities))
        names = [f"{quantity}x{face}" for quantity, face in self.bids]
        self._index = {name: index for index, name in enumerate(names)}
        self._actions = [(*names[last + 1 :], LIAR) for last in range(len(names))]
        self._opening = tuple(names)

    def root(self) -> Claim:
        """Return the state before the first bid."""
        return Claim(player=0, last=None, called=False)

    def node(self, claim: Claim) -> Decision | Payoff:
        """Return the decision, with all higher bids and ``liar`` after a bid, or the payoff."""
        if claim.last is None:
            return Decision(claim.player, None, self._opening)
        if claim.called:
            return Payoff(1.0, (claim.player, claim.last))
        return Decision(claim.player, None, self._actions[claim.last])

    def next(self, claim: Claim, action: str) -> Claim:
        """Return the state after a bid or a call."""
        if action == LIAR:
            # The state after a call names the bidder, who acted just before the caller.
            return Claim((claim.player - 1) % self.n_players, claim.last, called=True)
        return Claim((claim.player + 1) % self.n_players, self._index[action], called=False)

    def matrix(self, key: tuple[int, int]) -> np.ndarray:
        """Compute the payoffs after a call: +1 for the bidder if the bid is true, -1 if not.

        Args:
            key: The bidder, and the index of the bid.  The next player is the caller and pays.

        Returns:
            float64 (players, hands of player 0, hands of player 1, ...).
        """
        bidder, bid = key
        quantity, face = self.bids[bid]
        # For each roll of each player, the number of dice that count for the bid.
        showing = [
            np.array([sum(die in (face, self.wild) for die in roll) for roll in player_rolls])
            for player_rolls in self.rolls
        ]
        reserve((self.n_players + 2) * 8 * self.prior.size)
        wins = np.zeros((self.n_players, *self.prior.shape))
        wins[bidder] = np.where(reduce(np.add.outer, showing) >= quantity, 1.0, -1.0)
        wins[(bidder + 1) % self.n_players] = -wins[bidder]
        return wins


class Bluff(LiarsDice):
    """Bluff, liar's dice as the Rust tutorials play it: sixes are wild and cannot be bid.

    ``Bluff(dice=(2, 1))`` is Bluff(2,1): faces 1 to 5 can be bid, up to three of them.

    Args:
        dice: Number of dice of each player; one number applies to all players.
        faces: Number of faces of a die; the highest face is wild.
        players: Number of players, 2 to 10; by default the length of ``dice``, or 2 if ``dice`` is
            one number.
    """

    @checked("bluff")
    def __init__(self, *, dice: Dice = 1, faces: Faces = 6, players: Players = None) -> None:
        super().__init__(dice=dice, faces=faces, bid_wild=False, players=players)


def _dice_of_each(dice: int | Sequence[int], players: int | None) -> tuple[int, ...]:
    """Return the number of dice of each player."""
    counts = (dice,) if isinstance(dice, int) else tuple(dice)
    if len(counts) == 1:
        return counts * (players or 2)
    if not 2 <= len(counts) <= MAX_PLAYERS or players not in (None, len(counts)):
        n_players = players or f"2 to {MAX_PLAYERS}"
        raise ValueError(
            f"liars_dice: dice must be one number, or one for each of {n_players} players, "
            f"not {counts}"
        )
    return counts


def _probability(roll: tuple[int, ...], faces: int) -> float:
    """Return the multinomial probability of an unordered roll."""
    orders = factorial(len(roll)) // prod(factorial(count) for count in Counter(roll).values())
    return orders / faces ** len(roll)
