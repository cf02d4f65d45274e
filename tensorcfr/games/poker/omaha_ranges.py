"""Ranges of hands of Omaha as text: ``"AA$ds,KK+:0.5,JT98+,AsKsQhJh,top 15%"``."""

from __future__ import annotations

import re
from functools import cache, partial
from math import comb
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .deck import CARDS, RANKS, SUITS, orders_of_suits
from .ranges import EVERY, weights_of
from .runouts import moved_hands

CARDS_OF_THE_ORDER = 4
"""Number of cards of the hands whose order is known."""
ORDER = Path(__file__).with_name("order.npy")
"""Path of the order of classes of hands that differ only in suits, the best first.

``scripts/omaha_order.py`` of commit b5ab28bb wrote the file.
"""
SUITED = ("ds", "ss", "ts", "fs", "ms", "rb")
"""Patterns of suits: double-suited, single-suited, three of a suit, four, monotone, rainbow."""
PAIRED = ("np", "op", "tp", "tr", "qu")
"""Patterns of ranks: no pair, one pair, two pairs, trips, quads."""
_CARD = re.compile(r"([2-9TJQKA])([cdhs]?)|(x)", re.IGNORECASE)
_KIND = re.compile(r"\$([a-z]*)", re.IGNORECASE)
_COLON = re.compile(rf":(?=\s*(?:{'|'.join((*SUITED, *PAIRED))})\b)", re.IGNORECASE)
_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)\s*"
_SHARE = re.compile(rf"(?:top\s*)?(?:{_NUMBER}%?\s*-\s*)?{_NUMBER}%", re.IGNORECASE)


@cache
def every_hand(width: int = 4) -> np.ndarray:
    """Return all hands of ``width`` cards in descending order, the highest card first.

    Returns:
        int8 (hands, width): 270,725 hands of four cards, 2,598,960 of five.
    """
    hands = np.arange(len(CARDS), dtype=np.int8)[::-1, None]
    for _ in range(width - 1):
        # Each hand is followed by every card below its last one, in descending order.
        below = hands[:, -1].astype(np.int64)
        next_card = np.repeat(np.cumsum(below), below) - np.arange(below.sum()) - 1
        hands = np.column_stack([np.repeat(hands, below, axis=0), next_card.astype(np.int8)])
    hands.setflags(write=False)
    return hands


def _number_of(cards: list[int]) -> int:
    """Return the row of :func:`every_hand` with a hand."""
    # The combinatorial number system numbers hands in ascending order.
    ascending = sum(comb(card, k) for k, card in enumerate(sorted(cards), 1))
    return comb(len(CARDS), len(cards)) - 1 - ascending


def _count(kinds: np.ndarray, n_kinds: int) -> np.ndarray:
    """Count the cards of each kind in every hand, int8 (kinds, hands)."""
    counts = np.zeros((n_kinds, len(kinds)), dtype=np.int8)
    for column in kinds.T:
        counts[column, np.arange(len(kinds))] += 1
    return counts


def suit_patterns(hands: np.ndarray) -> np.ndarray:
    """Return the pattern of the suits of hands, as indices in :data:`SUITED`; int64 (hands,).

    A hand is double-suited if it has two or more cards of two suits.
    """
    by_suit = _count(hands % len(SUITS), len(SUITS))
    most = by_suit.max(axis=0)
    cases = {
        "ds": (by_suit > 1).sum(axis=0) == 2,
        "ms": most == hands.shape[1],
        "fs": most == 4,
        "ts": most == 3,
        "ss": most == 2,
    }
    numbers = [SUITED.index(name) for name in cases]
    patterns: np.ndarray = np.select(list(cases.values()), numbers, SUITED.index("rb"))
    return patterns


def suits_of(width: int) -> tuple[str, ...]:
    """Return the patterns of suits that hands of ``width`` cards can have."""
    missing = "rb" if width > len(SUITS) else "fs"
    return tuple(name for name in SUITED if name != missing)


def rank_patterns(by_rank: np.ndarray) -> np.ndarray:
    """Return the pattern of the ranks of hands, as indices in :data:`PAIRED`; int64 (hands,).

    Trips may have a pair, too.  The argument is the result of :func:`count_ranks`.
    """
    most, pairs = by_rank.max(axis=0), (by_rank > 1).sum(axis=0)
    patterns: np.ndarray = np.where(most > 2, most, pairs)
    return patterns


