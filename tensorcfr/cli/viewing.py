"""Command ``view``: a solution in the browser, or as one page."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._util.limits import MOST_NODES_OF_PAGE
from ..compilers import compile_game
from ..solvers.driver import solve
from ..solvers.solution import Solution
from . import argument_parsers
from .declared_options import LargeNumber, command

if TYPE_CHECKING:
    from ..viewer.page import PageSize

LARGE = 20_000_000
"""Size of a page in bytes above which the command asks before it writes it."""


def _tell_size(path: Path, size: PageSize) -> None:
    """Print the size of a page, and ask before a large one is written, if somebody can answer."""
    typer.echo(f"{path}: {size}")
    if size.bytes <= LARGE or not sys.stdin.isatty():
        return
    if not typer.confirm("Write it? --line, --street and --most make it smaller."):
        raise ValueError(f"{path} is not written")


@command()
def view(
    source: str | None = None,
    second_file: Path | None = None,
    *,
    html: Path | None = None,
    most: Annotated[int, typer.Option(min=1)] = MOST_NODES_OF_PAGE,
    line: str = "",
    street: bool = False,
    algorithm: str | None = None,
    iters: LargeNumber = None,
    port: Annotated[int, typer.Option(min=0, max=65535)] = 0,
    browser: bool = True,
    folder: Path | None = None,
    force: bool = False,
) -> None:
    """Show a solution in the browser.

    Only this machine can open the page. Ctrl-C ends, and keeps solutions that the page has solved.

    Options:
        source: A solution saved by 'tensorcfr solve --save', or a game, which is solved while you
            look at it. Without it a form for a spot opens.
        second_file ([OTHER]): Another solution of the same game, or of one that differs in
            utilities only, for comparison.
        html: Write one page for sharing to this file, and do not start the viewer.
        line: Begin the page of --html at this line, 'check bet66', or infoset.
        algorithm: Solve a game with this algorithm; by default {DEFAULTS}.
        iters (NUMBER): Solve a game with this many iterations; by default {DEFAULT_ITERATIONS}.
        port: Listen on this port; 0 is any free port.
        browser: Open the browser.
        folder: Save and open spots, ranges and solutions in this folder; by default the user's
            folder for data of programs.
        force: Let --html replace an existing file.

    Settings:
        most: Write at most this many nodes, the first ones, to the page of --html.
        street: End the page of --html at the next card.
    """
    # Other commands start in less time without the viewer.
    from .. import viewer

    argument_parsers.check_target("--html", html, force=force)
    if source is None:
        if html or algorithm or iters is not None:
            raise ValueError("view: --html, --algorithm and --iters need a solution or a game")
        viewer.view(port=port, browser=browser, folder=folder, announce=typer.echo)
        return
    saved = argument_parsers.is_saved(source, algorithm, iters)
    count = argument_parsers.DEFAULT_ITERATIONS if iters is None and not saved else iters
    if saved:
        solution = Solution.load(source, registered=False)
    else:
        record = argument_parsers.read_algorithm(algorithm) if algorithm else None
        if record is not None and not record.passes_whole_game:
            raise ValueError(
                "the viewer solves only by algorithms that pass over the whole game, not by "
                f"{record.name}: solve the game first and view the solution"
            )
        # A page for sharing shows the result, so solve before writing it.
        solution = solve(compile_game(source), record, iters=(count or 0) if html else 0)
    second = Solution.load(second_file, registered=False) if second_file else None
    if html:
        viewer.save_html(
            solution,
            html,
            second=second,
            most=most,
            line=line,
            street=street,
            tell=partial(_tell_size, html),
        )
        typer.echo(f"wrote {html}")
    else:
        viewer.view(
            solution,
            second,
            iters=count,
            port=port,
            browser=browser,
            folder=folder,
            announce=typer.echo,
        )
