"""The protocol of solvers: all that :func:`tensorcfr.solve`, solutions and analyses rely on."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np

from .._util.arguments import checked
from ..algorithms import Record, find_algorithm
from ..evaluation.metrics import Evaluation, evaluate_probabilities
from ..invariants.strategies import wrong_state
from ..kernels import evaluation
from ..model.arguments import CALLABLE
from ..model.chunks import ChunkedForm, ChunkLocks
from ..model.game import CompiledGame
from ..model.locks import Locks, part_locks
from ..model.policy import Policy
from ..uncompiled.infosets import OutOfTimeError
from .arguments import CHECKPOINTS, STEPS, Iterations, Nodes, Seconds, Target
from .kept import Expected, copied

if TYPE_CHECKING:
    from .sums import Sums


class Setting(NamedTuple):
    """What the arrays of a state are of."""

    game: Any
    """The game, one that the solver takes."""
    algorithm: Any
    """The algorithm."""
    locks: Locks | None = None
    """Locked infosets."""

    @property
    def merges(self) -> bool:
        """Whether infosets are merged: where the algorithm may, and the locks do not tell them
        apart."""
        record: Record = self.algorithm
        locks = self.locks
        return record.merges_infosets and (not locks or locks.keep_symmetry)

    @property
    def form(self) -> ChunkedForm:
        """What a solver's arrays are over."""
        found: ChunkedForm = self.game.swept(merged=self.merges)
        return found

    @property
    def merged_numbers(self) -> np.ndarray | None:
        """:attr:`CompiledGame.merged_numbers`, where the arrays are not over the numbers of a
        policy; None elsewhere."""
        game: CompiledGame = self.game
        return None if self.form.trunk is game.chunks.trunk else game.merged_numbers

    @property
    def part_locks(self) -> ChunkLocks | None:
        """The locks as kernels take them."""
        return part_locks(self.game, self.form, self.locks)


