"""Product with :class:`PayoffCards`, in a time proportional to the number of hands.

Terminals are the lanes of vectors.  The reaches of up to sixteen terminals are transposed into a
tile ``[hand][lane]``, sixteen by sixteen in registers.  The other player's hands are then added to
one sum per card, and to one sum of all hands.  The reach that an own hand plays against is the sum
of all hands minus the sums of its two cards.  The opponent's hand with the same two cards is
subtracted once per card, so it is added back once.

In a showdown the sums start at minus their totals, and hands are added twice over in the order of
their strengths.  So an own hand finds ``2 weaker - all`` in the sums before the hands of its
strength are added, and ``all - 2 stronger`` after them.  If a loss pays minus a win, the payoff of
the hand is the win times half the sum of both.

A fold and a call that answer the same bet end the same sequence of the player who bet.  If the
folds to the bets of a group of showdowns follow it, their reaches are read only once, or their
payoffs are written only once.  Between the sums the kernel prefetches the memory that the caller
needs next.

In double precision the sums are float64.  In single precision they are int32, which takes half the
time: the reaches of a terminal are rounded to ``2^-30`` of their sum, and sums and differences of
them are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types

from .._util.aligned import ALIGNMENT
from .._util.jit import if_given, inlined, overload_piece
from .card_payoffs import CARD_BITS, FOLD, HAND_BITS, LANES, TIES_PAY, PayoffCards
from .card_tiles import Tiles, add_rows, clear, find_scale, read_rows
from .product_share import ProductShare
from .vectors import INDEX, piece


def add_cards(part: PayoffCards, share: ProductShare) -> None:
    """Add the products of all groups; the first share has all of them."""
    if share.number:
        return
    for rows, columns, matrix in part._matrices(share.player):
        share.g[rows] += matrix @ share.reach[columns].astype(np.float64)


@inlined
def cards_scratch(part: PayoffCards) -> int:
    """Return the scratch numbers of a part; 0 without terminals.

    They are two copies of the sums, the scales, the tiles of both players, and the sums faced by
    the hands of one strength.
    """
    if not len(part.group):
        return 0
    hands = max(part.sizes[0], part.sizes[1])
    return LANES * (2 * (part.sizes[2] + 3) + 2 + 3 * hands + 1) + ALIGNMENT


class _CardScratch(NamedTuple):
    """Layout of the scratch of a part, as addresses."""

    scale: np.int64
    """Address of each lane's factor of reaches, and of its inverse, in single precision."""
    sums: np.int64
    """Address of the sums of hands with each card, followed at distance of two rows by the sum of
    all hands."""
    saved_sums: np.int64
    """Address of a copy of the sums from before a showdown."""
    sums_before: np.int64
    """Address of the sums that the hands of one strength face before they are added."""
    opponent_tile: np.int64
    """Address of the tile of the other player's hands."""
    payoff_tile: np.int64
    """Address of the tile of payoffs of own hands."""
    cards: np.int64
    """Number of cards in the deck (not an address)."""


