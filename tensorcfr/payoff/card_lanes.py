"""The product with :class:`PayoffCards`, in a time that is proportional to the hands.

Terminals are the lanes of vectors.  The reaches of up to sixteen terminals are turned into a tile
``[hand][lane]`` (registers are transposed sixteen by sixteen).  The hands of the other player are
then added to one sum for each card and one for all: what a hand meets is the sum of all minus those
of its own cards.  A hand of the other player with both cards of the own hand is taken off twice,
which makes up for its being in the sum of all but for itself once.

A showdown begins with minus these sums, and adds the hands twice over in the order of their
strengths.  Before the hands of equal strength are added, a hand finds ``2 weaker - all`` there, and
after them ``all - 2 stronger``.  Where the winner gets what the loser pays, half of the sum of both
is what counts.

In double precision the sums are float64.  In single precision they are whole numbers of 32 bits,
which take half the time: the reaches of a terminal are rounded to ``2^-30`` of their sum, and no
sum or difference of them is rounded any more.
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
_INTEGERS = ir.VectorType(_I32, LANES)
_MASK = ir.VectorType(ir.IntType(1), LANES)
_ALIGNMENT = 64
_LARGEST = 2.0**30 - 2.0**18
"""What the reaches of a terminal sum to as whole numbers, but for their rounding: twice as much
would still be a number of 32 bits."""
_LEAST = 2.0**-96
"""Reaches that sum to less count as 0: their scale would be infinite."""


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
    """Room for two copies of the sums, the scales, the tiles of both players, and the sums of the
    hands of one strength; none where there are no terminals."""
    if not len(part.group):
        return 0
    hands = max(part.sizes[0], part.sizes[1])
    return LANES * (2 * (part.sizes[2] + 3) + 2 + 3 * hands + 1) + _ALIGNMENT


@overload(cards_scratch)
def _cards_scratch(part):  # type: ignore[no-untyped-def]
    def size(part):  # type: ignore[no-untyped-def]
        if part.group.shape[0] == 0:
            return 0
        hands = max(part.sizes[0], part.sizes[1])
        return LANES * (2 * (part.sizes[2] + 3) + 2 + 3 * hands + 1) + _ALIGNMENT

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
        # The inverse of the scales is of doubles, two rows of single precision.
        scale = begin + (-begin) % _ALIGNMENT
        sums = scale + LANES * 16
        every = sums + (cards + 3) * bytes_per_row
        kept = every + (cards + 3) * bytes_per_row
        met = kept + sizes[player] * bytes_per_row
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
            at = boards[board, player]
            levels, own, others = np.int64(walks[at]), np.int64(walks[at + 1]), walks[at + 2]
            level = walks[at + 3 :]
            first = walks[at + 3 + 2 * levels :]
            second = walks[at + 3 + 2 * levels + own :]
            amount = amounts[player, k]
            if board != last_board:
                if own != own_hands:
                    # Own hands that the board makes impossible.
                    _clear(given, own_hands * bytes_per_row)  # type: ignore[call-arg]
                # The row of no hand.
                _clear(met + other_hands * bytes_per_row, bytes_per_row)  # type: ignore[call-arg]
                last_board = board
            one, all_of_class = weights[0, other_first:], weights[1, other_first:]
            from_rows = sequences[other, k]
            _find_scale(reach, from_rows, other_hands, all_of_class, scale)  # type: ignore[call-arg]
            _read_rows(reach, from_rows, other_hands, one, scale, met)
            _add_up(reach, second, np.int64(others), met, sums, cards)
            if kind == FOLD:
                _fold(reach, first, own, same, met, sums, cards, amount, scale, given)
            else:
                apart = kind == TIES_PAY
                for lane in range(LANES):
                    apart |= amount[0, lane] != -amount[2, lane]
                _show(
                    reach,
                    level,
                    levels,
                    first,
                    second,
                    met,
                    sums,
                    every,
                    cards,
                    amount,
                    scale,
                    np.int64(apart),
                    kept,
                    given,
                )
                if kind == TIES_PAY:
                    _tie(reach, first, own, same, met, amount, scale, given)
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
        self.single = single
        self.vector = _FLOATS if single else _DOUBLES
        self.sum = _INTEGERS if single else _DOUBLES
        self.size = 4 if single else 8

    def data(self, number: int) -> Any:
        """The address of an array."""
        array = self.context.make_array(self.types[number])
        return array(self.context, self.builder, self.arguments[number]).data

    def row(self, number: int, row: Any, *, of_floats: bool = False) -> Any:
        """The address of a row of a tile or of sums, from the address of the first."""
        builder = self.builder
        offset = builder.mul(row, ir.Constant(_I64, LANES * self.size))
        place = builder.add(self.arguments[number], offset)
        kind = self.vector if of_floats else self.sum
        return builder.inttoptr(place, kind.as_pointer())

    def load(self, address: Any) -> Any:
        """A row."""
        return self.builder.load(address, align=_ALIGNMENT)

    def store(self, value: Any, address: Any) -> None:
        """Set a row."""
        self.builder.store(value, address, align=_ALIGNMENT)

    def add(self, a: Any, b: Any) -> Any:
        """The sum of two rows of sums."""
        return self.builder.add(a, b) if self.single else self.builder.fadd(a, b)

    def subtract(self, a: Any, b: Any) -> Any:
        """Their difference."""
        return self.builder.sub(a, b) if self.single else self.builder.fsub(a, b)

    def floats(self, sums: Any) -> Any:
        """A row of sums in the floats of the tiles; :meth:`amount` has their scale."""
        return self.builder.sitofp(sums, _FLOATS) if self.single else sums

    def zeros(self) -> Any:
        """Sums of nothing."""
        return ir.Constant(self.sum, [0 if self.single else 0.0] * LANES)

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

    def amount(self, number: int, row: int, scale: int, factor: float = 1.0) -> Any:
        """A row of amounts (0 for a win, 1 for a tie, 2 for a loss) times a factor, for sums."""
        builder = self.builder
        place = builder.gep(self.data(number), [ir.Constant(_I64, row * LANES)])
        found = builder.load(builder.bitcast(place, _DOUBLES.as_pointer()), align=8)
        found = builder.fmul(found, ir.Constant(_DOUBLES, [factor] * LANES))
        if not self.single:
            return found
        inverse = builder.inttoptr(
            builder.add(self.arguments[scale], ir.Constant(_I64, 8 * LANES)), _DOUBLES.as_pointer()
        )
        return builder.fptrunc(builder.fmul(found, self.load(inverse)), _FLOATS)

    @property
    def suffix(self) -> str:
        """The end of the names of LLVM's functions of vectors."""
        return f"v{LANES}f{8 * self.size}"

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """``a * b + c``, fused where the machine can."""
        return self.builder.call(
            self.function(f"llvm.fmuladd.{self.suffix}", self.vector, [self.vector] * 3), [a, b, c]
        )

    def function(self, name: str, result: Any, arguments: list[Any]) -> Any:
        """An LLVM function, declared once per module."""
        module = self.builder.module
        known = module.globals.get(name)
        return known or ir.Function(module, ir.FunctionType(result, arguments), name)

    def met(self, total: Any, sums: int, card0: Any, card1: Any) -> Any:
        """The sum of all without those of two cards."""
        rest = self.subtract(total, self.load(self.row(sums, card0)))
        return self.subtract(rest, self.load(self.row(sums, card1)))

    def last(self, cards: int) -> Any:
        """The row of the sum of all."""
        return self.builder.add(self.arguments[cards], ir.Constant(_I64, 2))

    def same(self, number: int, hand: Any, tile: int) -> Any:
        """The row of the hand of the other player with the same cards."""
        builder = self.builder
        twin = builder.zext(builder.load(builder.gep(self.data(number), [hand])), _I64)
        return self.load(self.row(tile, twin))

    def add_hand(
        self, codes: int, index: Any, tile: int, sums: int, total: Any, *, twice: bool
    ) -> None:
        """Add a hand of a walk to the sums of its cards and to that of all."""
        builder = self.builder
        hand, card0, card1 = self.hand(self.data(codes), index)
        lanes = self.load(self.row(tile, hand))
        if twice:
            lanes = self.add(lanes, lanes)
        builder.store(self.add(builder.load(total), lanes), total)
        for card in (card0, card1):
            place = self.row(sums, card)
            self.store(self.add(self.load(place), lanes), place)

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
        builder = self.builder
        single = address.type.pointee == ir.FloatType()
        vector, size = (_FLOATS, 4) if single else (_DOUBLES, 8)
        place = builder.bitcast(address, vector.as_pointer())
        if mask is None:
            return builder.load(place, align=size)
        name = f"llvm.masked.load.v{LANES}f{8 * size}.p0"
        load = self.function(name, vector, [vector.as_pointer(), _I32, _MASK, vector])
        zeros = ir.Constant(vector, [0.0] * LANES)
        return builder.call(load, [place, ir.Constant(_I32, size), mask, zeros])

    def store_row(self, value: Any, address: Any, mask: Any | None) -> None:
        """Numbers to anywhere."""
        place = self.builder.bitcast(address, self.vector.as_pointer())
        if mask is None:
            self.builder.store(value, place, align=self.size)
            return
        name = f"llvm.masked.store.{self.suffix}.p0"
        store = self.function(
            name, ir.VoidType(), [self.vector, self.vector.as_pointer(), _I32, _MASK]
        )
        self.builder.call(store, [value, place, ir.Constant(_I32, self.size), mask])

    def weights(self, number: int, hand: Any, mask: Any | None) -> Any:
        """The weights of sixteen hands, in the floats of the tiles."""
        found = self.load_row(self.builder.gep(self.data(number), [hand]), mask)
        return self.builder.fptrunc(found, _FLOATS) if self.single else found

    def starts(self, array: int, rows: int) -> list[Any]:
        """Where the numbers of each lane begin in an array."""
        builder, rows = self.builder, self.data(rows)
        first = [builder.load(builder.gep(rows, [ir.Constant(_I64, k)])) for k in range(LANES)]
        return [builder.gep(self.data(array), [one]) for one in first]


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
def _find_scale(typingctx: Any, x: Any, rows: Any, hands: Any, weight: Any, scale: Any) -> Any:
    """In single precision, by what the reaches of each lane are multiplied to make whole numbers of
    them, and the inverse of it, as doubles; ``weight`` is that of all hands of a class."""

    def write(code: _Code) -> None:
        if not code.single:
            return
        builder = code.builder
        starts = code.starts(0, 1)
        nothing = ir.Constant(_FLOATS, [0.0] * LANES)
        totals = [cgutils.alloca_once_value(builder, nothing) for _ in range(LANES)]
        size_of = code.function(f"llvm.fabs.{code.suffix}", _FLOATS, [_FLOATS])

        def block(hand: Any, mask: Any | None, left: Any) -> None:
            weights = code.weights(3, hand, mask)
            for start, total in zip(starts, totals, strict=True):
                found = code.load_row(builder.gep(start, [hand]), mask)
                found = builder.call(size_of, [found])
                builder.store(code.fma(found, weights, builder.load(total)), total)

        code.blocks(code.arguments[2], block)
        columns = code.transposed([builder.load(total) for total in totals])
        while len(columns) > 1:
            pairs = zip(columns[::2], columns[1::2], strict=True)
            columns = [builder.fadd(one, other) for one, other in pairs]
        some = builder.fcmp_ordered(">=", columns[0], ir.Constant(_FLOATS, [_LEAST] * LANES))
        factor = builder.fdiv(ir.Constant(_FLOATS, [_LARGEST] * LANES), columns[0])
        factor = builder.select(some, factor, nothing)
        inverse = builder.fdiv(
            ir.Constant(_DOUBLES, [1.0] * LANES), builder.fpext(factor, _DOUBLES)
        )
        inverse = builder.select(some, inverse, ir.Constant(_DOUBLES, [0.0] * LANES))
        place = code.arguments[4]
        code.store(factor, builder.inttoptr(place, _FLOATS.as_pointer()))
        place = builder.add(place, ir.Constant(_I64, 8 * LANES))
        code.store(inverse, builder.inttoptr(place, _DOUBLES.as_pointer()))

    return types.void(x, rows, _PLACE, weight, _PLACE), lambda *given: _piece(write, *given)


