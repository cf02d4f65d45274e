"""A solver of a game in chunks whose chunks lie in the workers of a cluster.

The trunk stays here.  In every pass only the reaches of the trunk's last sequences go to the
workers, and the values of the chunks' entries come back.  These are added in the order of the
chunks, as they are where one process does all the work, so that the bits are the same.
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
from .._util.memory import free_memory
from ..algorithms import Algorithm
from ..algorithms.registry import PUBLISHED
from ..errors import ClusterError, MemoryLimitError
from ..evaluation.metrics import Evaluation
from ..kernels.chunks import DOWN, UP
from ..kernels.pass_arrays import Numbers, Turns
from ..model.chunks import ChunkedForm, ChunkLocks
from ..model.cut_game import CutGame
from ..model.shares import Share
from ..solvers.arguments import STEPS
from ..solvers.passes import Passes, bytes_of_passes, new_counters
from ..solvers.solver import Solver
from ..solvers.state import State, bytes_kept, floats_of
from .worker import numbers_of, put_numbers
from .workers import LostWorkerError, Traffic, Workers

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")

LEAST_SECONDS = 1.0
"""Seconds between two snapshots, at least."""
SNAPSHOT_SHARE = 0.05
"""Share of the time that snapshots may take."""
MOST_LOSSES = 10
"""Losses between two snapshots after which a solve gives up."""


class ClusterSolver(Solver):
    """A :class:`tensorcfr.Solver` whose chunks lie in the workers of
    a cluster of Dask distributed.

    Every worker has a share of consecutive chunks and the arrays over it.  Now and then the solver
    fetches these arrays, a *snapshot*: when its state is asked for, and so often that they take a
    twentieth of the time.  A worker that is lost is replaced, all shares go back to the last
    snapshot, and the iterations since then are run again, with the same bits.

    Use it as a context manager, or call :meth:`close`.

    Args:
        game: A game that was compiled with ``cut``.
        algorithm: A name or a record of this library; workers do not know others.
        cluster: A client of Dask distributed, or the address of a scheduler; see
            :func:`tensorcfr.solve`.
        precision: As for :class:`tensorcfr.Solver`.
        locks: Likewise.
        threads: Threads of each worker, and of this process where it goes on alone.
        state: Arrays to go on from.
        iteration: Iterations that ``state`` has behind it.
        memory_limit: Bytes that may be taken here; by default the machine's free memory.
        state_dir: A directory for the snapshots, in files that are mapped into memory.

    Raises:
        ValueError: As for :class:`tensorcfr.Solver`; the client is closed; a worker has another
            version, or compiles another game; the algorithm is not of this library.
        TypeError: The game is not cut, or ``cluster`` is no cluster.
        MissingExtraError: Dask distributed is not installed.
        MemoryLimitError: The arrays would not fit, here or in a worker.
        ClusterError: No scheduler answers, or it has no workers.
    """

    _other_files: MappedFiles | None = None
    """Files of every other snapshot."""

    def __init__(
        self,
        game: CutGame,
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
            self._safe, self._safe_iteration = self._state, self.iteration
            """The last snapshot."""
            self._spare: State | None = None
            self._losses = 0
            self._end = int(game.chunks.first[0])
            self._workers = Workers(
                client, game, self.algorithm, self.precision, self._locks, self._threads
            )
            self.traffic = self._workers.traffic
            """Bytes that went over the wire."""
            self._state = _trunk_of(self._safe, self._end)
            self._passes = _ClusterPasses(
                self.form, self.algorithm, self._state, self._scale, self._locks, self._workers
            )
            self._replace_workers()
            self._at(self.iteration, self._compile)
        except BaseException:
            self.close()
            close(client)
            raise
        self._snapshot_at, self._snapshot_seconds = time.perf_counter(), 0.0

    def _check(self, state_dir: str | Path | None, memory_limit: int | None) -> None:
        """Refuse algorithms that workers do not know, and snapshots that do not fit."""
        if self.algorithm.name not in PUBLISHED:
            raise ValueError(
                f"{self.algorithm.name} is an algorithm of your own, which workers do not know"
            )
        limit = free_memory() if memory_limit is None else memory_limit
        form, record = self.form, self.algorithm
        needed = bytes_of_passes(form, record, self.precision, self._threads)
        # A snapshot is whole before the one before it is given up.
        needed += bytes_kept(form, record, self.precision)
        if state_dir is None and needed > limit:
            raise MemoryLimitError(f"snapshots of {self.game.name}", needed, limit)

    def __enter__(self) -> ClusterSolver:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the workers go.

        The solver is then one of this process alone, at the last snapshot: where :attr:`state` was
        last looked at, or earlier.
        """
        if self._workers is not None:
            workers, self._workers = self._workers, None
            workers.close()
            self._state, self.iteration = self._safe, self._safe_iteration
            self._passes = self._new_passes(self._state)
        if self._other_files is not None:
            self._other_files.close()
        super().close()

    def step(self, iterations: int = 1) -> None:
        """Run some iterations; each updates every player once.

        Raises:
            ValueError: ``iterations`` is no whole number from 0.
            ClusterError: The cluster is lost.  The solver is back in this process, at the last
                snapshot.
        """
        if self._workers is None:
            super().step(iterations)
            return
        goal = self.iteration + STEPS("iterations", iterations)
        started, before = time.perf_counter(), self.seconds
        self._at(goal, lambda: None)
        now = time.perf_counter()
        self.seconds = before + now - started
        apart = max(LEAST_SECONDS, self._snapshot_seconds / SNAPSHOT_SHARE)
        if now - self._snapshot_at > apart:
            self._at(goal, self._snapshot)

    @property
    def state(self) -> State:
        """The arrays over trunk and chunks, which are fetched from the workers."""
        if self._workers is not None and self._safe_iteration != self.iteration:
            self._at(self.iteration, self._snapshot)
        return self._safe

    def _at(self, goal: int, work: Callable[[], T]) -> T:
        """Do some work at an iteration, which is run up to first; begin again from the last
        snapshot where a worker is lost."""
        while True:
            try:
                if self.iteration < goal:
                    super().step(goal - self.iteration)
                return work()
            except LostWorkerError:
                self._losses += 1
                try:
                    self._replace_workers()
                except BaseException:
                    self.close()
                    raise

    def _replace_workers(self) -> None:
        """Find workers for the shares that have none, and set all shares to the last snapshot."""
        assert self._workers is not None
        while self._losses <= MOST_LOSSES:
            try:
                self._workers.start_missing()
                self._workers.put(self._safe)
            except LostWorkerError:
                self._losses += 1
                continue
            _copy_trunk(self._safe, self._state, self._end)
            self.iteration = self._safe_iteration
            return
        raise ClusterError(
            f"workers were lost {self._losses} times since iteration {self._safe_iteration}: is "
            "their memory limit too small for their shares?"
        )

    def _snapshot(self) -> None:
        """Fetch the arrays of all shares."""
        assert self._workers is not None
        started = time.perf_counter()
        if self._directory is None:
            new = aligned
            self._policies.clear()  # Their arrays are not written to again.
        else:
            self._other_files = self._other_files or MappedFiles(self._directory, "other")
            new = self._other_files.new
            super()._detach_policies()
        fresh = self._spare or State(*(new(a.shape, a.dtype) for a in self._safe))
        _copy_trunk(self._state, fresh, self._end)
        self._workers.fetch(fresh)
        if self._directory is not None:
            self._spare = self._safe
        self._safe, self._safe_iteration, self._losses = fresh, self.iteration, 0
        self._snapshot_at = time.perf_counter()
        self._snapshot_seconds = self._snapshot_at - started

    def _detach_policies(self) -> None:
        # Iterations change the arrays of the workers; those here change with a snapshot.
        if self._workers is None:
            super()._detach_policies()

    def _scale_average(self, factor: float) -> None:
        super()._scale_average(factor)
        if self._workers is not None:
            self._workers.ask("scale_average", [(factor,)] * len(self._workers.shares))

    def _judge(self, weight: Numbers, floor: float) -> Evaluation:
        return self._at(self.iteration, lambda: Solver._judge(self, weight, floor))


