"""The payoff operator of hands x public tree: blocks where they are cheaper, else entries.

Blocks have programs: how to multiply by a matrix of hands in few operations; see
:class:`tensorcfr.payoff.program.Program`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._util import limits
from .._util.memory import reserve
from ..model.arrays import PublicTree, SequenceForm
from ..payoff import PayoffBlocks, PayoffEntries, PayoffPart
from ..payoff.blocks import COLUMNS
from ..payoff.entries import payoff_entries
from ..payoff.program import Class, Program

NO_STEP = -1
"""Last own step of a player who has not acted: the player's entry 0."""
ENTRY_NS = 1.2
"""Nanoseconds per entry of the sparse part.  Rough, like the next two: only the comparison between
a block and its entries matters."""
LOOP_NS = 6.0
"""Nanoseconds to start a loop over the terminals of a block."""
LANE_NS = 0.1
"""Nanoseconds per terminal of such a loop."""
BYTES_PER_ENTRY = 140
"""Bytes per entry while the sparse part is sorted."""
BYTES_PER_END = 200
"""Bytes per terminal for its layout."""


class Entries(NamedTuple):
    """The first sequences of each player.

    The entry of a whole game is the empty sequence of each player.  Each entry of a part of a game
    is a public step before the part, with one sequence per hand.  In place of a last own step,
    ``-1 - e`` is entry ``e`` of the player.
    """

    first: np.ndarray
    """int64 (players,): entry ``e`` of player ``i`` is ``[first[i] + e]`` of the other arrays."""
    sequence: np.ndarray
    """int64 (entries,): sequence of the first possible hand."""
    stride: np.ndarray
    """int64 (entries,): distance between the sequences of consecutive hands; 0 for the empty
    sequence, which all hands share."""
    mask: np.ndarray
    """int64 (entries,): row of ``hand_rank``: the hands that are possible."""


@dataclass
class Ends:
    """The terminals of a game; terminals with equal last steps are one."""

    step: np.ndarray
    """int64 (2, ends): last own step of each player, or entry."""
    matrix: np.ndarray
    """int64 (ends,): row of ``tables``."""
    coefficient: np.ndarray
    """float64 (ends,): multiple of the table."""
    tables: np.ndarray
    """float64 (tables, 2, hands, hands): probability times utility of every deal."""


def build(
    tree: PublicTree,
    last: np.ndarray,
    reachable: np.ndarray,
    form: SequenceForm,
    entered: Entries,
) -> tuple[PayoffPart, ...]:
    """The parts of the payoff operator: single entries, then blocks; each may be empty.

    Args:
        tree: The public tree of a two-player game, with buckets and ranks.
        last: int32 (2, nodes): each player's last own step, or entry.
        reachable: bool (nodes,): whether some deal reaches the node.
        form: The sequence form, without payoffs.
        entered: The entries.
    """
    ends = _ends(tree, last, reachable)
    places = [
        places_of(tree, form, entered, np.full(len(own), player), own)
        for player, own in enumerate(ends.step)
    ]
    programs = [
        (find_program(table[0]), find_program(np.ascontiguousarray(table[1].T)))
        for table in ends.tables
    ]
    order = np.lexsort((places[0].sequence, ends.matrix, places[1].group, places[0].group))
    run = _runs(order, places, ends.matrix)
    first = np.flatnonzero(run)
    length = np.diff(np.append(first, len(order)))
    blocked = _block_is_cheaper(length, ends.matrix[order[first]], programs, ends.tables)
    in_block = np.repeat(blocked, length)
    blocks = _blocks(
        order[in_block], order[first[blocked]], length[blocked], ends, places, programs
    )
    rest = order[~in_block]
    return _entries(form, rest, ends, places), blocks


@dataclass
class Places:
    """Sequences of last steps; int64 (steps,) each."""

    group: np.ndarray
    """Bucket and action, as one number; the entry, as a negative one, before the first step."""
    sequence: np.ndarray
    """Sequence with the first possible hand."""
    stride: np.ndarray
    """Distance between the sequences of consecutive hands."""
    mask: np.ndarray
    """Row of ``hand_rank``: the possible hands."""


