"""The commands ``solve``, ``walkthrough``, ``games`` and ``algorithms``; the others are in files of
their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from .. import __version__
from .._util.signals import put_off
from ..algorithms import AUTOMATIC, Record
from ..analysis.walkthroughs import walkthrough as walk
from ..compilers import CompileProgress, compile_game
from ..formats import find_policy
from ..formats.policies import is_policy_file
from ..formats.sources import is_foreign
from ..model.game import CompiledGame
from ..model.policy import Policy
from ..solvers.choose import DEFAULT_ALGORITHM, PACKED_ALGORITHM, default_algorithm
from ..solvers.driver import CHECKPOINT_SECONDS, Progress, run
from ..solvers.request import SolveRequest
from ..solvers.solution import Solution
from ..uncompiled import UncompiledGame
from . import (
    arguments,
    boards,
    charts,
    completion,
    exports,
    holdem,
    machine,
    playing,
    regrets,
    report,
    sweeps,
    trees,
    values,
    viewing,
)
from .console import errors_in_one_line, log_to, plain_console, progress_bar, quiet

DEFAULT_ITERATIONS = 1000
"""Number of iterations if no stop rule is given."""

app = typer.Typer(
    name="tensorcfr",
    help="Solve extensive-form games of imperfect information.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    """Print the version and end, if asked."""
    if asked:
        typer.echo(f"tensorcfr {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Solve extensive-form games of imperfect information."""


app.command()(sweeps.sweep)
app.command()(sweeps.plot)
app.command()(charts.chart)
app.command()(exports.export)
app.command()(exports.compare)
app.command()(values.show)
app.command()(values.evaluate)
app.command()(values.size)
app.command()(regrets.regrets)
app.command()(trees.draw)
app.command()(viewing.view)
app.command()(holdem.holdem)
app.command()(boards.boards)
app.command()(playing.play)


Strategy = Annotated[bool, typer.Option("--strategy/--no-strategy", help="Print the strategy.")]
Rows = Annotated[int, typer.Option(min=0, help="Infosets to print per player; 0 prints them all.")]