@intrinsic
def _read_rows(
    typingctx: Any, x: Any, rows: Any, hands: Any, weight: Any, scale: Any, tile: Any
) -> Any:
    """``tile[h][l] = weight[h] * x[rows[l] + h]``, in single precision times the scale of the lane
    and rounded."""

    def write(code: _Code) -> None:
        builder = code.builder
        starts, scales = code.starts(0, 1), []
        if code.single:
            first = builder.inttoptr(code.arguments[4], ir.FloatType().as_pointer())
            for lane in range(LANES):
                scale = builder.load(builder.gep(first, [ir.Constant(_I64, lane)]))
                scales.append(code.splat(scale))
            name = f"llvm.lrint.v{LANES}i32.{code.suffix}"
            rounded = code.function(name, _INTEGERS, [_FLOATS])

        def block(hand: Any, mask: Any | None, left: Any) -> None:
            weights = code.weights(3, hand, mask)
            found = []
            for lane, start in enumerate(starts):
                row = builder.fmul(code.load_row(builder.gep(start, [hand]), mask), weights)
                if code.single:
                    row = builder.call(rounded, [builder.fmul(row, scales[lane])])
                found.append(row)
            for k, lanes in enumerate(code.transposed(found)):
                here = builder.add(hand, ir.Constant(_I64, k))
                if mask is None:
                    code.store(lanes, code.row(5, here))
                else:
                    with builder.if_then(builder.icmp_signed("<", ir.Constant(_I64, k), left)):
                        code.store(lanes, code.row(5, here))

        code.blocks(code.arguments[2], block)

    return types.void(x, rows, _PLACE, weight, _PLACE, _PLACE), lambda *given: _piece(write, *given)


