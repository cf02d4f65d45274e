"""Values of a profile in a game in chunks, worked out chunk by chunk where they are looked at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._util.recent import Recent
from ..kernels.chunk_values import REACH, STRATEGY, VALUE, trunk_values, values_in_chunk
from ..kernels.chunks import Numbers
from ..model.chunks import ChunkLocks
from ..model.cut_game import CutGame


class Actions(NamedTuple):
    """Numbers of some actions, arrays of one shape."""

    strategy: np.ndarray
    """float64: the probability of each action at its infoset."""
    reach: np.ndarray
    """float64: the player's own reach of the sequence that the action ends."""
    value: np.ndarray
    """float64: the counterfactual value of the sequence."""


class ChunkValues:
    """Strategies, own reaches and counterfactual values of a profile in a game in chunks.

    The arrays of the trunk are made at once, which takes a pass over all chunks; those of a chunk
    when they are asked for.

    Args:
        game: The game.
        weight: What the strategies are made from by regret matching: an average, say.
        locks: Locked infosets, or None.
    """

    def __init__(self, game: CutGame, weight: Numbers, locks: ChunkLocks | None) -> None:
        self._game, self._weight, self._locks = game.chunks, weight, locks
        self._trunk = np.zeros((3, self._game.trunk.n_sequences))
        trunk_values(self._game, weight, np.zeros(len(self._game.entry)), self._trunk, locks)
        self._chunks = Recent()

    def at(self, chunk: int, numbers: np.ndarray) -> Actions:
        """What there is at some numbers of a solver's arrays, all of them in one chunk, or in the
        trunk (-1)."""
        if chunk < 0:
            found = self._trunk[:, numbers]
        else:
            found = self._chunks.get(chunk, self._read)[:, numbers - self._game.first[chunk]]
        return Actions(found[STRATEGY], found[REACH], found[VALUE])

    def _read(self, chunk: int) -> np.ndarray:
        """The arrays of a chunk, float64 (3, numbers of the chunk)."""
        begin, end = self._game.first[chunk : chunk + 2].tolist()
        found = np.zeros((3, end - begin))
        values_in_chunk(self._game, chunk, self._weight, self._trunk, found, self._locks)
        return found
