"""Spots to which played hands lead, and ranges for them.

A spot begins on the first street with exactly two players.  Hands with the same board up to suits,
the same ranges, and about the same ratio of stacks to pot share one spot, whose pot is 100.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Check, Number, brief, checked
from ..games import GAMES, SPOTS
from ..games.holdem import Holdem
from ..games.poker.deck import HAND_NUMBER, HANDS, RANKS, SUITS, grid_place, read_cards
from ..games.poker.ranges import range_text
from .played_hands import BET, BOARD_CARDS, FOLD, RAISE, STREETS, Hand, Hands
from .situations import POTS, pot_class
from .spot_decisions import SEATS

POT = 100
"""Pot of every spot, so that costs are percentages."""
CHIP = 0.1
"""Smallest chip of a spot."""
OF_HANDS = {"board", "ranges", "pot", "stacks", "chip"}
"""Options of a spot that follow from the hands."""
SIZES = {"bets": "33%,75%,150%", "raises": "60%,a"}
"""Sizes of a spot by default."""
ANYBODY = "*"
"""Key of the range of players without another one."""


@dataclass(frozen=True)
class _Ranges(Check):
    """Check of ranges by key."""

    def __call__(self, name: str, value: Any) -> Any:
        if not isinstance(value, Mapping) or not value:
            raise self.refuse(name, value, TypeError)
        for key, text in value.items():
            if not isinstance(key, str) or not isinstance(text, str):
                raise self.refuse(name, value, TypeError)
        return value

    def __str__(self) -> str:
        return "ranges by key, such as {'BTN raised': '22+,A2s+', '*': 'random'}"


RANGES_BY_KEY = _Ranges()


class SpotError(ValueError):
    """A hand that leads to no spot, or a decision without a price; the message is the reason."""


class Spots(NamedTuple):
    """Settings of the spots of a report."""

    ranges: Mapping[str, str]
    """Range by key."""
    street: int
    """Street on which spots begin, or a later one."""
    tolerance: float
    """Relative width of classes of the ratio of stack to pot; 0 for exact ratios."""
    options: Mapping[str, Any]
    """Other options of the spots."""


class HandInSpot(NamedTuple):
    """A hand that leads to a spot."""

    hand: Hand
    first: int
    """Index of the first decision in the spot."""
    seats: tuple[int, int]
    """Seats of the players of the spot, the one out of position first."""
    suits: tuple[int, ...]
    """New suit of each suit."""
    pot: float
    """Chips in the pot at the start."""


def read_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return options of spots with the default sizes.

    Raises:
        ValueError: There is no such option, or it belongs to the hands.
        TypeError: A value is neither a number nor a text nor made of them.
    """
    known = set(GAMES[Holdem.game].accepted) - OF_HANDS
    for key, value in (options or {}).items():
        if key not in known:
            raise ValueError(f"options: {brief(key)} is not one of {', '.join(sorted(known))}")
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            problem = f"options: {key} must be numbers and texts, not {brief(value)}"
            raise TypeError(problem) from None
    return {**SIZES, **(options or {})}


def spot_of(hand: Hand, spots: Spots, watched: Collection[str]) -> tuple[str, HandInSpot]:
    """Return the options of the spot of a hand as JSON.

    Raises:
        SpotError: It leads to none, or no watched player is left there.
    """
    first = first_of_two(hand, spots.street)
    start = hand.decisions[first]
    n_cards = BOARD_CARDS[start.street]
    board = [hand.board[2 * k : 2 * k + 2] for k in range(n_cards)]
    left = players_left(hand, first)
    if not any(hand.players[seat] in watched for seat in left):
        raise SpotError("no watched player is left when two are")
    pot_name = pot_of(hand)
    texts = []
    for seat, side in zip(left, SEATS, strict=True):
        position = hand.positions[seat]
        keys = (f"{position} {pot_name}", f"{side} {pot_name}", position, side, ANYBODY)
        text = next((spots.ranges[key] for key in keys if key in spots.ranges), None)
        if text is None:
            raise SpotError(f"there is no range for {keys[0]!r}")
        texts.append(text)
    if not math.isfinite(start.behind):
        raise SpotError("the stacks are unknown")
    suits = suits_of(hand.game, texts, board)
    moved = sorted(board, key=lambda card: card_key(card, suits), reverse=True)
    stacks = pooled_stack(POT * start.behind / start.pot, spots.tolerance)
    options = {
        "game": hand.game,
        "board": "".join(moved_card(card, suits) for card in moved),
        "ranges": texts,
        "pot": POT,
        "stacks": stacks,
        "chip": CHIP,
    }
    text = json.dumps(options | dict(spots.options), sort_keys=True)
    return text, HandInSpot(hand, first, left, suits, start.pot)


def pot_of(hand: Hand) -> str:
    """Return the class of the pot of a hand by its raises before the flop."""
    return pot_class(sum(d.action in (BET, RAISE) for d in hand.decisions if d.street == 0))