@intrinsic
def _add_rows(
    typingctx: Any, g: Any, rows: Any, count: Any, hands: Any, weight: Any, tile: Any
) -> Any:
    """``g[rows[l] + h] += weight[h] * tile[h][l]`` for ``count`` lanes."""

    def write(code: _Code) -> None:
        builder = code.builder
        rows, count = code.data(1), code.arguments[2]

        def block(hand: Any, mask: Any | None, left: Any) -> None:
            weights, lanes = code.weights(4, hand, mask), []
            for k in range(LANES):
                here = builder.add(hand, ir.Constant(_I64, k))
                if mask is not None:
                    # Beyond the last hand, the last one again: it is not stored.
                    last = builder.sub(builder.add(hand, left), ir.Constant(_I64, 1))
                    beyond = builder.icmp_signed(">", here, last)
                    here = builder.select(beyond, last, here)
                lanes.append(code.load(code.row(5, here, of_floats=True)))
            for lane, added in enumerate(code.transposed(lanes)):
                with builder.if_then(builder.icmp_signed("<", ir.Constant(_I64, lane), count)):
                    first = builder.load(builder.gep(rows, [ir.Constant(_I64, lane)]))
                    place = builder.gep(code.data(0), [builder.add(first, hand)])
                    before = code.load_row(place, mask)
                    code.store_row(code.fma(added, weights, before), place, mask)

        code.blocks(code.arguments[3], block)

    return types.void(g, rows, _PLACE, _PLACE, weight, _PLACE), lambda *given: _piece(write, *given)


