"""Product with :class:`PayoffThreeHands`, in some fifty operations per hand and terminal.

Let ``x`` and ``y`` be the weights of the other players' hands, ``X_c`` and ``Y_c`` their sums over
the hands with card ``c``, and ``X`` and ``Y`` their sums over all hands.  By inclusion and
exclusion the total weight of two disjoint hands is

    B(x, y) = X Y - sum_c X_c Y_c + sum_h x_h y_h,

because two hands that share two cards are subtracted once for each card.  For an own hand, all
sums leave out the hands with its two cards.  They follow from the sums over all hands: from ``X_c``
subtract the two hands that have ``c`` and a card of the own hand.

In a showdown the other players' hands are divided into weaker, equal and stronger ones.  A payoff
for each pair of relations then needs nine such forms.  Own hands are processed in the order of
their strengths, so the sums of the weaker hands grow with them.  The sums of the stronger hands are
differences from the sums of all.

Terminals are the lanes of vectors.  All sums are float64, in single precision, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils

from .._util.aligned import ALIGNMENT
from .._util.jit import inlined, overload_piece
from .card_tiles import clear
from .payoff_kind import PayoffKind
from .product_share import ProductShare
from .three_hands import (
    LANES,
    RELATIONS,
    PayoffThreeHands,
    check_amounts,
    check_boards,
    check_classes,
    check_groups,
    check_hands,
    check_shapes,
)
from .vectors import DOUBLE, INDEX, Code, piece

WEAKER, EQUAL, ALL = range(3)
"""Sets of other players' hands: weaker than the own hand, equally strong, and all."""
FIRST, SECOND, BOTH = range(3)
"""Summands: weights of the first opponent's hands, of the second one's, and products of the weights
of both for equal hands."""
ROW = 8 * LANES
"""Bytes of a row of lanes."""
MORE_ROWS = 2
"""Rows of a table of sums after the rows of cards: a row of zeros for the missing card of a hand of
one card, and the sum of all hands."""
FACTORS = RELATIONS + 3
"""Rows of factors: of the nine products of sets, then of the products of equal hands."""


def add_three_hands(part: PayoffThreeHands, share: ProductShare) -> None:
    """Add the products of the own hands of a share."""
    if share.number:
        return
    reach = share.reach.astype(np.float64)
    for row, (first, second), matrix in part._matrices(share.player):
        share.g[row] += reach[first] @ matrix @ reach[second]


@inlined
def three_hands_scratch(part: PayoffThreeHands) -> int:
    """Return the scratch numbers of a part: factors, a result, tables of sums, and two tiles."""
    if not len(part.group):
        return 0
    tables = 9 * (part.cards[0] + MORE_ROWS)
    return LANES * (FACTORS + 1 + tables + part.hand_begin[3] + 2) + ALIGNMENT


class _Layout(NamedTuple):
    """Layout of the scratch, as addresses."""

    factors: np.int64
    """Address of the factors; see :data:`FACTORS`."""
    result: np.int64
    """Address of the payoffs of one own hand."""
    sums: np.int64
    """Address of the tables of sums, by set and summand."""
    first_tile: np.int64
    """Address of the weights of the first opponent's hands, and a row of zeros."""
    second_tile: np.int64
    """Address of the weights of the second opponent's hands, and a row of zeros."""


