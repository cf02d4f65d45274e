"""A solver of a game in chunks whose chunks lie in the workers of a cluster.

The trunk stays here.  In every pass only the reaches of the trunk's last sequences go to the
workers, and the values of the chunks' entries come back.  These are added in the order of the
chunks, as they are where one process does all the work, so that the bits are the same.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._util.cluster import address_of, close, connect, workers_of
from .._util.machine import versions
from .._util.mapped_files import MappedFiles
from .._util.memory import free_memory
from ..algorithms import Algorithm
from ..algorithms.registry import PUBLISHED
from ..errors import ClusterError, MemoryLimitError
from ..evaluation.metrics import Evaluation
from ..kernels import chunks as kernels
from ..kernels.chunks import Numbers, TrunkScratch, Turns
from ..kernels.meeting import MEETING
from ..model.cut_game import CutGame
from ..model.locks import LocksLike
from ..model.shares import Share, divide, share_of, share_of_locks
from ..storage.cut_game import KEY, pack_cut_game
from .arguments import STEPS
from .choose import DEFAULT_ALGORITHM
from .chunked_solver import (
    ChunkedSolver,
    ChunkedState,
    aligned,
    bytes_kept,
    bytes_needed,
    evaluation_of,
    floats_of,
)
from .share_worker import (
    ShareOrder,
    ShareWorker,
    numbers_of,
    pass_order,
    put_numbers,
    reaches_for,
)

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")

PIECE = 1 << 18
"""Numbers of each array of a solver in one message, at most; workers keep room for a message."""
LEAST_SECONDS = 1.0
"""Seconds between two snapshots, at least."""
SNAPSHOT_SHARE = 0.05
"""Share of the time that snapshots may take."""
REPLACEMENT_SECONDS = 30.0
"""Seconds to wait for a worker in the place of one that was lost."""
POLL_SECONDS = 0.5
"""Seconds to wait for an answer before checking that the worker is alive."""
MOST_LOSSES = 10
"""Losses between two snapshots after which a solve gives up."""


class _LostError(Exception):
    """A worker is gone, and with it the numbers of its shares."""


@dataclass
class Traffic:
    """Bytes of numbers between a solver and its workers, without those of the protocol."""

    down: int = 0
    """Reaches, from the solver to the workers, in passes and evaluations."""
    up: int = 0
    """Values, from the workers to the solver."""
    snapshots: int = 0
    """Numbers of snapshots, in both directions."""


class ClusterSolver(ChunkedSolver):
    """A :class:`~tensorcfr.solvers.chunked_solver.ChunkedSolver` whose chunks lie in the workers of
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
        precision: As for :class:`~tensorcfr.solvers.chunked_solver.ChunkedSolver`.
        locks: Likewise.
        threads: Threads of each worker, and of this process where it goes on alone.
        state: Arrays to go on from.
        iteration: Iterations that ``state`` has behind it.
        memory_limit: Bytes that may be taken here; by default the machine's free memory.
        state_dir: A directory for the snapshots, in files that are mapped into memory.

    Raises:
        ValueError: As for ``ChunkedSolver``; the client is closed; a worker has another version, or
            compiles another game; the algorithm is not of this library.
        TypeError: The game is not cut, or ``cluster`` is no cluster.
        MissingExtraError: Dask distributed is not installed.
        MemoryLimitError: The arrays would not fit, here or in a worker.
        ClusterError: No scheduler answers, or it has no workers.
    """

    def __init__(
        self,
        game: CutGame,
        algorithm: str | Algorithm = DEFAULT_ALGORITHM,
        *,
        cluster: Client | str,
        precision: str = "float64",
        locks: LocksLike | None = None,
        threads: int = 1,
        state: ChunkedState | None = None,
        iteration: int = 0,
        memory_limit: int | None = None,
        state_dir: str | Path | None = None,
    ) -> None:
        self._crew: _Crew | None = None
        client = connect(cluster)
        try:
            super().__init__(
                game,
                algorithm,
                precision=precision,
                locks=locks,
                threads=threads,
                state=state,
                iteration=iteration,
                memory_limit=memory_limit,
                state_dir=state_dir,
            )
            self._check(state_dir, memory_limit)
            self._directory = None if state_dir is None else Path(state_dir)
            self._safe, self._safe_iteration = self._state, iteration
            self._spare: ChunkedState | None = None
            self._losses = 0
            self._end = int(game.chunks.first[0])
            self._take_up(_trunk_of(self._safe, self._end))
            self._crew = _Crew(client, game, self)
            self.traffic = self._crew.traffic
            """Bytes that went over the wire."""
            self._staff()
            self._persist(iteration, self._warm_up)
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
        form, record = self.game.chunks, self.algorithm
        needed = bytes_needed(form, record, self.precision, self._threads)
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
        if self._crew is not None:
            crew, self._crew = self._crew, None
            crew.close()
            self._take_up(self._safe)
            self.iteration = self._safe_iteration

    def step(self, iterations: int = 1) -> None:
        """Run some iterations; each updates every player once.

        Raises:
            ValueError: ``iterations`` is no whole number from 0.
            ClusterError: The cluster is lost.  The solver is back in this process, at the last
                snapshot.
        """
        if self._crew is None:
            super().step(iterations)
            return
        goal = self.iteration + STEPS("iterations", iterations)
        started, before = time.perf_counter(), self.seconds
        self._persist(goal, lambda: None)
        now = time.perf_counter()
        self.seconds = before + now - started
        apart = max(LEAST_SECONDS, self._snapshot_seconds / SNAPSHOT_SHARE)
        if now - self._snapshot_at > apart:
            self._persist(goal, self._snapshot)

    @property
    def state(self) -> ChunkedState:
        """The arrays over trunk and chunks, which are fetched from the workers."""
        if self._crew is not None and self._safe_iteration != self.iteration:
            self._persist(self.iteration, self._snapshot)
        return self._safe

    @property
    def nodes_touched(self) -> int:
        """Histories visited: chance nodes, decision nodes and terminals."""
        return self.count_nodes(self.game, self._state, self.iteration)[0]

    @property
    def decision_nodes_touched(self) -> int:
        """Decision nodes visited."""
        return self.count_nodes(self.game, self._state, self.iteration)[1]

    def _persist(self, goal: int, work: Callable[[], T]) -> T:
        """Do some work at an iteration, which is run up to first; begin again from the last
        snapshot where a worker is lost."""
        while True:
            try:
                if self.iteration < goal:
                    super().step(goal - self.iteration)
                return work()
            except _LostError:
                self._losses += 1
                try:
                    self._staff()
                except BaseException:
                    self.close()
                    raise

    def _staff(self) -> None:
        """Hire workers for the shares that have none, and set all shares to the last snapshot."""
        assert self._crew is not None
        while self._losses <= MOST_LOSSES:
            try:
                self._crew.hire()
                self._crew.put(self._safe)
            except _LostError:
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
        assert self._crew is not None
        started = time.perf_counter()
        if self._directory is None:
            new = aligned
            self._lent.clear()  # Their arrays are not written to again.
        else:
            new = MappedFiles(self._directory / "other").new
            super()._settle()
        fresh = self._spare or ChunkedState(*(new(a.shape, a.dtype) for a in self._safe))
        _copy_trunk(self._state, fresh, self._end)
        self._crew.fetch(fresh)
        if self._directory is not None:
            self._spare = self._safe
        self._safe, self._safe_iteration, self._losses = fresh, self.iteration, 0
        self._snapshot_at = time.perf_counter()
        self._snapshot_seconds = self._snapshot_at - started

    def _settle(self) -> None:
        # Iterations change the arrays of the workers; those here change with a snapshot.
        if self._crew is None:
            super()._settle()

    def _restart_average(self) -> None:
        super()._restart_average()
        if self._crew is not None:
            self._crew.ask("restart_average")

    def _passes(self, rows: np.ndarray, turns: Turns) -> None:
        if self._crew is None:
            super()._passes(rows, turns)
            return
        first = self.game.chunks.trunk.player_sequences[:2]
        for t in range(len(rows)):
            row, turn = rows[t : t + 1], _one_pass(turns, t)
            nobody = np.zeros_like(turn.descends)
            self._pass_trunk(row, turn._replace(updates=nobody))
            totals = self._kept.cumulative.trunk[first] if turns.against_average else None
            self._crew.work(row, turn, self._trunk, totals)
            self._pass_trunk(row, turn._replace(descends=nobody))

    def _pass_trunk(self, row: np.ndarray, turn: Turns) -> None:
        """The trunk's stages of a pass: this process is the first of its threads, which has none of
        the chunks, and waits for nobody."""
        meeting = aligned((1, MEETING), np.dtype(np.int64))
        meeting[0, 2] = 2
        scratch = self._scratch.get()
        try:
            kernels.run_passes(
                self.game.chunks,
                self.algorithm.rule,
                row,
                turn,
                self._kept,
                self._trunk,
                scratch,
                self._locks,
                0,
                2,
                0,
                meeting,
            )
        finally:
            self._scratch.put(scratch)

    def _judge(self, weight: Numbers, floor: float) -> Evaluation:
        if self._crew is None:
            return super()._judge(weight, floor)
        return self._persist(self.iteration, lambda: self._judge_there(weight, floor))

    def _judge_there(self, weight: Numbers, floor: float) -> Evaluation:
        """Values and best-response values, with the chunks' part from the workers."""
        assert self._crew is not None
        game, trunk, scratch = self.game.chunks, self._trunk, self._scratch.get()
        expected, best = np.zeros((game.n_chunks + 1, 2)), np.empty(2)
        given = weight, floor, trunk, scratch, expected, best, self._locks
        try:
            kernels.judge(game, kernels.DOWN, 0, 1, *given)
            current = weight.chunks is not self._state.cumulative
            self._crew.judge(current, floor, trunk, expected)
            kernels.judge(game, kernels.UP, 0, 1, *given)
        finally:
            self._scratch.put(scratch)
        return evaluation_of(expected, best)