def places_of(
    tree: PublicTree,
    form: SequenceForm,
    entered: Entries,
    player: np.ndarray,
    step: np.ndarray,
) -> Places:
    """The sequences of some steps.

    Args:
        tree: The public tree, with buckets and ranks.
        form: The sequence form, without parents and payoffs maybe.
        entered: The entries.
        player: int64: the player of each step.
        step: int64: the node after each step, or the entry.
    """
    before = step < 0
    entry = entered.first[player] + np.where(before, -1 - step, 0)
    found = Places(step, entered.sequence[entry], entered.stride[entry], entered.mask[entry])
    if not len(form.bucket_lanes):
        return found
    node = tree.parent[step]
    bucket = tree.bucket[node].astype(np.int64)
    action = step - tree.first_child[node]
    most = int(form.bucket_actions.max(initial=1))
    sequence = form.bucket_sequence[bucket] + action * form.bucket_lanes[bucket]
    return Places(
        np.where(before, step, bucket * most + action),
        np.where(before, found.sequence, sequence + tree.rank[node]),
        np.where(before, found.stride, form.bucket_stride[bucket]),
        np.where(before, found.mask, form.bucket_mask[bucket]),
    )


def _ends(tree: PublicTree, last: np.ndarray, reachable: np.ndarray) -> Ends:
    """The terminals that some deal reaches, and their tables, each distinct table once."""
    terminals = np.flatnonzero((tree.payoff >= 0) & reachable)
    payoff = tree.payoff[terminals].astype(np.int64)
    weight = tree.weight[terminals].astype(np.int64)
    step = last[:, terminals].astype(np.int64)
    pair = weight * len(tree.matrix_table) + tree.matrix[payoff]
    distinct, matrix = np.unique(pair, return_inverse=True)
    # One by one: the tables of large games take gigabytes, and temporaries would double them.
    # As many as six for one program.
    reserve(8 * (2 * len(distinct) + 6) * tree.prior.size + BYTES_PER_END * len(terminals))
    tables = np.empty((len(distinct), 2, *tree.prior.shape))
    for table, number in zip(tables, distinct.tolist(), strict=True):
        table[:] = tree.expected_utility(*divmod(number, len(tree.matrix_table)))
    ends = Ends(step, matrix, tree.coefficient[payoff], tables)
    order = np.lexsort((matrix, *step))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(step[:, order], axis=1) != 0).any(axis=0)
    return ends if new.all() else _added(ends, order, np.flatnonzero(new))


def _added(ends: Ends, order: np.ndarray, first: np.ndarray) -> Ends:
    """Add up terminals with equal last steps, which are adjacent in ``order`` and change at
    ``first``; each sum is a multiple of a table of its own."""
    keep = order[first]
    matrix, coefficient = ends.matrix[keep].copy(), ends.coefficient[keep].copy()
    tables = list(ends.tables)
    known: dict[tuple[object, ...], int] = {}
    counts = np.diff(np.append(first, len(order)))
    for at in np.flatnonzero(counts > 1).tolist():
        same = order[first[at] : first[at] + counts[at]]
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
        matrix[at], coefficient[at] = known[key], scale
    used, matrix = np.unique(matrix, return_inverse=True)
    reserve(tables[0].nbytes * (len(tables) + len(used)))
    return Ends(ends.step[:, keep], matrix, coefficient, np.array(tables)[used])


def _runs(order: np.ndarray, places: list[Places], matrix: np.ndarray) -> np.ndarray:
    """Where a run begins, bool (ends,): a run shares groups and matrix, and its sequences are
    consecutive for both players."""
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.diff(matrix[order]) != 0
    for own in places:
        new[1:] |= np.diff(own.group[order]) != 0
        new[1:] |= np.diff(own.sequence[order]) != 1
    return new


def _block_is_cheaper(
    length: np.ndarray,
    matrix: np.ndarray,
    programs: list[tuple[Program, Program]],
    tables: np.ndarray,
) -> np.ndarray:
    """Whether runs of so many terminals take less time as a block than entry by entry, bool
    (runs,); ``matrix`` is the row of ``tables`` and of ``programs``."""
    loops = np.array([sum(part.n_terms for part in both) for both in programs], dtype=np.float64)
    entries = np.count_nonzero(tables.any(axis=1), axis=(1, 2))
    as_block = loops[matrix] * (LOOP_NS + LANE_NS * length)
    as_entries = 2 * entries[matrix] * ENTRY_NS * length
    return as_block < as_entries


