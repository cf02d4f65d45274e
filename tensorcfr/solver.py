"""One solver in memory: a game, an algorithm, and the arrays between two iterations."""

from __future__ import annotations

import time
from collections.abc import Mapping
from operator import index

import numpy as np

from .algorithms import Algorithm, Sampling, find_algorithm
from .compiled import CompiledGame
from .errors import MemoryLimitError
from .evaluation.metrics import Evaluation, evaluate_probabilities
from .kernels import evaluation, sweeps
from .kernels.local_rule import LocalRule
from .memory import free_memory
from .policy import Policy


class Solver:
    """A solver whose loop is yours; :func:`tensorcfr.solve` is this with stop rules.

    >>> from tensorcfr import compile_game
    >>> solver = Solver(compile_game("kuhn"), "cfr")
    >>> solver.step(10)
    >>> solver.iteration
    10
    >>> round(solver.evaluate().exploitability, 6)
    0.068699

    Args:
        game: The game.
        algorithm: A name or a record; see :mod:`tensorcfr.algorithms`.
        state: Arrays to go on from, after ``iteration`` iterations; copied.
        iteration: Iterations that ``state`` has behind it.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.

    Raises:
        ValueError: There is no such algorithm, or it is not iterative.
        MemoryLimitError: The arrays would not fit; said before they are allocated.
    """

    def __init__(
        self,
        game: CompiledGame,
        algorithm: str | Algorithm = "cfr+",
        *,
        state: sweeps.State | None = None,
        iteration: int = 0,
        memory_limit: int | None = None,
    ) -> None:
        if not isinstance(game, CompiledGame):
            raise TypeError(f"a solver takes a compiled game: compile_game({game!r}) makes one")
        record = find_algorithm(algorithm)
        if isinstance(record, Sampling):
            raise ValueError(f"{record.name} samples; use SampledSolver(game, {record.name!r})")
        if not isinstance(record, Algorithm):
            raise ValueError(f"{record.name} does not iterate; use solve(game, {record.name!r})")
        limit = free_memory() if memory_limit is None else memory_limit
        if (needed := bytes_needed(game, record)) > limit:
            raise MemoryLimitError(f"solving {game.name}", needed, limit)
        self.game = game
        self.algorithm = record
        self.iteration = iteration
        self.seconds = 0.0
        """Time spent in :meth:`step`, compiling excluded."""
        if state is None:
            self.state = _first_state(game, record.rule)
        else:
            kept = {name: getattr(state, name) for name in STATE_KEPT}
            self.state = state_of(game, record.rule, kept)
        self._run(0)

    def step(self, iterations: int = 1) -> None:
        """Run some iterations; each updates every player once.

        Raises:
            TypeError: ``iterations`` is no whole number.
            ValueError: It is negative.
        """
        if index(iterations) < 0:
            raise ValueError(f"iterations must not be negative, not {iterations!r}")
        started = time.perf_counter()
        for count in self.algorithm.spans(self.iteration + 1, index(iterations)):
            if self.algorithm.restarts_at(self.iteration + 1):
                self.state.cumulative[:] = 0.0
            for begin in range(0, count, SCHEDULE_ROWS):
                self._run(min(SCHEDULE_ROWS, count - begin))
        self.seconds += time.perf_counter() - started

    def _run(self, iterations: int) -> None:
        sweeps.iterate(
            self.game.form,
            self.algorithm.rule,
            self.algorithm.schedule(self.iteration + 1, iterations),
            self.algorithm.alternating,
            self.state,
        )
        self.iteration += iterations

    @property
    def nodes_touched(self) -> int:
        """Histories visited: every player's update sweeps the whole game once."""
        return self.iteration * self.game.n_players * self.game.n_histories

    @property
    def decision_nodes_touched(self) -> int:
        """Decision nodes among them."""
        return self.iteration * self.game.n_players * self.game.n_decision_nodes

    def average_probabilities(self) -> np.ndarray:
        """The average strategy, float64 (sequences,); uniform where nothing was reached."""
        strategy = np.empty(self.game.n_sequences)
        evaluation.normalise(self.game.form, self.state.cumulative, strategy)
        return strategy

    def average_policy(self) -> Policy:
        """The average strategy."""
        return Policy(self.game, self.average_probabilities())

    def current_policy(self) -> Policy:
        """The last iterate: the strategy that the next iteration will use."""
        return Policy(self.game, self.state.strategy.copy())

    def evaluate(self) -> Evaluation:
        """Values and best-response values of the average strategy."""
        return evaluate_probabilities(self.game, self.average_probabilities())


STATE_KEPT = ("regret", "strategy", "reach", "cumulative", "memory")
"""The arrays that a solver carries from one iteration to the next; the others are scratch."""
SCHEDULE_ROWS = 1 << 16
"""Iterations whose weights and parameters are worked out at a time."""
STATE_ARRAYS = 5
"""Regret, strategy, reach, average, values: what every rule needs."""
EVALUATION_ARRAYS = 3
"""Average strategy, its reaches, values."""


def bytes_needed(game: CompiledGame, algorithm: Algorithm) -> int:
    """Bytes that a solver takes beside the compiled game: its state, and what an evaluation
    allocates."""
    rule = algorithm.rule
    arrays = STATE_ARRAYS + len(rule.memory) + rule.forecast + EVALUATION_ARRAYS
    return arrays * 8 * game.n_sequences


def _first_state(game: CompiledGame, rule: LocalRule) -> sweeps.State:
    """No regrets, no average, uniform strategies."""
    strategy = Policy.uniform(game).probabilities.copy()
    reach = np.empty(game.n_sequences)
    evaluation.realization_plan(game.form, strategy, reach)
    return _with_scratch(
        game,
        rule,
        regret=np.zeros(game.n_sequences),
        strategy=strategy,
        reach=reach,
        cumulative=np.zeros(game.n_sequences),
        memory=np.zeros((len(rule.memory), game.n_sequences)),
    )


def state_of(game: CompiledGame, rule: LocalRule, kept: Mapping[str, np.ndarray]) -> sweeps.State:
    """A solver's state from copies of the arrays that are kept, with fresh scratch.

    Raises:
        ValueError: An array has another shape or dtype than this game and rule have, or holds a
            value that is not finite; names it.
    """
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(STATE_KEPT, (game.n_sequences,))
    shapes["memory"] = (len(rule.memory), game.n_sequences)
    for name, shape in shapes.items():
        array = kept[name]
        if array.shape != shape or array.dtype != np.float64:
            raise ValueError(
                f"{name} is {array.dtype} {array.shape}; for {game.name} and the rule "
                f"{rule.name} it is float64 {shape}"
            )
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds a value that is not finite")
    copies = {name: np.array(kept[name], order="C") for name in STATE_KEPT}
    return _with_scratch(game, rule, **copies)


def _with_scratch(game: CompiledGame, rule: LocalRule, **kept: np.ndarray) -> sweeps.State:
    """A state that holds the given arrays themselves."""
    return sweeps.State(
        **kept,
        value=np.zeros(game.n_sequences),
        forecast=np.zeros(game.n_sequences if rule.forecast else 0),
    )
