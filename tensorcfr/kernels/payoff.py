"""The payoff operator ``g = A x``: counterfactual payoffs of a player's sequences."""

from __future__ import annotations

import numpy as np

from ..model.arrays import PayoffBlocks, PayoffEntries, SequenceForm
from .jit import inlined
from .lanes import spread, weighted_sum

NARROW = 4
"""Slices with fewer rows are summed row by row."""

TILE = 512
"""Rows whose sums are held in the first cache level while their entries stream by."""

BLOCK_TILE = 128
"""Terminals of a block that are worked out together, in the first cache level."""


@inlined
def payoff_product(
    form: SequenceForm, player: int, reach: np.ndarray, g: np.ndarray, scratch: np.ndarray
) -> None:
    """``g[s]`` = sum over the terminals whose last own sequence is ``s`` of chance probability
    times utility times the other players' reaches.

    Args:
        form: The game.
        player: Whose payoffs.
        reach: float (sequences,): own reach of every player's sequences.
        g: float (sequences,): the player's part is modified in place.
        scratch: From :func:`block_scratch`; modified.
    """
    g[form.player_sequences[player] : form.player_sequences[player + 1]] = 0.0
    entry_product(form.payoff, player, reach, g)
    groups = form.blocks.player_groups
    block_product(
        form.blocks, form.hand_rank, player, groups[player], groups[player + 1], reach, g, scratch
    )


@inlined
def entry_product(payoff: PayoffEntries, player: int, reach: np.ndarray, g: np.ndarray) -> None:
    """What the single entries add to ``g``; arguments as above."""
    opponents = payoff.column.shape[0]
    for s in range(payoff.slices[player], payoff.slices[player + 1]):
        if opponents != 1:
            _any_opponents(payoff, s, reach, g)
        elif payoff.rows[s] < NARROW:
            _narrow(payoff, s, reach, g)
        else:
            _wide(payoff, s, reach, g)


@inlined
def block_scratch(blocks: PayoffBlocks) -> np.ndarray:
    """Room for the pools of one block, and one class more."""
    most = 0
    for program in blocks.program_offset[:-1]:
        most = max(most, blocks.code[program])
    return np.empty((most + 1) * BLOCK_TILE)


@inlined
def block_product(
    blocks: PayoffBlocks,
    hand_rank: np.ndarray,
    player: int,
    first_group: int,
    last_group: int,
    reach: np.ndarray,
    g: np.ndarray,
    scratch: np.ndarray,
) -> None:
    """What the blocks of some groups add to ``g``, with terminals as lanes.

    Args:
        blocks: The blocks.
        hand_rank: As in :class:`SequenceForm`.
        player: Whose payoffs.
        first_group: First of the player's groups.
        last_group: The one after the last.
        reach: float (sequences,): own reaches.
        g: float (sequences,): modified in place.
        scratch: From :func:`block_scratch`; modified.
    """
    if first_group == last_group:
        return
    other = 1 - player
    z = scratch.shape[0] - BLOCK_TILE
    itself = np.arange(scratch.shape[0] // BLOCK_TILE)
    code, weight = blocks.code, blocks.weight
    for place in range(blocks.group_offset[first_group], blocks.group_offset[last_group]):
        block = blocks.block[blocks.order[player, place - player * blocks.order.shape[1]]]
        held, met = hand_rank[block[7 + player]], hand_rank[block[7 + other]]
        for begin in range(0, block[1], BLOCK_TILE):
            count = min(BLOCK_TILE, block[1] - begin)
            own, others = block[3 + player] + begin, block[3 + other] + begin
            at = blocks.program_offset[2 * block[2] + player]
            pools = code[at]
            at += 1
            for pool in range(pools):
                weighted_sum(
                    code,
                    weight,
                    at,
                    reach,
                    others,
                    block[5 + other],
                    met,
                    scratch,
                    pool * BLOCK_TILE,
                    False,
                    count,
                )
                at += code[at] + 1
            classes = code[at]
            at += 1
            for _ in range(classes):
                chained = code[at] != 0
                at += 1
                weighted_sum(
                    code, weight, at, scratch, 0, BLOCK_TILE, itself, scratch, z, chained, count
                )
                at += code[at] + 1
                spread(
                    code,
                    weight,
                    at,
                    g,
                    own,
                    block[5 + player],
                    held,
                    blocks.coefficient,
                    block[0] + begin,
                    scratch,
                    z,
                    count,
                )
                at += code[at] + 1


@inlined
def _wide(payoff: PayoffEntries, s: int, reach: np.ndarray, g: np.ndarray) -> None:
    """Entry by entry, with rows as lanes; four entries at a time, which spares the sums."""
    rows, entries, column = payoff.rows[s], payoff.entries[s], payoff.column[0]
    for begin in range(0, rows, TILE):
        length = min(TILE, rows - begin)
        first = payoff.row[s] + begin
        out = g[first : first + length]
        at = payoff.offset[s] + begin
        e = 0
        while e + 4 <= entries:
            value0, other0 = payoff.value[at:], column[at:]
            value1, other1 = payoff.value[at + rows :], column[at + rows :]
            value2, other2 = payoff.value[at + 2 * rows :], column[at + 2 * rows :]
            value3, other3 = payoff.value[at + 3 * rows :], column[at + 3 * rows :]
            for r in range(length):
                out[r] += (value0[r] * reach[other0[r]] + value1[r] * reach[other1[r]]) + (
                    value2[r] * reach[other2[r]] + value3[r] * reach[other3[r]]
                )
            e += 4
            at += 4 * rows
        while e < entries:
            value, other = payoff.value[at:], column[at:]
            for r in range(length):
                out[r] += value[r] * reach[other[r]]
            e += 1
            at += rows


@inlined
def _narrow(payoff: PayoffEntries, s: int, reach: np.ndarray, g: np.ndarray) -> None:
    """Row by row, with four sums at a time: additions that wait for each other are slow."""
    rows, entries, column = payoff.rows[s], payoff.entries[s], payoff.column[0]
    for r in range(rows):
        a = b = c = d = 0.0
        at = payoff.offset[s] + r
        e = 0
        while e + 4 <= entries:
            a += payoff.value[at] * reach[column[at]]
            b += payoff.value[at + rows] * reach[column[at + rows]]
            c += payoff.value[at + 2 * rows] * reach[column[at + 2 * rows]]
            d += payoff.value[at + 3 * rows] * reach[column[at + 3 * rows]]
            e += 4
            at += 4 * rows
        while e < entries:
            a += payoff.value[at] * reach[column[at]]
            e += 1
            at += rows
        g[payoff.row[s] + r] = (a + b) + (c + d)


@inlined
def _any_opponents(payoff: PayoffEntries, s: int, reach: np.ndarray, g: np.ndarray) -> None:
    """Entry by entry, with the product of any number of players' reaches."""
    rows = payoff.rows[s]
    for e in range(payoff.entries[s]):
        at = payoff.offset[s] + e * rows
        for r in range(rows):
            weight = payoff.value[at + r]
            for j in range(payoff.column.shape[0]):
                weight *= reach[payoff.column[j, at + r]]
            g[payoff.row[s] + r] += weight
