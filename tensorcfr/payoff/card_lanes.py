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
    for own, other, matrix in part._matrices(share.player):
        share.g[own] += matrix @ share.reach[other].astype(np.float64)


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


class _LaneScratch(NamedTuple):
    """Layout of the scratch of a part, as addresses."""

    scale: np.int64
    """Address of each lane's factor of reaches, and of its inverse, in single precision."""
    sums: np.int64
    """Address of the sums of hands with each card, followed at distance of two rows by the sum of
    all hands."""
    every: np.int64
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
        _, player, number, _, reach, g, scratch, soon = share
        sizes, weights, sames = part.sizes, part.weight, part.same
        boards, walks, groups = part.board, part.hand_list, part.group
        sequences, amounts = part.sequence, part.amount
        lanes, cards, other = part.lanes, sizes[2], 1 - player
        begin = np.int64(scratch.ctypes.data)
        # The inverse of the scales is in float64: two rows of single precision.
        scale = begin + (-begin) % ALIGNMENT
        sums = scale + LANES * 16
        every = sums + (cards + 3) * bytes_per_row
        kept = every + (cards + 3) * bytes_per_row
        met = kept + sizes[player] * bytes_per_row
        given = met + (sizes[other] + 1) * bytes_per_row
        room = _LaneScratch(scale, sums, every, kept, met, given, cards)
        last_board, is_read, is_given = -1, False, False
        for k in range(groups.shape[0] if number == 0 else 0):
            count, board, kind = groups[k, 0], groups[k, 1], groups[k, 2]
            kind_of_board = boards[board, 2]
            own_first = lanes[kind_of_board, player]
            other_first = lanes[kind_of_board, other]
            own_hands = lanes[kind_of_board, player + 1] - own_first
            other_hands = lanes[kind_of_board, other + 1] - other_first
            same = sames[own_first:]
            at = boards[board, player]
            levels, own, others = np.int64(walks[at]), np.int64(walks[at + 1]), walks[at + 2]
            level = walks[at + 3 :]
            first = walks[at + 3 + 2 * levels :]
            second = walks[at + 3 + 2 * levels + own :]
            amount = amounts[player, k]
            if board != last_board:
                if own != own_hands:
                    # The board makes some own hands impossible: no loop writes their rows.
                    clear(given, own_hands * bytes_per_row)
                # Row of zeros for own hands without an opponent's hand of the same cards.
                clear(met + other_hands * bytes_per_row, bytes_per_row)
                last_board = board
            one, all_of_class = weights[0, other_first:], weights[1, other_first:]
            # The reaches are still in the tile if this group ends the same bet as the last one.
            if not is_read:
                from_rows = sequences[other, k]
                find_scale(reach, from_rows, other_hands, all_of_class, room)
                read_rows(reach, from_rows, other_hands, one, room)
                lines = _next_lines(soon, others, met)
                _add_up(reach, second, others, lines, room)
            if kind == FOLD:
                # A showdown consumes the sums, but leaves a copy for the folds after it.
                table = every if is_read else sums
                lines = _next_lines(soon, own, met)
                _fold(reach, first, own, same, amount, count, table, is_given, lines, room)
            else:
                apart = kind == TIES_PAY
                for lane in range(LANES):
                    apart |= amount[0, lane] != -amount[2, lane]
                lines, more = _next_lines(soon, others, met), _next_lines(soon, own, met)
                _show(reach, level, levels, first, second, amount, apart, lines, more, room)
                if kind == TIES_PAY:
                    _tie(reach, first, own, same, amount, room)
            # If the last group's payoffs are still in the tile, add both groups to its sequences.
            into = k - is_given
            is_read, is_given = _goes_on(groups, sequences, k, other), False
            if _goes_on(groups, sequences, k, player):
                is_given = True
                continue
            to_rows, to_lanes = sequences[player, into], groups[into, 0]
            add_rows(g, to_rows, to_lanes, own_hands, weights[1, own_first:], room)

    return add


