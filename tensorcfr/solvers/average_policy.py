"""Average strategies of games in chunks, which are computed on demand."""

from __future__ import annotations

import numpy as np

from ..kernels import evaluation
from ..kernels.pass_arrays import Numbers
from ..model.arrays import frozen_arrays
from ..model.chunked_form import ChunkLocks, bounds_of_parts
from ..model.compiled_game import CompiledGame
from ..model.policy import MatchingInputs, PolicyByParts
from .solver_state import compute_strategies, copy_numbers


class AveragePolicy(PolicyByParts):
    """Average strategy whose chunks are computed on demand.

    A solver calls :meth:`detach` before it changes the array that this policy reads.

    Args:
        game: The game.
        cumulative: Weights from which the strategies are made.
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
        self._is_detached = False
        self.forget()

    def parts(self, first: int, last: int) -> np.ndarray:
        """Compute the strategies of the parts from ``first`` to ``last - 1``, in a new array."""
        form = self.game.chunks
        begin, end = bounds_of_parts(form)[[first, last]].tolist()
        strategy = np.zeros(end - begin)
        if not form.n_chunks:
            compute_strategies(form, self._cumulative, self._floor, strategy, self._locks)
            return strategy
        arguments = form, first, last, self._cumulative, self._floor, strategy, self._locks
        evaluation.strategies_of_parts(*arguments)
        return strategy

    def matching_inputs(self) -> MatchingInputs:
        """Return the weights from which regret matching makes the strategies, and the locks."""
        if self._floor > 0.0:
            return super().matching_inputs()
        weights = self._cumulative
        return (weights.chunks, weights.scale, weights.trunk), self._locks

    def detach(self) -> None:
        """Copy the solver's array once, so that the solver may change its own."""
        if not self._is_detached:
            self._cumulative = frozen_arrays(copy_numbers(self._cumulative))
            self._is_detached = True
