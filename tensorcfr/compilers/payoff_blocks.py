"""The payoff operator of hands x public tree: blocks where they pay, single entries elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..model.arrays import PayoffBlocks, PayoffEntries, PublicTree
from .payoff_entries import ROUNDING, payoff_entries

NOBODY = -1
"""In place of a last own step where the player has not acted: the player's entry 0."""
ENTRY_NS = 1.2
"""Nanoseconds per entry of the sparse part; about, for only what is less matters here."""
LOOP_NS = 6.0
"""Nanoseconds that a loop over the terminals of a block costs before it begins."""
LANE_NS = 0.1
"""Nanoseconds per terminal of such a loop."""
LONG = 64
"""Programs of as many terms are tried as prefix sums."""


class Entries(NamedTuple):
    """The sequences of each player that are there before anything happens.

    A whole game is entered through one empty sequence per player.  A part of a game is entered
    through the last sequences before it, those of one public step for each hand.  In place of a
    last own step, ``-1 - e`` is entry ``e`` of the player.
    """

    first: np.ndarray
    """int64 (players,): entry ``e`` of player ``i`` is ``[first[i] + e]`` of the other arrays."""
    sequence: np.ndarray
    """int64 (entries,): sequence of the first possible hand."""
    stride: np.ndarray
    """int64 (entries,): distance between the sequences of consecutive hands; 0 for an empty
    sequence, which is the same for all hands."""
    mask: np.ndarray
    """int64 (entries,): row of ``hand_rank``: the hands that are possible."""


@dataclass(frozen=True)
class Program:
    """How one player's part of a matrix is worked out; see :class:`PayoffBlocks`."""

    pools: list[tuple[np.ndarray, np.ndarray]]
    """Hands of the other player and their weights."""
    terms: list[tuple[np.ndarray, np.ndarray]]
    """Per class, pools and their weights."""
    rows: list[tuple[np.ndarray, np.ndarray]]
    """Per class, the player's hands and their weights."""
    chained: bool
    """Whether every class but the first begins with the one before."""

    @property
    def loops(self) -> int:
        """Loops over the terminals of a block."""
        return sum(len(hands) for part in (self.pools, self.terms, self.rows) for hands, _ in part)


@dataclass
class Ends:
    """The terminals of a game, those with equal last steps as one."""

    step: np.ndarray
    """int64 (2, ends): last own step of each player; -1 where he has not acted."""
    matrix: np.ndarray
    """int64 (ends,): which of ``tables``."""
    coefficient: np.ndarray
    """float64 (ends,): its multiple."""
    tables: np.ndarray
    """float64 (tables, 2, hands, hands): probability times utility of every deal."""


def build(
    tree: PublicTree,
    last: np.ndarray,
    exists: np.ndarray,
    layout: dict[str, np.ndarray],
    entered: Entries,
) -> tuple[PayoffBlocks, PayoffEntries]:
    """Both parts of the payoff operator.

    Args:
        tree: The public tree of a two-player game, with buckets and ranks.
        last: int32 (2, nodes): each player's last own step, or entry.
        exists: bool (nodes,): whether some deal gets there.
        layout: The fields of :class:`SequenceForm` that say the layout.
        entered: The entries.
    """
    ends = _ends(tree, last, exists)
    places = [_places(tree, layout, entered, player, ends.step[player]) for player in range(2)]
    programs = [
        (program(table[0]), program(np.ascontiguousarray(table[1].T))) for table in ends.tables
    ]
    order = np.lexsort((places[0].sequence, ends.matrix, places[1].group, places[0].group))
    run = _runs(order, places, ends.matrix)
    first = np.flatnonzero(run)
    length = np.diff(np.append(first, len(order)))
    blocked = _pays(length, ends.matrix[order[first]], programs, ends.tables)
    in_block = np.repeat(blocked, length)
    blocks = _blocks(
        order[in_block], order[first[blocked]], length[blocked], ends, places, programs
    )
    rest = order[~in_block]
    return blocks, _entries(tree, layout, rest, ends, places)


@dataclass
class Places:
    """Where one player's last steps lie among his sequences; int64 (ends,)."""

    group: np.ndarray
    """Which bucket and action; the entry, as a negative number, before the first own step."""
    sequence: np.ndarray
    """Sequence of the first possible hand."""
    stride: np.ndarray
    """Distance between the sequences of consecutive hands."""
    mask: np.ndarray
    """Which hands are possible."""


def _places(
    tree: PublicTree,
    layout: dict[str, np.ndarray],
    entered: Entries,
    player: int,
    step: np.ndarray,
) -> Places:
    owner = np.full(len(step), player)
    sequence, stride, mask = sequences_of(tree, layout, entered, owner, step)
    node = tree.parent[step]
    action = step - tree.first_child[node]
    fans = int(layout["bucket_actions"].max(initial=1))
    group = np.where(step < 0, step, tree.bucket[node].astype(np.int64) * fans + action)
    return Places(group, sequence, stride, mask)


