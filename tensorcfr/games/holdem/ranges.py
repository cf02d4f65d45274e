"""Ranges of hands as text: ``"QQ+,ATs+,KJo,A5s-A2s,AsKd,AA:0.5"``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import numpy as np

from .cards import HAND_NUMBER, HANDS, RANKS, SUITS

_GROUP = re.compile(r"([2-9TJQKA])([2-9TJQKA])([so]?)", re.IGNORECASE)
_COMBO = re.compile(r"([2-9TJQKA])([cdhs])([2-9TJQKA])([cdhs])", re.IGNORECASE)


def read_range(text: str, what: str = "range") -> np.ndarray:
    """The weight of every hand in a range.

    Groups are separated by commas; a group is

    * hands by rank: ``QQ``, ``AKs`` (suited), ``AKo`` (of two suits), ``AK`` (both);
    * one hand: ``AsKd``;
    * a group and all better ones: ``QQ+`` to aces, ``ATs+`` up to the kicker below the first card;
    * all groups between two: ``QQ-88``, ``A5s-A2s`` with one first card, ``98s-65s`` with one gap;

    each with a weight of its own after a colon: ``AA:0.5``.  A later group takes precedence.

    >>> int(read_range("QQ+,AKs").sum())
    22

    Args:
        text: The range.
        what: What it is, as errors name it.

    Returns:
        float64 (1326,): the weights, for the rows of :data:`~tensorcfr.games.holdem.cards.HANDS`.

    Raises:
        ValueError: The text is no range; names the group and its place.
    """
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a text such as 'QQ+,AKs', not {text!r}")
    weights = np.zeros(len(HANDS))
    at = 0
    for part in text.split(","):
        begin = at + len(part) - len(part.lstrip()) + 1
        at += len(part) + 1
        group = part.strip()
        if not group:
            if text.strip().rstrip(",") and part is not text.split(",")[-1]:
                raise ValueError(f"{what}: there is nothing before the comma at character {at}")
            continue
        place = f"{what}: {group!r} at character {begin}"
        hands, colon, number = group.partition(":")
        weight = _weight(number, place) if colon else 1.0
        for hand in _hands(hands.strip(), place):
            weights[hand] = weight
    return weights


def _weight(text: str, place: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"{place}: the weight after the colon must be from 0 to 1, not {text!r}")
    return weight


def _hands(group: str, place: str) -> Iterator[int]:
    """The hands of a group."""
    if match := _COMBO.fullmatch(group):
        rank0, suit0, rank1, suit1 = match.groups()
        cards = {_card(rank0, suit0), _card(rank1, suit1)}
        if len(cards) == 1:
            raise ValueError(f"{place} has one card twice")
        yield HAND_NUMBER[tuple(sorted(cards, reverse=True))]  # type: ignore[index]
        return
    if group.endswith("+"):
        high, low, kind = _ranks(group[:-1], place)
        for step in range(12 - high + 1 if high == low else high - low):
            yield from _combos(high + step if high == low else high, low + step, kind)
        return
    first, dash, last = group.partition("-")
    high, low, kind = _ranks(first.strip(), place)
    if not dash:
        yield from _combos(high, low, kind)
        return
    high1, low1, kind1 = _ranks(last.strip(), place)
    if kind != kind1:
        raise ValueError(f"{place}: both ends must be suited, or both of two suits")
    if (high == low) != (high1 == low1) or (high != high1 and high - low != high1 - low1):
        raise ValueError(f"{place}: both ends need the same first card or the same gap")
    slides = high != high1
    begin, end = sorted((low, low1))
    for rank in range(begin, end + 1):
        yield from _combos(rank + high - low if slides else high, rank, kind)


def _ranks(text: str, place: str) -> tuple[int, int, str]:
    """The two ranks, the higher first, and ``"s"``, ``"o"`` or ``""`` for both."""
    match = _GROUP.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{place} is no group of hands; groups are written like QQ+, ATs+, KJo, A5s-A2s, AsKd"
        )
    low, high = sorted(RANKS.index(rank.upper()) for rank in match.groups()[:2])
    kind = match.group(3).lower()
    if high == low and kind:
        raise ValueError(f"{place}: a pair is neither suited nor offsuit")
    return high, low, kind


def _combos(high: int, low: int, kind: str) -> Iterator[int]:
    for suit0, suit1 in product(range(4), repeat=2):
        if high == low and suit0 <= suit1:
            continue
        if high != low and ((kind == "s" and suit0 != suit1) or (kind == "o" and suit0 == suit1)):
            continue
        yield HAND_NUMBER[4 * high + suit0, 4 * low + suit1]


def _card(rank: str, suit: str) -> int:
    return 4 * RANKS.index(rank.upper()) + SUITS.index(suit.lower())
