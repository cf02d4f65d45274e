"""Payoffs in blocks: few hand-by-hand matrices that many public terminals share."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np

from .payoff_form import PayoffForm
from .program import Program, read_program

FIRST, COUNT, MATRIX, SEQUENCE, STRIDE, MASK = 0, 1, 2, 3, 5, 7
"""Columns of ``PayoffBlocks.block``.  The last three are for player 0, each followed by the column
for player 1."""
COLUMNS = 9
"""Number of columns of ``PayoffBlocks.block``."""
FEW_HANDS = 64
"""Largest number of hands at which a product with the full matrix is faster than its program."""


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
