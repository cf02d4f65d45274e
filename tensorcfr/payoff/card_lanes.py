"""The product with :class:`PayoffCards`, in a time that is proportional to the hands.

Terminals are the lanes of vectors.  The reaches of up to sixteen terminals are turned into a tile
``[hand][lane]`` (registers are transposed sixteen by sixteen).  The hands of the other player are
then added to one sum for each card and one for all, in the order of their strengths: what a hand
meets is the sum of all minus those of its own cards.  With ``B`` the sums before the hands of equal
strength are added and ``A`` those after, a hand gets ``(win - tie) * B + (tie - lose) * A + lose *
all``.  The last term is spared: the sums begin with ``lose / (win - lose)`` times what they end
with.  A hand of the other player with both cards of the own hand is taken off twice, which makes up
for its being in the sum of all but for ``tie`` times itself.

Sums are float64, whatever the floats of the reaches are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from .cards import CARD_BITS, FOLD, HAND_BITS, LANES, TIES_PAY, PayoffCards

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_MASK = ir.VectorType(ir.IntType(1), LANES)
_ALIGNMENT = 64


def add_cards(
    part: PayoffCards,
    hand_rank: np.ndarray,
    player: int,
    share: int,
    shares: int,
    reach: np.ndarray,
    g: np.ndarray,
    scratch: np.ndarray,
) -> None:
    """Add the groups, which are all in the first share; arguments as in
    :func:`tensorcfr.payoff.multiply.add_share`."""
    if share:
        return
    for own, other, matrix in part._matrices(player):
        g[own] += matrix @ reach[other].astype(np.float64)


def cards_scratch(part: PayoffCards) -> int:
    """Room for the sums, the tiles of both players, and the sums of the hands of one strength."""
    hands = max(part.sizes[0], part.sizes[1])
    return LANES * (part.sizes[2] + 3) + LANES * (3 * hands + 2) + _ALIGNMENT


@overload(cards_scratch)
def _cards_scratch(part):  # type: ignore[no-untyped-def]
    def size(part):  # type: ignore[no-untyped-def]
        hands = max(part.sizes[0], part.sizes[1])
        return LANES * (part.sizes[2] + 3) + LANES * (3 * hands + 2) + _ALIGNMENT

    return size


@overload(add_cards)
def _add_cards(part, hand_rank, player, share, shares, reach, g, scratch):  # type: ignore[no-untyped-def]
    bytes_per_row = LANES * (4 if reach.dtype == types.float32 else 8)

    def add(part, hand_rank, player, share, shares, reach, g, scratch):  # type: ignore[no-untyped-def]
        sizes, weights, sames = part.sizes, part.weight, part.same
        boards, walks, groups = part.board, part.walk, part.group
        sequences, amounts = part.sequence, part.amount
        lanes, cards, other = part.lanes, sizes[2], 1 - player
        begin = scratch.ctypes.data
        sums = begin + (-begin) % _ALIGNMENT
        kept = sums + (cards + 3) * LANES * 8
        met = kept + sizes[player] * LANES * 8
        given = met + (sizes[other] + 1) * bytes_per_row
        last_board = -1
        for k in range(groups.shape[0] if share == 0 else 0):
            count, board, kind = groups[k, 0], groups[k, 1], groups[k, 2]
            kind_of_board = boards[board, 2]
            own_first = lanes[kind_of_board, player]
            other_first = lanes[kind_of_board, other]
            own_hands = lanes[kind_of_board, player + 1] - own_first
            other_hands = lanes[kind_of_board, other + 1] - other_first
            same = sames[own_first:]
            if board != last_board:
                _clear(given, own_hands * bytes_per_row)  # type: ignore[call-arg]
                # The row of no hand.
                _clear(met + other_hands * bytes_per_row, bytes_per_row)
                last_board = board
            other_weight = weights[0, other_first:]
            _read_rows(reach, sequences[other, k], other_hands, other_weight, met)  # type: ignore[call-arg]
            at = boards[board, player]
            levels, own, others = np.int64(walks[at]), np.int64(walks[at + 1]), walks[at + 2]
            level = walks[at + 3 :]
            first = walks[at + 3 + 2 * levels :]
            second = walks[at + 3 + 2 * levels + own :]
            amount = amounts[player, k]
            _add_up(reach, second, np.int64(others), met, sums, cards)
            if kind == FOLD:
                _fold(reach, first, own, same, met, sums, cards, amount, given)
            else:
                _show(reach, level, levels, first, second, met, sums, cards, amount, kept, given)
                if kind == TIES_PAY:
                    _tie(reach, first, own, same, met, amount, given)
            _add_rows(g, sequences[player, k], count, own_hands, weights[1, own_first:], given)

    return add


# ------------------------------------------------------------------------- pieces, as vectors


class _Code:
    """What the pieces are written with.

    Args:
        context: Of numba.
        builder: Of llvmlite.
        signature: Of the piece; its first argument is the array whose floats the tiles have.
        arguments: Of the piece.
    """

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.context, self.builder = context, builder
        self.types, self.arguments = signature.args, arguments
        single = self.types[0].dtype == types.float32
        self.scalar = ir.FloatType() if single else ir.DoubleType()
        self.vector = _FLOATS if single else _DOUBLES
        self.size = 4 if single else 8

    def data(self, number: int) -> Any:
        """The address of an array."""
        array = self.context.make_array(self.types[number])
        return array(self.context, self.builder, self.arguments[number]).data

    def address(self, number: int, row: Any, vector: ir.VectorType, size: int) -> Any:
        """The address of a row of lanes, from the address of the first."""
        builder = self.builder
        offset = builder.mul(row, ir.Constant(_I64, LANES * size))
        return builder.inttoptr(builder.add(self.arguments[number], offset), vector.as_pointer())

    def sum_row(self, number: int, row: Any) -> Any:
        """The address of a row of sums."""
        return self.address(number, row, _DOUBLES, 8)

    def tile_row(self, number: int, row: Any) -> Any:
        """The address of a row of a tile."""
        return self.address(number, row, self.vector, self.size)

    def load(self, address: Any) -> Any:
        """A row, as doubles."""
        found = self.builder.load(address, align=_ALIGNMENT)
        return found if found.type == _DOUBLES else self.builder.fpext(found, _DOUBLES)

    def store(self, value: Any, address: Any) -> None:
        """Doubles to a row."""
        if address.type.pointee == _FLOATS:
            value = self.builder.fptrunc(value, _FLOATS)
        self.builder.store(value, address, align=_ALIGNMENT)

    def loop(self, count: Any, body: Callable[[Any], None]) -> None:
        """``for i in range(count)``."""
        with cgutils.for_range(self.builder, count, intp=_I64) as loop:
            body(loop.index)

    def hand(self, codes: Any, index: Any) -> tuple[Any, Any, Any]:
        """The hand of a walk, and its two cards."""
        builder = self.builder
        code = builder.zext(builder.load(builder.gep(codes, [index])), _I64)
        hand = builder.and_(code, ir.Constant(_I64, (1 << HAND_BITS) - 1))
        first = builder.lshr(code, ir.Constant(_I64, HAND_BITS))
        first = builder.and_(first, ir.Constant(_I64, (1 << CARD_BITS) - 1))
        return hand, first, builder.lshr(code, ir.Constant(_I64, HAND_BITS + CARD_BITS))

    def amount(self, number: int, row: int) -> Any:
        """A row of amounts: 0 for a win, 1 for a tie, 2 for a loss."""
        builder = self.builder
        place = builder.gep(self.data(number), [ir.Constant(_I64, row * LANES)])
        return builder.load(builder.bitcast(place, _DOUBLES.as_pointer()), align=8)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """``a * b + c``, fused where the machine can."""
        return self.builder.call(
            self.function(f"llvm.fmuladd.v{LANES}f64", _DOUBLES, [_DOUBLES] * 3), [a, b, c]
        )

    def function(self, name: str, result: Any, arguments: list[Any]) -> Any:
        """An LLVM function, declared once per module."""
        module = self.builder.module
        known = module.globals.get(name)
        return known or ir.Function(module, ir.FunctionType(result, arguments), name)

    def met(self, total: Any, sums: int, card0: Any, card1: Any) -> Any:
        """The sum of all without those of two cards."""
        builder = self.builder
        rest = builder.fsub(total, self.load(self.sum_row(sums, card0)))
        return builder.fsub(rest, self.load(self.sum_row(sums, card1)))

    def splat(self, scalar: Any) -> Any:
        """A vector of one value."""
        vector = ir.VectorType(scalar.type, LANES)
        none = ir.Constant(vector, ir.Undefined)
        first = self.builder.insert_element(none, scalar, ir.Constant(_I32, 0))
        zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
        return self.builder.shuffle_vector(first, none, zeros)

    def transposed(self, rows: list[Any]) -> list[Any]:
        """Sixteen vectors with rows and lanes exchanged: halves, quarters, ... change places."""
        distance = LANES // 2
        while distance:
            low, high = [], []
            for lane in range(LANES):
                second = bool(lane & distance)
                low.append(lane - distance + LANES if second else lane)
                high.append(lane + LANES if second else lane + distance)
            kind = ir.VectorType(_I32, LANES)
            for row in range(LANES):
                if row & distance:
                    continue
                a, b = rows[row], rows[row + distance]
                rows[row] = self.builder.shuffle_vector(a, b, ir.Constant(kind, low))
                rows[row + distance] = self.builder.shuffle_vector(a, b, ir.Constant(kind, high))
            distance //= 2
        return rows

    def blocks(self, hands: Any, body: Callable[[Any, Any | None, Any], None]) -> None:
        """Blocks of sixteen hands: yields the first hand, a mask for the last block, and how many
        hands there are in it."""
        builder = self.builder
        several = ir.Constant(_I64, LANES)
        whole = builder.sub(hands, builder.urem(hands, several))
        with cgutils.for_range_slice(builder, ir.Constant(_I64, 0), whole, several, _I64) as (
            first,
            _,
        ):
            body(first, None, several)
        with cgutils.for_range_slice(builder, whole, hands, several, _I64) as (first, _):
            left = builder.sub(hands, first)
            numbers = ir.Constant(ir.VectorType(_I64, LANES), list(range(LANES)))
            body(first, builder.icmp_signed("<", numbers, self.splat(left)), left)

    def load_row(self, address: Any, mask: Any | None) -> Any:
        """Numbers that lie anywhere; 0 outside the mask."""
        place = self.builder.bitcast(address, self.vector.as_pointer())
        if mask is None:
            return self.builder.load(place, align=self.size)
        name = f"llvm.masked.load.v{LANES}f{8 * self.size}.p0"
        load = self.function(
            name, self.vector, [self.vector.as_pointer(), _I32, _MASK, self.vector]
        )
        zeros = ir.Constant(self.vector, [0.0] * LANES)
        return self.builder.call(load, [place, ir.Constant(_I32, self.size), mask, zeros])

    def store_row(self, value: Any, address: Any, mask: Any | None) -> None:
        """Numbers to anywhere."""
        place = self.builder.bitcast(address, self.vector.as_pointer())
        if mask is None:
            self.builder.store(value, place, align=self.size)
            return
        name = f"llvm.masked.store.v{LANES}f{8 * self.size}.p0"
        store = self.function(
            name, ir.VoidType(), [self.vector, self.vector.as_pointer(), _I32, _MASK]
        )
        self.builder.call(store, [value, place, ir.Constant(_I32, self.size), mask])

    def weight(self, number: int, hand: Any) -> Any:
        """The weight of a hand, as a vector in the floats of the tiles."""
        found = self.builder.load(self.builder.gep(self.data(number), [hand]))
        if self.size == 4:
            found = self.builder.fptrunc(found, self.scalar)
        return self.splat(found)


def _piece(
    write: Callable[[_Code], None], context: Any, builder: Any, signature: Any, args: Any
) -> Any:
    write(_Code(context, builder, signature, args))
    return context.get_dummy_value()


_PLACE = types.intp


@intrinsic
def _clear(typingctx: Any, address: Any, count: Any) -> Any:
    """Set bytes to 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        cgutils.memset(builder, place, arguments[1], 0)
        return context.get_dummy_value()

    return types.void(_PLACE, _PLACE), generate


