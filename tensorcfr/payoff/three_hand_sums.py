"""Product with :class:`PayoffThreeHands`, in some ten vector instructions per hand and terminal.

Let ``x`` and ``y`` be the weights of the other players' hands, ``X_c`` and ``Y_c`` their sums over
the hands with card ``c``, and ``X`` and ``Y`` their sums over all hands.  By inclusion and
exclusion the total weight of two disjoint hands is

    B(x, y) = X Y - sum_c X_c Y_c + sum_h x_h y_h,

because two hands that share two cards are subtracted once for each card.  For an own hand with the
cards ``a`` and ``b``, all sums leave out the hands with these cards: ``X_c`` becomes ``X_c - x_ac -
x_bc``.  A *table* has the weights ``x_ac`` in the row of card ``a``, so the sum over ``c`` is one
over the numbers of a vector.  Cards ``a`` and ``b`` themselves are left out of it afterwards.

In a showdown a hand counts fully if it is weaker than the own hand, and by one half if it is equal.
So the tables grow while own hands are processed in the order of their strengths, and a pot for two
players is one such form.  In a pot for three players a tie of all pays one third.  Let equal hands
count by ``t`` in both tables: a tie with one opponent pays ``t``, and a tie of all ``t ** 2``.  The
means of both over ``t`` from 0 to 1 are 1/2 and 1/3.  Gauss's rule with two points is exact for
these means, so a pot for three players is the mean of two forms.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types

from .._util.aligned import ALIGNMENT
from .._util.jit import inlined, overload_piece
from .card_tiles import clear
from .payoff_kind import PayoffKind
from .product_share import ProductShare
from .three_hands import (
    BOTH,
    CONSTANT,
    FIRST,
    SECOND,
    PayoffThreeHands,
    check_amounts,
    check_boards,
    check_classes,
    check_hands,
    check_shapes,
    check_terminals,
)
from .vectors import DOUBLE, FLOAT, INDEX, INT, Code, piece

WIDTH = 8
"""Numbers of a vector."""
COUNTS = (6, 7)
"""Numbers of vectors of a row for which there is code without loops: 48 cards, and a deck."""
ALL_CLASSES = 1 << 40
"""End of the classes of a share that has all; larger than any class."""
POINTS = (0.5 - 0.75**0.5 / 3, 0.5 + 0.75**0.5 / 3)
"""Shares of equal hands in the two forms of a pot for three: points of Gauss's rule on [0, 1]."""


def add_three_hands(part: PayoffThreeHands, share: ProductShare) -> None:
    """Add the products of the own hands of a share."""
    if share.number:
        return
    reach = share.reach.astype(np.float64)
    for row, (first, second), matrix in part._matrices(share.player):
        share.g[row] += reach[first] @ matrix @ reach[second]


@inlined
def three_hands_scratch(part: PayoffThreeHands) -> int:
    """Return the scratch numbers of a part: two tables, a row of products, and the weights."""
    if not len(part.terminal_board):
        return 0
    stride = (part.cards[0] + WIDTH - 1) // WIDTH * WIDTH
    rows = 2 * part.cards[0] * stride + 3 * (stride + WIDTH)
    return rows + part.hand_begin[3] + 3 * ALIGNMENT


class _Layout(NamedTuple):
    """Layout of the scratch, as addresses.

    A table has a row for each card, and a row of sums by card, which the sum of all hands follows.
    Products are the latter row alone, for the products of the weights of both opponents' hands.
    """

    cards: np.int64
    """Number of cards (not an address)."""
    stride: np.int64
    """Number of numbers in a row, a multiple of the width of a vector (not an address)."""
    first: np.int64
    """Address of the table of the first opponent's hands."""
    second: np.int64
    """Address of the table of the second opponent's hands."""
    products: np.int64
    """Address of the products of both."""