@overload_piece(add_cards)
def _add_cards(part, share):  # type: ignore[no-untyped-def]
    reaches = share.types[share.fields.index("reach")]
    bytes_per_row = LANES * (4 if reaches.dtype == types.float32 else 8)

    def add(part, share):  # type: ignore[no-untyped-def]
        _, player, number, _, reach, g, scratch, prefetch = share
        sizes, weights, sames = part.sizes, part.weight, part.same
        boards, hand_lists, groups = part.board, part.hand_list, part.group
        sequences, amounts = part.sequence, part.amount
        lanes, cards, opponent = part.lanes, sizes[2], 1 - player
        begin = np.int64(scratch.ctypes.data)
        # The inverse of the scales is in float64: two rows of single precision.
        scale = begin + (-begin) % ALIGNMENT
        sums = scale + LANES * 16
        saved_sums = sums + (cards + 3) * bytes_per_row
        sums_before = saved_sums + (cards + 3) * bytes_per_row
        opponent_tile = sums_before + sizes[player] * bytes_per_row
        payoff_tile = opponent_tile + (sizes[opponent] + 1) * bytes_per_row
        layout = _CardScratch(
            scale, sums, saved_sums, sums_before, opponent_tile, payoff_tile, cards
        )
        last_board, is_read, is_pending = -1, False, False
        for k in range(groups.shape[0] if number == 0 else 0):
            count, board, kind = groups[k, 0], groups[k, 1], groups[k, 2]
            kind_of_board = boards[board, 2]
            own_first = lanes[kind_of_board, player]
            other_first = lanes[kind_of_board, opponent]
            own_hands = lanes[kind_of_board, player + 1] - own_first
            other_hands = lanes[kind_of_board, opponent + 1] - other_first
            same = sames[own_first:]
            list_offset = boards[board, player]
            n_levels = np.int64(hand_lists[list_offset])
            n_own = np.int64(hand_lists[list_offset + 1])
            n_others = hand_lists[list_offset + 2]
            level_counts = hand_lists[list_offset + 3 :]
            own_codes = hand_lists[list_offset + 3 + 2 * n_levels :]
            other_codes = hand_lists[list_offset + 3 + 2 * n_levels + n_own :]
            amount = amounts[player, k]
            if board != last_board:
                if n_own != own_hands:
                    # The board makes some own hands impossible: no loop writes their rows.
                    clear(payoff_tile, own_hands * bytes_per_row)
                # Row of zeros for own hands without an opponent's hand of the same cards.
                clear(opponent_tile + other_hands * bytes_per_row, bytes_per_row)
                last_board = board
            hand_weights, class_weights = weights[0, other_first:], weights[1, other_first:]
            # The reaches are still in the tile if this group ends the same bet as the last one.
            if not is_read:
                from_rows = sequences[opponent, k]
                find_scale(reach, from_rows, other_hands, class_weights, layout)
                read_rows(reach, from_rows, other_hands, hand_weights, layout)
                next_lines = _next_lines(prefetch, n_others, opponent_tile)
                _sum_by_card(reach, other_codes, n_others, next_lines, layout)
            if kind == FOLD:
                # A showdown consumes the sums, but leaves a copy for the folds after it.
                table = saved_sums if is_read else sums
                next_lines = _next_lines(prefetch, n_own, opponent_tile)
                _pay_folds(
                    reach,
                    own_codes,
                    n_own,
                    same,
                    amount,
                    count,
                    table,
                    is_pending,
                    next_lines,
                    layout,
                )
            else:
                three_amounts = kind == TIES_PAY
                for lane in range(LANES):
                    three_amounts |= amount[0, lane] != -amount[2, lane]
                next_lines = _next_lines(prefetch, n_others, opponent_tile)
                own_lines = _next_lines(prefetch, n_own, opponent_tile)
                _showdown(
                    reach,
                    level_counts,
                    n_levels,
                    own_codes,
                    other_codes,
                    amount,
                    three_amounts,
                    next_lines,
                    own_lines,
                    layout,
                )
                if kind == TIES_PAY:
                    _pay_ties(reach, own_codes, n_own, same, amount, layout)
            # If the last group's payoffs are still in the tile, add both groups to its sequences.
            first_group = k - is_pending
            is_read, is_pending = _shares_bets_with_next(groups, sequences, k, opponent), False
            if _shares_bets_with_next(groups, sequences, k, player):
                is_pending = True
                continue
            to_rows, to_lanes = sequences[player, first_group], groups[first_group, 0]
            add_rows(g, to_rows, to_lanes, own_hands, weights[1, own_first:], layout)

    return add


@if_given
def _next_lines(ranges: np.ndarray, count: int, instead: int) -> int:
    """Return the address of the next cache lines to prefetch, and mark them as fetched.

    Args:
        ranges: int64 (ranges, 2): modified in place; see
            :class:`tensorcfr.payoff.product_share.ProductShare`.
        count: Number of cache lines.
        instead: Address to return if no range is left.
    """
    for row in range(ranges.shape[0]):
        first = ranges[row, 0]
        if first < ranges[row, 1]:
            ranges[row, 0] = first + count * ALIGNMENT
            return first
    return instead


@inlined
def _shares_bets_with_next(groups: np.ndarray, sequences: np.ndarray, k: int, player: int) -> bool:
    """Return whether group ``k`` has showdowns and the next one folds to the same bets.

    Both groups are on the same board, and the player has the same last sequences in the lanes of
    the folds: the bet is called in one group and folded to in the other.
    """
    after = k + 1
    if after == groups.shape[0] or groups[after, 1] != groups[k, 1]:
        return False
    if groups[k, 2] == FOLD or groups[after, 2] != FOLD or groups[k, 0] < groups[after, 0]:
        return False
    differ = np.int64(0)
    for lane in range(groups[after, 0]):
        differ |= sequences[player, k, lane] ^ sequences[player, after, lane]
    return differ == 0