@if_given
def _next_lines(soon: np.ndarray, count: int, instead: int) -> int:
    """Return the address of the next cache lines to prefetch, and mark them as fetched.

    Args:
        soon: int64 (ranges, 2): modified in place; see
            :class:`tensorcfr.payoff.product_share.BranchShare`.
        count: Number of cache lines.
        instead: Address to return if no range is left.
    """
    for row in range(soon.shape[0]):
        first = soon[row, 0]
        if first < soon[row, 1]:
            soon[row, 0] = first + count * ALIGNMENT
            return first
    return instead


@inlined
def _goes_on(groups: np.ndarray, sequences: np.ndarray, k: int, player: int) -> bool:
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

    def met(self, total: Any, sums: Any, card0: Any, card1: Any) -> Any:
        """Generate the sum of all hands minus the sums of two cards."""
        rest = self.subtract(total, self.load(self.row(sums, card0)))
        return self.subtract(rest, self.load(self.row(sums, card1)))

    @property
    def last(self) -> Any:
        """Row of the sum of all hands."""
        return self.builder.add(self.at.cards, ir.Constant(INDEX, 2))

    def add_hand(self, codes: Any, index: Any, total: Any, *, twice: bool) -> None:
        """Generate the addition of a hand to the sums of its cards and to the sum of all hands."""
        builder, at = self.builder, self.at
        hand, card0, card1 = self.hand(codes, index)
        lanes = self.load(self.row(at.opponent_tile, hand))
        if twice:
            lanes = self.add(lanes, lanes)
        builder.store(self.add(builder.load(total), lanes), total)
        for card in (card0, card1):
            place = self.row(at.sums, card)
            self.store(self.add(self.load(place), lanes), place)


@piece(_Cards, "x codes count lines room")
def _add_up(code: _Cards) -> None:
    """Generate the sums over listed hands: one per card, and at row ``last`` one of all hands."""
    builder, at = code.builder, code.at
    rows = builder.add(at.cards, ir.Constant(INDEX, 3))
    code.loop(rows, lambda row: code.store(code.zeros(), code.row(at.sums, row)))
    total = cgutils.alloca_once_value(builder, code.zeros())

    def add(index: Any) -> None:
        code.fetch(at.lines, index)
        code.add_hand(at.codes, index, total, twice=False)

    code.loop(at.count, add)
    code.store(builder.load(total), code.row(at.sums, code.last))


@piece(_Cards, "x codes count same amount lanes table is_given lines room")
def _fold(code: _Cards) -> None:
    """Generate ``given[h] = amount * (all - card - other card + the same hand)``.

    The sums come from ``table``.  If ``is_given``, the result is added to ``given`` in the first
    ``lanes`` lanes instead.
    """
    at, builder = code.at, code.builder
    total, paid = code.load(code.row(at.table, code.last)), code.amount(0)

    def pay(give: Callable[[Any, Any, Any], Any], paid: Any) -> None:
        def step(index: Any) -> None:
            code.fetch(at.lines, index)
            hand, card0, card1 = code.hand(at.codes, index)
            rest = code.add(code.met(total, at.table, card0, card1), code.same(hand))
            place = code.row(at.payoff_tile, hand, of_floats=True)
            code.store(give(code.floats(rest), paid, place), place)

        code.loop(at.count, step)

    with builder.if_else(at.is_given) as (onto, alone):
        with onto:
            numbers = ir.Constant(code.vector(INDEX), list(range(LANES)))
            inside = builder.icmp_signed("<", numbers, code.splat(at.lanes))
            nothing = code.constant(code.floats_of_tiles.element, 0.0)
            some = builder.select(inside, paid, nothing)
            pay(lambda rest, paid, place: code.fma(rest, paid, code.load(place)), some)
        with alone:
            pay(lambda rest, paid, place: builder.fmul(rest, paid), paid)