class _Own(NamedTuple):
    """Own hands of a share at a terminal."""

    own_order: np.ndarray
    """int64 (hands,): hands by ascending strength."""
    own_hands: np.ndarray
    """int64 (hands, 2): cards."""
    own_weights: np.ndarray
    """float64 (hands,): weight of the class at its first hand, else 0."""
    own_classes: np.ndarray
    """int64 (hands,): class of each hand."""
    class_begin: np.int64
    """First class of the share."""
    class_end: np.int64
    """End of the classes of the share."""
    g: np.ndarray
    """float (classes,): payoffs, modified in place."""


class _Others(NamedTuple):
    """Hands of an opponent."""

    order: np.ndarray
    """int64 (hands,): hands by ascending strength."""
    hands: np.ndarray
    """int64 (hands, 2): cards."""
    weights: np.ndarray
    """float64 (hands,): weights."""
    classes: np.ndarray
    """int64 (hands,): class of each hand."""
    levels: np.ndarray
    """int64 (hands,): rank of each strength, -1 for hands that share a card with the board."""
    reaches: np.ndarray
    """float (classes,): reaches at a terminal."""
    values: np.int64
    """Address of the products of weights and reaches."""


@overload_piece(add_three_hands)
def _add_three_hands(part, share):  # type: ignore[no-untyped-def]
    reaches = share.types[share.fields.index("reach")]
    size = 4 if reaches.dtype == types.float32 else 8

    def add(part, share):  # type: ignore[no-untyped-def]
        # A part without terminals has no scratch, and in a share of a cluster no hands.
        if part.terminal_board.shape[0] == 0:
            return
        _, player, number, of, reach, g, scratch, _ = share
        first = 1 if player == 0 else 0
        second = 1 if player == 2 else 2
        begins, weights, levels = part.hand_begin, part.weight, part.level
        own_begin, first_begin, second_begin = begins[player], begins[first], begins[second]
        n_own = begins[player + 1] - own_begin
        n_first = begins[first + 1] - first_begin
        n_second = begins[second + 1] - second_begin
        cards = part.cards[0]
        stride = (cards + WIDTH - 1) // WIDTH * WIDTH
        row = (stride + WIDTH) * size
        table = cards * stride * size + row
        begin = np.int64(scratch.ctypes.data)
        begin += (-begin) % ALIGNMENT
        products = begin + 2 * table
        values = products + row
        second_values = values + (n_first * size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        layout = _Layout(cards, stride, begin, begin + table, products)
        clear(begin, 2 * table + row)
        for k in range(part.terminal_board.shape[0]):
            board = part.terminal_board[k]
            kind = part.board_kind[board]
            level, order, class_of = levels[board], part.order[board], part.class_of[kind]
            class_begin, class_end = np.int64(0), np.int64(ALL_CLASSES)
            if of > 1:
                n_classes = np.int64(0)
                for h in range(own_begin, own_begin + n_own):
                    n_classes = max(n_classes, class_of[h] + 1)
                # A class belongs to one share, so shares add to different sequences.
                class_begin = (number * n_classes + of - 1) // of
                class_end = ((number + 1) * n_classes + of - 1) // of
            own_hands = _Own(
                order[own_begin:],
                part.hand[own_begin:],
                part.own_weight[kind, own_begin:],
                class_of[own_begin:],
                class_begin,
                class_end,
                g[part.sequence[player, k] :],
            )
            firsts = _Others(
                order[first_begin:],
                part.hand[first_begin:],
                weights[first_begin:],
                class_of[first_begin:],
                level[first_begin:],
                reach[part.sequence[first, k] :],
                values,
            )
            seconds = _Others(
                order[second_begin:],
                part.hand[second_begin:],
                weights[second_begin:],
                class_of[second_begin:],
                level[second_begin:],
                reach[part.sequence[second, k] :],
                second_values,
            )
            amount = part.amount[player, k]
            constant = amount[CONSTANT]
            first_pot, second_pot, shared_pot = amount[FIRST], amount[SECOND], amount[BOTH]
            own_ends, first_ends, second_ends = (
                part.level_end[board, player],
                part.level_end[board, first],
                part.level_end[board, second],
            )
            for form in range(3):
                # Start and growth of the weights of both opponents' hands.
                if form == 0:
                    # The pots against the first opponent, or against both:
                    # shared * (first hands that lose) * (second hands that lose + first / shared).
                    if shared_pot != 0.0:
                        start, grow, factor = 0.0, 1.0, shared_pot
                        second_start, second_grow = first_pot / shared_pot, 1.0
                    elif first_pot != 0.0:
                        start, grow, factor = constant, first_pot, 1.0
                        second_start, second_grow = 1.0, 0.0
                        constant = 0.0
                    else:
                        continue
                elif form == 1:
                    if second_pot == 0.0:
                        continue
                    start, grow, factor = 1.0, 0.0, 1.0
                    second_start, second_grow = constant, second_pot
                    constant = 0.0
                else:
                    if constant == 0.0:
                        continue
                    start, grow, factor = 1.0, 0.0, constant
                    second_start, second_grow = 1.0, 0.0
                _fill(firsts, n_first, start, layout.first, layout)
                _fill(seconds, n_second, second_start, layout.second, layout)
                _sum_rows(reach, layout)
                if grow == 0.0 and second_grow == 0.0:
                    _pay_hands(
                        reach,
                        own_hands,
                        own_ends[0],
                        n_own,
                        factor,
                        layout.first,
                        layout.second,
                        layout.products,
                        layout,
                    )
                    continue
                _pay_by_strength(
                    reach,
                    own_hands,
                    firsts,
                    seconds,
                    (own_ends, first_ends, second_ends),
                    (grow, second_grow),
                    factor,
                    POINTS if form == 0 and shared_pot != 0.0 else (0.5, 0.5),
                    layout,
                )

    return add


@inlined
def _pay_by_strength(
    reach: np.ndarray,
    own_hands: _Own,
    firsts: _Others,
    seconds: _Others,
    ends: tuple[np.ndarray, np.ndarray, np.ndarray],
    growth: tuple[float, float],
    factor: float,
    points: tuple[float, float],
    layout: _Layout,
) -> None:
    """Add payoffs of own hands by ascending strength, while the tables of opponents' hands grow.

    Args:
        reach: float (sequences,): own reaches, for their precision.
        own_hands: The own hands.
        firsts: The hands of the first opponent.
        seconds: The hands of the second opponent.
        ends: int64 (levels + 1,) for all three: number of hands up to each level, from -1.
        growth: Factors of the weights by which both tables grow.
        factor: Factor of the payoffs.
        points: Shares of equal hands in two forms, whose mean is paid.  One form suffices if both
            points are equal.
        layout: Layout of the scratch.
    """
    own_ends, first_ends, second_ends = ends
    grow_first, grow_second = growth
    table, second_table, both = layout.first, layout.second, layout.products
    next_own, next_first, next_second = own_ends[0], first_ends[0], second_ends[0]
    for level in range(1, own_ends.shape[0]):
        end_own = own_ends[level]
        if end_own == next_own:
            continue
        # Hands below this level are weaker.
        begin_first, end_first = first_ends[level - 1], first_ends[level]
        begin_second, end_second = second_ends[level - 1], second_ends[level]
        if grow_first != 0.0:
            _add_hands(
                firsts, next_first, begin_first, grow_first, table, second_table, both, layout
            )
        if grow_second != 0.0:
            _add_hands(
                seconds, next_second, begin_second, grow_second, second_table, table, both, layout
            )
        counted = 0.0
        for k in range(3):
            share = points[k] if k < 2 else 1.0
            step = share - counted
            if step == 0.0:
                continue
            if grow_first != 0.0:
                grow = step * grow_first
                _add_hands(firsts, begin_first, end_first, grow, table, second_table, both, layout)
            if grow_second != 0.0:
                grow = step * grow_second
                _add_hands(
                    seconds, begin_second, end_second, grow, second_table, table, both, layout
                )
            if k < 2:
                # A second point that equals the first one is skipped.
                weight = factor if points[0] == points[1] else factor / 2
                _pay_hands(
                    reach, own_hands, next_own, end_own, weight, table, second_table, both, layout
                )
            counted = share
        next_own, next_first, next_second = end_own, end_first, end_second


class _Tables(Code):
    """Code generator for tables; the argument ``x`` of a piece is an array in their precision."""

    width = WIDTH

    def __init__(self, builder: Any, args: SimpleNamespace) -> None:
        super().__init__(builder, args)
        self.kind = args.x.type.pointee if hasattr(args, "x") else args.reaches.type.pointee
        self.size = 4 if self.kind == FLOAT else 8

    def pointer(self, address: Any, *offsets: Any) -> Any:
        """Return a pointer to the number at an address, after some numbers."""
        pointer = self.builder.inttoptr(address, self.kind.as_pointer())
        for offset in offsets:
            offset = ir.Constant(INDEX, offset) if isinstance(offset, int) else offset
            pointer = self.builder.gep(pointer, [offset])
        return pointer

    def row(self, table: Any, card: Any) -> Any:
        """Return the address of a row of a table."""
        stride = self.builder.mul(self.at.stride, ir.Constant(INDEX, self.size))
        return self.builder.add(table, self.builder.mul(card, stride))

    def sums(self, table: Any) -> Any:
        """Return the address of the sums of a table."""
        return self.row(table, self.at.cards)

    def total(self, sums: Any) -> Any:
        """Return the pointer to the sum of all hands."""
        return self.pointer(sums, self.at.stride)

    @property
    def vectors(self) -> Any:
        """Number of vectors of a row."""
        return self.builder.udiv(self.at.stride, ir.Constant(INDEX, self.width))

    def address(self, row: Any, vector: Any) -> Any:
        """Return the pointer to a vector of a row."""
        offset = ir.Constant(INDEX, vector) if isinstance(vector, int) else vector
        offset = self.builder.mul(offset, ir.Constant(INDEX, self.width * self.size))
        pointer = self.vector(self.kind).as_pointer()
        return self.builder.inttoptr(self.builder.add(row, offset), pointer)

    def load(self, row: Any, vector: Any) -> Any:
        """Load a vector of a row."""
        return self.builder.load(self.address(row, vector), align=self.width * self.size)

    def set_both(self, table: Any, card: Any, second: Any, number: Any) -> None:
        """Store the number of a hand in the rows of its cards."""
        for row, column in ((card, second), (second, card)):
            self.builder.store(number, self.pointer(self.row(table, row), column))

    def double(self, pointer: Any) -> Any:
        """Load a number in double precision."""
        number = self.builder.load(pointer)
        return number if self.kind == DOUBLE else self.builder.fpext(number, DOUBLE)

    def convert(self, number: Any) -> Any:
        """Convert a number in double precision to the precision of the tables."""
        return number if self.kind == DOUBLE else self.builder.fptrunc(number, self.kind)

    def increase(self, pointer: Any, number: Any) -> None:
        """Add to a number."""
        self.builder.store(self.builder.fadd(self.builder.load(pointer), number), pointer)

    def cards_of(self, hands: Any, hand: Any) -> tuple[Any, Any]:
        """Return the cards of a hand."""
        first = self.builder.mul(hand, ir.Constant(INDEX, 2))
        second = self.builder.add(first, ir.Constant(INDEX, 1))
        return self.number(hands, first), self.number(hands, second)

    def add_lanes(self, vector: Any) -> Any:
        """Return the sum of the lanes of a vector, in double precision."""
        count = self.width
        while count > 1:
            count //= 2
            halves = (
                self.builder.shuffle_vector(
                    vector, vector, ir.Constant(ir.VectorType(INT, count), lanes)
                )
                for lanes in (list(range(count)), list(range(count, 2 * count)))
            )
            vector = self.builder.fadd(*halves)
        number = self.builder.extract_element(vector, ir.Constant(INT, 0))
        return number if self.kind == DOUBLE else self.builder.fpext(number, DOUBLE)


@piece(_Tables, "others count factor table layout")
def _fill(code: _Tables) -> None:
    """Set the weights of hands times a factor in a table, and compute their products with
    reaches.

    Hands that share a card with the board get 0.  The sums of the table are not set.
    """
    builder, args = code.builder, code.at
    factor = code.convert(args.factor)
    with code.counting(ir.Constant(INDEX, 0), args.count) as hand:
        reach = builder.load(builder.gep(args.reaches, [code.number(args.classes, hand)]))
        weight = code.convert(code.number(args.weights, hand))
        is_dead = builder.icmp_signed("<", code.number(args.levels, hand), ir.Constant(INDEX, 0))
        weight = builder.select(is_dead, ir.Constant(code.kind, 0.0), weight)
        value = builder.fmul(reach, weight)
        builder.store(value, code.pointer(args.values, hand))
        code.set_both(args.table, *code.cards_of(args.hands, hand), builder.fmul(value, factor))


@piece(_Tables, "x layout")
def _sum_rows(code: _Tables) -> None:
    """Sum the weights of both tables, and their products, by card and in total."""
    builder, args = code.builder, code.at
    tables, zero = (args.first, args.second), ir.Constant(INDEX, 0)
    results = [*map(code.sums, tables), args.products]
    totals = [cgutils.alloca_once(builder, code.vector(code.kind)) for _ in results]
    of_cards = [cgutils.alloca_once(builder, code.vector(code.kind)) for _ in results]
    zeros = code.constant(code.kind, 0.0)
    for total in totals:
        builder.store(zeros, total)
    with code.counting(zero, code.vectors) as k:
        for sums in of_cards:
            builder.store(zeros, sums)
        with code.counting(zero, args.cards) as card:
            # Tables are symmetric, so the column of a card is its row.
            rows = [code.load(code.row(table, card), k) for table in tables]
            for sums, row in zip(of_cards, rows, strict=False):
                builder.store(builder.fadd(builder.load(sums), row), sums)
            builder.store(code.fma(rows[0], rows[1], builder.load(of_cards[2])), of_cards[2])
        for sums, total, result in zip(of_cards, totals, results, strict=True):
            vector = builder.load(sums)
            builder.store(vector, code.address(result, k))
            builder.store(builder.fadd(builder.load(total), vector), total)
    for total, result in zip(totals, results, strict=True):
        # Each hand is in the sums of two cards.
        half = builder.fmul(code.add_lanes(builder.load(total)), ir.Constant(DOUBLE, 0.5))
        builder.store(code.convert(half), code.total(result))


@piece(_Tables, "others begin end factor table other both layout")
def _add_hands(code: _Tables) -> None:
    """Add the weights of some hands times a factor to a table, and to the products of both."""
    builder, args = code.builder, code.at
    factor, sums = code.convert(args.factor), code.sums(args.table)
    # The totals stay in registers.
    totals = [code.total(row) for row in (sums, args.both)]
    in_total = [cgutils.alloca_once(builder, code.kind) for _ in totals]
    for total, number in zip(totals, in_total, strict=True):
        builder.store(builder.load(total), number)
    with code.counting(args.begin, args.end) as index:
        hand = code.number(args.order, index)
        card, second = code.cards_of(args.hands, hand)
        weight = builder.fmul(builder.load(code.pointer(args.values, hand)), factor)
        cell = builder.load(code.pointer(code.row(args.table, card), second))
        code.set_both(args.table, card, second, builder.fadd(cell, weight))
        twin = builder.load(code.pointer(code.row(args.other, card), second))
        product = builder.fmul(weight, twin)
        for row, added, number in zip((sums, args.both), (weight, product), in_total, strict=True):
            for place in (card, second):
                code.increase(code.pointer(row, place), added)
            code.increase(number, added)
    for total, number in zip(totals, in_total, strict=True):
        builder.store(builder.load(number), total)


@piece(_Tables, "x own begin end factor one two both layout")
def _pay_hands(code: _Tables) -> None:
    """Add the weight of the disjoint pairs of opponents' hands, times a factor, to the payoffs of
    some own hands."""
    builder, args = code.builder, code.at
    sums = [code.sums(table) for table in (args.one, args.two)]
    totals = [code.double(code.total(row)) for row in (*sums, args.both)]

    def pay_all(sum_of_products: Callable[[list[list[Any]]], Any]) -> None:
        with code.counting(args.begin, args.end) as index:
            hand = code.number(args.own_order, index)
            weight, class_ = (code.number(a, hand) for a in (args.own_weights, args.own_classes))
            is_paid = builder.and_(
                builder.fcmp_ordered("!=", weight, ir.Constant(DOUBLE, 0.0)),
                builder.and_(
                    builder.icmp_signed(">=", class_, args.class_begin),
                    builder.icmp_signed("<", class_, args.class_end),
                ),
            )
            with builder.if_then(is_paid):
                cards = code.cards_of(args.own_hands, hand)
                rows = [[code.row(table, c) for c in cards] for table in (args.one, args.two)]
                without = builder.fneg(sum_of_products(rows))
                # Hands of the own two cards, and the sums by own card without them.
                twins = [code.double(code.pointer(row[0], cards[1])) for row in rows]
                of_cards = [[code.double(code.pointer(row, c)) for c in cards] for row in sums]
                rest = []
                for total, twin, (first, second) in zip(totals, twins, of_cards, strict=False):
                    rest.append(
                        builder.fadd(builder.fsub(builder.fsub(total, first), second), twin)
                    )
                result = builder.fadd(without, builder.fmul(*rest))
                for k in range(2):
                    result = builder.fadd(
                        result,
                        builder.fmul(
                            *(
                                builder.fsub(of_card[k], twin)
                                for of_card, twin in zip(of_cards, twins, strict=True)
                            )
                        ),
                    )
                both = totals[2]
                for card in cards:
                    both = builder.fsub(both, code.double(code.pointer(args.both, card)))
                both = builder.fadd(both, builder.fmul(*twins))
                result = builder.fmul(builder.fadd(result, both), builder.fmul(weight, args.factor))
                code.increase(builder.gep(args.g, [class_]), code.convert(result))

    def unrolled(count: int) -> None:
        # The sums of all cards stay in registers.
        all_sums = [[code.load(row, k) for k in range(count)] for row in sums]

        def sum_of_products(rows: list[list[Any]]) -> Any:
            total = None
            for k in range(count):
                others = [
                    builder.fsub(builder.fsub(row_sums[k], code.load(a, k)), code.load(b, k))
                    for row_sums, (a, b) in zip(all_sums, rows, strict=True)
                ]
                total = (
                    builder.fmul(*others)
                    if total is None
                    else code.fma(others[0], others[1], total)
                )
            return code.add_lanes(total)

        pay_all(sum_of_products)

    def in_a_loop(rows: list[list[Any]]) -> Any:
        total = cgutils.alloca_once_value(builder, code.constant(code.kind, 0.0))
        builder.store(code.constant(code.kind, 0.0), total)
        with code.counting(ir.Constant(INDEX, 0), code.vectors) as k:
            others = [
                builder.fsub(builder.fsub(code.load(row_sums, k), code.load(a, k)), code.load(b, k))
                for row_sums, (a, b) in zip(sums, rows, strict=True)
            ]
            builder.store(code.fma(others[0], others[1], builder.load(total)), total)
        return code.add_lanes(builder.load(total))

    cases = {
        count: builder.icmp_signed("==", code.vectors, ir.Constant(INDEX, count))
        for count in COUNTS
    }
    is_other = ir.Constant(ir.IntType(1), 1)
    for count, is_case in cases.items():
        is_other = builder.and_(is_other, builder.not_(is_case))
        with builder.if_then(is_case):
            unrolled(count)
    with builder.if_then(is_other):
        pay_all(in_a_loop)


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
        ("D5", "public terminals", check_terminals),
        ("D6", "amounts", check_amounts),
    ),
    by_board=("level", "order", "level_end", "amount"),
)
"""Kind of payoffs of three hands of one or two cards."""
