"""Commands ``sweep`` and ``plot``: compare many solves, and draw the comparison."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from .._util.signals import exit_status
from ..errors import suggest
from ..sweep import LEVELS, SweepProgress, SweepRow, read_sweep
from ..sweep import sweep as run
from . import argument_parsers, report
from .argument_parsers import setting
from .console import end, errors_in_one_line, progress_bar, quiet, takes

Levels = Annotated[
    str,
    setting("Print the effort to reach these exploitabilities.", metavar="A,B,C"),
]
USUAL_EFFORTS = ("nodes", "seconds")
DEFAULT_LEVELS = ",".join(f"{level:g}" for level in LEVELS)


@dataclass(frozen=True)
class SweepOptions:
    """Options of ``sweep``."""

    table: Annotated[
        Path,
        typer.Argument(help="Write to this CSV file; if it exists, the sweep continues."),
    ]
    games: Annotated[
        list[str],
        typer.Option(
            "--game", "-g", help="Solve this game, 'kuhn' or 'leduc(ranks=4)'; repeatable."
        ),
    ]
    algorithms: Annotated[
        list[str],
        typer.Option(
            "--algorithm",
            "-a",
            help="Solve with this algorithm, 'cfr' or 'dcfr(alpha=2)'; repeatable.",
        ),
    ]
    seeds: Annotated[
        str,
        typer.Option(
            metavar="NUMBER",
            help="Run sampling algorithms with the seeds 0 to NUMBER - 1, or with the seeds "
            "'A,B,C'.",
        ),
    ] = "1"
    repeats: Annotated[
        int,
        typer.Option(
            min=1, help="Run each solve this many times, and show medians of the seconds."
        ),
    ] = 1
    iters: argument_parsers.Iterations = None
    nodes: argument_parsers.Nodes = None
    time_limit: argument_parsers.TimeLimit = None
    target: argument_parsers.Target = None
    processes: Annotated[
        int,
        typer.Option(
            help="Run this many solves at a time; more than 1 distorts the measured seconds."
        ),
    ] = 1
    memory_limit: argument_parsers.MemoryLimit = None
    cluster: argument_parsers.Cluster = None
    levels: Levels = DEFAULT_LEVELS
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw exploitability against nodes and seconds, or against '--x' as 'plot' takes "
            "it, to this file (.png ...)."
        ),
    ] = None
    x: Annotated[list[str] | None, setting("Draw against these efforts, as 'plot' takes them.")] = (
        None
    )


@takes(SweepOptions)
def sweep(options: SweepOptions) -> None:
    """Solve games by algorithms from seeds, into one table.

    Ctrl-C, SIGTERM, a crash or a full disk loses no row; the same command continues the sweep.
    """
    if options.x and not options.plot:
        raise ValueError("--x needs --plot")
    argument_parsers.check_plot("--plot", options.plot, options.x or ())
    if options.cluster:
        quiet("distributed")
    marks = argument_parsers.read_levels(options.levels)
    try:
        with progress_bar(total=1.0) as move:

            def show(progress: SweepProgress) -> None:
                figures = str(progress.cell)
                if progress.latest:
                    figures += f": exploitability {progress.latest.exploitability:.3g}"
                finished = f"{progress.finished} of {progress.total}"
                move(description=finished, completed=progress.share, figures=figures)

            rows = run(
                options.table,
                options.games,
                options.algorithms,
                seeds=argument_parsers.read_seeds(options.seeds),
                repeats=options.repeats,
                iters=options.iters,
                nodes=options.nodes,
                time_limit=options.time_limit,
                target=options.target,
                processes=options.processes,
                memory_limit=argument_parsers.read_memory_limit(options.memory_limit),
                progress=show,
                cluster=options.cluster,
            )
    except KeyboardInterrupt:
        known = read_sweep(options.table) if options.table.exists() else []
        done = sum(row.ends_cell for row in known)
        message = (
            f"{done:,} finished solves are in {options.table}: run the same command to continue"
        )
        end(f"interrupted; {message}", exit_status())
    report.print_summary(rows, marks)
    report.print_lines(f"wrote {options.table}: {len(rows):,} rows")
    if options.plot:
        _draw(rows, options.plot, x=options.x or USUAL_EFFORTS)
        report.print_lines(f"wrote {options.plot}")


@errors_in_one_line()
def plot(
    table: Annotated[Path, typer.Argument(help="The CSV file that 'tensorcfr sweep' wrote.")],
    output: argument_parsers.Picture = None,
    x: Annotated[
        list[str] | None,
        typer.Option(
            help="Draw against nodes, decision_nodes, learning_nodes (decision nodes, where a "
            "traversal from which all players learn counts once), seconds or iterations; "
            "repeatable; by default nodes and seconds."
        ),
    ] = None,
    games: Annotated[
        list[str] | None, typer.Option("--game", "-g", help="Draw only this game; repeatable.")
    ] = None,
    algorithms: Annotated[
        list[str] | None,
        typer.Option("--algorithm", "-a", help="Draw only this algorithm; repeatable."),
    ] = None,
    title: Annotated[str | None, setting("Set the title of the picture.")] = None,
    levels: Levels = DEFAULT_LEVELS,
) -> None:
    """Draw a sweep, and print its summary.

    The summary is the effort to reach given exploitabilities.
    """
    argument_parsers.check_plot("--output", output, x or ())
    marks = argument_parsers.read_levels(levels)
    rows = _only(read_sweep(table), "game", games)
    rows = _only(rows, "algorithm", algorithms)
    if output:
        _draw(rows, output, x=x or USUAL_EFFORTS, title=title)
    report.print_summary(rows, marks)
    if output:
        report.print_lines(f"wrote {output}")


def _draw(rows: list[SweepRow], path: Path, **options: Any) -> None:
    """Draw the rows to a file; import matplotlib on the first call."""
    from ..plots import sweep_curves

    sweep_curves(rows, path=path, **options)


def _only(rows: list[SweepRow], column: str, wanted: list[str] | None) -> list[SweepRow]:
    """Return the rows with one of the wanted values in a column; all rows if none is wanted."""
    known = list(dict.fromkeys(getattr(row, column) for row in rows))
    for value in wanted or []:
        if value not in known:
            raise ValueError(f"the table has no {column} {value!r}; {suggest(value, known)}")
    return [row for row in rows if not wanted or getattr(row, column) in wanted]