# ------------------------------------------------------------------------- pieces, as vectors


class _Cards(Tiles):
    """Code generator of these functions."""

    def hand(self, codes: Any, index: Any) -> tuple[Any, Any, Any]:
        """Generate the decoding of a hand: its class and its two cards."""
        builder = self.builder
        code = builder.zext(self.number(codes, index), INDEX)
        hand = builder.and_(code, ir.Constant(INDEX, (1 << HAND_BITS) - 1))
        first = builder.lshr(code, ir.Constant(INDEX, HAND_BITS))
        first = builder.and_(first, ir.Constant(INDEX, (1 << CARD_BITS) - 1))
        return hand, first, builder.lshr(code, ir.Constant(INDEX, HAND_BITS + CARD_BITS))

    def disjoint_sum(self, total: Any, sums: Any, card0: Any, card1: Any) -> Any:
        """Generate the sum of all hands minus the sums of two cards."""
        difference = self.subtract(total, self.load(self.row(sums, card0)))
        return self.subtract(difference, self.load(self.row(sums, card1)))

    @property
    def last(self) -> Any:
        """Row of the sum of all hands."""
        return self.builder.add(self.at.cards, ir.Constant(INDEX, 2))

    def add_hand(self, codes: Any, index: Any, total: Any, *, twice: bool) -> None:
        """Generate the addition of a hand to the sums of its cards and to the sum of all hands."""
        builder, args = self.builder, self.at
        hand, card0, card1 = self.hand(codes, index)
        lanes = self.load(self.row(args.opponent_tile, hand))
        if twice:
            lanes = self.add(lanes, lanes)
        builder.store(self.add(builder.load(total), lanes), total)
        for card in (card0, card1):
            address = self.row(args.sums, card)
            self.store(self.add(self.load(address), lanes), address)


@piece(_Cards, "x codes count lines layout")
def _sum_by_card(code: _Cards) -> None:
    """Generate the sums over listed hands: one per card, and at row ``last`` one of all hands."""
    builder, args = code.builder, code.at
    rows = builder.add(args.cards, ir.Constant(INDEX, 3))
    code.loop(rows, lambda row: code.store(code.zeros(), code.row(args.sums, row)))
    total = cgutils.alloca_once_value(builder, code.zeros())

    def add(index: Any) -> None:
        code.fetch(args.lines, index)
        code.add_hand(args.codes, index, total, twice=False)

    code.loop(args.count, add)
    code.store(builder.load(total), code.row(args.sums, code.last))


@piece(_Cards, "x codes count same amount lanes table is_pending lines layout")
def _pay_folds(code: _Cards) -> None:
    """Generate ``payoff_tile[h] = amount * (all - card - other card + the same hand)``.

    The sums come from ``table``.  If ``is_pending``, the result is added to ``payoff_tile`` in the
    first ``lanes`` lanes instead.
    """
    args, builder = code.at, code.builder
    total, amounts = code.load(code.row(args.table, code.last)), code.amount(0)

    def pay(combine: Callable[[Any, Any, Any], Any], amounts: Any) -> None:
        def step(index: Any) -> None:
            code.fetch(args.lines, index)
            hand, card0, card1 = code.hand(args.codes, index)
            rest = code.add(code.disjoint_sum(total, args.table, card0, card1), code.same(hand))
            address = code.row(args.payoff_tile, hand, of_floats=True)
            code.store(combine(code.floats(rest), amounts, address), address)

        code.loop(args.count, step)

    with builder.if_else(args.is_pending) as (added, stored):
        with added:
            numbers = ir.Constant(code.vector(INDEX), list(range(LANES)))
            inside = builder.icmp_signed("<", numbers, code.splat(args.lanes))
            zeros = code.constant(code.floats_of_tiles.element, 0.0)
            paid_lanes = builder.select(inside, amounts, zeros)
            pay(
                lambda rest, amounts, address: code.fma(rest, amounts, code.load(address)),
                paid_lanes,
            )
        with stored:
            pay(lambda rest, amounts, address: builder.fmul(rest, amounts), amounts)


