"""The solver for games with imperfect recall, in which infosets share strategies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels import evaluation
from ..kernels.regrets import add_regrets
from ..model.arrays import SequenceForm
from ..model.game import CompiledGame
from ..model.locks import Locks
from ..model.ties import Tied
from .flat_solver import FlatSolver
from .solver import Solver


class TiedSolver(FlatSolver):
    """CFR where several infosets of a player share one strategy; arguments as :class:`FlatSolver`.

    Values pass up the game infoset by infoset.  Those of infosets that share a strategy are added
    up, and the local rule works on the sums.  Their averages are added up, too, each with the own
    reach of its infoset.  Best responses remember.

    Source: M. Lanctot, R. Gibson, N. Burch, M. Zinkevich, M. Bowling, "No-regret learning in
    extensive-form games with imperfect recall", ICML 2012.
    """

    ties_infosets = True
    is_what = "has imperfect recall"
    lacks = "perfect recall"

    @classmethod
    def flat(cls, game: CompiledGame) -> SequenceForm:  # noqa: D102
        return tied_of(game).form

    def _play(self) -> None:
        self._strategy = self.last_probabilities(self.game, self.algorithm, self._state)
        evaluation.realization_plan(self.game.form, self._strategy, self._reach)

    def _values(self, player: int, faced: np.ndarray) -> np.ndarray:
        form = self.game.form
        value, gradient, regret = np.zeros((3, len(faced)))
        add_regrets(form, player, self._strategy, faced, value, gradient, regret, None)
        return tied_of(self.game).added(value, _own(form, player))

    def _reached(self, player: int) -> np.ndarray:
        return tied_of(self.game).added(self._reach, _own(self.game.form, player))

    @classmethod
    def whole_regrets(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> np.ndarray:
        tied = tied_of(game)
        regret: np.ndarray = (state.regret / np.bincount(tied.sequence))[tied.sequence]
        return regret

    @classmethod
    def last_probabilities(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> np.ndarray:
        strategy: np.ndarray = state.strategy[tied_of(game).sequence]
        return strategy

    @classmethod
    def count_nodes(cls, game: CompiledGame, state: Any, iterations: int) -> tuple[int, int]:
        """As :meth:`Solver.count_nodes`."""
        return Solver.count_nodes(game, state, iterations)

    def average_probabilities(self) -> np.ndarray:  # noqa: D102
        average: np.ndarray = self._average()[tied_of(self.game).sequence]
        return average


def _own(form: SequenceForm, player: int) -> slice:
    """The sequences of a player."""
    return slice(*form.player_sequences[player : player + 2].tolist())


def tied_of(game: CompiledGame) -> Tied:
    """The infosets that share strategies, in a game with imperfect recall."""
    assert game.tied is not None
    return game.tied
