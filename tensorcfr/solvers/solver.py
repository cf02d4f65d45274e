"""Solver of the variants that pass over the whole game in every iteration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar
from weakref import ref

import numpy as np

from .._util.aligned import aligned
from .._util.argument_checks import Kind, Limit, Where, checked
from .._util.mapped_files import MappedFiles
from .._util.memory_budget import require
from ..algorithms import Algorithm
from ..errors import CutError
from ..evaluation.metrics import Evaluation
from ..evaluation.player_models import restricted_results
from ..kernels import evaluation
from ..kernels.local_rule import rule_errors
from ..kernels.pass_arrays import Numbers
from ..model.arrays import SequenceForm, frozen_arrays
from ..model.chunked_form import ChunkedForm, ChunkLocks, bounds_of_parts
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import LOCKS, Played
from ..model.layout import Layout
from ..model.locks import DATA_BIASED, Locks, LocksLike, as_floats, locks_for
from ..model.policy import MatchingInputs, Policy, PolicyByParts
from .choose import resolve_algorithm, resolve_precision
from .loop import RunnableSolver
from .passes import Passes, bytes_of_passes
from .problem import Problem
from .solver_arguments import PACKED, PRECISION, THREADS, Iterations, Named, chunks_error
from .solver_state import (
    SolverStateFile,
    State,
    compute_strategies,
    copy_numbers,
    first_state,
    floats_of,
    restore_reaches,
    state_bytes,
    state_from_regrets,
    strategies_from_weights,
    unpack,
)
from .value_bounds import bucket_bounds

BYTES_OF_POLICY = 11
"""Bytes per sequence: a probability, and three flags while it is checked."""


class AveragePolicy(PolicyByParts):
    """Average strategy whose chunks are computed on demand.

    A solver calls :meth:`detach` before it changes the array that this policy reads.

    Args:
        game: The game.
        cumulative: Weights from which the strategies are made.
        floor: Share of the strategies that is uniform.
        locks: Locked infosets.
    """

    def __init__(
        self, game: CompiledGame, cumulative: Numbers, floor: float, locks: ChunkLocks | None
    ) -> None:
        self.game = game
        self._floor = floor
        self._cumulative = frozen_arrays(cumulative)
        self._locks = locks
        self._is_detached = False
        self.forget()

    def parts(self, first: int, last: int) -> np.ndarray:
        """Compute the strategies of the parts from ``first`` to ``last - 1``, in a new array."""
        form = self.game.chunks
        begin, end = bounds_of_parts(form)[[first, last]].tolist()
        strategy = np.zeros(end - begin)
        if not form.n_chunks:
            compute_strategies(form, self._cumulative, self._floor, strategy, self._locks)
            return strategy
        arguments = form, first, last, self._cumulative, self._floor, strategy, self._locks
        evaluation.strategies_of_parts(*arguments)
        return strategy

    def matching_inputs(self) -> MatchingInputs:
        """Return the weights from which regret matching makes the strategies, and the locks."""
        if self._floor > 0.0:
            return super().matching_inputs()
        weights = self._cumulative
        return (weights.chunks, weights.scale, weights.trunk), self._locks

    def detach(self) -> None:
        """Copy the solver's array once, so that the solver may change its own."""
        if not self._is_detached:
            self._cumulative = frozen_arrays(copy_numbers(self._cumulative))
            self._is_detached = True


