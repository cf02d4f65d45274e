"""Orders of three hands over all boards, before the flop, by classes of hands.

A class has the hands that differ only in suits; in hold'em there are 169.  For three classes, all
hands without a common card and all boards are counted: how often each of the thirteen orders of the
three strengths, ties included, occurs.  Counting takes a quarter of an hour for a whole deck, so
the shares of the orders are in a file next to this module, written by ``scripts/three_runouts.py``
of commit b5ab28bb.

On one board, sort the hands by strength.  Let ``A``, ``E`` and ``C`` have, for each class, the
weaker, equal and stronger hands that share no card with a hand ``h``.  The pairs of a weaker and a
stronger hand are ``A C'``, less those that share a card ``x``, which are ``A_x C_x'`` for the hands
with that card.  This is summed over the hands ``h`` of a class.  With ``E`` in place of ``A`` or of
``C``, the pairs are those of orders with a tie.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..._util.jit import kernel, not_inlined
from .deck import HANDS, RANKS, SUITS, orders_of_suits
from .runouts import Strength, boards_up_to_suits, moved_hands

FILE = Path(__file__).with_name("three_runouts.npz")
BITS = 11
"""Shares in the file are multiples of ``2 ** -BITS``."""
BATCH = 32
"""Boards of equal weight that are counted together, in single precision: sums stay below 2 ** 24,
where it is exact."""
VECTOR = 16
"""Rows are padded to a multiple of so many numbers."""
ORDERS = 4
"""Kinds of orders ``[b, a, c]``: ``a < b < c`` in strength, ``a = b < c``, ``a = b > c``, and ``a =
b = c``."""


class Classes(NamedTuple):
    """Classes of hands that a group of permutations of the deck maps to each other."""

    of_hand: np.ndarray
    """int64 (hands,): class of each hand; classes are numbered by their first hands."""
    inside: np.ndarray
    """int64 (cards, width): the classes with each card, ascending."""
    place: np.ndarray
    """int64 (cards, classes): position of a class in ``inside``, or -1."""
    group: np.ndarray
    """int64 (cards,): number of the cards that the permutations map to each other: of the rank."""

    @classmethod
    def of(cls, hands: np.ndarray, orders: np.ndarray) -> Classes:
        """Find the classes of some hands; the arguments are those of :func:`count_orders`."""
        smallest = moved_hands(hands, orders).min(axis=0)
        of_hand = np.unique(smallest, return_inverse=True)[1].reshape(-1)
        has = np.zeros((orders.shape[1], int(of_hand.max()) + 1), dtype=bool)
        for column in hands.T:
            has[column, of_hand] = True
        inside = np.nonzero(has)[1].reshape(len(has), -1)
        place = np.where(has, np.cumsum(has, axis=1) - 1, -1)
        group = np.unique(orders.min(axis=0), return_inverse=True)[1].reshape(-1)
        return cls(of_hand, inside, place, group)


def count_orders(
    strength: Strength, hands: np.ndarray, orders: np.ndarray, cards: int
) -> np.ndarray:
    """Count the orders of three hands over all boards, by classes of hands.

    Args:
        strength: Function that computes strengths.
        hands: int64 (hands, 2): all hands of a deck.
        orders: int64 (permutations, cards of the deck): a group of permutations of the deck that
            preserve the order of strengths.
        cards: Number of cards of a board.

    Returns:
        uint32 (4, classes, classes, classes): number of disjoint hands and boards for each of the
        :data:`ORDERS`.
    """
    classes = Classes.of(hands, orders)
    n_cards, n = classes.place.shape
    number = np.full((n_cards, n_cards), -1)
    number[hands[:, 0], hands[:, 1]] = number[hands[:, 1], hands[:, 0]] = np.arange(len(hands))
    totals = np.zeros((ORDERS, n, n, n), dtype=np.uint32)
    boards, sizes = boards_up_to_suits(orders, cards)
    by_size = np.argsort(sizes, kind="stable")
    boards, sizes = boards[by_size], sizes[by_size]
    weaker = np.empty((BATCH, 0, 1, _padded(n)), dtype=np.float32)
    weaker_with = np.empty((BATCH, 0, n_cards, _padded(classes.inside.shape[1])), dtype=np.float32)
    for begin, end in _batches(sizes):
        order, level = np.zeros((2, end - begin, len(hands)), dtype=np.int64)
        live = np.ones((end - begin, n_cards), dtype=bool)
        counts = np.zeros(end - begin, dtype=np.int64)
        for row, board in enumerate(boards[begin:end].tolist()):
            live[row, board] = False
            possible = np.flatnonzero(live[row, hands].all(axis=1))
            strengths = np.asarray(strength(tuple(board), hands[possible]), dtype=np.int64)
            ranks = np.unique(strengths, return_inverse=True)[1].reshape(-1)
            ascending = np.argsort(ranks, kind="stable")
            counts[row] = len(possible)
            order[row, : len(possible)] = possible[ascending]
            level[row, : len(possible)] = ranks[ascending]
        if weaker.shape[1] < (levels := int(level.max()) + 2):
            weaker = np.empty((BATCH, levels, *weaker.shape[2:]), dtype=np.float32)
            weaker_with = np.empty((BATCH, levels, *weaker_with.shape[2:]), dtype=np.float32)
        _count_batch(
            order,
            level,
            counts,
            live,
            int(sizes[begin]),
            hands,
            classes.of_hand,
            number,
            classes.place,
            classes.inside,
            classes.group,
            weaker,
            weaker_with,
            totals,
        )
    return totals


def _batches(sizes: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the begin and the end of each batch of boards of equal weight."""
    begin = 0
    for end in range(1, len(sizes) + 1):
        if end == len(sizes) or end - begin == BATCH or sizes[end] != sizes[begin]:
            yield begin, end
            begin = end


