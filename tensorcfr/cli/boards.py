"""The command ``boards``: one spot of hold'em on many boards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .._util.signals import exit_status
from ..analysis import solve_boards
from ..formats import read_spot
from . import arguments
from .console import end, errors_in_one_line, plain_console, progress_bar
from .holdem import ALGORITHM, DEFAULT_TARGET, PRECISION, Algorithm, Precision, Threads
from .report import print_line


def boards(
    spot: Annotated[Path, typer.Argument(help="A file with a spot; its board does not matter.")],
    chosen: Annotated[
        list[str],
        typer.Argument(
            metavar="BOARD...",
            help="Boards, 'Td9d6h AsKd2c', or a number of flops that represent all, '25'.",
        ),
    ],
    table: Annotated[
        Path | None,
        typer.Option(
            help="A file (.csv) that gets a row as soon as a board is solved; boards that are in "
            "it are not solved again."
        ),
    ] = None,
    line: Annotated[str, typer.Option(help="Where to look, 'check'; by default the start.")] = "",
    algorithm: Algorithm = ALGORITHM,
    target: Annotated[
        float, typer.Option(help="Exploitability where a solve ends, in per cent of the pot.")
    ] = DEFAULT_TARGET,
    threads: Threads = 1,
    precision: Precision = PRECISION,
    equity: Annotated[
        bool, typer.Option(help="Work out equities, a second or less for each flop.")
    ] = True,
    memory_limit: arguments.MemoryLimit = None,
) -> None:
    """Solve a spot of hold'em on many boards, and say what is done on each.

    A command that was stopped goes on when it is given again with the same
    --table.
    """
    with errors_in_one_line():
        console = plain_console()
        if table is not None and table.suffix.lower() != ".csv":
            raise ValueError(f"--table {table}: the name of the file ends in .csv")
        wanted: Any = chosen
        if len(chosen) == 1 and chosen[0].isascii() and chosen[0].isdigit():
            wanted = int(chosen[0][:9])
        try:
            with progress_bar(total=1.0) as move:

                def solved(done: int, count: int, row: dict[str, Any]) -> None:
                    move(
                        description="solving",
                        completed=done / count,
                        figures=f"{done} of {count} boards, {row['board']}",
                    )

                report = solve_boards(
                    read_spot(spot),
                    wanted,
                    line=line,
                    algorithm=arguments.read_algorithm(algorithm, simultaneous=False),
                    target=target,
                    precision=precision,
                    threads=threads,
                    equity=equity,
                    table=table,
                    memory_limit=arguments.read_memory_limit(memory_limit),
                    progress=solved,
                )
        except KeyboardInterrupt:
            kept = f"; what is done is in {table}, the same command continues" if table else ""
            end(f"interrupted{kept}", exit_status())
        width = max(7, *map(len, report.actions))
        heads = " ".join(f"{action:>{width}}" for action in report.actions)
        player = report.rows[0]["player"]
        print_line(console, f"{line or 'the start'}: {player} to act; per cent, values in chips")
        board_width = max(len(row["board"]) for row in report.rows)
        print_line(console, f"  {'board':<{board_width}} {heads} {'value':>8} {'equity':>7}")
        means = {"board": "mean", **report.means}
        for row in (*report.rows, means):
            numbers = " ".join(f"{100 * row[action]:{width}.1f}" for action in report.actions)
            print_line(
                console,
                f"  {row['board']:<{board_width}} {numbers} {row['value']:8.2f} "
                f"{100 * row['equity']:7.1f}",
            )
