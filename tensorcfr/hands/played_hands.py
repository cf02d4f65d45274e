"""Played hands: a record of each, and its replay by PokerKit into decisions."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Check
from .._util.extras import needs
from ..errors import GameError
from ..formats.hand_histories import GAMES_OF_VARIANTS

STREETS = ("preflop", "flop", "turn", "river")
"""Streets of a hand."""
BOARD_CARDS = (0, 3, 4, 5)
"""Number of cards on the board on each street."""
RAKE = "_rake"
"""Field with the chips that the house took, as the text of a site gives them."""
CHIPS_OFF = 0.011
"""Largest difference between amounts of a site and the replay; sites round rake to cents."""
LARGEST_RAKE = 0.25
"""Largest share of the pot that a site may have taken, if its text does not tell."""
FOLD, CHECK, CALL, BET, RAISE = "fold", "check", "call", "bet", "raise"
_DEALT = re.compile(r"d dh p(\d+) (\S+)")
_SHOWN = re.compile(r"p(\d+) sm (\S+)")
_BOARD = re.compile(r"d db (\S+)")
_LAST_NAMES = ("BTN", "CO", "HJ", "LJ")
"""Names of the last positions to act, from the button on."""


class HandError(GameError):
    """A hand that cannot be read; the message is the reason."""


class PlayedDecision(NamedTuple):
    """Decision of a player in a hand; amounts are in the unit of the hand."""

    seat: int
    """Player who acts, in the order of :attr:`Hand.players`."""
    street: int
    """Index into :data:`STREETS`."""
    active: int
    """Number of players who have not folded."""
    pot: float
    """Chips in the pot, bets of this street included."""
    to_call: float
    """Chips that a call costs."""
    behind: float
    """Most chips that the player and an opponent can still put in; infinite if unknown."""
    action: str
    """``"fold"``, ``"check"``, ``"call"``, ``"bet"`` or ``"raise"``."""
    amount: float
    """Chips that the action puts in."""
    to: float
    """Chips of the player on this street after the action."""
    is_all_in: bool
    """True if the action leaves the player, or every opponent, without chips to bet."""

    @property
    def share(self) -> float:
        """Bet or raise as a share of the pot after a call."""
        return (self.amount - self.to_call) / (self.pot + self.to_call)


@dataclass(frozen=True)
class Hand:
    """A hand that was played, and replayed without contradiction.

    Players are in the order of the PHH format: the small blind first and the button last; of two
    players, the big blind first.
    """

    source: str
    """Name of the file."""
    index: int
    """Number of the hand in the file, from 1."""
    name: str
    """Number that the site or the author gave it; may be empty."""
    variant: str
    """``"NT"`` (no-limit hold'em), ``"NS"`` (short deck) or ``"PO"`` (pot-limit Omaha)."""
    players: tuple[str, ...]
    """Names of the players."""
    antes: tuple[Decimal, ...]
    """Ante of each player."""
    blinds: tuple[Decimal, ...]
    """Blinds and straddles, as in the field ``blinds_or_straddles`` of the format."""
    min_bet: Decimal
    """Smallest bet; the big blind."""
    stacks: tuple[Decimal, ...]
    """Stack of each player at the start; infinite if unknown."""
    actions: tuple[str, ...]
    """Actions in the notation of the format."""
    currency: str
    """Currency, ``"USD"``; empty for chips."""
    cards: tuple[str, ...]
    """Hole cards of each player, ``"AsKd"``; empty if unknown."""
    board: str
    """Cards of the board, ``"Td9d6h"``."""
    won: tuple[float, ...]
    """Amount that each player won, or lost if it is negative."""
    decisions: tuple[PlayedDecision, ...]
    """Decisions in their order."""

    @property
    def game(self) -> str:
        """Name of the game: ``"holdem"``, ``"short_deck"`` or ``"omaha"``."""
        return GAMES_OF_VARIANTS[self.variant]

    @property
    def positions(self) -> tuple[str, ...]:
        """Position of each player: ``("SB", "BB", "UTG", "HJ", "CO", "BTN")``."""
        return positions(len(self.players))

    @property
    def rules(self) -> tuple[Any, ...]:
        """Everything that was played, without names of files and hands, to compare hands by."""
        return (
            self.variant,
            self.players,
            self.antes,
            self.blinds,
            self.min_bet,
            self.stacks,
            self.cards,
            self.board,
            self.won,
            self.decisions,
        )


@dataclass(frozen=True)
class _Hands(Check):
    """Check of several hands."""

    def __call__(self, name: str, value: Any) -> Any:
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
            raise self.refuse(name, value, TypeError)
        for hand in value:
            if not isinstance(hand, Hand):
                raise self.refuse(name, value, TypeError)
        return value

    def __str__(self) -> str:
        return "a sequence of hands, as read_hands(...).hands"


@dataclass(frozen=True)
class _Names(Check):
    """Check of names of players."""

    def __call__(self, name: str, value: Any) -> Any:
        kinds = (str, bytes, Mapping, np.ndarray)
        if not isinstance(value, Collection) or isinstance(value, kinds):
            raise self.refuse(name, value, TypeError)
        if not all(isinstance(player, str) for player in value):
            raise self.refuse(name, value, TypeError)
        return frozenset(value)

    def __str__(self) -> str:
        return "several names of players, or None for all"


Hands = Annotated[Sequence[Hand], _Hands()]
Players = Annotated[Collection[str] | None, _Names()]


def positions(players: int) -> tuple[str, ...]:
    """Return the names of the positions of some players, in the order of the PHH format.

    >>> positions(6)
    ('SB', 'BB', 'UTG', 'HJ', 'CO', 'BTN')
    >>> positions(2)
    ('BB', 'BTN')
    """
    if players == 2:
        return "BB", "BTN"
    later = players - 2
    named = [_LAST_NAMES[k] for k in range(min(later, len(_LAST_NAMES)))]
    first = [f"UTG+{k}" if k else "UTG" for k in range(later - len(named))]
    if later > 2 and not first:
        named[-1] = "UTG"
    return "SB", "BB", *first, *reversed(named)


def replay(history: Any, source: str, index: int) -> Hand:
    """Replay a hand and record its decisions.

    Raises:
        HandError: The variant is not supported, or the actions contradict the rules.
    """
    variant = str(history.variant)
    if variant not in GAMES_OF_VARIANTS:
        raise HandError(
            f"variant {variant} is not supported; supported are {', '.join(GAMES_OF_VARIANTS)}"
        )
    try:
        decisions, put_in, payoffs = _decisions(history)
    except HandError:
        raise
    except Exception as error:  # PokerKit raises many types of errors for a bad hand.
        raise HandError(f"PokerKit cannot replay this hand: {general_message(error)}") from None
    count = len(history.starting_stacks)
    cards = [""] * count
    for form in (_DEALT, _SHOWN):
        for action in history.actions:
            match = form.match(action)
            if match and not {"?", "-"} & {*match[2]}:
                cards[int(match[1]) - 1] = match[2]
    board = "".join(match[1] for match in map(_BOARD.match, history.actions) if match)
    names = history.players or [f"p{seat + 1}" for seat in range(count)]
    won = _won(history, put_in, payoffs)
    rake = history.user_defined_fields.get(RAKE)
    if rake is not None and abs(sum(won) + float(rake)) > CHIPS_OFF * count:
        raise HandError("the replay pays another amount than the text says")
    if rake is None and history.winnings and not _is_plausible(sum(won), sum(put_in)):
        raise HandError("the amounts collected are not the pot")
    return Hand(
        source=source,
        index=index,
        name="" if history.hand is None else str(history.hand),
        variant=variant,
        players=tuple(names),
        antes=_amounts(history.antes),
        blinds=_amounts(history.blinds_or_straddles),
        min_bet=Decimal(str(history.min_bet)),
        stacks=_amounts(history.starting_stacks),
        actions=tuple(history.actions),
        currency=history.currency or "",
        cards=tuple(cards),
        board=board,
        won=won,
        decisions=tuple(decisions),
    )


def _is_plausible(won: float, pot: float) -> bool:
    """Return whether the sum of all amounts won is 0, or minus a rake."""
    return -LARGEST_RAKE * pot - CHIPS_OFF <= won <= CHIPS_OFF


def general_message(error: Exception) -> str:
    """Return the first line of an error's message, without the numbers of one hand."""
    first_line = str(error).partition("\n")[0] or type(error).__name__
    return re.sub(r"\d[\d.,]*", "N", first_line)[:100]


def _amounts(numbers: Sequence[Any]) -> tuple[Decimal, ...]:
    return tuple(Decimal(str(number)) for number in numbers)


def _decisions(history: Any) -> tuple[list[PlayedDecision], list[float], list[float]]:
    """Replay a hand.

    Returns:
        Its decisions; the chips that each player put in; and PokerKit's payoffs.
    """
    pokerkit = needs("pokerkit", "hands")
    moves = pokerkit.state.Folding, pokerkit.state.CheckingOrCalling
    decisions: list[PlayedDecision] = []
    before: Any = None
    put_in: list[float] = []
    bets: list[float] = []
    payoffs: list[float] = []
    for state, action in history.state_actions:
        words = action.split() if action else []
        if before and len(words) > 1 and words[1] in ("f", "cc", "cbr"):
            decision = _decision(words, before)
            put_in[decision.seat] += decision.amount
            bets = list(before.bets)
            bets[decision.seat] += decision.amount
            decisions.append(decision)
        elif not action and state.operations and isinstance(state.operations[-1], moves):
            raise HandError("an action of a player is missing")
        seat = state.actor_index
        before = None if seat is None else _Before.of(state, seat)
        if before and not put_in:
            # Between two players PHH lists antes in the order of the blinds, which is reversed.
            antes = history.antes[:: -1 if len(history.antes) == 2 else 1]
            paid = zip(antes, history.starting_stacks, state.bets, strict=True)
            put_in = [float(min(ante, stack)) + float(bet) for ante, stack, bet in paid]
        payoffs = list(map(float, state.payoffs))
    if not decisions:
        raise HandError("nobody acts in the hand")
    # The part of the highest bet that nobody called goes back.
    second, highest = sorted(bets)[-2:]
    put_in[bets.index(highest)] -= highest - second
    if state.status:
        raise HandError("the hand ends before its end")
    return decisions, put_in, payoffs


class _Before(NamedTuple):
    """State of a hand before a decision."""

    seat: int
    street: int
    active: int
    pot: float
    bets: tuple[float, ...]
    behind: float
    stack: float

    @classmethod
    def of(cls, state: Any, seat: int) -> _Before:
        """Return the state before a player acts."""
        bets = tuple(map(float, state.bets))
        reach = [
            float(stack) + bet if is_in else 0.0
            for stack, bet, is_in in zip(state.stacks, bets, state.statuses, strict=True)
        ]
        others = max((most for k, most in enumerate(reach) if k != seat), default=0.0)
        behind = min(reach[seat], others) - bets[seat]
        active = sum(map(bool, state.statuses))
        pot, stack = float(state.total_pot_amount), float(state.stacks[seat])
        return cls(seat, int(state.street_index), active, pot, bets, behind, stack)


def _decision(words: list[str], before: _Before) -> PlayedDecision:
    """Return the decision of an action, in words of the format, in the state before it."""
    seat = before.seat
    bet, highest = before.bets[seat], max(before.bets)
    to_call = min(highest - bet, before.stack)
    amount = 0.0
    if words[1] == "f":
        action = FOLD
    elif words[1] == "cc":
        action, amount = (CALL, to_call) if to_call > 0 else (CHECK, 0.0)
    else:
        action, amount = RAISE if highest > 0 else BET, float(words[2]) - bet
    is_all_in = amount > 0 and amount >= before.behind - 1e-9
    return PlayedDecision(
        seat,
        before.street,
        before.active,
        before.pot,
        to_call,
        before.behind,
        action,
        amount,
        bet + amount,
        is_all_in,
    )


def _won(history: Any, put_in: list[float], payoffs: list[float]) -> tuple[float, ...]:
    """Return the amount that each player won: from final stacks, amounts collected, or the rules.

    The record of a site counts before the rules, because it has rake and hands that nobody showed.
    """
    finishing, collected = history.finishing_stacks, history.winnings
    if finishing:
        starting = history.starting_stacks
        pairs = zip(finishing, starting, strict=True)
        return tuple(float(last) - float(first) for last, first in pairs)
    if collected and any(put_in):
        pairs = zip(collected, put_in, strict=True)
        return tuple(float(amount) - paid for amount, paid in pairs)
    return tuple(payoffs)
