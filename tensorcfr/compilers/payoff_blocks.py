"""Payoff operator of hands x public tree: blocks where they are faster, single entries elsewhere.

A block has one program per player, which multiplies by a matrix of hands in few operations; see
:class:`tensorcfr.payoff.program.Program`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._util import limits
from .._util.memory_budget import reserve, reserves
from ..model.arrays import PublicTree, SequenceForm
from ..payoff import PayoffBlocks, PayoffEntries, PayoffPart
from ..payoff.blocks import COLUMNS
from ..payoff.entries import payoff_entries
from ..payoff.program import Class, Program

NO_STEP = -1
"""Code in place of a last own action, for a player who has not acted: the player's entry 0."""
ENTRY_NS = 1.2
"""Nanoseconds per single entry.  This and the next two costs are rough: only the comparison between
a block and its entries depends on them."""
LOOP_NS = 6.0
"""Nanoseconds to start one loop over the terminals of a block."""
LANE_NS = 0.1
"""Nanoseconds per terminal in such a loop."""
BYTES_PER_ENTRY = 140
"""Peak bytes per single entry while the entries are sorted."""
BYTES_PER_END = 200
"""Peak bytes per terminal for its layout."""


class EntrySequences(NamedTuple):
    """First sequences of each player.

    In a whole game, each player has one entry, the empty sequence.  In a part of a game, an entry
    is an edge of the public tree above the part, with one sequence per hand.  The code ``-1 - e``
    in place of a last own action is entry ``e`` of the player.
    """

    first: np.ndarray
    """int64 (players,): offset of each player's entries; entry ``e`` of player ``i`` is element
    ``first[i] + e`` of the other arrays."""
    sequence: np.ndarray
    """int64 (entries,): sequence of the first possible hand."""
    stride: np.ndarray
    """int64 (entries,): distance between the sequences of consecutive hands; 0 for an empty
    sequence, which all hands share."""
    mask: np.ndarray
    """int64 (entries,): row of ``hand_rank`` that numbers the possible hands."""


@dataclass
class Terminals:
    """Terminals of a game.  Terminals with equal last own actions are combined into one."""

    step: np.ndarray
    """int64 (2, ends): last own action of each player, or the code of an entry."""
    matrix: np.ndarray
    """int64 (ends,): index into ``tables``."""
    coefficient: np.ndarray
    """float64 (ends,): factor on the table."""
    tables: np.ndarray
    """float64 (tables, 2, hands, hands): probability times utility of every deal, for each
    player."""

    @cached_property
    def n_deals(self) -> np.ndarray:
        """int64 (tables,): number of deals that pay something."""
        return np.count_nonzero(self.tables.any(axis=1), axis=(1, 2))


def build(
    tree: PublicTree,
    last: np.ndarray,
    reachable: np.ndarray,
    form: SequenceForm,
    entered: EntrySequences,
) -> tuple[PayoffPart, ...]:
    """Build the parts of the payoff operator: single entries, then blocks.  Either part may be
    empty.

    Args:
        tree: The public tree of a two-player game, with buckets and ranks.
        last: int32 (2, nodes): each player's last own action, or the code of an entry.
        reachable: bool (nodes,): whether some deal reaches the node.
        form: The sequence form, without payoffs.
        entered: The entries.
    """
    ends = _ends(tree, last, reachable)
    places = [
        action_sequences(tree, form, entered, np.full(len(step), player), step)
        for player, step in enumerate(ends.step)
    ]
    programs = [
        (find_program(table[0]), find_program(np.ascontiguousarray(table[1].T)))
        for table in ends.tables
    ]
    # Sorting by both groups, then by matrix, then by sequence puts the terminals of one block next
    # to each other.
    order = np.lexsort((places[0].sequence, ends.matrix, places[1].group, places[0].group))
    run = _runs(order, places, ends.matrix)
    first = np.flatnonzero(run)
    length = np.diff(np.append(first, len(order)))
    blocked = _block_is_cheaper(length, ends.matrix[order[first]], programs, ends.n_deals)
    in_block = np.repeat(blocked, length)
    blocks = _blocks(
        order[in_block], order[first[blocked]], length[blocked], ends, places, programs
    )
    rest = order[~in_block]
    return _entries(form, rest, ends, places), blocks