def _padded(count: int) -> int:
    """Return the length of a row of ``count`` numbers."""
    return -(-count // VECTOR) * VECTOR


def count_disjoint(hands: np.ndarray, classes: Classes) -> np.ndarray:
    """Count the hands of three classes that share no card, float64 (classes, classes, classes)."""
    n_cards, n = classes.place.shape
    first = np.unique(classes.of_hand, return_index=True)[1]
    sizes = np.bincount(classes.of_hand)
    triples = np.empty((n, n, n))
    for number, hand in enumerate(hands[first]):
        live = ~np.isin(hands, hand).any(axis=1)
        of_hand = classes.of_hand[live]
        per_class = np.bincount(of_hand, minlength=n).astype(np.float64)
        per_card = np.zeros((n_cards, n))
        for column in hands[live].T:
            np.add.at(per_card, (column, of_hand), 1.0)
        # A hand shares two cards with itself, so it is subtracted twice.
        pairs = np.outer(per_class, per_class) - per_card.T @ per_card + np.diag(per_class)
        triples[number] = sizes[number] * pairs
    return triples


class Precision(NamedTuple):
    """Precision of the shares of the file."""

    counted: int
    """Number of boards that were counted, of those that differ not only in suits."""
    boards: int
    """Number of all such boards."""
    error: float
    """Standard error of a share from the draw of the counted boards, as a root mean square."""

    def __str__(self) -> str:
        """Describe the precision in a sentence."""
        rounding = f"shares of run-outs are rounded to {2.0**-BITS:.1e}"
        if self.counted == self.boards:
            return f"For each three classes of hands, {rounding}."
        return (
            f"For each three classes of hands, {rounding} and counted on {self.counted:,} of "
            f"{self.boards:,} boards up to suits, with a standard error of {self.error:.1e}."
        )


def holdem_precision() -> Precision:
    """Return the precision of :func:`holdem_order_shares`."""
    with np.load(FILE, allow_pickle=False) as stored:
        counted, boards = stored["counted"].tolist()
        return Precision(counted, boards, float(stored["error"]))


@cache
def _holdem_classes() -> Classes:
    return Classes.of(HANDS, orders_of_suits(len(RANKS), len(SUITS)))


def holdem_order_shares() -> np.ndarray:
    """Return the sums of :meth:`~tensorcfr.CardGame.order_shares` for 52 cards and boards of five.

    Shares of boards are rounded to a multiple of ``2 ** -BITS`` for every three classes.

    Returns:
        float64 (4, 169, 169, 169).
    """
    classes = _holdem_classes()
    triples = count_disjoint(HANDS, classes)
    with np.load(FILE, allow_pickle=False) as stored:
        rounded = unpack(stored["packed"], classes)
    strict, *ties = rounded
    # The file has no orders in which all hands are equal: they have the rest.
    rest = np.full(triples.shape, 1 << BITS, dtype=np.int16)
    for axes in _PERMUTATIONS:
        rest -= strict.transpose(axes)
    for tied in ties:
        rest -= tied + tied.transpose(0, 2, 1) + tied.transpose(2, 1, 0)
    shares = np.empty((ORDERS, *triples.shape))
    for number, of_order in enumerate((*rounded, rest)):
        np.multiply(of_order, triples / 2.0**BITS, out=shares[number])
    return shares


_PERMUTATIONS = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))