def sequences_of(
    tree: PublicTree,
    layout: dict[str, np.ndarray],
    entered: Entries,
    player: np.ndarray,
    step: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sequences of steps: that of the first possible hand, the distance between hands, and
    the mask of possible hands; all int64, of the shape of ``step``."""
    before = step < 0
    entry = entered.first[player] + np.where(before, -1 - step, 0)
    found = entered.sequence[entry], entered.stride[entry], entered.mask[entry]
    if not len(layout["bucket_lanes"]):
        return found
    node = tree.parent[step]
    bucket = tree.bucket[node].astype(np.int64)
    action = step - tree.first_child[node]
    mask, stride = layout["bucket_mask"][bucket], layout["bucket_stride"][bucket]
    first = layout["bucket_sequence"][bucket] + action * layout["bucket_lanes"][bucket]
    first += tree.rank[node]
    return (
        np.where(before, found[0], first),
        np.where(before, found[1], stride),
        np.where(before, found[2], mask),
    )


def _ends(tree: PublicTree, last: np.ndarray, exists: np.ndarray) -> Ends:
    """The terminals that can occur, with the tables that they share."""
    over = np.flatnonzero((tree.payoff >= 0) & exists)
    payoff, weight = tree.payoff[over].astype(np.int64), tree.weight[over].astype(np.int64)
    step = last[:, over].astype(np.int64)
    pair = weight * len(tree.matrix_table) + tree.matrix[payoff]
    met, matrix = np.unique(pair, return_inverse=True)
    # One by one: large games have tables of gigabytes, which temporary ones would double.
    tables = np.empty((len(met), 2, *tree.prior.shape))
    for table, one in zip(tables, met.tolist(), strict=True):
        table[:] = tree.expected_utility(*divmod(one, len(tree.matrix_table)))
    ends = Ends(step, matrix, tree.coefficient[payoff], tables)
    order = np.lexsort((matrix, *step))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(step[:, order], axis=1) != 0).any(axis=0)
    return ends if new.all() else _merged(ends, order, np.flatnonzero(new))


def _merged(ends: Ends, order: np.ndarray, first: np.ndarray) -> Ends:
    """Terminals with equal last steps added up: their sum is a matrix of its own, of which
    each pot is a multiple."""
    keep = order[first]
    matrix, coefficient = ends.matrix[keep].copy(), ends.coefficient[keep].copy()
    tables = list(ends.tables)
    known: dict[tuple[object, ...], int] = {}
    counts = np.diff(np.append(first, len(order)))
    for at in np.flatnonzero(counts > 1).tolist():
        same = order[first[at] : first[at] + counts[at]]
        unit = np.abs(ends.coefficient[same]).max() or 1.0
        share = ends.coefficient[same] / unit
        key = (tuple(ends.matrix[same].tolist()), tuple(np.round(share, 12).tolist()))
        if key not in known:
            known[key] = len(tables)
            summed = ends.tables[ends.matrix[same]] * share[:, None, None, None]
            total, size = summed.sum(axis=0), np.abs(summed).sum(axis=0)
            # Payoffs that cancel leave the rounding of their sum, which would decide ties.
            tables.append(np.where(np.abs(total) <= ROUNDING * size, 0.0, total))
        matrix[at], coefficient[at] = known[key], unit
    used, matrix = np.unique(matrix, return_inverse=True)
    return Ends(ends.step[:, keep], matrix, coefficient, np.array(tables)[used])


def _runs(order: np.ndarray, places: list[Places], matrix: np.ndarray) -> np.ndarray:
    """Where a new run begins: ends that share groups and matrix, side by side for both players."""
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.diff(matrix[order]) != 0
    for own in places:
        new[1:] |= np.diff(own.group[order]) != 0
        new[1:] |= np.diff(own.sequence[order]) != 1
    return new


def _pays(
    length: np.ndarray,
    matrix: np.ndarray,
    programs: list[tuple[Program, Program]],
    tables: np.ndarray,
) -> np.ndarray:
    """Which runs take less time as a block than entry by entry, bool (runs,)."""
    loops = np.array([sum(part.loops for part in both) for both in programs], dtype=np.float64)
    entries = np.count_nonzero(tables.any(axis=1), axis=(1, 2))
    as_block = loops[matrix] * (LOOP_NS + LANE_NS * length)
    as_entries = 2 * entries[matrix] * ENTRY_NS * length
    return as_block < as_entries


def program(table: np.ndarray) -> Program:
    """The shortest way found to multiply by a matrix of hands, float64 (own, other's)."""
    columns, weights = _proportional(table.T)
    pools = list(zip(columns, weights, strict=True))
    reduced = (
        np.stack([table[:, hands[0]] / own[0] for hands, own in pools], axis=1)
        if pools
        else (np.empty((len(table), 0)))
    )
    members, multiples = _proportional(reduced)
    unit = np.array(
        [reduced[hands[0]] / own[0] for hands, own in zip(members, multiples, strict=True)]
    ).reshape(len(members), len(pools))
    plain = [np.flatnonzero(row) for row in unit]
    count = sum(map(len, plain))
    if count >= LONG:
        by_strength = np.argsort(unit.sum(axis=1), kind="stable")
        step = unit[by_strength]
        change = np.diff(step, axis=0, prepend=0.0)
        change[np.abs(change) <= ROUNDING * np.abs(step).max()] = 0.0
        if 2 * np.count_nonzero(change) <= count:
            return Program(
                pools,
                [(np.flatnonzero(row), row[row != 0]) for row in change],
                [(members[i], multiples[i]) for i in by_strength.tolist()],
                chained=True,
            )
    return Program(
        pools,
        [(at, row[at]) for at, row in zip(plain, unit, strict=True)],
        list(zip(members, multiples, strict=True)),
        chained=False,
    )


def _proportional(rows: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Rows that are positive multiples of each other, rows of zeros left out.

    Returns:
        The rows of each class, and the multiple that each is.
    """
    size = np.abs(rows).max(axis=1, initial=0.0)
    classes: dict[bytes, list[list[int]]] = {}
    for index in np.flatnonzero(size).tolist():
        unit = rows[index] / size[index]
        alike = classes.setdefault((np.round(unit, 9) + 0.0).tobytes(), [])
        for members in alike:
            first = rows[members[0]] / size[members[0]]
            if (np.abs(unit - first) <= ROUNDING).all():
                members.append(index)
                break
        else:
            alike.append([index])
    found = sorted(members for alike in classes.values() for members in alike)
    hands = [np.array(members) for members in found]
    return hands, [size[members] for members in hands]


def _blocks(
    ends_in: np.ndarray,
    first: np.ndarray,
    length: np.ndarray,
    ends: Ends,
    places: list[Places],
    programs: list[tuple[Program, Program]],
) -> PayoffBlocks:
    """The blocks: ``first`` end and ``length`` of each, and all their ends in order."""
    used, matrix = np.unique(ends.matrix[first], return_inverse=True)
    listed = [part for index in used.tolist() for part in programs[index]]
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
    texts = [_code(part) for part in listed]
    offset_of_first = np.cumsum(length) - length
    table = [offset_of_first, length, matrix]
    for name in ("sequence", "stride", "mask"):
        table.extend(getattr(own, name)[first] for own in places)
    return PayoffBlocks(
        block=np.stack(table, axis=1).astype(np.int64).reshape(len(first), 9),
        coefficient=ends.coefficient[ends_in],
        order=np.stack(order).astype(np.int64),
        group_offset=np.concatenate([*offset, [2 * len(first)]]).astype(np.int64),
        player_groups=np.array(counts),
        program_offset=np.cumsum([0, *(len(code) for code, _ in texts)]),
        code=np.array([value for code, _ in texts for value in code], dtype=np.int64),
        weight=np.array([value for _, weight in texts for value in weight], dtype=np.float64),
    )


def _code(part: Program) -> tuple[list[int], list[float]]:
    """The text of a program, and the weights beside it."""
    code: list[int] = []
    weight: list[float] = []

    def say(numbers: Iterable[int], weights: Iterable[float]) -> None:
        code.extend(numbers)
        weight.extend(weights)

    def listed(hands: np.ndarray, weights: np.ndarray) -> None:
        say([len(hands), *hands.tolist()], [0.0, *weights.tolist()])

    say([len(part.pools)], [0.0])
    for pool in part.pools:
        listed(*pool)
    say([len(part.rows)], [0.0])
    for index, (term, row) in enumerate(zip(part.terms, part.rows, strict=True)):
        say([int(part.chained and index > 0)], [0.0])
        listed(*term)
        listed(*row)
    return code, weight


def _join(parts: Iterable[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype=dtype), *parts]).astype(dtype)


def _entries(
    tree: PublicTree,
    layout: dict[str, np.ndarray],
    rest: np.ndarray,
    ends: Ends,
    places: list[Places],
) -> PayoffEntries:
    """The sparse part, for the ends that are in no block."""
    last: list[list[np.ndarray]] = [[], []]
    payoff: list[np.ndarray] = []
    matrix = ends.matrix[rest]
    for index in np.unique(matrix).tolist():
        here = rest[matrix == index]
        deals = np.argwhere(ends.tables[index].any(axis=0))
        value = ends.tables[index][:, deals[:, 0], deals[:, 1]]
        for player, own in enumerate(places):
            rank = layout["hand_rank"][own.mask[here, None], deals[None, :, player]]
            sequence = own.sequence[here, None] + rank * own.stride[here, None]
            last[player].append(sequence.ravel())
        payoff.append((ends.coefficient[here, None, None] * value.T[None]).reshape(-1, 2))
    return payoff_entries(
        np.stack([_join(parts, np.int64) for parts in last]),
        np.concatenate([np.empty((0, 2)), *payoff]),
        layout["player_sequences"],
    )
