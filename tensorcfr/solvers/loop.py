"""Loop of a solve: steps of iterations and checkpoints, until a stop rule applies."""

from __future__ import annotations

import logging
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from numba.core.event import install_timer

from .._util.argument_checks import checked
from .._util.signals import interrupts
from ..errors import ClusterError
from ..evaluation import Evaluation, evaluate
from ..model.game_arguments import CALLABLE
from ..model.policy import Policy
from .base import IterativeSolver
from .request import SolveRequest, marks, next_chance
from .solution import BestIterate, Solution, Status, TracePoint
from .solver_arguments import CHECKPOINTS, Iterations, Nodes, Seconds, Target, to_game_unit

MAX_STEP_GROWTH = 8
"""Largest ratio between the iterations of two consecutive steps."""
STEP_SECONDS = 0.05
"""Target duration of a step, in seconds.  Clock, keyboard and progress hook are checked between
steps."""
MIN_BATCH, MAX_BATCH_SECONDS = 8, 2.0
"""Smallest number of iterations per step, unless they take longer than the limit in seconds.  In a
chunked game, each step recomputes one player's reaches once, which costs about 10 % of an
iteration."""
LOG = logging.getLogger(__name__)
"""Logger of the start, the checkpoints and the end of every solve, at the level INFO."""
FIRST_CHECKPOINT = 60.0
"""Largest number of seconds until the first file of ``checkpoint=``."""
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


