"""Commands ``sweep`` and ``plot``: compare many solves, and draw the comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .._util.signals import exit_status
from ..errors import suggest
from ..sweep import LEVELS, SweepProgress, SweepRow, read_sweep
from ..sweep import sweep as run
from . import argument_parsers, report
from .console import end, progress_bar, quiet
from .declared_options import LargeNumber, Output, command

USUAL_EFFORTS = ("nodes", "seconds")
DEFAULT_LEVELS = ",".join(f"{level:g}" for level in LEVELS)


@command()
def sweep(
    table: Path,
    *,
    games: Annotated[list[str], typer.Option("--game", "-g")],
    algorithms: Annotated[list[str], typer.Option("--algorithm", "-a")],
    seeds: str = "1",
    repeats: Annotated[int, typer.Option(min=1)] = 1,
    iters: LargeNumber = None,
    nodes: LargeNumber = None,
    time_limit: float | None = None,
    target: str | None = None,
    processes: int = 1,
    memory_limit: str | None = None,
    cluster: str | None = None,
    levels: str = DEFAULT_LEVELS,
    plot: Path | None = None,
    x: list[str] | None = None,
) -> None:
    """Solve games by algorithms from seeds, into one table.

    Ctrl-C, SIGTERM, a crash or a full disk loses no row; the same command continues the sweep.

    Options:
        table: Write to this CSV file; if it exists, the sweep continues.
        games: Solve this game, 'kuhn' or 'leduc(ranks=4)'; repeatable.
        algorithms: Solve with this algorithm, 'cfr' or 'dcfr(alpha=2)'; repeatable.
        seeds (NUMBER): Run sampling algorithms with the seeds 0 to NUMBER - 1, or with the seeds
            'A,B,C'.
        repeats: Run each solve this many times, and show medians of the seconds.
        plot: Draw exploitability against nodes and seconds, or against '--x' as 'plot' takes it, to
            this file (.png ...).

    Settings:
        levels (A,B,C): Print the effort to reach these exploitabilities.
        processes: Run this many solves at a time; more than 1 distorts the measured seconds.
        x: Draw against these efforts, as 'plot' takes them.
    """
    if x and not plot:
        raise ValueError("--x needs --plot")
    argument_parsers.check_plot("--plot", plot, x or ())
    if cluster:
        quiet("distributed")
    marks = argument_parsers.read_levels(levels)
    try:
        with progress_bar(total=1.0) as move:

            def show(progress: SweepProgress) -> None:
                figures = str(progress.cell)
                if progress.latest:
                    figures += f": exploitability {progress.latest.exploitability:.3g}"
                finished = f"{progress.finished} of {progress.total}"
                move(description=finished, completed=progress.share, figures=figures)

            rows = run(
                table,
                games,
                algorithms,
                seeds=argument_parsers.read_seeds(seeds),
                repeats=repeats,
                iters=iters,
                nodes=nodes,
                time_limit=time_limit,
                target=target,
                processes=processes,
                memory_limit=argument_parsers.read_memory_limit(memory_limit),
                progress=show,
                cluster=cluster,
            )
    except KeyboardInterrupt:
        known = read_sweep(table) if table.exists() else []
        done = sum(row.ends_cell for row in known)
        message = f"{done:,} finished solves are in {table}: run the same command to continue"
        end(f"interrupted; {message}", exit_status())
    report.print_summary(rows, marks)
    report.print_lines(f"wrote {table}: {len(rows):,} rows")
    if plot:
        _draw(rows, plot, x=x or USUAL_EFFORTS)
        report.print_lines(f"wrote {plot}")


@command()
def plot(
    table: Path,
    *,
    output: Output = None,
    x: list[str] | None = None,
    games: Annotated[list[str] | None, typer.Option("--game", "-g")] = None,
    algorithms: Annotated[list[str] | None, typer.Option("--algorithm", "-a")] = None,
    title: str | None = None,
    levels: str = DEFAULT_LEVELS,
) -> None:
    """Draw a sweep, and print its summary.

    The summary is the effort to reach given exploitabilities.

    Options:
        table: The CSV file that 'tensorcfr sweep' wrote.
        output: Write the picture to this file (.png, .svg, .pdf ...).
        x: Draw against nodes, decision_nodes, learning_nodes (decision nodes, where a traversal
            from which all players learn counts once), seconds or iterations; repeatable; by default
            nodes and seconds.
        games: Draw only this game; repeatable.
        algorithms: Draw only this algorithm; repeatable.

    Settings:
        title: Set the title of the picture.
        levels (A,B,C): Print the effort to reach these exploitabilities.
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