class Solver(SolverStateFile, RunnableSolver):
    """Solver for user-written loops; :func:`tensorcfr.solve` adds stop rules.

    >>> from tensorcfr import compile_game
    >>> solver = Solver(compile_game("kuhn"), "cfr")
    >>> solver.iterate(10)
    >>> solver.iteration
    10
    >>> round(solver.evaluate().exploitability, 6)
    0.068699

    The state depends only on the number of iterations: not on how iterations are divided into
    steps, on evaluations, or on the number of threads.

    Args:
        game: The game.
        algorithm: A name or a record, see :mod:`tensorcfr.algorithms`; by default that of
            :func:`tensorcfr.solve`.
        precision: Dtype of the arrays, ``"float64"`` or ``"float32"``; by default as for
            :func:`tensorcfr.solve`.  Sums are always float64.  Single precision halves memory and
            traffic, and does not improve beyond an exploitability of about 1e-5 of the stakes.
            Games in chunks also support ``"int16"``, 16 bits with a scale for every 64 numbers of a
            player, with rules that keep only regrets.
        locks: Infosets whose probabilities are given, for all actions or some, by infoset label and
            action label; see :class:`tensorcfr.model.locks.Locks`.
        threads: Threads that pass over the game; the result has the same bits for any number.  Only
            games of private hands with millions of sequences become faster.
        state: Arrays to continue from, after ``iteration`` iterations; copied.
        iteration: Number of iterations that led to ``state``.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.
        state_dir: For games in chunks, a directory for the solver's arrays.  They are then files
            mapped into memory, and may be larger than it.  They are deleted with the solver, which
            locks the directory until it is closed or deleted; ``checkpoint`` of
            :func:`tensorcfr.solve` writes files to continue from.

    Raises:
        ValueError: There is no such algorithm or precision, or the algorithm does not pass over
            whole games, or not over games in chunks.
        OSError: ``state_dir`` cannot be written, has no space, or is in use; raised before the
            first iteration.
        MemoryLimitError: The arrays would not fit; raised before they are allocated.
    """

    records = Algorithm
    layouts: ClassVar[tuple[str, ...]] = ("flat", "chunks")
    extra_arrays: ClassVar[int] = 0
    """Number of arrays over the sequences that iterations take in addition to the state."""
    takes_locks: ClassVar[bool] = True
    """True if infosets may be locked."""
    _files: MappedFiles | None = None
    """The files in ``state_dir``."""

    @checked()
    def __init__(
        self,
        game: Played,
        algorithm: Named | None = None,
        *,
        precision: Annotated[str | None, PRECISION] = None,
        locks: Annotated[LocksLike | None, LOCKS] = None,
        threads: Annotated[int, THREADS] = 1,
        state: Annotated[State | None, Kind((State,), "a solver's state")] = None,
        iteration: Iterations = 0,
        memory_limit: Limit = None,
        state_dir: Annotated[str | Path | None, Where()] = None,
    ) -> None:
        record = self._checked(game, resolve_algorithm(algorithm, game, precision))
        precision = resolve_precision(precision, game, record)
        self.game, self.algorithm, self.iteration = game, record, iteration
        # A given state decides the precision.
        if state is not None:
            precision = str(state.regret.dtype)
        self.locks = locks_for(game, locks) if self.takes_locks else None
        self._refuse_others(precision, threads, locks, state_dir)
        # Merged if the algorithm and the locks allow it; a flat game is a trunk without chunks.
        self.form = self.problem.form
        initial = None if state is None else self.restore(self.problem, self.stored_arrays(state))
        needed = bytes_needed(game, record, precision, self.locks, threads, state_dir)
        require(
            needed + 8 * self.extra_arrays * game.n_sequences, f"solving {game.name}", memory_limit
        )
        self.precision = precision
        self._locks = as_floats(self.problem.part_locks, floats_of(np.dtype(precision)))
        self._files = MappedFiles(Path(state_dir)) if state_dir is not None else None
        new = aligned if self._files is None else self._files.new
        dtype = np.dtype(precision)
        self._value_bound = self._bucket_bounds(dtype)
        new_state = first_state(self.form, record.rule, dtype, self._locks, new)
        if initial is not None:
            for array, source in zip(new_state, initial, strict=True):
                array[:] = source
        self._state = new_state
        self._policies: list[ref[AveragePolicy]] = []
        """Policies that read the averages of the state."""
        self._threads = threads
        self._passes = self._new_passes(new_state)
        self._compile()

    def _refuse_others(
        self, precision: str, threads: int, locks: LocksLike | None, state_dir: str | Path | None
    ) -> None:
        """Check that the arguments fit the game and the algorithm.

        Raises:
            ValueError: An argument does not; names the reason.
        """
        game, record, rule = self.game, self.algorithm.name, self.algorithm.rule
        in_chunks, is_packed = bool(game.chunks.n_chunks), precision == PACKED
        if in_chunks and rule.payoff is not None:
            problem = f"{record} changes payoffs by own reach, which games in chunks do not store"
            raise CutError(problem, cut=False)
        if rule.is_scale_dependent and game.merges_hands:
            raise ValueError(
                f"{record} depends on the scale of regrets: compile {game.name} with symmetry=False"
            )
        for what, is_given in ((PACKED, is_packed), ("state_dir", state_dir is not None)):
            if is_given and not in_chunks:
                raise chunks_error(game, f"{record} takes {what} only for games in chunks")
        model = self.locks.model if self.locks else None
        if is_packed and model is not None and model.method == DATA_BIASED:
            raise ValueError(
                f"a data-biased response stores more than 16 bits hold: it takes float64 or "
                f"float32, not {PACKED}"
            )
        if model is not None and rule.payoff is not None:
            raise ValueError(
                f"{record} changes payoffs by own reach: it takes no model of a player"
            )
        if is_packed and (rule.memory or not rule.matches_regret):
            raise ValueError(
                f"{record} stores more than regrets: it takes float64 or float32, not {PACKED}"
            )

    def _bucket_bounds(self, dtype: np.dtype) -> np.ndarray:
        return bucket_bounds(self.form, dtype)

    def _new_passes(self, state: State) -> Passes:
        return Passes(
            self.form, self.algorithm, state, self._value_bound, self._locks, self._threads
        )

    def _compile(self) -> None:
        """Compile the kernels of an iteration, or load them from the cache."""
        with rule_errors(self.algorithm.rule):
            self._passes.iterate(self.iteration + 1, 0, 0.0)

    def close(self) -> None:
        """Unlock ``state_dir`` for other solvers."""
        if self._files is not None:
            self._files.close()

    def _run(self, iterations: int) -> None:
        if iterations:
            self._refuse_overflow(self.iteration + iterations)
            self._detach_policies()
            with rule_errors(self.algorithm.rule):
                self._passes.iterate(self.iteration + 1, iterations, float(self._state.floor[0]))
            self.iteration += iterations
            self._state.floor[0] = self.algorithm.floors(self.iteration, 1)[0]

    def _refuse_overflow(self, last: int) -> None:
        """Check that the sum of the weights up to an iteration fits the precision.

        Raises:
            ValueError: Single precision cannot hold the sum.
        """
        if self.precision != "float64":
            total = last * float(self.algorithm.weights(np.array([float(last)]))[0])
            if total > float(np.finfo(np.float32).max):
                raise ValueError(
                    f"{self.algorithm}: by iteration {last:,} the sum of its weights is too large "
                    f"for {self.precision}; use float64, or a smaller average_power"
                )

    def _scale_average(self, factor: float) -> None:
        self._detach_policies()
        self._state.scale_average(factor)

    def _detach_policies(self) -> None:
        """Make the policies that read the averages copy them before they change."""
        for reader in self._policies:
            if (policy := reader()) is not None:
                policy.detach()
        self._policies.clear()

    @classmethod
    def policy_of(cls, problem: Problem, state: State) -> Policy:  # noqa: D102
        return AveragePolicy(
            problem.game, *state.answer(problem.algorithm.rule), problem.part_locks
        )

    @classmethod
    def has_average(cls, state: State) -> bool:  # noqa: D102
        return state.has_average

    @classmethod
    def whole_regrets(cls, problem: Problem, state: State) -> np.ndarray:  # noqa: D102
        game, form = problem.game, problem.form
        regret = unpack(form, state.regrets)
        # Empty sequences have no regret, so that their numbers in the state do not count.
        regret[form.trunk.player_sequences[:-1]] = 0.0
        merged_number = game.merged_numbers
        if merged_number is None or form.trunk is game.chunks.trunk:
            return regret
        multiplicity = np.bincount(merged_number, minlength=len(regret))
        # A number that represents several infosets is the sum of their regrets.
        return expand_to_policy(game, form, regret / np.maximum(multiplicity, 1))

    @classmethod
    def sums_of(cls, problem: Problem, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return regrets and cumulative strategies; see :meth:`IterativeSolver.sums_of`."""
        game, form = problem.game, problem.form
        regret, average = cls.whole_regrets(problem, state), unpack(form, state.averages)
        if problem.merged_numbers is None:
            return regret, average
        strategy = expand_to_policy(game, form, average)
        _complete_averages(game.form, form.trunk, problem.merged_numbers, strategy)
        return regret, strategy

    @classmethod
    def begin(  # noqa: D102
        cls, problem: Problem, regret: np.ndarray, strategy: np.ndarray, *, precision: str
    ) -> State:
        form, rule, locked = problem.form, problem.algorithm.rule, problem.part_locks
        return state_from_regrets(form, rule, locked, regret, strategy, np.dtype(precision))

    @classmethod
    def last_probabilities(cls, problem: Problem, state: State) -> np.ndarray:  # noqa: D102
        form, played = problem.form, state.played(problem.algorithm.rule)
        return expand_to_policy(
            problem.game, form, strategies_from_weights(form, *played, problem.part_locks)
        )

    def average_probabilities(self) -> np.ndarray:
        """Compute the average strategy, float64 (numbers of a policy,)."""
        weight, floor = self._answer
        strategies = strategies_from_weights(self.form, weight, floor, self._locks)
        return expand_to_policy(self.game, self.form, strategies)

    def average_policy(self) -> Policy:
        """Return the average strategy; in games in chunks it is computed on demand."""
        if not self.policy_is_in_state(self.game):
            return super().average_policy()
        policy = AveragePolicy(self.game, *self._answer, self._locks)
        self._policies.append(ref(policy))
        return policy

    @property
    def _answer(self) -> tuple[Numbers, float]:
        """The weights of the average strategy and their floor; see :meth:`State.answer`."""
        state: State = self.state
        return state.answer(self.algorithm.rule)

    def evaluate(self) -> Evaluation:
        """Evaluate the average strategy without large allocations."""
        return self._evaluate(*self._state.answer(self.algorithm.rule))

    def evaluate_current(self) -> Evaluation:
        """Compute values and best-response values of the last iterate."""
        return self._evaluate(*self._state.played(self.algorithm.rule))

    def _evaluate(self, weight: Numbers, floor: float) -> Evaluation:
        """Compute values and best-response values of the strategies that some weights make."""
        state, unit = self._state, self.game.unit
        try:
            values, best = self._passes.evaluate(weight, floor)
        finally:
            if state.reach.size:
                # The evaluation has overwritten the reaches of the state with its own: recompute
                # them.
                restore_reaches(self.form, state, self._locks)
        values, best = restricted_results(self.game, self._locks, values, best)
        return Evaluation(tuple((values * unit).tolist()), tuple((best * unit).tolist()))


def _complete_averages(
    form: SequenceForm, merged: SequenceForm, number: np.ndarray, strategy: np.ndarray
) -> None:
    """Compute the cumulative strategies of infosets that the merged form does not follow.

    It leaves out infosets with one action, and has one idle infoset, at the root, in place of many.
    They get the cumulative strategy of the sequence before them, divided as they divide it.

    Args:
        form: The form of the game.
        merged: The merged form.
        number: int (sequences,): merged sequence of each sequence.
        strategy: float64 (sequences,): cumulative strategies; modified in place.
    """
    infoset, carrier = merged.owners[0], merged.first_copies[form.carriers(number)]
    merged_parent = np.append(merged.infoset_parent, 0)  # Left-out infosets have number -1.
    # Buckets are in the order of their levels, so the sequences before an infoset are complete.
    for bucket in form.buckets:
        parent, table = form.infoset_parent[bucket.infosets], bucket.table(strategy)
        of_lane = infoset[bucket.table(number)[0]]
        lane = np.flatnonzero((of_lane < 0) | (merged_parent[of_lane] != carrier[parent]))
        total = table[:, lane].sum(axis=0)
        share = np.full((bucket.actions, len(lane)), 1.0 / bucket.actions)
        np.divide(table[:, lane], total, out=share, where=total > 0.0)
        table[:, lane] = share * strategy[parent[lane]]


def expand_to_policy(game: CompiledGame, form: ChunkedForm, numbers: np.ndarray) -> np.ndarray:
    """Expand a solver array, over the solver's numbers, to the numbers of a policy."""
    return numbers if form.trunk is game.chunks.trunk else numbers[game.merged_numbers]


def bytes_needed(
    game: CompiledGame,
    algorithm: Algorithm,
    precision: str = "float64",
    locks: Locks | None = None,
    threads: int = 1,
    state_dir: str | Path | None = None,
) -> int:
    """Compute the bytes that a solve takes in addition to the compiled game.

    They are the bytes of the solver, which an evaluation uses, too, and of the solution's policy,
    if it is not derived from the state.  ``keep_best`` adds two policies.
    """
    form = Problem(game, algorithm, locks).form
    needed = bytes_of_passes(form, algorithm, precision, threads)
    if locks and locks.model is not None:
        # One array for the kernels, and the same in float64.
        needed += (8 + floats_of(np.dtype(precision)).itemsize) * form.n_numbers
    if state_dir is not None:
        needed -= state_bytes(form, algorithm, precision)
    if game.layout == Layout.CHUNKS:
        return needed
    if form.trunk is game.chunks.trunk:
        return needed + BYTES_OF_POLICY * game.n_sequences
    # The policy of the merged game, the policy of the whole game, and the map between their
    # sequences.
    return needed + 8 * form.trunk.n_sequences + 16 * game.n_sequences
