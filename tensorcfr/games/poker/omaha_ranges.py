"""Ranges of hands of Omaha as text: ``"AA$ds,KK+:0.5,JT98+,AsKsQhJh,top 15%"``."""

from __future__ import annotations

import re
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .deck import RANKS, SUITS, orders_of_suits
from .ranges import EVERY, weights_of
from .runouts import moved_hands

CARDS_OF_A_HAND = 4
ORDER = Path(__file__).with_name("order.npy")
"""Path of the order of classes of hands that differ only in suits, the best first.

``scripts/omaha_order.py`` of commit b5ab28bb wrote the file.
"""
SUITED = {
    "ds": (2, 2, 0, 0),
    "ss": (2, 1, 1, 0),
    "ts": (3, 1, 0, 0),
    "ms": (4, 0, 0, 0),
    "rb": (1, 1, 1, 1),
}
"""Number of cards of each suit, in descending order: double-suited, single-suited, three of a suit,
monotone, rainbow."""
PAIRED = {
    "np": (1, 1, 1, 1),
    "op": (2, 1, 1, 0),
    "tp": (2, 2, 0, 0),
    "tr": (3, 1, 0, 0),
    "qu": (4, 0, 0, 0),
}
"""Number of cards of each rank, in descending order: no pair, one pair, two pairs, trips, quads."""
_CARD = re.compile(r"([2-9TJQKA])([cdhs]?)|(x)", re.IGNORECASE)
_KIND = re.compile(r"\$([a-z]*)", re.IGNORECASE)
_COLON = re.compile(rf":(?=\s*(?:{'|'.join((*SUITED, *PAIRED))})\b)", re.IGNORECASE)
_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)\s*"
_SHARE = re.compile(rf"(?:top\s*)?(?:{_NUMBER}%?\s*-\s*)?{_NUMBER}%", re.IGNORECASE)


@cache
def every_hand() -> np.ndarray:
    """Return all hands in descending order, int64 (270725, 4), the highest card first."""
    hands = np.array(list(combinations(range(51, -1, -1), CARDS_OF_A_HAND)), dtype=np.int64)
    hands.setflags(write=False)
    return hands


class _Counts(NamedTuple):
    """Counts of cards in all hands, to which patterns are compared."""

    ranks: np.ndarray
    """int8 (hands, 13): number of cards of each rank."""
    has: np.ndarray
    """bool (hands, 52): True for each card of the hand."""
    suits: np.ndarray
    """int8 (hands, 4): number of cards of each suit, in descending order."""
    most_ranks: np.ndarray
    """int8 (hands, 4): number of cards of each rank, the four largest in descending order."""


@cache
def _counts() -> _Counts:
    """Count the cards in all hands."""
    hands = every_hand()
    has = np.zeros((len(hands), len(RANKS) * len(SUITS)), dtype=bool)
    np.put_along_axis(has, hands, True, axis=1)
    by_rank = has.reshape(-1, len(RANKS), len(SUITS))
    ranks, suits = (by_rank.sum(axis=axis, dtype=np.int8) for axis in (2, 1))
    suits, most = (np.sort(counts, axis=1)[:, :-5:-1] for counts in (suits, ranks))
    return _Counts(ranks, has, suits, most)


def read_range(text: str, what: str = "range", *, deck: np.ndarray | None = None) -> np.ndarray:
    """Read the weight of every hand in a range.

    Groups are separated by commas, semicolons or ends of lines.  A group is

    * hands with some ranks, and any other cards: ``AA`` or ``AAxx``, ``AK``, ``AKQ``, ``JT98``;
    * hands with some cards: ``As``, ``AsKsxx``, ``AsKsQhJh``, ``AsAx``;
    * hands with ranks moved up together, as far as possible: ``KK+``, ``JT98+`` up to ``AKQJ``;
    * hands with ranks moved from one pattern to another: ``KK-TT``, ``JT98-7654``;
    * hands with a pattern of suits: ``AA$ds`` (two and two), ``$ss`` (two, and two of other suits),
      ``$ts`` (three), ``$ms`` (all four), ``$rb`` (four suits);
    * hands with a pattern of ranks: ``$np`` (no pair), ``$op`` (one pair), ``$tp`` (two pairs),
      ``$tr`` (three), ``$qu`` (four);
    * all hands: ``random``;
    * the best hands, ``top 15%`` or ``15%``, or an interval, ``5%-15%``, in the order of
      :data:`ORDER`: by equity before the flop against a random hand.

    Patterns may follow ranks and may be combined, as in ``$ds$np``; ``KK+:ss`` is ``KK+$ss``.

    Each group may have a weight after a colon: ``AA:0.5`` or ``AA:50%``.  ``[50]AA,KK[/50]`` gives
    all enclosed groups a weight in per cent, and ``!QQ`` removes hands.  A later group takes
    precedence.

    >>> int(read_range("AA").sum()), int(read_range("AA$ds").sum())
    (6961, 864)
    >>> int(read_range("JT98$ds+, !AKQJ").sum())
    108

    Args:
        text: The range.
        what: Description of the range in errors.
        deck: bool (270725,): True for hands of the deck, if the deck lacks some.  Shares such as
            ``top 15%`` are then not allowed, because the order of these hands is unknown.

    Returns:
        float64 (270725,): weights of the rows of :func:`every_hand`.

    Raises:
        ValueError: The text is not a range; names the group and its position.
    """
    if isinstance(text, str):
        text = _COLON.sub("$", text)  # The length is unchanged, so positions in errors stay right.
    return weights_of(
        text,
        what,
        "AA$ds,KK+",
        len(every_hand()),
        partial(_hands, is_whole=deck is None),
        deck=deck,
    )