@intrinsic
def _read_rows(typingctx: Any, x: Any, rows: Any, hands: Any, weight: Any, tile: Any) -> Any:
    """``tile[h][l] = weight[h] * x[rows[l] + h]``."""

    def write(code: _Code) -> None:
        builder = code.builder
        first = [
            builder.load(builder.gep(code.data(1), [ir.Constant(_I64, lane)]))
            for lane in range(LANES)
        ]
        starts = [builder.gep(code.data(0), [one]) for one in first]

        def block(hand: Any, mask: Any | None, left: Any) -> None:
            found = code.transposed(
                [code.load_row(builder.gep(start, [hand]), mask) for start in starts]
            )
            for k, lanes in enumerate(found):
                here = builder.add(hand, ir.Constant(_I64, k))

                def put(here: Any = here, lanes: Any = lanes) -> None:
                    scaled = builder.fmul(lanes, code.weight(3, here))
                    builder.store(scaled, code.tile_row(4, here), align=_ALIGNMENT)

                if mask is None:
                    put()
                else:
                    with builder.if_then(builder.icmp_signed("<", ir.Constant(_I64, k), left)):
                        put()

        code.blocks(code.arguments[2], block)

    return types.void(x, rows, _PLACE, weight, _PLACE), lambda *given: _piece(write, *given)


