"""Tiles of reaches, ``[hand][lane]``: code that the kernels of hands of cards share."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils

from .._util.aligned import ALIGNMENT
from .card_payoffs import LANES
from .vectors import DOUBLE, FLOAT, INDEX, INT, Code, piece

LARGEST = 2.0**30 - 2.0**18
"""Target sum of the rounded reaches of a terminal; leaves one bit of headroom in int32."""
LEAST = 2.0**-96
"""Smallest sum of reaches that counts; the scale of a smaller one could be infinite."""


class Tiles(Code):
    """Code generator for tiles.

    The argument ``x`` of a piece is an array in the precision of the tiles.
    """

    width = LANES

    def __init__(self, builder: Any, args: SimpleNamespace) -> None:
        super().__init__(builder, args)
        self.single = args.x.type.pointee == FLOAT
        self.floats_of_tiles = self.vector(FLOAT if self.single else DOUBLE)
        self.sum = self.vector(INT) if self.single else self.floats_of_tiles
        self.size = 4 if self.single else 8

    def row(self, first: Any, row: Any, *, of_floats: bool = False) -> Any:
        """Return the address of a row of a tile or of sums, from the address of the first row."""
        builder = self.builder
        offset = builder.mul(row, ir.Constant(INDEX, LANES * self.size))
        kind = self.floats_of_tiles if of_floats else self.sum
        return builder.inttoptr(builder.add(first, offset), kind.as_pointer())

    def load(self, address: Any) -> Any:
        """Load a row."""
        return self.builder.load(address, align=ALIGNMENT)

    def store(self, value: Any, address: Any) -> None:
        """Store a row."""
        self.builder.store(value, address, align=ALIGNMENT)

    def add(self, a: Any, b: Any) -> Any:
        """Add two rows of sums."""
        return self.builder.add(a, b) if self.single else self.builder.fadd(a, b)

    def subtract(self, a: Any, b: Any) -> Any:
        """Subtract two rows of sums."""
        return self.builder.sub(a, b) if self.single else self.builder.fsub(a, b)

    def floats(self, sums: Any) -> Any:
        """Convert a row of sums to the precision of the tiles; :meth:`amount` undoes the scale."""
        return self.builder.sitofp(sums, self.floats_of_tiles) if self.single else sums

    def zeros(self) -> Any:
        """Return a row of zero sums."""
        return ir.Constant(self.sum, [0 if self.single else 0.0] * LANES)

    def loop(self, count: Any, body: Callable[[Any], None]) -> None:
        """Generate ``for i in range(count)``."""
        with cgutils.for_range(self.builder, count, intp=INDEX) as loop:
            body(loop.index)

    def amount(self, row: int, factor: float = 1.0) -> Any:
        """Load a row of amounts, times a factor and the inverse of the scale.

        Rows are 0 for a win, 1 for a tie, 2 for a loss.
        """
        builder, doubles = self.builder, self.vector(DOUBLE)
        address = builder.gep(self.at.amount, [ir.Constant(INDEX, row * LANES)])
        amounts = builder.load(builder.bitcast(address, doubles.as_pointer()), align=8)
        amounts = builder.fmul(amounts, self.constant(DOUBLE, factor))
        if not self.single:
            return amounts
        return builder.fptrunc(builder.fmul(amounts, self.load(self.inverse)), self.floats_of_tiles)

    @property
    def inverse(self) -> Any:
        """Address of the inverse of the scales."""
        address = self.builder.add(self.at.scale, ir.Constant(INDEX, 8 * LANES))
        return self.builder.inttoptr(address, self.vector(DOUBLE).as_pointer())

    def same(self, hand: Any) -> Any:
        """Load the row of the opponent's hand with the same cards."""
        twin = self.builder.zext(self.number(self.at.same, hand), INDEX)
        return self.load(self.row(self.at.opponent_tile, twin))

    def fetch(self, lines: Any, index: Any) -> None:
        """Prefetch the cache line number ``index`` from the address ``lines`` on, unless that is
        None.
        """
        if lines is None:
            return
        builder = self.builder
        offset = builder.mul(index, ir.Constant(INDEX, ALIGNMENT))
        address = builder.inttoptr(builder.add(lines, offset), ir.IntType(8).as_pointer())
        # Arguments: read access, second-level cache, data.
        hints = (ir.Constant(INT, number) for number in (0, 2, 1))
        self.call("llvm.prefetch.p0", ir.VoidType(), address, *hints)

    def transposed(self, rows: list[Any]) -> list[Any]:
        """Transpose sixteen vectors, by exchanging halves, then quarters, and so on."""
        distance = LANES // 2
        while distance:
            low, high = [], []
            for lane in range(LANES):
                second = bool(lane & distance)
                low.append(lane - distance + LANES if second else lane)
                high.append(lane + LANES if second else lane + distance)
            kind = self.vector(INT)
            for row in range(LANES):
                if row & distance:
                    continue
                a, b = rows[row], rows[row + distance]
                rows[row] = self.builder.shuffle_vector(a, b, ir.Constant(kind, low))
                rows[row + distance] = self.builder.shuffle_vector(a, b, ir.Constant(kind, high))
            distance //= 2
        return rows

    def blocks(self, body: Callable[[Any, Any | None, Any, Any], None]) -> None:
        """Generate a loop over blocks of sixteen hands.

        ``body`` gets the first hand, a mask for the last block, the number of hands in the block,
        and the weights of the hands in the precision of the tiles.
        """

        def step(hand: Any, masks: list[Any], remaining: Any) -> None:
            weights = self.load_row(self.builder.gep(self.at.weight, [hand]), masks[0])
            if self.single:
                weights = self.builder.fptrunc(weights, self.floats_of_tiles)
            body(hand, masks[0], remaining, weights)

        self.steps(self.at.hands, 1, step)

    def starts(self) -> list[Any]:
        """Return the address at which the numbers of each lane begin in an array."""
        return [self.builder.gep(self.at.x, [self.number(self.at.rows, k)]) for k in range(LANES)]