@dataclass
class ActionSequences:
    """Sequences after last own actions; int64 (steps,) each."""

    group: np.ndarray
    """Number of bucket and action, combined; the negative code of the entry if the player has not
    acted."""
    sequence: np.ndarray
    """Sequence of the first possible hand."""
    stride: np.ndarray
    """Distance between the sequences of consecutive hands."""
    mask: np.ndarray
    """Row of ``hand_rank`` that numbers the possible hands."""


def action_sequences(
    tree: PublicTree,
    form: SequenceForm,
    entered: EntrySequences,
    player: np.ndarray,
    step: np.ndarray,
) -> ActionSequences:
    """Return the sequences after some own actions.

    Args:
        tree: The public tree, with buckets and ranks.
        form: The sequence form; its parents and payoffs are not used.
        entered: The entries.
        player: int64 (steps,): the acting player.
        step: int64 (steps,): the node after the action, or the code ``-1 - e`` of an entry.
    """
    before = step < 0
    entry = entered.first[player] + np.where(before, -1 - step, 0)
    entered_places = ActionSequences(
        step, entered.sequence[entry], entered.stride[entry], entered.mask[entry]
    )
    if not len(form.bucket_lanes):
        return entered_places
    # A negative step indexes from the end here; np.where discards these elements below.
    node = tree.parent[step]
    bucket = tree.bucket[node].astype(np.int64)
    action = step - tree.first_child[node]
    most = int(form.bucket_actions.max(initial=1))
    sequence = form.bucket_sequence[bucket] + action * form.bucket_lanes[bucket]
    return ActionSequences(
        np.where(before, step, bucket * most + action),
        np.where(before, entered_places.sequence, sequence + tree.rank[node]),
        np.where(before, entered_places.stride, form.bucket_stride[bucket]),
        np.where(before, entered_places.mask, form.bucket_mask[bucket]),
    )


def _ends(tree: PublicTree, last: np.ndarray, reachable: np.ndarray) -> Terminals:
    """Collect the terminals that some deal reaches.  Each distinct table is stored once."""
    terminals = np.flatnonzero((tree.payoff >= 0) & reachable)
    payoff = tree.payoff[terminals].astype(np.int64)
    weight = tree.weight[terminals].astype(np.int64)
    step = last[:, terminals].astype(np.int64)
    pair = weight * len(tree.matrix_table) + tree.matrix[payoff]
    distinct, matrix = np.unique(pair, return_inverse=True)
    ends = Terminals(
        step, matrix, tree.coefficient[payoff], _tables(tree, distinct, len(terminals))
    )
    order = np.lexsort((matrix, *step))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(step[:, order], axis=1) != 0).any(axis=0)
    return ends if new.all() else _add_equal_ends(ends, order, np.flatnonzero(new))


# The search for a program needs up to six further tables.
@reserves(
    lambda tree, distinct, ends: (
        8 * (2 * len(distinct) + 6) * tree.prior.size + BYTES_PER_END * ends
    )
)
def _tables(tree: PublicTree, distinct: np.ndarray, ends: int) -> np.ndarray:
    """Compute probability times utility of every deal, float64 (tables, 2, hands, hands).

    Args:
        tree: The public tree.
        distinct: int64 (tables,): numbers of weight and matrix, combined.
        ends: Number of terminals, whose layout takes memory, too.
    """
    # Fill the tables one at a time: they take gigabytes in large games, and temporaries would
    # double that.
    tables = np.empty((len(distinct), 2, *tree.prior.shape))
    for table, number in zip(tables, distinct.tolist(), strict=True):
        table[:] = tree.expected_utility(*divmod(number, len(tree.matrix_table)))
    return tables