@piece(_Cards, "x codes count same amount layout")
def _pay_ties(code: _Cards) -> None:
    """Generate ``payoff_tile[h] += tie * the same hand``."""
    # The showdown subtracted the hand with the same cards once too often; it always ties.
    args, amounts = code.at, code.amount(1)

    def add_tie(index: Any) -> None:
        hand, _, _ = code.hand(args.codes, index)
        address = code.row(args.payoff_tile, hand, of_floats=True)
        lanes = code.floats(code.same(hand))
        code.store(code.fma(lanes, amounts, code.load(address)), address)

    code.loop(args.count, add_tie)


@piece(
    _Cards,
    "x level_counts n_levels own_codes other_codes amount three_amounts lines own_lines layout",
)
def _showdown(code: _Cards) -> None:
    """Generate the showdown, strength by strength.

    If ``three_amounts``, win, tie and loss have amounts that are not opposite, and the total sums
    are needed too.
    """
    builder, args = code.builder, code.at
    zero = ir.Constant(INDEX, 0)

    def begin(row: Any) -> None:
        address = code.row(args.sums, row)
        hand_sum = code.load(address)
        code.store(hand_sum, code.row(args.saved_sums, row))
        code.store(code.subtract(code.zeros(), hand_sum), address)

    code.loop(builder.add(args.cards, ir.Constant(INDEX, 3)), begin)
    total = cgutils.alloca_once_value(builder, code.load(code.row(args.sums, code.last)))
    next_own = cgutils.alloca_once_value(builder, zero)
    next_other = cgutils.alloca_once_value(builder, zero)

    def process_strengths(pay: Callable[[Any, Any, Any, Any], Any]) -> None:
        """Process the strengths in ascending order; ``pay`` computes the payoffs of a hand."""

        def strength(index: Any) -> None:
            own_index = builder.mul(index, ir.Constant(INDEX, 2))
            other_index = builder.add(own_index, ir.Constant(INDEX, 1))
            n_own = builder.zext(code.number(args.level_counts, own_index), INDEX)
            n_others = builder.zext(code.number(args.level_counts, other_index), INDEX)
            own_begin, other_begin = builder.load(next_own), builder.load(next_other)

            def store_before(k: Any) -> None:
                code.fetch(args.own_lines, builder.add(own_begin, k))
                _, card0, card1 = code.hand(args.own_codes, builder.add(own_begin, k))
                opponent_sum = code.disjoint_sum(builder.load(total), args.sums, card0, card1)
                code.store(opponent_sum, code.row(args.sums_before, k))

            def add(k: Any) -> None:
                code.fetch(args.lines, builder.add(other_begin, k))
                code.add_hand(args.other_codes, builder.add(other_begin, k), total, twice=True)

            def store_payoff(k: Any) -> None:
                hand, card0, card1 = code.hand(args.own_codes, builder.add(own_begin, k))
                after = code.disjoint_sum(builder.load(total), args.sums, card0, card1)
                payoff = pay(code.load(code.row(args.sums_before, k)), after, card0, card1)
                code.store(payoff, code.row(args.payoff_tile, hand, of_floats=True))

            # Read the sums before and after the hands of this strength are added.
            code.loop(n_own, store_before)
            code.loop(n_others, add)
            code.loop(n_own, store_payoff)
            builder.store(builder.add(own_begin, n_own), next_own)
            builder.store(builder.add(other_begin, n_others), next_other)

        code.loop(args.n_levels, strength)

    with builder.if_else(args.three_amounts) as (with_every, with_both):
        with with_both:
            half_win = code.amount(0, 0.5)

            # value = win * (weaker - stronger), from 2 weaker - all and all - 2 stronger
            def with_opposite_amounts(before: Any, after: Any, card0: Any, card1: Any) -> Any:
                return builder.fmul(code.floats(code.add(before, after)), half_win)

            process_strengths(with_opposite_amounts)
        with with_every:
            win, tie, lose = (code.amount(row, 0.5) for row in range(3))

            # win * weaker + lose * stronger + tie * (all - weaker - stronger)
            def with_three_amounts(before: Any, after: Any, card0: Any, card1: Any) -> Any:
                of_all = code.load(code.row(args.saved_sums, code.last))
                of_all = code.disjoint_sum(of_all, args.saved_sums, card0, card1)
                payoff = builder.fmul(code.floats(code.add(of_all, before)), win)
                payoff = code.fma(code.floats(code.subtract(of_all, after)), lose, payoff)
                return code.fma(code.floats(code.subtract(after, before)), tie, payoff)

            process_strengths(with_three_amounts)
