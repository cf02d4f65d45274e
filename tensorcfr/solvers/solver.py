"""One solver in memory: a game, an algorithm, and the arrays between two iterations."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated

import numpy as np

from .._util.arguments import Kind, Limit, checked
from .._util.memory import free_memory
from ..algorithms import Algorithm, Record, Sampling, find_algorithm
from ..errors import MemoryLimitError
from ..evaluation.metrics import Evaluation, evaluate_plan
from ..kernels import evaluation
from ..kernels import iteration as sweeps
from ..kernels.local_rule import LocalRule
from ..kernels.locks import impose
from ..model.arguments import LOCKS, Compiled
from ..model.arrays import LockedLanes, SequenceForm
from ..model.game import CompiledGame
from ..model.locks import Locks, LocksLike, locks_for
from ..model.policy import Policy
from .arguments import PRECISION, STEPS, THREADS, Iterations, Named
from .threads import Team


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
        precision: In which floats the arrays are kept, ``"float64"`` or ``"float32"``; sums are
            float64 in any case.  Single precision halves memory and traffic, and ends being of
            use at an exploitability of about 1e-5 of the stakes.
        locks: Infosets whose probabilities are given, all of them or some, by infoset label and
            action label; see :class:`tensorcfr.model.locks.Locks`.
        threads: Threads that sweep the game; the result has the same bits for any number.  Only
            games of private hands with millions of sequences gain.
        state: Arrays to go on from, after ``iteration`` iterations; copied.
        iteration: Iterations that ``state`` has behind it.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.

    Raises:
        ValueError: There is no such algorithm or precision, or the algorithm is not iterative.
        MemoryLimitError: The arrays would not fit; said before they are allocated.
    """

    @checked()
    def __init__(
        self,
        game: Compiled,
        algorithm: Named = "cfr+",
        *,
        precision: Annotated[str, PRECISION] = "float64",
        locks: Annotated[LocksLike | None, LOCKS] = None,
        threads: Annotated[int, THREADS] = 1,
        state: Annotated[sweeps.State | None, Kind((sweeps.State,), "a solver's state")] = None,
        iteration: Iterations = 0,
        memory_limit: Limit = None,
    ) -> None:
        record = find_algorithm(algorithm)
        if isinstance(record, Sampling):
            raise ValueError(f"{record.name} samples; use SampledSolver(game, {record.name!r})")
        if not isinstance(record, Algorithm):
            raise ValueError(f"{record.name} does not iterate; use solve(game, {record.name!r})")
        self.locks = locks_for(game, locks)
        """The infosets that are not solved for."""
        limit = free_memory() if memory_limit is None else memory_limit
        if (needed := bytes_needed(game, record, precision, self.locks)) > limit:
            raise MemoryLimitError(f"solving {game.name}", needed, limit)
        self.game = game
        self.form = form_for(game, record, self.locks)
        self._lanes = self.locks.lanes(self.form)
        self.algorithm = record
        self.iteration = iteration
        self.seconds = 0.0
        """Time spent in :meth:`step`, compiling excluded."""
        if state is None:
            self.state = _first_state(self.form, record.rule, np.dtype(precision), self._lanes)
        else:
            kept = {name: getattr(state, name) for name in STATE_KEPT}
            self.state = state_of(game, record, kept, self.locks)
        averaged = record.against == "average"
        self._faced = np.zeros_like(self.state.reach) if averaged else None
        self._team = Team(threads) if threads > 1 else None
        self._run(0)

    def step(self, iterations: int = 1) -> None:
        """Run some iterations; each updates every player once.

        Raises:
            ValueError: ``iterations`` is no whole number from 0.
        """
        iterations = STEPS("iterations", iterations)
        started = time.perf_counter()
        for restarts, count in self.algorithm.runs(self.iteration + 1, iterations):
            if restarts:
                self.state.cumulative[:] = 0.0
            self._run(count)
        self.seconds += time.perf_counter() - started

    def _run(self, iterations: int) -> None:
        schedule = self.algorithm.schedule(self.iteration + 1, iterations)
        floors = self.algorithm.floors(self.iteration + 1, iterations)
        rule, alternating = self.algorithm.rule, self.algorithm.alternating
        iterate = sweeps.iterate if self._team is None else self._team.iterate
        averages = self._averages(iterations)
        iterate(self.form, rule, schedule, alternating, self.state, floors, averages, self._lanes)
        self.iteration += iterations

    def _averages(self, iterations: int) -> sweeps.Averages | None:
        """What playing against averages takes; None where current strategies are faced."""
        if self._faced is None:
            return None
        t = np.arange(iterations + 1, dtype=np.float64) + (self.iteration + 1)
        return sweeps.Averages(self.algorithm.weights(t), self._faced)

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
        strategy = np.empty(self.form.n_sequences)
        evaluation.normalise(self.form, self.state.cumulative, strategy)
        if self._lanes is not None:
            impose(self.form, self._lanes, strategy)
        return self.game.unmerged(strategy, self.form)

    def average_policy(self) -> Policy:
        """The average strategy."""
        return Policy(self.game, self.average_probabilities())

    def current_policy(self) -> Policy:
        """The last iterate: the strategy that the next iteration will use."""
        return Policy(self.game, last_iterate(self.game, self.form, self.state.strategy))

    def evaluate(self) -> Evaluation:
        """Values and best-response values of the average strategy; allocates nothing large."""
        state = self.state
        # Between iterations the reaches follow from the strategy, and the values are scratch.
        evaluation.normalise(self.form, state.cumulative, state.value)
        if self._lanes is not None:
            impose(self.form, self._lanes, state.value)
        evaluation.realization_plan(self.form, state.value, state.reach)
        unit = self.game.unit
        found = evaluate_plan(self.form, state.reach, state.value, self._lanes, unit=unit)
        evaluation.realization_plan(self.form, state.strategy, state.reach)
        return found

    def evaluate_current(self) -> Evaluation:
        """Values and best-response values of the last iterate."""
        state, unit = self.state, self.game.unit
        return evaluate_plan(self.form, state.reach, state.value, self._lanes, unit=unit)