@intrinsic
def _add_up(
    typingctx: Any, x: Any, codes: Any, count: Any, tile: Any, sums: Any, cards: Any
) -> Any:
    """The sums over the listed hands: of each card, and after them and two rows more, of all."""

    def write(code: _Code) -> None:
        builder, cards = code.builder, code.arguments[5]
        rows = builder.add(cards, ir.Constant(_I64, 3))
        code.loop(rows, lambda row: code.store(code.zeros(), code.row(4, row)))
        total = cgutils.alloca_once_value(builder, code.zeros())
        code.loop(
            code.arguments[2], lambda index: code.add_hand(1, index, 3, 4, total, twice=False)
        )
        code.store(builder.load(total), code.row(4, code.last(5)))

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
    scale: Any,
    tile: Any,
) -> Any:
    """``tile[h] = amount * (all - card - other card + the same hand)``."""

    def write(code: _Code) -> None:
        total, paid = code.load(code.row(5, code.last(6))), code.amount(7, 0, 8)

        def give(index: Any) -> None:
            hand, card0, card1 = code.hand(code.data(1), index)
            rest = code.add(code.met(total, 5, card0, card1), code.same(3, hand, 4))
            found = code.builder.fmul(code.floats(rest), paid)
            code.store(found, code.row(9, hand, of_floats=True))

        code.loop(code.arguments[2], give)

    return types.void(
        x, codes, _PLACE, same, _PLACE, _PLACE, _PLACE, amount, _PLACE, _PLACE
    ), lambda *given: _piece(write, *given)


