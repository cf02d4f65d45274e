"""Goofspiel, the game of pure strategy: sealed bids for one prize after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from operator import getitem
from typing import Annotated, Any, Literal, get_args

from .._util.arguments import Flag, OneOf, Whole, checked
from ..rules import Chance, Decision, Game, Terminal

PrizeOrder = Literal["descending", "ascending", "random"]
Payment = Literal["win_loss", "point_difference", "total_points"]

Cards = tuple[int, ...]
"""Cards in a hand, prizes, or the bids or points of all players."""
State = tuple[Decision | Chance | Terminal, "tuple[Seat, ...]", Cards]
"""The node of this history, the players who bid, and the bids of the round so far."""

NOBODY = -1
"""The winner of a round in which the highest bid is tied."""


class Goofspiel(Game):
    """Goofspiel, or the game of pure strategy: bid your cards for the prizes.

    Every player holds the cards 1 to ``cards``, and as many prizes, worth 1 to ``cards`` points,
    are turned up one after the other.  For each prize, every player lays down one card face down;
    the highest card takes the prize, nobody if the highest are tied, and the cards are discarded.
    The last cards are played automatically.

    Written as a tree, the players bid in turn and do not see the bids of the round.

    Args:
        cards: Cards in a hand, and prizes, at least 2; 13 in the full game.
        imperfect_information: Whether the players see only the winner of each prize, and not the
            bids of the others.
        prizes: The order in which the prizes come; ``"random"`` puts a chance node before
            every round but the last.
        payoff: Utilities: ``"win_loss"``, 1 shared by the players with the most points and -1
            shared by the others (0 if all have the same); ``"point_difference"``, points minus
            the mean of all players; ``"total_points"``, points.
        players: 2 or more.

    Actions are cards.  Infoset labels are the player, the rounds played and the prize at
    stake.  ``"P0 4:1- 3:2= 2?"`` lost the 4 with a bid of 1, tied for the 3 with a 2, and now
    bids for the 2; ``+`` is a prize won.  With three players or more, ``-`` is followed by the
    winner: ``"P0 3:1-2 2?"``.  With perfect information, a round is the bids of all
    players, player 0's first: ``"P0 4:1,3 3:2,2 2?"``.

    The defaults equal OpenSpiel's ``turn_based_simultaneous_game(game=goofspiel(
    imp_info=True,num_cards=4,points_order=descending,returns_type=win_loss))``: 1,077
    histories, 162 infosets, value 0.  Five cards make 26,931 histories, six 969,523.  With
    perfect information the tree still equals OpenSpiel's, but from four cards on OpenSpiel's
    infosets forget the order in which the cards went, hence the player's own bids; those here
    do not, for without perfect recall a game cannot be compiled.

    Source: S. M. Ross, "Goofspiel: the game of pure strategy", Journal of Applied Probability
    8(3), 1971; with imperfect information: M. Lanctot, "Monte Carlo sampling and regret
    minimization for equilibrium computation and decision-making in large extensive form
    games", PhD thesis, University of Alberta, 2013.
    """

    @checked("goofspiel")
    def __init__(
        self,
        *,
        cards: Annotated[int, Whole(2, 100)] = 4,
        imperfect_information: Annotated[bool, Flag()] = True,
        prizes: Annotated[PrizeOrder, OneOf(get_args(PrizeOrder))] = "descending",
        payoff: Annotated[Payment, OneOf(get_args(Payment))] = "win_loss",
        players: Annotated[int, Whole(2, 10)] = 2,
    ) -> None:
        self.n_players = players
        self.cards = cards
        self.imperfect_information = imperfect_information
        self.prizes = prizes
        self.payoff = payoff
        # Infosets, announcements and endings are made once: many histories share few of them.
        self._told = Memo(self._tell)
        self._news = Memo(Told)
        self._endings = Memo(self._last_bids)
        self._ends = Memo(self._end)

    def root(self) -> State:
        """All cards are in hand and all prizes to come."""
        return self._turn_up((), ())

    def node(self, state: State) -> Decision | Chance | Terminal:
        """A state carries its node."""
        return state[0]

    def next(self, state: State, action: int) -> State:
        """The next bidder of the round, or whatever follows the last."""
        node, seats, bids = state
        if isinstance(node, Chance):
            return self._bidding(seats, bids, action)
        bids = (*bids, action)
        if len(bids) < self.n_players:
            return seats[len(bids)].decision, seats, bids
        first = seats[0]
        if len(first.to_come) > 1:
            return self._turn_up(seats, bids)
        hands = tuple([seat.hand for seat in seats])
        ends: dict[Cards, State] = self._endings[first.points, first.prize, first.to_come[0], hands]
        return ends[bids]

    def _turn_up(self, seats: tuple[Seat, ...], bids: Cards) -> State:
        """The next round, for the first of the prizes to come or, by chance, for any; before the
        first one there are neither seats nor bids."""
        prizes = seats[0].to_come if seats else self._all_prizes()
        if self.prizes == "random":
            return Chance(dict.fromkeys(prizes, 1 / len(prizes))), seats, bids
        return self._bidding(seats, bids, prizes[0])

    def _bidding(self, seats: tuple[Seat, ...], bids: Cards, prize: int) -> State:
        """The bids of a round begin, after those of the last one and the prize are announced."""
        if seats:
            seats = tuple(map(getitem, seats, self._told[bids, prize]))
        else:
            hand, prizes = tuple(range(1, self.cards + 1)), self._all_prizes()
            points = (0,) * self.n_players
            seats = tuple(
                Seat(player, f"P{player}", hand, points, prize, prizes)
                for player in range(self.n_players)
            )
        return seats[0].decision, seats, ()

    def _all_prizes(self) -> Cards:
        prizes = tuple(range(1, self.cards + 1))
        return prizes[::-1] if self.prizes == "descending" else prizes

    def _tell(self, bids: Cards, prize: int) -> tuple[Told, ...]:
        """The announcement to each player; equal announcements are one object."""
        winner = _winner(bids)
        return tuple(
            self._news[self._words(player, bids), bid, winner, prize]
            for player, bid in enumerate(bids)
        )

    def _words(self, player: int, bids: Cards) -> str:
        """The round as in the player's infoset labels."""
        winner, bid = _winner(bids), bids[player]
        if not self.imperfect_information:
            return ",".join(map(str, bids))
        if winner in (player, NOBODY):
            return f"{bid}+" if winner == player else f"{bid}="
        return f"{bid}-" if self.n_players == 2 else f"{bid}-{winner}"

    def _last_bids(
        self, points: Cards, prize: int, last_prize: int, hands: tuple[Cards, ...]
    ) -> dict[Cards, State]:
        """The ends by the last bids, after which the last cards are played automatically."""
        found = {}
        for bids in product(*hands):
            kept = tuple([sum(hand) - bid for hand, bid in zip(hands, bids, strict=True)])
            before = _award(points, prize, _winner(bids))
            found[bids] = self._ends[(_award(before, last_prize, _winner(kept)),)]
        return found

    def _end(self, points: Cards) -> State:
        """The game is over; many histories share the end."""
        return Terminal(self._utilities(points)), (), ()

    def _utilities(self, points: Cards) -> tuple[float, ...]:
        """Utilities of the final points."""
        if self.payoff == "total_points":
            return tuple(float(own) for own in points)
        if self.payoff == "point_difference":
            mean = sum(points) / self.n_players
            return tuple(own - mean for own in points)
        most = max(points)
        winners = points.count(most)
        losers = self.n_players - winners
        if not losers:
            return (0.0,) * self.n_players
        return tuple(1 / winners if own == most else -1 / losers for own in points)


