"""The function ``solve``, which runs an algorithm on a game until a stop rule applies.

A solve begins with a finished solution, or with a solver in the state from which it iterates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from .._util.argument_checks import EXACT, Flag, Kind, Limit, Number, Where, Whole, checked
from .._util.cluster import CLUSTER
from .._util.jit import compiled_ahead
from ..errors import CutError
from ..evaluation.profile import profile_of
from ..kernels.random import Seed
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import CALLABLE, LOCKS
from ..model.layout import Layout
from ..model.locks import LocksLike
from .base import IterativeSolver, named, solver_class, solver_for
from .choose import resolve_precision, resolve_threads
from .loop import Progress, SolveLoop
from .request import SolveRequest
from .solution import Solution, Status
from .solver_arguments import (
    CHECKPOINTS,
    PLAYABLE,
    PRECISION,
    THREADS_OR_AUTO,
    Iterations,
    Named,
    Nodes,
    Seconds,
    Target,
    to_game_unit,
)
from .warm_start import UnsymmetricStartError, WarmStart, warm_state

CHECKPOINT_SECONDS = 600.0
"""Default time between two checkpoint files, in seconds."""
MOST_AHEAD = 20_000_000
"""Largest number of sequences of games whose kernels are compiled together, for which a second
solver is allocated.  Larger games take longer to solve than to compile."""


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
    threads: Annotated[int | str, THREADS_OR_AUTO] = 1,
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
    If no stop rule is given, the game's default applies: 0.5 % of the pot for a spot of hold'em
    (with three players, at most 1,000 iterations), 1,000 iterations for other games.  SIGTERM ends
    the process as always; the command line saves first.

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
            average begins empty; see :func:`tensorcfr.solvers.warm_start.warm_state`.  If it
            distinguishes choices that a game of hidden moves merges, that game is solved without
            merging, and is ``solution.game``.
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
            the same bits for any number.  ``"auto"`` is one thread per core in games in chunks that
            are large enough, and otherwise one.
        keep_best: At every checkpoint evaluate the last iterate too, record it in the trace, and
            keep the least exploitable strategy so far, average or last iterate: ``solution.best``.
            A ``target`` still applies to the average strategy.  If ``start`` has a best strategy,
            it is continued.
        checkpoint: A file for the solution so far, which is written regularly and at the end.  It
            is replaced completely or not at all, and
            ``solve(game, start=Solution.load(checkpoint), ...)`` continues to the same bits.  If
            the file cannot be written, the solve warns and continues.
        checkpoint_every: Seconds between two such files; the first is written within a minute.
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


def run(
    request: SolveRequest,
    progress: Callable[[Progress], object] | None = None,
    *,
    shows_values: bool = False,
) -> Solution:
    """Run a request, as :func:`solve` does with its arguments.

    Args:
        request: The request.
        progress: Function that is called with the progress.
        shows_values: Whether the caller computes the values of the solution afterwards; their
            kernels are then compiled together with those of the solve.
    """
    request = request.with_game_of_start()
    request.check()
    request = request.with_end()
    if request.record.is_exact:
        solution = exact_solution(request)
    else:
        call_kernels = partial(_call_kernels, request, shows_values)
        with compiled_ahead(call_kernels):
            try:
                solver = make_solver(request)
            except UnsymmetricStartError:
                # The warm start distinguishes infosets or actions that are merged.
                request = replace(request, game=request.game.flat().without_merging())
                solver = make_solver(request)
            with closing(solver):
                solution = SolveLoop(solver, request, progress).run()
    if request.checkpoint is not None:
        try:
            solution.save(request.checkpoint, force=True)
        except OSError as error:
            error.solution = solution  # type: ignore[attr-defined]
            raise
    return solution


def _call_kernels(request: SolveRequest, shows_values: bool) -> None:
    """Call the kernels of a request, in a solver with arrays of its own.

    A solve that begins with objects of the caller (locks, warm starts, solutions) has no plan: they
    may keep numbers that kernels compute, and functions of the caller must not run twice.
    """
    objects = (request.cluster, request.state_dir, request.locks, request.warm_start, request.start)
    is_plain = request.record.passes_whole_game and all(value is None for value in objects)
    if is_plain and request.game.n_sequences <= MOST_AHEAD:
        with closing(make_solver(replace(request, threads=1))) as solver:
            solver.evaluate()
            if shows_values:
                profile_of(solver.average_policy())


def exact_solution(request: SolveRequest) -> Solution:
    """Solve without iterations, in fractions if the request asks for a proof."""
    started = time.perf_counter()
    compute = named(request.record.equilibria["fractions" if request.wants_proof else "floats"])
    equilibrium = compute(request.game, memory_limit=request.memory_limit)
    return Solution(
        game=request.game,
        algorithm=request.record,
        status=Status.EXACT,
        policy=equilibrium.policy,
        evaluation=equilibrium.evaluation,
        iterations=0,
        seconds=time.perf_counter() - started,
        exact=equilibrium if request.wants_proof else None,
    )


def make_solver(request: SolveRequest) -> IterativeSolver:
    """Create the solver of a checked request, in its initial state.

    Raises:
        ValueError: The algorithm does not iterate, or the solver refuses an argument.
        MemoryLimitError: The arrays would not fit.
    """
    game, record = request.game, request.record
    kind = solver_class(record, game)
    if kind is None:
        if "flat" in record.solvers and game.layout == Layout.CHUNKS:
            problem = f"{game.name} is in chunks, and {record.name} needs a flat game"
            raise CutError(problem, cut=False)
        raise ValueError(f"{record.name} does not iterate")
    options: dict[str, Any] = {"memory_limit": request.memory_limit}
    if request.cluster is not None:
        kind, options["cluster"] = solver_for(record, "cluster"), request.cluster
    if request.state_dir is not None:
        options["state_dir"] = request.state_dir
    if record.is_sampled:
        options["seed"] = request.seed
    if record.passes_whole_game:
        options["threads"] = resolve_threads(
            request.threads, game, on_cluster=request.cluster is not None
        )
        options["precision"] = resolve_precision(request.precision, game, record)
        options["locks"] = request.locks
    # Without a state, a solver begins with its own.
    if request.start is not None:
        options |= {"state": request.start.state, "iteration": request.start.iterations}
        if "locks" in options:
            options["locks"] = request.start.locks or None
    elif request.warm_start is not None:
        options["state"] = warm_state(
            game,
            record,
            request.warm_start,
            iterations=request.warm_iterations,
            locks=request.locks,
            precision=options["precision"],
        )
    return kind(game, record, **options)
