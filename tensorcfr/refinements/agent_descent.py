"""The solver of mirror descent at every infoset on its own.

An infoset behind many mistakes has a small counterfactual reach, so that its regrets
are mostly from iterations in which the others still came, with other hands.  Values *given that the
infoset is reached* have no such weight.  Steps are small: strategies, and what the others bring to
an infoset, change slowly and settle on and off the path alike.  A floor that falls keeps every
infoset within reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

import numpy as np

from .._util.arguments import Kind, Limit, checked
from .._util.memory import require
from .._util.one_line import arrays_in_line
from ..algorithms import AgentDescent
from ..analysis.policy_values import others_reach
from ..evaluation.profile import put_values
from ..kernels import evaluation
from ..model.arguments import Flat
from ..model.flat_game import FlatGame
from ..solvers.arguments import Iterations, Named
from ..solvers.base import IterativeSolver, Setting
from ..solvers.kept import Expected
from ..solvers.scales import carry_up

ARRAYS = 20
"""Arrays over the sequences, at most at a time."""


class AgentState(NamedTuple):
    """What the solver carries from one iteration to the next; float64 (sequences,)."""

    def __repr__(self) -> str:
        return arrays_in_line(self)

    strategy: np.ndarray
    """The strategies of the next iteration."""
    advantage: np.ndarray
    """By how much every action was better than the strategy in the last iteration, given that the
    infoset is reached, over the infoset's scale."""
    change: np.ndarray
    """The sum over iterations of the squares of the largest change of an advantage at the infoset:
    the larger it is, the smaller are steps."""
    cumulative: np.ndarray
    """The weighted sum of own reaches."""


class AgentSolver(IterativeSolver):
    """Mirror descent at every infoset, all at once, on values given that it is reached.

    Args:
        game: A game of any number of players, laid out.
        algorithm: ``"mmd-agent"``.
        state: The state to continue from, after ``iteration`` iterations; copied.
        iteration: Iterations that led to ``state``.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.

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
        require(8 * ARRAYS * game.n_sequences, f"solving {game.name}", memory_limit)
        self.iteration = iteration
        self._infosets = Infosets(game)
        if state is None:
            zeros = np.zeros((3, game.n_sequences))
            self._state = AgentState(evaluation.normalise(game.form, zeros[0]), *zeros)
        else:
            self._state = self.restore(self.setting, self.kept(state))
        scale = self._infosets.scales()
        self._scale = np.where(scale > 0.0, scale, 1.0)
        counts = (scale > 0.0) & (game.form.owners[0] >= 0)
        self._stakes = scale.min(where=counts, initial=scale.max())

    @classmethod
    def expected(cls, setting: Setting, kept: Mapping[str, np.ndarray]) -> Expected:  # noqa: D102
        return dict.fromkeys(AgentState._fields, ((setting.game.n_sequences,), np.float64))

    def _run(self, iterations: int) -> None:
        record, infosets, sum_up = self.algorithm, self._infosets, self._infosets.sum_up
        strategy, before, change, cumulative = self._state
        for t in range(self.iteration + 1, self.iteration + iterations + 1):
            reach, advantage = infosets.advantages(strategy)
            cumulative += t**record.average_power * reach
            advantage /= self._scale
            # The first iteration has no prediction.
            ahead = advantage - before if t > 1 else np.zeros_like(before)
            change += infosets.largest(np.abs(ahead)) ** 2
            rate = record.eta / np.sqrt(1.0 + change)
            moved = strategy * np.exp(rate * (advantage + ahead))
            settling = min(t, record.settled)
            alpha = record.alpha + record.heat * self._stakes / settling
            moved **= 1.0 / (1.0 + rate * alpha / self._scale)
            floor = record.floor / settling**record.floor_fall
            moved *= (1.0 - floor) / sum_up(moved)
            strategy, before = moved + floor / infosets.actions, advantage
        self._state = AgentState(strategy, before, change, cumulative)
        self.iteration += iterations


class Infosets:
    """The infosets of a game, as arrays over its sequences; the empty sequence of each player
    counts as an infoset with one action."""

    def __init__(self, game: FlatGame) -> None:
        self.game = game
        of = game.form.owners[0]
        self.of = np.where(of < 0, game.n_infosets + np.cumsum(of < 0) - 1, of)
        self.actions = self.sum_up(np.ones(game.n_sequences))

    def sum_up(self, numbers: np.ndarray) -> np.ndarray:
        """The sum of the numbers of all actions of an infoset, at each of its sequences."""
        found: np.ndarray = np.bincount(self.of, numbers)[self.of]
        return found

    def largest(self, numbers: np.ndarray) -> np.ndarray:
        """The largest number of all actions of an infoset, from 0, at each of its sequences."""
        found = np.zeros(self.of.max() + 1)
        np.maximum.at(found, self.of, numbers)
        return found[self.of]

    def conditional(self, value: np.ndarray, strategy: np.ndarray) -> np.ndarray:
        """Counterfactual values, float64 (..., sequences), over the others' reaches of infosets, in
        the game's unit of utility; 0 where nobody can come, or with too small a probability for a
        float."""
        reach = np.append(others_reach(self.game, strategy), np.ones(self.game.n_players))[self.of]
        return np.divide(value * self.game.unit, reach, out=np.zeros_like(value), where=reach > 0.0)

    def advantages(self, strategy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Own reaches, and by how much every action is better than the strategy given that its
        infoset is reached."""
        reach, value = np.zeros((2, len(strategy)))
        put_values(self.game.form, strategy, reach, value)
        value = self.conditional(value, strategy)
        return reach, value - self.sum_up(strategy * value)

    def scales(self) -> np.ndarray:
        """The scale of each infoset, at its sequences: the largest size of its value given that it
        is reached, over all own strategies, when the others play uniformly."""
        form, uniform = self.game.form, 1.0 / self.actions
        reach, paid = np.zeros((2, len(self.of)))
        evaluation.realization_plan(form, uniform, reach)
        for player in range(form.n_players):
            evaluation.add_payoffs(form, player, reach, paid)
        most = np.stack([paid, -paid])
        for value in most:
            carry_up(form, value)
        return self.largest(np.abs(self.conditional(most, uniform)).max(axis=0))