@intrinsic
def _tie(
    typingctx: Any,
    x: Any,
    codes: Any,
    count: Any,
    same: Any,
    met: Any,
    amount: Any,
    scale: Any,
    tile: Any,
) -> Any:
    """``tile[h] += tie * the same hand``."""

    def write(code: _Code) -> None:
        paid = code.amount(5, 1, 6)

        def give(index: Any) -> None:
            hand, _, _ = code.hand(code.data(1), index)
            place = code.row(7, hand, of_floats=True)
            lanes = code.floats(code.same(3, hand, 4))
            code.store(code.fma(lanes, paid, code.load(place)), place)

        code.loop(code.arguments[2], give)

    return types.void(
        x, codes, _PLACE, same, _PLACE, amount, _PLACE, _PLACE
    ), lambda *given: _piece(write, *given)


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
    every: Any,
    cards: Any,
    amount: Any,
    scale: Any,
    apart: Any,
    kept: Any,
    tile: Any,
) -> Any:
    """The showdown, strength by strength; where a win, a tie and a loss are ``apart``, with the
    sums of every hand, too."""

    def write(code: _Code) -> None:
        builder, arguments = code.builder, code.arguments
        zero = ir.Constant(_I64, 0)
        are_apart = builder.icmp_signed("!=", arguments[11], zero)

        def begin(row: Any) -> None:
            place = code.row(6, row)
            found = code.load(place)
            code.store(found, code.row(7, row))
            code.store(code.subtract(code.zeros(), found), place)

        code.loop(builder.add(arguments[8], ir.Constant(_I64, 3)), begin)
        total = cgutils.alloca_once_value(builder, code.load(code.row(6, code.last(8))))
        next_own = cgutils.alloca_once_value(builder, zero)
        next_other = cgutils.alloca_once_value(builder, zero)

        def walk(pay: Callable[[Any, Any, Any, Any], Any]) -> None:
            """Go through the strengths; ``pay`` makes the values of a hand."""

            def strength(index: Any) -> None:
                pair = builder.mul(index, ir.Constant(_I64, 2))
                one = builder.add(pair, ir.Constant(_I64, 1))
                n_own = builder.zext(builder.load(builder.gep(code.data(1), [pair])), _I64)
                n_others = builder.zext(builder.load(builder.gep(code.data(1), [one])), _I64)
                own, other = builder.load(next_own), builder.load(next_other)

                def keep(k: Any) -> None:
                    _, card0, card1 = code.hand(code.data(3), builder.add(own, k))
                    code.store(code.met(builder.load(total), 6, card0, card1), code.row(12, k))

                def add(k: Any) -> None:
                    code.add_hand(4, builder.add(other, k), 5, 6, total, twice=True)

                def give(k: Any) -> None:
                    hand, card0, card1 = code.hand(code.data(3), builder.add(own, k))
                    after = code.met(builder.load(total), 6, card0, card1)
                    found = pay(code.load(code.row(12, k)), after, card0, card1)
                    code.store(found, code.row(13, hand, of_floats=True))

                code.loop(n_own, keep)
                code.loop(n_others, add)
                code.loop(n_own, give)
                builder.store(builder.add(own, n_own), next_own)
                builder.store(builder.add(other, n_others), next_other)

            code.loop(arguments[2], strength)

        with builder.if_else(are_apart) as (with_every, with_both):
            with with_both:
                won = code.amount(9, 0, 10, 0.5)

                def half(before: Any, after: Any, card0: Any, card1: Any) -> Any:
                    return builder.fmul(code.floats(code.add(before, after)), won)

                walk(half)
            with with_every:
                win, tie, lose = (code.amount(9, row, 10, 0.5) for row in range(3))

                def each(before: Any, after: Any, card0: Any, card1: Any) -> Any:
                    of_all = code.met(code.load(code.row(7, code.last(8))), 7, card0, card1)
                    found = builder.fmul(code.floats(code.add(of_all, before)), win)
                    found = code.fma(code.floats(code.subtract(of_all, after)), lose, found)
                    return code.fma(code.floats(code.subtract(after, before)), tie, found)

                walk(each)

    return types.void(
        x,
        level,
        _PLACE,
        own,
        others,
        _PLACE,
        _PLACE,
        _PLACE,
        _PLACE,
        amount,
        _PLACE,
        _PLACE,
        _PLACE,
        _PLACE,
    ), lambda *given: _piece(write, *given)