@overload_piece(add_three_hands)
def _add_three_hands(part, share):  # type: ignore[no-untyped-def]
    def add(part, share):  # type: ignore[no-untyped-def]
        _, player, number, of, reach, g, scratch, _ = share
        first = 1 if player == 0 else 0
        second = 1 if player == 2 else 2
        cards = part.cards[0]
        begins, hands = part.hand_begin, part.hand
        weights, orders, levels = part.weight, part.order, part.level
        own_begin, first_begin, second_begin = begins[player], begins[first], begins[second]
        n_own = begins[player + 1] - own_begin
        n_first = begins[first + 1] - first_begin
        n_second = begins[second + 1] - second_begin
        first_with, second_with = part.with_cards[first], part.with_cards[second]
        table = (cards + MORE_ROWS) * ROW
        start = np.int64(scratch.ctypes.data)
        factors_offset = ((-start) % ALIGNMENT) // 8
        tile_offset = factors_offset + LANES * (FACTORS + 1 + 9 * (cards + MORE_ROWS))
        second_offset = tile_offset + LANES * (n_first + 1)
        factors = start + 8 * factors_offset
        sums = factors + ROW * (FACTORS + 1)
        layout = _Layout(
            factors,
            factors + ROW * FACTORS,
            sums,
            start + 8 * tile_offset,
            start + 8 * second_offset,
        )
        result = scratch[factors_offset + LANES * FACTORS :]
        for k in range(part.group.shape[0]):
            count, board, compared = part.group[k, 0], part.group[k, 1], part.group[k, 2]
            board_kind = part.board_kind[board]
            class_of, own_weights = part.class_of[board_kind], part.own_weight[board_kind]
            level, order = levels[board], orders[board]
            first_level, second_level = level[first_begin:], level[second_begin:]
            own_sequences = part.sequence[player, k]
            n_classes = np.int64(0)
            for h in range(own_begin, own_begin + n_own):
                n_classes = max(n_classes, class_of[h] + 1)
            _fill_tile(
                reach,
                part.sequence[first, k],
                class_of,
                weights,
                level,
                first_begin,
                n_first,
                scratch,
                tile_offset,
            )
            _fill_tile(
                reach,
                part.sequence[second, k],
                class_of,
                weights,
                level,
                second_begin,
                n_second,
                scratch,
                second_offset,
            )
            _fill_factors(part.amount[player, k], scratch, factors_offset)
            clear(sums, 9 * table)
            for h in range(n_first):
                if first_level[h] >= 0:
                    _add_first(layout, ALL, cards, hands, first_begin, second_with, h)
            for h in range(n_second):
                if second_level[h] >= 0:
                    _add_second(layout, ALL, cards, hands, second_begin, h)
            both_play = compared >> player & 1
            with_first = both_play & (compared >> first) & 1
            with_second = both_play & (compared >> second) & 1
            mode = with_first + 2 * with_second
            next_first, next_second = np.int64(0), np.int64(0)
            equal_level = np.int64(-1)
            begin_first, begin_second = np.int64(0), np.int64(0)
            for i in range(n_own):
                h = order[own_begin + i]
                own_level = level[own_begin + h]
                if own_level < 0:
                    continue
                if mode > 0 and own_level != equal_level:
                    # Hands that were equal to the last own hands are weaker now.
                    for n in range(begin_first, next_first):
                        opponent = order[first_begin + n]
                        _clear_first(layout, cards, hands, first_begin, opponent)
                        if first_level[opponent] >= 0:
                            _add_first(
                                layout, WEAKER, cards, hands, first_begin, second_with, opponent
                            )
                    for n in range(begin_second, next_second):
                        opponent = order[second_begin + n]
                        _clear_second(layout, cards, hands, second_begin, opponent)
                        if second_level[opponent] >= 0:
                            _add_second(layout, WEAKER, cards, hands, second_begin, opponent)
                    while next_first < n_first:
                        opponent = order[first_begin + next_first]
                        if first_level[opponent] >= own_level:
                            break
                        if first_level[opponent] >= 0:
                            _add_first(
                                layout, WEAKER, cards, hands, first_begin, second_with, opponent
                            )
                        next_first += 1
                    while next_second < n_second:
                        opponent = order[second_begin + next_second]
                        if second_level[opponent] >= own_level:
                            break
                        if second_level[opponent] >= 0:
                            _add_second(layout, WEAKER, cards, hands, second_begin, opponent)
                        next_second += 1
                    begin_first, begin_second = next_first, next_second
                    while next_first < n_first:
                        opponent = order[first_begin + next_first]
                        if first_level[opponent] != own_level:
                            break
                        _add_first(layout, EQUAL, cards, hands, first_begin, second_with, opponent)
                        next_first += 1
                    while next_second < n_second:
                        opponent = order[second_begin + next_second]
                        if second_level[opponent] != own_level:
                            break
                        _add_second(layout, EQUAL, cards, hands, second_begin, opponent)
                        next_second += 1
                    equal_level = own_level
                own_weight, own_class = own_weights[own_begin + h], class_of[own_begin + h]
                # A class belongs to one share, so shares add to different sequences.
                if own_weight == 0.0 or own_class * of // n_classes != number:
                    continue
                card, other_card = hands[own_begin + h, 0], hands[own_begin + h, 1]
                _pay_hand(
                    mode,
                    layout,
                    cards,
                    card,
                    other_card,
                    first_with[card],
                    first_with[other_card],
                    second_with[card],
                    second_with[other_card],
                    first_level,
                    second_level,
                    own_level,
                )
                for lane in range(count):
                    g[own_sequences[lane] + own_class] += own_weight * result[lane]

    return add


