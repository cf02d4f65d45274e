"""Command ``solve``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
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
from ..uncompiled import UncompiledGame
from . import arguments, machine, report
from .console import log_to, plain_console, quiet, solve_bar, takes


@dataclass(frozen=True)
class SolveOptions:
    """Options of ``solve``."""

    game: Annotated[
        str | None,
        typer.Argument(
            help="A built-in game, 'leduc' or 'leduc(ranks=4)' ('tensorcfr games' lists them), a "
            "file of Gambit (.efg, .nfg), or 'openspiel:leduc_poker'. Not needed with --resume.",
            autocompletion=arguments.game_names,
        ),
    ] = None
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="Solve with this algorithm, 'cfr' or 'dcfr(alpha=2)' ('tensorcfr algorithms' "
            "lists them); 'auto' chooses by the game and the target. By default the algorithm of "
            f"--resume, or {arguments.DEFAULTS}.",
            autocompletion=arguments.algorithm_names,
        ),
    ] = None
    iters: arguments.Iterations = None
    target: arguments.Target = None
    time_limit: arguments.TimeLimit = None
    nodes: arguments.Nodes = None
    settings: arguments.Settings = None
    simultaneous: Annotated[
        bool,
        typer.Option(
            "--simultaneous", hidden=True, help="Update all players at once, not in turn."
        ),
    ] = False
    locks: Annotated[
        list[str] | None,
        typer.Option(
            "--lock",
            metavar="INFOSET:ACTION=P,...",
            help="Fix probabilities of an infoset, and solve the rest; repeatable.",
        ),
    ] = None
    keep_best: Annotated[
        bool,
        typer.Option(
            "--keep-best",
            hidden=True,
            help="Keep the best strategy seen, whether average or last iterate.",
        ),
    ] = False
    seed: arguments.Seed = None
    checkpoints: Annotated[
        str,
        typer.Option(
            metavar="WHEN",
            hidden=True,
            help="Evaluate at 'geometric' checkpoints, every 'N' iterations, or at the iterations "
            "'A,B,C'.",
        ),
    ] = "geometric"
    memory_limit: arguments.MemoryLimit = None
    uncompiled: Annotated[
        bool,
        typer.Option(
            "--uncompiled",
            help="Sample directly from the rules, for games that are too large to compile, by "
            "--algorithm external_sampling, robust_sampling, average_strategy_sampling or "
            "outcome_sampling.",
        ),
    ] = False
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw exploitability against iterations to this file (.png, .svg ...)."),
    ] = None
    threads: arguments.Threads = 1
    precision: arguments.Precision = None
    cut: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Cut a game of private hands into chunks, which takes less memory: 'auto', the "
            "default, cuts large games; others are 'always', 'never', or a number of public "
            "steps.",
        ),
    ] = None
    state_dir: Annotated[
        Path | None,
        typer.Option(
            hidden=True,
            help="Store the solver's arrays in files of this directory, for games in chunks.",
        ),
    ] = None
    cluster: arguments.Cluster = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Save the solution so far to this file (.npz) at intervals."),
    ] = None
    checkpoint_every: Annotated[
        float,
        typer.Option(
            min=0, hidden=True, help="Wait this many seconds between two saves to --checkpoint."
        ),
    ] = CHECKPOINT_SECONDS
    warm_start: Annotated[
        Path | None,
        typer.Option(
            hidden=True,
            help="Start with the regrets of a solution (.npz), or with a strategy (csv, json, "
            "parquet).",
        ),
    ] = None
    warm_iterations: Annotated[
        float,
        typer.Option(hidden=True, help="Count the strategy of warm_start as this many iterations."),
    ] = 1.0
    log: Annotated[
        Path | None,
        typer.Option(
            hidden=True,
            help="Append start, checkpoints and end of the solve to this file as they happen.",
        ),
    ] = None
    save: Annotated[Path | None, typer.Option(help="Save the solution to this file (.npz).")] = None
    resume: Annotated[Path | None, typer.Option(help="Continue this saved solution.")] = None
    force: arguments.Force = False
    strategy: Annotated[
        bool, typer.Option("--strategy/--no-strategy", help="Print the strategy.")
    ] = True
    rows: Annotated[
        int, typer.Option(min=0, help="Print this many infosets per player; 0 prints all.")
    ] = 10
    as_json: machine.Json = False


@takes(SolveOptions)
def solve(asked: SolveOptions) -> None:
    """Solve a game and print the result.

    Ctrl-C, SIGTERM and SIGHUP end the solve and print the result so far; the exit status is the
    signal's.
    """
    _check_files(asked)
    start = Solution.load(asked.resume, state_dir=asked.state_dir) if asked.resume else None
    failed: list[Exception] = []
    with ExitStack() as until_the_end:
        until_the_end.enter_context(log_to(asked.log))
        with solve_bar(start.iterations if start else 0, asked.time_limit) as show:
            request = _request(asked, start, show.compiling)
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
        saved = _written(asked.save, partial(solution.save, force=True), failed)
        drawn = _written(asked.plot, partial(_draw, solution), failed)
        if asked.as_json:
            infosets = machine.of_policy(solution.policy) if asked.strategy else ()
            machine.print_json(machine.of_solution(solution) | {"infosets": list(infosets)})
        else:
            console = plain_console()
            report.print_solution(console, solution, rows=asked.rows, strategy=asked.strategy)
            report.print_files(console, solution, saved=saved, drawn=drawn)
        if failed:
            raise failed[0]


def _check_files(asked: SolveOptions) -> None:
    """Check that all files are writable, before the game is solved."""
    arguments.check_save("--save", asked.save, force=asked.force)
    if asked.checkpoint != asked.resume:
        arguments.check_save("--checkpoint", asked.checkpoint, force=asked.force)
    arguments.check_plot("--plot", asked.plot)


def _request(
    asked: SolveOptions,
    start: Solution | None,
    compiling: Callable[[CompileProgress], object],
) -> SolveRequest:
    """Compile the game and return the request of the solve."""
    if asked.cluster:
        quiet("distributed")
    if asked.algorithm == AUTOMATIC and asked.simultaneous:
        raise ValueError("--simultaneous is for an algorithm that is named, not for auto")
    checkpoints = arguments.read_checkpoints(asked.checkpoints)
    named: str | Record | None = asked.algorithm
    if named is not None and named != AUTOMATIC:
        named = arguments.read_algorithm(named, simultaneous=asked.simultaneous)
    game = _game(asked, start, compiling)
    request = arguments.read_request(
        asked,
        game,
        algorithm=named,
        checkpoints=checkpoints,
        start=start,
        warm_start=_warm_start(game, asked.warm_start),
        needs_curve=asked.plot is not None,
    )
    if asked.simultaneous and named is None:
        named = arguments.read_algorithm(request.record, simultaneous=True)
        request = replace(request, algorithm=named)
    if request.record.is_exact and asked.plot:
        raise ValueError(f"{request.record.name} is exact: there is no convergence to --plot")
    return request


def _game(
    asked: SolveOptions,
    start: Solution | None,
    compiling: Callable[[CompileProgress], object],
) -> CompiledGame:
    """Return the named game, compiled or by its rules; by default the game of the saved
    solution."""
    given = arguments.read_settings(asked.settings, asked.game)
    cut = arguments.read_cut(asked.cut)
    limit = arguments.read_memory_limit(asked.memory_limit)
    if asked.uncompiled and (cut is not None or asked.locks):
        raise ValueError("--cut and --lock are for compiled games, not for --uncompiled")
    if asked.game is None:
        if start is None:
            raise ValueError("which game? 'tensorcfr games' lists them")
        for option, value in (("--set", given or None), ("--cut", cut)):
            if value is not None:
                raise ValueError(f"{option} is for a game named on the command line")
        return start.game
    make: Callable[..., Any] = UncompiledGame
    if not asked.uncompiled:
        where = "auto" if cut is None else cut
        make = partial(compile_game, memory_limit=limit, progress=compiling, cut=where)
    found: CompiledGame = make(asked.game, **given)
    return found


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