@intrinsic
def _add_rows(
    typingctx: Any, g: Any, rows: Any, count: Any, hands: Any, weight: Any, tile: Any
) -> Any:
    """``g[rows[l] + h] += weight[h] * tile[h][l]`` for ``count`` lanes."""

    def write(code: _Code) -> None:
        builder = code.builder
        rows, count = code.data(1), code.arguments[2]

        def block(hand: Any, mask: Any | None, left: Any) -> None:
            lanes = []
            for k in range(LANES):
                here = builder.add(hand, ir.Constant(_I64, k))
                if mask is not None:
                    # Beyond the last hand, the last one again: it is not stored.
                    last = builder.sub(builder.add(hand, left), ir.Constant(_I64, 1))
                    beyond = builder.icmp_signed(">", here, last)
                    here = builder.select(beyond, last, here)
                row = builder.load(code.tile_row(5, here), align=_ALIGNMENT)
                lanes.append(builder.fmul(row, code.weight(4, here)))
            for lane, added in enumerate(code.transposed(lanes)):
                with builder.if_then(builder.icmp_signed("<", ir.Constant(_I64, lane), count)):
                    first = builder.load(builder.gep(rows, [ir.Constant(_I64, lane)]))
                    place = builder.gep(code.data(0), [builder.add(first, hand)])
                    before = code.load_row(place, mask)
                    code.store_row(builder.fadd(before, added), place, mask)

        code.blocks(code.arguments[3], block)

    return types.void(g, rows, _PLACE, _PLACE, weight, _PLACE), lambda *given: _piece(write, *given)


