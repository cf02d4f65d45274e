"""Command ``solve``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from .._util.signals import put_off
from ..algorithms import AUTOMATIC, Record
from ..compilers import CompileProgress, compile_game
from ..formats import find_policy
from ..formats.policies import is_policy_file
from ..model.compiled_game import CompiledGame
from ..model.policy import Policy
from ..solvers.driver import CHECKPOINT_SECONDS, run
from ..solvers.request import SolveRequest
from ..solvers.solution import Solution
from ..solvers.solver_arguments import AUTO
from ..uncompiled import UncompiledGame
from . import argument_parsers, json_output, report
from .console import log_to, quiet, solve_bar
from .declared_options import (
    Algorithm,
    FromZero,
    Game,
    Json,
    LargeNumber,
    Locks,
    Settings,
    Threads,
    command,
)


@dataclass(frozen=True)
class SolveOptions:
    """Options of ``solve``.

    Options:
        game: A built-in game, 'leduc' or 'leduc(ranks=4)' ('tensorcfr games' lists them), a file of
            Gambit (.efg, .nfg), or 'openspiel:leduc_poker'. Not needed with --resume.
        algorithm: Solve with this algorithm, 'cfr' or 'dcfr(alpha=2)' ('tensorcfr algorithms' lists
            them); 'auto' chooses by the game and the target. By default the algorithm of --resume,
            or {DEFAULTS}.
        locks (INFOSET:ACTION=P,...): Fix probabilities of an infoset, and solve the rest;
            repeatable.
        uncompiled: Sample directly from the rules, for games that are too large to
            compile, by --algorithm external_sampling, robust_sampling, average_strategy_sampling or
            outcome_sampling.
        plot: Draw exploitability against iterations to this file (.png, .svg ...).
        cut (WHERE): Cut a game of private hands into chunks, which takes less memory: 'auto', the
            default, cuts large games; others are 'always', 'never', or a number of public steps.
        checkpoint: Save the solution so far to this file (.npz) at intervals.
        save: Save the solution to this file (.npz).
        resume: Continue this saved solution.
        rows: Print this many infosets per player; 0 prints all.

    Settings:
        nodes
        strategy: Print the strategy.
        simultaneous: Update all players at once, not in turn.
        keep_best: Keep the best strategy seen, whether average or last iterate.
        checkpoints (WHEN): Evaluate at 'geometric' checkpoints, every 'N' iterations, or at the
            iterations 'A,B,C'.
        state_dir: Store the solver's arrays in files of this directory, for games in chunks.
        checkpoint_every: Wait this many seconds between two saves to --checkpoint.
        warm_start: Start with the regrets of a solution (.npz), or with a strategy (csv, json,
            parquet).
        warm_iterations: Count the strategy of warm_start as this many iterations.
        log: Append start, checkpoints and end of the solve to this file as they happen.
    """

    game: Game = None
    _: KW_ONLY
    algorithm: Algorithm = None
    iters: LargeNumber = None
    target: str | None = None
    time_limit: float | None = None
    nodes: LargeNumber = None
    settings: Settings = None
    simultaneous: bool = False
    locks: Locks = None
    keep_best: bool = False
    seed: int | None = None
    checkpoints: str = "geometric"
    memory_limit: str | None = None
    uncompiled: bool = False
    plot: Path | None = None
    threads: Threads = AUTO
    precision: str | None = None
    cut: str | None = None
    state_dir: Path | None = None
    cluster: str | None = None
    checkpoint: Path | None = None
    checkpoint_every: Annotated[float, typer.Option(min=0)] = CHECKPOINT_SECONDS
    warm_start: Path | None = None
    warm_iterations: float = 1.0
    log: Path | None = None
    save: Path | None = None
    resume: Path | None = None
    force: bool = False
    strategy: bool = True
    rows: FromZero = 10
    as_json: Json = False


@command(SolveOptions)
def solve(options: SolveOptions) -> None:
    """Solve a game and print the result.

    Ctrl-C, SIGTERM and SIGHUP end the solve and print the result so far; the exit status is the
    signal's.
    """
    _check_files(options)
    start = Solution.load(options.resume, state_dir=options.state_dir) if options.resume else None
    failed: list[Exception] = []
    with ExitStack() as until_the_end:
        until_the_end.enter_context(log_to(options.log))
        with solve_bar(start.iterations if start else 0, options.time_limit) as show:
            request = _request(options, start, show.compiling)
            # From here on a signal ends the solve, but not the save after it.
            until_the_end.enter_context(put_off())
            try:
                solution = run(request, show.solving)
            except OSError as error:  # A checkpoint was not written; the error has the solution.
                if not hasattr(error, "solution"):
                    raise
                solution = error.solution
                failed.append(error)
        # Write files before printing, because a closed pipe would end the command. A failure to
        # write is raised after printing.
        saved = _written(options.save, partial(solution.save, force=True), failed)
        drawn = _written(options.plot, partial(_draw, solution), failed)
        if options.as_json:
            infosets = json_output.of_policy(solution.policy) if options.strategy else ()
            json_output.print_json(json_output.of_solution(solution) | {"infosets": list(infosets)})
        else:
            report.print_solution(solution, rows=options.rows, strategy=options.strategy)
            report.print_files(solution, saved=saved, drawn=drawn)
        if failed:
            raise failed[0]


def _check_files(options: SolveOptions) -> None:
    """Check that all files are writable, before the game is solved."""
    argument_parsers.check_save("--save", options.save, force=options.force)
    if options.checkpoint != options.resume:
        argument_parsers.check_save("--checkpoint", options.checkpoint, force=options.force)
    argument_parsers.check_plot("--plot", options.plot)


def _request(
    options: SolveOptions,
    start: Solution | None,
    compiling: Callable[[CompileProgress], object],
) -> SolveRequest:
    """Compile the game and return the request of the solve."""
    if options.cluster:
        quiet("distributed")
    if options.algorithm == AUTOMATIC and options.simultaneous:
        raise ValueError("--simultaneous needs a named algorithm, not auto")
    checkpoints = argument_parsers.read_checkpoints(options.checkpoints)
    algorithm: str | Record | None = options.algorithm
    if algorithm is not None and algorithm != AUTOMATIC:
        algorithm = argument_parsers.read_algorithm(algorithm, simultaneous=options.simultaneous)
    game = _game(options, start, compiling)
    request = argument_parsers.read_request(
        options,
        game,
        algorithm=algorithm,
        checkpoints=checkpoints,
        start=start,
        warm_start=_warm_start(game, options.warm_start),
        needs_curve=options.plot is not None,
    )
    if options.simultaneous and algorithm is None:
        algorithm = argument_parsers.read_algorithm(request.record, simultaneous=True)
        request = replace(request, algorithm=algorithm)
    if request.record.is_exact and options.plot:
        raise ValueError(f"{request.record.name} is exact: it has no convergence to --plot")
    return request


def _game(
    options: SolveOptions,
    start: Solution | None,
    compiling: Callable[[CompileProgress], object],
) -> CompiledGame:
    """Return the named game, compiled or by its rules, or the game of the saved solution."""
    settings = argument_parsers.read_settings(options.settings, options.game)
    cut = argument_parsers.read_cut(options.cut)
    limit = argument_parsers.read_memory_limit(options.memory_limit)
    if options.uncompiled and (cut is not None or options.locks):
        raise ValueError("--cut and --lock are for compiled games, not for --uncompiled")
    if options.game is None:
        if start is None:
            raise ValueError("give a game; 'tensorcfr games' lists them")
        for option, value in (("--set", settings or None), ("--cut", cut)):
            if value is not None:
                raise ValueError(f"{option} needs a game named on the command line")
        return start.game
    make: Callable[..., Any] = UncompiledGame
    if not options.uncompiled:
        where = "auto" if cut is None else cut
        make = partial(compile_game, memory_limit=limit, progress=compiling, cut=where)
    game: CompiledGame = make(options.game, **settings)
    return game


def _warm_start(game: CompiledGame, path: Path | None) -> Solution | Policy | None:
    """Return the solution or the strategy to start with."""
    if path is None:
        return None
    if path.suffix == ".npz" and not is_policy_file(path):
        return Solution.load(path)
    return find_policy(game, path)


def _draw(solution: Solution, path: Path) -> None:
    """Draw the solution to a file; import matplotlib on the first call."""
    from ..plots import convergence

    convergence([solution], path=path)


def _written(
    path: Path | None, write: Callable[[Path], object], failed: list[Exception]
) -> Path | None:
    """Write a file, unless ``path`` is None; return its path.

    After a failure, append the error to ``failed`` and return None.
    """
    if path is None:
        return None
    try:
        write(path)
    except Exception as error:
        # The solution exists only in memory, so print it before raising any error.
        failed.append(error)
        return None
    return path
