"""Average strategies of games in chunks, which are worked out where they are looked at."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .._util.recent import Recent
from ..kernels import evaluation
from ..kernels.chunks import Numbers
from ..model.chunks import ChunkLocks, part_of
from ..model.game import CompiledGame
from ..model.policy import MadeFrom, Policy
from .state import copies, made_strategies


class AveragePolicy(Policy):
    """An average strategy, of which a chunk is worked out when it is asked for.

    A solver calls :meth:`detach` before it changes the array.
    """

    def __init__(self, game: CompiledGame, cumulative: Numbers, locks: ChunkLocks | None) -> None:
        self.game = game
        self._cumulative = cumulative
        self._locks = locks
        self._parts = Recent()

    def at(self, numbers: slice | np.ndarray) -> np.ndarray:  # noqa: D102
        form = self.game.chunks
        where = np.arange(form.n_numbers)[numbers] if isinstance(numbers, slice) else numbers
        part = part_of(form, where)
        begin = int(form.first[part - 1]) if part else 0
        found: np.ndarray = self._parts.get(part, self.part)[where - begin]
        return found

    def part(self, part: int) -> np.ndarray:
        """The strategies in the trunk, part 0, or in chunk ``part - 1``, in a new array, float64
        (numbers of that part,)."""
        form = self.game.chunks
        begins = np.append(0, form.first)
        found = np.zeros(int(begins[part + 1] - begins[part]))
        given = form, part, part + 1, self._cumulative, 0.0, found, self._locks
        evaluation.strategies_of_parts(*given)
        return found

    @cached_property
    def probabilities(self) -> np.ndarray:  # type: ignore[override]
        """float64 (numbers,)."""
        found = made_strategies(self.game.chunks, self._cumulative, 0.0, self._locks)
        found.flags.writeable = False
        return found

    def made_from(self) -> MadeFrom:  # noqa: D102
        kept = self._cumulative
        return (kept.chunks, kept.scale, kept.trunk), self._locks

    def detach(self) -> None:
        """Copy the array, which then is the policy's own."""
        self._cumulative = copies(self._cumulative)
