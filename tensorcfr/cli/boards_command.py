"""Command ``boards``: one spot on many boards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._util.signals import exit_status
from ..analysis import solve_boards
from ..formats import read_spot
from ..model.public_nodes import START
from ..solvers.solver_arguments import AUTO
from . import argument_parsers
from .console import end, progress_bar
from .declared_options import Threads, command
from .report import print_lines
from .spot_report import board_lines


@command()
def boards(
    spot: Path,
    chosen: list[str],
    *,
    table: Path | None = None,
    node: str = START,
    algorithm: str | None = None,
    target: str | None = None,
    threads: Threads = AUTO,
    precision: str | None = None,
    equity: bool = True,
    memory_limit: str | None = None,
) -> None:
    """Solve a spot on many boards, and print the strategy on each.

    After an interruption, the same command with the same --table continues.

    Options:
        spot: A file with a spot; its board is ignored.
        chosen (BOARD...): Boards, 'Td9d6h AsKd2c', or a number of flops that represent all flops,
            '25'.
        table: Write a row to this file (.csv) as soon as a board is solved, and skip boards that it
            already has.
        node (LINE): Report this line, 'check'; by default 'start'.

    Settings:
        precision
        algorithm: Solve with this algorithm ('tensorcfr algorithms' lists them); by default
            {ON_SPOTS}, and dcfr with prizes.
        equity: Compute equities, which takes up to a second per flop.
    """
    if table is not None and table.suffix.lower() != ".csv":
        raise ValueError(f"--table {table}: the name of the file must end in .csv")
    rules = read_spot(spot)
    try:
        with progress_bar(total=1.0) as move:

            def solved(done: int, count: int, row: dict[str, Any]) -> None:
                figures = f"{done} of {count} boards, {row['board']}"
                move(description="solving", completed=done / count, figures=figures)

            report = solve_boards(
                rules,
                _chosen_boards(chosen),
                line=node,
                algorithm=algorithm and argument_parsers.read_algorithm(algorithm),
                target=argument_parsers.read_target(target),
                precision=precision,
                threads=threads,
                equity=equity,
                table=table,
                memory_limit=argument_parsers.read_memory_limit(memory_limit),
                progress=solved,
            )
    except KeyboardInterrupt:
        continuation = (
            f"; finished boards are in {table}: run the same command to continue" if table else ""
        )
        end(f"interrupted{continuation}", exit_status())
    print_lines(*board_lines(report, node, rules.unit_name.strip()))


def _chosen_boards(chosen: list[str]) -> list[str] | int:
    """Return a list of boards, or a number of flops."""
    text = chosen[0]
    is_number = len(chosen) == 1 and text.isascii() and text.isdigit()
    return int(text[:9]) if is_number else chosen
