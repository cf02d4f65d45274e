"""The infosets that traversals on rules came to, as networks see them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..rules import Decision
from ..uncompiled.game import UncompiledGame
from ..uncompiled.histories import Histories, Node
from ..uncompiled.infosets import InfosetTable, make_room
from .features import RuleFeatures
from .inputs import Inputs
from .learners import Place


class MetInputs(Inputs):
    """Infosets in the order in which they were met; rows are as many as there is room for, so that
    few sizes are compiled."""

    __slots__ = ()

    def rows_of(self, player: int | None) -> tuple[int, int]:
        """All rows: those of a player are anywhere among them."""
        return 0, len(self.features)


class MetInfosets:
    """What networks need to know of each infoset in a table, in arrays that grow with it.

    Args:
        table: The table.
        source: Makes features.
    """

    def __init__(self, table: InfosetTable, source: RuleFeatures) -> None:
        self.table, self.source = table, source
        self.features = np.zeros((64, source.width), np.float32)
        """float32 (room, width)."""
        self.output = np.full((64, 1), -1, np.int32)
        """int32 (room, most actions): the network's output of each action; -1 where there is
        none."""
        self.block = np.full(len(table.numbers), -1, np.int32)
        """int32 (numbers of the table,): the infoset of each block, at the block's regrets."""

    def enter(self, row: int, features: np.ndarray, output: np.ndarray) -> None:
        """Note an infoset that has just entered the table.

        Args:
            row: Its row.
            features: float32 (width,).
            output: int32 (actions,).
        """
        room, width = self.output.shape
        if row >= room or len(output) > width:
            wider = np.full((max(room, _room(row + 1)), max(width, len(output))), -1, np.int32)
            wider[:room, :width] = self.output
            self.output = wider
            self.features.resize((len(wider), self.source.width), refcheck=False)
        self.features[row] = features
        self.output[row, : len(output)] = output
        held = len(self.block)
        if len(self.table.numbers) > held:
            make_room(self.block, len(self.table.numbers))
            self.block[held:] = -1
        self.block[self.table.block(row)] = row

    def at(self, row: int) -> Place:
        """An infoset alone."""
        first = self.table.first
        output = self.output[row, : first[row + 1] - first[row]]
        return Place(self.features[row], output, first[row])

    @property
    def inputs(self) -> Inputs:
        """All infosets so far."""
        held, room = len(self.table), len(self.features)
        output = self.output[:held]
        is_action = output >= 0
        first = np.array(self.table.first[:-1], np.int64)
        sequence = np.where(is_action, first[:, None] + np.arange(output.shape[1]), -1)
        legal = np.zeros((room, self.source.n_outputs), bool)
        legal[np.nonzero(is_action)[0], output[is_action]] = True
        return MetInputs(
            features=self.features,
            player_rows=np.array([0, room]),
            row=np.arange(held, dtype=np.int32),
            output=np.where(is_action, output, 0),
            sequence=sequence,
            legal=legal,
        )


def _room(rows: int) -> int:
    """Rows that there is room for, where so many are needed: a power of two."""
    return 1 << (rows - 1).bit_length()


class MetHistories(Histories):
    """Histories that say when an infoset is new.

    Args:
        game: The game.
        table: The table that infosets enter.
        entered: Called with the row of a new infoset, what the rules say there, and the state.
    """

    def __init__(
        self,
        game: UncompiledGame,
        table: InfosetTable,
        entered: Callable[[int, Decision, object], None],
    ) -> None:
        self._entered = entered
        super().__init__(game, table)

    def _enter(self, said: Decision, node: Node) -> int:
        row = super()._enter(said, node)
        self._entered(row, said, node.state)
        return row
