"""Payoffs in blocks: few hand-by-hand matrices that many public terminals share."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np

from .._util.jit import inlined
from .._util.violations import check_follow, check_ranges, fail, first_true, outside
from .lanes import spread, weighted_sum
from .payoff_form import PayoffForm
from .payoff_kind import FormReader, PayoffKind
from .product_share import ProductShare
from .program import Program, read_program

FIRST, COUNT, MATRIX, SEQUENCE, STRIDE, MASK = 0, 1, 2, 3, 5, 7
"""Columns of ``PayoffBlocks.block``.  The last three are for player 0, each followed by the column
for player 1."""
COLUMNS = 9
"""Number of columns of ``PayoffBlocks.block``."""
FEW_HANDS = 64
"""Largest number of hands at which a product with the full matrix is faster than its program."""
BLOCK_TILE = 128
"""Terminals of a block that are processed together, in the first-level cache."""


class PayoffBlocks(NamedTuple):
    """Part of the payoff operator with few hand-by-hand matrices that many terminals share.

    A *block* is a row of public terminals that share a matrix ``K``, and whose last sequences are
    adjacent for both players.  At terminal ``t`` of a block, the last sequence of a player is
    ``sequence + rank * stride + t``, where ``rank`` is the rank of the player's hand among the
    hands that are possible there.  The block adds

        g[hand, t] += coefficient[t] * sum_other K[hand, other] * x[other, t]

    A matrix is stored as a :class:`Program` for each player.  Only games of two players have
    blocks.
    """

    block: Annotated[np.ndarray, np.int64, "blocks", COLUMNS]
    """int64 (blocks, 9): first terminal, number of terminals, matrix; then for each player the
    sequence, the stride, and the row of ``SequenceForm.hand_rank`` with the possible hands.  Player
    ``i`` has program ``2 * matrix + i``.  The stride of the empty sequence is 0, because all hands
    share it."""
    coefficient: Annotated[np.ndarray, np.float64, "block terminals"]
    """float64 (block terminals,): factor of the matrix at each terminal."""
    order: Annotated[np.ndarray, np.int64, 2, "blocks"]
    """int64 (2, blocks): permutation of the blocks for each player; blocks that end the same
    sequences of player ``i`` are adjacent."""
    group_offset: Annotated[np.ndarray, np.int64, "groups + 1"]
    """int64 (groups + 1,): a group is ``[k]`` to ``[k + 1] - 1`` of the flat ``order``.  Blocks in
    different groups of a player end different sequences of that player, so threads may process
    groups in parallel."""
    player_groups: Annotated[np.ndarray, np.int64, "players + 1"]
    """int64 (players + 1,): player ``i`` has groups ``[i]`` to ``[i + 1] - 1``."""
    program_offset: Annotated[np.ndarray, np.int64, "programs + 1"]
    """int64 (programs + 1,): index in ``code`` at which each program begins."""
    code: Annotated[np.ndarray, np.int64, "code"]
    """int64 (code,): the programs, encoded by :meth:`Program.encode`."""
    weight: Annotated[np.ndarray, np.float64, "code"]
    """float64 (code,): weight of each hand or term in ``code``; 0 for other numbers."""

    @property
    def kind(self) -> str:
        """Name of the kind; see :attr:`tensorcfr.payoff.PayoffPart.kind`."""
        return "blocks"

    @property
    def is_empty(self) -> bool:
        """True if there are no blocks."""
        return not len(self.block)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.block)

    def program(self, index: int) -> Program:
        """Decode a program.

        Raises:
            ValueError: The code is not a valid program; the message names the program and the
                index.
        """
        begin, end = self.program_offset[index : index + 2].tolist()
        try:
            return read_program(self.code, self.weight, begin, end)
        except ValueError as error:
            raise ValueError(f"program {index}: {error}") from None

    def sides(self, player: int) -> list[BlockSide]:
        """Return all blocks as seen by one player."""
        return [
            BlockSide(
                2 * matrix + player,
                slice(first, first + count),
                LastSequences(columns[player], columns[2 + player], columns[4 + player]),
                LastSequences(columns[1 - player], columns[3 - player], columns[5 - player]),
            )
            for first, count, matrix, *columns in self.block.tolist()
        ]

    def product(self, form: PayoffForm, player: int, x: np.ndarray) -> np.ndarray:
        """Compute a player's payoffs; see :meth:`tensorcfr.payoff.PayoffPart.product`."""
        begin, end = form.player_sequences[player : player + 2].tolist()
        g = np.zeros(end - begin)
        program = lru_cache(maxsize=None)(self.program)
        matrix = lru_cache(maxsize=None)(lambda index: self._matrix(form, index))
        n_hands = form.hand_rank.shape[1] - 1
        for side in self.sides(player):
            decoded = program(side.program)
            own_hands, other_hands = decoded.own, decoded.others
            coefficient = self.coefficient[side.terminals]
            terminal = np.arange(len(coefficient))
            # Reaches of the opponent's hands at each terminal; 0 for impossible hands.
            opponent_reach = np.zeros((n_hands, len(coefficient)))
            opponent_reach[other_hands] = x[
                side.other.sequences(form, other_hands)[:, None] + terminal
            ]
            payoffs = (
                matrix(side.program) @ opponent_reach
                if n_hands <= FEW_HANDS
                else decoded.apply(opponent_reach)
            )
            payoffs = payoffs[own_hands] * coefficient
            # All hands share the empty sequence: its payoff is the sum over hands.
            if side.own.stride:
                g[side.own.sequences(form, own_hands)[:, None] + terminal - begin] += payoffs
            else:
                g[side.own.sequence - begin] += payoffs.sum()
        return g

    def triples(self, form: PayoffForm, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the part entry by entry; see :meth:`tensorcfr.payoff.PayoffPart.triples`."""
        rows, columns, values = [], [], []
        matrix = lru_cache(maxsize=16)(lambda program: self._matrix(form, program))
        for side in self.sides(player):
            own_hand, other_hand = np.nonzero(matrix(side.program))
            coefficient = self.coefficient[side.terminals]
            terminal = np.arange(len(coefficient))
            rows.append((side.own.sequences(form, own_hand)[:, None] + terminal).ravel())
            columns.append((side.other.sequences(form, other_hand)[:, None] + terminal).ravel())
            values.append(
                (matrix(side.program)[own_hand, other_hand][:, None] * coefficient).ravel()
            )
        return np.concatenate(rows), np.concatenate(columns)[None], np.concatenate(values)

    def count_entries(self, form: PayoffForm, player: int) -> int:
        """Return the number of entries that :meth:`triples` returns."""
        # Count each matrix once, times the terminals of its blocks.
        matrices, of_block = np.unique(self.block[:, MATRIX], return_inverse=True)
        terminals = np.bincount(of_block, self.block[:, COUNT])
        return sum(
            int(times) * int(np.count_nonzero(self._matrix(form, 2 * matrix + player)))
            for matrix, times in zip(matrices.tolist(), terminals.tolist(), strict=True)
        )

    def magnitudes(self) -> PayoffBlocks:
        """Return the part with the absolute value of every payoff."""
        return self._replace(coefficient=np.abs(self.coefficient), weight=np.abs(self.weight))

    def describe(self) -> str:
        """Return the numbers of terminals, blocks and matrices, as text."""
        return (
            f"{len(self.coefficient):,} public terminals in {self.n_blocks:,} blocks of "
            f"{len(self.program_offset) // 2:,} distinct matrices"
        )

    def _matrix(self, form: PayoffForm, program: int) -> np.ndarray:
        """Return the matrix of a program, float64 (player's hands, other player's hands)."""
        return self.program(program).apply(np.eye(form.hand_rank.shape[1] - 1))


class LastSequences(NamedTuple):
    """Last sequences of one player at a block's terminals."""

    sequence: int
    """Last sequence at the first terminal, with the first possible hand."""
    stride: int
    """Distance between the sequences of consecutive hands."""
    mask: int
    """Row of ``SequenceForm.hand_rank`` with the possible hands."""

    def sequences(self, form: PayoffForm, hands: np.ndarray) -> np.ndarray:
        """Return the last sequences of hands at the first terminal, int64 (hands,)."""
        return self.sequence + form.hand_rank[self.mask, hands] * self.stride


class BlockSide(NamedTuple):
    """A block as seen by one player."""

    program: int
    """Program of the player."""
    terminals: slice
    """Range of the block's terminals."""
    own: LastSequences
    """Last sequences of the player."""
    other: LastSequences
    """Last sequences of the other player."""


@inlined
def blocks_scratch(part: PayoffBlocks) -> int:
    """Return the scratch numbers for the pools of one block and the sum of one class."""
    n_pools = 0
    for program in part.program_offset[:-1]:
        n_pools = max(n_pools, part.code[program])
    return (n_pools + 1) * BLOCK_TILE


@inlined
def add_blocks(part: PayoffBlocks, share: ProductShare) -> None:
    """Add the products of blocks; a share has every ``of``-th group of blocks."""
    player, offset, groups = share.player, part.group_offset, part.player_groups
    order = part.order[player]
    # `group_offset` counts in the flat `order`, in which player 1 follows player 0.
    skipped = player * order.shape[0]
    # Deal groups out in turn: adjacent groups have similar costs, so this balances the threads.
    for group in range(groups[player] + share.number, groups[player + 1], share.of):
        for index in range(offset[group] - skipped, offset[group + 1] - skipped):
            _add_block(part, part.block[order[index]], share)


@inlined
def _add_block(part: PayoffBlocks, block: np.ndarray, share: ProductShare) -> None:
    """Add the product of one block, with terminals as lanes.

    The matrix is a program (:mod:`tensorcfr.payoff.program`), read from ``code``: first pools of
    the opponent's hands, then classes of own hands.  The sum of a class is at ``scratch[z:]``.
    """
    hand_rank, player, _, _, reach, g, scratch, _ = share
    programs, coefficient = part.program_offset, part.coefficient
    code, weight = part.code, part.weight
    opponent, z = 1 - player, scratch.shape[0] - BLOCK_TILE
    own_rank, other_rank = hand_rank[block[MASK + player]], hand_rank[block[MASK + opponent]]
    for begin in range(0, block[COUNT], BLOCK_TILE):
        count = min(BLOCK_TILE, block[COUNT] - begin)
        own_first = block[SEQUENCE + player] + begin
        other_first = block[SEQUENCE + opponent] + begin
        stride = block[STRIDE + opponent]
        index = programs[2 * block[MATRIX] + player]
        pools = code[index]
        index += 1
        # Pools: weighted sums of the opponent's reaches, in scratch, one tile per pool.
        for pool in range(pools):
            to = pool * BLOCK_TILE
            weighted_sum(
                code,
                weight,
                index,
                reach,
                other_first,
                stride,
                other_rank,
                scratch,
                to,
                False,
                count,
            )
            index += code[index] + 1
        classes = code[index]
        index += 1
        stride = block[STRIDE + player]
        terminal = block[FIRST] + begin
        # Classes: sum some pools (a chained class adds to the sum of the class before), then add
        # multiples of the sum to the payoffs of the class's hands.
        for _ in range(classes):
            chained = code[index] != 0
            index += 1
            weighted_sum(
                code, weight, index, scratch, 0, BLOCK_TILE, None, scratch, z, chained, count
            )
            index += code[index] + 1
            spread(
                code,
                weight,
                index,
                g,
                own_first,
                stride,
                own_rank,
                coefficient,
                terminal,
                scratch,
                z,
                count,
            )
            index += code[index] + 1


def check_terminal_tiles(blocks: PayoffBlocks, reader: FormReader) -> None:
    """Check that blocks are for two players, and tile the terminals without an empty block."""
    if blocks.n_blocks and reader.form.n_players != 2:
        fail(f"there are {blocks.n_blocks} blocks for {reader.form.n_players} players")
    begin, count = blocks.block[:, FIRST], blocks.block[:, COUNT]
    if (block := outside(count, 1, len(blocks.coefficient) + 1)) is not None:
        fail(f"block {block} has {count[block]} terminals")
    check_follow("block", "terminal", begin, count, len(blocks.coefficient), " coefficients")


def check_program_ranges(blocks: PayoffBlocks, reader: FormReader) -> None:
    """Check that the programs tile the code, two for every matrix."""
    check_ranges("blocks.program_offset", blocks.program_offset, len(blocks.code), what="program")
    programs, matrix = len(blocks.program_offset) - 1, blocks.block[:, MATRIX]
    if (block := first_true((matrix < 0) | (2 * matrix + 2 > programs))) is not None:
        fail(f"block {block} has matrix {matrix[block]}, but there are {programs} programs")


def check_program(blocks: PayoffBlocks, reader: FormReader) -> None:
    """Check that every program can be read from its first number to its last."""
    try:
        for index in range(len(blocks.program_offset) - 1):
            blocks.program(index)
    except ValueError as error:
        fail(str(error))


def check_block_sequences(blocks: PayoffBlocks, reader: FormReader) -> None:
    """Check that the terminals of a block follow one action of one bucket, or that its one terminal
    follows no action."""
    form, block = reader.form, blocks.block
    for player in range(2 if len(block) else 0):
        sequence, stride, mask = block[:, [SEQUENCE + player, STRIDE + player, MASK + player]].T
        low, high = form.player_sequences[player : player + 2]
        if (i := first_true((sequence < low) | (sequence >= high))) is not None:
            fail(f"block {i} has sequence {sequence[i]}, which is not player {player}'s")
        if (i := first_true((mask < 0) | (mask >= len(form.hand_rank)))) is not None:
            fail(f"block {i} has mask {mask[i]} for player {player}")
        empty = sequence == low
        if (i := first_true(empty & ((stride != 0) | (block[:, COUNT] != 1)))) is not None:
            fail(
                f"block {i} has {block[i, COUNT]} terminals at stride {stride[i]} after "
                f"{reader.sequence(int(low))}"
            )
        # An empty sequence has no bucket; its bucket 0 here is masked by ``~empty`` below.
        bucket = np.where(empty, 0, reader.sequence_bucket(sequence))
        if empty.all():
            continue
        for name, values, wanted in (
            ("stride", stride, form.bucket_stride[bucket]),
            ("mask", mask, form.bucket_mask[bucket]),
        ):
            if (i := first_true(~empty & (values != wanted))) is not None:
                fail(
                    f"block {i} has {name} {values[i]} for player {player}, but bucket "
                    f"{bucket[i]} has {wanted[i]}"
                )
        # A block begins with the first hand, so its lane there is the rank of the first public
        # node.
        rank = (sequence - form.bucket_sequence[bucket]) % form.bucket_lanes[bucket]
        if (i := first_true(~empty & (rank + block[:, COUNT] > stride))) is not None:
            fail(
                f"block {i} has {block[i, COUNT]} terminals after "
                f"{reader.sequence(int(sequence[i]))}, which is number {rank[i]} of the "
                f"{stride[i]} of its hand"
            )


def check_hand(blocks: PayoffBlocks, reader: FormReader) -> None:
    """Check that the programs of a block use only hands that are possible at the block."""
    form, block = reader.form, blocks.block
    read = lru_cache(maxsize=None)(blocks.program)
    possible = np.diff(form.hand_rank, axis=1) > 0
    hands = possible.shape[1]
    # Columns: matrix, strides of both players, masks of both players.
    kinds, example = np.unique(
        block[:, [MATRIX, STRIDE, STRIDE + 1, MASK, MASK + 1]], axis=0, return_index=True
    )
    for kind, index in zip(kinds.tolist(), example.tolist(), strict=True):
        for player in range(2):
            program = read(2 * kind[0] + player)
            for who, program_hands in ((player, program.own), (1 - player, program.others)):
                if len(program_hands) and program_hands[-1] >= hands:
                    fail(f"a program of block {index} has hand {program_hands[-1]} of {hands}")
                stride, mask = kind[1 + who], kind[3 + who]
                impossible = program_hands[~possible[mask, program_hands]]
                if stride and len(impossible):
                    fail(
                        f"a program of block {index} has hand {impossible[0]} of player {who}, "
                        f"which mask {mask} leaves out"
                    )


def check_order(blocks: PayoffBlocks, reader: FormReader) -> None:
    """Check that ``order`` lists every block once for each player."""
    order = blocks.order
    for player, player_order in enumerate(order):
        if (block := first_true(~np.isin(np.arange(len(player_order)), player_order))) is not None:
            fail(f"blocks.order[{player}] does not list block {block}")


def check_group(blocks: PayoffBlocks, reader: FormReader) -> None:
    """Check that the groups of a player tile the player's blocks without an empty group."""
    offset, owners = blocks.group_offset, blocks.player_groups
    check_ranges("blocks.player_groups", owners, len(offset) - 1)
    check_ranges("blocks.group_offset", offset, 2 * blocks.n_blocks, least=1, what="group")
    if offset[owners[1]] != blocks.n_blocks:
        fail(
            f"the groups of player 0 end at {offset[owners[1]]}, but there are {blocks.n_blocks} "
            "blocks"
        )


def check_shared_sequence(blocks: PayoffBlocks, reader: FormReader) -> None:
    """Check that blocks of different groups end different sequences."""
    group_of = np.repeat(np.arange(len(blocks.group_offset) - 1), np.diff(blocks.group_offset))
    for player, player_order in enumerate(blocks.order):
        group = group_of[player * len(player_order) : (player + 1) * len(player_order)]
        # Within an action of a bucket, all hands have the same terminals as the first hand.
        begin = blocks.block[player_order, SEQUENCE + player]
        count = blocks.block[player_order, COUNT]
        # Sorted by begin, two blocks overlap only if a block begins before the furthest end so far.
        by_begin = np.argsort(begin, kind="stable")
        end = np.maximum.accumulate((begin + count)[by_begin])
        shared = begin[by_begin][1:] < end[:-1]
        if (index := first_true(shared & (np.diff(group[by_begin]) != 0))) is not None:
            first, second = player_order[by_begin[index : index + 2]].tolist()
            fail(
                f"blocks {first} and {second} of player {player} are in two groups, and both "
                f"end {reader.sequence(int(begin[by_begin[index + 1]]))}"
            )


def check_weight(blocks: PayoffBlocks, reader: FormReader) -> None:
    """Check that coefficients and weights are finite."""
    for name in ("coefficient", "weight"):
        values = getattr(blocks, name)
        if (index := first_true(~np.isfinite(values))) is not None:
            fail(f"blocks.{name}[{index}] is {values[index]}")


BLOCKS = PayoffKind(
    "blocks",
    PayoffBlocks,
    add_blocks,
    blocks_scratch,
    (
        ("B1", "blocks tile the terminals", check_terminal_tiles),
        ("B2", "programs tile the code", check_program_ranges),
        ("B3", "programs can be read", check_program),
        ("B4", "places of blocks", check_block_sequences),
        ("B5", "hands of programs", check_hand),
        ("B6", "order of blocks", check_order),
        ("B7", "groups tile the order", check_group),
        ("B8", "groups are apart", check_shared_sequence),
        ("B9", "weights are finite", check_weight),
    ),
)
"""Kind of blocks."""