class Memo(dict[Any, Any]):
    """A function's results: ``memo[arguments]`` calls it the first time only."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __missing__(self, arguments: tuple[Any, ...]) -> Any:
        result = self[arguments] = self.function(*arguments)
        return result


class Told:
    """The announcement to a player after a round, with the next prize."""

    __slots__ = ("bid", "prize", "winner", "words")

    def __init__(self, words: str, bid: int, winner: int, prize: int) -> None:
        self.words, self.bid, self.winner, self.prize = words, bid, winner, prize


class Seat(dict[Told, "Seat"]):
    """A player about to bid: an infoset, and ``seat[told]``, the same player one round later.

    The later seat is made when first asked for, so that each infoset has one seat, one
    decision and one label, however many histories pass through it.
    """

    __slots__ = ("decision", "hand", "past", "points", "prize", "to_come")

    def __init__(
        self, player: int, past: str, hand: Cards, points: Cards, prize: int, prizes: Cards
    ) -> None:
        self.past, self.hand, self.points, self.prize = past, hand, points, prize
        self.to_come = _without(prizes, prize)
        self.decision = Decision(player, f"{past} {prize}?", hand)

    def __missing__(self, told: Told) -> Seat:
        past = f"{self.past} {self.prize}:{told.words}"
        hand = _without(self.hand, told.bid)
        points = _award(self.points, self.prize, told.winner)
        seat = Seat(self.decision.player, past, hand, points, told.prize, self.to_come)
        self[told] = seat
        return seat


@cache
def _winner(bids: Cards) -> int:
    """The player with the highest card, or ``NOBODY``."""
    highest = max(bids)
    return bids.index(highest) if bids.count(highest) == 1 else NOBODY


@cache
def _award(points: Cards, prize: int, winner: int) -> Cards:
    """The points after the prize has gone to the winner."""
    if winner == NOBODY:
        return points
    return (*points[:winner], points[winner] + prize, *points[winner + 1 :])


@cache
def _without(cards: Cards, played: int) -> Cards:
    """The cards that are left."""
    return tuple([card for card in cards if card != played])
