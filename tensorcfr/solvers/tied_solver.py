"""Solver for games with imperfect recall, in which infosets share strategies."""

from __future__ import annotations

import numpy as np

from ..kernels import evaluation
from ..kernels.evaluation import add_regrets
from ..model.arrays import not_none
from ..model.flat_game import FlatGame
from .base import Setting
from .flat_solver import FlatPasses, FlatSolver
from .scales import bounds_of
from .solver import whole
from .state import State, unpacked


class TiedPasses(FlatPasses):
    """Passes infoset by infoset, with values added up over infosets that share a strategy."""

    def play(self) -> None:  # noqa: D102
        self._played = self.strategy[not_none(self.game.strategy_classes).sequence]
        evaluation.realization_plan(self.game.form, self._played, self.reach)

    def values(self, player: int, faced: np.ndarray) -> np.ndarray:  # noqa: D102
        value, gradient, regret = np.zeros((3, len(faced)))
        add_regrets(self.game.form, player, self._played, faced, value, gradient, regret, None)
        return self._added(player, value)

    def reached(self, player: int) -> np.ndarray:  # noqa: D102
        return self._added(player, self.reach)

    def _added(self, player: int, array: np.ndarray) -> np.ndarray:
        return not_none(self.game.strategy_classes).added(array, self.game.form.of_player(player))

    @staticmethod
    def bounds(game: FlatGame) -> np.ndarray:  # noqa: D102
        bound, tied, players = (
            bounds_of(game.form),
            not_none(game.strategy_classes),
            range(game.n_players),
        )
        added = [tied.added(bound, game.form.of_player(player)) for player in players]
        return np.sum(added, axis=0)


class TiedSolver(FlatSolver):
    """CFR for infosets that share strategies; arguments as for :class:`tensorcfr.Solver`.

    Values pass up the game infoset by infoset.  The values of infosets that share a strategy are
    added up, and the local rule works on the sums.  Their averages are added up, too, each with the
    own reach of its infoset.  Best responses have perfect recall.

    Source: M. Lanctot, R. Gibson, N. Burch, M. Zinkevich, M. Bowling, "No-regret learning in
    extensive-form games with imperfect recall", ICML 2012.
    """

    layouts = ("tied",)
    lacks = "perfect recall"
    passes = TiedPasses

    @classmethod
    def sums_of(cls, setting: Setting, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each infoset, the sums of all infosets that share its strategy."""
        sums = unpacked(setting.form, state.regrets), unpacked(setting.form, state.averages)
        regret, strategy = (whole(setting.game, setting.form, numbers) for numbers in sums)
        return regret, strategy
