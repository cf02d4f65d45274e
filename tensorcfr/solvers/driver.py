"""The function ``solve``, which runs an algorithm on a game until a stop rule applies."""

from __future__ import annotations

import logging
import math
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from numba.core.event import install_timer

from .._util.argument_checks import EXACT, Flag, Kind, Limit, Number, Where, Whole, checked
from .._util.cluster import CLUSTER
from .._util.signals import interrupts
from ..errors import ClusterError
from ..evaluation import Evaluation, evaluate
from ..kernels.random import Seed
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import CALLABLE, LOCKS
from ..model.locks import LocksLike
from ..model.policy import Policy
from .base import IterativeSolver
from .request import SolveRequest, make_solver, marks, next_chance
from .solution import BestIterate, Solution, Status, TracePoint
from .solver_arguments import (
    CHECKPOINTS,
    PLAYABLE,
    PRECISION,
    THREADS,
    Iterations,
    Named,
    Nodes,
    Seconds,
    Target,
    to_game_unit,
)
from .warm_start import WarmStart

MAX_STEP_GROWTH = 8
"""Largest ratio between the iterations of two consecutive steps."""
STEP_SECONDS = 0.05
"""Target duration of a step, in seconds.  Clock, keyboard and progress hook are checked between
steps."""
MIN_BATCH, MAX_BATCH_SECONDS = 8, 2.0
"""Smallest number of iterations per step, unless they take longer than the limit in seconds.  In a
chunked game, each step recomputes one player's reaches once, which costs about 10 % of an
iteration."""

CHECKPOINT_SECONDS = 600.0
"""Default time between two checkpoint files, in seconds."""
LOG = logging.getLogger(__name__)
"""Logger of the start, the checkpoints and the end of every solve, at the level INFO."""
LOG_SECONDS = 30.0
"""Time without a checkpoint after which a solve logs its progress, in seconds."""


@dataclass(frozen=True)
class Progress:
    """Progress of a solve, as a progress hook receives it.

    The strategies are computed on access.  Read them before the hook returns, because the solver
    continues afterwards.
    """

    iteration: int
    """Iterations done, including those of the solution that the solve continued from."""
    last_iteration: int | None
    """Iteration at which the solve will end, if ``iters`` was given."""
    seconds: float
    """Time spent iterating in this call, in seconds."""
    latest: TracePoint | None
    """Last line of the record, if there is one."""
    nodes_touched: int
    """Histories visited, including those of the solution that the solve continued from."""
    trace: tuple[TracePoint, ...] = field(default=(), repr=False)
    """The record so far, oldest first."""
    elapsed: float = 0.0
    """Seconds since this call began to iterate, including evaluations; limited by
    ``time_limit``."""
    solver: IterativeSolver | None = field(default=None, repr=False, compare=False)
    """The running solver; a hook may read it, but must not step it."""

    @property
    def policy(self) -> Policy:
        """Current average strategy; recomputed on each access, which takes part of an iteration."""
        assert self.solver is not None
        return self.solver.average_policy()

    @property
    def last_policy(self) -> Policy:
        """Strategy that the next iteration will use; recomputed on each access."""
        assert self.solver is not None
        return self.solver.current_policy()

    def evaluate(self) -> Evaluation:
        """Compute values and best-response values of :attr:`policy`; takes about an iteration."""
        assert self.solver is not None
        return self.solver.evaluate()