def _hands(group: str, place: str, is_whole: bool) -> np.ndarray:
    """Return a mask of the hands in a group, bool (hands,)."""
    if group.lower() in EVERY:
        return np.ones(len(every_hand()), dtype=bool)
    if share := _SHARE.fullmatch(group):
        if not is_whole:
            raise ValueError(f"{place}: the order of hands is known for a deck of 52 cards only")
        return _best(float(share[1] or 0), float(share[2]), place)
    mask = np.ones(len(every_hand()), dtype=bool)
    kinds = _KIND.findall(group)
    for kind in map(str.lower, kinds):
        if kind not in SUITED and kind not in PAIRED:
            known = ", ".join(f"${name}" for name in (*SUITED, *PAIRED))
            raise ValueError(f"{place}: ${kind} must be one of {known}")
        counts, wanted = _counts().suits, SUITED.get(kind)
        if wanted is None:
            counts, wanted = _counts().most_ranks, PAIRED[kind]
        mask &= (counts == wanted).all(axis=1)
    pattern = _KIND.sub("", group).strip()
    if pattern or not kinds:
        mask &= _by_cards(pattern, place)
    return mask


def _by_cards(pattern: str, place: str) -> np.ndarray:
    """Return a mask of the hands of a pattern of cards such as ``KK+``, bool (hands,)."""
    better = pattern.endswith("+")
    first, dash, last = (pattern[:-1], "", "") if better else pattern.partition("-")
    ranks, cards = _read_pattern(first, place)
    moves = range(1)
    if better or dash:
        if cards:
            raise ValueError(f"{place}: only ranks without a suit can move")
        up = 12 - max(ranks, default=12)
        if better and not up and set(ranks) != {12}:
            raise ValueError(f"{place}: no rank is above the ace")
        moves = range(up + 1)
    if dash:
        last_ranks, last_cards = _read_pattern(last, place)
        distances = {b - a for a, b in zip(ranks, last_ranks, strict=False)}
        if last_cards or len(last_ranks) != len(ranks) or len(distances) != 1:
            raise ValueError(f"{place}: both ends must have the same ranks, moved together")
        (distance,) = distances
        moves = range(min(distance, 0), max(distance, 0) + 1)
    counts, mask = _counts(), np.zeros(len(every_hand()), dtype=bool)
    for move in moves:
        matches = np.ones(len(mask), dtype=bool)
        # A rank that the pattern has twice needs two cards; named cards count for their ranks.
        wanted = [rank + move for rank in ranks] + [card // len(SUITS) for card in cards]
        for rank in set(wanted):
            matches &= counts.ranks[:, rank] >= wanted.count(rank)
        for card in cards:
            matches &= counts.has[:, card]
        mask |= matches
    return mask


def _read_pattern(text: str, place: str) -> tuple[list[int], list[int]]:
    """Read a pattern: return the ranks without a suit, the highest first, and the cards."""
    ranks, cards, position, count = [], [], 0, 0
    text = text.strip()
    while position < len(text):
        match = _CARD.match(text, position)
        if match is None:
            break
        if match[1]:
            rank = RANKS.index(match[1].upper())
            if match[2]:
                cards.append(len(SUITS) * rank + SUITS.index(match[2].lower()))
            else:
                ranks.append(rank)
        position, count = match.end(), count + 1
    if position < len(text) or not count:
        raise ValueError(
            f"{place} is not a group of hands; groups are written like AAxx, AA$ds, KK+, JT98, "
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
    """Return a mask of the hands between two shares of all hands, in per cent, bool (hands,).

    Only whole classes of hands that differ in suits are included.
    """
    if not begin <= end <= 100.0:
        raise ValueError(f"{place}: shares must ascend and be at most 100%")
    place_of_class, count = _order()
    # A class belongs to the share in which its last hand lies.
    ends = np.cumsum(count)
    chosen = (ends <= end / 100.0 * ends[-1] + 1e-6) & (ends > begin / 100.0 * ends[-1] + 1e-6)
    return chosen[place_of_class]


@cache
def _order() -> tuple[np.ndarray, np.ndarray]:
    """Return the position of each hand's class in the order, and the sizes of the ordered classes.

    Returns:
        int64 (hands,) and int64 (classes,).
    """
    of_hand, size = suit_classes()
    best_first = np.load(ORDER, allow_pickle=False).astype(np.int64)
    place = np.argsort(best_first)
    return place[of_hand], size[best_first]


@cache
def suit_classes() -> tuple[np.ndarray, np.ndarray]:
    """Return the class of each hand, up to a permutation of suits, and the sizes of the classes.

    Classes are numbered in the order of their first hands.

    Returns:
        int64 (hands,) and int64 (16432,).
    """
    moved = moved_hands(every_hand(), orders_of_suits(len(RANKS), len(SUITS)))
    _, of_hand, size = np.unique(moved.min(axis=0), return_inverse=True, return_counts=True)
    return of_hand, size