class IterativeSolver(ABC):
    """A solver between two iterations: a game, an algorithm and arrays.

    A subclass says which records it runs, how it runs some iterations, and what its arrays mean.
    The loop over the schedule is here.
    """

    records: ClassVar[type[Record]]
    """The algorithms that the solver runs."""
    state_kind: ClassVar[type]
    """The named tuple of its arrays."""
    keeps: ClassVar[str | None] = None
    """What it keeps in place of regrets of single actions, if it does."""
    layouts: ClassVar[tuple[str, ...]] = ("flat", "chunks", "rules")
    """The layouts of the games that it takes, of :attr:`CompiledGame.layout`."""
    game: Any
    """The game, one of :attr:`games`."""
    algorithm: Any
    """The algorithm, one of ``records``."""
    locks: Locks | None = None
    """The infosets that are not solved for; None in solvers that take none."""
    precision: str = "float64"
    """The floats in which the arrays are kept."""
    iteration: int
    """Iterations done."""
    deadline: float = math.inf
    """When :meth:`step` may end before its last iteration, by :func:`time.perf_counter`.  Solvers
    on rules, of which one iteration may take long, undo the iteration under way then."""
    _state: Any
    """What :attr:`state` is, where that is kept as it is."""
    seconds: float = 0.0
    """Time spent in :meth:`step`, in seconds; compiling is not counted."""

    @property
    def setting(self) -> Setting:
        """What the state is of."""
        return Setting(self.game, self.algorithm, self.locks)

    @abstractmethod
    def __init__(self, game: CompiledGame, algorithm: Any, **options: Any) -> None:
        """Begin, or go on from a state; each subclass lists its options."""

    def __repr__(self) -> str:
        name, game = type(self).__name__, self.game.name
        return f"<{name} of {game} by {self.algorithm}: {self.iteration:,} iterations>"

    def step(self, iterations: int = 1) -> None:
        """Run some iterations; each updates every player once.

        Raises:
            ValueError: ``iterations`` is no whole number from 0.
        """
        iterations = STEPS("iterations", iterations)
        started = time.perf_counter()
        try:
            for factor, count in self.algorithm.variant.runs(self.iteration + 1, iterations):
                if factor != 1.0:
                    self._scale_average(factor)
                self._run(count)
        except OutOfTimeError:
            pass
        finally:
            self.seconds += time.perf_counter() - started

    @checked()
    def run(
        self,
        iters: Iterations | None = None,
        *,
        target: Target | None = None,
        time_limit: Seconds | None = None,
        nodes: Nodes | None = None,
        checkpoints: Annotated[str | int | Iterable[int], CHECKPOINTS] = "geometric",
        progress: Annotated[Callable[[Any], object] | None, CALLABLE] = None,
    ) -> Any:
        """Iterate until a stop rule says so; the arguments are those of :func:`tensorcfr.solve`.

        The solver can go on afterwards: the solution has arrays of its own.

        Returns:
            The :class:`~tensorcfr.Solution`.

        Raises:
            ValueError: An argument makes no sense; names it.
        """
        from .driver import run_solver

        return run_solver(
            self,
            progress,
            iters=iters,
            target=target,
            time_limit=time_limit,
            nodes=nodes,
            checkpoints=checkpoints,
        )

    @abstractmethod
    def _run(self, iterations: int) -> None:
        """Run iterations with one schedule; with 0, compile the kernels."""

    def _scale_average(self, factor: float) -> None:
        """Multiply the cumulative strategy: by 0, where an algorithm begins its average anew, or by
        a power of two, where its weights get a larger unit."""
        raise NotImplementedError

    def close(self) -> None:  # noqa: B027
        """Give back what the solver holds elsewhere; it goes on in this process."""

    @property
    def state(self) -> Any:
        """The arrays, a named tuple, from which the solver can go on.

        They have the numbers of the solver.  Where it merges infosets, these are not the sequences
        of the game: :attr:`sums` has regrets and averages by infoset.
        """
        return self._state

    @property
    def sums(self) -> Sums:
        """Copies of the cumulative regrets and cumulative strategies now, by infoset label."""
        from .sums import Sums

        return Sums(self.setting, type(self), self.state)

    @classmethod
    def kept(cls, state: Any) -> Mapping[str, np.ndarray]:
        """The arrays of a state that a file keeps, by name: all of them unless said otherwise."""
        arrays: Mapping[str, np.ndarray] = state._asdict()
        return arrays

    @classmethod
    def expected(cls, setting: Setting, kept: Mapping[str, np.ndarray]) -> Expected:
        """Shape and dtype by name of the arrays of a state.

        Args:
            setting: What the state is of.
            kept: The arrays that are given.
        """
        raise NotImplementedError

    @classmethod
    def restore(cls, setting: Setting, kept: Mapping[str, np.ndarray]) -> Any:
        """The state that :meth:`kept` came from, checked.

        Raises:
            ValueError: An array has another shape or dtype than this game and algorithm have, or
                holds a value that is not finite; names the array.
        """
        owner = f"{setting.game.name} and {setting.algorithm.name}"
        return cls.state_kind(**copied(kept, cls.expected(setting, kept), owner))

    @classmethod
    def wrong_state(cls, setting: Setting, state: Any) -> str | None:
        """What is wrong with a restored state, or nothing."""
        return wrong_state(setting.form.trunk, state)

    @classmethod
    def wrong_iteration(cls, state: Any, iteration: int) -> str | None:
        """What is wrong with a state that is said to be after so many iterations, or nothing: few
        states tell how many led to them."""
        return None

    undoes_errors: ClassVar[bool] = False
    """Whether an error in :meth:`step` undoes the iteration during which it happened, and leaves
    the solver as it was after the one before."""

    @classmethod
    def policy_is_in_state(cls, game: CompiledGame) -> bool:
        """Whether the average policy follows from the state, by :meth:`policy_of`, so that files
        need not keep both."""
        return False

    @classmethod
    def has_average(cls, state: Any) -> bool:
        """Return whether any iteration has entered the average.

        Without one, ``delay`` leaving out all iterations, the average strategy and its evaluation
        are those of the last iterate.
        """
        return True

    @classmethod
    def policy_of(cls, setting: Setting, state: Any) -> Policy:
        """The average policy of a state, where :meth:`policy_is_in_state`."""
        raise NotImplementedError

    @classmethod
    def whole_regrets(cls, setting: Setting, state: Any) -> np.ndarray:
        """The cumulative regrets of a state, float64 (numbers of the game,); where one infoset of
        the state stands for several numbers, each has its share.

        Raises:
            ValueError: The solver keeps no regrets of single actions, :attr:`keeps` something else.
        """
        if cls.keeps is not None:
            raise ValueError(f"{setting.algorithm.name} keeps {cls.keeps}")
        return np.asarray(state.regret, dtype=np.float64)

    @classmethod
    def sums_of(cls, setting: Setting, state: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the cumulative regrets and the cumulative strategies of a state, float64 (numbers
        of the game,) each; :class:`~tensorcfr.solvers.sums.Sums` reads them by infoset.

        Raises:
            ValueError: The solver keeps no regrets of single actions, :attr:`keeps` something else.
        """
        regret = cls.whole_regrets(setting, state)
        return regret.copy(), np.array(state.cumulative, dtype=np.float64)

    @classmethod
    def begin(
        cls, setting: Setting, regret: np.ndarray, strategy: np.ndarray, *, precision: str
    ) -> Any:
        """The state before the first iteration that has given regrets, and no average yet.

        Args:
            setting: What it is of.
            regret: float64: cumulative regrets; see :func:`tensorcfr.solvers.warm_start.warm_state`
                for the sequences that they are over.
            strategy: float64, likewise: what is played first.  Algorithms whose strategies are made
                from the regrets alone may not need it.
            precision: Of the arrays.
        """
        raise ValueError(f"{setting.algorithm.name} takes no warm start")

    @classmethod
    def last_probabilities(cls, setting: Setting, state: Any) -> np.ndarray:
        """The strategy of the next iteration, float64 (sequences of the game,), from a state."""
        strategy: np.ndarray = state.strategy.copy()
        return strategy

    @classmethod
    def last_policy_of(cls, setting: Setting, state: Any) -> Policy:
        """The last iterate: the strategy of the next iteration, from a state."""
        return Policy(setting.game, cls.last_probabilities(setting, state))

    @classmethod
    def count_nodes(cls, game: Any, state: Any, iterations: int) -> tuple[int, int]:
        """Histories visited in some iterations, and the decision nodes among them: every player's
        update passes over the whole game once, unless said otherwise."""
        updates = iterations * game.n_players
        return updates * game.n_histories, updates * game.n_decision_nodes

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
        return self.count_nodes(self.game, self._state, self.iteration)[0]

    @property
    def decision_nodes_touched(self) -> int:
        """Decision nodes visited."""
        return self.count_nodes(self.game, self._state, self.iteration)[1]

    def average_probabilities(self) -> np.ndarray:
        """The average strategy, float64 (sequences,); uniform where nothing was added."""
        return evaluation.normalise(self.game.form, self._state.cumulative)

    def average_policy(self) -> Policy:
        """The average strategy."""
        return Policy(self.game, self.average_probabilities())

    def current_policy(self) -> Policy:
        """The last iterate: the strategy that the next iteration will use."""
        return self.last_policy_of(self.setting, self.state)

    def evaluate(self) -> Evaluation:
        """Values and best-response values of the average strategy."""
        return evaluate_probabilities(self.game, self.average_probabilities())

    def evaluate_current(self) -> Evaluation:
        """Values and best-response values of the last iterate."""
        return evaluate_probabilities(self.game, self.last_probabilities(self.setting, self.state))

    @classmethod
    def _checked(cls, game: Any, algorithm: str | Record) -> Any:
        """The record of an algorithm that this solver runs on a compiled game."""
        record = find_algorithm(algorithm)
        if game.layout not in cls.layouts:
            is_what = GAMES.get(game.layout, "has perfect recall")
            raise ValueError(f"{game.name} {is_what}, which {cls.__name__} is not for")
        if isinstance(record, cls.records):
            return record
        if record.is_exact:
            raise ValueError(f"{record.name} does not iterate; use solve(game, {record.name!r})")
        if record.is_sampled:
            raise ValueError(f"{record.name} samples; use SampledSolver(game, {record.name!r})")
        raise ValueError(f"{record.name} does not sample; use Solver(game, {record.name!r})")


def merges_alike(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Whether two answers of :func:`merged_numbers_for` are the same."""
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


GAMES = {"tied": "has imperfect recall", "teams": "is a game of teams"}
"""What is special about a game, by its layout."""
PACKAGE = __name__.partition(".")[0]


def solver_class(record: Record, game: CompiledGame) -> type[IterativeSolver] | None:
    """The solver that runs an algorithm on a game; None where there is none for its layout."""
    return solver_for(record, game.layout) if game.layout in record.solvers else None


def solver_for(record: Record, layout: str) -> type[IterativeSolver]:
    """The solver that runs an algorithm on a layout of games, or on a cluster."""
    module, _, name = record.solvers[layout].partition(":")
    found: type[IterativeSolver] = getattr(import_module(f"{PACKAGE}.{module}"), name)
    return found
