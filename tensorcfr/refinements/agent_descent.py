"""Solver of independent mirror descent at every infoset.

An infoset behind many mistakes has a small counterfactual reach.  Its regrets mostly come from
early iterations, in which the others still reached it, with other hands.  Values *given that the
infoset is reached* do not have this weight.  Steps are small, so strategies and the others' ranges
at an infoset change slowly and converge both on and off the path.  A floor keeps every infoset
reachable, and a temperature prevents cycles of strategies.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from .._util.argument_checks import Kind, Limit, checked
from .._util.memory_budget import require
from .._util.one_line import arrays_in_line
from ..algorithms import AgentDescent
from ..analysis.counterfactual_reach import CounterfactualReach, bytes_needed
from ..kernels import evaluation
from ..model.game_arguments import Flat
from ..solvers.loop import RunnableSolver
from ..solvers.solver_arguments import Iterations, Named
from ..solvers.value_bounds import carry_up

ARRAYS = 20
"""Maximum number of arrays over the sequences that exist at the same time."""
NEGLIGIBLE = 1e-9
"""Largest relative size of a scale that is treated as a rounding error, and so as 0."""


class AgentState(NamedTuple):
    """State of the solver between iterations; all arrays are float64 (sequences,)."""

    def __repr__(self) -> str:
        return arrays_in_line(self)

    strategy: np.ndarray
    """Strategies after the last iteration."""
    advantage: np.ndarray
    """Value of each action minus value of the strategy in the last iteration, given that the
    infoset is reached, divided by the infoset's scale."""
    change: np.ndarray
    """Sum over iterations of the squared largest change of an advantage at the infoset.  The step
    size falls with it."""
    cumulative: np.ndarray
    """Weighted sum of own reaches."""


class AgentSolver(RunnableSolver):
    """Mirror descent at every infoset on values given that it is reached.  Players are updated in
    turn.

    Args:
        game: A flat game of any number of players.
        algorithm: ``"mmd-agent"``.
        state: The state to continue from, after ``iteration`` iterations; copied.
        iteration: Number of iterations that led to ``state``.
        memory_limit: Memory limit in bytes; by default the machine's free memory.

    Raises:
        ValueError: There is no such algorithm.
        MemoryLimitError: The arrays would not fit.
    """

    records = AgentDescent
    state_kind = AgentState
    keeps = "values given that infosets are reached, and no regrets"

    @checked()
    def __init__(
        self,
        game: Flat,
        algorithm: Named,
        *,
        state: Annotated[AgentState | None, Kind((AgentState,), "a state")] = None,
        iteration: Iterations = 0,
        memory_limit: Limit = None,
    ) -> None:
        self.game, self.algorithm = game, self._checked(game, algorithm)
        needed = 8 * ARRAYS * game.n_sequences + bytes_needed(game)
        require(needed, f"solving {game.name}", memory_limit)
        self.iteration = iteration
        self._others = CounterfactualReach(game)
        uniform = evaluation.normalise(game.form, np.zeros(game.n_sequences))
        self._reach, self._value = np.empty((2, game.n_sequences))
        evaluation.realization_plan(game.form, uniform, self._reach)
        scale = self._scales()
        largest = scale.max(initial=0.0) or 1.0
        # Infosets with a scale of 0 get the largest one: nothing is at stake, and 0 cannot divide.
        counts = scale > NEGLIGIBLE * largest
        self._stakes = scale.min(where=counts, initial=largest)
        self._scale = np.where(counts, scale, largest)
        if state is None:
            self._state = AgentState(uniform, *np.zeros((3, game.n_sequences)))
        else:
            self._state = self.restore(self.problem, self.stored_arrays(state))
            evaluation.realization_plan(game.form, self._state.strategy, self._reach)

    def _run(self, iterations: int) -> None:
        for t in range(self.iteration + 1, self.iteration + iterations + 1):
            weight = self.algorithm.weight(t)
            for player in range(self.game.n_players):
                self._update_player(player, is_first=t == 1)
            np.add(self._state.cumulative, weight * self._reach, out=self._state.cumulative)
        self.iteration += iterations

    def _update_player(self, player: int, is_first: bool) -> None:
        """Update the strategies of a player at all infosets."""
        form, value, others = self.game.form, self._value, self._others.of(player, self._reach)
        value[form.of_player(player)] = 0.0
        evaluation.add_payoffs(form, player, self._reach, value)
        begin = form.player_infosets[player]
        # From the deepest bucket up, because each infoset adds its value to its parent sequence.
        for b in reversed(range(*form.player_buckets[player : player + 2])):
            lanes, first = form.bucket_lanes[b], form.bucket_sequence[b]
            infosets = slice(form.bucket_infoset[b], form.bucket_infoset[b] + lanes)
            rows = slice(first, first + form.bucket_actions[b] * lanes)
            strategy, before, change, q = (
                array[rows].reshape(-1, lanes) for array in (*self._state[:3], value)
            )
            mean = (strategy * q).sum(axis=0)
            np.add.at(value, form.infoset_parent[infosets], mean)
            reach = others[infosets.start - begin : infosets.stop - begin]
            scale = self._scale[infosets]
            advantage = np.zeros_like(q)
            np.divide((q - mean) * self.game.unit, reach, out=advantage, where=reach > 0.0)
            advantage /= scale
            # Optimism: predict that the advantages change as they last did.  There is no earlier
            # advantage in the first iteration.
            ahead = 0.0 * advantage if is_first else advantage - before
            change += np.square(ahead).max(axis=0)
            strategy[:] = self._next_strategies(strategy, advantage + ahead, change, scale)
            before[:] = advantage
        evaluation.realization_plan(form, self._state.strategy, self._reach)

    def _next_strategies(
        self, strategy: np.ndarray, towards: np.ndarray, change: np.ndarray, scale: np.ndarray
    ) -> np.ndarray:
        """Compute the next strategies of some infosets.

        Args:
            strategy: float64 (actions, infosets): current strategies.
            towards: float64 (actions, infosets): predicted advantages.
            change: float64 (actions, infosets): squared changes; see :class:`AgentState`.
            scale: float64 (infosets,): scale of each infoset.

        Returns:
            float64 (actions, infosets).
        """
        record = self.algorithm
        alpha = record.alpha + record.heat * self._stakes
        rate = record.eta / np.sqrt(1.0 + change)
        with np.errstate(divide="ignore"):  # Without a floor a probability may become 0 for good.
            logs = (np.log(strategy) + rate * towards) / (1.0 + rate * alpha / scale)
        updated = np.exp(logs - logs.max(axis=0))
        updated *= (1.0 - record.floor) / updated.sum(axis=0)
        return np.asarray(updated + record.floor / len(updated))

    def _scales(self) -> np.ndarray:
        """Compute the scale of each infoset, float64 (infosets,).

        The scale is the largest absolute value of the infoset given that it is reached, over all
        own strategies, when the others play uniformly.
        """
        form, payoffs = self.game.form, np.zeros(self.game.n_sequences)
        infoset, largest = form.owners[0], np.zeros(form.n_infosets)
        for player in range(form.n_players):
            evaluation.add_payoffs(form, player, self._reach, payoffs)
        signed_values = np.stack([payoffs, -payoffs])
        for value in signed_values:
            carry_up(form, value)
        np.maximum.at(
            largest, infoset[infoset >= 0], np.abs(signed_values).max(axis=0)[infoset >= 0]
        )
        reach = self._others.everywhere(self._reach)
        return np.divide(
            largest * self.game.unit, reach, out=np.zeros_like(largest), where=reach > 0
        )