@intrinsic
def _add_up(
    typingctx: Any, x: Any, codes: Any, count: Any, tile: Any, sums: Any, cards: Any
) -> Any:
    """The sums over the listed hands: of each card, and after them and two rows more, of all."""

    def write(code: _Code) -> None:
        builder, count, cards = code.builder, code.arguments[2], code.arguments[5]
        zeros = ir.Constant(_DOUBLES, [0.0] * LANES)
        rows = builder.add(cards, ir.Constant(_I64, 3))
        code.loop(rows, lambda row: code.store(zeros, code.sum_row(4, row)))
        total = cgutils.alloca_once_value(builder, zeros)

        def add(index: Any) -> None:
            hand, card0, card1 = code.hand(code.data(1), index)
            lanes = code.load(code.tile_row(3, hand))
            builder.store(builder.fadd(builder.load(total), lanes), total)
            for card in (card0, card1):
                place = code.sum_row(4, card)
                code.store(builder.fadd(code.load(place), lanes), place)

        code.loop(count, add)
        last = builder.add(cards, ir.Constant(_I64, 2))
        code.store(builder.load(total), code.sum_row(4, last))

    return types.void(x, codes, _PLACE, _PLACE, _PLACE, _PLACE), lambda *given: _piece(
        write, *given
    )


@intrinsic
def _fold(
    typingctx: Any,
    x: Any,
    codes: Any,
    count: Any,
    same: Any,
    met: Any,
    sums: Any,
    cards: Any,
    amount: Any,
    tile: Any,
) -> Any:
    """``tile[h] = amount * (all - card - other card + the same hand)``."""

    def write(code: _Code) -> None:
        builder = code.builder
        last = builder.add(code.arguments[6], ir.Constant(_I64, 2))
        total, paid = code.load(code.sum_row(5, last)), code.amount(7, 0)

        def give(index: Any) -> None:
            hand, card0, card1 = code.hand(code.data(1), index)
            rest = code.met(total, 5, card0, card1)
            twin = builder.zext(builder.load(builder.gep(code.data(3), [hand])), _I64)
            rest = builder.fadd(rest, code.load(code.tile_row(4, twin)))
            code.store(builder.fmul(rest, paid), code.tile_row(8, hand))

        code.loop(code.arguments[2], give)

    return types.void(
        x, codes, _PLACE, same, _PLACE, _PLACE, _PLACE, amount, _PLACE
    ), lambda *given: _piece(write, *given)


