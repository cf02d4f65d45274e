"""The solver for two teams that agree on plans before the play."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels import links
from ..model.arrays import SequenceForm
from ..model.team_game import TeamGame
from ..payoff import magnitudes, product
from ..solvers.flat_solver import FlatSolver


class TeamSolver(FlatSolver):
    """CFR over belief DAGs; arguments as :class:`FlatSolver`.

    A belief has one regret and one strategy, whatever the way to it.  Its value passes up to all
    prescriptions before it, and its reach is the sum of theirs.

    Source: B. H. Zhang, G. Farina, T. Sandholm, "Team belief DAG: generalizing the sequence form to
    team games for fast computation of correlated team max-min equilibria via regret minimization",
    ICML 2023.
    """

    is_what = "is a game of teams"
    lacks = "a single way to each infoset"
    game: Any

    @classmethod
    def flat(cls, game: TeamGame) -> SequenceForm:  # noqa: D102
        return game.form

    def _play(self) -> None:
        form = self._flat._replace(operator=())
        links.spread(form, self.game.links, self._state.strategy, self._reach)

    def _values(self, player: int, faced: np.ndarray) -> np.ndarray:
        form, value = self._flat._replace(operator=()), np.zeros(len(faced))
        value[self._own(player)] = product(self._flat, player, faced)
        links.collect(form, self.game.links, player, self._state.strategy, value, False)
        return value

    def _bounds(self) -> np.ndarray:
        sizes = magnitudes(self._flat)
        bound, everywhere = np.zeros(sizes.n_sequences), np.ones(sizes.n_sequences)
        for player in range(sizes.n_players):
            bound[self._own(player)] = product(sizes, player, everywhere)
            form, plan = sizes._replace(operator=()), np.zeros(sizes.n_sequences)
            links.collect(form, self.game.links, player, plan, bound, True)
        return bound

    def _reached(self, player: int) -> np.ndarray:
        reach, own = np.zeros(len(self._reach)), self._own(player)
        reach[own] = self._reach[own]
        return reach
