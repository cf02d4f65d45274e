"""The solver for games with imperfect recall, in which infosets share strategies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels import evaluation
from ..kernels.evaluation import add_regrets
from ..model.arrays import SequenceForm
from ..model.flat_game import FlatGame
from ..model.ties import Tied
from .base import Setting
from .flat_solver import FlatSolver
from .scales import bounds_of


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
    def flat(cls, game: FlatGame) -> SequenceForm:  # noqa: D102
        return tied_of(game).form

    def _play(self) -> None:
        self._strategy = self.last_probabilities(self.setting, self._state)
        evaluation.realization_plan(self.game.form, self._strategy, self._reach)

    def _values(self, player: int, faced: np.ndarray) -> np.ndarray:
        form = self.game.form
        value, gradient, regret = np.zeros((3, len(faced)))
        add_regrets(form, player, self._strategy, faced, value, gradient, regret, None)
        return tied_of(self.game).added(value, self._own(player))

    def _bounds(self) -> np.ndarray:
        form, tied = self.game.form, tied_of(self.game)
        bound = bounds_of(form)
        found = np.zeros(tied.form.n_sequences)
        for player in range(form.n_players):
            found += tied.added(bound, self._own(player))
        return found

    def _reached(self, player: int) -> np.ndarray:
        return tied_of(self.game).added(self._reach, self._own(player))

    @classmethod
    def whole_regrets(cls, setting: Setting, state: Any) -> np.ndarray:  # noqa: D102
        tied = tied_of(setting.game)
        regret: np.ndarray = (state.regret / np.bincount(tied.sequence))[tied.sequence]
        return regret

    @classmethod
    def last_probabilities(cls, setting: Setting, state: Any) -> np.ndarray:  # noqa: D102
        strategy: np.ndarray = state.strategy[tied_of(setting.game).sequence]
        return strategy

    def average_probabilities(self) -> np.ndarray:  # noqa: D102
        average = evaluation.normalise(self._flat, self._state.cumulative)
        found: np.ndarray = average[tied_of(self.game).sequence]
        return found


def tied_of(game: FlatGame) -> Tied:
    """The infosets that share strategies, in a game with imperfect recall."""
    assert game.tied is not None
    return game.tied