@inlined
def _fill_tile(
    reach: np.ndarray,
    first_sequences: np.ndarray,
    class_of: np.ndarray,
    weights: np.ndarray,
    level: np.ndarray,
    begin: int,
    count: int,
    scratch: np.ndarray,
    offset: int,
) -> None:
    """Write the weighted reaches of a player's hands to a tile, and a row of zeros after them."""
    for h in range(count):
        row = scratch[offset + LANES * h : offset + LANES * (h + 1)]
        weight = weights[begin + h] if level[begin + h] >= 0 else 0.0
        of_class = class_of[begin + h]
        for lane in range(LANES):
            row[lane] = weight * reach[first_sequences[lane] + of_class]
    scratch[offset + LANES * count : offset + LANES * (count + 1)] = 0.0


@inlined
def _fill_factors(amount: np.ndarray, scratch: np.ndarray, offset: int) -> None:
    """Convert payoffs by relation to factors of the products of sets.

    The stronger hands are all hands without the weaker and the equal ones, so an amount for
    stronger hands is subtracted from the amounts for the two others.
    """
    for lane in range(LANES):
        for r in range(3):
            for s in range(3):
                factor = amount[3 * r + s, lane]
                if r != ALL:
                    factor -= amount[3 * ALL + s, lane]
                if s != ALL:
                    factor -= amount[3 * r + ALL, lane]
                if r != ALL and s != ALL:
                    factor += amount[3 * ALL + ALL, lane]
                scratch[offset + LANES * (3 * r + s) + lane] = factor
        # Two equal hands have the same relation to the own hand.
        both_stronger = amount[3 * ALL + ALL, lane]
        for r in range(3):
            factor = amount[4 * r, lane] - (both_stronger if r != ALL else 0.0)
            scratch[offset + LANES * (RELATIONS + r) + lane] = factor


@inlined
def _rows_of(layout: _Layout, of_set: int, summand: int, cards: int) -> Any:
    """Return the address of a table of sums."""
    return layout.sums + (3 * of_set + summand) * (cards + MORE_ROWS) * ROW


@inlined
def _add_first(
    layout: _Layout,
    of_set: int,
    cards: int,
    hands: np.ndarray,
    begin: int,
    second_with: np.ndarray,
    h: int,
) -> None:
    """Add a hand of the first opponent to the sums of a set, and its product with the second
    opponent's hand of the same cards."""
    card, second_card = hands[begin + h, 0], hands[begin + h, 1]
    sums, source = _rows_of(layout, of_set, FIRST, cards), layout.first_tile + ROW * h
    _add_row(sums + ROW * card, source)
    if second_card < cards:
        _add_row(sums + ROW * second_card, source)
    _add_row(sums + ROW * (cards + 1), source)
    same = second_with[card, second_card]
    # The row after the hands of the second opponent is zero.
    if second_card < cards:
        sums, twin = _rows_of(layout, of_set, BOTH, cards), layout.second_tile + ROW * same
        _add_product(sums + ROW * card, source, twin)
        _add_product(sums + ROW * second_card, source, twin)
        _add_product(sums + ROW * (cards + 1), source, twin)


