"""The payoff operator in plain NumPy, as the docstrings of its arrays define it.

It is written without a look at the kernels, so that the one can be held against the other, and
for whoever needs the operator entry by entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from .arrays import PayoffBlocks, PayoffEntries, SequenceForm

FEW_HANDS = 64
"""Up to as many hands, a product takes less time with the matrix than with its program."""

Terms = tuple[np.ndarray, np.ndarray]
"""int64 (terms,): hands or pools; float64 (terms,): their weights."""


class Class(NamedTuple):
    """Hands that get multiples of one sum."""

    chained: bool
    """Whether the sum begins with that of the class before."""
    pools: Terms
    """What is summed."""
    hands: Terms
    """Who gets it."""


@dataclass(frozen=True)
class Program:
    """A program of :class:`PayoffBlocks`, taken apart."""

    pools: list[Terms]
    """Hands of the other player."""
    classes: list[Class]
    """Hands of the player."""

    @cached_property
    def own(self) -> np.ndarray:
        """int64: hands of the player that the program mentions, ascending."""
        return _mentioned([one.hands for one in self.classes])

    @cached_property
    def others(self) -> np.ndarray:
        """int64: hands of the other player that the program mentions, ascending."""
        return _mentioned(self.pools)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Multiply by the matrix that the program stands for.

        Args:
            x: float64 (hands of the other player, columns); either player's hands may be
                padded, to one number for both.

        Returns:
            float64 (hands of the player, columns).
        """
        pooled = np.zeros((len(self.pools), x.shape[1]))
        for pool, (hands, weight) in zip(pooled, self.pools, strict=True):
            pool[:] = weight @ x[hands]
        out = np.zeros_like(x, dtype=np.float64)
        total = np.zeros(x.shape[1])
        for chained, (pools, weight), (hands, multiple) in self.classes:
            total = weight @ pooled[pools] + (total if chained else 0.0)
            out[hands] += multiple[:, None] * total
        return out


def _mentioned(parts: list[Terms]) -> np.ndarray:
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(one for one, _ in parts)]))


def read_program(blocks: PayoffBlocks, index: int) -> Program:
    """Take a program apart.

    Raises:
        ValueError: It is no program; says where in ``blocks.code``.
    """
    begin, end = blocks.program_offset[index : index + 2].tolist()
    at = begin

    def number(most: int | None = None) -> int:
        nonlocal at
        if at == end:
            raise ValueError(f"program {index} is not over where it ends, at blocks.code[{end}]")
        found = int(blocks.code[at])
        if found < 0 or (most is not None and found > most):
            raise ValueError(f"blocks.code[{at}], of program {index}, is {found}")
        at += 1
        return found

    def terms(most: int | None = None) -> Terms:
        nonlocal at
        first = at + 1
        at = first + number(end - first)
        items = blocks.code[first:at]
        wrong = (items < 0) | (items > (items if most is None else most))
        if wrong.any():
            at = first + int(wrong.argmax())
            raise ValueError(f"blocks.code[{at}], of program {index}, is {blocks.code[at]}")
        return items, blocks.weight[first:at]

    pools = [terms() for _ in range(number())]
    classes = [
        Class(bool(number(int(one > 0))), terms(len(pools) - 1), terms()) for one in range(number())
    ]
    if at != end:
        raise ValueError(f"program {index} ends at blocks.code[{at}], not [{end}]")
    return Program(pools, classes)


class Block(NamedTuple):
    """One block, from one player's side."""

    program: int
    """The program of the player."""
    terminals: slice
    """Its terminals."""
    own: tuple[int, int, int]
    """The player's sequence, stride and mask."""
    other: tuple[int, int, int]
    """Those of the other player."""


def blocks_of(form: SequenceForm, player: int) -> list[Block]:
    """All blocks, as one player sees them."""
    return [
        Block(
            2 * matrix + player,
            slice(first, first + count),
            (places[player], places[2 + player], places[4 + player]),
            (places[1 - player], places[3 - player], places[5 - player]),
        )
        for first, count, matrix, *places in form.blocks.block.tolist()
    ]


def block_sequences(
    form: SequenceForm, place: tuple[int, int, int], hands: np.ndarray
) -> np.ndarray:
    """int64: the sequences of hands at a block's first terminal."""
    sequence, stride, mask = place
    return sequence + form.hand_rank[mask, hands] * stride


