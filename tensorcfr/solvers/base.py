"""Protocol of solvers, on which :func:`tensorcfr.solve`, solutions and analyses rely."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from ..algorithms import Record, find_algorithm
from ..evaluation.metrics import Evaluation, evaluate_probabilities
from ..kernels import evaluation
from ..model.compiled_game import CompiledGame
from ..model.locks import Locks
from ..model.policy import Policy
from ..model.solvable_game import SolvableGame
from ..uncompiled.infoset_table import OutOfTimeError
from .problem import Problem
from .solver_arguments import STEPS
from .state_file import StateFile
from .sums import Sums


class IterativeSolver(StateFile, ABC):
    """Solver between two iterations: a game, an algorithm and arrays.

    A subclass defines which records it runs, how it runs iterations, and the meaning of its arrays.
    This class holds the loop over the schedule, :class:`~tensorcfr.solvers.state_file.StateFile`
    the conversion of the arrays to files.
    """

    records: ClassVar[type[Record]]
    """Class of the algorithms that the solver runs."""
    undoes_errors: ClassVar[bool] = False
    """True if an error in :meth:`iterate` undoes the current iteration, so that the solver is as it
    was after the last complete one."""
    keeps: ClassVar[str | None] = None
    """Name of the numbers that it keeps in place of regrets of single actions; None if it has
    regrets."""
    layouts: ClassVar[tuple[str, ...]] = ("flat", "chunks", "rules")
    """Layouts of the games that it accepts; see :attr:`CompiledGame.layout`."""
    game: Any
    """The game; its layout is one of ``layouts``."""
    algorithm: Any
    """The algorithm, an instance of ``records``."""
    locks: Locks | None = None
    """Infosets with given probabilities; None in solvers that do not support locks."""
    precision: str = "float64"
    """Dtype of the arrays."""
    iteration: int
    """Number of iterations done."""
    deadline: float = math.inf
    """Time of :func:`time.perf_counter` after which :meth:`iterate` may end before its last
    iteration.  An iteration on rules may take long, so that solvers on rules undo the current
    iteration then."""
    _state: Any
    """The arrays, in solvers that store their :attr:`state` unchanged."""
    seconds: float = 0.0
    """Time spent in :meth:`iterate`, in seconds, without compilation."""

    @property
    def problem(self) -> Problem:
        """Game, algorithm and locks that the state belongs to."""
        return Problem(self.game, self.algorithm, self.locks)

    @abstractmethod
    def __init__(self, game: CompiledGame, algorithm: Any, **options: Any) -> None:
        """Begin, or continue from a state; each subclass documents its options."""

    def __repr__(self) -> str:
        name, game = type(self).__name__, self.game.name
        return f"<{name} of {game} by {self.algorithm}: {self.iteration:,} iterations>"

    def iterate(self, iterations: int = 1) -> None:
        """Run some iterations; each updates every player once.

        Raises:
            ValueError: ``iterations`` is not a whole number from 0.
        """
        iterations = STEPS("iterations", iterations)
        started = time.perf_counter()
        try:
            # The schedule changes the scale of the average between runs.
            for factor, count in self.algorithm.variant.runs(self.iteration + 1, iterations):
                if factor != 1.0:
                    self._scale_average(factor)
                self._run(count)
        except OutOfTimeError:
            pass
        finally:
            self.seconds += time.perf_counter() - started

    @abstractmethod
    def _run(self, iterations: int) -> None:
        """Run iterations with one schedule; with 0, only compile the kernels."""

    def _scale_average(self, factor: float) -> None:
        """Multiply the cumulative strategy by a factor.

        It is 0 where an algorithm restarts its average, or a power of two where its weights get a
        larger unit.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Release resources outside this process's memory; the solver can still be used."""

    @property
    def state(self) -> Any:
        """The arrays, a named tuple, from which the solver can continue.

        Their numbers are the solver's.  If it merges infosets, they are not the sequences of the
        game: :attr:`sums` has regrets and averages by infoset.
        """
        return self._state

    @property
    def sums(self) -> Sums:
        """Copies of the current cumulative regrets and cumulative strategies, by infoset label."""
        return Sums(self.problem, self.sums_of, self.state)

    @classmethod
    def has_average(cls, state: Any) -> bool:
        """Return whether any iteration has entered the average.

        Without one, ``delay`` leaving out all iterations, the average strategy and its evaluation
        are those of the last iterate.
        """
        return True

    @classmethod
    def policy_of(cls, problem: Problem, state: Any) -> Policy:
        """Compute the average policy of a state, if :meth:`policy_is_in_state`."""
        raise NotImplementedError

    @classmethod
    def whole_regrets(cls, problem: Problem, state: Any) -> np.ndarray:
        """Return the cumulative regrets of a state, float64 (numbers of the game,).

        If one infoset of the state represents several infosets, each of them gets an equal share.

        Raises:
            ValueError: The solver keeps other numbers than regrets of single actions, see
                :attr:`keeps`.
        """
        if cls.keeps is not None:
            raise ValueError(f"{problem.algorithm.name} keeps {cls.keeps}")
        return np.asarray(state.regret, dtype=np.float64)

    @classmethod
    def sums_of(cls, problem: Problem, state: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the cumulative regrets and the cumulative strategies of a state.

        :class:`~tensorcfr.solvers.sums.Sums` reads them by infoset.

        Returns:
            Two arrays, float64 (numbers of the game,) each.

        Raises:
            ValueError: The solver keeps other numbers than regrets of single actions, see
                :attr:`keeps`.
        """
        regret = cls.whole_regrets(problem, state)
        return regret.copy(), np.array(state.cumulative, dtype=np.float64)

    @classmethod
    def begin(
        cls, problem: Problem, regret: np.ndarray, strategy: np.ndarray, *, precision: str
    ) -> Any:
        """Create the state before the first iteration from given regrets, with an empty average.

        Args:
            problem: Game, algorithm and locks of the state.
            regret: float64: cumulative regrets; see :func:`tensorcfr.solvers.warm_start.warm_state`
                for their sequences.
            strategy: float64: first strategy, over the same sequences.  Algorithms that derive
                strategies from regrets may ignore it.
            precision: Precision of the arrays.
        """
        raise ValueError(f"{problem.algorithm.name} takes no warm start")

    @classmethod
    def last_probabilities(cls, problem: Problem, state: Any) -> np.ndarray:
        """Compute the strategy of the next iteration from a state, float64 (sequences of the
        game,)."""
        strategy: np.ndarray = state.strategy.copy()
        return strategy

    @classmethod
    def last_policy_of(cls, problem: Problem, state: Any) -> Policy:
        """Return the last iterate, the strategy of the next iteration, from a state."""
        return Policy(problem.game, cls.last_probabilities(problem, state))

    @classmethod
    def count_nodes(cls, game: Any, state: Any, iterations: int) -> tuple[int, int]:
        """Count the histories, and the decision nodes among them, that some iterations visited.

        By default, every player's update passes over the whole game once.
        """
        updates = iterations * game.n_players
        return updates * game.n_histories, updates * game.n_decision_nodes

    @property
    def infosets_held(self) -> int | None:
        """Number of infosets visited so far; None if the solver has all infosets from the start."""
        return None

    @property
    def bytes_held(self) -> int | None:
        """Bytes of the infosets visited so far; None if the solver has all of them from the
        start."""
        return None

    @property
    def nodes_touched(self) -> int:
        """Number of histories visited: chance nodes, decision nodes and terminals."""
        return self.count_nodes(self.game, self._state, self.iteration)[0]

    @property
    def decision_nodes_touched(self) -> int:
        """Number of decision nodes visited."""
        return self.count_nodes(self.game, self._state, self.iteration)[1]

    def average_probabilities(self) -> np.ndarray:
        """Compute the average strategy, float64 (sequences,); uniform where its sum is 0."""
        return evaluation.normalise(self.game.form, self._state.cumulative)

    def average_policy(self) -> Policy:
        """Return the average strategy."""
        return Policy(self.game, self.average_probabilities())

    def current_policy(self) -> Policy:
        """Return the last iterate: the strategy that the next iteration will use."""
        return self.last_policy_of(self.problem, self.state)

    def evaluate(self) -> Evaluation:
        """Compute values and best-response values of the average strategy."""
        return evaluate_probabilities(self.game, self.average_probabilities())

    def evaluate_current(self) -> Evaluation:
        """Compute values and best-response values of the last iterate."""
        return evaluate_probabilities(self.game, self.last_probabilities(self.problem, self.state))

    @classmethod
    def _checked(cls, game: SolvableGame, algorithm: str | Record) -> Any:
        """Return the record of an algorithm, and check that this solver runs it on a game.

        Raises:
            ValueError: The solver does not accept the game or does not run the algorithm.
        """
        record = find_algorithm(algorithm)
        if game.layout not in cls.layouts:
            property_text = GAMES.get(game.layout, "has perfect recall")
            raise ValueError(f"{game.name} {property_text}, which {cls.__name__} is not for")
        if isinstance(record, cls.records):
            return record
        if record.is_exact:
            raise ValueError(f"{record.name} does not iterate; use solve(game, {record.name!r})")
        if record.is_sampled:
            raise ValueError(f"{record.name} samples; use SampledSolver(game, {record.name!r})")
        raise ValueError(f"{record.name} does not sample; use Solver(game, {record.name!r})")


GAMES = {"tied": "has imperfect recall", "teams": "is a game of teams"}
"""Property of a game that other layouts do not have, by its layout."""
PACKAGE = __name__.partition(".")[0]


def solver_class(record: Record, game: CompiledGame) -> type[IterativeSolver] | None:
    """Return the solver class that runs an algorithm on a game; None if its layout has none."""
    return solver_for(record, game.layout) if game.layout in record.solvers else None


def solver_for(record: Record, layout: str) -> type[IterativeSolver]:
    """Return the solver class that runs an algorithm on a layout of games, or on a cluster."""
    solver: type[IterativeSolver] = named(record.solvers[layout])
    return solver


def named(text: str) -> Any:
    """Import the class or function with the name ``"module:name"`` in this package."""
    module, _, name = text.partition(":")
    return getattr(import_module(f"{PACKAGE}.{module}"), name)