@inlined
def _add_second(
    layout: _Layout, of_set: int, cards: int, hands: np.ndarray, begin: int, h: int
) -> None:
    """Add a hand of the second opponent to the sums of a set."""
    card, second_card = hands[begin + h, 0], hands[begin + h, 1]
    sums, source = _rows_of(layout, of_set, SECOND, cards), layout.second_tile + ROW * h
    _add_row(sums + ROW * card, source)
    if second_card < cards:
        _add_row(sums + ROW * second_card, source)
    _add_row(sums + ROW * (cards + 1), source)


@inlined
def _clear_first(layout: _Layout, cards: int, hands: np.ndarray, begin: int, h: int) -> None:
    """Set the sums of equal hands to 0 that a hand of the first opponent was added to."""
    _clear_sums(_rows_of(layout, EQUAL, FIRST, cards), cards, hands, begin + h)
    _clear_sums(_rows_of(layout, EQUAL, BOTH, cards), cards, hands, begin + h)


@inlined
def _clear_second(layout: _Layout, cards: int, hands: np.ndarray, begin: int, h: int) -> None:
    """Set the sums of equal hands to 0 that a hand of the second opponent was added to."""
    _clear_sums(_rows_of(layout, EQUAL, SECOND, cards), cards, hands, begin + h)


@inlined
def _clear_sums(sums: int, cards: int, hands: np.ndarray, hand: int) -> None:
    clear(sums + ROW * hands[hand, 0], ROW)
    clear(sums + ROW * hands[hand, 1], ROW)
    clear(sums + ROW * (cards + 1), ROW)


class _Rows(Code):
    """Code generator for rows of lanes, at addresses."""

    width = LANES

    def row(self, first: Any, row: Any) -> Any:
        """Return the address of a row, from the address of the first row."""
        row = ir.Constant(INDEX, row) if isinstance(row, int) else row
        return self.builder.add(first, self.builder.mul(row, ir.Constant(INDEX, ROW)))

    def load(self, address: Any) -> Any:
        """Load a row."""
        pointer = self.builder.inttoptr(address, self.vector(DOUBLE).as_pointer())
        return self.builder.load(pointer, align=ALIGNMENT)

    def store(self, value: Any, address: Any) -> None:
        """Store a row."""
        pointer = self.builder.inttoptr(address, self.vector(DOUBLE).as_pointer())
        self.builder.store(value, pointer, align=ALIGNMENT)

    def table(self, of_set: int, summand: int) -> Any:
        """Return the address of a table of sums."""
        rows = self.builder.add(self.at.cards, ir.Constant(INDEX, MORE_ROWS))
        return self.row(
            self.at.sums, self.builder.mul(rows, ir.Constant(INDEX, 3 * of_set + summand))
        )

    def product_of_sets(self, first: dict[int, Any], second: dict[int, Any]) -> Any:
        """Generate the sum over pairs of sets of their factor times both rows."""
        total = None
        for r, first_row in first.items():
            inner = None
            for s, second_row in second.items():
                factor = self.load(self.row(self.at.factors, 3 * r + s))
                inner = self._sum(inner, factor, second_row)
            total = self._sum(total, first_row, inner)
        return total

    def _sum(self, total: Any | None, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b) if total is None else self.fma(a, b, total)

    def pay(self, sets_of_first: tuple[int, ...], sets_of_second: tuple[int, ...]) -> None:
        """Generate the payoffs of an own hand, if only some sets have factors."""
        builder, args = self.builder, self.at
        tiles = {FIRST: args.first_tile, SECOND: args.second_tile}
        sets = {FIRST: sets_of_first, SECOND: sets_of_second}
        with_card = {FIRST: args.first_with_card, SECOND: args.second_with_card}
        with_other = {FIRST: args.first_with_other, SECOND: args.second_with_other}
        levels = {FIRST: args.first_level, SECOND: args.second_level}
        own_rows = {
            k: self.load(self.row(tiles[k], self.number(with_card[k], args.second_card)))
            for k in tiles
        }
        own_rows[BOTH] = builder.fmul(own_rows[FIRST], own_rows[SECOND])
        sets_of_both = max(sets_of_first, sets_of_second, key=len)

        def without_own_cards(summand: int, of_set: int) -> Any:
            table = self.table(of_set, summand)
            row = self.load(self.row(table, builder.add(args.cards, ir.Constant(INDEX, 1))))
            for card in (args.card, args.second_card):
                row = builder.fsub(row, self.load(self.row(table, card)))
            # The hand with both cards was subtracted twice.  It is equal to the own hand.
            return row if of_set == WEAKER else builder.fadd(row, own_rows[summand])

        total = self.product_of_sets(
            *({r: without_own_cards(k, r) for r in sets[k]} for k in (FIRST, SECOND))
        )
        for r in sets_of_both:
            factor = self.load(self.row(args.factors, RELATIONS + r))
            total = self.fma(factor, without_own_cards(BOTH, r), total)
        result = cgutils.alloca_once(builder, total.type)
        builder.store(total, result)

        def with_third_card(card: Any, summand: int) -> dict[int, Any]:
            hands = [self.number(by[summand], card) for by in (with_card, with_other)]
            rows = [self.load(self.row(tiles[summand], hand)) for hand in hands]
            sums = {}
            for r in sets[summand]:
                sums[r] = self.load(self.row(self.table(r, summand), card))
                for hand, row in zip(hands, rows, strict=True):
                    if r == ALL:
                        sums[r] = builder.fsub(sums[r], row)
                        continue
                    # Multiply by 0 or -1: a branch would be mispredicted for every other hand.
                    level = self.number(levels[summand], hand)
                    sign = "<" if r == WEAKER else "=="
                    is_in_set = builder.icmp_signed(sign, level, args.own_level)
                    factor = self.splat(builder.sitofp(is_in_set, DOUBLE))
                    sums[r] = self.fma(factor, row, sums[r])
            return sums

        with self.counting(ir.Constant(INDEX, 0), args.cards) as card:
            is_free = builder.and_(
                builder.icmp_signed("!=", card, args.card),
                builder.icmp_signed("!=", card, args.second_card),
            )
            with builder.if_then(is_free):
                product = self.product_of_sets(*(with_third_card(card, k) for k in (FIRST, SECOND)))
                builder.store(builder.fsub(builder.load(result), product), result)
        self.store(builder.load(result), args.result)


