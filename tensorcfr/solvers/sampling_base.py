"""Base of all solvers that sample, for any source of histories and any way of learning."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, cast

import numpy as np

from .._util.argument_checks import brief
from .._util.memory_budget import free_memory
from ..algorithms import Record, find_algorithm
from ..algorithms.records import is_whole
from ..errors import MemoryLimitError
from ..evaluation.metrics import Evaluation
from ..kernels.local_rule import rule_errors
from ..kernels.random import Seed
from ..kernels.reservoir import Samples
from ..kernels.sampling_plays import External, Outcome, follow_plays
from ..kernels.traversal import Orders, TraversalState
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import require_flat
from ..model.layout import Layout
from ..model.policy import Policy
from ..model.solvable_game import SolvableGame
from ..uncompiled.infoset_table import InfosetsFullError
from .choose import refuse_uncompiled
from .history_sources import NO_ARRAY, CompiledSource, GrowingSource, infosets_of
from .loop import RunnableSolver
from .problem import Problem
from .solver_arguments import PLAYABLE
from .traversal import STRATEGY

Playable = Annotated[Any, PLAYABLE]


class SamplingSolver(RunnableSolver):
    """Solver that samples a compiled game, or a game by its rules.

    Its :attr:`source` provides histories and infosets.  A subclass stores the results of
    traversals: in a table of numbers, or as samples for a learner.
    """

    undoes_errors = True
    source: CompiledSource | GrowingSource
    """Source of histories and infosets."""
    memory_limit: float
    """Bytes that the solver may take.  On rules it may be changed between two steps."""
    _generator: Any
    """Random numbers of the traversals."""
    _touched: np.ndarray
    """int64 (2,): number of histories visited, and of decision nodes among them."""

    def _begin(
        self,
        game: SolvableGame,
        algorithm: str | Record,
        state: Any,
        iteration: int,
        seed: Seed | None,
        memory_limit: int | None,
    ) -> Any:
        """Check and store the arguments of all such solvers, and return the checked state, if any.

        Raises:
            ValueError: The algorithm does not fit the game, a seed is given with a state, or the
                state is of another kind of game.
        """
        self.game, self.algorithm = game, self._checked(game, algorithm)
        self.iteration = iteration
        self.memory_limit = free_memory() if memory_limit is None else memory_limit
        if state is None:
            return None
        if seed is not None:
            raise ValueError("a state brings its own random numbers: give no seed with it")
        on_rules = "labels" in self.stored_arrays(state)
        if on_rules != (game.layout == Layout.RULES):
            owner = "rules" if on_rules else "a compiled game"
            raise ValueError(f"the state is of a solver on {owner}, which {game.name} is not")
        return self.restore(self.problem, self.stored_arrays(state))

    @classmethod
    def _checked(cls, game: SolvableGame, algorithm: str | Record) -> Any:
        if game.layout == Layout.RULES:
            refuse_uncompiled(find_algorithm(algorithm), game.name)
        record = super()._checked(game, algorithm)
        if game.layout == Layout.CHUNKS:
            cls._check_chunks(cast(CompiledGame, game), record)
        return record

    @classmethod
    def _check_chunks(cls, game: CompiledGame, record: Any) -> None:
        """Check that the solver runs an algorithm on a game in chunks; by default on none.

        Raises:
            CutError: It needs a flat game.
        """
        require_flat(game, record.name)

    @abstractmethod
    def _room(self) -> float:
        """Return the bytes that the infosets and histories of rules may take."""

    # ------------------------------------------------------------------------------ iterating

    def _follow(
        self,
        orders: Orders,
        state: TraversalState,
        generator: Any,
        samples: Callable[[], Samples | None] = lambda: None,
    ) -> None:
        """Run iterations of a scheme that follows plays; without iterations, only compile the
        kernel.

        Args:
            orders: Schedule, players and averaging of the iterations.
            state: Numbers that the traversals update.
            generator: Random numbers.
            samples: Function that returns the samples for a learner; called again whenever the
                traversal's stack has become longer or wider.
        """
        source, record = self.source, self.algorithm
        scheme: External | Outcome = External(record.own_draws)
        if record.scheme == "outcome":
            scheme = Outcome(record.epsilon, record.baseline)

        def arguments() -> tuple[Any, ...]:
            begin = (source.arrays, record.variant.rule, orders, scheme)
            return (*begin, state, generator, source.frames, samples())

        # The generator's sums wrap around by design; numpy warns about that with the JIT off.
        with np.errstate(over="ignore"), rule_errors(record.variant.rule):
            if len(orders.schedule) and (self.bytes_held or 0) > self.memory_limit:
                raise InfosetsFullError
            limits = self._room(), self.memory_limit, self.deadline
            source.run(follow_plays, arguments, state, generator, *limits)

    @classmethod
    def count_nodes(cls, game: SolvableGame, state: Any, iterations: int) -> tuple[int, int]:
        """Return the nodes that the traversals counted."""
        return int(state.touched[0]), int(state.touched[1])

    @property
    def nodes_touched(self) -> int:  # noqa: D102
        return int(self._touched[0])

    @property
    def decision_nodes_touched(self) -> int:  # noqa: D102
        return int(self._touched[1])

    @property
    def infosets_held(self) -> int | None:
        """Number of infosets visited so far, on rules; None on a compiled game."""
        return self.source.infosets_held

    @property
    def bytes_held(self) -> int | None:
        """Bytes of table and tree, or the growth of the process during traversals if it is larger.

        It is larger if the rules keep much memory.  None on a compiled game.
        """
        return self.source.bytes_held

    # ------------------------------------------------------------------- its state and policies

    @classmethod
    def stored_arrays(cls, state: Any) -> Mapping[str, np.ndarray]:
        """Return the arrays of the state; some exist only for compiled games, some only on
        rules."""
        return {name: a for name, a in state._asdict().items() if a.dtype != NO_ARRAY.dtype}

    @classmethod
    def policy_is_in_state(cls, game: SolvableGame) -> bool:
        """Return True on rules."""
        return game.layout == Layout.RULES

    @classmethod
    def wrong_state(cls, problem: Problem, state: Any) -> str | None:  # noqa: D102
        return infosets_of(problem.game, state._asdict()).wrong_state(state)

    @classmethod
    def last_policy_of(cls, problem: Problem, state: Any) -> Policy:  # noqa: D102
        return infosets_of(problem.game, state._asdict()).policy(state.strategy.copy())

    def average_policy(self) -> Policy:  # noqa: D102
        return self.source.policy(self.average_probabilities())

    def current_policy(self) -> Policy:  # noqa: D102
        return self.source.policy(self.source.table.group(STRATEGY))

    def evaluate(self) -> Evaluation:
        """Compute values and best-response values of the average strategy; NaN on rules.

        On rules, :func:`tensorcfr.analysis.sampled_values` and
        :func:`tensorcfr.analysis.local_best_response` estimate and bound them.
        """
        return self.source.evaluate(lambda: self.average_probabilities())

    def evaluate_current(self) -> Evaluation:  # noqa: D102
        return self.source.evaluate(lambda: self.source.table.group(STRATEGY))


@contextmanager
def naming_memory_limit(solver: Any) -> Iterator[None]:
    """Convert the error of a full table to a complete message.

    Raises:
        MemoryLimitError: The table of a solver on rules is full.
    """
    try:
        yield
    except InfosetsFullError:
        raise MemoryLimitError(
            f"solving {solver.game.name} by {solver.algorithm.name} beyond {solver.iteration:,} "
            f"iterations, with {solver.infosets_held:,} infosets held,",
            max(solver.bytes_held, int(solver.memory_limit) + 1),
            int(solver.memory_limit),
        ) from None


def check_seed(seed: Any) -> Seed:
    """Validate and normalise a seed.

    Raises:
        ValueError: It is neither a whole number from 0 nor a sequence of such numbers.
    """
    parts = [seed] if is_whole(seed) else seed
    several = isinstance(parts, Sequence) and not isinstance(parts, (str, bytes))
    if not (several and parts and all(is_whole(part) and part >= 0 for part in parts)):
        raise ValueError(f"a seed is a whole number from 0, or several, not {brief(seed)}")
    numbers = [int(part) for part in parts]
    return numbers[0] if is_whole(seed) else numbers
