"""The command ``chart``: draw a strategy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..compilers import compile_game
from ..model.game import CompiledGame
from ..solvers.choose import DEFAULT_ALGORITHM
from ..solvers.driver import solve as run
from ..solvers.solution import Solution
from . import arguments, report
from .console import errors_in_one_line, plain_console

DEFAULT_ITERATIONS = 1000
"""Number of iterations if the chart is of a game, which is solved first."""


def chart(
    source: Annotated[
        str,
        typer.Argument(help="A solution saved by: tensorcfr solve --save; or a game, 'kuhn'."),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The picture (.png, .svg, .pdf ...).")
    ] = None,
    node: Annotated[
        str | None,
        typer.Option(
            help="The public node: the infoset label without the hand, 'rr' in Leduc; 'start' for "
            "the first.  By default Kuhn's four decisions, in games without hands all infosets, "
            "elsewhere the first node."
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the public nodes.")] = False,
    algorithm: Annotated[
        str | None, typer.Option(help=f"What solves a game; by default {DEFAULT_ALGORITHM}.")
    ] = None,
    iters: Annotated[
        int | None, typer.Option(help=f"Iterations to run; by default {DEFAULT_ITERATIONS}.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the picture.")] = False,
) -> None:
    """Draw a strategy: hands by actions at a public node, infosets by actions in games without
    hands, or Kuhn's four decisions."""
    with errors_in_one_line():
        if output is None and not listed:
            raise ValueError("where to? --output picture.png (or --list, for the public nodes)")
        if output:
            arguments.check_plot(output, force=force, option="--output")
        is_saved = source.endswith(".npz")
        if is_saved and (algorithm is not None or iters is not None):
            raise ValueError(f"{source} is solved already: it takes no --algorithm or --iters")
        found = Solution.load(source, registered=False) if is_saved else compile_game(source)
        console = plain_console()
        game = found.game if isinstance(found, Solution) else found
        if listed:
            report.print_public_nodes(console, game)
        if output:
            _check_node(game, node)
            solution = found if isinstance(found, Solution) else _solved(found, algorithm, iters)
            _draw(solution, node, output)
            report.print_line(console, f"wrote {output}")


def _solved(game: CompiledGame, algorithm: str | None, iters: int | None) -> Solution:
    """A solution of the game."""
    record = arguments.read_algorithm(algorithm or DEFAULT_ALGORITHM, simultaneous=False)
    if record.is_exact:
        return run(game, record, iters=iters)
    return run(game, record, iters=DEFAULT_ITERATIONS if iters is None else iters)


def _check_node(game: CompiledGame, node: str | None) -> None:
    """Check that the node exists, before the game is solved."""
    from ..plots import find_node

    if node is not None:
        find_node(game, node)


def _draw(solution: Solution, node: str | None, path: Path) -> None:
    from ..plots import (
        has_hands,
        infoset_chart,
        is_kuhn,
        kuhn_stages,
        public_nodes,
        strategy_chart,
    )

    if node is None and is_kuhn(solution.game):
        kuhn_stages(solution, path=path)
    elif node is None and not has_hands(solution.game):
        infoset_chart(solution, path=path)
    else:
        strategy_chart(solution, node or next(iter(public_nodes(solution.game))), path=path)
