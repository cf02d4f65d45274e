"""``solve``: run an algorithm on a game until a stop rule says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated, cast

import numpy as np

from .._util.arguments import Flag, Kind, Limit, Number, brief, checked
from .._util.signals import interrupts
from ..algorithms import (
    AUTOMATIC,
    Algorithm,
    LinearProgram,
    Record,
    Sampling,
    find_algorithm,
)
from ..algorithms.records import is_whole
from ..evaluation import Evaluation, evaluate
from ..kernels.iteration import State
from ..kernels.random import Seed
from ..model.arguments import LOCKS, Compiled
from ..model.game import CompiledGame
from ..model.locks import LocksLike, locks_for
from ..model.policy import Policy
from .arguments import (
    CALLABLE,
    CHECKPOINTS,
    PRECISION,
    THREADS,
    Iterations,
    Named,
    Nodes,
    Seconds,
    Target,
)
from .choose import automatic
from .sampled_solver import SampledSolver, SampledState
from .solution import BestIterate, Solution, Status, TracePoint
from .solver import Solver, form_for
from .warm_start import WarmStart, warm_state

WARM_START = Kind((Solution, Policy, Mapping), "a solution, a policy or a mapping")
CHUNK_SECONDS = 0.05
"""About how long the solver runs between two looks at the clock, the keyboard and the hook."""

PER_DECADE = 10
"""Geometric checkpoints per factor of ten in iterations."""

PER_DECADE_TO_TARGET = 25
"""The same while looking for a target exploitability, which ends within a tenth of the
iterations that it needs."""


@dataclass(frozen=True)
class Progress:
    """What a progress hook is told."""

    iteration: int
    """Iterations done, those of the solution it went on from included."""
    last_iteration: int | None
    """Iteration at which the solve will end, if that was asked for."""
    seconds: float
    """Time spent iterating in this call, in seconds."""
    latest: TracePoint | None
    """The last line of the record, if there is one."""
    nodes_touched: int
    """Histories visited, those of the solution it went on from included."""


@checked()
def solve(
    game: Compiled,
    algorithm: Named | None = None,
    *,
    iters: Iterations | None = None,
    target: Target | None = None,
    time_limit: Seconds | None = None,
    nodes: Nodes | None = None,
    checkpoints: Annotated[str | int | Iterable[int], CHECKPOINTS] = "geometric",
    start: Annotated[Solution | None, Kind((Solution,), "a solution")] = None,
    warm_start: Annotated[WarmStart | None, WARM_START] = None,
    warm_iterations: Annotated[float, Number(above=0, finite=True)] = 1.0,
    locks: Annotated[LocksLike | None, LOCKS] = None,
    seed: Seed | None = None,
    precision: Annotated[str | None, PRECISION] = None,
    threads: Annotated[int, THREADS] = 1,
    keep_best: Annotated[bool, Flag()] = False,
    progress: Annotated[Callable[[Progress], object] | None, CALLABLE] = None,
    memory_limit: Limit = None,
) -> Solution:
    """Solve a game.

    Ends with the first of ``iters``, ``target``, ``time_limit`` and ``nodes`` that is met, or with
    Ctrl-C, which loses nothing: the solution says which in its ``status``.  SIGTERM ends the
    process as always; the command line saves first.

    Args:
        game: A compiled game.
        algorithm: A name, ``"cfr"``, or a record, ``CFR(alternating=False)``; ``"lp"`` for the
            exact linear program, which takes no stop rule; ``"auto"`` for what the game and the
            target call for (the solution says what ran), see
            :func:`tensorcfr.solvers.choose.automatic`: the linear program only where nothing but a
            target is given.
            By default CFR+, or the algorithm of ``start``.
        iters: Iterations to run (beyond those of ``start``); each updates every player once.
        target: Exploitability (nash_conv / players, in the game's own unit) at which to end.
        time_limit: Seconds of iterating after which to end.
        nodes: Histories to visit (beyond those of ``start``); the iteration in which they are
            reached is the last.
        checkpoints: When to evaluate and record: ``"geometric"`` (ten times per factor of ten),
            a number ``n`` (every ``n`` iterations), or the iterations themselves.  The end is
            always recorded.
        start: A solution of this game to go on from; the result has the same bits as one
            uninterrupted run.
        warm_start: Where to begin: a solution by any algorithm, of a game with the same infosets,
            whose regrets are taken; or strategies.  Iterations count from 1, and the average
            begins empty; see :func:`tensorcfr.solvers.warm_start.warm_state`.
        warm_iterations: Iterations that strategies of ``warm_start`` count for: the more, the
            longer the solver stays with them.
        locks: Infosets whose probabilities are given, all of them or some, by infoset label and
            action label: ``{"K": {"bet": 1}}``.  The rest is solved, and best responses, in
            exploitability and ``target`` too, play what is locked; see
            :class:`tensorcfr.model.locks.Locks`.  A solution that is gone on from brings its own.
        seed: Of an algorithm that samples: a whole number from 0, by default 0, or several, such
            as ``(seed, stream)``; the same seed gives the same bits.  A solution that is gone on
            from brings its own random numbers.
        precision: ``"float64"`` (the default) or ``"float32"``, in which the solver's arrays take
            half the memory; see :class:`Solver`.
        threads: Threads that sweep the game, for large games of private hands; the result has the
            same bits for any number.
        keep_best: At every checkpoint evaluate the last iterate too, note it in the trace, and keep
            the least exploitable strategy so far, average or last iterate: ``solution.best``.  A
            ``target`` is that of the average strategy all the same.  A solution that is gone on
            from and has a best one keeps it up.
        progress: Called with a :class:`Progress` at checkpoints and about twenty times a second.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.

    Returns:
        The solution: average strategy, values, exploitability, trace.

    Raises:
        ValueError: No stop rule, or one that makes no sense; an unknown algorithm; ``start`` is
            of another game or algorithm; a seed for what does not sample; ``"lp"`` for more than
            two players or a general sum.
        MemoryLimitError: The solver's arrays would not fit; said before they are allocated.
        MissingExtraError: ``"lp"``, or ``"auto"`` where it comes to that, without scipy; says what
            installs it.
        RuntimeError: ``"lp"``, and HiGHS did not find the optimum; says what it found.
    """
    if algorithm == AUTOMATIC:
        if seed is not None and start is None:
            raise ValueError("auto chooses among algorithms that draw no random numbers: no seed")
        others = (iters, time_limit, nodes, warm_start, locks or None, precision)
        exact = others == (None,) * len(others) and not keep_best
        exact = exact and threads == 1 and checkpoints == "geometric"
        algorithm = start.algorithm if start else automatic(game, target=target, exact=exact)
        if isinstance(algorithm, LinearProgram) and target is not None:
            check_stop_rules(iters, target, time_limit, nodes)
            target = None  # Which it will meet.
    record = _algorithm(game, algorithm, start)
    if seed is not None and not isinstance(record, Sampling):
        raise ValueError(f"{record.name} draws no random numbers: it takes no seed")
    if locks and not isinstance(record, Algorithm):
        raise ValueError(f"{record.name} takes no locks: the variants that sweep the game do")
    if warm_start is not None and start is not None:
        raise ValueError("start goes on with a solution, warm_start begins anew: give one of them")
    if warm_start is not None and not isinstance(record, Algorithm):
        raise ValueError(f"{record.name} takes no warm start: the variants that sweep the game do")
    if keep_best and isinstance(record, LinearProgram):
        raise ValueError(f"{record.name} is exact: there are no iterates to keep the best of")
    if isinstance(record, LinearProgram):
        return _solve_exactly(game, record, (iters, target, time_limit, nodes), memory_limit)
    check_stop_rules(iters, target, time_limit, nodes)
    warm = None
    if warm_start is not None:
        warm = warm_state(
            game,
            record,
            warm_start,
            iterations=warm_iterations,
            locks=locks,
            precision=precision or "float64",
        )
    assert isinstance(record, (Algorithm, Sampling))
    solver = _solver(game, record, start, warm, locks, seed, precision, threads, memory_limit)
    run = _Run(solver)
    if start is not None:
        run.trace, run.seconds_before, run.best = list(start.trace), start.seconds, start.best
    run.keep_best = keep_best or run.best is not None
    if run.keep_best and run.best is None and start is not None:
        run.record()  # What was there before competes.
    last = None if iters is None else solver.iteration + int(iters)
    last_node = None if nodes is None else solver.nodes_touched + int(nodes)
    marks = _marks(checkpoints, solver.iteration, to_target=target is not None)
    mark = next(marks, None)
    pace = 1
    with interrupts() as interrupted:
        while (status := run.status(last, target, time_limit, last_node, interrupted())) is None:
            ends = [end - solver.iteration for end in (last, mark) if end is not None]
            ends += [run.iterations_within(last_node)] if last_node is not None else []
            pace = run.step(min([pace, *ends]), pace, time_limit)
            if solver.iteration == mark:
                run.record()
                mark = next(marks, None)
            if progress:
                told = (solver.iteration, last, solver.seconds, run.latest, solver.nodes_touched)
                progress(Progress(*told))
    evaluation = run.record()
    return Solution(
        game=game,
        algorithm=record,
        status=status,
        policy=solver.average_policy(),
        evaluation=evaluation,
        iterations=solver.iteration,
        seconds=run.seconds,
        trace=tuple(run.trace),
        state=solver.state,
        locks=(solver.locks or None) if isinstance(solver, Solver) else None,
        best=run.best,
    )


@dataclass
class _Run:
    """A solver at work, and the record of it."""

    solver: Solver | SampledSolver
    trace: list[TracePoint] = field(default_factory=list)
    seconds_before: float = 0.0
    keep_best: bool = False
    best: BestIterate | None = None

    @property
    def seconds(self) -> float:
        """Time spent iterating, that of the solution it went on from included."""
        return self.seconds_before + self.solver.seconds

    def status(
        self,
        last: int | None,
        target: float | None,
        time_limit: float | None,
        last_node: int | None,
        interrupted: bool,
    ) -> Status | None:
        """Why to end now, or None."""
        if target is not None and self._is_recorded and self.trace[-1].exploitability <= target:
            return Status.TARGET
        if self.solver.iteration == last:
            return Status.ITERATIONS
        if time_limit is not None and self.solver.seconds >= time_limit:
            return Status.TIME_LIMIT
        if last_node is not None and self.solver.nodes_touched >= last_node:
            return Status.NODES
        return Status.INTERRUPTED if interrupted else None

    def step(self, iterations: int, pace: int, time_limit: float | None) -> int:
        """Run some iterations; returns how many to run next, at most, to stay responsive."""
        before = self.solver.seconds
        self.solver.step(iterations)
        each = (self.solver.seconds - before) / iterations
        budget = CHUNK_SECONDS
        if time_limit is not None:
            budget = min(budget, time_limit - self.solver.seconds)
        return max(1, min(2 * pace, int(budget / max(each, 1e-9))))

    def iterations_within(self, last_node: int) -> int:
        """Iterations, at least one, that will hardly go beyond a number of nodes touched.

        An iteration of a sampling algorithm touches more nodes or fewer than the last ones did:
        half of what they promise is run, then half of the rest, and in the end one at a time.
        """
        done, touched = self.solver.iteration, self.solver.nodes_touched
        if not touched:
            return 1
        return max(1, (last_node - touched) * done // touched // 2)

    @property
    def latest(self) -> TracePoint | None:
        """The last line of the record."""
        return self.trace[-1] if self.trace else None

    def record(self) -> Evaluation:
        """Evaluate the average strategy, and note it in the trace; the last iterate, too, where
        the best one is kept."""
        evaluation = self.solver.evaluate()
        is_new, last = not self._is_recorded, None
        if self.keep_best and (is_new or self.best is None):
            last = self.solver.evaluate_current()
            self._keep("average", evaluation, self.solver.average_policy)
            self._keep("last", last, self.solver.current_policy)
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
                )
            )
        return evaluation

    def _keep(self, kind: str, found: Evaluation, policy: Callable[[], Policy]) -> None:
        """Keep a strategy if none was better so far."""
        if self.best is not None and found.exploitability >= self.best.exploitability:
            return
        kept = policy()
        if isinstance(self.solver, Solver) and self.solver.state.regret.dtype != np.float64:
            # Rounded probabilities do not sum to 1: the least of many would be an accident.
            found = evaluate(kept.game, kept, locks=self.solver.locks or None)
            if self.best is not None and found.exploitability >= self.best.exploitability:
                return
        self.best = BestIterate(kept, found, self.solver.iteration, kind)

    @property
    def _is_recorded(self) -> bool:
        return self.latest is not None and self.latest.iteration == self.solver.iteration


def _algorithm(
    game: CompiledGame, algorithm: str | Record | None, start: Solution | None
) -> Record:
    """The record to run; that of ``start`` when it goes on."""
    if start is None:
        return find_algorithm("cfr+" if algorithm is None else algorithm)
    if start.state is None:
        raise ValueError(f"cannot go on from a solution by {start.algorithm}: it has no state")
    if start.game is not game and start.game.digest != game.digest:
        if start.game.name == game.name:
            raise ValueError(
                f"start is a solution of another {game.name}: its payoffs or the order of its "
                "infosets, which another version laid out, differ; solve(start.game, start=start) "
                "goes on"
            )
        raise ValueError(f"start is a solution of {start.game.name}, not of {game.name}")
    if not _merged_alike(start, game):
        raise ValueError(
            f"start was solved with other infosets of {game.name} merged; "
            "solve(game, warm_start=start) begins with its regrets and a new average"
        )
    if algorithm is not None and find_algorithm(algorithm) != start.algorithm:
        raise ValueError(
            f"start was solved by {start.algorithm}, not by {find_algorithm(algorithm)}"
        )
    return start.algorithm


def _merged_alike(start: Solution, game: CompiledGame) -> bool:
    """Whether the arrays of a solution are over the sequences that a solver of the game sweeps."""
    form = form_for(game, start.algorithm, start.locks)
    if start.form is start.game.form or form is game.form:
        return start.form is start.game.form and form is game.form
    assert start.game.merged is not None
    assert game.merged is not None
    return np.array_equal(start.game.merged.sequence, game.merged.sequence)


def _solver(
    game: CompiledGame,
    record: Algorithm | Sampling,
    start: Solution | None,
    warm: State | None,
    locks: LocksLike | None,
    seed: Seed | None,
    precision: str | None,
    threads: int,
    memory_limit: int | None,
) -> Solver | SampledSolver:
    """What runs the iterations, from where ``start`` ended."""
    state = start.state if start else warm
    iteration = start.iterations if start else 0
    if isinstance(record, Sampling):
        if precision not in (None, "float64") or threads != 1:
            raise ValueError(f"{record.name} samples in float64, on one thread")
        assert state is None or isinstance(state, SampledState)
        return SampledSolver(
            game, record, state=state, iteration=iteration, seed=seed, memory_limit=memory_limit
        )
    assert not isinstance(state, SampledState)
    begun = str(state.regret.dtype) if state else "float64"
    if state and precision not in (None, begun):
        raise ValueError(f"start was solved in {begun}, not in {precision}")
    if start is not None:
        kept = locks_for(game, start.locks)
        if locks is not None and dict(locks_for(game, locks)) != dict(kept):
            raise ValueError("start was solved with other locks")
        locks = kept
    return Solver(
        game,
        record,
        precision=precision or begun,
        locks=locks,
        threads=threads,
        state=state,
        iteration=iteration,
        memory_limit=memory_limit,
    )


def _solve_exactly(
    game: CompiledGame,
    record: LinearProgram,
    stop_rules: tuple[object, ...],
    memory_limit: int | None,
) -> Solution:
    """The linear program, which knows no stop rules."""
    if any(rule is not None for rule in stop_rules):
        raise ValueError(f"{record.name} is exact: it takes no iters, target, time_limit or nodes")
    from ..evaluation.linear_program import equilibrium

    started = time.perf_counter()
    policy, evaluation = equilibrium(game, memory_limit=memory_limit)
    return Solution(
        game=game,
        algorithm=record,
        status=Status.EXACT,
        policy=policy,
        evaluation=evaluation,
        iterations=0,
        seconds=time.perf_counter() - started,
    )


@checked()
def check_stop_rules(
    iters: Iterations | None,
    target: Target | None,
    time_limit: Seconds | None,
    nodes: Nodes | None,
) -> None:
    """At least one stop rule, and each of them sensible."""
    if iters is None and target is None and time_limit is None and nodes is None:
        raise ValueError("when should it end? give iters, target, time_limit or nodes")


def _marks(checkpoints: str | int | Iterable[int], after: int, *, to_target: bool) -> Iterator[int]:
    """The iterations beyond ``after`` at which to evaluate, ascending."""
    candidates: Iterable[int]
    if isinstance(checkpoints, str) and checkpoints == "geometric":
        per_decade = PER_DECADE_TO_TARGET if to_target else PER_DECADE
        candidates = (round(10 ** (k / per_decade)) for k in count())
    elif isinstance(checkpoints, str):
        raise ValueError(f"checkpoints must be 'geometric' or numbers, not {brief(checkpoints)}")
    elif is_whole(checkpoints):
        if checkpoints < 1:
            raise ValueError(f"checkpoints must be at least 1 apart, not {checkpoints!r}")
        candidates = count(int(checkpoints), int(checkpoints))
    else:
        given = list(cast(Iterable[int], checkpoints))
        for candidate in given:
            if not is_whole(candidate) or candidate < 1:
                raise ValueError(f"checkpoints must be iterations from 1, not {brief(candidate)}")
        candidates = sorted(given)
    return _ascending(candidates, after)


def _ascending(candidates: Iterable[int], after: int) -> Iterator[int]:
    """Those beyond ``after``, each once."""
    for candidate in candidates:
        if candidate > after:
            after = candidate
            yield candidate
