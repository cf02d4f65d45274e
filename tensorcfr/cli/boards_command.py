"""Command ``boards``: one spot on many boards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from .._util.signals import exit_status
from ..analysis import solve_boards
from ..formats import read_spot
from ..model.public_nodes import START
from ..solvers.solver_arguments import AUTO
from . import argument_parsers
from .argument_parsers import setting
from .console import end, progress_bar, takes
from .report import print_lines
from .spot_command import Algorithm
from .spot_report import board_lines


@dataclass(frozen=True)
class BoardOptions:
    """Options of ``boards``."""

    spot: Annotated[Path, typer.Argument(help="A file with a spot; its board is ignored.")]
    chosen: Annotated[
        list[str],
        typer.Argument(
            metavar="BOARD...",
            help="Boards, 'Td9d6h AsKd2c', or a number of flops that represent all flops, '25'.",
        ),
    ]
    table: Annotated[
        Path | None,
        typer.Option(
            help="Write a row to this file (.csv) as soon as a board is solved, and skip boards "
            "that it already has."
        ),
    ] = None
    node: Annotated[
        str, typer.Option(metavar="LINE", help="Report this line, 'check'; by default 'start'.")
    ] = START
    algorithm: Algorithm = None
    target: argument_parsers.Target = None
    threads: argument_parsers.Threads = AUTO
    precision: argument_parsers.Precision = None
    equity: Annotated[bool, setting("Compute equities, which takes up to a second per flop.")] = (
        True
    )
    memory_limit: argument_parsers.MemoryLimit = None


@takes(BoardOptions)
def boards(options: BoardOptions) -> None:
    """Solve a spot on many boards, and print the strategy on each.

    After an interruption, the same command with the same --table continues.
    """
    table = options.table
    if table is not None and table.suffix.lower() != ".csv":
        raise ValueError(f"--table {table}: the name of the file must end in .csv")
    spot = read_spot(options.spot)
    try:
        with progress_bar(total=1.0) as move:

            def solved(done: int, count: int, row: dict[str, Any]) -> None:
                figures = f"{done} of {count} boards, {row['board']}"
                move(description="solving", completed=done / count, figures=figures)

            report = solve_boards(
                spot,
                _chosen_boards(options.chosen),
                line=options.node,
                algorithm=options.algorithm and argument_parsers.read_algorithm(options.algorithm),
                target=argument_parsers.read_target(options.target),
                precision=options.precision,
                threads=options.threads,
                equity=options.equity,
                table=table,
                memory_limit=argument_parsers.read_memory_limit(options.memory_limit),
                progress=solved,
            )
    except KeyboardInterrupt:
        continuation = (
            f"; finished boards are in {table}: run the same command to continue" if table else ""
        )
        end(f"interrupted{continuation}", exit_status())
    print_lines(*board_lines(report, options.node, spot.unit_name.strip()))


def _chosen_boards(chosen: list[str]) -> list[str] | int:
    """Return a list of boards, or a number of flops."""
    text = chosen[0]
    is_number = len(chosen) == 1 and text.isascii() and text.isdigit()
    return int(text[:9]) if is_number else chosen