def first_of_two(hand: Hand, street: int) -> int:
    """Return the index of the first decision of the first street with two players.

    Raises:
        SpotError: There is none.
    """
    seen, reason = 0, "the hand ends before the flop"
    for index, decision in enumerate(hand.decisions):
        if decision.street == seen:
            continue
        seen = decision.street
        if decision.active == 2 and seen >= street:
            return index
        if decision.active > 2:
            reason = "more than two players are left until the end"
        else:
            reason = f"the hand ends before the {STREETS[street]}"
    if seen == 0 and hand.board:
        reason = "nobody can bet after the flop"
    raise SpotError(reason)


def players_left(hand: Hand, first: int) -> tuple[int, int]:
    """Return the seats that are left before a decision, in the order of play."""
    gone = {d.seat for d in hand.decisions[:first] if d.action == FOLD}
    first_seat, second_seat = (s for s in range(len(hand.players)) if s not in gone)
    return first_seat, second_seat


def pooled_stack(ratio: float, tolerance: float) -> float:
    """Round a stack to its class."""
    if tolerance > 0.0:
        width = math.log1p(tolerance)
        ratio = math.exp(round(math.log(ratio) / width) * width)
    return max(round(ratio / CHIP), 1) * CHIP if tolerance == 0.0 else max(float(round(ratio)), 1.0)


def suits_of(game: str, ranges: Sequence[str], board: Sequence[str]) -> tuple[int, ...]:
    """Return the order of suits that makes a board the same as all boards that are equal to it."""
    orders = set.intersection(*(_equal_orders(game, text) for text in ranges))

    def name(suits: tuple[int, ...]) -> list[int]:
        return sorted((card_key(card, suits) for card in board), reverse=True)

    return max(sorted(orders), key=name)


@lru_cache(maxsize=256)
def _equal_orders(game: str, text: str) -> set[tuple[int, ...]]:
    """Return the orders of suits under which a range stays the same."""
    spot = SPOTS[game]
    hands, weights = spot.every_hand(), spot.read_range(text, "ranges")
    powers = 52 ** np.arange(hands.shape[1])
    codes = np.sort(hands, axis=1) @ powers
    by_code = np.argsort(codes)
    orders = set()
    for suits in permutations(range(4)):
        moved = np.sort(hands // 4 * 4 + np.array(suits)[hands % 4], axis=1) @ powers
        places = by_code[np.searchsorted(codes, moved, sorter=by_code)]
        if np.array_equal(weights, weights[places]):
            orders.add(suits)
    return orders


def card_key(card: str, suits: Sequence[int]) -> int:
    """Return the number of a card after a change of suits."""
    return RANKS.index(card[0]) * 4 + suits[SUITS.index(card[1])]


def moved_card(card: str, suits: Sequence[int]) -> str:
    """Return a card after a change of suits."""
    return card[0] + SUITS[suits[SUITS.index(card[1])]]


@checked()
def ranges_of_hands(
    hands: Hands,
    *,
    strength: Annotated[float, Number(above=0, finite=True)] = 100.0,
) -> dict[str, str]:
    """Return ranges for :func:`find_leaks` from hands of hold'em whose cards are known.

    They are the hole cards with which players got to the first street of two players, by position
    and class of the pot.  The weight of a group such as ``AKs`` is its number of hands, divided by
    its combos.
    If only shown cards are known, strong hands count too much.

    Args:
        hands: The hands.
        strength: Number of hands as which all positions together count in the range of each one.

    Raises:
        ValueError: No hand has known cards there.
    """
    counts: dict[str, np.ndarray] = {}
    groups = np.array([grid_place(hand) for hand in HANDS])
    group = groups[:, 0] * 13 + groups[:, 1]
    combos = np.bincount(group, minlength=169)
    for hand in hands:
        try:
            first = first_of_two(hand, 1)
        except SpotError:
            continue
        for seat in players_left(hand, first):
            if hand.game == "holdem" and hand.cards[seat]:
                cards = sorted(read_cards(hand.cards[seat], "cards"), reverse=True)
                place = group[HAND_NUMBER[cards[0], cards[1]]]
                for key in (f"{hand.positions[seat]} {pot_of(hand)}", pot_of(hand), ANYBODY):
                    counts.setdefault(key, np.zeros(169))[place] += 1.0
    if not counts:
        raise ValueError("hands: no hand has known cards on a street of two players")
    strength = float(strength)
    everybody = counts[ANYBODY] / counts[ANYBODY].sum()
    ranges = {}
    for key, taken in counts.items():
        if key in (*POTS, ANYBODY) and key != ANYBODY:
            continue
        of_pot = counts.get(key.rpartition(" ")[2], counts[ANYBODY])
        prior = (of_pot + strength * everybody) / (of_pot.sum() + strength)
        density = (taken + strength * prior) / combos
        ranges[key] = range_text(np.round(density / density.max(), 4)[group])
    return ranges