@app.command()
def solve(
    game: Annotated[
        str | None,
        typer.Argument(
            help="A built-in game, 'leduc' or 'leduc(ranks=4)' (see: tensorcfr games), a file of "
            "Gambit (.efg, .nfg), or 'openspiel:leduc_poker'.  Not needed with --resume.",
            autocompletion=completion.games,
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="'cfr' or 'dcfr(alpha=2)' (see: tensorcfr algorithms); 'auto' chooses by the "
            f"game and the target.  By default {DEFAULT_ALGORITHM} ({PACKED_ALGORITHM} in int16), "
            "or that of --resume.",
            autocompletion=completion.algorithms,
        ),
    ] = None,
    iters: Annotated[
        int | None,
        typer.Option(help=f"Iterations to run; {DEFAULT_ITERATIONS} if nothing says when to stop."),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(help="Stop at this exploitability (nash_conv / players)."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Stop after so many seconds of iterating.")
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Stop at so many nodes touched (histories visited)."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PARAMETER=VALUE", help="A parameter of the game; repeatable."
        ),
    ] = None,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Update all players at once, not in turn.")
    ] = False,
    locks: Annotated[
        list[str] | None,
        typer.Option(
            "--lock",
            metavar="INFOSET:ACTION=P,...",
            help="Fix probabilities of an infoset, and solve the rest; repeatable.",
        ),
    ] = None,
    keep_best: Annotated[
        bool,
        typer.Option("--keep-best", help="Keep the best strategy seen, average or last iterate."),
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Seed of a sampling algorithm; 0 by default.")
    ] = None,
    checkpoints: Annotated[
        str,
        typer.Option(
            metavar="WHEN",
            help="When to evaluate: 'geometric', every 'N' iterations, or at 'A,B,C'.",
        ),
    ] = "geometric",
    memory_limit: arguments.MemoryLimit = None,
    uncompiled: Annotated[
        bool,
        typer.Option(
            "--uncompiled",
            help="Sample straight from the rules, for games that are too large to compile: "
            "--algorithm external_sampling, robust_sampling, average_strategy_sampling or "
            "outcome_sampling.",
        ),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw exploitability against iterations (.png, .svg ...).")
    ] = None,
    threads: Annotated[
        int, typer.Option(min=1, help="Threads, for large games of private hands; the same bits.")
    ] = 1,
    precision: Annotated[
        str | None,
        typer.Option(
            help="'float64', 'float32' for half the memory, or with --cut 'int16' for a quarter."
        ),
    ] = None,
    cut: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Cut a game of private hands into chunks, which takes less memory: 'auto' by the "
            "caches of this machine, or a number of public steps.",
        ),
    ] = None,
    state_dir: Annotated[
        Path | None,
        typer.Option(help="With --cut: keep the solver's arrays in files of this directory."),
    ] = None,
    cluster: arguments.Cluster = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Save the solution so far to this file (.npz), now and then."),
    ] = None,
    checkpoint_every: Annotated[
        float, typer.Option(min=0, help="Seconds between two --checkpoint files.")
    ] = CHECKPOINT_SECONDS,
    warm_start: Annotated[
        Path | None,
        typer.Option(
            help="Begin with the regrets of a solution (.npz), or with a strategy (csv, json, "
            "parquet)."
        ),
    ] = None,
    warm_iterations: Annotated[
        float, typer.Option(help="Iterations that a strategy of --warm-start counts for.")
    ] = 1.0,
    log: Annotated[
        Path | None, typer.Option(help="Append begin, checkpoints and end to this file as it runs.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Save the solution (.npz).")] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue a saved solution.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Let --save and --plot overwrite files.")
    ] = False,
    strategy: Strategy = True,
    rows: Rows = 10,
    as_json: machine.Json = False,
) -> None:
    """Solve a game and print the result.

    Ctrl-C ends the solve and prints the result so far; so do SIGTERM and SIGHUP, with their exit
    status.
    """
    with errors_in_one_line(), ExitStack() as until_the_end:
        if save:
            arguments.check_save(save, force=force)
        if checkpoint and checkpoint != resume:
            arguments.check_save(checkpoint, force=force, option="--checkpoint")
        if plot:
            arguments.check_plot(plot, force=force)
        if cluster:
            quiet("distributed")
        marks = arguments.read_checkpoints(checkpoints)
        given = arguments.read_settings(settings or [])
        limit = arguments.read_memory_limit(memory_limit)
        start = Solution.load(resume, state_dir=state_dir) if resume else None
        if algorithm == AUTOMATIC and simultaneous:
            raise ValueError("--simultaneous is for an algorithm that is named, not for auto")
        record = _algorithm(algorithm, start, precision, simultaneous=simultaneous)
        last_node = arguments.read_whole("--nodes", nodes)
        until_the_end.enter_context(log_to(log))
        with _progress_bar(start.iterations if start else 0, time_limit) as show:
            where = arguments.read_cut(cut)
            if uncompiled and (where is not None or locks):
                raise ValueError("--cut and --lock are for compiled games, not for --uncompiled")
            make: Callable[..., Any] = UncompiledGame
            if not uncompiled:
                make = partial(compile_game, memory_limit=limit, progress=show.compiling, cut=where)
            compiled = _find_game(game, start, given, make, cut=where)
            request = SolveRequest(
                game=compiled,
                algorithm=record,
                iters=iters,
                target=target,
                time_limit=time_limit,
                nodes=last_node,
                checkpoints=marks,
                start=start,
                locks=arguments.read_locks(compiled, locks or []),
                seed=seed,
                keep_best=keep_best,
                threads=threads,
                precision=precision,
                warm_start=_warm_start(compiled, warm_start),
                warm_iterations=warm_iterations,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
                state_dir=state_dir,
                memory_limit=limit,
                cluster=cluster,
                needs_curve=plot is not None,
            )
            if request.record.is_exact and plot:
                raise ValueError(
                    f"{request.record.name} is exact: there is no convergence to --plot"
                )
            if not request.record.is_exact and not request.has_stop_rule:
                request = replace(request, iters=DEFAULT_ITERATIONS)
            # From here on a signal ends the solve, but not the save after it.
            until_the_end.enter_context(put_off())
            solution = run(request, show.solving)
        # Files first: a closed pipe must not lose them.  Whatever fails, the result is printed.
        failed: list[Exception] = []
        saved = _written(save, solution.save, failed)
        drawn = _written(plot, _plotter(solution), failed)
        if as_json:
            infosets = machine.of_policy(solution.policy) if strategy else []
            machine.print_json(machine.of_solution(solution) | {"infosets": infosets})
        else:
            console = plain_console()
            report.print_solution(console, solution, rows=rows, strategy=strategy)
            report.print_files(console, solution, saved=saved, drawn=drawn)
        if failed:
            raise failed[0]


