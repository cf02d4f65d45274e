"""Kernels of the payoff operator ``g = A x``: counterfactual payoffs of a player's sequences.

Each kind of part has one function.  :func:`payoff_product` is compiled for the kinds of parts that
a game has, so a game without blocks does not pay for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._util.jit import inlined, overload_piece
from .blocks import COUNT, FIRST, MASK, MATRIX, SEQUENCE, STRIDE, PayoffBlocks
from .card_lanes import add_cards, cards_scratch
from .card_payoffs import PayoffCards, PayoffSubsets
from .card_subsets import add_subsets, subsets_scratch
from .entries import PayoffEntries
from .lanes import spread, weighted_sum
from .payoff_form import PayoffForm
from .product_share import ProductShare

NARROW = 4
"""Smallest number of rows of a slice that are processed as lanes; in smaller slices each row is
summed alone."""
TILE = 512
"""Rows of a slice per tile.  Their sums stay in the first-level cache while their entries are read
once."""
BLOCK_TILE = 128
"""Terminals of a block that are processed together, in the first-level cache."""


@inlined
def payoff_product(
    form: PayoffForm,
    player: int,
    reach: np.ndarray,
    g: np.ndarray,
    scratch: np.ndarray,
    prefetch: np.ndarray | None,
) -> None:
    """Compute the counterfactual payoffs of a player's sequences.

    ``g[s]`` is the sum, over the terminals whose last own sequence is ``s``, of chance probability
    times utility times the other players' reaches.

    Args:
        form: The game.
        player: Player whose payoffs are computed.
        reach: float (sequences,): own reach of every player's sequences.
        g: float (sequences,): modified in place at the player's sequences.
        scratch: Scratch from :func:`payoff_scratch`.
        prefetch: Addresses to prefetch, or None; see
            :class:`~tensorcfr.payoff.product_share.ProductShare`.
    """
    g[form.player_sequences[player] : form.player_sequences[player + 1]] = 0.0
    share = ProductShare(form.hand_rank, player, 0, 1, reach, g, scratch, prefetch)
    for k in range(len(form.operator)):
        add_share(form.operator, k, share)


def add_share(operator: tuple[Any, ...], k: int, share: ProductShare) -> None:
    """Add a share of the product of part ``k`` of an operator.

    Different shares add to different sequences.  Two parts may add to the same sequence.
    """
    ADD[type(operator[k])](operator[k], share)


def scratch_size(operator: tuple[Any, ...]) -> int:
    """Return the largest number of scratch numbers that a part needs."""
    return max([SCRATCH[type(part)](part) for part in operator], default=0)


@inlined
def payoff_scratch(form: PayoffForm) -> np.ndarray:
    """Allocate scratch for a game's operator, float64."""
    return np.empty(scratch_size(form.operator))


@inlined
def add_entries(part: PayoffEntries, share: ProductShare) -> None:
    """Add the products of single entries; the first share has all of them."""
    opponents = part.column.shape[0]
    begin, end = part.slices[share.player], part.slices[share.player + 1]
    reach, g = share.reach, share.g
    for s in range(begin, end if share.number == 0 else begin):
        if opponents != 1:
            _add_slice_of_many(part, s, reach, g)
        elif part.rows[s] < NARROW:
            _add_narrow_slice(part, s, reach, g)
        else:
            _add_wide_slice(part, s, reach, g)


@inlined
def entries_scratch(part: PayoffEntries) -> int:
    """Return 0, because single entries need no scratch."""
    return 0


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


