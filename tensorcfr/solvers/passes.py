"""Iterations as passes of kernels in this process, its threads, and the arrays of these passes.

Kernels release Python's global lock, so that Python threads suffice.  They wait for each other
within the kernel, by shared counters.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

import numpy as np

from .._util.aligned import aligned
from ..algorithms import Algorithm
from ..evaluation.profile import results_for
from ..kernels import chunk_passes as chunk_kernels
from ..kernels import evaluation, iteration
from ..kernels.barrier import BARRIER_COUNTERS, RELEASED
from ..kernels.parts import Part
from ..kernels.pass_arrays import ChunkScratch, Numbers, PassSchedule, StoredArrays, TrunkScratch
from ..kernels.shapes import shape_form
from ..model.arrays import frozen_array, frozen_arrays
from ..model.chunked_form import ChunkedForm, ChunkLocks
from ..payoff import KIND_OF_CLASS
from ..payoff.multiply import scratch_size
from .solver_state import State, floats_of, state_bytes

DOUBLE = np.dtype(np.float64)
GROUPS_PER_THREAD = 16
"""Groups per thread into which the branches are divided.  With many groups, a delayed thread leaves
work to others; each group costs a call within a kernel, some microseconds."""


class Passes:
    """Passes over a game, on the threads of this process.

    Args:
        form: The game.
        record: The variant of CFR.
        state: The arrays of the solver.
        value_bound: Value bounds of the buckets, from
            :func:`tensorcfr.solvers.value_bounds.bucket_bounds`.
        locks: Locked infosets, or None.
        threads: Threads that work together; the result has the same bits for any number.
    """

    def __init__(
        self,
        form: ChunkedForm,
        record: Algorithm,
        state: State,
        value_bound: np.ndarray,
        locks: ChunkLocks | None,
        threads: int,
    ) -> None:
        self._form, self._record, self._locks = form, record, locks
        self.value_bound = value_bound
        floats = floats_of(state.regret.dtype)
        sizes = form.trunk.n_sequences, form.n_entries
        self.trunk = trunk_scratch(*sizes, floats, of=state)
        packed = floats != state.regret.dtype
        self.scratch = [chunk_scratch(form, floats, packed=packed) for _ in range(threads)]
        self.double_trunk, self.double_scratch = self.trunk, self.scratch
        if form.n_chunks and floats != DOUBLE:
            # Evaluations in double precision use the kernel that computes the values of policies.
            self.double_trunk = trunk_scratch(*sizes, DOUBLE)
            self.double_scratch = [
                chunk_scratch(form, DOUBLE)._replace(regret=scratch.regret)
                for scratch in self.scratch
            ]
        self.threads = threads
        kinds = (KIND_OF_CLASS[type(part)] for part in form.trunk.operator)
        self._flat_threads = 1 if any(kind.one_thread for kind in kinds) else threads
        self.groups = min(
            1 if threads == 1 else threads * GROUPS_PER_THREAD, max(form.n_branches, 1)
        )
        self.stored = StoredArrays(
            state.regrets,
            state.averages,
            state.strategy if state.strategy.size else None,
            state.memory,
        )

    def iterate(self, first: int, count: int, played_floor: float) -> None:
        """Run iterations; with a count of 0, only compile the kernels.

        Args:
            first: The first iteration.
            count: Number of iterations.
            played_floor: Share of the strategies played in the first iteration that is uniform.
        """
        if not self._form.n_chunks:
            self._iterate_flat(first, count)
        elif count:
            self.run(pass_schedule(self._record, first, count, played_floor, self._form.n_players))
        else:
            # One thread suffices, and compiles the kernels that are noted by this thread.
            nothing = empty_schedule((1,), self._record, self._form.n_players)
            self.run(nothing, threads=1)

    @property
    def whole(self) -> Part:
        """Game without chunks, with the arrays over it."""
        return chunk_kernels.trunk_of(self._form, self.stored, self.trunk, self.value_bound)

    def _iterate_flat(self, first: int, count: int) -> None:
        """Run iterations over a game without chunks, which keeps strategies and reaches."""
        record = self._record
        arguments = (
            self.whole,
            record.rule,
            record.schedule(first, count),
            record.floors(first, count),
            record.turns(first, count, self._form.n_players),
            self._locks,
        )
        threads, counters = self._flat_threads if count else 1, new_counters(1)
        run_together(
            lambda thread: iteration.iterate(*arguments, thread, threads, counters),
            threads,
            counters,
        )

    def run(self, schedule: PassSchedule, threads: int | None = None) -> None:
        """Run passes one after the other: down the trunk, through all chunks, up the trunk.

        Args:
            schedule: Schedule of the passes.
            threads: Number of threads in this process, by default that of the solver.
        """
        threads = min(self.threads if threads is None else threads, self.groups)
        counters = new_counters(len(schedule.row))
        run_together(
            lambda thread: self.run_share(schedule, thread, thread, threads, counters),
            threads,
            counters,
        )

    def run_share(
        self,
        schedule: PassSchedule,
        scratch_index: int,
        thread: int,
        threads: int,
        counters: np.ndarray,
    ) -> None:
        """Run one thread's share of some passes.

        Args:
            schedule: Schedule of the passes.
            scratch_index: Index of the scratch arrays that the thread uses.
            thread: Number of the thread.
            threads: Number of threads.
            counters: Counters by which the threads wait for each other; see
                :func:`tensorcfr.kernels.chunk_passes.run_passes`.
        """
        chunk_kernels.run_passes(
            self._form,
            self._record.rule,
            schedule,
            self.stored,
            self.trunk,
            self.scratch[scratch_index],
            self.value_bound,
            self._locks,
            thread,
            threads,
            self.groups,
            counters,
        )

    def evaluate(self, weight: Numbers, floor: float) -> tuple[np.ndarray, np.ndarray]:
        """Compute expected values and values of best responses, float64 (players,) each."""
        expected, best = results_for(self._form)
        if not self._form.n_chunks:
            form, reach, value = self._form.trunk, self.trunk.reach, self.trunk.value
            # `value` holds the strategies until they are turned into reaches.  `reach` is an array
            # of the state: the solver computes it again after an evaluation.
            evaluation.match_weights(form, frozen_array(weight.trunk), floor, value, self._locks)
            evaluation.realization_plan(form, value, reach)
            evaluation.evaluate_flat(form, reach, value, expected[0], best, self._locks)
            return expected[0], best
        self.evaluate_stages(weight, floor, expected, best)
        return expected.sum(axis=0), best

    def evaluate_stages(
        self, weight: Numbers, floor: float, expected: np.ndarray, best: np.ndarray
    ) -> None:
        """Run all stages of an evaluation; see
        :func:`tensorcfr.kernels.evaluation.evaluate_chunked`."""
        if self.groups == 1:
            self.evaluate_stage(chunk_kernels.ALL, weight, floor, expected, best)
            return
        self.evaluate_stage(chunk_kernels.DOWN, weight, floor, expected, best)
        self.evaluate_chunks(weight, floor, expected, best)
        self.evaluate_stage(chunk_kernels.UP, weight, floor, expected, best)

    def evaluate_chunks(
        self, weight: Numbers, floor: float, expected: np.ndarray, best: np.ndarray
    ) -> None:
        """Run the stage of the branches, on all threads."""
        groups = iter(range(self.groups))  # Shared: each number goes to exactly one thread.

        def work(thread: int) -> None:
            for group in groups:
                self.evaluate_stage(
                    chunk_kernels.CHUNKS, weight, floor, expected, best, group, thread
                )

        run_together(work, self.threads, new_counters(1))

    def evaluate_stage(
        self,
        stage: int,
        weight: Numbers,
        floor: float,
        expected: np.ndarray,
        best: np.ndarray,
        group: int = 0,
        thread: int = 0,
    ) -> None:
        """Run one stage of an evaluation; of the stage of the branches, one group."""
        evaluation.evaluate_chunked(
            self._form,
            stage,
            group,
            self.groups,
            frozen_arrays(weight),
            floor,
            self.double_trunk,
            self.double_scratch[thread],
            expected,
            best,
            evaluation.NO_LOOKS,
            self._locks,
        )


def new_counters(passes: int) -> np.ndarray:
    """Allocate counters by which threads wait for each other."""
    return aligned((passes, BARRIER_COUNTERS), np.dtype(np.int64))


def run_together(work: Callable[[int], object], threads: int, counters: np.ndarray) -> None:
    """Call ``work(thread)`` in all threads at the same time, and wait for all of them.

    Args:
        work: Function that calls a kernel in which the threads wait for each other.
        threads: Number of threads; the calling thread is the first.
        counters: Counters of the kernel.  If a thread fails, they are set so that no thread waits
            for it; the arrays of the kernel are then unusable.

    Raises:
        BaseException: The first error of any thread.
    """
    errors: list[BaseException] = []

    def guarded(thread: int) -> None:
        try:
            work(thread)
        except BaseException as error:
            errors.append(error)
            counters[:] = RELEASED

    helpers = [Thread(target=guarded, args=(thread,)) for thread in range(1, threads)]
    started = []
    try:
        for helper in helpers:
            helper.start()
            started.append(helper)
    except RuntimeError as error:  # The system has no more threads.
        errors.append(error)
        counters[:] = RELEASED
    guarded(0)
    for helper in started:
        helper.join()
    if errors:
        raise errors[0]


def pass_schedule(
    record: Algorithm, first: int, count: int, played_floor: float, players: int = 2
) -> PassSchedule:
    """Convert iterations to passes through a game in chunks.

    A pass updates the players of one turn, after the reaches of the players whom they face.  The
    strategy of an iteration enters the average in the last pass before the player's update that
    computes its reaches.  If no pass of these iterations does, as before the first update, the pass
    of the update computes them.

    Args:
        record: The variant of CFR.
        first: The first iteration.
        count: Number of iterations.
        played_floor: Share of the strategies played in the first iteration that is uniform.
        players: Number of players.
    """
    table, floors = record.schedule(first, count), record.floors(first, count)
    turns = record.turns(first, count, players)
    iteration_of, turn_of = np.arange(count)[:, None, None], np.arange(turns.shape[1])[:, None]
    # Indices are iteration, turn, player.
    schedule = empty_schedule(turns.shape[:2], record, players)
    schedule.row[:] = table[:, None]
    schedule.floor[:] = floors[:, None]
    schedule.updates[iteration_of, turn_of, turns] = True
    # A player's reaches are needed if anybody else is updated.
    n_updated = schedule.updates.sum(axis=2, keepdims=True)
    schedule.computes_reach[:] = n_updated > schedule.updates
    if record.rule.matches_regret:
        played = np.append(played_floor, floors[:-1])
        was_updated = schedule.updates.cumsum(axis=1) > schedule.updates
        new, old = floors.reshape(-1, 1, 1), played.reshape(-1, 1, 1)
        schedule.played_floor[:] = np.where(was_updated, new, old)
    # Concatenate the passes of all iterations.
    schedule = PassSchedule(*(array.reshape(-1, *array.shape[2:]) for array in schedule))
    update = np.broadcast_to(iteration_of * turns.shape[1] + turn_of, turns.shape).ravel()
    player, before = turns.ravel(), np.maximum(update - 1, 0)
    reached = schedule.computes_reach
    entered = np.where(~reached[update, player] & reached[before, player], before, update)
    reached[entered, player] = True
    schedule.averaging_weight[entered, player] = np.repeat(table[:, 0], players)
    return schedule


def empty_schedule(shape: tuple[int, ...], record: Algorithm, players: int = 2) -> PassSchedule:
    """Create passes in which no player descends or is updated."""
    by_player = (*shape, players)
    return PassSchedule(
        row=np.zeros((*shape, 1 + record.rule.n_parameters)),
        computes_reach=np.zeros(by_player, dtype=bool),
        averaging_weight=np.zeros(by_player),
        played_floor=np.zeros(by_player),
        updates=np.zeros(by_player, dtype=bool),
        floor=np.zeros(shape),
    )


def bytes_of_passes(
    form: ChunkedForm, record: Algorithm, precision: str = "float64", threads: int = 1
) -> int:
    """Compute the bytes of a state and of the scratch arrays of its passes.

    They include the arrays of an evaluation.
    """
    dtype = np.dtype(precision)
    floats = floats_of(dtype)
    # Per thread: reach, value, and unpacked regrets.
    numbers = threads * (2 + (floats != dtype)) * form.most_sequences
    # Without chunks, the state already holds the reaches.
    numbers += (bool(form.n_chunks) + 1) * form.trunk.n_sequences + form.n_entries
    parts = [form.trunk]
    if form.shapes is not None:
        parts += [shape_form(form.shapes, shape) for shape in form.shapes.structures[0].tolist()]
    # Evaluations are in double precision, and so is the scratch of the operator.
    doubles = threads * max(int(scratch_size(part.operator)) for part in parts)
    if form.n_chunks and floats != DOUBLE:
        doubles += 2 * threads * form.most_sequences + 2 * form.trunk.n_sequences + form.n_entries
    scratch_bytes = numbers * floats.itemsize + doubles * DOUBLE.itemsize
    return state_bytes(form, record, precision) + scratch_bytes


def trunk_scratch(
    sequences: int,
    entries: int,
    dtype: np.dtype,
    of: State | None = None,
) -> TrunkScratch:
    """Allocate the scratch arrays of the trunk.

    Args:
        sequences: Number of sequences of the trunk.
        entries: Number of entries of the chunks that are entered from it.
        dtype: Floating-point dtype of the arrays.
        of: A state; if it keeps reaches, they are used instead of new arrays.
    """
    reach = of.reach if of is not None and of.reach.size else aligned(sequences, dtype)
    return TrunkScratch(
        reach=reach,
        value=aligned(sequences, dtype),
        entry_value=aligned(entries, dtype),
    )


def chunk_scratch(form: ChunkedForm, dtype: np.dtype, *, packed: bool = False) -> ChunkScratch:
    """Allocate the scratch arrays of one branch.

    Args:
        form: The game.
        dtype: Floating-point dtype of the arrays.
        packed: True if the state is in 16 bits.
    """
    most = form.most_sequences
    return ChunkScratch(
        reach=aligned(most, dtype),
        value=aligned(most, dtype),
        regret=aligned(most if packed else 0, dtype),
    )
