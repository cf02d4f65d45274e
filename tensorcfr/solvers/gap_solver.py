"""The solver that runs the excessive gap technique."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import Kind, Limit, checked
from .._util.memory_budget import require
from ..algorithms import ExcessiveGap
from ..kernels import evaluation
from ..kernels import excessive_gap as kernels
from ..kernels.excessive_gap import GapState
from ..model.arrays import SequenceForm
from ..model.flat_game import FlatGame
from ..model.game_arguments import Flat
from .loop import RunnableSolver
from .problem import Problem
from .solver_arguments import Iterations, Named
from .state_file import Expected

ARRAYS = 12
"""Number of arrays over the sequences: three of the state, eight of the kernel, and the weights."""
FIRST_SMOOTHING = 1e-3
"""Initial smoothing per unit of payoff; it is doubled until the excessive gap condition holds."""


class GapSolver(RunnableSolver):
    """Plans of two players that approach an equilibrium as their smoothing shrinks.

    Args:
        game: A game of two players whose payoffs have a constant sum.
        algorithm: ``"egt"``.
        state: The state to continue from, after ``iteration`` iterations; copied.
        iteration: Iterations that led to ``state``.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.

    Raises:
        ValueError: There is no such algorithm, or the game does not have two players and a constant
            sum.
        MemoryLimitError: The arrays would not fit.
    """

    records = ExcessiveGap
    state_kind = GapState
    keeps = "plans, and no regrets"

    @checked()
    def __init__(
        self,
        game: Flat,
        algorithm: Named,
        *,
        state: Annotated[GapState | None, Kind((GapState,), "a state")] = None,
        iteration: Iterations = 0,
        memory_limit: Limit = None,
    ) -> None:
        self.game, self.algorithm = game, self._checked(game, algorithm)
        if game.n_players != 2 or not game.constant_sum:
            problem = "no constant sum" if game.n_players == 2 else f"{game.n_players} players"
            raise ValueError(
                f"{self.algorithm.name} is for two players and a constant sum; {game.name} has "
                f"{problem}"
            )
        require(8 * ARRAYS * game.n_sequences, f"solving {game.name}", memory_limit)
        self.iteration = iteration
        self._weights = entropy_weights(game.form)
        self._sum = sum(game.utility_sums) / 2 / game.unit
        if state is None:
            plan, gradient, strategy = np.zeros((3, game.n_sequences))
            numbers = np.array([FIRST_SMOOTHING, FIRST_SMOOTHING, kernels.MOST_TAU, 0.0])
            self._state = GapState(plan, gradient, strategy, numbers)
            kernels.begin(game.form, self._weights, self._sum, self._state)
        else:
            self._state = self.restore(self.problem, self.stored_arrays(state))
        self._run(0)

    @classmethod
    def expected(cls, problem: Problem, stored: Mapping[str, np.ndarray]) -> Expected:  # noqa: D102
        return {**super().expected(problem, stored), "numbers": ((4,), np.float64)}

    @classmethod
    def wrong_state(cls, problem: Problem, state: Any) -> str | None:  # noqa: D102
        if not (state.numbers[:3] > 0.0).all() or not state.numbers[3] >= 0.0:
            return f"numbers holds {state.numbers.tolist()}"
        return super().wrong_state(problem, state)

    def _run(self, iterations: int) -> None:
        kernels.shrink(self.game.form, iterations, self._weights, self._sum, self._state)
        self.iteration += iterations

    @classmethod
    def last_probabilities(cls, problem: Problem, state: Any) -> np.ndarray:
        """Return the plans as behaviour strategies."""
        return evaluation.normalise(problem.game.form, state.cumulative)

    @classmethod
    def count_nodes(cls, game: FlatGame, state: Any, iterations: int) -> tuple[int, int]:
        """Return the nodes and decisions that the state's passes have visited.

        A payoff product with a smoothed response passes over one player's sequences, and counts as
        half the game.  Steps that were halved count too.
        """
        nodes, decisions = super().count_nodes(game, state, 1)
        passes = int(state.numbers[kernels.PASSES])
        # A pass is over one player's sequences, half of an iteration.
        return passes * nodes // 2, passes * decisions // 2


def entropy_weights(form: SequenceForm) -> np.ndarray:
    """Compute the weights of the entropies, float64 (infosets,).

    A weight is 1 plus the largest sum, over the actions, of the weights of the infosets after an
    action.  This is the *dilatable global entropy* of Farina, Kroer and Sandholm, EC 2021.
    """
    weight, below = np.empty(form.n_infosets), np.zeros(form.n_sequences)
    # From the deepest level up, because a weight depends on the weights below.
    for bucket in reversed(form.buckets):
        weight[bucket.infosets] = 1.0 + bucket.table(below).max(axis=0)
        np.add.at(below, form.infoset_parent[bucket.infosets], weight[bucket.infosets])
    return weight
