"""Playing cards as numbers and as text, and the two-card hands that they make.

A card has the number ``4 * rank + suit``: rank 0 is the deuce and 12 the ace, and the suits are
``cdhs``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise, permutations

import numpy as np

from ..._util.argument_checks import brief

RANKS = "23456789TJQKA"
SUITS = "cdhs"
CARDS = tuple(rank + suit for rank in RANKS for suit in SUITS)
"""Label of each card, by number."""
HANDS = np.array(sorted(combinations(range(51, -1, -1), 2), reverse=True), dtype=np.int64)
"""int64 (1326, 2): cards of every hand, the higher card first; hands are in descending order."""
HAND_NUMBER = {(int(a), int(b)): number for number, (a, b) in enumerate(HANDS)}
"""Row of :data:`HANDS` by the two cards, the higher card first."""


def numbers_of(labels: Iterable[str]) -> np.ndarray | None:
    """Return the numbers of the cards, int64 (cards,); None if a label is not that of a card."""
    numbers = {label: card for card, label in enumerate(CARDS)}
    cards = [numbers.get(str(label), -1) for label in labels]
    return None if -1 in cards else np.array(cards, dtype=np.int64)


def read_cards(text: str, what: str) -> tuple[int, ...]:
    """Read the cards of a text such as ``"Td9d6h"``; blanks and commas between cards are skipped.

    Args:
        text: The cards.
        what: Description of the text in errors.

    Returns:
        Numbers of the cards, in the order of the text.

    Raises:
        ValueError: The text is not a list of cards, or a card occurs twice; names the position.
    """
    cards: list[int] = []
    index = 0
    while index < len(text):
        if text[index] in " ,":
            index += 1
            continue
        label = text[index : index + 2]
        card = label[:1].upper() + label[1:].lower()
        if card not in CARDS:
            raise ValueError(
                f"{what}: {label!r} at character {index + 1} of {brief(text)} is not a card; "
                "cards are written like Td or 9s"
            )
        if CARDS.index(card) in cards:
            raise ValueError(
                f"{what}: {card} at character {index + 1} of {brief(text)} occurs twice"
            )
        cards.append(CARDS.index(card))
        index += 2
    return tuple(cards)


def hand_label(hand: tuple[int, int] | np.ndarray) -> str:
    """Format a hand with the higher card first: ``"AsKd"``."""
    high, low = sorted((int(hand[0]), int(hand[1])), reverse=True)
    return CARDS[high] + CARDS[low]


def grid_place(hand: tuple[int, int] | np.ndarray) -> tuple[int, int]:
    """Return the row and column of a hand in the usual 13 x 13 grid.

    Aces come first; suited hands are above the diagonal and offsuit hands below it.
    """
    high, low = sorted((12 - int(hand[0]) // 4, 12 - int(hand[1]) // 4))
    suited = hand[0] % 4 == hand[1] % 4
    return (high, low) if suited else (low, high)


def grid_label(row: int, column: int) -> str:
    """Return the group of hands in a cell of the grid: ``"AKs"``, ``"AKo"`` or ``"AA"``."""
    high, low = sorted((row, column))
    kind = "" if row == column else "s" if row < column else "o"
    return RANKS[12 - high] + RANKS[12 - low] + kind


def pieces(
    text: str, what: str, example: str, *, apart: re.Pattern[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Split a text at commas, semicolons and ends of lines.  Lines may be empty.

    Args:
        text: The text.
        what: Description of the text in errors.
        example: Example of such a text, for errors.
        apart: Pattern of blanks that also separate pieces.

    Yields:
        Each piece, and its description in errors.

    Raises:
        TypeError: ``text`` is not a string.
        ValueError: A piece before a comma or a semicolon is empty.
    """
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a text such as {example!r}, not {brief(text)}")
    for part in re.finditer(r"([^,;\n]*)([,;\n]|$)", text):
        gaps = [] if apart is None else apart.finditer(part[1])
        for start, end in pairwise([0, *(gap.end() for gap in gaps), len(part[1])]):
            piece = part[1][start:end]
            # Position of the piece in the whole text, from 1, without its leading blanks.
            begin = part.start(1) + end - len(piece.lstrip()) + 1
            place = f"{what}: {brief(piece.strip())} at character {begin}"
            if piece.strip():
                yield piece.strip(), place
            elif part[2] in (",", ";"):
                raise ValueError(f"{place}: there is nothing before the comma")


def orders_of_suits(ranks: int, suits: int) -> np.ndarray:
    """Return all permutations of the suits of a deck with cards ``suits * rank + suit``.

    Returns:
        int64 (permutations, cards): the card to which each permutation maps each card.
    """
    rank, suit = np.divmod(np.arange(ranks * suits), suits)
    return np.array([rank * suits + np.array(order)[suit] for order in permutations(range(suits))])
