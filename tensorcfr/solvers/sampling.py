"""What solvers that sample have in common, wherever histories come from and whatever is learned."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import numpy as np

from .._util.arguments import brief
from .._util.memory import free_memory
from ..algorithms import ALGORITHMS, Record, find_algorithm
from ..algorithms.records import is_whole
from ..errors import MemoryLimitError
from ..evaluation.metrics import Evaluation
from ..kernels.local_rule import rule_errors
from ..kernels.random import Seed
from ..kernels.reservoir import Samples
from ..kernels.sampling_plays import External, Outcome, follow_plays
from ..kernels.traversal import Orders, TraversalState
from ..model.policy import Policy
from ..uncompiled.infosets import InfosetsFullError
from .arguments import SAMPLED
from .base import IterativeSolver, Setting
from .sources import NOTHING, CompiledSource, GrowingSource, infosets_of
from .traversal import STRATEGY

Playable = Annotated[Any, SAMPLED]


class SamplingSolver(IterativeSolver):
    """A solver that samples a compiled game, or a game by its rules.

    Where it finds histories and infosets is its :attr:`source`.  A subclass stores what traversals
    teach: in a table of numbers, or in samples for a learner.
    """

    undoes_errors = True
    source: CompiledSource | GrowingSource
    """Where it finds histories and infosets."""
    memory_limit: float
    """Bytes that the solver may take.  On rules it may be changed between two steps."""
    _generator: Any
    """Random numbers of the traversals."""
    _touched: np.ndarray
    """int64 (2,): histories visited, and decision nodes among them."""

    def _begin(
        self,
        game: Any,
        algorithm: str | Record,
        state: Any,
        iteration: int,
        seed: Seed | None,
        memory_limit: int | None,
    ) -> Any:
        """Check and keep the arguments that all have; returns the state, checked, if there is
        one."""
        self.game, self.algorithm = game, self._checked(game, algorithm)
        self.iteration = iteration
        self.memory_limit = free_memory() if memory_limit is None else memory_limit
        if state is None:
            return None
        if seed is not None:
            raise ValueError("a state brings its own random numbers: give no seed with it")
        on_rules = "labels" in self.kept(state)
        if on_rules == game.is_compiled:
            there = "rules" if on_rules else "a compiled game"
            raise ValueError(f"the state is of a solver on {there}, which {game.name} is not")
        return self.restore(self.setting, self.kept(state))

    @classmethod
    def _checked(cls, game: Any, algorithm: str | Record) -> Any:
        if not game.is_compiled:
            refuse_uncompiled(find_algorithm(algorithm), game.name)
        return super()._checked(game, algorithm)

    @abstractmethod
    def _room(self) -> float:
        """Bytes that the infosets and histories of rules may take."""

    # ------------------------------------------------------------------------------ iterating

    def _follow(
        self,
        orders: Orders,
        state: TraversalState,
        generator: Any,
        samples: Callable[[], Samples | None] = lambda: None,
    ) -> None:
        """Run iterations by a scheme that follows plays; without any, compile the
        kernel.  Arguments are those of the kernels; ``samples`` is asked for whenever a path has
        become longer, or wider."""
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
    def count_nodes(cls, game: Any, state: Any, iterations: int) -> tuple[int, int]:
        """The nodes that the traversals counted."""
        return int(state.touched[0]), int(state.touched[1])

    @property
    def nodes_touched(self) -> int:  # noqa: D102
        return int(self._touched[0])

    @property
    def decision_nodes_touched(self) -> int:  # noqa: D102
        return int(self._touched[1])

    @property
    def infosets_held(self) -> int | None:
        """On rules, the infosets that were met so far."""
        return self.source.infosets_held

    @property
    def bytes_held(self) -> int | None:
        """On rules, bytes of what is held, or those by which the process grew while the solver ran,
        which are more where rules keep much."""
        return self.source.bytes_held

    # ------------------------------------------------------------------- its state and policies

    @classmethod
    def kept(cls, state: Any) -> Mapping[str, np.ndarray]:
        """The arrays that the state has; some are of compiled games only, some of rules."""
        return {name: a for name, a in state._asdict().items() if a.dtype != NOTHING.dtype}

    @classmethod
    def policy_is_in_state(cls, game: Any) -> bool:
        """On rules."""
        return not game.is_compiled

    @classmethod
    def wrong_state(cls, setting: Setting, state: Any) -> str | None:  # noqa: D102
        return infosets_of(setting.game, state._asdict()).wrong_state(state)

    @classmethod
    def last_policy_of(cls, setting: Setting, state: Any) -> Policy:  # noqa: D102
        return infosets_of(setting.game, state._asdict()).policy(state.strategy.copy())

    def average_policy(self) -> Policy:  # noqa: D102
        return self.source.policy(self.average_probabilities())

    def current_policy(self) -> Policy:  # noqa: D102
        return self.source.policy(self.source.table.group(STRATEGY))

    def evaluate(self) -> Evaluation:
        """Values and best-response values of the average strategy; unknown on rules, where
        :func:`tensorcfr.analysis.sampled_values` and
        :func:`tensorcfr.analysis.local_best_response` estimate and bound them."""
        return self.source.evaluate(lambda: self.average_probabilities())

    def evaluate_current(self) -> Evaluation:  # noqa: D102
        return self.source.evaluate(lambda: self.source.table.group(STRATEGY))


@contextmanager
def telling_limit(solver: Any) -> Iterator[None]:
    """Say in full that a solver on rules has no room left.

    Raises:
        MemoryLimitError: It is.
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


def refuse_uncompiled(record: Record, name: str) -> None:
    """Make sure that an algorithm needs no compiled game.

    Raises:
        ValueError: It needs one; says what to do.
    """
    if not record.samples_rules:
        able = ", ".join(known for known, other in ALGORITHMS.items() if other.samples_rules)
        raise ValueError(
            f"{record.name} takes a compiled game: compile_game makes one of {name}; straight from "
            f"the rules learn {able}"
        )


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