def _suited(classes: Classes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return suited classes, their offsuit classes, and all classes with the suited ones last."""
    ranks, suits = np.divmod(HANDS[np.unique(classes.of_hand, return_index=True)[1]], len(SUITS))
    is_suited = suits[:, 0] == suits[:, 1]
    code = ranks @ np.array([len(RANKS), 1])
    suited, others = np.flatnonzero(is_suited), np.flatnonzero(~is_suited)
    offsuit = others[np.searchsorted(-code[others], -code[suited])]
    return suited, offsuit, np.concatenate([others, suited])


def unpack(packed: np.ndarray, classes: Classes) -> np.ndarray:
    """Return rounded shares of orders, times ``2 ** BITS``, from the bytes of the file.

    A suited hand wins nearly as often as the offsuit hand of the same ranks, so the file has the
    differences between both, and of these the differences between neighbouring classes, compressed.

    Args:
        packed: uint8 (bytes,).
        classes: Classes of all hands.

    Returns:
        int16 (3, 169, 169, 169), without the tie of all hands.
    """
    suited, offsuit, sequence = _suited(classes)
    n = len(sequence)
    planes = np.frombuffer(lzma.decompress(packed.tobytes()), dtype=np.uint8).reshape(2, -1)
    data = np.ascontiguousarray(planes.T).view("<i2").reshape(-1).astype(np.int16)
    rounded = np.zeros((3, n, n, n), dtype=np.int16)
    rounded[0] = data[: n**3].reshape(n, n, n)
    for tied, part in zip(rounded[1:], data[n**3 :].reshape(2, -1), strict=True):
        # ``a`` and ``b`` are equal, so the table is symmetric in both.
        tied[_half(n)] = part.reshape(-1, n)
        tied.transpose(1, 0, 2)[_half(n)] = part.reshape(-1, n)
    np.cumsum(rounded, axis=3, out=rounded)
    back = np.argsort(sequence)
    shares = rounded[:, back[:, None, None], back[:, None], back]
    for axis in range(3):
        moved = np.moveaxis(shares, 1 + axis, 0)
        moved[suited] += moved[offsuit]
    return shares


def _half(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of classes with the first one not above the second."""
    first, second = np.triu_indices(n)
    return first, second


@not_inlined
def _begin_level(weaker: np.ndarray, level: int) -> None:
    """Copy the hands below a level, float32 (levels, rows, numbers), to the level above."""
    # Assigning a whole array takes seconds longer to compile, because of the text of its error.
    for k in range(weaker.shape[1]):
        for c in range(weaker.shape[2]):
            weaker[level + 1, k, c] = weaker[level, k, c]


@not_inlined
def _relate(weaker: np.ndarray, level: int, top: int, related: np.ndarray) -> None:
    """Compute how many hands are stronger than those of a level, weaker, and equal.

    Args:
        weaker: float32 (levels, rows, numbers): hands below each level.
        level: The level.
        top: The level above all hands.
        related: float32 (3, rows, numbers): modified in place.
    """
    for k in range(weaker.shape[1]):
        for c in range(weaker.shape[2]):
            related[0, k, c] = weaker[top, k, c] - weaker[level + 1, k, c]
            related[1, k, c] = weaker[level, k, c]
            related[2, k, c] = weaker[level + 1, k, c] - weaker[level, k, c]


@not_inlined
def _add_orders(
    orders: np.ndarray, a: int, weaker: float, equal: float, others: np.ndarray, k: int
) -> None:
    """Add the orders of a class with all others.

    Args:
        orders: float32 (4, classes, numbers): modified in place at the class.
        a: The class.
        weaker: Number of its hands that are weaker than a hand ``b``.
        equal: Number of those that are equal.
        others: float32 (3, rows, numbers): hands of the others that are stronger than ``b``,
            weaker, and equal.
        k: The row of these.
    """
    if weaker:
        for c in range(orders.shape[2]):
            orders[0, a, c] += weaker * others[0, k, c]
    if equal:
        for r in range(3):
            for c in range(orders.shape[2]):
                orders[1 + r, a, c] += equal * others[r, k, c]


@kernel
def _count_batch(
    order: np.ndarray,
    level: np.ndarray,
    counts: np.ndarray,
    live: np.ndarray,
    weight: int,
    hands: np.ndarray,
    of_hand: np.ndarray,
    number: np.ndarray,
    place: np.ndarray,
    inside: np.ndarray,
    group: np.ndarray,
    weaker: np.ndarray,
    weaker_with: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Add the orders of three hands on some boards of equal weight.

    Args:
        order: int64 (boards, hands): hands without a card of the board, the weakest first.
        level: int64 (boards, hands): rank of the strength of each of them.
        counts: int64 (boards,): number of them.
        live: bool (boards, cards): True for cards that are not on the board.
        weight: Number of boards that each board represents.
        hands: int64 (hands, 2): cards of each hand.
        of_hand: int64 (hands,): see :class:`Classes`, like ``place``, ``inside`` and ``group``.
        number: int64 (cards, cards): hand of two cards.
        place: int64 (cards, classes).
        inside: int64 (cards, width).
        group: int64 (cards,).
        weaker: float32 (boards, levels, 1, padded classes): scratch for the hands below each level.
        weaker_with: float32 (boards, levels, cards, padded width): scratch for those with a card.
        totals: uint32 (4, classes, classes, classes): counts, modified in place.
    """
    n_boards = len(counts)
    n_cards, n = place.shape
    width = inside.shape[1]
    padded = -(-n // 16) * 16
    lanes = -(-width // 16) * 16
    n_groups = group.max() + 1
    # Weaker hands by class, and by card and class, for each level.
    for board in range(n_boards):
        weaker[board, 0] = 0
        weaker_with[board, 0] = 0
    level_of = np.full((n_boards, len(hands)), -1, dtype=np.int64)
    last = np.zeros(n_boards, dtype=np.int64)
    first = np.zeros((n_boards, n + 1), dtype=np.int64)
    members = np.zeros((n_boards, len(hands)), dtype=np.int64)
    for board in range(n_boards):
        for k in range(counts[board]):
            h = order[board, k]
            own_level = level[board, k]
            if k == 0 or own_level != level[board, k - 1]:
                _begin_level(weaker[board], own_level)
                _begin_level(weaker_with[board], own_level)
            level_of[board, h] = own_level
            cls = of_hand[h]
            weaker[board, own_level + 1, 0, cls] += 1
            for card in hands[h]:
                weaker_with[board, own_level + 1, card, place[card, cls]] += 1
            first[board, cls + 1] += 1
            last[board] = own_level + 1
        for cls in range(n):
            first[board, cls + 1] += first[board, cls]
        put = first[board].copy()
        for k in range(counts[board]):
            h = order[board, k]
            members[board, put[of_hand[h]]] = h
            put[of_hand[h]] += 1
    tiles = np.empty((4, n, padded), dtype=np.float32)
    shared = np.empty((4, n_groups * width, lanes), dtype=np.float32)
    # Of all hands, of those that share no card with a hand, and sums of the latter: the stronger,
    # weaker and equal ones.
    whole, apart, sums = np.empty((3, 3, 1, padded), dtype=np.float32)
    whole_with, sums_with = np.empty((2, 3, n_cards, lanes), dtype=np.float32)
    held = np.empty(n_cards, dtype=np.float32)
    position = np.empty(2, dtype=np.int64)
    relation = np.empty(2, dtype=np.int64)
    zero, plus, minus = np.float32(0), np.float32(1), np.float32(-1)
    for b in range(n):
        tiles[:] = 0
        shared[:] = 0
        for board in range(n_boards):
            top = last[board]
            k = first[board, b]
            while k < first[board, b + 1]:
                own_level = level_of[board, members[board, k]]
                _relate(weaker[board], own_level, top, whole)
                _relate(weaker_with[board], own_level, top, whole_with)
                sums[:] = 0
                held[:] = 0
                size = np.float32(0)
                begin = k
                while k < first[board, b + 1] and level_of[board, members[board, k]] == own_level:
                    for card in hands[members[board, k]]:
                        held[card] += 1
                    size += 1
                    k += 1
                for r in range(3):
                    for x in range(n_cards):
                        for j in range(lanes):
                            sums_with[r, x, j] = (size - held[x]) * whole_with[r, x, j]
                for m in range(begin, k):
                    h = members[board, m]
                    for r in range(3):
                        for c in range(padded):
                            apart[r, 0, c] = whole[r, 0, c]
                    # The hand itself contains both cards.
                    apart[2, 0, b] += 1
                    for y in hands[h]:
                        for j in range(width):
                            for r in range(3):
                                apart[r, 0, inside[y, j]] -= whole_with[r, y, j]
                    for r in range(3):
                        for c in range(padded):
                            sums[r, 0, c] += apart[r, 0, c]
                    # A hand has both cards in common with itself.
                    for c in range(n):
                        tiles[3, c, c] += apart[2, 0, c]
                    _add_orders(tiles, b, zero, plus, apart, 0)
                    for y in hands[h]:
                        for j in range(width):
                            w, e = whole_with[1, y, j], whole_with[2, y, j]
                            _add_orders(tiles, inside[y, j], -w, -e, apart, 0)
                    for x in range(n_cards):
                        if x in (hands[h, 0], hands[h, 1]) or not live[board, x]:
                            continue
                        n_others = 0
                        for y in hands[h]:
                            sharing = number[x, y]
                            sharing_level = level_of[board, sharing]
                            if sharing_level >= 0:
                                position[n_others] = place[x, of_hand[sharing]]
                                # 0 for a stronger hand, 1 for a weaker one, 2 for an equal one.
                                relation[n_others] = (
                                    0
                                    if sharing_level > own_level
                                    else 1
                                    if sharing_level < own_level
                                    else 2
                                )
                                sums_with[relation[n_others], x, position[n_others]] -= 1
                                n_others += 1
                        for o in range(n_others):
                            if relation[o] == 0:
                                continue
                            row = group[x] * width + position[o]
                            w, e = (minus, zero) if relation[o] == 1 else (zero, minus)
                            _add_orders(shared, row, w, e, whole_with, x)
                            for q in range(n_others):
                                if relation[o] == 2:
                                    shared[1 + relation[q], row, position[q]] += 1
                                elif relation[q] == 0:
                                    shared[0, row, position[q]] += 1
                for a in range(n):
                    _add_orders(tiles, a, whole[1, 0, a], whole[2, 0, a], sums, 0)
                for x in range(n_cards):
                    if live[board, x]:
                        for i in range(width):
                            w, e = whole_with[1, x, i], whole_with[2, x, i]
                            _add_orders(shared, group[x] * width + i, w, e, sums_with, x)
        for x in range(n_cards):
            g = group[x]
            if x and g == group[x - 1]:
                continue
            for kind in range(4):
                for i in range(width):
                    for j in range(width):
                        tiles[kind, inside[x, i], inside[x, j]] -= shared[kind, g * width + i, j]
        factor = np.float32(weight)
        for kind in range(4):
            for a in range(n):
                for c in range(n):
                    totals[kind, b, a, c] += np.uint32(np.int32(factor * tiles[kind, a, c]))