class _ClusterPasses(Passes):
    """Passes that do the trunk here, and leave the chunks to workers."""

    def __init__(
        self,
        form: ChunkedForm,
        record: Algorithm,
        state: State,
        scale: np.ndarray,
        locks: ChunkLocks | None,
        workers: Workers,
    ) -> None:
        super().__init__(form, record, state, scale, locks, threads=1)
        self._workers = workers

    def run(self, turns: Turns) -> None:
        """Passes, one after the other."""
        first = self._form.trunk.player_sequences[:2]
        arrays = {name: own for name, own in turns._asdict().items() if np.ndim(own)}
        for t in range(len(turns.row)):
            turn = turns._replace(**{name: own[t : t + 1] for name, own in arrays.items()})
            nobody = np.zeros_like(turn.descends)
            self._run_trunk(turn._replace(updates=nobody))
            totals = self.kept.cumulative.trunk[first] if turns.against_average else None
            self._workers.work(turn, self.trunk, totals)
            self._run_trunk(turn._replace(descends=nobody))

    def _run_trunk(self, turn: Turns) -> None:
        """The trunk's stages of a pass: this process is the first of two threads, has none of the
        chunks, and waits for nobody."""
        counters = new_counters(1)
        counters[0, 1:3] = self.parts, 2
        self.share(turn, 0, 0, 2, counters)

    def judge_stages(
        self, weight: Numbers, floor: float, expected: np.ndarray, best: np.ndarray
    ) -> None:
        """All stages of an evaluation, with the chunks' part from the workers."""
        self.judge_stage(DOWN, weight, floor, expected, best)
        current = weight.chunks is not self.kept.cumulative.chunks
        self._workers.judge(current, floor, self.trunk, expected)
        self.judge_stage(UP, weight, floor, expected, best)


def traffic_of(shares: Sequence[Share], algorithm: Algorithm, precision: str) -> Traffic:
    """Bytes of an iteration within a span of iterations, told beforehand.

    Every iteration sends the reaches of both players' entries and gets their values, once.  The
    first iteration after a call of :meth:`ClusterSolver.step` sends those of player 0 once more
    where the players are updated in turn.
    """
    size = floats_of(np.dtype(precision)).itemsize
    sent = sum(len(own) for share in shares for own in share.down)
    if algorithm.against == "average":
        sent = 2 * sent + 2 * len(shares)
    values = sum(len(own) for share in shares for own in share.up)
    return Traffic(down=sent * size, up=values * (1 + algorithm.rule.forecast) * size)


def _trunk_of(state: State, end: int) -> State:
    """The first numbers of a state, up to ``end``: those of the trunk; copies."""
    own = numbers_of(state, 0, end)
    found = state._replace(**own)
    return State(*(array.copy() for array in found))


def _copy_trunk(source: State, target: State, end: int) -> None:
    """Copy the numbers of the trunk; ``target`` is modified in place."""
    put_numbers(target, 0, end, numbers_of(source, 0, end))
    target.floor[:] = source.floor
    target.trunk[:] = source.trunk