class _Crew:
    """The workers of a solve, each with a share of the chunks.

    They are *actors* of Dask: objects that live in a worker and are called without the scheduler.

    Args:
        client: A client, which is closed with the crew.
        game: The game.
        solver: The solver, for its algorithm, precision, locks and threads.
    """

    def __init__(self, client: Client, game: CutGame, solver: ClusterSolver) -> None:
        form, self._client = game.chunks, client
        self.traffic = Traffic()
        self.shares = [share_of(form, *own) for own in divide(form, len(workers_of(client)))]
        recipe = None if game.recipe.source is None else pack_cut_game(game)[KEY]
        self._orders = [
            ShareOrder(
                name=game.name,
                recipe=recipe,
                share=share if recipe is None else None,
                begin=share.begin,
                end=share.end,
                algorithm=solver.algorithm,
                precision=solver.precision,
                locks=share_of_locks(solver._locks, share.begin, share.end),
                threads=solver._threads,
                versions=versions(),
            )
            for share in self.shares
        ]
        self._first = form.first
        self._futures: list[Any] = [None] * len(self.shares)
        self._actors: list[Any] = [None] * len(self.shares)
        self._addresses = [""] * len(self.shares)

    def close(self) -> None:
        """Let the workers go, and close the client."""
        self._futures.clear()
        self._actors.clear()
        close(self._client)

    def hire(self) -> None:
        """Make the shares that no worker has, each in a worker that has few.

        Raises:
            ClusterError: There are no workers, or there is no scheduler.
            _LostError: A worker was lost meanwhile.
        """
        missing = [k for k, actor in enumerate(self._actors) if actor is None]
        addresses = self._wait_for_workers()
        held = Counter(at for at, actor in zip(self._addresses, self._actors, strict=True) if actor)
        for k in missing:
            chosen = min(addresses, key=lambda address: (held[address], address))
            held[chosen] += 1
            self._addresses[k] = chosen
            self._futures[k] = self._client.submit(
                ShareWorker,
                self._orders[k],
                workers=[chosen],
                allow_other_workers=False,
                actor=True,
                pure=False,
            )
        # Actors find their client in the context in which they are received.
        with self._client.as_current():
            for k in missing:
                self._actors[k] = self._made(k)

    def ask(self, method: str, arguments: Sequence[tuple[Any, ...]] = ()) -> list[Any]:
        """Call a method in all workers at the same time.

        Args:
            method: Of :class:`~tensorcfr.solvers.share_worker.ShareWorker`.
            arguments: For each share; none by default.

        Returns:
            The answers, in the order of the shares.

        Raises:
            _LostError: A worker is gone.
        """
        given = arguments or [()] * len(self.shares)
        calls = [self._call(k, method, *own) for k, own in enumerate(given)]
        # All answers, so that no worker is at work when this returns.
        answers = [self._answer(k, call) for k, call in enumerate(calls)]
        if any(actor is None for actor in self._actors):
            raise _LostError
        return answers

    def work(
        self, row: np.ndarray, turn: Turns, trunk: TrunkScratch, totals: np.ndarray | None
    ) -> None:
        """A pass through all chunks; the values are put where the trunk finds them."""
        descends, updates = turn.descends[0], np.flatnonzero(turn.updates[0])
        faced = trunk.faced if turn.against_average else None
        messages = [
            reaches_for(share, descends, trunk.reach, faced, totals) for share in self.shares
        ]
        order = pass_order(row, turn)
        answers = self.ask("work", [(order, message) for message in messages])
        values = [trunk.entry_value, trunk.entry_forecast]
        for share, message, answer in zip(self.shares, messages, answers, strict=True):
            at = 0
            for target in values if trunk.forecast.size else values[:1]:
                for player in updates:
                    own = share.up[player]
                    target[own] = answer[at : at + len(own)]
                    at += len(own)
            self.traffic.down += message.nbytes
            self.traffic.up += answer.nbytes

    def judge(self, current: bool, floor: float, trunk: TrunkScratch, expected: np.ndarray) -> None:
        """The chunks' part of an evaluation; see :meth:`ShareWorker.judge`."""
        everybody = np.ones(2, dtype=bool)
        messages = [reaches_for(share, everybody, trunk.reach) for share in self.shares]
        answers = self.ask("judge", [(current, floor, message) for message in messages])
        for share, message, (values, own) in zip(self.shares, messages, answers, strict=True):
            trunk.entry_value[np.concatenate(share.up)] = values
            expected[share.begin : share.end] = own
            self.traffic.down += message.nbytes
            self.traffic.up += values.nbytes + own.nbytes

    def fetch(self, state: ChunkedState) -> None:
        """Put the numbers of all shares into a state, piece by piece."""
        for pieces in self._pieces():
            answers = self.ask("numbers", [own for _, own in pieces])
            for (begin, (first, last)), numbers in zip(pieces, answers, strict=True):
                put_numbers(state, begin + first, begin + last, numbers)
                self.traffic.snapshots += sum(array.nbytes for array in numbers)

    def put(self, state: ChunkedState) -> None:
        """Set the numbers of all shares to those of a state, piece by piece."""
        for pieces in self._pieces():
            given = [
                (first, last, numbers_of(state, begin + first, begin + last))
                for begin, (first, last) in pieces
            ]
            self.ask("put", given)
            self.traffic.snapshots += sum(a.nbytes for *_, numbers in given for a in numbers)

    def _pieces(self) -> Iterator[list[tuple[int, tuple[int, int]]]]:
        """The numbers of all shares, some of each at a time: for each share where it begins in the
        solver's arrays, and from where on and up to where in its own."""
        bounds = [(int(self._first[s.begin]), int(self._first[s.end])) for s in self.shares]
        for at in range(0, max((end - begin for begin, end in bounds), default=0), PIECE):
            yield [
                (begin, (min(at, end - begin), min(at + PIECE, end - begin)))
                for begin, end in bounds
            ]

    def _wait_for_workers(self) -> list[str]:
        """The workers that are there, as many as there are shares if they come in time.

        Raises:
            ClusterError: There are none.
        """
        deadline = time.monotonic() + REPLACEMENT_SECONDS
        while len(found := workers_of(self._client)) < len(self.shares):
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_SECONDS / 5)
        if not found:
            raise ClusterError(
                f"the scheduler at {address_of(self._client)} has had no workers for "
                f"{REPLACEMENT_SECONDS:g} s"
            )
        return found

    def _made(self, k: int) -> Any:
        """The actor of a share that a worker is about to make.

        Raises:
            _LostError: The worker is gone.
        """
        while True:
            try:
                return self._futures[k].result(timeout=POLL_SECONDS)
            except TimeoutError:
                if self._addresses[k] not in workers_of(self._client):
                    raise _LostError from None
            except Exception as error:
                # Dask has many errors for a worker that is gone.
                address = self._addresses[k]
                if isinstance(error, OSError) or address not in workers_of(self._client):
                    raise _LostError from None
                error.add_note(f"in the worker {address}")
                raise

    def _call(self, k: int, method: str, *given: Any) -> Any:
        """The answer to come of a share's worker; None if the worker is gone."""
        try:
            return getattr(self._actors[k], method)(*given)
        except RuntimeError:
            return None

    def _answer(self, k: int, call: Any) -> Any:
        """An answer; the share has no actor any more if the worker is gone."""
        while call is not None:
            try:
                return call.result(timeout=POLL_SECONDS)
            except TimeoutError:
                # Calls that a worker took with it may never be answered.
                if self._futures[k].status == "finished" and self._client.status == "running":
                    continue
            except OSError:
                pass
            break
        self._futures[k] = self._actors[k] = None
        return None


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


def _one_pass(turns: Turns, t: int) -> Turns:
    """One of several passes."""
    fields: dict[str, Any] = turns._asdict()
    arrays = {name: own for name, own in fields.items() if isinstance(own, np.ndarray)}
    return Turns(**fields | {name: own[t : t + 1] for name, own in arrays.items()})


def _trunk_of(state: ChunkedState, end: int) -> ChunkedState:
    """The first numbers of a state, up to ``end``: those of the trunk; copies."""
    regret, cumulative, strategy, memory, scale = (
        array.copy() for array in numbers_of(state, 0, end)
    )
    return ChunkedState(
        regret, cumulative, strategy, memory, state.floor.copy(), scale, state.trunk.copy()
    )


def _copy_trunk(source: ChunkedState, target: ChunkedState, end: int) -> None:
    """Copy the numbers of the trunk; ``target`` is modified in place."""
    put_numbers(target, 0, end, numbers_of(source, 0, end))
    target.floor[:] = source.floor
    target.trunk[:] = source.trunk