def _blocks(
    ends_in: np.ndarray,
    first: np.ndarray,
    length: np.ndarray,
    ends: Ends,
    places: list[Places],
    programs: list[tuple[Program, Program]],
) -> PayoffBlocks:
    """The blocks of the payoff operator, from int64 (block terminals,), the ends in blocks one
    after another, and int64 (blocks,), first end and number of ends of each block."""
    used, matrix = np.unique(ends.matrix[first], return_inverse=True)
    order: list[np.ndarray] = []
    offset: list[np.ndarray] = []
    counts = [0]
    for own in places:
        by_group = np.argsort(own.group[first], kind="stable")
        sorted_groups = own.group[first][by_group]
        changes = np.flatnonzero(np.diff(sorted_groups, prepend=sorted_groups[:1] - 1))
        offset.append(changes + len(order) * len(first))
        order.append(by_group)
        counts.append(counts[-1] + len(changes))
    codes = [program.encode() for index in used.tolist() for program in programs[index]]
    offset_of_first = np.cumsum(length) - length
    table = [offset_of_first, length, matrix]
    for name in ("sequence", "stride", "mask"):
        table.extend(getattr(own, name)[first] for own in places)
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


def _entries(
    form: SequenceForm, rest: np.ndarray, ends: Ends, places: list[Places]
) -> PayoffEntries:
    """The sparse part: the entries of the ends ``rest``, which are in no block."""
    last: list[list[np.ndarray]] = [[], []]
    payoff: list[np.ndarray] = []
    matrix = ends.matrix[rest]
    deals_of = np.count_nonzero(ends.tables.any(axis=1), axis=(1, 2))
    reserve(BYTES_PER_ENTRY * int(deals_of[matrix].sum()))
    for index in np.unique(matrix).tolist():
        here = rest[matrix == index]
        deals = np.argwhere(ends.tables[index].any(axis=0))
        value = ends.tables[index][:, deals[:, 0], deals[:, 1]]
        for player, own in enumerate(places):
            rank = form.hand_rank[own.mask[here, None], deals[None, :, player]]
            sequence = own.sequence[here, None] + rank * own.stride[here, None]
            last[player].append(sequence.ravel())
        payoff.append((ends.coefficient[here, None, None] * value.T[None]).reshape(-1, 2))
    return payoff_entries(
        np.stack([np.concatenate([np.empty(0, np.int64), *parts]) for parts in last]),
        np.concatenate([np.empty((0, 2)), *payoff]),
        form.player_sequences,
    )


def find_program(table: np.ndarray) -> Program:
    """A short program for multiplying by a matrix.

    Args:
        table: float64 (own hands, other's hands): probability times utility.
    """
    columns, weights = _proportional(table.T)
    pools = list(zip(columns, weights, strict=True))
    reduced = (
        np.stack([table[:, hands[0]] / own[0] for hands, own in pools], axis=1)
        if pools
        else (np.empty((len(table), 0)))
    )
    members, multiples = _proportional(reduced)
    scaled = np.array(
        [reduced[hands[0]] / own[0] for hands, own in zip(members, multiples, strict=True)]
    ).reshape(len(members), len(pools))
    terms = [np.flatnonzero(row) for row in scaled]
    count = sum(map(len, terms))
    if count >= limits.CHAIN_FROM_TERMS:
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
        Class(False, (at, row[at]), hands)
        for at, row, hands in zip(terms, scaled, zip(members, multiples, strict=True), strict=True)
    ]
    return Program(pools, classes)


def _proportional(rows: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Classes of rows that are positive multiples of each other; rows of zeros are omitted.

    Returns:
        For each class, int64: its rows; and float64: the multiple of each.
    """
    size = np.abs(rows).max(axis=1, initial=0.0)
    classes: dict[bytes, list[list[int]]] = {}
    for index in np.flatnonzero(size).tolist():
        scaled = rows[index] / size[index]
        key = (np.round(scaled, limits.HASH_DECIMALS) + 0.0).tobytes()
        candidates = classes.setdefault(key, [])
        for members in candidates:
            first = rows[members[0]] / size[members[0]]
            if (np.abs(scaled - first) <= limits.PAYOFF_ROUNDING).all():
                members.append(index)
                break
        else:
            candidates.append([index])
    found = sorted(members for candidates in classes.values() for members in candidates)
    hands = [np.array(members) for members in found]
    return hands, [size[members] for members in hands]