def count_ranks(hands: np.ndarray) -> np.ndarray:
    """Count the cards of each rank in every hand, int8 (13, hands)."""
    return _count(hands // len(SUITS), len(RANKS))


class _Counts(NamedTuple):
    """Counts of cards in all hands, to which patterns are compared."""

    by_rank: np.ndarray
    """int8 (13, hands): number of cards of each rank."""
    paired: np.ndarray
    """int8 (hands,): pattern of ranks."""
    suited: np.ndarray
    """int8 (hands,): pattern of suits."""


@cache
def _counts(width: int) -> _Counts:
    """Count the cards in all hands of ``width`` cards."""
    hands = every_hand(width)
    by_rank = count_ranks(hands)
    patterns = rank_patterns(by_rank), suit_patterns(hands)
    return _Counts(by_rank, *(of_kind.astype(np.int8) for of_kind in patterns))


def read_range(
    text: str, what: str = "range", *, width: int = 4, deck: np.ndarray | None = None
) -> np.ndarray:
    """Read the weight of every hand in a range.

    Groups are separated by commas, semicolons or ends of lines.  A group is

    * hands with some ranks, and any other cards: ``AA`` or ``AAxx``, ``AK``, ``AKQ``, ``JT98``;
    * hands with some cards: ``As``, ``AsKsxx``, ``AsKsQhJh``, ``AsAx``;
    * hands with ranks moved up together, as far as possible: ``KK+``, ``JT98+`` up to ``AKQJ``;
    * hands with ranks moved from one pattern to another: ``KK-TT``, ``JT98-7654``;
    * hands with a pattern of suits: ``AA$ds`` (two and two), ``$ss`` (two, and one each of other
      suits), ``$ts`` (three), ``$fs`` (four of five cards), ``$ms`` (all cards), ``$rb`` (four
      cards of four suits);
    * hands with a pattern of ranks: ``$np`` (no pair), ``$op`` (one pair), ``$tp`` (two pairs),
      ``$tr`` (three), ``$qu`` (four);
    * all hands: ``random``;
    * the best hands, ``top 15%`` or ``15%``, or an interval, ``5%-15%``, in the order of
      :data:`ORDER`: by equity before the flop against a random hand.  The order is known for hands
      of four cards.

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
        width: Number of cards of a hand.
        deck: bool (hands,): True for hands of the deck, if the deck lacks some.  Shares such as
            ``top 15%`` are then not allowed, because the order of these hands is unknown.

    Returns:
        float64 (hands,): weights of the rows of :func:`every_hand`.

    Raises:
        ValueError: The text is not a range; names the group and its position.
    """
    if isinstance(text, str):
        text = _COLON.sub("$", text)  # The length is unchanged, so positions in errors stay right.
    return weights_of(
        text,
        what,
        "AA$ds,KK+",
        len(every_hand(width)),
        partial(_hands, width=width, is_whole=deck is None),
        deck=deck,
    )


def _hands(group: str, place: str, width: int, is_whole: bool) -> np.ndarray:
    """Return a mask of the hands in a group, bool (hands,), or the number of the only one."""
    if group.lower() in EVERY:
        return np.ones(len(every_hand(width)), dtype=bool)
    if share := _SHARE.fullmatch(group):
        if width != CARDS_OF_THE_ORDER:
            raise ValueError(f"{place}: the order of hands is known for hands of four cards only")
        if not is_whole:
            raise ValueError(f"{place}: the order of hands is known for a deck of 52 cards only")
        return _best(float(share[1] or 0), float(share[2]), place)
    kinds, pattern = _KIND.findall(group), _KIND.sub("", group).strip()
    if not kinds:
        return _by_cards(pattern, place, width)
    mask = np.ones(len(every_hand(width)), dtype=bool)
    for kind in map(str.lower, kinds):
        known = (*suits_of(width), *PAIRED)
        if kind not in known:
            names = ", ".join(f"${name}" for name in known)
            raise ValueError(f"{place}: ${kind} must be one of {names}")
        if kind in SUITED:
            mask &= _counts(width).suited == SUITED.index(kind)
        else:
            mask &= _counts(width).paired == PAIRED.index(kind)
    if pattern:
        of_cards = np.zeros(len(mask), dtype=bool)
        of_cards[_by_cards(pattern, place, width)] = True
        mask &= of_cards
    return mask


def _by_cards(pattern: str, place: str, width: int) -> np.ndarray:
    """Return the hands of a pattern of cards such as ``KK+``: a mask, or the number of the only
    one."""
    better = pattern.endswith("+")
    first, dash, last = (pattern[:-1], "", "") if better else pattern.partition("-")
    ranks, cards = _read_pattern(first, place, width)
    moves = range(1)
    if better or dash:
        if cards:
            raise ValueError(f"{place}: only ranks without a suit can move")
        up = 12 - max(ranks, default=12)
        if better and not up and set(ranks) != {12}:
            raise ValueError(f"{place}: no rank is above the ace")
        moves = range(up + 1)
    if dash:
        last_ranks, last_cards = _read_pattern(last, place, width)
        distances = {b - a for a, b in zip(ranks, last_ranks, strict=False)}
        if last_cards or len(last_ranks) != len(ranks) or len(distances) != 1:
            raise ValueError(f"{place}: both ends must have the same ranks, moved together")
        (distance,) = distances
        moves = range(min(distance, 0), max(distance, 0) + 1)
    if len(cards) == width:
        # Ranges may list thousands of hands, so a single hand is not searched among all.
        return np.array([_number_of(cards)])
    hands, by_rank = every_hand(width), _counts(width).by_rank
    mask = np.zeros(len(hands), dtype=bool)
    for move in moves:
        matches = np.ones(len(mask), dtype=bool)
        # A rank that the pattern has twice needs two cards; named cards count for their ranks.
        wanted = [rank + move for rank in ranks] + [card // len(SUITS) for card in cards]
        for rank in set(wanted):
            matches &= by_rank[rank] >= wanted.count(rank)
        for card in cards:
            matches &= (hands == card).any(axis=1)
        mask |= matches
    return mask


def _read_pattern(text: str, place: str, width: int) -> tuple[list[int], list[int]]:
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
    if count > width:
        raise ValueError(f"{place} has {count} cards; a hand has {width}")
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
