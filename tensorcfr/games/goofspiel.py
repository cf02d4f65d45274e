"""Goofspiel, the game of pure strategy: sealed bids for one prize after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from operator import getitem
from typing import Annotated, Any, Literal, get_args

from .._util.argument_checks import Flag, OneOf, Whole, checked
from ..rules import Chance, Decision, Game, Terminal

PrizeOrder = Literal["descending", "ascending", "random"]
Payment = Literal["win_loss", "point_difference", "total_points"]

Cards = tuple[int, ...]
"""Cards of a hand, prizes still to come, bids of all players, or points of all players."""
State = tuple[Decision | Chance | Terminal, "tuple[Seat, ...]", Cards]
"""Node of the history, seats of all players, and bids of the round so far."""

NOBODY = -1
"""Winner of a round in which the highest bid is tied."""


class Goofspiel(Game):
    """Goofspiel, or the game of pure strategy: bid your cards for the prizes.

    Every player holds the cards 1 to ``cards``, and as many prizes, worth 1 to ``cards`` points,
    are turned up one after the other.  For each prize, every player lays down one card face down;
    the highest card takes the prize, nobody if the highest are tied, and the cards are discarded.
    The last cards are played automatically.

    Written as a tree, the players bid in turn and do not see the bids of the round.

    Args:
        cards: Number of cards in a hand, and number of prizes, at least 2; 13 in the full game.
        imperfect_information: True if the players see only the winner of each prize; False if
            they also see all bids of a round after it.
        prizes: Order of the prizes.  ``"random"`` puts a chance node before every round except
            the last.
        payoff: Utilities.  ``"win_loss"``: the players with the most points share 1, and the
            others share -1 (0 for all if all have equal points).  ``"point_difference"``: points
            minus the mean of all players.  ``"total_points"``: points.
        players: Number of players, at least 2.

    Actions are cards.  An infoset label lists the player, the rounds played and the prize at
    stake.  In ``"P0 4:1- 3:2= 2?"``, player 0 has lost prize 4 with a bid of 1, has tied for prize
    3 with a bid of 2, and now bids for prize 2; ``+`` marks a prize won.  With three players or
    more, the winner follows ``-``: ``"P0 3:1-2 2?"``.  With perfect information, a round lists the
    bids of all players, player 0's first: ``"P0 4:1,3 3:2,2 2?"``.

    The defaults equal OpenSpiel's ``turn_based_simultaneous_game(game=goofspiel(
    imp_info=True,num_cards=4,points_order=descending,returns_type=win_loss))``: 1,077
    histories, 162 infosets, value 0.  Five cards make 26,931 histories, six 969,523.

    With perfect information the tree still equals OpenSpiel's, but from four cards on the infosets
    differ.  OpenSpiel's infosets forget the order in which cards were played, and so the player's
    own bids.  The infosets here remember it, because a game without perfect recall cannot be
    compiled.

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
        # Many histories share few infosets, announcements and endings, so each is built once.
        self._announcements = Memo(self._announce)
        self._shared_announcements = Memo(Announcement)
        self._endings = Memo(self._last_bids)
        self._terminals = Memo(self._terminal)

    def root(self) -> State:
        """Return the first round, or the chance node that draws its prize."""
        return self._turn_up((), ())

    def node(self, state: State) -> Decision | Chance | Terminal:
        """Return the node that the state carries."""
        return state[0]

    def next(self, state: State, action: int) -> State:
        """Return the state of the next bidder or, after the last bid, of the next round or the end.

        Args:
            state: State at a chance node or a decision.
            action: Prize that chance turned up, or card that the player bids.
        """
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
        """Return the state that turns up the next prize: a chance node if the order is random.

        ``seats`` and ``bids`` are of the round just played; both are empty before the first round.
        """
        prizes = seats[0].to_come if seats else self._all_prizes()
        if self.prizes == "random":
            return Chance(dict.fromkeys(prizes, 1 / len(prizes))), seats, bids
        return self._bidding(seats, bids, prizes[0])

    def _bidding(self, seats: tuple[Seat, ...], bids: Cards, prize: int) -> State:
        """Announce the last round and the new prize, and return the first bidder's state."""
        if seats:
            seats = tuple(map(getitem, seats, self._announcements[bids, prize]))
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

    def _announce(self, bids: Cards, prize: int) -> tuple[Announcement, ...]:
        """Return the announcement to each player; equal announcements are the same object."""
        winner = _winner(bids)
        return tuple(
            self._shared_announcements[self._round_label(player, bids), bid, winner, prize]
            for player, bid in enumerate(bids)
        )

    def _round_label(self, player: int, bids: Cards) -> str:
        """Return the round as the player's infoset labels show it."""
        winner, bid = _winner(bids), bids[player]
        if not self.imperfect_information:
            return ",".join(map(str, bids))
        if winner in (player, NOBODY):
            return f"{bid}+" if winner == player else f"{bid}="
        return f"{bid}-" if self.n_players == 2 else f"{bid}-{winner}"

    def _last_bids(
        self, points: Cards, prize: int, last_prize: int, hands: tuple[Cards, ...]
    ) -> dict[Cards, State]:
        """Return the final state for each combination of the last bids.

        The players hold two cards here: the bid, and the card that is then played automatically
        for the last prize.
        """
        states = {}
        for bids in product(*hands):
            # The card left over is the sum of the two minus the bid.
            last_bids = tuple([sum(hand) - bid for hand, bid in zip(hands, bids, strict=True)])
            points_before = _award(points, prize, _winner(bids))
            states[bids] = self._terminals[(_award(points_before, last_prize, _winner(last_bids)),)]
        return states

    def _terminal(self, points: Cards) -> State:
        """Return the final state with these points; many histories share it."""
        return Terminal(self._utilities(points)), (), ()

    def _utilities(self, points: Cards) -> tuple[float, ...]:
        """Return the utility of each player, given the final points."""
        if self.payoff == "total_points":
            return tuple(float(player_points) for player_points in points)
        if self.payoff == "point_difference":
            mean = sum(points) / self.n_players
            return tuple(player_points - mean for player_points in points)
        best_points = max(points)
        winners = points.count(best_points)
        losers = self.n_players - winners
        if not losers:
            return (0.0,) * self.n_players
        return tuple(
            1 / winners if player_points == best_points else -1 / losers for player_points in points
        )


