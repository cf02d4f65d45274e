"""Average strategy of Single Deep CFR as a mixture of networks."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from .._util.argument_checks import Kind, checked
from ..algorithms import Deep
from ..kernels import evaluation
from ..kernels.random import Seed, draw, seeded
from ..model.game_arguments import require_flat
from ..model.policy import Policy
from ..solvers.sampling_base import check_seed
from ..solvers.solution import Solution
from .inputs import make_inputs
from .learners import NetworkLearner, probabilities


class Mixture:
    """Mixture of the networks of all iterations.

    At the beginning of a play, every player draws an iteration with a probability proportional to
    its weight, and follows the strategy of its network to the end.  The probability of each action
    then equals the one under the average strategy weighted by reach; see :meth:`average`.

    Args:
        solution: A solution by an algorithm with ``keep_networks=True``.
        seed: Seed of the draws.

    Raises:
        ValueError: The solution has no networks, or the seed is invalid.
    """

    @checked()
    def __init__(
        self,
        solution: Annotated[Solution, Kind((Solution,), "a solution")],
        *,
        seed: Seed = 0,
    ) -> None:
        record = solution.algorithm
        if not isinstance(record, Deep) or not len(solution.state.networks):
            raise ValueError(f"{record} stored no networks: solve with keep_networks=True")
        self.solution = solution
        """Solution with the networks."""
        self.weights = record.variant.schedule(1, len(solution.state.networks))[:, 0]
        """float64 (iterations,): weight of each iteration."""
        self._record = record
        self._game = require_flat(solution.game, "a mixture of networks")
        self._inputs = make_inputs(self._game, solution.state.features)
        self._learner = NetworkLearner(record, self._inputs, 1.0)
        self._ends = np.cumsum(self.weights)
        self._generator = seeded(check_seed(seed))

    def strategies(self, iteration: int) -> np.ndarray:
        """Compute the strategies of an iteration's networks.

        Args:
            iteration: Number of the iteration, from 1.

        Returns:
            float64 (sequences,).
        """
        game, inputs = self._game, self._inputs
        played = np.ones(game.n_sequences)
        is_action = inputs.is_action
        for player, parameters in enumerate(self.solution.state.networks[iteration - 1]):
            of_player = is_action & (game.infoset_player == player)[:, None]
            if parameters.any():
                predicted = self._learner.predict_parameters(player, parameters)
            else:
                predicted = np.zeros(inputs.sequence.shape)  # Before the first fit.
            strategy = probabilities(predicted, is_action, self._record.unplayed)
            played[inputs.sequence[of_player]] = strategy[of_player]
        return played

    def draw(self) -> list[Policy]:
        """Draw the strategy that each player follows in a play."""
        game, drawn = self.solution.game, []
        for _ in range(game.n_players):
            with np.errstate(over="ignore"):
                point = draw(self._generator) * self._ends[-1]
            iteration = int(np.searchsorted(self._ends, point, side="right")) + 1
            drawn.append(Policy(game, self.strategies(iteration)))
        return drawn

    def average(self) -> Policy:
        """Compute the average of all iterations' strategies, weighted by weight and own reach."""
        form = self._game.form
        cumulative, reach = np.zeros((2, form.n_sequences))
        for iteration, weight in enumerate(self.weights, 1):
            evaluation.realization_plan(form, self.strategies(iteration), reach)
            cumulative += weight * reach
        return Policy(self.solution.game, evaluation.normalise(form, cumulative))
