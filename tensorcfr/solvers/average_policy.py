"""Average strategies of games in chunks, which are worked out where they are looked at."""

from __future__ import annotations

import numpy as np

from ..kernels import evaluation
from ..kernels.pass_arrays import Numbers
from ..model.arrays import frozen_arrays
from ..model.chunks import ChunkLocks, bounds_of_parts
from ..model.game import CompiledGame
from ..model.policy import MadeFrom, PolicyByParts
from .state import all_strategies, copies


class AveragePolicy(PolicyByParts):
    """An average strategy, of which a chunk is worked out when it is asked for.

    A solver calls :meth:`detach` before it changes the array.

    Args:
        game: The game.
        cumulative: The weights that the strategies are made from.
        floor: Share of the strategies that is uniform.
        locks: Locked infosets.
    """

    def __init__(
        self, game: CompiledGame, cumulative: Numbers, floor: float, locks: ChunkLocks | None
    ) -> None:
        self.game = game
        self._floor = floor
        self._cumulative = frozen_arrays(cumulative)
        self._locks = locks
        self.forget()

    def parts(self, first: int, last: int) -> np.ndarray:
        """The strategies in some parts, in a new array."""
        form = self.game.chunks
        begin, end = bounds_of_parts(form)[[first, last]].tolist()
        found = np.zeros(end - begin)
        if not form.n_chunks:
            all_strategies(form, self._cumulative, self._floor, found, self._locks)
            return found
        given = form, first, last, self._cumulative, self._floor, found, self._locks
        evaluation.strategies_of_parts(*given)
        return found

    def made_from(self) -> MadeFrom:
        """What regret matching makes the strategies from."""
        if self._floor > 0.0:
            return super().made_from()
        kept = self._cumulative
        return (kept.chunks, kept.scale, kept.trunk), self._locks

    def detach(self) -> None:
        """Copy the array, which then is the policy's own."""
        self._cumulative = frozen_arrays(copies(self._cumulative))