@piece(_Rows, "to source")
def _add_row(code: _Rows) -> None:
    """Add a row to another one."""
    total = code.builder.fadd(code.load(code.at.to), code.load(code.at.source))
    code.store(total, code.at.to)


@piece(_Rows, "to first second")
def _add_product(code: _Rows) -> None:
    """Add the product of two rows to another one."""
    factors = code.load(code.at.first), code.load(code.at.second)
    code.store(code.fma(*factors, code.load(code.at.to)), code.at.to)


@piece(
    _Rows,
    "mode layout cards card second_card first_with_card first_with_other second_with_card "
    "second_with_other first_level second_level own_level",
)
def _pay_hand(code: _Rows) -> None:
    """Write the payoffs of an own hand to ``result``.

    Bits of ``mode`` are the opponents with whom the own hand is compared.
    """
    for mode in range(4):
        is_mode = code.builder.icmp_signed("==", code.at.mode, ir.Constant(INDEX, mode))
        with code.builder.if_then(is_mode):
            code.pay(
                *((WEAKER, EQUAL, ALL) if mode >> opponent & 1 else (ALL,) for opponent in range(2))
            )


THREE_HANDS = PayoffKind(
    "three_hands",
    PayoffThreeHands,
    add_three_hands,
    three_hands_scratch,
    (
        ("D1", "arrays of three hands", check_shapes),
        ("D2", "cards and weights of hands", check_hands),
        ("D3", "classes of hands", check_classes),
        ("D4", "levels on boards", check_boards),
        ("D5", "groups of terminals", check_groups),
        ("D6", "amounts by relations", check_amounts),
    ),
)
"""Kind of payoffs of three hands of one or two cards."""
