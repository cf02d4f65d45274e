"""The protocol of solvers: all that :func:`tensorcfr.solve`, solutions and analyses rely on."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..algorithms import Record, find_algorithm
from ..evaluation.metrics import Evaluation
from ..invariants.strategies import wrong_state
from ..model.arrays import SequenceForm
from ..model.game import CompiledGame
from ..model.locks import Locks
from ..model.policy import Policy
from .arguments import STEPS


class IterativeSolver(ABC):
    """A solver between two iterations: a game, an algorithm and arrays.

    A subclass says which records it runs, how it runs some iterations, and what its arrays mean.
    The loop over the schedule is here.
    """

    records: ClassVar[type[Record]]
    """The algorithms that the solver runs."""
    games: ClassVar[type[Any]] = CompiledGame
    """The games that it runs them on."""
    ties_infosets: ClassVar[bool] = False
    """Whether it is for games with imperfect recall, in which infosets share strategies."""
    game: CompiledGame
    """The game."""
    algorithm: Any
    """The algorithm, one of ``records``."""
    locks: Locks
    """The infosets that are not solved for."""
    precision: str = "float64"
    """The floats in which the arrays are kept."""
    iteration: int
    """Iterations done."""
    seconds: float = 0.0
    """Time spent in :meth:`step`, in seconds; compiling is not counted."""

    @abstractmethod
    def __init__(self, game: CompiledGame, algorithm: Any, **options: Any) -> None:
        """Begin, or go on from a state; each subclass lists its options."""

    def step(self, iterations: int = 1) -> None:
        """Run some iterations; each updates every player once.

        Raises:
            ValueError: ``iterations`` is no whole number from 0.
        """
        iterations = STEPS("iterations", iterations)
        started = time.perf_counter()
        try:
            for restarts, count in self.algorithm.variant.runs(self.iteration + 1, iterations):
                if restarts:
                    self._restart_average()
                self._run(count)
        finally:
            self.seconds += time.perf_counter() - started

    @abstractmethod
    def _run(self, iterations: int) -> None:
        """Run iterations with one schedule; with 0, compile the kernels."""

    @abstractmethod
    def _restart_average(self) -> None:
        """Set the cumulative strategy to zero."""

    def close(self) -> None:  # noqa: B027
        """Give back what the solver holds elsewhere; it goes on in this process."""

    @property
    @abstractmethod
    def state(self) -> Any:
        """The arrays, a named tuple, from which the solver can go on."""

    @classmethod
    def kept(cls, state: Any) -> Mapping[str, np.ndarray]:
        """The arrays of a state that a file keeps, by name: all of them unless said otherwise."""
        arrays: Mapping[str, np.ndarray] = state._asdict()
        return arrays

    @classmethod
    @abstractmethod
    def restore(
        cls,
        game: CompiledGame,
        algorithm: Any,
        kept: Mapping[str, np.ndarray],
        locks: Locks | None = None,
    ) -> Any:
        """The state that :meth:`kept` came from, checked.

        Raises:
            ValueError: An array has another shape or dtype than this game and algorithm have, or
                holds a value that is not finite; names the array.
        """

    @classmethod
    def wrong_state(
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> str | None:
        """What is wrong with a restored state, or nothing."""
        return wrong_state(form_for(game, algorithm, locks), state)

    undoes_errors: ClassVar[bool] = False
    """Whether an error in :meth:`step` undoes the iteration during which it happened, and leaves
    the solver as it was after the one before."""

    policy_is_in_state: ClassVar[bool] = False
    """Whether the average policy follows from the state, by :meth:`policy_of`, so that files need
    not keep both."""

    @classmethod
    def policy_of(
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> Policy:
        """The average policy of a state, where :attr:`policy_is_in_state`."""
        raise NotImplementedError

    @classmethod
    def whole_regrets(
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> np.ndarray:
        """The cumulative regrets of a state, float64 (sequences of the game,); where one infoset
        of the state stands for several, each has its share."""
        form = form_for(game, algorithm, locks)
        regret = np.asarray(state.regret, dtype=np.float64)
        if form is not game.form:
            assert game.merged is not None
            counted = np.bincount(game.merged.sequence, minlength=len(regret))
            regret = regret / np.maximum(counted, 1)
        return game.unmerged(regret, form)

    @classmethod
    def begin(
        cls,
        game: CompiledGame,
        algorithm: Any,
        regret: np.ndarray,
        strategy: np.ndarray,
        *,
        precision: str,
        locks: Locks,
    ) -> Any:
        """The state before the first iteration that has given regrets, and no average yet.

        Args:
            game: The game.
            algorithm: The algorithm.
            regret: float64: cumulative regrets; see :func:`tensorcfr.solvers.warm_start.warm_state`
                for the sequences that they are over.
            strategy: float64, likewise: what is played first.  Algorithms whose strategies are made
                from the regrets alone may not need it.
            precision: Of the arrays.
            locks: Locked infosets.
        """
        raise ValueError(f"{algorithm.name} takes no warm start")

    @classmethod
    @abstractmethod
    def last_probabilities(
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> np.ndarray:
        """The strategy of the next iteration, float64 (sequences of the game,), from a state."""

    @classmethod
    def last_policy_of(
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> Policy:
        """The last iterate: the strategy of the next iteration, from a state."""
        return Policy(game, cls.last_probabilities(game, algorithm, state, locks))

    @classmethod
    @abstractmethod
    def count_nodes(cls, game: CompiledGame, state: Any, iterations: int) -> tuple[int, int]:
        """Histories visited in some iterations, and the decision nodes among them."""

    @property
    def infosets_held(self) -> int | None:
        """Infosets that were met so far; None where the solver has all of them from the start."""
        return None

    @property
    def bytes_held(self) -> int | None:
        """Bytes that they take; None likewise."""
        return None

    @property
    def nodes_touched(self) -> int:
        """Histories visited: chance nodes, decision nodes and terminals."""
        return self.count_nodes(self.game, self.state, self.iteration)[0]

    @property
    def decision_nodes_touched(self) -> int:
        """Decision nodes visited."""
        return self.count_nodes(self.game, self.state, self.iteration)[1]

    @abstractmethod
    def average_probabilities(self) -> np.ndarray:
        """The average strategy, float64 (sequences,); uniform where nothing was added."""

    def average_policy(self) -> Policy:
        """The average strategy."""
        return Policy(self.game, self.average_probabilities())

    def current_policy(self) -> Policy:
        """The last iterate: the strategy that the next iteration will use."""
        return self.last_policy_of(self.game, self.algorithm, self.state, self.locks)

    @abstractmethod
    def evaluate(self) -> Evaluation:
        """Values and best-response values of the average strategy."""

    @abstractmethod
    def evaluate_current(self) -> Evaluation:
        """Values and best-response values of the last iterate."""

    @classmethod
    def _checked(cls, game: CompiledGame, algorithm: str | Record) -> Any:
        """The record of an algorithm that this solver runs on a compiled game."""
        record = find_algorithm(algorithm)
        if cls.ties_infosets != (game.tied_to is not None):
            recall = "perfect" if cls.ties_infosets else "imperfect"
            raise ValueError(f"{game.name} has {recall} recall, which {cls.__name__} is not for")
        if isinstance(record, cls.records):
            return record
        if record.is_exact:
            raise ValueError(f"{record.name} does not iterate; use solve(game, {record.name!r})")
        if record.is_sampled:
            raise ValueError(f"{record.name} samples; use SampledSolver(game, {record.name!r})")
        raise ValueError(f"{record.name} does not sample; use Solver(game, {record.name!r})")


def form_for(game: CompiledGame, record: Record, locks: Locks | None = None) -> SequenceForm:
    """The sequence form that an algorithm's arrays are over: the merged one where the algorithm
    merges infosets, and the locks do not tell merged infosets apart."""
    if not record.merges_infosets:
        return game.form
    return game.solver_form if locks is None or locks.keep_symmetry else game.form