def _add_equal_ends(ends: Terminals, order: np.ndarray, first: np.ndarray) -> Terminals:
    """Add up terminals with equal last own actions.  Each sum is a multiple of a new table.

    Args:
        ends: The terminals.
        order: int64 (ends,): order in which terminals with equal last own actions are adjacent.
        first: int64 (groups,): positions in ``order`` at which these actions change.
    """
    keep = order[first]
    matrix, coefficient = ends.matrix[keep].copy(), ends.coefficient[keep].copy()
    tables = list(ends.tables)
    known: dict[tuple[object, ...], int] = {}
    counts = np.diff(np.append(first, len(order)))
    for group in np.flatnonzero(counts > 1).tolist():
        same = order[first[group] : first[group] + counts[group]]
        # Dividing by the largest coefficient lets sums that differ only by a factor share one
        # table.
        scale = np.abs(ends.coefficient[same]).max() or 1.0
        share = ends.coefficient[same] / scale
        rounded = np.round(share, limits.SHARE_DECIMALS)
        key = (tuple(ends.matrix[same].tolist()), tuple(rounded.tolist()))
        if key not in known:
            reserve(4 * tables[0].nbytes * (len(same) + 1))
            known[key] = len(tables)
            summed = ends.tables[ends.matrix[same]] * share[:, None, None, None]
            total, size = summed.sum(axis=0), np.abs(summed).sum(axis=0)
            # A sum that cancels leaves a rounding error, which would decide ties.
            cancels = np.abs(total) <= limits.PAYOFF_ROUNDING * size
            tables.append(np.where(cancels, 0.0, total))
        matrix[group], coefficient[group] = known[key], scale
    used, matrix = np.unique(matrix, return_inverse=True)
    reserve(tables[0].nbytes * (len(tables) + len(used)))
    return Terminals(ends.step[:, keep], matrix, coefficient, np.array(tables)[used])


def _runs(order: np.ndarray, places: list[ActionSequences], matrix: np.ndarray) -> np.ndarray:
    """Mark the first terminal of each run, bool (ends,).

    Terminals of a run share their groups and their matrix, and have consecutive sequences for both
    players.
    """
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.diff(matrix[order]) != 0
    for player_places in places:
        new[1:] |= np.diff(player_places.group[order]) != 0
        new[1:] |= np.diff(player_places.sequence[order]) != 1
    return new


def _block_is_cheaper(
    length: np.ndarray,
    matrix: np.ndarray,
    programs: list[tuple[Program, Program]],
    n_deals: np.ndarray,
) -> np.ndarray:
    """Return whether each run takes less time as a block than as single entries, bool (runs,).

    Args:
        length: int64 (runs,): terminals of each run.
        matrix: int64 (runs,): index into ``programs`` and ``n_deals``.
        programs: The programs of both players for each table.
        n_deals: int64 (tables,): from :class:`Terminals`.
    """
    # A block runs one loop over its terminals per term of its programs.  As entries, each terminal
    # has one entry per deal and player.
    loops = np.array([sum(part.n_terms for part in both) for both in programs], dtype=np.float64)
    as_block = loops[matrix] * (LOOP_NS + LANE_NS * length)
    as_entries = 2 * n_deals[matrix] * ENTRY_NS * length
    return as_block < as_entries


def _blocks(
    ends_in: np.ndarray,
    first: np.ndarray,
    length: np.ndarray,
    ends: Terminals,
    places: list[ActionSequences],
    programs: list[tuple[Program, Program]],
) -> PayoffBlocks:
    """Build the blocks of the payoff operator.

    Args:
        ends_in: int64 (block terminals,): the terminals of all blocks, block by block.
        first: int64 (blocks,): first terminal of each block.
        length: int64 (blocks,): terminals of each block.
        ends: All terminals.
        places: The sequences of the terminals, for each player.
        programs: The programs of both players for each table.
    """
    used, matrix = np.unique(ends.matrix[first], return_inverse=True)
    order: list[np.ndarray] = []
    offset: list[np.ndarray] = []
    counts = [0]
    for player_places in places:
        # Blocks of one group end the same sequences of the player, so one thread must process them
        # all; blocks of different groups can run in parallel.
        by_group = np.argsort(player_places.group[first], kind="stable")
        sorted_groups = player_places.group[first][by_group]
        changes = np.flatnonzero(np.diff(sorted_groups, prepend=sorted_groups[:1] - 1))
        offset.append(changes + len(order) * len(first))
        order.append(by_group)
        counts.append(counts[-1] + len(changes))
    codes = [program.encode() for index in used.tolist() for program in programs[index]]
    offset_of_first = np.cumsum(length) - length
    table = [offset_of_first, length, matrix]
    for name in ("sequence", "stride", "mask"):
        table.extend(getattr(player_places, name)[first] for player_places in places)
    return PayoffBlocks(
        block=np.stack(table, axis=1).astype(np.int64).reshape(len(first), COLUMNS),
        coefficient=ends.coefficient[ends_in],
        order=np.stack(order).astype(np.int64),
        group_offset=np.concatenate([*offset, [2 * len(first)]]).astype(np.int64),
        player_groups=np.array(counts),
        program_offset=np.cumsum([0, *(len(code) for code, _ in codes)]),
        code=np.array([value for code, _ in codes for value in code], dtype=np.int64),
        weight=np.array([value for _, weight in codes for value in weight], dtype=np.float64),
    )


