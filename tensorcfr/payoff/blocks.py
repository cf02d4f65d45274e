"""Payoffs in blocks: few hand-by-hand matrices serve many public terminals."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from .program import Program, read_program

if TYPE_CHECKING:
    from ..model.arrays import SequenceForm

FIRST, COUNT, MATRIX, SEQUENCE, STRIDE, MASK = 0, 1, 2, 3, 5, 7
"""Columns of ``PayoffBlocks.block``; the last three are those of player 0, followed by those of
player 1."""
COLUMNS = 9
"""Columns of ``PayoffBlocks.block``."""
FEW_HANDS = 64
"""Up to this number of hands, a product with the whole matrix is faster than with its program."""


class PayoffBlocks(NamedTuple):
    """The part of the payoff operator in which few hand-by-hand matrices serve many terminals.

    A *block* is a row of public terminals that share a matrix ``K``, and whose last sequences
    are adjacent for both players: terminal ``t`` of a block ends the sequence
    ``sequence + rank * stride + t`` of a player with the hand number ``rank`` of those that
    are possible there.  It adds ``g[hand, t] += coefficient[t] * sum_other K[hand, other] *
    x[other, t]``.  A matrix is kept as a :class:`Program` for each player.  Only games of two
    players have blocks.
    """

    block: Annotated[np.ndarray, np.int64, "blocks", COLUMNS]
    """int64 (blocks, 9): first terminal, number of terminals, matrix (player ``i``'s program
    is ``2 * matrix + i``); then for each player the sequence, the stride, and the row of
    ``SequenceForm.hand_rank`` that has the possible hands.  The stride of the empty sequence is 0:
    it is the same for all hands."""
    coefficient: Annotated[np.ndarray, np.float64, "block terminals"]
    """float64 (block terminals,): by terminal."""
    order: Annotated[np.ndarray, np.int64, 2, "blocks"]
    """int64 (2, blocks): the blocks, those that end equal sequences of player ``i`` together."""
    group_offset: Annotated[np.ndarray, np.int64, "groups + 1"]
    """int64 (groups + 1,): a group is ``[k]`` to ``[k + 1] - 1`` of the flat ``order``; blocks of
    different groups of a player end different sequences of that player."""
    player_groups: Annotated[np.ndarray, np.int64, "players + 1"]
    """int64 (players + 1,): player ``i`` owns groups ``[i]`` to ``[i + 1] - 1``."""
    program_offset: Annotated[np.ndarray, np.int64, "programs + 1"]
    """int64 (programs + 1,): where the program begins in ``code``."""
    code: Annotated[np.ndarray, np.int64, "code"]
    """int64 (code,): the programs, as :meth:`Program.encode` writes them."""
    weight: Annotated[np.ndarray, np.float64, "code"]
    """float64 (code,): for each hand and term in ``code``, its weight."""

    @property
    def kind(self) -> str:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        return "blocks"

    @property
    def is_empty(self) -> bool:
        """Whether there are no blocks."""
        return not len(self.block)

    @property
    def n_blocks(self) -> int:
        """Blocks."""
        return len(self.block)

    def program(self, index: int) -> Program:
        """A program, decoded.

        Raises:
            ValueError: The code is no program; says which program and where.
        """
        begin, end = self.program_offset[index : index + 2].tolist()
        try:
            return read_program(self.code, self.weight, begin, end)
        except ValueError as error:
            raise ValueError(f"program {index}: {error}") from None

    def sides(self, player: int) -> list[Side]:
        """All blocks, from one player's side."""
        return [
            Side(
                2 * matrix + player,
                slice(first, first + count),
                Ends(places[player], places[2 + player], places[4 + player]),
                Ends(places[1 - player], places[3 - player], places[5 - player]),
            )
            for first, count, matrix, *places in self.block.tolist()
        ]

    def product(self, form: SequenceForm, player: int, x: np.ndarray) -> np.ndarray:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        begin, end = form.player_sequences[player : player + 2].tolist()
        g = np.zeros(end - begin)
        program = lru_cache(maxsize=None)(self.program)
        matrix = lru_cache(maxsize=None)(lambda index: self._matrix(form, index))
        hands = form.hand_rank.shape[1] - 1
        for side in self.sides(player):
            steps = program(side.program)
            own, others = steps.own, steps.others
            coefficient = self.coefficient[side.terminals]
            terminal = np.arange(len(coefficient))
            met = np.zeros((hands, len(coefficient)))
            met[others] = x[side.other.sequences(form, others)[:, None] + terminal]
            paid = matrix(side.program) @ met if hands <= FEW_HANDS else steps.apply(met)
            paid = paid[own] * coefficient
            if side.own.stride:
                g[side.own.sequences(form, own)[:, None] + terminal - begin] += paid
            else:
                g[side.own.sequence - begin] += paid.sum()
        return g

    def triples(self, form: SequenceForm, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        rows, columns, values = [], [], []
        matrix = lru_cache(maxsize=16)(lambda program: self._matrix(form, program))
        for side in self.sides(player):
            own, other = np.nonzero(matrix(side.program))
            coefficient = self.coefficient[side.terminals]
            terminal = np.arange(len(coefficient))
            rows.append((side.own.sequences(form, own)[:, None] + terminal).ravel())
            columns.append((side.other.sequences(form, other)[:, None] + terminal).ravel())
            values.append((matrix(side.program)[own, other][:, None] * coefficient).ravel())
        return np.concatenate(rows), np.concatenate(columns)[None], np.concatenate(values)

    def count_entries(self, form: SequenceForm, player: int) -> int:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        matrices, of_block = np.unique(self.block[:, MATRIX], return_inverse=True)
        terminals = np.bincount(of_block, self.block[:, COUNT])
        return sum(
            int(times) * int(np.count_nonzero(self._matrix(form, 2 * matrix + player)))
            for matrix, times in zip(matrices.tolist(), terminals.tolist(), strict=True)
        )

    def magnitudes(self) -> PayoffBlocks:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        return self._replace(coefficient=np.abs(self.coefficient), weight=np.abs(self.weight))

    def describe(self) -> str:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        return (
            f"{len(self.coefficient):,} public terminals in {self.n_blocks:,} blocks of "
            f"{len(self.program_offset) // 2:,} distinct matrices"
        )

    def _matrix(self, form: SequenceForm, program: int) -> np.ndarray:
        """The matrix of a program, float64 (hands of the player, hands of the other player)."""
        return self.program(program).apply(np.eye(form.hand_rank.shape[1] - 1))


class Ends(NamedTuple):
    """The last sequences of one player at a block's terminals."""

    sequence: int
    """At the first terminal, with the first possible hand."""
    stride: int
    """Distance between the sequences of consecutive hands."""
    mask: int
    """Row of ``SequenceForm.hand_rank``."""

    def sequences(self, form: SequenceForm, hands: np.ndarray) -> np.ndarray:
        """int64: the sequences of hands at the first terminal."""
        return self.sequence + form.hand_rank[self.mask, hands] * self.stride


class Side(NamedTuple):
    """One block, from one player's side."""

    program: int
    """The program of the player."""
    terminals: slice
    """Its terminals."""
    own: Ends
    """The player's sequences."""
    other: Ends
    """The other player's sequences."""
