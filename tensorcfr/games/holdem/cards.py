"""Playing cards as numbers and as text, and the two-card hands that they make.

Card ``4 * rank + suit``: rank 0 is the deuce and 12 the ace, the suits are ``cdhs``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise, permutations

import numpy as np

from ..._util.arguments import brief

RANKS = "23456789TJQKA"
SUITS = "cdhs"
CARDS = tuple(rank + suit for rank in RANKS for suit in SUITS)
"""The label of each card."""
HANDS = np.array(sorted(combinations(range(51, -1, -1), 2), reverse=True), dtype=np.int64)
"""int64 (1326, 2): every hand, the higher card first; strong cards first."""
HAND_NUMBER = {(int(a), int(b)): number for number, (a, b) in enumerate(HANDS)}
"""The row of :data:`HANDS` of two cards, the higher one first."""


def numbers_of(labels: Iterable[str]) -> np.ndarray | None:
    """The numbers of the cards with these labels, int64 (cards,); None if one is no such card."""
    numbers = {label: card for card, label in enumerate(CARDS)}
    found = [numbers.get(str(label), -1) for label in labels]
    return None if -1 in found else np.array(found, dtype=np.int64)


def read_cards(text: str, what: str) -> tuple[int, ...]:
    """The cards of a text such as ``"Td9d6h"``; blanks and commas between cards are skipped.

    Args:
        text: The cards.
        what: What they are, as errors name it.

    Raises:
        ValueError: The text is no list of cards, or a card is there twice; names the place.
    """
    found: list[int] = []
    at = 0
    while at < len(text):
        if text[at] in " ,":
            at += 1
            continue
        label = text[at : at + 2]
        card = label[:1].upper() + label[1:].lower()
        if card not in CARDS:
            raise ValueError(
                f"{what}: {label!r} at character {at + 1} of {brief(text)} is no card; "
                "cards are written like Td or 9s"
            )
        if CARDS.index(card) in found:
            raise ValueError(
                f"{what}: {card} at character {at + 1} of {brief(text)} is there twice"
            )
        found.append(CARDS.index(card))
        at += 2
    return tuple(found)


def hand_label(hand: tuple[int, int] | np.ndarray) -> str:
    """``"AsKd"``, the higher card first."""
    high, low = sorted((int(hand[0]), int(hand[1])), reverse=True)
    return CARDS[high] + CARDS[low]


def grid_place(hand: tuple[int, int] | np.ndarray) -> tuple[int, int]:
    """Row and column of a hand in the usual 13 x 13 grid: aces first, suited hands above the
    diagonal."""
    high, low = sorted((12 - int(hand[0]) // 4, 12 - int(hand[1]) // 4))
    suited = hand[0] % 4 == hand[1] % 4
    return (high, low) if suited else (low, high)


def grid_label(row: int, column: int) -> str:
    """``"AKs"``, ``"AKo"`` or ``"AA"``: the hands of a place in the grid."""
    high, low = sorted((row, column))
    kind = "" if row == column else "s" if row < column else "o"
    return RANKS[12 - high] + RANKS[12 - low] + kind


def pieces(
    text: str, what: str, example: str, *, apart: re.Pattern[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Split a text at its commas, semicolons and ends of lines.  Lines may be empty.

    Args:
        text: The text.
        what: What it is, as errors name it.
        example: Such a text, for errors.
        apart: Blanks that separate pieces, too.

    Returns:
        Each piece, and what errors call it.

    Raises:
        TypeError: It is no text.
        ValueError: There is nothing before a comma or a semicolon.
    """
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a text such as {example!r}, not {brief(text)}")
    for part in re.finditer(r"([^,;\n]*)([,;\n]|$)", text):
        gaps = [] if apart is None else apart.finditer(part[1])
        for start, end in pairwise([0, *(gap.end() for gap in gaps), len(part[1])]):
            piece = part[1][start:end]
            begin = part.start(1) + end - len(piece.lstrip()) + 1
            place = f"{what}: {brief(piece.strip())} at character {begin}"
            if piece.strip():
                yield piece.strip(), place
            elif part[2] in (",", ";"):
                raise ValueError(f"{place}: there is nothing before the comma")


def orders_of_suits(ranks: int, suits: int) -> np.ndarray:
    """All permutations of the suits of a deck in which card ``suits * rank + suit`` has them;
    int64 (permutations, cards): what each makes of each card."""
    rank, suit = np.divmod(np.arange(ranks * suits), suits)
    return np.array([rank * suits + np.array(order)[suit] for order in permutations(range(suits))])
