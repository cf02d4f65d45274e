"""Invariants B: the blocks of the payoff operator and their programs."""

from __future__ import annotations

import numpy as np

from ..payoff.blocks import COUNT, FIRST, MASK, MATRIX, SEQUENCE, STRIDE
from .reader import Reader, check_follow, check_ranges, fail, first_true, outside


def check_terminal_tiles(reader: Reader) -> None:
    """Check that blocks are for two players, and tile the terminals without an empty block."""
    blocks = reader.blocks
    if blocks.n_blocks and reader.form.n_players != 2:
        fail(f"there are {blocks.n_blocks} blocks for {reader.form.n_players} players")
    begin, count = blocks.block[:, FIRST], blocks.block[:, COUNT]
    if (block := outside(count, 1, len(blocks.coefficient) + 1)) is not None:
        fail(f"block {block} has {count[block]} terminals")
    check_follow("block", "terminal", begin, count, len(blocks.coefficient), " coefficients")


def check_program_ranges(reader: Reader) -> None:
    """Check that the programs tile the code, two for every matrix."""
    blocks = reader.blocks
    check_ranges("blocks.program_offset", blocks.program_offset, len(blocks.code), what="program")
    programs, matrix = len(blocks.program_offset) - 1, blocks.block[:, MATRIX]
    if (block := first_true((matrix < 0) | (2 * matrix + 2 > programs))) is not None:
        fail(f"block {block} has matrix {matrix[block]}, but there are {programs} programs")


def check_program(reader: Reader) -> None:
    """Check that every program can be read from its first number to its last."""
    try:
        reader.programs  # noqa: B018 - a cached property, which reads them
    except ValueError as error:
        fail(str(error))


def check_block_sequences(reader: Reader) -> None:
    """Check that the terminals of a block follow one action of one bucket, or that its one terminal
    follows no action."""
    form, block = reader.form, reader.blocks.block
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


def check_hand(reader: Reader) -> None:
    """Check that the programs of a block use only hands that are possible at the block."""
    form, block = reader.form, reader.blocks.block
    possible = np.diff(form.hand_rank, axis=1) > 0
    hands = possible.shape[1]
    # Columns: matrix, strides of both players, masks of both players.
    kinds, example = np.unique(
        block[:, [MATRIX, STRIDE, STRIDE + 1, MASK, MASK + 1]], axis=0, return_index=True
    )
    for kind, index in zip(kinds.tolist(), example.tolist(), strict=True):
        for player in range(2):
            program = reader.programs[2 * kind[0] + player]
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


def check_order(reader: Reader) -> None:
    """Check that ``order`` lists every block once for each player."""
    order = reader.blocks.order
    for player, player_order in enumerate(order):
        if (block := first_true(~np.isin(np.arange(len(player_order)), player_order))) is not None:
            fail(f"blocks.order[{player}] does not list block {block}")


def check_group(reader: Reader) -> None:
    """Check that the groups of a player tile the player's blocks without an empty group."""
    blocks = reader.blocks
    offset, owners = blocks.group_offset, blocks.player_groups
    check_ranges("blocks.player_groups", owners, len(offset) - 1)
    check_ranges("blocks.group_offset", offset, 2 * blocks.n_blocks, least=1, what="group")
    if offset[owners[1]] != blocks.n_blocks:
        fail(
            f"the groups of player 0 end at {offset[owners[1]]}, but there are {blocks.n_blocks} "
            "blocks"
        )


def check_shared_sequence(reader: Reader) -> None:
    """Check that blocks of different groups end different sequences."""
    blocks = reader.blocks
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


def check_weight(reader: Reader) -> None:
    """Check that coefficients and weights are finite."""
    for name in ("coefficient", "weight"):
        values = getattr(reader.blocks, name)
        if (index := first_true(~np.isfinite(values))) is not None:
            fail(f"blocks.{name}[{index}] is {values[index]}")