class Memo(dict[Any, Any]):
    """Cache of a function's results: ``memo[arguments]`` calls the function the first time only."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __missing__(self, arguments: tuple[Any, ...]) -> Any:
        result = self[arguments] = self.function(*arguments)
        return result


class Announcement:
    """Announcement to a player after a round, with the next prize."""

    __slots__ = ("bid", "prize", "winner", "words")

    def __init__(self, words: str, bid: int, winner: int, prize: int) -> None:
        self.words, self.bid, self.winner, self.prize = words, bid, winner, prize


class Seat(dict[Announcement, "Seat"]):
    """Player about to bid: an infoset.  ``seat[announcement]`` is the same player one round later.

    The later seat is built at its first lookup.  So each infoset has one seat, one decision and
    one label, however many histories pass through it.
    """

    __slots__ = ("decision", "hand", "past", "points", "prize", "to_come")

    def __init__(
        self, player: int, past: str, hand: Cards, points: Cards, prize: int, prizes: Cards
    ) -> None:
        self.past, self.hand, self.points, self.prize = past, hand, points, prize
        self.to_come = _without(prizes, prize)
        self.decision = Decision(player, f"{past} {prize}?", hand)

    def __missing__(self, announcement: Announcement) -> Seat:
        past = f"{self.past} {self.prize}:{announcement.words}"
        hand = _without(self.hand, announcement.bid)
        points = _award(self.points, self.prize, announcement.winner)
        seat = Seat(self.decision.player, past, hand, points, announcement.prize, self.to_come)
        self[announcement] = seat
        return seat


@cache
def _winner(bids: Cards) -> int:
    """Return the player with the highest bid, or ``NOBODY`` if it is tied."""
    highest = max(bids)
    return bids.index(highest) if bids.count(highest) == 1 else NOBODY


@cache
def _award(points: Cards, prize: int, winner: int) -> Cards:
    """Return the points after the winner takes the prize."""
    if winner == NOBODY:
        return points
    return (*points[:winner], points[winner] + prize, *points[winner + 1 :])


@cache
def _without(cards: Cards, played: int) -> Cards:
    """Return the cards without the one that was played."""
    return tuple([card for card in cards if card != played])
