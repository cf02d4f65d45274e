"""Execution of a sweep: run every unfinished cell, in this process, in several or on a cluster."""

from __future__ import annotations

import multiprocessing
import signal
from asyncio import CancelledError
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Annotated, Any, NamedTuple

from .._util.argument_checks import Kind, Limit, Where, Whole, checked
from .._util.cluster import CLUSTER, close, connect, workers_of
from .._util.hardware import machine, versions
from .._util.processes import end_with_parent
from ..algorithms import Record
from ..algorithms.registry import PUBLISHED
from ..compilers import compile_game
from ..errors import SweepError
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import CALLABLE
from ..solvers.driver import solve
from ..solvers.loop import Progress
from ..solvers.solution import Solution, Status, TracePoint
from ..solvers.solver_arguments import Iterations, Nodes, Seconds, Target
from .cells import Cell, StopRules, cells
from .sweep_table import CONTINUES, Key, SweepRow, SweepTable

MAX_PROCESSES = 256
MAX_REPEATS = 1000
WATCH_SECONDS = 2.0
"""Seconds to wait for a cell of a cluster before checking that its scheduler still answers."""
POLL_SECONDS = 0.1
"""Seconds to wait for an event of a worker process before checking that all are alive."""


@dataclass(frozen=True)
class SweepProgress:
    """Argument of a progress hook."""

    cell: Cell
    """Cell that made progress."""
    latest: TracePoint | None
    """Last checkpoint of the cell; None before the first."""
    finished: int
    """Number of finished cells, including cells of earlier calls."""
    total: int
    """Number of cells of the sweep."""
    share: float
    """Finished share of the sweep, between 0 and 1."""


@checked()
def sweep(
    path: Annotated[str | Path, Where()],
    games: Annotated[
        Iterable[str | CompiledGame], Kind((Iterable, CompiledGame), "names or compiled games")
    ],
    algorithms: Annotated[
        Iterable[str | Record], Kind((Iterable, Record), "names of algorithms or Algorithms")
    ],
    *,
    seeds: Annotated[Iterable[int], Kind((Iterable,), "whole numbers")] = (0,),
    repeats: Annotated[int, Whole(1, MAX_REPEATS)] = 1,
    iters: Iterations | None = None,
    nodes: Nodes | None = None,
    time_limit: Seconds | None = None,
    target: Target | None = None,
    processes: Annotated[int, Whole(1, MAX_PROCESSES)] = 1,
    memory_limit: Limit = None,
    progress: Annotated[Callable[[SweepProgress], object] | None, CALLABLE] = None,
    cluster: Annotated[Any | None, CLUSTER] = None,
) -> list[SweepRow]:
    """Solve every game by every algorithm, from every seed, into one CSV table.

    Each solve is a cell. Cells are evaluated at geometric checkpoints (ten per factor of ten in
    iterations, or 25 with a target); evaluations do not count. Each checkpoint is written to the
    file at once. A second call skips finished cells. It runs interrupted cells from their
    beginning, so that their seconds are measured without an interruption. A later call may add
    games, algorithms or seeds.

    Args:
        path: Path of the CSV file; its columns are the fields of :class:`SweepRow`.
        games: Names, ``"leduc"`` or ``"leduc(ranks=4)"``, or compiled games.
        algorithms: Names, ``"dcfr"`` or ``"dcfr(alpha=2)"``, or records; ``"lp"`` has one row.
        seeds: Seeds of sampling algorithms; other algorithms run once.
        repeats: Number of runs of each solve. Summaries and pictures show medians, which are robust
            to a stall of the machine during one run.
        iters: Iterations at which a cell ends.
        nodes: Nodes touched (histories visited) at which a cell ends.
        time_limit: Seconds after which a cell ends, evaluations included.
        target: Exploitability (nash_conv / players) at which a cell ends, as for
            :func:`tensorcfr.solve`.
        processes: Number of cells that run at a time. Concurrent processes slow each other down: to
            compare seconds, use 1. With more, a script needs ``if __name__ == "__main__":``.
        memory_limit: Bytes that a cell may take; by default the machine's free memory.
        progress: Function called with a :class:`SweepProgress` about twenty times a second; with a
            cluster, after each cell.
        cluster: Client of Dask distributed, or the address of its scheduler, as for
            :func:`tensorcfr.solve`. Every cell is a task for its workers, and its rows are written
            when it has ended. If a worker is lost, its cell runs again on another worker.

    Returns:
        All rows of the table.

    Raises:
        ValueError: A game, algorithm or option is unknown, or the file belongs to another sweep;
            raised before the first solve.
        OSError: The file cannot be written; its rows are safe.
        KeyboardInterrupt: Ctrl-C; all computed rows are in the file.
        SweepError: Some cells failed, and the others are finished; the message names the first.
        ClusterError: The cluster is lost; all rows of finished cells are in the file.
    """
    budget = StopRules(iters=iters, nodes=nodes, time_limit=time_limit, target=target)
    all_cells = cells(games, algorithms, seeds, repeats)
    if cluster is not None and processes > 1:
        raise ValueError("give processes (of this machine) or cluster, not both")
    if cluster is not None or processes > 1:
        for cell in all_cells:
            if cell.record.name not in PUBLISHED:
                raise ValueError(
                    f"{cell.record.name} is registered only in this process; run the sweep here, "
                    "with processes=1 and no cluster"
                )
    with SweepTable(path, all_cells, budget) as table:
        todo = [cell for cell in all_cells if not table.is_finished(cell)]
        recorder = _Recorder(table, len(all_cells), len(all_cells) - len(todo), progress)
        run = partial(_run_cell, budget=budget, memory_limit=memory_limit)
        if cluster is not None:
            _run_on_cluster(todo, run, recorder, cluster)
        elif processes == 1 or len(todo) < 2:
            _run_here(todo, run, recorder)
        else:
            _run_in_processes(todo, run, recorder, processes)
        rows = table.rows
    if recorder.failures:
        cell, error = recorder.failures[0]
        others = len(recorder.failures) - 1
        more = f" (and {others} more cells failed)" if others else ""
        raise SweepError(f"{cell}: {error}{more}") from error
    return rows