@checked()
def solve(
    game: Annotated[CompiledGame | Any, PLAYABLE],
    algorithm: Named | None = None,
    *,
    iters: Iterations | None = None,
    target: Target | None = None,
    time_limit: Seconds | None = None,
    nodes: Nodes | None = None,
    checkpoints: Annotated[str | int | Iterable[int], CHECKPOINTS] = "geometric",
    start: Annotated[Solution | None, Kind((Solution,), "a solution")] = None,
    warm_start: WarmStart | None = None,
    warm_iterations: Annotated[float, Number(above=0, finite=True)] = 1.0,
    locks: Annotated[LocksLike | None, LOCKS] = None,
    seed: Seed | None = None,
    precision: Annotated[str | None, PRECISION] = None,
    threads: Annotated[int, THREADS] = 1,
    keep_best: Annotated[bool, Flag()] = False,
    checkpoint: Annotated[str | Path | None, Where()] = None,
    checkpoint_every: Seconds = CHECKPOINT_SECONDS,
    checkpoint_iterations: Annotated[int | None, Whole(1, EXACT)] = None,
    state_dir: Annotated[str | Path | None, Where()] = None,
    progress: Annotated[Callable[[Progress], object] | None, CALLABLE] = None,
    memory_limit: Limit = None,
    cluster: Annotated[Any | None, CLUSTER] = None,
) -> Solution:
    """Solve a game.

    The solve ends with the first of ``iters``, ``target``, ``time_limit`` and ``nodes`` that
    applies, or with Ctrl-C, which loses no work.  The ``status`` of the solution names the reason.
    If no stop rule is given, the game's default applies: 0.5 % of the pot for a spot of hold'em,
    1,000 iterations for other games.  SIGTERM ends the process as always; the command line saves
    first.

    Args:
        game: A compiled game.  Or the rules of a game that is too large to compile, in any form
            that :func:`tensorcfr.compile_game` takes; ``"external_sampling"`` and
            ``"outcome_sampling"`` run on them directly:
            ``solve("openspiel:phantom_ttt", "outcome_sampling", iters=1000)``.  Infosets then enter
            a table when they are first visited, and values are not known: see
            :func:`tensorcfr.analysis.local_best_response`.
        algorithm: A name, ``"cfr"``, or a record, ``CFR(alternating=False)``; ``"lp"`` for the
            exact linear program, which takes no stop rule; ``"auto"`` for a choice by the game and
            the target.  The choice, which the solution names, is that of
            :func:`tensorcfr.solvers.choose.choose`; it is the linear program only if no option but
            a target is given.  The default is the algorithm of ``start``, or paced predictive CFR+,
            ``"paced-cfr+"`` (with ``average_power=5`` in single precision; ``"cfr+"`` in 16 bits).
            In card games it is discounted CFR with discounts chosen on spots of hold'em,
            ``DCFR(alpha=1.5, alpha_offset=2, beta=1, beta_offset=20, average_power=4)``.
        iters: Iterations to run (beyond those of ``start``); each updates every player once.
        target: Exploitability (nash_conv / players) at which to end: a number in the game's own
            unit, or a text with a unit of the game, ``"0.5%"`` of the pot, ``"0.1 chips"``,
            ``"5 mbb"``.  With 0, and neither an algorithm nor other stop rules, the solve computes
            an exact equilibrium in fractions and proves it: :attr:`Solution.exact`.
        time_limit: Seconds after which to end, including evaluations, but not the compilation of
            kernels.
        nodes: Histories to visit (beyond those of ``start``); the iteration that reaches this
            number is the last.
        checkpoints: Iterations at which to evaluate and record: ``"geometric"``, a number ``n``
            (every ``n`` iterations), or the iterations themselves.  Geometric is ten times per
            factor of ten, and when a target may be reached; only the latter if a target is the only
            stop rule.  The end is always recorded.
        start: A solution of this game to continue from; the result has the same bits as one
            uninterrupted solve.
        warm_start: Initial regrets or strategies: a solution by any algorithm, of a game with the
            same infosets, whose regrets are taken; or strategies.  Iterations count from 1, and the
            average begins empty; see :func:`tensorcfr.solvers.warm_start.warm_state`.
        warm_iterations: Iterations for which the strategies of ``warm_start`` count; with more, the
            solver stays near them for longer.
        locks: Infosets whose probabilities are given, for all actions or some, by infoset label and
            action label: ``{"K": {"bet": 1}}``.  The rest is solved.  Best responses play the
            locked probabilities, in exploitability and ``target`` too; see
            :class:`tensorcfr.model.locks.Locks`.  With ``start``, its locks apply.
        seed: Seed of an algorithm that samples: a whole number from 0, by default 0, or several,
            such as ``(seed, stream)``; the same seed gives the same bits.  With ``start``, its
            random numbers continue.
        precision: Dtype of the solver's arrays: ``"float64"`` (the default) or ``"float32"`` (the
            default of spots of hold'em), which halves the memory; for games in chunks also
            ``"int16"``, a quarter of it.  See :class:`Solver`.
        threads: Threads that pass over the game, for large games of private hands; the result has
            the same bits for any number.
        keep_best: At every checkpoint evaluate the last iterate too, record it in the trace, and
            keep the least exploitable strategy so far, average or last iterate: ``solution.best``.
            A ``target`` still applies to the average strategy.  If ``start`` has a best strategy,
            it is continued.
        checkpoint: A file for the solution so far, which is written regularly and at the end.  It
            is replaced completely or not at all, and
            ``solve(game, start=Solution.load(checkpoint), ...)`` continues to the same bits.  If
            the file cannot be written, the solve warns and continues.
        checkpoint_every: Seconds between two such files.
        checkpoint_iterations: Iterations after which the file is always written.
        state_dir: For games in chunks: a directory for the solver's arrays, which may then be
            larger than the memory; see :class:`Solver`.
        progress: Called with a :class:`Progress` at checkpoints and about twenty times a second.
            If it returns a true value, the solve ends and returns its solution.  If it raises an
            exception, the solve ends too; the attribute ``solution`` of that exception is the
            solution so far.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.  A table
            that grows beyond it raises MemoryLimitError, whose ``solution`` is the solution so far:
            ``solve(game, start=error.solution, memory_limit=..., ...)`` continues.
        cluster: For games in chunks: a client of Dask distributed, or the address of its scheduler
            (``"tcp://host:8786"``, or a scheduler file, ``.json``), whose workers share the chunks.
            The result has the same bits, even if workers are lost and replaced.  ``threads`` is the
            number per worker.  See :class:`tensorcfr.cluster.cluster_solver.ClusterSolver`.

    Returns:
        The solution: average strategy, values, exploitability, trace.

    Raises:
        ValueError: A stop rule is invalid, or the algorithm is unknown.  ``start`` is of another
            game or algorithm.  A seed is given to an algorithm that does not sample.  ``"lp"`` is
            used with more than two players or a general sum.
        MemoryLimitError: The solver's arrays would not fit; raised before they are allocated.
        MissingExtraError: ``"lp"``, or ``"auto"`` where it chooses ``"lp"``, without scipy, or
            ``cluster`` without Dask distributed; names the command that installs it.
        ClusterError: The scheduler is lost, or no workers are left.  The attribute ``solution`` of
            that exception, and the file ``checkpoint``, have the solution up to the last snapshot.
        RuntimeError: HiGHS did not find the optimum for ``"lp"``; quotes its message.
        OSError: The last ``checkpoint`` could not be written (before the end, that is a warning).
            The attribute ``solution`` of that exception is the solution.

    The start, the checkpoints and the end of a solve are logged to the logger ``tensorcfr`` at the
    level INFO.
    """
    arguments = dict(locals())
    del arguments["progress"]
    arguments["target"] = to_game_unit("target", target, game)
    return run(SolveRequest(**arguments), progress)


