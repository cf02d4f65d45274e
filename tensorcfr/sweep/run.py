"""``sweep``: run every cell that has not been run, here or in parallel processes."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from .._util.arguments import Kind, Limit, Where, Whole, checked
from .._util.machine import machine, versions
from .._util.processes import end_with_parent
from ..algorithms import Record
from ..algorithms.registry import PUBLISHED
from ..compilers import compile_game
from ..errors import SweepError
from ..model.game import CompiledGame
from ..solvers.arguments import CALLABLE, Iterations, Nodes, Seconds, Target
from ..solvers.driver import Progress, solve
from ..solvers.solution import Solution, Status, TracePoint
from .cells import Budget, Cell, cells
from .table import GOES_ON, Row, Table

MOST_PROCESSES = 256
POLL_SECONDS = 0.1
"""How long to wait for news of the processes before looking whether they are alive."""


@dataclass(frozen=True)
class SweepProgress:
    """What a progress hook is told."""

    cell: Cell
    """The cell that there is news of."""
    latest: TracePoint | None
    """Its last checkpoint, if there is one."""
    finished: int
    """Cells that are finished, those of earlier calls included."""
    total: int
    """Cells of the sweep."""
    share: float
    """How much of the whole is done, between 0 and 1."""


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
    iters: Iterations | None = None,
    nodes: Nodes | None = None,
    time_limit: Seconds | None = None,
    target: Target | None = None,
    processes: Annotated[int, Whole(1, MOST_PROCESSES)] = 1,
    memory_limit: Limit = None,
    progress: Annotated[Callable[[SweepProgress], object] | None, CALLABLE] = None,
) -> list[Row]:
    """Solve every game by every algorithm, from every seed, into one CSV table.

    Each solve is a cell; it is evaluated at geometric checkpoints (ten times per factor of ten
    in iterations, or 25 times with a target), and evaluation is not charged to it.  Every
    checkpoint is in the file at once.  Called again, finished cells are not run again; one that
    was cut short begins anew, so that its seconds are measured in one piece.  More games,
    algorithms or seeds may be asked for than before.

    Args:
        path: The CSV file; its columns are the fields of :class:`Row`.
        games: Names, ``"leduc"`` or ``"leduc(ranks=4)"``, or compiled games.
        algorithms: Names, ``"dcfr"`` or ``"dcfr(alpha=2)"``, or records; ``"lp"`` has one row.
        seeds: For algorithms that draw at random; the others run once.
        iters: Iterations at which a cell ends.
        nodes: Nodes touched (histories visited) at which a cell ends.
        time_limit: Seconds of iterating after which a cell ends.
        target: Exploitability (nash_conv / players) at which a cell ends.
        processes: Cells that run at a time.  Processes get in each other's way: to compare
            seconds, leave it at 1.  With more, a script needs ``if __name__ == "__main__":``.
        memory_limit: Bytes that a cell may take; by default the machine's free memory.
        progress: Called with a :class:`SweepProgress` about twenty times a second.

    Returns:
        All rows of the table.

    Raises:
        ValueError: Something unknown is asked for, or the file belongs to another sweep; said
            before anything is run.
        OSError: The file cannot be written; what it holds already is safe.
        KeyboardInterrupt: Ctrl-C; what was computed is in the file.
        SweepError: Some cells failed, the others are finished; names the first.
    """
    budget = Budget(iters=iters, nodes=nodes, time_limit=time_limit, target=target)
    wanted = cells(games, algorithms, seeds)
    if processes > 1:
        _check_picklable(wanted)
    with Table(path, wanted, budget) as table:
        todo = [cell for cell in wanted if not table.is_finished(cell)]
        desk = _Desk(table, budget, len(wanted), len(wanted) - len(todo), progress)
        if processes == 1 or len(todo) < 2:
            _run_here(todo, budget, memory_limit, desk)
        else:
            _run_in_processes(todo, budget, memory_limit, desk, processes)
        rows = table.rows
    if desk.failures:
        cell, error = desk.failures[0]
        more = f" (and {len(desk.failures) - 1} more cells failed)" if desk.failures[1:] else ""
        raise SweepError(f"{cell}: {error}{more}") from error
    return rows


class _News(NamedTuple):
    """What a running cell tells; the point is None if it has been told before."""

    point: TracePoint | None
    share: float
    status: str = GOES_ON
    players: int = 0


Tell = Callable[[Cell, _News], object]


class _Desk:
    """Where news of the cells comes in: rows go to the table, the rest to the hook."""

    def __init__(
        self,
        table: Table,
        budget: Budget,
        total: int,
        finished: int,
        hook: Callable[[SweepProgress], object] | None,
    ) -> None:
        self.table = table
        self.failures: list[tuple[Cell, BaseException]] = []
        self._budget, self._hook = budget, hook
        self._total, self._finished = total, finished
        self._shares: dict[tuple[Any, ...], float] = {}
        self._latest: dict[tuple[Any, ...], TracePoint] = {}
        self._dates: dict[tuple[Any, ...], str] = {}

    def hear(self, cell: Cell, news: _News) -> None:
        """Take down what a cell tells."""
        self._shares[cell.key] = news.share
        if news.point is not None:
            self._latest[cell.key] = news.point
            row = self._row(cell, news.point, news)
            self.table.append(row)
            if row.ends_cell:
                self._finished += 1
                self._shares.pop(cell.key)
        if self._hook:
            share = (self._finished + sum(self._shares.values())) / self._total
            latest = self._latest.get(cell.key)
            self._hook(SweepProgress(cell, latest, self._finished, self._total, min(1.0, share)))

    def fail(self, cell: Cell, error: BaseException) -> None:
        """A cell has failed; the others go on."""
        self.failures.append((cell, error))
        self._shares.pop(cell.key, None)

    def _row(self, cell: Cell, point: TracePoint, news: _News) -> Row:
        today = datetime.now(UTC).date().isoformat()
        return Row(
            game=cell.game,
            algorithm=cell.algorithm,
            parameters=str(cell.record),
            seed=cell.seed,
            iteration=point.iteration,
            nodes_touched=point.nodes_touched,
            decision_nodes_touched=point.decision_nodes_touched,
            seconds=point.seconds,
            nash_conv=point.nash_conv,
            exploitability=point.exploitability,
            players=news.players,
            status=news.status,
            budget=str(self._budget),
            versions=versions(),
            machine=machine(),
            date=self._dates.setdefault(cell.key, today),
        )


def _run_cell(cell: Cell, budget: Budget, memory_limit: int | None, tell: Tell) -> Status:
    """Solve one cell, and tell its checkpoints as they are recorded."""
    game = _compiled(cell.source, memory_limit)
    told: TracePoint | None = None

    def hook(progress: Progress) -> None:
        nonlocal told
        share = budget.share(progress.iteration, progress.nodes_touched, progress.seconds)
        new = progress.latest if progress.latest is not told else None
        told = progress.latest
        tell(cell, _News(new, share, players=game.n_players))

    if cell.record.is_exact:
        solve(compile_game("matching_pennies"), cell.record)  # Imports scipy, off the clock.
        solution = solve(game, cell.record, memory_limit=memory_limit)
    else:
        seed = {} if cell.seed is None else {"seed": cell.seed}
        options: dict[str, Any] = budget.rules | seed
        solution = solve(game, cell.record, memory_limit=memory_limit, progress=hook, **options)
    news = _News(_last_point(solution), 1.0, solution.status.name.lower(), game.n_players)
    tell(cell, news)
    return solution.status


def _last_point(solution: Solution) -> TracePoint:
    """The end of the record; the linear program keeps none."""
    if solution.trace:
        return solution.trace[-1]
    figures = (solution.seconds, solution.nash_conv, solution.exploitability)
    return TracePoint(0, 0, *figures)


@lru_cache(maxsize=1)
def _compiled(source: str | CompiledGame, memory_limit: int | None) -> CompiledGame:
    """The game; consecutive cells share it."""
    if isinstance(source, CompiledGame):
        return source
    return compile_game(source, memory_limit=memory_limit)


def _run_here(todo: list[Cell], budget: Budget, memory_limit: int | None, desk: _Desk) -> None:
    """One cell after the other, in this process."""
    for cell in todo:
        try:
            status = _run_cell(cell, budget, memory_limit, desk.hear)
        except OSError:
            raise  # The table cannot be written: there is nowhere to put the other cells.
        except Exception as error:
            desk.fail(cell, error)
            continue
        finally:
            if cell is todo[-1]:
                _compiled.cache_clear()
        if status is Status.INTERRUPTED:
            raise KeyboardInterrupt


# In other processes


class _StopError(Exception):
    """The sweep is over; what the cell has told is in the table."""


class _Worker:
    """What a worker process keeps: the way home, and whether to go on."""

    pipe: Any = None
    turn: Any = None
    stop: Any = None


def _begin_worker(pipe: Any, turn: Any, stop: Any) -> None:
    """Ctrl-C reaches every process of a terminal, as the end of the terminal does; the parent
    decides what it means.  If the parent is killed, so is this one."""
    end_with_parent()
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    _Worker.pipe, _Worker.turn, _Worker.stop = pipe, turn, stop


def _work(number: int, cell: Cell, budget: Budget, memory_limit: int | None) -> None:
    """Run a cell in a worker process."""

    def tell(cell: Cell, news: _News) -> None:
        # Sent before this returns, unlike what is put into a queue: a cell that has returned
        # has told everything.
        with _Worker.turn:
            _Worker.pipe.send((number, news))
        if _Worker.stop.is_set():
            raise _StopError

    if _Worker.stop.is_set():
        raise _StopError
    _run_cell(cell, budget, memory_limit, tell)


def _run_in_processes(
    todo: list[Cell], budget: Budget, memory_limit: int | None, desk: _Desk, processes: int
) -> None:
    """Several cells at a time, each in a process of its own; the table is written here."""
    # Forking a process that has threads is not safe; a fresh interpreter is.
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    stop = context.Event()
    pool = ProcessPoolExecutor(
        min(processes, len(todo)),
        context,
        initializer=_begin_worker,
        initargs=(writer, context.Lock(), stop),
    )
    waiting = {
        number: pool.submit(_work, number, cell, budget, memory_limit)
        for number, cell in enumerate(todo)
    }
    with _orderly_end(pool, reader, stop, list(waiting.values())):
        while waiting:
            returned = [number for number, future in waiting.items() if future.done()]
            if reader.poll(POLL_SECONDS):
                number, news = reader.recv()
                desk.hear(todo[number], news)
                if news.status != GOES_ON:
                    waiting.pop(number)
                continue
            for number in returned:
                desk.fail(todo[number], _why(waiting.pop(number)))


def _why(future: Future[None]) -> BaseException:
    """Why a cell ended without telling its end."""
    error = future.exception()
    if error is None or isinstance(error, BrokenProcessPool):
        return RuntimeError(
            "its process or one beside it ended abruptly: killed, as happens where memory runs "
            "out, or started by a script without 'if __name__ == \"__main__\":'"
        )
    return error


@contextmanager
def _orderly_end(
    pool: ProcessPoolExecutor, reader: Any, stop: Any, futures: list[Future[None]]
) -> Iterator[None]:
    """Whatever happens, leave no process behind."""
    try:
        yield
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        # A process ends only when somebody has taken what it told.
        while not all(future.done() for future in futures):
            if reader.poll(POLL_SECONDS):
                reader.recv()
        pool.shutdown(wait=True)


def _check_picklable(wanted: list[Cell]) -> None:
    """Another process knows the algorithms of this library, not those registered in this one."""
    for cell in wanted:
        if cell.record.name not in PUBLISHED:
            raise ValueError(
                f"{cell.record.name} is an algorithm of your own, which other processes do not "
                "know; run the sweep with processes=1"
            )
