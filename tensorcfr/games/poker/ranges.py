"""Ranges of hands as text: ``"QQ+,ATs+,KJo,A5s-A2s,AsKd,AA:0.5"``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from ..._util.argument_checks import brief
from .deck import HAND_NUMBER, HANDS, RANKS, SUITS, hand_label, pieces

_GROUP = re.compile(r"([2-9TJQKA])([2-9TJQKA])([so]?)", re.IGNORECASE)
_COMBO = re.compile(r"([2-9TJQKA])([cdhs])([2-9TJQKA])([cdhs])", re.IGNORECASE)
_TOP = re.compile(r"(?:top\s*)?(\d+(?:\.\d*)?|\.\d+)\s*%", re.IGNORECASE)
_OPENED = re.compile(r"\[([^]/]*)\]")
_CLOSED = re.compile(r"\[/[^]]*\]$")
_BRACED = re.compile(r"(\s*)\{([^{}]*)\}\s*")
_APART = re.compile(
    r"(?<=[^\s:@!-])\s+(?=\[[\d.]|!?(?!\d+(?:\.\d*)?\s*%)[2-9TJQKA][2-9TJQKAcdhs])",
    re.IGNORECASE,
)
"""Pattern of blanks between two groups: ranks or a card begin the second group."""
EVERY = ("random", "any")
"""Names of the range with all hands."""

PIOSOLVER_ORDER = np.lexsort((HANDS[:, 1], HANDS[:, 0]))
"""int64 (1326,): rows of :data:`~tensorcfr.games.poker.deck.HANDS` in PioSOLVER's order,
``2d2c 2h2c 2h2d ...``: by the higher card, then the lower one."""
POSTFLOP_SOLVER_ORDER = np.lexsort(HANDS.T)
"""int64 (1326,): rows in postflop-solver's order, ``2c2d 2c2h 2c2s ...``: by the lower card, then
the higher one."""
_GROUPS = np.unique(
    [100 * (high // 4) + 2 * (low // 4) + (high % 4 == low % 4) for high, low in HANDS.tolist()],
    return_index=True,
    return_inverse=True,
)
FIRST_OF_GROUP = _GROUPS[1][_GROUPS[2]]
"""int64 (1326,): for each hand, the first hand of its group, such as ``AKs``."""
BY_EQUITY = (
    "AA KK QQ JJ TT 99 88 AKs 77 AQs AJs AKo ATs AQo AJo KQs 66 A9s ATo KJs A8s KTs KQo A7s A9o "
    "KJo 55 QJs K9s A5s A6s A8o KTo QTs A4s A7o K8s A3s QJo K9o A5o A6o Q9s K7s JTs A2s QTo 44 "
    "A4o K6s K8o Q8s A3o K5s J9s Q9o JTo K7o A2o K4s Q7s K6o K3s T9s J8s 33 Q6s Q8o K5o J9o K2s "
    "Q5s T8s K4o J7s Q4s Q7o T9o J8o K3o Q6o Q3s 98s T7s J6s K2o 22 Q2s Q5o J5s T8o J7o Q4o 97s "
    "J4s T6s J3s Q3o 98o 87s T7o J6o 96s J2s Q2o T5s J5o T4s 97o 86s J4o T6o 95s T3s 76s J3o 87o "
    "T2s 85s 96o J2o T5o 94s 75s T4o 93s 86o 65s 84s 95o T3o 92s 76o 74s T2o 54s 85o 64s 83s 94o "
    "75o 82s 73s 93o 65o 53s 63s 84o 92o 43s 74o 72s 54o 64o 52s 62s 83o 42s 82o 73o 53o 63o 32s "
    "43o 72o 52o 62o 42o 32o "
)
"""Groups of hands by descending equity before the flop against a random hand (ties count half).

