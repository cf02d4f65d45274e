"""The problem that the arrays of a solver's state belong to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algorithms import Record
from ..evaluation.player_models import part_locks
from ..model.chunked_form import ChunkedForm, ChunkLocks
from ..model.compiled_game import CompiledGame
from ..model.flat_game import Merged
from ..model.locks import Locks


class Problem(NamedTuple):
    """Game, algorithm and locks that the arrays of a state belong to."""

    game: Any
    """The game, of a layout that the solver accepts."""
    algorithm: Any
    """The algorithm."""
    locks: Locks | None = None
    """Locked infosets."""

    @property
    def merges(self) -> bool:
        """True if infosets are merged: the algorithm allows it, and the locks are the same for
        infosets that would be merged."""
        record: Record = self.algorithm
        locks = self.locks
        return record.merges_infosets and (not locks or locks.keeps_symmetry)

    @property
    def form(self) -> ChunkedForm:
        """Form whose numbers the solver's arrays are over."""
        solver_form: ChunkedForm = self.game.chunked_form(merged=self.merges)
        return solver_form

    @property
    def merged_numbers(self) -> np.ndarray | None:
        """:attr:`CompiledGame.merged_numbers`; None if the arrays already have the numbers of a
        policy."""
        game: CompiledGame = self.game
        return None if self.form.trunk is game.chunks.trunk else game.merged_numbers

    @property
    def merged(self) -> Merged | None:
        """The form with :attr:`merged_numbers`; None if the arrays already have the numbers of a
        policy."""
        numbers = self.merged_numbers
        return None if numbers is None else Merged(self.form.trunk, numbers)

    @property
    def part_locks(self) -> ChunkLocks | None:
        """The locks in the form that kernels take."""
        return part_locks(self.game, self.form, self.locks)
