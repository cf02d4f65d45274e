"""The command ``solve``."""

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
from ..model.game import CompiledGame
from ..model.policy import Policy
from ..solvers.driver import CHECKPOINT_SECONDS, run
from ..solvers.request import SolveRequest
from ..solvers.solution import Solution
from ..uncompiled import UncompiledGame
from . import arguments, machine, report
from .console import log_to, plain_console, quiet, solve_bar, takes


@dataclass(frozen=True)
class SolveOptions:
    """What ``solve`` takes."""

    game: Annotated[
        str | None,
        typer.Argument(
            help="A built-in game, 'leduc' or 'leduc(ranks=4)' (see: tensorcfr games), a file of "
            "Gambit (.efg, .nfg), or 'openspiel:leduc_poker'.  Not needed with --resume.",
            autocompletion=arguments.game_names,
        ),
    ] = None
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="'cfr' or 'dcfr(alpha=2)' (see: tensorcfr algorithms); 'auto' chooses by the "
            f"game and the target.  By default that of --resume, or {arguments.DEFAULTS}.",
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
            help="Keep the best strategy seen, average or last iterate.",
        ),
    ] = False
    seed: arguments.Seed = None
    checkpoints: Annotated[
        str,
        typer.Option(
            metavar="WHEN",
            hidden=True,
            help="When to evaluate: 'geometric', every 'N' iterations, or at 'A,B,C'.",
        ),
    ] = "geometric"
    memory_limit: arguments.MemoryLimit = None
    uncompiled: Annotated[
        bool,
        typer.Option(
            "--uncompiled",
            help="Sample straight from the rules, for games that are too large to compile: "
            "--algorithm external_sampling, robust_sampling, average_strategy_sampling or "
            "outcome_sampling.",
        ),
    ] = False
    plot: Annotated[
        Path | None, typer.Option(help="Draw exploitability against iterations (.png, .svg ...).")
    ] = None
    threads: arguments.Threads = 1
    precision: arguments.Precision = None
    cut: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Cut a game of private hands into chunks, which takes less memory: 'auto', the "
            "default, if it is large; 'always', 'never', or a number of public steps.",
        ),
    ] = None
    state_dir: Annotated[
        Path | None,
        typer.Option(
            hidden=True, help="In chunks: keep the solver's arrays in files of this directory."
        ),
    ] = None
    cluster: arguments.Cluster = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Save the solution so far to this file (.npz), now and then."),
    ] = None
    checkpoint_every: Annotated[
        float, typer.Option(min=0, hidden=True, help="Seconds between two --checkpoint files.")
    ] = CHECKPOINT_SECONDS
    warm_start: Annotated[
        Path | None,
        typer.Option(
            hidden=True,
            help="Begin with the regrets of a solution (.npz), or with a strategy (csv, json, "
            "parquet).",
        ),
    ] = None
    warm_iterations: Annotated[
        float,
        typer.Option(hidden=True, help="Iterations that a strategy of warm_start counts for."),
    ] = 1.0
    log: Annotated[
        Path | None,
        typer.Option(
            hidden=True, help="Append begin, checkpoints and end to this file as it runs."
        ),
    ] = None
    save: Annotated[Path | None, typer.Option(help="Save the solution (.npz).")] = None
    resume: Annotated[Path | None, typer.Option(help="Continue a saved solution.")] = None
    force: arguments.Force = False
    strategy: Annotated[
        bool, typer.Option("--strategy/--no-strategy", help="Print the strategy.")
    ] = True
    rows: Annotated[
        int, typer.Option(min=0, help="Infosets to print per player; 0 prints them all.")
    ] = 10
    as_json: machine.Json = False


@takes(SolveOptions)
def solve(asked: SolveOptions) -> None:
    """Solve a game and print the result.

    Ctrl-C ends the solve and prints the result so far; so do SIGTERM and SIGHUP, with their exit
    status.
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
            except OSError as error:  # The last checkpoint was not written.
                if not hasattr(error, "solution"):
                    raise
                solution = error.solution
                failed.append(error)
        # Files first: a closed pipe must not lose them.  Whatever fails, the result is printed.
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
    """Refuse files that cannot be written, before anything is solved."""
    arguments.check_save("--save", asked.save, force=asked.force)
    if asked.checkpoint != asked.resume:
        arguments.check_save("--checkpoint", asked.checkpoint, force=asked.force)
    arguments.check_plot("--plot", asked.plot)


def _request(
    asked: SolveOptions,
    start: Solution | None,
    compiling: Callable[[CompileProgress], object],
) -> SolveRequest:
    """What to solve, with the game compiled."""
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
    """The named game, compiled or by its rules; by default that of the saved solution."""
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
    """The solution or the strategy to begin with."""
    if path is None:
        return None
    if path.suffix == ".npz" and not is_policy_file(path):
        return Solution.load(path)
    return find_policy(game, path)


def _draw(solution: Solution, path: Path) -> None:
    """Draw the solution to a file; imports matplotlib on the first call."""
    from ..plots import convergence

    convergence([solution], path=path)


def _written(
    path: Path | None, write: Callable[[Path], object], failed: list[Exception]
) -> Path | None:
    """Write a file, unless ``path`` is None; returns its path, or None after a failure, which is
    appended to ``failed``."""
    if path is None:
        return None
    try:
        write(path)
    except Exception as error:
        # The solution exists only in memory, so every error waits until the solution is printed.
        failed.append(error)
        return None
    return path