@app.command()
def walkthrough(
    game: Annotated[str, typer.Argument(help="A built-in game (see: tensorcfr games).")] = "kuhn",
    algorithm: Annotated[
        str, typer.Option(help="Any iterative algorithm (see: tensorcfr algorithms).")
    ] = "chance_sampling(alternating=False)",
    iters: Annotated[int, typer.Option(help="Iterations to show.")] = 2,
    deal: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Outcomes of the first chance nodes, in this order."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of a sampling algorithm; 0 by default.")
    ] = None,
) -> None:
    """Show single iterations with every number, before and after."""
    with errors_in_one_line():
        report.print_walkthrough(
            plain_console(),
            walk(
                compile_game(game),
                _algorithm(algorithm, None, None, simultaneous=False),  # type: ignore[arg-type]
                iters=iters,
                deal=arguments.read_deal(deal),
                seed=seed,
            ),
        )


@app.command()
def games() -> None:
    """List the built-in games and their parameters."""
    report.print_games(plain_console())


@app.command()
def algorithms() -> None:
    """List the algorithms and their sources."""
    report.print_algorithms(plain_console())


def _algorithm(
    spec: str | None, start: Solution | None, precision: str | None, *, simultaneous: bool
) -> Record | str | None:
    """The named algorithm; by default that of the saved solution, or the default algorithm."""
    if spec == AUTOMATIC or (spec is None and not simultaneous):
        return spec
    if spec is None:
        spec = start.algorithm.name if start else default_algorithm(precision)
    return arguments.read_algorithm(spec, simultaneous=simultaneous)


def _warm_start(game: CompiledGame, path: Path | None) -> Solution | Policy | None:
    """The solution or the strategy to begin with."""
    if path is None:
        return None
    if path.suffix == ".npz" and not is_policy_file(path):
        return Solution.load(path)
    return find_policy(game, path)


def _find_game(
    game: str | None,
    start: Solution | None,
    given: dict[str, Any],
    make: Callable[..., CompiledGame],
    *,
    cut: bool | int | None,
) -> CompiledGame:
    """The named game, compiled or by its rules; by default that of the saved solution."""
    if game is None:
        if start is None:
            raise ValueError("which game? 'tensorcfr games' lists them")
        if given:
            raise ValueError("--set is for a game named on the command line")
        if cut is not None:
            raise ValueError("--cut is for a game named on the command line")
        return start.game
    if given and is_foreign(game):
        raise ValueError(f"--set is for built-in games, not for {game!r}")
    return make(game, **given)


def _plotter(solution: Solution) -> Callable[[Path], object]:
    """A function that draws the solution to a file; it imports matplotlib when called."""

    def write(path: Path) -> None:
        from ..plots import convergence

        convergence([solution], path=path)

    return write


def _written(
    path: Path | None, write: Callable[[Path], object], failed: list[Exception]
) -> Path | None:
    """Write a file, unless ``path`` is None; returns its path, or None after a failure.

    An error is appended to ``failed``.
    """
    if path is None:
        return None
    try:
        write(path)
    except Exception as error:
        # The solution exists only in memory, so every error waits until the solution is printed.
        failed.append(error)
        return None
    return path


class _Hooks(NamedTuple):
    """Progress hooks that move the bar."""

    compiling: Callable[[CompileProgress], object]
    solving: Callable[[Progress], object]


@contextmanager
def _progress_bar(first: int, time_limit: float | None) -> Iterator[_Hooks]:
    """A bar on a terminal; yields the hooks that move it."""
    with progress_bar() as move:

        def compiling(progress: CompileProgress) -> None:
            figures = f"{progress.done:,}"
            if progress.expected:
                figures += f" of about {progress.expected:,.0f} histories"
            move(
                description="compiling",
                total=progress.expected,
                completed=progress.done,
                figures=figures,
            )

        def solving(progress: Progress) -> None:
            done = [progress.seconds / time_limit] if time_limit else []
            if progress.last_iteration is not None and progress.last_iteration > first:
                done.append((progress.iteration - first) / (progress.last_iteration - first))
            figures = f"{progress.iteration:,} iterations"
            if progress.latest:
                figures += f", exploitability {progress.latest.exploitability:.3g}"
            move(
                description="solving",
                total=1.0 if done else None,
                completed=min(1.0, max(done, default=0.0)),
                figures=figures,
            )

        yield _Hooks(compiling, solving)
