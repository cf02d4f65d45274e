"""Ranges of hands of Omaha as text: ``"AA$ds,KK+:0.5,JT98+,AsKsQhJh,top 15%"``."""

from __future__ import annotations

import re
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..holdem.cards import RANKS, SUITS, orders_of_suits
from ..holdem.ranges import EVERY, weights_of
from ..holdem.runouts import moved_hands

CARDS_OF_A_HAND = 4
ORDER = Path(__file__).with_name("order.npy")
"""The classes of hands that differ in suits alone, best first; ``scripts/omaha_order.py`` writes
them."""
SUITED = {
    "ds": (2, 2, 0, 0),
    "ss": (2, 1, 1, 0),
    "ts": (3, 1, 0, 0),
    "ms": (4, 0, 0, 0),
    "rb": (1, 1, 1, 1),
}
"""How many cards of each suit hands have: double-suited, single-suited, three of a suit, all of a
suit (monotone), rainbow."""
PAIRED = {
    "np": (1, 1, 1, 1),
    "op": (2, 1, 1, 0),
    "tp": (2, 2, 0, 0),
    "tr": (3, 1, 0, 0),
    "qu": (4, 0, 0, 0),
}
"""How many cards of each rank: no pair, one pair, two pairs, trips, quads."""
_CARD = re.compile(r"([2-9TJQKA])([cdhs]?)|(x)", re.IGNORECASE)
_KIND = re.compile(r"\$([a-z]*)", re.IGNORECASE)
_COLON = re.compile(rf":(?=\s*(?:{'|'.join((*SUITED, *PAIRED))})\b)", re.IGNORECASE)
_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)\s*"
_SHARE = re.compile(rf"(?:top\s*)?(?:{_NUMBER}%?\s*-\s*)?{_NUMBER}%", re.IGNORECASE)


@cache
def every_hand() -> np.ndarray:
    """All hands, int64 (270725, 4): the highest card first; strong cards first."""
    found = np.array(list(combinations(range(51, -1, -1), CARDS_OF_A_HAND)), dtype=np.int64)
    found.setflags(write=False)
    return found


class _Counts(NamedTuple):
    """What patterns ask of hands."""

    ranks: np.ndarray
    """int8 (hands, 13): cards of each rank."""
    has: np.ndarray
    """bool (hands, 52)."""
    suits: np.ndarray
    """int8 (hands, 4): cards of the suits, the most first."""
    most_ranks: np.ndarray
    """int8 (hands, 4): cards of the ranks, the most first."""


@cache
def _counts() -> _Counts:
    hands = every_hand()
    has = np.zeros((len(hands), len(RANKS) * len(SUITS)), dtype=bool)
    np.put_along_axis(has, hands, True, axis=1)
    by_rank = has.reshape(-1, len(RANKS), len(SUITS))
    ranks, suits = (by_rank.sum(axis=axis, dtype=np.int8) for axis in (2, 1))
    suits, most = (np.sort(own, axis=1)[:, :-5:-1] for own in (suits, ranks))
    return _Counts(ranks, has, suits, most)


def read_range(text: str, what: str = "range", *, deck: np.ndarray | None = None) -> np.ndarray:
    """The weight of every hand in a range.

    Groups are separated by commas, semicolons or ends of lines; a group is

    * hands with some ranks, and any others: ``AA`` or ``AAxx``, ``AK``, ``AKQ``, ``JT98``;
    * hands with some cards: ``As``, ``AsKsxx``, ``AsKsQhJh``, ``AsAx``;
    * ``KK+``: all ranks moved up together, as far as they go, ``JT98+`` to ``AKQJ``; or all such
      moves between two, ``KK-TT``, ``JT98-7654``;
    * with how many cards of the suits: ``AA$ds`` (two and two), ``$ss`` (two, and two of other
      suits), ``$ts`` (three), ``$ms`` (all four), ``$rb`` (four suits); and of the ranks: ``$np``
      (no pair), ``$op`` (one pair), ``$tp`` (two pairs), ``$tr`` (three), ``$qu`` (four); alone, or
      several, ``$ds$np``; ``KK+:ss`` is ``KK+$ss``;
    * all hands, ``random``, or the best of them, ``top 15%`` or ``15%``, or those between,
      ``5%-15%``: in the order of :data:`ORDER`, which is by what hands win on average against any
      other hand with all of the board to come;

    each with a weight of its own after a colon, ``AA:0.5`` or ``AA:50%``; ``[50]AA,KK[/50]`` gives
    groups a weight in per cent, and ``!QQ`` takes hands out.  A later group takes precedence.

    >>> int(read_range("AA").sum()), int(read_range("AA$ds").sum())
    (6961, 864)
    >>> int(read_range("JT98$ds+, !AKQJ").sum())
    108

    Args:
        text: The range.
        what: What it is, as errors name it.
        deck: As for :func:`~tensorcfr.games.holdem.ranges.weights_of`; the best of its hands are
            not known.

    Returns:
        float64 (270725,): the weights, for the rows of :func:`every_hand`.

    Raises:
        ValueError: The text is no range; names the group and its place.
    """
    if isinstance(text, str):
        text = _COLON.sub("$", text)  # No longer than before: places in errors are right.
    return weights_of(
        text,
        what,
        "AA$ds,KK+",
        len(every_hand()),
        partial(_hands, is_whole=deck is None),
        deck=deck,
    )


