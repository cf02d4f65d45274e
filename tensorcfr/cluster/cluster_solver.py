"""Solver of a chunked game whose chunks are in the workers of a cluster.

The solver's process has the trunk.  In every pass it sends the reaches of the trunk's last
sequences to the workers, and receives the values of the chunks' entries.  It adds these in the
order of the chunks, as a solve in one process does, so that the bits are equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._util.aligned import aligned
from .._util.cluster import close, connect
from .._util.mapped_files import MappedFiles
from .._util.memory_budget import free_memory
from ..algorithms import Algorithm
from ..algorithms.registry import PUBLISHED
from ..errors import ClusterError, MemoryLimitError
from ..evaluation.metrics import Evaluation
from ..kernels.chunk_passes import DOWN, UP
from ..kernels.pass_arrays import Numbers, PassSchedule
from ..model.branch_shares import BranchShare
from ..model.chunked_form import ChunkedForm, ChunkLocks
from ..model.chunked_game import ChunkedGame
from ..solvers.passes import Passes, bytes_of_passes, new_counters
from ..solvers.solver import Solver
from ..solvers.solver_arguments import STEPS
from ..solvers.solver_state import State, floats_of, state_bytes
from .worker import numbers_of, put_numbers
from .workers import LostWorkerError, Traffic, Workers

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")

MIN_SECONDS = 1.0
"""Minimum time between two snapshots in seconds."""
SNAPSHOT_SHARE = 0.05
"""Maximum share of the time that snapshots take."""
MAX_LOSSES = 10
"""Maximum number of lost workers between two snapshots; beyond it, the solve fails."""


class ClusterSolver(Solver):
    """:class:`tensorcfr.Solver` with its chunks in the workers of a Dask cluster.

    Every worker has a share of consecutive chunks and its solver arrays.  The solver fetches these
    arrays, a *snapshot*, when its state is read, and at intervals, so that snapshots take at most a
    twentieth of the time.  If a worker is lost, it is replaced, all shares are reset to the last
    snapshot, and the iterations since then are run again with the same bits.

    Use it as a context manager, or call :meth:`close`.

    Args:
        game: A game that was compiled with ``cut``.
        algorithm: A name or record of this library; workers do not know other algorithms.
        cluster: A client of Dask distributed, or the address of a scheduler; see
            :func:`tensorcfr.solve`.
        precision: See :class:`tensorcfr.Solver`.
        locks: See :class:`tensorcfr.Solver`.
        threads: Number of threads of each worker, and of this process after :meth:`close`.
        state: Initial arrays.
        iteration: Number of iterations that led to ``state``.
        memory_limit: Memory limit of this process in bytes; by default the machine's free memory.
        state_dir: A directory for the snapshots, in files that are mapped into memory.

    Raises:
        ValueError: See :class:`tensorcfr.Solver`.  Also if the client is closed, if a worker has
            another version or compiles another game, or if the algorithm is not of this library.
        TypeError: The game is not cut, or ``cluster`` is not a cluster.
        MissingExtraError: Dask distributed is not installed.
        MemoryLimitError: The arrays would not fit, here or in a worker.
        ClusterError: No scheduler answers, or it has no workers.
    """

    _other_files: MappedFiles | None = None
    """Files for alternate snapshots: they are written to two sets of files in turn."""

    def __init__(
        self,
        game: ChunkedGame,
        algorithm: str | Algorithm | None = None,
        *,
        cluster: Client | str,
        memory_limit: int | None = None,
        state_dir: str | Path | None = None,
        **options: Any,
    ) -> None:
        self._workers: Workers | None = None
        client = connect(cluster)
        try:
            options |= {"memory_limit": memory_limit, "state_dir": state_dir}
            super().__init__(game, algorithm, **options)
            self._check(state_dir, memory_limit)
            self._directory = None if state_dir is None else Path(state_dir)
            self._snapshot_state, self._snapshot_iteration = self._state, self.iteration
            """Last snapshot."""
            self._spare_snapshot: State | None = None
            self._losses = 0
            self._end = int(game.chunks.number_offset[0])
            self._workers = Workers(
                client, game, self.algorithm, self.precision, self._locks, self._threads
            )
            self.traffic = self._workers.traffic
            """Bytes that were sent and received so far."""
            self._state = _trunk_of(self._snapshot_state, self._end)
            self._passes = _ClusterPasses(
                self.form,
                self.algorithm,
                self._state,
                self._value_bound,
                self._locks,
                self._workers,
            )
            self._replace_workers()
            self._run_to(self.iteration, self._compile)
        except BaseException:
            self.close()
            close(client)
            raise
        self._snapshot_at, self._snapshot_seconds = time.perf_counter(), 0.0

    def _check(self, state_dir: str | Path | None, memory_limit: int | None) -> None:
        """Refuse algorithms that workers do not know, and snapshots that do not fit in memory."""
        if self.algorithm.name not in PUBLISHED:
            raise ValueError(
                f"{self.algorithm.name} is an algorithm of your own: workers know only "
                "built-in algorithms"
            )
        limit = free_memory() if memory_limit is None else memory_limit
        form, record = self.form, self.algorithm
        needed = bytes_of_passes(form, record, self.precision, self._threads)
        # A snapshot is complete before the previous one is released, so both take memory.
        needed += state_bytes(form, record, self.precision)
        if state_dir is None and needed > limit:
            raise MemoryLimitError(f"snapshots of {self.game.name}", needed, limit)

    def __enter__(self) -> ClusterSolver:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the workers.

        The solver then continues in this process, from the last snapshot.  This is the iteration at
        which :attr:`state` was last read, or a later snapshot.
        """
        if self._workers is not None:
            workers, self._workers = self._workers, None
            workers.close()
            self._state, self.iteration = self._snapshot_state, self._snapshot_iteration
            self._passes = self._new_passes(self._state)
        if self._other_files is not None:
            self._other_files.close()
        super().close()

    def iterate(self, iterations: int = 1) -> None:
        """Run some iterations; each updates every player once.

        Args:
            iterations: Number of iterations.

        Raises:
            ValueError: ``iterations`` is not a whole number from 0.
            ClusterError: The cluster was lost.  The solver is then in this process, at the last
                snapshot.
        """
        if self._workers is None:
            super().iterate(iterations)
            return
        goal = self.iteration + STEPS("iterations", iterations)
        started, previous_seconds = time.perf_counter(), self.seconds
        self._run_to(goal, lambda: None)
        now = time.perf_counter()
        self.seconds = previous_seconds + now - started
        interval = max(MIN_SECONDS, self._snapshot_seconds / SNAPSHOT_SHARE)
        if now - self._snapshot_at > interval:
            self._run_to(goal, self._snapshot)

    @property
    def state(self) -> State:
        """Arrays over trunk and chunks; a snapshot is fetched if they have changed."""
        if self._workers is not None and self._snapshot_iteration != self.iteration:
            self._run_to(self.iteration, self._snapshot)
        return self._snapshot_state

    def _run_to(self, goal: int, work: Callable[[], T]) -> T:
        """Run to an iteration and call a function there; retry from the last snapshot if a worker
        is lost.

        Returns:
            The result of the function.
        """
        while True:
            try:
                if self.iteration < goal:
                    super().iterate(goal - self.iteration)
                return work()
            except LostWorkerError:
                self._losses += 1
                try:
                    self._replace_workers()
                except BaseException:
                    self.close()
                    raise

    def _replace_workers(self) -> None:
        """Assign missing shares to workers, and reset all shares to the last snapshot."""
        assert self._workers is not None
        while self._losses <= MAX_LOSSES:
            try:
                self._workers.start_missing()
                self._workers.put(self._snapshot_state)
            except LostWorkerError:
                self._losses += 1
                continue
            _copy_trunk(self._snapshot_state, self._state, self._end)
            self.iteration = self._snapshot_iteration
            return
        raise ClusterError(
            f"workers were lost {self._losses} times since iteration {self._snapshot_iteration}: "
            "is their memory limit too small for their shares?"
        )

    def _snapshot(self) -> None:
        """Make a snapshot from the trunk and the arrays of all shares."""
        assert self._workers is not None
        started = time.perf_counter()
        if self._directory is None:
            new = aligned
            # A new snapshot has new arrays, so the arrays of earlier policies never change.
            self._policies.clear()
        else:
            self._other_files = self._other_files or MappedFiles(self._directory, "other")
            new = self._other_files.new
            super()._detach_policies()
        fresh = self._spare_snapshot or State(
            *(new(a.shape, a.dtype) for a in self._snapshot_state)
        )
        _copy_trunk(self._state, fresh, self._end)
        self._workers.fetch(fresh)
        if self._directory is not None:
            self._spare_snapshot = self._snapshot_state
        self._snapshot_state, self._snapshot_iteration, self._losses = fresh, self.iteration, 0
        self._snapshot_at = time.perf_counter()
        self._snapshot_seconds = self._snapshot_at - started

    def _detach_policies(self) -> None:
        # Iterations change the workers' arrays only; arrays in this process change by a snapshot.
        if self._workers is None:
            super()._detach_policies()

    def _scale_average(self, factor: float) -> None:
        super()._scale_average(factor)
        if self._workers is not None:
            self._workers.ask("scale_average", [(factor,)] * len(self._workers.shares))

    def _evaluate(self, weight: Numbers, floor: float) -> Evaluation:
        return self._run_to(self.iteration, lambda: Solver._evaluate(self, weight, floor))