@piece(_Cards, "x codes count same amount room")
def _tie(code: _Cards) -> None:
    """Generate ``given[h] += tie * the same hand``."""
    # The showdown subtracted the hand with the same cards once too often; it always ties.
    at, paid = code.at, code.amount(1)

    def give(index: Any) -> None:
        hand, _, _ = code.hand(at.codes, index)
        place = code.row(at.payoff_tile, hand, of_floats=True)
        lanes = code.floats(code.same(hand))
        code.store(code.fma(lanes, paid, code.load(place)), place)

    code.loop(at.count, give)


@piece(_Cards, "x level levels own others amount apart lines more room")
def _show(code: _Cards) -> None:
    """Generate the showdown, strength by strength.

    If ``apart``, win, tie and loss have amounts that are not opposite, and the total sums are
    needed too.
    """
    builder, at = code.builder, code.at
    zero = ir.Constant(INDEX, 0)

    def begin(row: Any) -> None:
        place = code.row(at.sums, row)
        found = code.load(place)
        code.store(found, code.row(at.every, row))
        code.store(code.subtract(code.zeros(), found), place)

    code.loop(builder.add(at.cards, ir.Constant(INDEX, 3)), begin)
    total = cgutils.alloca_once_value(builder, code.load(code.row(at.sums, code.last)))
    next_own = cgutils.alloca_once_value(builder, zero)
    next_other = cgutils.alloca_once_value(builder, zero)

    def process(pay: Callable[[Any, Any, Any, Any], Any]) -> None:
        """Process the strengths in ascending order; ``pay`` computes the payoffs of a hand."""

        def strength(index: Any) -> None:
            pair = builder.mul(index, ir.Constant(INDEX, 2))
            one = builder.add(pair, ir.Constant(INDEX, 1))
            n_own = builder.zext(code.number(at.level, pair), INDEX)
            n_others = builder.zext(code.number(at.level, one), INDEX)
            own, other = builder.load(next_own), builder.load(next_other)

            def keep(k: Any) -> None:
                code.fetch(at.more, builder.add(own, k))
                _, card0, card1 = code.hand(at.own, builder.add(own, k))
                met = code.met(builder.load(total), at.sums, card0, card1)
                code.store(met, code.row(at.sums_before, k))

            def add(k: Any) -> None:
                code.fetch(at.lines, builder.add(other, k))
                code.add_hand(at.others, builder.add(other, k), total, twice=True)

            def give(k: Any) -> None:
                hand, card0, card1 = code.hand(at.own, builder.add(own, k))
                after = code.met(builder.load(total), at.sums, card0, card1)
                found = pay(code.load(code.row(at.sums_before, k)), after, card0, card1)
                code.store(found, code.row(at.payoff_tile, hand, of_floats=True))

            # Read the sums before and after the hands of this strength are added.
            code.loop(n_own, keep)
            code.loop(n_others, add)
            code.loop(n_own, give)
            builder.store(builder.add(own, n_own), next_own)
            builder.store(builder.add(other, n_others), next_other)

        code.loop(at.levels, strength)

    with builder.if_else(at.apart) as (with_every, with_both):
        with with_both:
            won = code.amount(0, 0.5)

            # value = win * (weaker - stronger), from 2 weaker - all and all - 2 stronger
            def half(before: Any, after: Any, card0: Any, card1: Any) -> Any:
                return builder.fmul(code.floats(code.add(before, after)), won)

            process(half)
        with with_every:
            win, tie, lose = (code.amount(row, 0.5) for row in range(3))

            # win * weaker + lose * stronger + tie * (all - weaker - stronger)
            def each(before: Any, after: Any, card0: Any, card1: Any) -> Any:
                of_all = code.load(code.row(at.every, code.last))
                of_all = code.met(of_all, at.every, card0, card1)
                found = builder.fmul(code.floats(code.add(of_all, before)), win)
                found = code.fma(code.floats(code.subtract(of_all, after)), lose, found)
                return code.fma(code.floats(code.subtract(after, before)), tie, found)

            process(each)
