"""Solvers of teams and of imperfect recall: passes of their own, and a local rule without levels.

Games with the layout ``FLAT`` are solved by :class:`tensorcfr.solvers.solver.Solver`.  In the form
here, every infoset directly follows the empty sequence.  The kernels of the local rule
therefore update regrets, strategies and averages infoset by infoset, without passing values up.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..algorithms import Algorithm
from ..evaluation.metrics import Evaluation, evaluate_probabilities
from ..kernels import evaluation, iteration, links
from ..kernels.evaluation import add_regrets
from ..kernels.pass_arrays import Numbers
from ..model.arrays import frozen_array, not_none
from ..model.chunked_form import ChunkedForm
from ..model.flat_game import FlatGame
from ..model.locks import LocksLike
from ..model.team_game import TeamGame
from ..payoff import magnitudes, product
from .base import GAMES
from .passes import Passes
from .problem import Problem
from .solver import Solver, expand_to_policy
from .solver_state import State, strategies_from_weights, unpack
from .value_bounds import put_bucket_bounds, sequence_bounds, zero_bounds


class RootInfosetPasses(Passes):
    """Iterations over a form of root infosets; a subclass passes values and reaches over the game.

    Args:
        game: The game.
        form: Its form of root infosets.
        record: The variant of CFR.
        state: The arrays of the state, over that form.
        value_bound: Value bounds of the buckets, as for :class:`Passes`.
    """

    def __init__(
        self, game: Any, form: ChunkedForm, record: Algorithm, state: State, value_bound: np.ndarray
    ) -> None:
        super().__init__(form, record, state, value_bound, None, 1)
        self.game, self.strategy = game, state.strategy
        self.reach = np.zeros(game.n_sequences)
        """float64 (sequences of the game,): own reaches of the strategies in the state."""
        self.play()

    @abstractmethod
    def play(self) -> None:
        """Compute :attr:`reach` from the current strategies."""

    @abstractmethod
    def values(self, player: int, reach: np.ndarray) -> np.ndarray:
        """Compute the counterfactual values of a player, float64 (sequences of the form,).

        Args:
            player: The player.
            reach: float64 (sequences of the game,): own reaches of the other players.
        """

    @abstractmethod
    def reached(self, player: int) -> np.ndarray:
        """Return a player's own reaches, float64 (sequences of the form,); 0 for other
        players."""

    @staticmethod
    @abstractmethod
    def bounds(game: Any) -> np.ndarray:
        """Compute upper bounds of the absolute counterfactual values, see
        :mod:`tensorcfr.solvers.value_bounds`.

        Returns:
            float64 (sequences of the form,).
        """

    def iterate(self, first: int, count: int, played_floor: float) -> None:  # noqa: D102
        record = self._record
        schedule, floors = record.schedule(first, count), record.floors(first, count)
        turns = record.turns(first, count, self._form.n_players).tolist()
        for row, floor, turns_of_iteration in zip(schedule, floors, turns, strict=True):
            for movers in turns_of_iteration:
                # The players of a turn face the reaches from before it; play() overwrites them.
                opponent_reach = self.reach if len(movers) == 1 else self.reach.copy()
                for player in movers:
                    value = self.values(player, opponent_reach)
                    self.stored.cumulative.trunk[:] += row[0] * self.reached(player)
                    # The average is complete already: the kernel's own one goes to a dummy array.
                    part = self.whole._replace(average=np.zeros(len(value)), value=value)
                    iteration.update(part, record.rule, player, row, float(floor))
                    self.play()


class RootInfosetSolver(Solver):
    """CFR with the passes of a subclass; arguments as for :class:`tensorcfr.Solver`.

    The arrays are float64, locks are not supported, and there is one thread.
    """

    passes: ClassVar[type[RootInfosetPasses]]
    """Class of the passes over such games."""
    lacks: ClassVar[str]
    """Property that such games lack, for errors: ``"perfect recall"``."""
    takes_locks = False
    extra_arrays = 6
    """Number of arrays: strategy, reach, the others' reach, values, and two more of the kernel."""

    def _refuse_others(
        self, precision: str, threads: int, locks: LocksLike | None, state_dir: str | Path | None
    ) -> None:
        record, name = self.algorithm, self.algorithm.name
        what, needs = f"{self.game.name} {GAMES[self.layouts[0]]}:", self.lacks
        rule, beyond = record.rule, ", ".join(record.beyond)
        for is_given, reason in (
            (rule.payoff is not None, f"{name} changes payoffs, which needs {needs}"),
            (rule.passes_new, f"{name} passes up values that need {needs}"),
            (beyond, f"{name} with {beyond} is not available"),
            (precision != "float64", "its arrays are float64"),
            (threads != 1, "it is solved on one thread"),
            (locks, "it takes no locks"),
            (state_dir is not None, "its arrays are kept in memory"),
        ):
            if is_given:
                raise ValueError(f"{what} {reason}")

    def _bucket_bounds(self, dtype: np.dtype) -> np.ndarray:
        value_bound = zero_bounds(self.form).bucket
        put_bucket_bounds(self.form.trunk, self.passes.bounds(self.game), value_bound[0])
        return value_bound

    def _new_passes(self, state: State) -> Passes:
        return self.passes(self.game, self.form, self.algorithm, state, self._value_bound)

    @classmethod
    def begin(cls, problem: Problem, *_: Any, **options: Any) -> State:
        """Refuse a warm start.

        Raises:
            ValueError: Always.
        """
        raise ValueError(f"{problem.game.name} {GAMES[cls.layouts[0]]}: it takes no warm start")

    def _evaluate(self, weight: Numbers, floor: float) -> Evaluation:
        strategies = strategies_from_weights(self.form, weight, floor, None)
        return evaluate_probabilities(self.game, expand_to_policy(self.game, self.form, strategies))


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