def run(request: SolveRequest, progress: Callable[[Progress], object] | None = None) -> Solution:
    """Run a request, as :func:`solve` does with its arguments."""
    request.check()
    request = request.with_end()
    if request.record.is_exact:
        solution = _solve_exactly(request)
    else:
        solver = make_solver(request)
        try:
            solution = _Run(solver, request, progress).run()
        finally:
            solver.close()
    if request.checkpoint is not None:
        try:
            solution.save(request.checkpoint, force=True)
        except OSError as error:
            error.solution = solution  # type: ignore[attr-defined]
            raise
    return solution


def run_solver(
    solver: IterativeSolver, progress: Callable[[Progress], object] | None, **rules: Any
) -> Solution:
    """Run a solver, which can continue afterwards, until a stop rule applies."""
    game = solver.game
    arguments = {"game": game, "algorithm": solver.algorithm, "locks": solver.locks or None}
    arguments |= rules | {"target": to_game_unit("target", rules["target"], game)}
    return _Run(solver, SolveRequest(**arguments).with_end(), progress, needs_copies=True).run()


class _Run:
    """Loop of a solve, with the record of its checkpoints.

    Args:
        solver: The solver.
        request: Stop rules, checkpoints, and the solution to continue from, if any.
        progress: Called at checkpoints and about twenty times a second.
        needs_copies: True if the solver continues afterwards, so that the solution needs copies of
            its arrays.
    """

    def __init__(
        self,
        solver: IterativeSolver,
        request: SolveRequest,
        progress: Callable[[Progress], object] | None = None,
        *,
        needs_copies: bool = False,
    ) -> None:
        self.needs_copies = needs_copies
        self.solver, self.request, self.progress = solver, request, progress
        self.is_stopped = False
        self.logged = time.monotonic()
        self.begun = time.perf_counter()
        self.compiling = self.evaluating = 0.0
        """Seconds of compiling kernels of evaluations, and of the last evaluation without
        compiling."""
        self.evaluated: tuple[int, Evaluation] | None = None
        """Iteration and result of the last evaluation."""
        start = request.start
        self.trace: list[TracePoint] = list(start.trace) if start else []
        self.seconds_before = start.seconds if start else 0.0
        self.best: BestIterate | None = start.best if start else None
        self.keep_best = request.keep_best or self.best is not None
        iters, nodes = request.iters, request.nodes
        self.saved_at, self.saved_iteration = time.monotonic(), solver.iteration
        self.last = None if iters is None else solver.iteration + int(iters)
        self.last_node = None if nodes is None else solver.nodes_touched + int(nodes)

    def run(self) -> Solution:
        """Iterate until a stop rule applies, and create the solution."""
        try:
            return self._iterate()
        except ClusterError as error:
            # The solver has returned to this process, with the state of an earlier iteration.
            done = self.solver.iteration
            self.trace = [point for point in self.trace if point.iteration <= done]
            error.solution = solution = self.solution(Status.INTERRUPTED)  # type: ignore[attr-defined]
            path = self.request.checkpoint
            if path is not None and _save(solution, path):
                error.add_note(f"{path} has the solution of iteration {done}")
            raise

    def _iterate(self) -> Solution:
        solver, request = self.solver, self.request
        self.log("begins")
        if self.keep_best and self.best is None and request.start is not None:
            self.record()  # The initial strategies may be the best.
        mark, pace = self.next_mark(), 1
        with interrupts() as interrupted:
            while (status := self.status(interrupted())) is None:
                # A step ends at the first of these iterations: the end of the solve, the next
                # checkpoint, the limit of nodes, the next file.
                ends = [end - solver.iteration for end in (self.last, mark) if end is not None]
                ends += [] if self.last_node is None else [self.iterations_within(self.last_node)]
                if (interval := request.checkpoint_iterations) is not None:
                    ends.append(self.saved_iteration + interval - solver.iteration)
                try:
                    pace = self.iterate(min([pace, *ends]), pace)
                except Exception as error:
                    if solver.undoes_errors:
                        self.keep_with(error)
                    raise
                if solver.iteration == mark:
                    self.record()
                    mark = self.next_mark()
                if self.is_checkpoint_due:
                    self.save_checkpoint()
                try:
                    self.report()
                except Exception as error:
                    # The hook is user code: an exception from it must not lose the solution.
                    self.keep_with(error)
                    raise
        return self.solution(status)

    def next_mark(self) -> int | None:
        """Return the next iteration at which to evaluate."""
        request, done, target = self.request, self.solver.iteration, self.request.target
        next_checkpoint = next(marks(request.checkpoints, done), None)
        if not target or next_checkpoint is None or not isinstance(request.checkpoints, str):
            return next_checkpoint
        # A target is usually reached between two geometric checkpoints: evaluate where it is
        # expected.
        chance = next_chance(self.trace, done, target)
        return (
            chance if request.has_no_budget and not self.keep_best else min(chance, next_checkpoint)
        )

    def keep_with(self, error: Exception) -> None:
        """Attach the solution so far to an error."""
        with suppress(AttributeError):
            error.solution = self.solution(Status.STOPPED)  # type: ignore[attr-defined]
            error.add_note("the solution so far is .solution of this exception")

    def solution(self, status: Status) -> Solution:
        """Create the solution at this point and record it; the solver's arrays become read-only."""
        evaluation = self.record()
        self.log(status.value)
        state = self.solver.state
        if self.needs_copies:
            state = type(state)(*(array.copy() for array in state))
        return self.packed(status, evaluation, state)

    def packed(self, status: Status, evaluation: Evaluation, state: Any) -> Solution:
        """Create a solution from the current results, with the arrays of ``state``."""
        solver = self.solver
        return Solution(
            game=self.request.game,
            algorithm=self.request.record,
            status=status,
            policy=solver.average_policy(),
            evaluation=evaluation,
            iterations=solver.iteration,
            seconds=self.seconds,
            trace=tuple(self.trace),
            state=state,
            locks=solver.locks or None,
            best=self.best,
        )

    def log(self, event: str) -> None:
        """Log an event with the current iteration, time and exploitability."""
        self.logged = time.monotonic()
        if not LOG.isEnabledFor(logging.INFO):
            return
        latest, result = self.latest, ""
        if latest is not None and latest.infosets_held is not None:
            result = f", {latest.infosets_held:,} infosets"
        elif latest is not None:
            since = "" if self._is_recorded else f" at iteration {latest.iteration:,}"
            result = f", exploitability {latest.exploitability:.6g}{since}"
        named = self.request.game.name, self.request.record
        progress = f"iteration {self.solver.iteration:,}, {self.seconds:.1f} s{result}"
        LOG.info("%s by %s: %s; %s", *named, event, progress)

    @property
    def is_checkpoint_due(self) -> bool:
        """True if the checkpoint file must be written now."""
        request = self.request
        if request.checkpoint is None:
            return False
        interval = request.checkpoint_iterations
        return time.monotonic() - self.saved_at >= request.checkpoint_every or (
            interval is not None and self.solver.iteration - self.saved_iteration >= interval
        )

    def save_checkpoint(self) -> None:
        """Write the checkpoint file."""
        assert self.request.checkpoint is not None
        state = self.solver.state
        # A solution makes its arrays read-only: give it views, because the solver still writes to
        # the arrays.
        views = type(state)(*(array.view() for array in state))
        so_far = self.packed(Status.INTERRUPTED, self.evaluate(), views)
        _save(so_far, self.request.checkpoint)
        self.saved_at, self.saved_iteration = time.monotonic(), self.solver.iteration

    @property
    def seconds(self) -> float:
        """Time spent iterating, in seconds, including that of the ``start`` solution."""
        return self.seconds_before + self.solver.seconds

    @property
    def elapsed(self) -> float:
        """Seconds since the solve began, without compilation."""
        return time.perf_counter() - self.begun - self.compiling

    def time_left(self) -> float:
        """Return the seconds left for iterations, which leave time for the final evaluation."""
        limit = self.request.time_limit
        return math.inf if limit is None else limit - self.elapsed - self.evaluating

    def status(self, interrupted: bool) -> Status | None:
        """Return the reason to end now, or None."""
        target = self.request.target
        if target is not None and self._is_recorded and self.trace[-1].exploitability <= target:
            return Status.TARGET
        if self.solver.iteration == self.last:
            return Status.ITERATIONS
        if self.time_left() <= 0.0:
            return Status.TIME_LIMIT
        if self.last_node is not None and self.solver.nodes_touched >= self.last_node:
            return Status.NODES
        if self.is_stopped:
            return Status.STOPPED
        return Status.INTERRUPTED if interrupted else None

    def report(self) -> None:
        """Call the progress hook, which may stop the solve, and log the progress regularly."""
        if time.monotonic() - self.logged > LOG_SECONDS:
            self.log("continues")
        if self.progress is not None:
            solver = self.solver
            must_stop = self.progress(
                Progress(
                    solver.iteration,
                    self.last,
                    solver.seconds,
                    self.latest,
                    solver.nodes_touched,
                    tuple(self.trace),
                    self.elapsed,
                    solver,
                )
            )
            self.is_stopped = bool(must_stop)

    def iterate(self, iterations: int, pace: int) -> int:
        """Run some iterations, and return the largest number for the next step."""
        before = self.solver.seconds
        if self.request.time_limit is not None:
            self.solver.deadline = time.perf_counter() + self.time_left()
        self.solver.iterate(iterations)
        iteration_seconds = (self.solver.seconds - before) / iterations
        # At most as long as time is left, so that a time limit is kept.
        short, long = (
            int(min(seconds, self.time_left()) / max(iteration_seconds, 1e-9))
            for seconds in (STEP_SECONDS, MAX_BATCH_SECONDS)
        )
        return max(1, min(MAX_STEP_GROWTH * pace, max(short, min(MIN_BATCH, long))))

    def iterations_within(self, last_node: int) -> int:
        """Estimate how many iterations, at least one, will not go beyond a number of nodes touched.

        Iterations of a sampling algorithm touch different numbers of nodes.  So half of the
        estimated number is run, then half of the rest, and in the end one iteration at a time.
        """
        done, touched = self.solver.iteration, self.solver.nodes_touched
        if not touched:
            return 1
        return max(1, (last_node - touched) * done // touched // 2)

    @property
    def latest(self) -> TracePoint | None:
        """Last line of the record."""
        return self.trace[-1] if self.trace else None

    def record(self) -> Evaluation:
        """Evaluate the average strategy and append it to the trace.

        If the best strategy is kept, the last iterate is evaluated, too.
        """
        started, compiled = time.perf_counter(), list[float]()
        with install_timer("numba:compile", compiled.append):
            evaluation = self._record()
        self.compiling += sum(compiled)
        self.evaluating = time.perf_counter() - started - sum(compiled)
        return evaluation

    def evaluate(self) -> Evaluation:
        """Evaluate the average strategy, at most once per iteration."""
        if self.evaluated is None or self.evaluated[0] != self.solver.iteration:
            self.evaluated = self.solver.iteration, self.solver.evaluate()
        return self.evaluated[1]

    def _record(self) -> Evaluation:
        evaluation = self.evaluate()
        is_new, last = not self._is_recorded, None
        if self.keep_best and (is_new or self.best is None):
            last = self.solver.evaluate_current()
            if self.solver.has_average(self.solver.state):
                self._update_best("average", evaluation, self.solver.average_policy)
            self._update_best("last", last, self.solver.current_policy)
        if is_new:
            self.trace.append(
                TracePoint(
                    iteration=self.solver.iteration,
                    nodes_touched=self.solver.nodes_touched,
                    seconds=self.seconds,
                    nash_conv=evaluation.nash_conv,
                    exploitability=evaluation.exploitability,
                    decision_nodes_touched=self.solver.decision_nodes_touched,
                    last_nash_conv=last.nash_conv if last else None,
                    last_exploitability=last.exploitability if last else None,
                    infosets_held=self.solver.infosets_held,
                    bytes_held=self.solver.bytes_held,
                )
            )
            self.log("checkpoint")
        return evaluation

    def _update_best(self, kind: str, evaluation: Evaluation, policy: Callable[[], Policy]) -> None:
        """Store a strategy as the best one if it is less exploitable than all before."""
        if self.best is not None and evaluation.exploitability >= self.best.exploitability:
            return
        best_policy = policy()
        if self.solver.precision != "float64":
            # Probabilities rounded to the precision do not sum to 1, so that the least of many
            # exploitabilities may be a rounding error.
            evaluation = evaluate(best_policy.game, best_policy, locks=self.solver.locks or None)
            if self.best is not None and evaluation.exploitability >= self.best.exploitability:
                return
        self.best = BestIterate(best_policy, evaluation, self.solver.iteration, kind)

    @property
    def _is_recorded(self) -> bool:
        return self.latest is not None and self.latest.iteration == self.solver.iteration


def _save(solution: Solution, path: str | Path) -> bool:
    """Write a checkpoint file, and return whether it was written.

    An operating system error is only a warning, because a later file may succeed.
    """
    try:
        solution.save(path, force=True)
    except OSError as error:
        warnings.warn(f"the checkpoint was not written: {error}", stacklevel=2)
        return False
    return True


def _solve_exactly(request: SolveRequest) -> Solution:
    """Solve by the linear program, or in fractions if the request asks for a proof."""
    from ..evaluation.exact import exact_equilibrium
    from ..evaluation.linear_program import equilibrium

    started, exact = time.perf_counter(), None
    if request.wants_proof:
        exact = exact_equilibrium(request.game, memory_limit=request.memory_limit)
        policy = exact.policy
        evaluation = evaluate(request.game, policy)
    else:
        policy, evaluation = equilibrium(request.game, memory_limit=request.memory_limit)
    return Solution(
        game=request.game,
        algorithm=request.record,
        status=Status.EXACT,
        policy=policy,
        evaluation=evaluation,
        iterations=0,
        seconds=time.perf_counter() - started,
        exact=exact,
    )
