"""The command ``draw``: a small game as a tree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..compilers import compile_game
from ..solvers.solution import Solution
from . import arguments
from .console import errors_in_one_line


def draw(
    source: Annotated[
        str, typer.Argument(help="A game, 'kuhn', or a solution (.npz) with its probabilities.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The picture (.svg, .png ...), by Graphviz; .dot or .gv: text."
        ),
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Histories that may be drawn.")] = 2_000,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the picture.")] = False,
) -> None:
    """Draw the tree of a small game; without --output, print it as text for Graphviz."""
    from ..plots.trees import draw as picture
    from ..plots.trees import tree_source

    with errors_in_one_line():
        if output:
            arguments.check_target("--output", output, force=force)
        solution = Solution.load(source, registered=False) if source.endswith(".npz") else None
        game = solution.game if solution else compile_game(source)
        if output is None:
            typer.echo(tree_source(game, solution, most=most), nl=False)
        elif output.suffix in (".dot", ".gv"):
            output.write_text(tree_source(game, solution, most=most), encoding="utf-8")
        else:
            picture(game, solution, path=output, most=most)
        if output:
            typer.echo(f"wrote {output}")