def _hands(group: str, place: str, is_whole: bool) -> np.ndarray:
    """Which hands are in a group, bool (hands,)."""
    if group.lower() in EVERY:
        return np.ones(len(every_hand()), dtype=bool)
    if share := _SHARE.fullmatch(group):
        if not is_whole:
            raise ValueError(f"{place}: the order of hands is known for a deck of 52 cards only")
        return _best(float(share[1] or 0), float(share[2]), place)
    found = np.ones(len(every_hand()), dtype=bool)
    kinds = _KIND.findall(group)
    for kind in map(str.lower, kinds):
        if kind not in SUITED and kind not in PAIRED:
            known = ", ".join(f"${one}" for one in (*SUITED, *PAIRED))
            raise ValueError(f"{place}: ${kind} is none of {known}")
        counts, wanted = _counts().suits, SUITED.get(kind)
        if wanted is None:
            counts, wanted = _counts().most_ranks, PAIRED[kind]
        found &= (counts == wanted).all(axis=1)
    pattern = _KIND.sub("", group).strip()
    if pattern or not kinds:
        found &= _by_cards(pattern, place)
    return found


def _by_cards(pattern: str, place: str) -> np.ndarray:
    """The hands of a pattern of cards, ``KK+``, bool (hands,)."""
    better = pattern.endswith("+")
    first, dash, last = (pattern[:-1], "", "") if better else pattern.partition("-")
    ranks, cards = _read(first, place)
    moves = range(1)
    if better or dash:
        if cards:
            raise ValueError(f"{place}: only ranks without a suit move")
        up = 12 - max(ranks, default=12)
        if better and not up and set(ranks) != {12}:
            raise ValueError(f"{place}: with an ace nothing is above it")
        moves = range(up + 1)
    if dash:
        to, others = _read(last, place)
        distances = {b - a for a, b in zip(ranks, to, strict=False)}
        if others or len(to) != len(ranks) or len(distances) != 1:
            raise ValueError(f"{place}: both ends must have the same ranks, moved together")
        (distance,) = distances
        moves = range(min(distance, 0), max(distance, 0) + 1)
    counts, found = _counts(), np.zeros(len(every_hand()), dtype=bool)
    for move in moves:
        own = np.ones(len(found), dtype=bool)
        wanted = [rank + move for rank in ranks] + [card // len(SUITS) for card in cards]
        for rank in set(wanted):
            own &= counts.ranks[:, rank] >= wanted.count(rank)
        for card in cards:
            own &= counts.has[:, card]
        found |= own
    return found


def _read(text: str, place: str) -> tuple[list[int], list[int]]:
    """The ranks without a suit of a pattern, the highest first, and the cards with one."""
    ranks, cards, at, count = [], [], 0, 0
    text = text.strip()
    while at < len(text):
        match = _CARD.match(text, at)
        if match is None:
            break
        if match[1]:
            rank = RANKS.index(match[1].upper())
            if match[2]:
                cards.append(len(SUITS) * rank + SUITS.index(match[2].lower()))
            else:
                ranks.append(rank)
        at, count = match.end(), count + 1
    if at < len(text) or not count:
        raise ValueError(
            f"{place} is no group of hands; groups are written like AAxx, AA$ds, KK+, JT98, "
            "AsKsQhJh, top 15%"
        )
    if count > CARDS_OF_A_HAND:
        raise ValueError(
            f"{place} has {count} cards; a hand has {CARDS_OF_A_HAND}, and five-card Omaha is not "
            "built"
        )
    if len(set(cards)) < len(cards):
        raise ValueError(f"{place} has one card twice")
    return sorted(ranks, reverse=True), cards


def _best(begin: float, end: float, place: str) -> np.ndarray:
    """The hands between two shares of all, in per cent, of whole classes; bool (hands,)."""
    if not begin <= end <= 100.0:
        raise ValueError(f"{place}: shares ascend, and there are no more than 100% of the hands")
    place_of_class, count = _order()
    # A class is in a share if it ends there.
    ends = np.cumsum(count)
    chosen = (ends <= end / 100.0 * ends[-1] + 1e-6) & (ends > begin / 100.0 * ends[-1] + 1e-6)
    return chosen[place_of_class]


@cache
def _order() -> tuple[np.ndarray, np.ndarray]:
    """The place of the class of each hand in the order, int64 (hands,), and how many hands the
    class at each place has, int64 (classes,)."""
    of_hand, size = suit_classes()
    best_first = np.load(ORDER, allow_pickle=False).astype(np.int64)
    place = np.argsort(best_first)
    return place[of_hand], size[best_first]


@cache
def suit_classes() -> tuple[np.ndarray, np.ndarray]:
    """Hands that differ in suits alone: the number of the class of each, int64 (hands,), by its
    first hand, and how many each class has, int64 (16432,)."""
    moved = moved_hands(every_hand(), orders_of_suits(len(RANKS), len(SUITS)))
    _, of_hand, size = np.unique(moved.min(axis=0), return_inverse=True, return_counts=True)
    return of_hand, size