STATE_KEPT = ("regret", "strategy", "reach", "cumulative", "memory")
"""The arrays that a solver carries from one iteration to the next; the others are scratch."""
BYTES_OF_POLICY = 11
"""Per sequence: a probability, and three flags while it is checked."""
STATE_ARRAYS = 5
"""Regret, strategy, reach, average, values: what every rule needs."""


def form_for(game: CompiledGame, record: Record, locks: Locks | None = None) -> SequenceForm:
    """The sequence form that an algorithm's arrays are over: the merged one of those that sweep,
    unless the rule is exponential or locks tell infosets apart that are merged.

    An infoset that stands for several has the sum of their regrets, which regret matching does not
    mind, and weights of exponents do.
    """
    if not isinstance(record, Algorithm) or record.rule.exponential:
        return game.form
    return game.solver_form if locks is None or locks.keep_symmetry else game.form


def bytes_needed(
    game: CompiledGame,
    algorithm: Algorithm,
    precision: str = "float64",
    locks: Locks | None = None,
) -> int:
    """Bytes that a solve takes beside the compiled game: those of the solver, which an evaluation
    uses, too, and of a solution's policy.  ``keep_best`` adds two policies."""
    arrays = STATE_ARRAYS + len(algorithm.rule.memory) + algorithm.rule.forecast
    arrays += algorithm.against == "average"
    form = form_for(game, algorithm, locks)
    state = arrays * np.dtype(precision).itemsize * form.n_sequences
    if form is game.form:
        return state + BYTES_OF_POLICY * game.n_sequences
    # The policy of the merged game, that of the whole one, and which sequence is which.
    return state + 8 * form.n_sequences + 16 * game.n_sequences


def last_iterate(game: CompiledGame, form: SequenceForm, kept: np.ndarray) -> np.ndarray:
    """The strategy of the next iteration, float64 (sequences,), from a solver's array over the
    sequences of ``form``."""
    strategy = kept.astype(np.float64)
    if kept.dtype != np.float64:
        # Rounded probabilities sum to 1 only once they are normalised.
        evaluation.normalise(form, strategy.copy(), strategy)
    return game.unmerged(strategy, form)


def _first_state(
    form: SequenceForm, rule: LocalRule, dtype: np.dtype, locks: LockedLanes | None
) -> sweeps.State:
    """No regrets, no average, uniform strategies."""
    strategy, reach = np.zeros((2, form.n_sequences), dtype=dtype)
    evaluation.normalise(form, reach, strategy)
    if locks is not None:
        impose(form, locks, strategy)
    evaluation.realization_plan(form, strategy, reach)
    return _with_scratch(
        form,
        rule,
        regret=np.zeros(form.n_sequences, dtype=dtype),
        strategy=strategy,
        reach=reach,
        cumulative=np.zeros(form.n_sequences, dtype=dtype),
        memory=np.zeros((len(rule.memory), form.n_sequences), dtype=dtype),
    )


def state_of(
    game: CompiledGame,
    algorithm: Algorithm,
    kept: Mapping[str, np.ndarray],
    locks: Locks | None = None,
) -> sweeps.State:
    """A solver's state from copies of the arrays that are kept, with fresh scratch.

    Raises:
        ValueError: An array has another shape or dtype than this game and rule have, or holds a
            value that is not finite; names it.
    """
    form, rule = form_for(game, algorithm, locks), algorithm.rule
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(STATE_KEPT, (form.n_sequences,))
    shapes["memory"] = (len(rule.memory), form.n_sequences)
    single = kept["regret"].dtype == np.float32
    dtype = np.dtype(np.float32 if single else np.float64)
    for name, shape in shapes.items():
        array = kept[name]
        if array.shape != shape or array.dtype != dtype:
            raise ValueError(
                f"{name} is {array.dtype} {array.shape}; for {game.name} and the rule "
                f"{rule.name} it is {dtype} {shape}"
            )
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds a value that is not finite")
    copies = {name: np.array(kept[name], order="C") for name in STATE_KEPT}
    return _with_scratch(form, rule, **copies)


def _with_scratch(form: SequenceForm, rule: LocalRule, **kept: np.ndarray) -> sweeps.State:
    """A state that holds the given arrays themselves."""
    dtype = kept["regret"].dtype
    return sweeps.State(
        **kept,
        value=np.zeros(form.n_sequences, dtype=dtype),
        forecast=np.zeros(form.n_sequences if rule.forecast else 0, dtype=dtype),
    )