@inlined
def _add_wide_slice(payoff: PayoffEntries, s: int, reach: np.ndarray, g: np.ndarray) -> None:
    """Add a slice with many rows, entry by entry, with rows as lanes.

    Four entries are added at a time, which reduces the loads and stores of the sums.
    """
    rows, entries, column = payoff.rows[s], payoff.entries[s], payoff.column[0]
    for begin in range(0, rows, TILE):
        length = min(TILE, rows - begin)
        first = payoff.row[s] + begin
        out = g[first : first + length]
        index = payoff.offset[s] + begin
        e = 0
        while e + 4 <= entries:
            value0, columns0 = payoff.value[index:], column[index:]
            value1, columns1 = payoff.value[index + rows :], column[index + rows :]
            value2, columns2 = payoff.value[index + 2 * rows :], column[index + 2 * rows :]
            value3, columns3 = payoff.value[index + 3 * rows :], column[index + 3 * rows :]
            for r in range(length):
                out[r] += (value0[r] * reach[columns0[r]] + value1[r] * reach[columns1[r]]) + (
                    value2[r] * reach[columns2[r]] + value3[r] * reach[columns3[r]]
                )
            e += 4
            index += 4 * rows
        while e < entries:
            value, columns = payoff.value[index:], column[index:]
            for r in range(length):
                out[r] += value[r] * reach[columns[r]]
            e += 1
            index += rows


@inlined
def _add_narrow_slice(payoff: PayoffEntries, s: int, reach: np.ndarray, g: np.ndarray) -> None:
    """Add a slice with few rows, row by row.

    There are four partial sums, so that additions do not wait for each other.
    """
    rows, entries, column = payoff.rows[s], payoff.entries[s], payoff.column[0]
    for r in range(rows):
        a = b = c = d = 0.0
        index = payoff.offset[s] + r
        e = 0
        while e + 4 <= entries:
            a += payoff.value[index] * reach[column[index]]
            b += payoff.value[index + rows] * reach[column[index + rows]]
            c += payoff.value[index + 2 * rows] * reach[column[index + 2 * rows]]
            d += payoff.value[index + 3 * rows] * reach[column[index + 3 * rows]]
            e += 4
            index += 4 * rows
        while e < entries:
            a += payoff.value[index] * reach[column[index]]
            e += 1
            index += rows
        g[payoff.row[s] + r] += (a + b) + (c + d)


@inlined
def _add_slice_of_many(payoff: PayoffEntries, s: int, reach: np.ndarray, g: np.ndarray) -> None:
    """Add a slice entry by entry, with the product of any number of opponents' reaches."""
    rows = payoff.rows[s]
    for e in range(payoff.entries[s]):
        index = payoff.offset[s] + e * rows
        for r in range(rows):
            weight = payoff.value[index + r]
            for j in range(payoff.column.shape[0]):
                weight *= reach[payoff.column[j, index + r]]
            g[payoff.row[s] + r] += weight


ADD: dict[type, Callable[..., None]] = {
    PayoffEntries: add_entries,
    PayoffBlocks: add_blocks,
    PayoffCards: add_cards,
    PayoffSubsets: add_subsets,
}
"""Function that adds the product of each kind of part."""
SCRATCH: dict[type, Callable[..., int]] = {
    PayoffEntries: entries_scratch,
    PayoffBlocks: blocks_scratch,
    PayoffCards: cards_scratch,
    PayoffSubsets: subsets_scratch,
}
"""Function that returns the scratch size of each kind of part."""


def _source_per_part(
    operator: Any, functions: dict[type, Any], line: str
) -> tuple[dict[str, Any], str]:
    """Return source code with a statement per part of an operator, and the functions that it calls.

    Numba cannot compile a loop over parts of several kinds.
    """
    scope = {f"function_{k}": functions[part.instance_class] for k, part in enumerate(operator)}
    return scope, "".join(line.format(k=k) for k in range(len(scope)))


@overload_piece(add_share)
def _add_share(operator, k, share):  # type: ignore[no-untyped-def]
    line = "    if k == {k}:\n        function_{k}(operator[{k}], share)\n"
    scope, lines = _source_per_part(operator, ADD, line)
    exec(f"def add(operator, k, share):\n    pass\n{lines}", scope)
    return scope["add"]


@overload_piece(scratch_size)
def _scratch_size(operator):  # type: ignore[no-untyped-def]
    line = "    size = max(size, function_{k}(operator[{k}]))\n"
    scope, lines = _source_per_part(operator, SCRATCH, line)
    exec(f"def find(operator):\n    size = 0\n{lines}    return size", scope)
    return scope["find"]