class _Event(NamedTuple):
    """Message of a running cell."""

    share: float
    """Spent share of the cell's budget, from 0 to 1."""
    point: TracePoint | None = None
    """New checkpoint; None if the latest one has been reported before."""
    row: SweepRow | None = None
    """Row of the checkpoint in the table."""


Report = Callable[[_Event], object]
Run = Callable[[Cell, Report], Status]
"""Function that solves one cell, and reports its checkpoints while it runs."""


@dataclass
class _Recorder:
    """Recorder of events: appends rows to the table and calls the progress hook."""

    table: SweepTable
    total: int
    finished: int
    hook: Callable[[SweepProgress], object] | None
    failures: list[tuple[Cell, BaseException]] = field(default_factory=list)
    # Spent share and last checkpoint of the running cells, by key.
    shares: dict[Key, float] = field(default_factory=dict)
    latest: dict[Key, TracePoint] = field(default_factory=dict)

    def record(self, cell: Cell, event: _Event) -> None:
        """Record an event of a cell."""
        self.shares[cell.key] = event.share
        if event.row is not None and event.point is not None:
            self.latest[cell.key] = event.point
            self.table.append(event.row)
            if event.row.ends_cell:
                self.finished += 1
                self.shares.pop(cell.key)
        if self.hook:
            share = (self.finished + sum(self.shares.values())) / self.total
            latest = self.latest.get(cell.key)
            self.hook(SweepProgress(cell, latest, self.finished, self.total, min(1.0, share)))

    def fail(self, cell: Cell, error: BaseException) -> None:
        """Record that a cell failed; other cells continue."""
        self.failures.append((cell, error))
        self.shares.pop(cell.key, None)


def _run_cell(cell: Cell, report: Report, *, budget: StopRules, memory_limit: int | None) -> Status:
    """Solve one cell, and report its checkpoints while it runs."""
    # A game given by name is compiled here, as a flat game if the algorithm does not take chunks of
    # every kind of game.
    takes_chunks = "chunks" in cell.record.solvers and not cell.record.is_sampled
    game = _compiled(cell.source, memory_limit, "auto" if takes_chunks else False)
    begun = datetime.now(UTC).date().isoformat()
    reported: TracePoint | None = None

    def row(point: TracePoint, status: str = CONTINUES) -> SweepRow:
        return SweepRow(
            game=cell.game,
            algorithm=cell.algorithm,
            parameters=str(cell.record),
            seed=cell.seed,
            repeat=cell.repeat,
            iteration=point.iteration,
            nodes_touched=point.nodes_touched,
            decision_nodes_touched=point.decision_nodes_touched,
            seconds=point.seconds,
            nash_conv=point.nash_conv,
            exploitability=point.exploitability,
            players=game.n_players,
            status=status,
            budget=str(budget),
            versions=versions(),
            machine=machine(),
            date=begun,
        )

    def hook(progress: Progress) -> None:
        nonlocal reported
        share = budget.share(progress.iteration, progress.nodes_touched, progress.elapsed)
        new = progress.latest if progress.latest is not reported else None
        reported = progress.latest
        report(_Event(share, new, None if new is None else row(new)))

    if cell.record.is_exact:
        # Solve a tiny game first, so that the import of scipy is not measured.
        solve(compile_game("matching_pennies"), cell.record)
        solution = solve(game, cell.record, memory_limit=memory_limit)
    else:
        seed = {} if cell.seed is None else {"seed": cell.seed}
        options: dict[str, Any] = budget.rules | seed
        solution = solve(game, cell.record, memory_limit=memory_limit, progress=hook, **options)
    last = _last_point(solution)
    report(_Event(1.0, last, row(last, solution.status.name.lower())))
    return solution.status


def _last_point(solution: Solution) -> TracePoint:
    """Return the last checkpoint of a solution; the linear program records none, so make one."""
    if solution.trace:
        return solution.trace[-1]
    figures = (solution.seconds, solution.nash_conv, solution.exploitability)
    return TracePoint(0, 0, *figures)


