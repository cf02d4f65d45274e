"""Solver for games with imperfect recall, in which infosets share strategies."""

from __future__ import annotations

import numpy as np

from ..kernels import evaluation
from ..kernels.evaluation import add_regrets
from ..model.arrays import frozen_array, not_none
from ..model.flat_game import FlatGame
from .problem import Problem
from .root_infoset_solver import RootInfosetPasses, RootInfosetSolver
from .solver import expand_to_policy
from .solver_state import State, unpack
from .value_bounds import sequence_bounds


class ImperfectRecallPasses(RootInfosetPasses):
    """Passes infoset by infoset, with values added up over infosets that share a strategy."""

    def play(self) -> None:  # noqa: D102
        self._played = frozen_array(self.strategy[not_none(self.game.strategy_classes).sequence])
        evaluation.realization_plan(self.game.form, self._played, self.reach)

    def values(self, player: int, reach: np.ndarray) -> np.ndarray:  # noqa: D102
        value, gradient, regret = np.zeros((3, len(reach)))
        add_regrets(self.game.form, player, self._played, reach, value, gradient, regret, None)
        return self._added(player, value)

    def reached(self, player: int) -> np.ndarray:  # noqa: D102
        return self._added(player, self.reach)

    def _added(self, player: int, array: np.ndarray) -> np.ndarray:
        return not_none(self.game.strategy_classes).added(array, self.game.form.of_player(player))

    @staticmethod
    def bounds(game: FlatGame) -> np.ndarray:  # noqa: D102
        bound = sequence_bounds(game.form)
        tied = not_none(game.strategy_classes)
        players = range(game.n_players)
        added = [tied.added(bound, game.form.of_player(player)) for player in players]
        return np.sum(added, axis=0)


class ImperfectRecallSolver(RootInfosetSolver):
    """CFR for infosets that share strategies; arguments as for :class:`tensorcfr.Solver`.

    Values pass up the game infoset by infoset.  The values of infosets that share a strategy are
    added up, and the local rule works on the sums.  Their averages are added up, too, each with the
    own reach of its infoset.  Best responses have perfect recall.

    Source: M. Lanctot, R. Gibson, N. Burch, M. Zinkevich, M. Bowling, "No-regret learning in
    extensive-form games with imperfect recall", ICML 2012.
    """

    layouts = ("tied",)
    lacks = "perfect recall"
    passes = ImperfectRecallPasses

    @classmethod
    def sums_of(cls, problem: Problem, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each infoset, the sums of all infosets that share its strategy."""
        sums = unpack(problem.form, state.regrets), unpack(problem.form, state.averages)
        regret, strategy = (
            expand_to_policy(problem.game, problem.form, numbers) for numbers in sums
        )
        return regret, strategy