@piece(Code, "address count")
def clear(code: Code) -> None:
    """Set bytes to 0."""
    address = code.builder.inttoptr(code.at.address, ir.IntType(8).as_pointer())
    cgutils.memset(code.builder, address, code.at.count, 0)


@piece(Tiles, "x rows hands weight layout")
def find_scale(code: Tiles) -> None:
    """Compute the factor that makes each lane's reaches whole numbers, and its inverse, as doubles.

    Only for single precision; ``weight`` is the weight of all hands of a class.
    """
    if not code.single:
        return
    builder, starts = code.builder, code.starts()
    zeros = code.constant(FLOAT, 0.0)
    totals = [cgutils.alloca_once_value(builder, zeros) for _ in range(LANES)]

    def block(hand: Any, mask: Any | None, remaining: Any, weights: Any) -> None:
        for start, total in zip(starts, totals, strict=True):
            reaches = code.load_row(builder.gep(start, [hand]), mask)
            reaches = code.call(f"llvm.fabs.{code.suffix(reaches.type)}", reaches.type, reaches)
            builder.store(code.fma(reaches, weights, builder.load(total)), total)

    code.blocks(block)
    columns = code.transposed([builder.load(total) for total in totals])
    # Column k has the totals of every sixteenth hand from k on, for all lanes: add the columns.
    while len(columns) > 1:
        pairs = zip(columns[::2], columns[1::2], strict=True)
        columns = [builder.fadd(first, second) for first, second in pairs]
    is_positive = builder.fcmp_ordered(">=", columns[0], code.constant(FLOAT, LEAST))
    factor = builder.fdiv(code.constant(FLOAT, LARGEST), columns[0])
    factor = builder.select(is_positive, factor, zeros)
    in_double = builder.fpext(factor, code.vector(DOUBLE))
    inverse = builder.fdiv(code.constant(DOUBLE, 1.0), in_double)
    inverse = builder.select(is_positive, inverse, code.constant(DOUBLE, 0.0))
    code.store(factor, builder.inttoptr(code.at.scale, factor.type.as_pointer()))
    code.store(inverse, code.inverse)


@piece(Tiles, "x rows hands weight layout")
def read_rows(code: Tiles) -> None:
    """Fill the tile: ``opponent_tile[h][l] = weight[h] * x[rows[l] + h]``.

    In single precision it is multiplied by the scale of the lane and rounded.
    """
    builder, starts, scales = code.builder, code.starts(), []
    if code.single:
        first = builder.inttoptr(code.at.scale, FLOAT.as_pointer())
        scales = [code.splat(code.number(first, lane)) for lane in range(LANES)]

    def block(hand: Any, mask: Any | None, remaining: Any, weights: Any) -> None:
        rows = []
        for lane, start in enumerate(starts):
            row = builder.fmul(code.load_row(builder.gep(start, [hand]), mask), weights)
            if code.single:
                row = builder.fmul(row, scales[lane])
                name = f"llvm.lrint.v{LANES}i32.{code.suffix(row.type)}"
                row = code.call(name, code.sum, row)
            rows.append(row)
        for k, lanes in enumerate(code.transposed(rows)):
            address = code.row(code.at.opponent_tile, builder.add(hand, ir.Constant(INDEX, k)))
            if mask is None:
                code.store(lanes, address)
            else:
                with builder.if_then(builder.icmp_signed("<", ir.Constant(INDEX, k), remaining)):
                    code.store(lanes, address)

    code.blocks(block)


@piece(Tiles, "x rows count hands weight layout")
def add_rows(code: Tiles) -> None:
    """Add ``weight[h] * payoff_tile[h][l]`` to ``x[rows[l] + h]``, for ``count`` lanes."""
    builder, args, kind = code.builder, code.at, code.floats_of_tiles
    columns = cgutils.alloca_once(builder, kind, size=LANES)
    is_full = builder.icmp_signed("==", args.count, ir.Constant(INDEX, LANES))

    def block(hand: Any, mask: Any | None, remaining: Any, weights: Any) -> None:
        lanes = []
        for k in range(LANES):
            row = builder.add(hand, ir.Constant(INDEX, k))
            if mask is not None:
                # Read the last hand again beyond the end; the mask keeps it from being stored.
                last = builder.sub(builder.add(hand, remaining), ir.Constant(INDEX, 1))
                is_beyond = builder.icmp_signed(">", row, last)
                row = builder.select(is_beyond, last, row)
            lanes.append(code.load(code.row(args.payoff_tile, row, of_floats=True)))
        lanes = code.transposed(lanes)

        def add(lane: Any, added: Any) -> None:
            address = builder.gep(args.x, [builder.add(code.number(args.rows, lane), hand)])
            code.store_row(code.fma(added, weights, code.load_row(address, mask)), address, mask)

        def one_by_one() -> None:
            for lane, added in enumerate(lanes):
                builder.store(added, builder.gep(columns, [ir.Constant(INDEX, lane)]))
            code.loop(args.count, lambda lane: add(lane, code.number(columns, lane)))

        if mask is not None:
            one_by_one()
            return
        # Unrolled for full groups; otherwise a loop over the lanes that have a terminal.
        with builder.if_else(is_full) as (all_lanes, some_lanes):
            with all_lanes:
                for lane, added in enumerate(lanes):
                    add(lane, added)
            with some_lanes:
                one_by_one()

    code.blocks(block)