@reserves(
    lambda form, rest, ends, places: BYTES_PER_ENTRY * int(ends.n_deals[ends.matrix[rest]].sum())
)
def _entries(
    form: SequenceForm, rest: np.ndarray, ends: Terminals, places: list[ActionSequences]
) -> PayoffEntries:
    """Build the single entries for the terminals ``rest``, which belong to no block."""
    last: list[list[np.ndarray]] = [[], []]
    payoff: list[np.ndarray] = []
    matrix = ends.matrix[rest]
    for index in np.unique(matrix).tolist():
        terminals = rest[matrix == index]
        deals = np.argwhere(ends.tables[index].any(axis=0))
        value = ends.tables[index][:, deals[:, 0], deals[:, 1]]
        for player, player_places in enumerate(places):
            rank = form.hand_rank[player_places.mask[terminals, None], deals[None, :, player]]
            sequence = (
                player_places.sequence[terminals, None]
                + rank * player_places.stride[terminals, None]
            )
            last[player].append(sequence.ravel())
        payoff.append((ends.coefficient[terminals, None, None] * value.T[None]).reshape(-1, 2))
    return payoff_entries(
        np.stack([np.concatenate([np.empty(0, np.int64), *parts]) for parts in last]),
        np.concatenate([np.empty((0, 2)), *payoff]),
        form.player_sequences,
    )


def find_program(table: np.ndarray) -> Program:
    """Find a short program that multiplies by a matrix.

    Args:
        table: float64 (own hands, other's hands): probability times utility.
    """
    # Proportional columns become one pool of the other player's hands, and proportional rows of the
    # reduced matrix become one class of own hands.
    columns, weights = _proportional(table.T)
    pools = list(zip(columns, weights, strict=True))
    reduced = (
        np.stack([table[:, hands[0]] / factors[0] for hands, factors in pools], axis=1)
        if pools
        else (np.empty((len(table), 0)))
    )
    members, multiples = _proportional(reduced)
    scaled = np.array(
        [reduced[hands[0]] / factors[0] for hands, factors in zip(members, multiples, strict=True)]
    ).reshape(len(members), len(pools))
    terms = [np.flatnonzero(row) for row in scaled]
    count = sum(map(len, terms))
    if count >= limits.CHAIN_FROM_TERMS:
        # At a showdown, rows in the order of their sums are ranks in order of strength.  The
        # difference between consecutive ranks has few terms, so each class adds only these to the
        # previous sum.
        by_strength = np.argsort(scaled.sum(axis=1), kind="stable")
        step = scaled[by_strength]
        change = np.diff(step, axis=0, prepend=0.0)
        change[np.abs(change) <= limits.PAYOFF_ROUNDING * np.abs(step).max()] = 0.0
        if 2 * np.count_nonzero(change) <= count:
            classes = [
                Class(rank > 0, (np.flatnonzero(row), row[row != 0]), (members[i], multiples[i]))
                for rank, (row, i) in enumerate(zip(change, by_strength.tolist(), strict=True))
            ]
            return Program(pools, classes)
    classes = [
        Class(False, (nonzero, row[nonzero]), hands)
        for nonzero, row, hands in zip(
            terms, scaled, zip(members, multiples, strict=True), strict=True
        )
    ]
    return Program(pools, classes)


def _proportional(rows: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Group rows that are positive multiples of each other.  Rows of zeros are omitted.

    Returns:
        For each class, its rows, int64 (rows,), and the multiple of each row, float64 (rows,).
    """
    size = np.abs(rows).max(axis=1, initial=0.0)
    classes: dict[bytes, list[list[int]]] = {}
    for index in np.flatnonzero(size).tolist():
        scaled = rows[index] / size[index]
        # Adding 0.0 turns -0.0 into 0.0, whose bits differ.
        key = (np.round(scaled, limits.HASH_DECIMALS) + 0.0).tobytes()
        candidates = classes.setdefault(key, [])
        for members in candidates:
            first = rows[members[0]] / size[members[0]]
            if (np.abs(scaled - first) <= limits.PAYOFF_ROUNDING).all():
                members.append(index)
                break
        else:
            candidates.append([index])
    groups = sorted(members for candidates in classes.values() for members in candidates)
    hands = [np.array(members) for members in groups]
    return hands, [size[members] for members in hands]