class _ClusterPasses(Passes):
    """Passes that process the trunk in this process, and the chunks in workers."""

    def __init__(
        self,
        form: ChunkedForm,
        record: Algorithm,
        state: State,
        value_bound: np.ndarray,
        locks: ChunkLocks | None,
        workers: Workers,
    ) -> None:
        super().__init__(form, record, state, value_bound, locks, threads=1)
        self._workers = workers

    def run(self, schedule: PassSchedule, threads: int | None = None) -> None:
        """Run passes in sequence, on one thread of this process."""
        for t in range(len(schedule.row)):
            single_pass = PassSchedule(*(array[t : t + 1] for array in schedule))
            # Each pass has three parts: forward in the trunk, all chunks, backward in the trunk.
            nobody = np.zeros_like(single_pass.computes_reach)
            self._run_trunk(single_pass._replace(updates=nobody))
            self._workers.work(single_pass, self.trunk)
            self._run_trunk(single_pass._replace(computes_reach=nobody))

    def _run_trunk(self, single_pass: PassSchedule) -> None:
        """Run the stages of a pass in the trunk."""
        counters = new_counters(1)
        # Pretend to be the first of two threads while all chunks are already done by the second, so
        # that this thread takes no chunk and never waits.
        counters[0, 1:3] = self.groups, 2
        self.run_share(single_pass, 0, 0, 2, counters)

    def evaluate_stages(
        self, weight: Numbers, floor: float, expected: np.ndarray, best: np.ndarray
    ) -> None:
        """Run all stages of an evaluation; the workers evaluate the chunks."""
        self.evaluate_stage(DOWN, weight, floor, expected, best)
        current = weight.chunks is not self.stored.cumulative.chunks
        self._workers.evaluate(current, floor, self.double_trunk, expected)
        self.evaluate_stage(UP, weight, floor, expected, best)


