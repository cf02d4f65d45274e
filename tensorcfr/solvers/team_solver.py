"""The solver for two teams that agree on plans before the play."""

from __future__ import annotations

import numpy as np

from ..kernels import links
from ..model.team_game import TeamGame
from ..payoff import magnitudes, product
from .root_infoset_solver import RootInfosetPasses, RootInfosetSolver


class TeamPasses(RootInfosetPasses):
    """Passes over belief DAGs."""

    def play(self) -> None:  # noqa: D102
        form = self.game.form.bare
        links.linked_forward(form, self.game.links, self.strategy, self.reach)

    def values(self, player: int, reach: np.ndarray) -> np.ndarray:  # noqa: D102
        game, value = self.game, np.zeros(len(reach))
        value[game.form.of_player(player)] = product(game.form, player, reach)
        form = game.form.bare
        links.linked_backward(form, game.links, player, self.strategy, value, False)
        return value

    def reached(self, player: int) -> np.ndarray:  # noqa: D102
        reach, of_player = np.zeros(len(self.reach)), self.game.form.of_player(player)
        reach[of_player] = self.reach[of_player]
        return reach

    @staticmethod
    def bounds(game: TeamGame) -> np.ndarray:  # noqa: D102
        sizes = magnitudes(game.form)
        bound, everywhere = np.zeros(sizes.n_sequences), np.ones(sizes.n_sequences)
        for player in range(sizes.n_players):
            bound[sizes.of_player(player)] = product(sizes, player, everywhere)
            form, plan = sizes.bare, np.zeros(sizes.n_sequences)
            links.linked_backward(form, game.links, player, plan, bound, True)
        return bound


class TeamSolver(RootInfosetSolver):
    """CFR over belief DAGs; arguments as for :class:`tensorcfr.Solver`.

    A belief has one regret and one strategy, even if several paths lead to it.  Its value is added
    to all prescriptions before it, and its reach is the sum of their reaches.

    Source: B. H. Zhang, G. Farina, T. Sandholm, "Team belief DAG: generalizing the sequence form to
    team games for fast computation of correlated team max-min equilibria via regret minimization",
    ICML 2023.
    """

    layouts = ("teams",)
    keeps = "regrets of beliefs, not of single infosets"
    lacks = "a single way to each infoset"
    passes = TeamPasses
