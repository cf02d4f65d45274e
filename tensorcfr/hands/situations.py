"""Situations: classes of decisions by line, position, board and stack.

Decisions of played hands and decisions of solved spots get their class from the same words, so that
counts of one are about the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..games.poker.deck import RANKS
from .played_hands import BET, BOARD_CARDS, RAISE, STREETS, Hand, PlayedDecision

SIZES = ((0.45, "small"), (0.8, "medium"), (1.25, "large"), (math.inf, "over"))
"""Largest share of the pot after a call, and the word, of each class of bets."""
ALL_IN = "allin"
BETS = (*(f"bet {word}" for _, word in SIZES), ALL_IN)
"""Classes of bets, from the smallest."""
RAISES = (RAISE, ALL_IN)
"""Classes of raises, from the smallest."""
ACTIONS = ("fold", "check", "call", *BETS[:-1], *RAISES)
"""Classes of all actions."""
STACKS = ((1.0, "under 1"), (3.0, "1 to 3"), (6.0, "3 to 6"), (13.0, "6 to 13"))
"""Largest ratio of stack to pot at the start of a street, and its class."""
DEPTHS = ((20.0, "under 20 bb"), (50.0, "20 to 50 bb"), (125.0, "50 to 125 bb"))
"""Largest stack in big blinds, and its class before the flop."""
POTS = ("limped", "raised", "3-bet", "4-bet")
"""Classes of pots by the number of raises before the flop; the last is for all further ones."""
OOP, IP = "oop", "ip"
ANY = "*"
"""Field of a situation that may be anything."""


class HandSituation(NamedTuple):
    """Class of decisions; :data:`ANY` in a field leaves it open."""

    street: str
    """One of :data:`~tensorcfr.hands.played_hands.STREETS`."""
    position: str
    """Before the flop the position, ``"BTN"``.  Later ``"oop"`` or ``"ip"`` between two players,
    ``"2 of 3"`` in the order of play between more."""
    line: str
    """Actions on this street, ``"check, bet small"``; before the flop ``"unopened"`` or the class
    of the pot."""
    before: str
    """Course until this street, ``"raised; flop ip bet"``; before the flop the position that raised
    last."""
    board: str
    """Class of the board, ``"paired, two-tone, A high"``."""
    stack: str
    """Class of the stack: before the flop in big blinds, later as a multiple of the pot at the
    start of the street."""

    @property
    def levels(self) -> tuple[HandSituation, ...]:
        """The situation, and the same with less and less detail: without the course before, then
        without the stack, then without the board."""
        levels = [self]
        for field in ("before", "stack", "board"):
            levels.append(levels[-1]._replace(**{field: ANY}))
        return tuple(levels)

    def __str__(self) -> str:
        stack = self.stack if self.stack in ("", ANY) else f"stack {self.stack}"
        parts = (self.position, self.street, self.line or "first to act", self.before, self.board)
        return ", ".join(part for part in (*parts, stack) if part not in ("", ANY))


def action_class(action: str, share: float, *, is_all_in: bool) -> str:
    """Return the class of an action.

    >>> action_class("bet", 0.5, is_all_in=False)
    'bet medium'

    Args:
        action: One of ``"fold"``, ``"check"``, ``"call"``, ``"bet"`` and ``"raise"``.
        share: Bet or raise as a share of the pot after a call.
        is_all_in: True if the bet or raise is all-in.
    """
    if action not in (BET, RAISE):
        return action
    if is_all_in:
        return ALL_IN
    return RAISE if action == RAISE else f"bet {_class_of(share, SIZES, '')}"


def _class_of(number: float, classes: Sequence[tuple[float, str]], beyond: str) -> str:
    return next((word for most, word in classes if number < most), beyond)


def stack_class(ratio: float) -> str:
    """Return the class of a stack as a multiple of the pot."""
    return _class_of(ratio, STACKS, "unknown" if math.isinf(ratio) else "13 and more")


def board_class(board: str) -> str:
    """Return the class of a board by pairs, suits and its highest card.

    >>> board_class("Td9d6h")
    'unpaired, two-tone, T high'
    >>> board_class("AsAd6s2s2c")
    'paired, flush possible, A high'
    """
    if not board:
        return ""
    ranks, suits = board[::2], board[1::2]
    most = max(map(suits.count, suits))
    if len(ranks) == 3:
        suited = ("rainbow", "two-tone", "monotone")[most - 1]
    else:
        suited = "flush possible" if most >= 3 else "no flush"
    paired = "paired" if len({*ranks}) < len(ranks) else "unpaired"
    highest = max(ranks, key=RANKS.index)
    return f"{paired}, {suited}, {highest if highest in 'AKQJT' else 'low'} high"


class StreetCourse(NamedTuple):
    """Actions of a street so far."""

    words: tuple[str, ...] = ()
    """Classes of the actions."""
    aggressor: str = ""
    """Position of the last player who bet or raised."""
    bets: int = 0
    """Number of bets and raises."""

    def after(self, word: str, position: str) -> StreetCourse:
        """Return the course after an action."""
        if word in ("fold", "check", "call"):
            return self._replace(words=(*self.words, word))
        return StreetCourse((*self.words, word), position, self.bets + 1)

    @property
    def summary(self) -> str:
        """Summary of a street that is over: ``"checked"``, ``"ip bet"``, ``"ip raised"``."""
        if not self.bets:
            return "checked"
        return f"{self.aggressor} {'bet' if self.bets == 1 else 'raised'}"


def situations(hand: Hand) -> Iterator[tuple[PlayedDecision, HandSituation, str]]:
    """Yield each decision of a hand, its situation, and the class of its action."""
    names, in_hand = hand.positions, set(range(len(hand.players)))
    course, before, street, stack = StreetCourse(), "", 0, ""
    relative = dict(enumerate(names))
    for number, decision in enumerate(hand.decisions):
        if decision.street != street or number == 0:
            if number:
                before = _before(before, STREETS[street], course)
            street, course = decision.street, StreetCourse()
            relative = _relative(in_hand) if street else dict(enumerate(names))
            if street:
                stack = stack_class(decision.behind / decision.pot)
        board = hand.board[: 2 * BOARD_CARDS[street]]
        position = relative[decision.seat]
        if street == 0:
            depth = float(hand.stacks[decision.seat] / hand.min_bet)
            stack = _class_of(depth, DEPTHS, "over 125 bb")
            called = "call" in course.words
            line = pot_class(course.bets) if course.bets or called else "unopened"
            situation = HandSituation(STREETS[0], position, line, course.aggressor, "", stack)
        else:
            line = ", ".join(course.words)
            situation = HandSituation(
                STREETS[street], position, line, before, board_class(board), stack
            )
        word = action_class(decision.action, decision.share, is_all_in=decision.is_all_in)
        yield decision, situation, word
        course = course.after(word, position)
        if word == "fold":
            in_hand.discard(decision.seat)


def pot_class(raises: int) -> str:
    """Return the class of a pot by the number of raises before the flop."""
    return POTS[min(raises, len(POTS) - 1)]


def _before(before: str, street: str, course: StreetCourse) -> str:
    """Return the course until the next street."""
    if street == STREETS[0]:
        return pot_class(course.bets)
    return f"{before}; {street} {course.summary}"


def _relative(in_hand: set[int]) -> dict[int, str]:
    """Return the position of each player who is left, in the order of play after the flop."""
    seats = sorted(in_hand)
    if len(seats) == 2:
        return dict(zip(seats, (OOP, IP), strict=True))
    return {seat: f"{number} of {len(seats)}" for number, seat in enumerate(seats, start=1)}