@lru_cache(maxsize=1)
def _compiled(
    source: str | CompiledGame, memory_limit: int | None, cut: bool | str
) -> CompiledGame:
    """Return the compiled game; the last game is cached, because consecutive cells share it."""
    if isinstance(source, CompiledGame):
        return source
    return compile_game(source, memory_limit=memory_limit, cut=cut)


def _run_here(todo: list[Cell], run: Run, recorder: _Recorder) -> None:
    """Run the cells one after the other in this process."""
    for cell in todo:
        try:
            status = run(cell, partial(recorder.record, cell))
        except OSError:
            raise  # The table cannot be written, so the rows of later cells would be lost, too.
        except Exception as error:
            recorder.fail(cell, error)
            continue
        finally:
            if cell is todo[-1]:
                _compiled.cache_clear()
        if status is Status.INTERRUPTED:
            raise KeyboardInterrupt


# In other processes


class _StopError(Exception):
    """The sweep has ended; all reported rows of the cell are in the table."""


class _Worker:
    """Globals of a worker process."""

    pipe: Any = None
    """Write end of the pipe to the parent."""
    lock: Any = None
    """Lock of the pipe, because only one worker may send at a time."""
    stop: Any = None
    """Event that ends all cells."""


def _begin_worker(pipe: Any, lock: Any, stop: Any) -> None:
    """Set up a worker process.

    A terminal sends Ctrl-C and SIGHUP to all its processes. The workers ignore both, and the parent
    decides. A worker ends when its parent is killed.
    """
    end_with_parent()
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    _Worker.pipe, _Worker.lock, _Worker.stop = pipe, lock, stop


def _work(number: int, cell: Cell, run: Run) -> None:
    """Run a cell in a worker process."""

    def report(event: _Event) -> None:
        # A pipe has sent the event when this function returns; a queue would send it later. So all
        # events of a cell are in the pipe when the cell returns.
        with _Worker.lock:
            _Worker.pipe.send((number, event))
        if _Worker.stop.is_set():
            raise _StopError

    if _Worker.stop.is_set():
        raise _StopError
    run(cell, report)


def _run_in_processes(todo: list[Cell], run: Run, recorder: _Recorder, processes: int) -> None:
    """Run several cells at a time in worker processes; this process writes the table."""
    # Forking a process that has threads is not safe, so workers are spawned.
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    stop = context.Event()
    pool = ProcessPoolExecutor(
        min(processes, len(todo)),
        context,
        initializer=_begin_worker,
        initargs=(writer, context.Lock(), stop),
    )
    waiting = {n: pool.submit(_work, n, cell, run) for n, cell in enumerate(todo)}
    futures = list(waiting.values())
    try:
        while waiting:
            # Look for returned cells before the pipe: all events of a returned cell are already in
            # the pipe, so if it is empty now, such a cell ended without a final event.
            returned = [number for number, future in waiting.items() if future.done()]
            if reader.poll(POLL_SECONDS):
                number, event = reader.recv()
                recorder.record(todo[number], event)
                if event.row is not None and event.row.status != CONTINUES:
                    waiting.pop(number)
                continue
            for number in returned:
                recorder.fail(todo[number], _failure_reason(waiting.pop(number)))
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        # A worker blocks while the pipe is full, so empty the pipe until all cells have ended.
        while not all(future.done() for future in futures):
            if reader.poll(POLL_SECONDS):
                reader.recv()
        pool.shutdown(wait=True)


def _failure_reason(future: Future[None]) -> BaseException:
    """Return the reason why a cell ended without a final event."""
    error = future.exception()
    if error is None or isinstance(error, BrokenProcessPool):
        return RuntimeError(
            "its process or another worker ended abruptly: it was killed, perhaps because memory "
            "ran out, or the script that started it lacks 'if __name__ == \"__main__\":'"
        )
    return error


# On a cluster


def _events_of(cell: Cell, run: Run) -> list[_Event]:
    """Run a cell in a worker of a cluster; return its checkpoints."""
    events: list[_Event] = []

    def keep(event: _Event) -> None:
        if event.point is not None:
            events.append(event)

    run(cell, keep)
    return events


def _run_on_cluster(todo: list[Cell], run: Run, recorder: _Recorder, cluster: Any) -> None:
    """Run all cells as tasks of a cluster; this process writes the table.

    If a worker is lost, the scheduler runs its task again, and gives up after the fourth loss. The
    events of a cell are recorded together, because the task returns them as one result.
    """
    client = connect(cluster)
    try:
        ended: SimpleQueue[Any] = SimpleQueue()
        waiting = {}
        for cell in todo:
            future = client.submit(_events_of, cell, run, pure=False)
            waiting[future.key] = cell, future
            future.add_done_callback(ended.put)
        while waiting:
            try:
                future = ended.get(timeout=WATCH_SECONDS)
            except Empty:
                workers_of(client)  # Raises an error if the scheduler is gone.
                continue
            cell, _ = waiting.pop(future.key)
            try:
                events = future.result()
            except (Exception, CancelledError) as error:
                workers_of(client)  # Raises an error if the scheduler, not the cell, has failed.
                recorder.fail(cell, error)
                continue
            for event in events:
                recorder.record(cell, event)
    finally:
        close(client)