class SolveLoop:
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
        self.next_save = time.monotonic() + min(FIRST_CHECKPOINT, request.checkpoint_every)
        self.saved_iteration = solver.iteration
        self.last = None if iters is None else solver.iteration + int(iters)
        self.last_node = None if nodes is None else solver.nodes_touched + int(nodes)

    def run(self) -> Solution:
        """Iterate until a stop rule applies, and create the solution."""
        try:
            return self._loop()
        except ClusterError as error:
            # The solver has returned to this process, with the state of an earlier iteration.
            done = self.solver.iteration
            self.trace = [point for point in self.trace if point.iteration <= done]
            error.solution = solution = self.solution(Status.INTERRUPTED)  # type: ignore[attr-defined]
            path = self.request.checkpoint
            if path is not None and _save(solution, path):
                error.add_note(f"{path} has the solution of iteration {done}")
            raise

    def _loop(self) -> Solution:
        solver = self.solver
        self.log("begins")
        if self.keep_best and self.best is None and self.request.start is not None:
            self.record()  # The initial strategies may be the best.
        mark, pace = self.next_mark(), 1
        with interrupts() as interrupted:
            while (status := self.status(interrupted())) is None:
                with self.keeping_solution(exists=solver.undoes_errors):
                    pace = self.advance(min([pace, *self.ends(mark)]), pace)
                if solver.iteration == mark:
                    self.record()
                    mark = self.next_mark()
                if self.is_checkpoint_due:
                    self.save_checkpoint()
                # The hook is user code: an exception from it must not lose the solution.
                with self.keeping_solution():
                    self.report()
        return self.solution(status)

    def ends(self, mark: int | None) -> list[int]:
        """Return the numbers of iterations after which a step must end: at the end of the solve, at
        the next checkpoint, at the next file, at the limit of nodes."""
        interval = self.request.checkpoint_iterations
        file = None if interval is None else self.saved_iteration + interval
        known = [end - self.solver.iteration for end in (self.last, mark, file) if end is not None]
        return known if self.last_node is None else [*known, self.iterations_within(self.last_node)]

    def next_mark(self) -> int | None:
        """Return the next iteration at which to evaluate."""
        request, done, target = self.request, self.solver.iteration, self.request.target
        next_checkpoint = next(marks(request.checkpoints, done), None)
        if not target or next_checkpoint is None or not isinstance(request.checkpoints, str):
            return next_checkpoint
        # A target is usually reached between two geometric checkpoints: evaluate where it is
        # expected.
        chance = next_chance(self.trace, done, target)
        is_only_mark = request.is_for_target and not self.keep_best
        return chance if is_only_mark else min(chance, next_checkpoint)

    @contextmanager
    def keeping_solution(self, *, exists: bool = True) -> Iterator[None]:
        """Attach the solution so far, if it exists, to an error raised in the context."""
        try:
            yield
        except Exception as error:
            if exists:
                with suppress(AttributeError):
                    error.solution = self.solution(Status.STOPPED)  # type: ignore[attr-defined]
                    error.add_note("the solution so far is .solution of this exception")
            raise

    def solution(self, status: Status) -> Solution:
        """Create the solution at this point and record it; the solver's arrays become read-only."""
        self.record()
        self.log(status.value)
        state = self.solver.state
        if self.needs_copies:
            state = type(state)(*(array.copy() for array in state))
        return self.packed(status, state)

    def packed(self, status: Status, state: Any) -> Solution:
        """Create a solution from the current results, with the arrays of ``state``."""
        solver = self.solver
        return Solution(
            game=self.request.game,
            algorithm=self.request.record,
            status=status,
            policy=solver.average_policy(),
            evaluation=self.evaluate(),
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
        return time.monotonic() >= self.next_save or (
            interval is not None and self.solver.iteration - self.saved_iteration >= interval
        )

    def save_checkpoint(self) -> None:
        """Write the checkpoint file."""
        assert self.request.checkpoint is not None
        state = self.solver.state
        # A solution makes its arrays read-only: give it views, because the solver still writes to
        # the arrays.
        views = type(state)(*(array.view() for array in state))
        _save(self.packed(Status.INTERRUPTED, views), self.request.checkpoint)
        self.next_save = time.monotonic() + self.request.checkpoint_every
        self.saved_iteration = self.solver.iteration

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
            progress = Progress(
                solver.iteration,
                self.last,
                solver.seconds,
                self.latest,
                solver.nodes_touched,
                tuple(self.trace),
                self.elapsed,
                solver,
            )
            self.is_stopped = bool(self.progress(progress))

    def advance(self, iterations: int, pace: int) -> int:
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

    def record(self) -> None:
        """Evaluate the average strategy and append it to the trace.

        If the best strategy is kept, the last iterate is evaluated, too.
        """
        started, compiled = time.perf_counter(), list[float]()
        with install_timer("numba:compile", compiled.append):
            self._record()
        self.compiling += sum(compiled)
        self.evaluating = time.perf_counter() - started - sum(compiled)

    def evaluate(self) -> Evaluation:
        """Evaluate the average strategy, at most once per iteration."""
        if self.evaluated is None or self.evaluated[0] != self.solver.iteration:
            self.evaluated = self.solver.iteration, self.solver.evaluate()
        return self.evaluated[1]

    def _record(self) -> None:
        evaluation, is_new, last = self.evaluate(), not self._is_recorded, None
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


class RunnableSolver(IterativeSolver):
    """Base of all solvers: the iterations of its base class, and the loop of a solve."""

    @checked()
    def run(
        self,
        iters: Iterations | None = None,
        *,
        target: Target | None = None,
        time_limit: Seconds | None = None,
        nodes: Nodes | None = None,
        checkpoints: Annotated[str | int | Iterable[int], CHECKPOINTS] = "geometric",
        progress: Annotated[Callable[[Progress], object] | None, CALLABLE] = None,
    ) -> Solution:
        """Iterate until a stop rule applies; the arguments are those of :func:`tensorcfr.solve`.

        The solver can continue afterwards, because the solution has copies of its arrays.

        Raises:
            ValueError: An argument is invalid; names it.
        """
        request = SolveRequest(
            game=self.game,
            algorithm=self.algorithm,
            locks=self.locks or None,
            iters=iters,
            target=to_game_unit("target", target, self.game),
            time_limit=time_limit,
            nodes=nodes,
            checkpoints=checkpoints,
        )
        return SolveLoop(self, request.with_end(), progress, needs_copies=True).run()


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