Equities range from .85204 for aces to .32303.  They are exact counts over all boards.
"""


def read_range(
    text: str,
    what: str = "range",
    *,
    order: str = BY_EQUITY,
    deck: np.ndarray | None = None,
) -> np.ndarray:
    """Read the weight of every hand in a range.

    Groups are separated by commas, semicolons, blanks or ends of lines.  A group is

    * hands by rank: ``QQ``, ``AKs`` (suited), ``AKo`` (offsuit), ``AK`` (both);
    * one hand: ``AsKd``;
    * a group and all better ones: ``QQ+`` up to aces, ``ATs+`` up to the kicker below the first
      card (so ``T9s+`` is only ``T9s``);
    * a group and all worse ones: ``66-`` and ``A5s-`` down to a deuce;
    * all groups between two: ``QQ-88``, ``A5s-A2s`` with the same first card, ``98s-65s`` with the
      same gap, ``AsKs-AsTs`` with the same suits;
    * all hands: ``random``;
    * the best hands, ``top 20%`` or ``20%``: groups in the order of :data:`BY_EQUITY`, as many as
      make at most this share of all hands.

    Each group may have a weight after a colon: ``AA:0.5`` or ``AA:50%`` or ``AA@50`` (per cent).
    ``[50]AA,KK[/50]`` gives all enclosed groups a weight in per cent, and ``!QQ`` removes hands.  A
    later group takes precedence.  Braces around the whole text are skipped.

    A range may also be 1,326 numbers, the weights of all hands in the order of PioSOLVER
    (``2d2c 2h2c 2h2d ...``) or of postflop-solver (``2c2d 2c2h 2c2s ...``).  The order is detected:
    in the right one, all hands of a group, such as ``AKs``, have the same weight.

    >>> int(read_range("QQ+,AKs").sum())
    22
    >>> float(read_range("top 10%, [50]QQ,JJ[/50], !AsAh").sum())
    123.0

    Args:
        text: The range.
        what: Description of the range in errors.
        order: Groups of hands, the best first, separated by blanks.
        deck: bool (1326,): True for hands of the deck, if the deck lacks some; hands outside it
            have weight 0.

    Returns:
        float64 (1326,): weights of the rows of :data:`~tensorcfr.games.poker.deck.HANDS`.

    Raises:
        ValueError: The text is not a range; names the group and its position.
    """
    numbers = _numbers(text, what)
    if numbers is not None:
        return numbers if deck is None else np.where(deck, numbers, 0.0)
    if deck is None and (listed := _listed_hands(text)) is not None:
        return listed
    return weights_of(
        text,
        what,
        "QQ+,AKs",
        len(HANDS),
        lambda group, place: [*_hands(group, place, order)],
        deck=deck,
        apart=_APART,
    )


def in_piosolver_order(words: Sequence[str], what: str) -> np.ndarray | None:
    """Read the weights of all hands in PioSOLVER's order; return None for other texts.

    Args:
        words: The numbers.
        what: Description of the range in errors.

    Returns:
        float64 (1326,): weights of the rows of :data:`~tensorcfr.games.poker.deck.HANDS`.

    Raises:
        ValueError: The number of weights is wrong, or a weight is not from 0 to 1.
    """
    listed = _listed(words, what)
    if listed is None:
        return None
    weights = np.zeros(len(HANDS))
    weights[PIOSOLVER_ORDER] = listed
    return weights


def _listed(words: Sequence[str], what: str) -> np.ndarray | None:
    """Read the weights of all hands in any order; return None if the words are not numbers."""
    # A shorter list of numbers may be pairs, "22 33".
    if len(words) <= len(BY_EQUITY.split()):
        return None
    try:
        listed = np.array(words, dtype=np.float64)
    except ValueError:
        return None
    if len(listed) != len(HANDS):
        raise ValueError(f"{what} has {len(listed):,} numbers; there are {len(HANDS):,} hands")
    if not ((listed >= 0.0) & (listed <= 1.0)).all():
        wrong = words[int(np.argmin((listed >= 0.0) & (listed <= 1.0)))]
        raise ValueError(f"{what}: a weight must be from 0 to 1, not {brief(wrong)}")
    return listed


def _listed_hands(text: str) -> np.ndarray | None:
    """Read a range of single hands and plain groups, ``"AA,AKs:0.5,AsKd:0.25"``.

    :func:`range_text` writes such ranges, with up to 1,326 hands, which this function reads ten
    times as fast as :func:`weights_of`.

    Returns:
        float64 (1326,); None for all other texts, and for wrong ones.
    """
    weights, known = np.zeros(len(HANDS)), _plain_groups()
    for part in text.split(",") if isinstance(text, str) else ():
        group, colon, number = part.partition(":")
        hands = known.get(group)
        try:
            weight = float(number) if colon else 1.0
        except ValueError:
            return None
        if hands is None or not 0.0 <= weight <= 1.0:
            return None
        weights[hands] = weight
    return weights


@cache
def _plain_groups() -> dict[str, int | list[int]]:
    """Return the hands of each group of :data:`BY_EQUITY`, and of each single hand."""
    groups: dict[str, int | list[int]] = {
        label: [*_combos(*_ranks(label, label))] for label in BY_EQUITY.split()
    }
    return groups | {hand_label(hand): number for number, hand in enumerate(HANDS)}


def range_text(weights: np.ndarray) -> str:
    """Format a range: ``"AA,AKs:0.5,AsKd:0.25"``.

    Hands of a group with equal weights are written as the group.

    Args:
        weights: float64 (1326,): weights of the rows of :data:`~tensorcfr.games.poker.deck.HANDS`;
            they are rounded to nine digits.
    """
    parts = []
    for label in BY_EQUITY.split():
        hands = [*_combos(*_ranks(label, label))]
        if (weights[hands] == weights[hands[0]]).all():
            weights_by_name = [(label, weights[hands[0]])]
        else:
            weights_by_name = [(hand_label(HANDS[hand]), weights[hand]) for hand in hands]
        parts += [
            name if weight == 1.0 else f"{name}:{weight:.9g}"
            for name, weight in weights_by_name
            if weight > 0.0
        ]
    return ",".join(parts)


def _numbers(text: str, what: str) -> np.ndarray | None:
    """Read a range that lists a weight for every hand; return None for other texts."""
    words = text.replace(",", " ").replace(";", " ").split() if isinstance(text, str) else []
    listed = _listed(words, what)
    if listed is None:
        return None
    candidates = []
    for order in (PIOSOLVER_ORDER, POSTFLOP_SOLVER_ORDER):
        weights = np.zeros(len(HANDS))
        weights[order] = listed
        # An order is possible if it gives each group a single weight.
        if (weights == weights[FIRST_OF_GROUP]).all():
            candidates.append(weights)
    if not candidates or not (candidates[0] == candidates[-1]).all():
        raise ValueError(
            f"{what}: {len(HANDS):,} numbers do not tell which hand each is for: PioSOLVER lists "
            "the hands by their higher card, postflop-solver by their lower one, and in "
            f"{'both orders' if candidates else 'neither order'} each group, such as AKs, has "
            "one weight"
        )
    return candidates[0]


def weights_of(
    text: str,
    what: str,
    example: str,
    count: int,
    hands_of: Callable[[str, str], Any],
    *,
    deck: np.ndarray | None = None,
    apart: re.Pattern[str] | None = None,
) -> np.ndarray:
    """Read the weights in a range, for any notation of groups.

    Args:
        text: The range.
        what: Description of the range in errors.
        example: Example of such a text, for errors.
        count: Number of hands.
        hands_of: Function from a group, and its description in errors, to an index of the group's
            hands among all hands.
        deck: bool (hands,): True for hands of the deck, if the deck lacks some; groups leave out
            all other hands.
        apart: Pattern of blanks that also separate groups.

    Returns:
        float64 (hands,).

    Raises:
        ValueError: The text is not a range, or the deck has no hand of a group; names the group and
            its position.
    """
    weights, shared = np.zeros(count), ""
    if isinstance(text, str) and (braced := _BRACED.fullmatch(text)):
        text = f"{braced[1]} {braced[2]}"  # The blank keeps the positions in errors right.
    for group, place in pieces(text, what, example, apart=apart):
        if opened := _OPENED.match(group):
            if shared:
                raise ValueError(f"{place}: [{shared}] is not closed before")
            shared, group = opened[1], group[opened.end() :]
            if not group:
                continue
        closed = _CLOSED.search(group)
        if closed and not shared:
            raise ValueError(f"{place}: {closed[0]} closes nothing")
        group = group[: closed.start() if closed else None]
        hands, colon, number = group.partition("@" if "@" in group else ":")
        if colon == "@":
            number = number.strip().removesuffix("%") + "%"
        hands, taken_out = hands.strip().removeprefix("!"), hands.strip().startswith("!")
        if colon and (shared or taken_out):
            raise ValueError(f"{place} has two weights")
        weight = _weight(number if colon else f"{shared}%" if shared else "1", place)
        group_hands = hands_of(hands.strip(), place)
        if deck is not None:
            group_hands = np.intersect1d(np.arange(count)[group_hands], np.flatnonzero(deck))
            if not len(group_hands):
                raise ValueError(f"{place}: the deck has no such hand")
        weights[group_hands] = 0.0 if taken_out else weight
        if closed:
            shared = ""
    if shared:
        raise ValueError(f"{what}: [{shared}] is not closed: write [/{shared}] after its groups")
    return weights


def _weight(text: str, place: str) -> float:
    number = text.strip()
    try:
        weight = float(number.removesuffix("%")) / (100.0 if number.endswith("%") else 1.0)
    except ValueError:
        weight = -1.0
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"{place}: a weight must be from 0 to 1, or to 100%, not {brief(text)}")
    return weight


def _hands(group: str, place: str, order: str) -> Iterator[int]:
    """Yield the rows of :data:`~tensorcfr.games.poker.deck.HANDS` in a group."""
    if group.lower() in EVERY:
        yield from range(len(HANDS))
        return
    if top := _TOP.fullmatch(group):
        yield from _best(float(top[1]) / 100.0, place, order)
        return
    better = group.endswith("+")
    first, dash, last = (group[:-1], "", "") if better else group.partition("-")
    high, low, kind = _ranks(first.strip() if last else first, place)
    # The lower rank goes from `begin` to `end`; the higher rank moves along if the group `slides`.
    begin, end, slides = low, low, high == low
    if better:
        end = 12 if slides else high - 1
    elif dash and not last:
        begin = 0
    elif dash:
        high1, low1, kind1 = _ranks(last.strip(), place)
        if kind != kind1:
            raise ValueError(
                f"{place}: both ends must be suited, or of two suits, or of the same two"
            )
        if slides != (high1 == low1) or (high != high1 and high - low != high1 - low1):
            raise ValueError(f"{place}: both ends need the same first card or the same gap")
        begin, end = sorted((low, low1))
        slides = high != high1
    for rank in range(begin, end + 1):
        yield from _combos(rank + high - low if slides else high, rank, kind)


def _best(share: float, place: str, order: str) -> Iterator[int]:
    """Yield the hands of the best groups that together are at most a share of all hands."""
    if share > 1.0:
        raise ValueError(f"{place}: a share must be at most 100% of the hands")
    groups = [list(_combos(*_ranks(label, place))) for label in order.split()]
    remaining = int(share * sum(map(len, groups)) + 1e-9)  # Rounding must not lose a hand.
    for hands in groups:
        remaining -= len(hands)
        if remaining < 0:
            return
        yield from hands


def _ranks(text: str, place: str) -> tuple[int, int, str]:
    """Return the two ranks, the higher first, and the suits.

    The suits are ``"s"`` (suited), ``"o"`` (offsuit), ``""`` (both), or those of a single hand such
    as ``"sd"``.
    """
    if match := _COMBO.fullmatch(text):
        rank0, suit0, rank1, suit1 = match.groups()
        low, high = sorted((_card(rank0, suit0), _card(rank1, suit1)))
        if high == low:
            raise ValueError(f"{place} has one card twice")
        return high // 4, low // 4, SUITS[high % 4] + SUITS[low % 4]
    match = _GROUP.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{place} is not a group of hands; groups are written like QQ+, ATs+, KJo, A5s-A2s, "
            "AsKd, top 20%"
        )
    low, high = sorted(RANKS.index(rank.upper()) for rank in match.groups()[:2])
    kind = match.group(3).lower()
    if high == low and kind:
        raise ValueError(f"{place}: a pair is neither suited nor offsuit")
    return high, low, kind


def _combos(high: int, low: int, kind: str) -> Iterator[int]:
    """Yield the hands with two ranks and the suits that :func:`_ranks` returns."""
    if len(kind) == 2:
        yield HAND_NUMBER[4 * high + SUITS.index(kind[0]), 4 * low + SUITS.index(kind[1])]
        return
    for suit0, suit1 in product(range(4), repeat=2):
        if high == low and suit0 <= suit1:
            continue
        if high != low and ((kind == "s" and suit0 != suit1) or (kind == "o" and suit0 == suit1)):
            continue
        yield HAND_NUMBER[4 * high + suit0, 4 * low + suit1]


def _card(rank: str, suit: str) -> int:
    return 4 * RANKS.index(rank.upper()) + SUITS.index(suit.lower())
