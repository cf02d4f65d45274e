"""The command ``view``: a solution in the browser, or as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..solvers.solution import Solution
from ..viewer import save_html
from ..viewer import view as serve
from ..viewer.page import MOST_NODES
from . import arguments
from .console import errors_in_one_line


def view(
    file: Annotated[Path, typer.Argument(help="A solution saved by: tensorcfr solve --save.")],
    other: Annotated[
        Path | None, typer.Argument(help="Another solution of the same game, shown beside it.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write one page to this file instead, for sharing.")
    ] = None,
    most: Annotated[
        int, typer.Option(min=1, help="Nodes that the page of --html holds, the first ones.")
    ] = MOST_NODES,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: any free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Let --html overwrite a file.")] = False,
) -> None:
    """Look at a solution in the browser, on this machine alone; Ctrl-C ends."""
    with errors_in_one_line():
        if html:
            arguments.check_target("--html", html, force=force)
        solution = Solution.load(file, registered=False)
        second = Solution.load(other, registered=False) if other else None
        if html:
            save_html(solution, html, other=second, most=most)
            typer.echo(f"wrote {html}")
        else:
            serve(solution, second, port=port, browser=browser, announce=typer.echo)