def entry_rows(payoff: PayoffEntries) -> np.ndarray:
    """int64 (entries,): the sequence whose row each payoff entry is in."""
    # One run per slice and entry: the rows of the slice, in order.
    length = np.repeat(payoff.rows, payoff.entries)
    begin = np.cumsum(length) - length
    row = np.repeat(np.repeat(payoff.row, payoff.entries) - begin, length)
    row += np.arange(len(row))
    return row


def entries_of(payoff: PayoffEntries, player: int) -> slice:
    """The single entries of a player."""
    ends = np.append(payoff.offset, len(payoff.value))
    return slice(int(ends[payoff.slices[player]]), int(ends[payoff.slices[player + 1]]))


def product(form: SequenceForm, player: int, x: np.ndarray) -> np.ndarray:
    """What the operator gives a player's sequences.

    Args:
        form: The game.
        player: Whose payoffs.
        x: float64 (sequences,): a weight for every player's sequences.

    Returns:
        float64 (sequences of the player,).
    """
    begin, end = form.player_sequences[player : player + 2].tolist()
    payoff, single = form.payoff, entries_of(form.payoff, player)
    term = payoff.value[single] * x[payoff.column[:, single]].prod(axis=0)
    # Of nothing at all, the counts would be integers.
    g = np.bincount(entry_rows(payoff)[single] - begin, term, end - begin).astype(np.float64)
    program = lru_cache(maxsize=None)(lambda index: read_program(form.blocks, index))
    matrix = lru_cache(maxsize=None)(lambda index: _matrix(form, index))
    hands = form.hand_rank.shape[1] - 1
    for block in blocks_of(form, player):
        steps = program(block.program)
        own, others = steps.own, steps.others
        coefficient = form.blocks.coefficient[block.terminals]
        terminal = np.arange(len(coefficient))
        met = np.zeros((hands, len(coefficient)))
        met[others] = x[block_sequences(form, block.other, others)[:, None] + terminal]
        paid = matrix(block.program) @ met if hands <= FEW_HANDS else steps.apply(met)
        paid = paid[own] * coefficient
        at = block_sequences(form, block.own, own)[:, None] + terminal - begin
        if block.own[1]:
            g[at] += paid
        else:
            g[block.own[0] - begin] += paid.sum()
    return g


def magnitudes(form: SequenceForm) -> SequenceForm:
    """The form with every payoff as its absolute value: what it gives bounds what is summed."""
    return form._replace(
        payoff=form.payoff._replace(value=np.abs(form.payoff.value)),
        blocks=form.blocks._replace(
            coefficient=np.abs(form.blocks.coefficient), weight=np.abs(form.blocks.weight)
        ),
    )


def count_entries(form: SequenceForm, player: int) -> int:
    """How many entries :func:`all_entries` finds, or a few more."""
    found = entries_of(form.payoff, player)
    count = found.stop - found.start
    met = np.unique(form.blocks.block[:, 2], return_inverse=True)
    terminals = np.bincount(met[1], form.blocks.block[:, 1])
    for matrix, of_matrix in zip(met[0].tolist(), terminals.tolist(), strict=True):
        count += int(of_matrix) * np.count_nonzero(_matrix(form, 2 * matrix + player))
    return count


def all_entries(form: SequenceForm, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A player's operator entry by entry, the blocks multiplied out.

    Returns:
        int64 (entries,): own sequences; int64 (players - 1, entries): the others';
        float64 (entries,): values.  Entries with equal sequences are to be added.
    """
    single = entries_of(form.payoff, player)
    rows = [entry_rows(form.payoff)[single]]
    columns = [form.payoff.column[:, single].astype(np.int64)]
    values = [form.payoff.value[single]]
    matrix = lru_cache(maxsize=16)(lambda program: _matrix(form, program))
    for block in blocks_of(form, player):
        own, other = np.nonzero(matrix(block.program))
        coefficient = form.blocks.coefficient[block.terminals]
        terminal = np.arange(len(coefficient))
        row = block_sequences(form, block.own, own)[:, None] + terminal
        column = block_sequences(form, block.other, other)[:, None] + terminal
        rows.append(row.ravel())
        columns.append(column.reshape(1, -1))
        values.append((matrix(block.program)[own, other][:, None] * coefficient).ravel())
    return np.concatenate(rows), np.concatenate(columns, axis=1), np.concatenate(values)


def _matrix(form: SequenceForm, program: int) -> np.ndarray:
    """The matrix of a program, float64 (hands of the player, hands of the other player)."""
    hands = form.hand_rank.shape[1] - 1
    return read_program(form.blocks, program).apply(np.eye(hands))