@intrinsic
def _tie(
    typingctx: Any, x: Any, codes: Any, count: Any, same: Any, met: Any, amount: Any, tile: Any
) -> Any:
    """``tile[h] += tie * the same hand``."""

    def write(code: _Code) -> None:
        builder = code.builder
        paid = code.amount(5, 1)

        def give(index: Any) -> None:
            hand, _, _ = code.hand(code.data(1), index)
            twin = builder.zext(builder.load(builder.gep(code.data(3), [hand])), _I64)
            place = code.tile_row(6, hand)
            lanes = code.load(code.tile_row(4, twin))
            code.store(code.fma(lanes, paid, code.load(place)), place)

        code.loop(code.arguments[2], give)

    return types.void(x, codes, _PLACE, same, _PLACE, amount, _PLACE), lambda *given: _piece(
        write, *given
    )


@intrinsic
def _show(
    typingctx: Any,
    x: Any,
    level: Any,
    levels: Any,
    own: Any,
    others: Any,
    met: Any,
    sums: Any,
    cards: Any,
    amount: Any,
    kept: Any,
    tile: Any,
) -> Any:
    """The showdown, strength by strength."""

    def write(code: _Code) -> None:
        builder, arguments = code.builder, code.arguments
        win, tie, lose = (code.amount(8, row) for row in range(3))
        before, after = builder.fsub(win, tie), builder.fsub(tie, lose)
        both = builder.fsub(win, lose)
        start = builder.fdiv(lose, both)

        def begin(row: Any) -> None:
            place = code.sum_row(6, row)
            code.store(builder.fmul(code.load(place), start), place)

        code.loop(builder.add(arguments[7], ir.Constant(_I64, 3)), begin)
        last = builder.add(arguments[7], ir.Constant(_I64, 2))
        total = cgutils.alloca_once_value(builder, code.load(code.sum_row(6, last)))
        zero = ir.Constant(_I64, 0)
        next_own = cgutils.alloca_once_value(builder, zero)
        next_other = cgutils.alloca_once_value(builder, zero)

        def strength(index: Any) -> None:
            pair = builder.mul(index, ir.Constant(_I64, 2))
            one = builder.add(pair, ir.Constant(_I64, 1))
            n_own = builder.zext(builder.load(builder.gep(code.data(1), [pair])), _I64)
            n_others = builder.zext(builder.load(builder.gep(code.data(1), [one])), _I64)
            own, other = builder.load(next_own), builder.load(next_other)

            def keep(k: Any) -> None:
                _, card0, card1 = code.hand(code.data(3), builder.add(own, k))
                rest = code.met(builder.load(total), 6, card0, card1)
                code.store(builder.fmul(rest, before), code.sum_row(9, k))

            def add(k: Any) -> None:
                hand, card0, card1 = code.hand(code.data(4), builder.add(other, k))
                lanes = code.load(code.tile_row(5, hand))
                builder.store(builder.fadd(builder.load(total), lanes), total)
                for card in (card0, card1):
                    place = code.sum_row(6, card)
                    code.store(builder.fadd(code.load(place), lanes), place)

            def give(k: Any) -> None:
                hand, card0, card1 = code.hand(code.data(3), builder.add(own, k))
                rest = code.met(builder.load(total), 6, card0, card1)
                paid = code.fma(rest, after, code.load(code.sum_row(9, k)))
                code.store(paid, code.tile_row(10, hand))

            def give_once(k: Any) -> None:
                hand, card0, card1 = code.hand(code.data(3), builder.add(own, k))
                rest = code.met(builder.load(total), 6, card0, card1)
                code.store(builder.fmul(rest, both), code.tile_row(10, hand))

            with builder.if_else(builder.icmp_signed("==", n_others, zero)) as (alone, several):
                with alone:
                    code.loop(n_own, give_once)
                with several:
                    code.loop(n_own, keep)
                    code.loop(n_others, add)
                    code.loop(n_own, give)
            builder.store(builder.add(own, n_own), next_own)
            builder.store(builder.add(other, n_others), next_other)

        code.loop(arguments[2], strength)

    return types.void(
        x, level, _PLACE, own, others, _PLACE, _PLACE, _PLACE, amount, _PLACE, _PLACE
    ), lambda *given: _piece(write, *given)