def traffic_of(shares: Sequence[BranchShare], algorithm: Algorithm, precision: str) -> Traffic:
    """Compute the traffic of one iteration in advance.

    Every iteration receives the values of all players' entries once, and sends their reaches once;
    with alternating updates, once for each other player.  Then the first iteration of a call of
    :meth:`ClusterSolver.iterate` sends the reaches of the first player to update once more, which
    is not counted here.

    Args:
        shares: The shares of all workers.
        algorithm: The algorithm.
        precision: Precision of the arrays.
    """
    size = floats_of(np.dtype(precision)).itemsize
    sent = sum(len(entries) for share in shares for entries in share.down)
    if algorithm.alternating and shares:
        sent *= len(shares[0].down) - 1
    values = sum(len(entries) for share in shares for entries in share.up)
    return Traffic(down=sent * size, up=values * size)


def _trunk_of(state: State, end: int) -> State:
    """Copy the numbers of the trunk of a state; they are the first ``end`` numbers."""
    numbers = numbers_of(state, 0, end)
    trunk_state = state._replace(**numbers)
    return State(*(array.copy() for array in trunk_state))


def _copy_trunk(source: State, target: State, end: int) -> None:
    """Copy the numbers of the trunk to ``target``, which is modified in place."""
    put_numbers(target, 0, end, numbers_of(source, 0, end))
    target.floor[:] = source.floor
    target.trunk[:] = source.trunk
