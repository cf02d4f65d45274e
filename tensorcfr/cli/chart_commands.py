"""Commands ``chart`` and ``draw``: a strategy, and the history tree of a small game."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..compilers import compile_game
from ..model.compiled_game import CompiledGame
from ..solvers.choose import resolve_algorithm
from ..solvers.driver import solve as run
from ..solvers.solution import Solution
from . import argument_parsers, report
from .declared_options import LargeNumber, Output, command


@command()
def chart(
    source: str,
    *,
    output: Output = None,
    node: str | None = None,
    listed: Annotated[bool, typer.Option("--list")] = False,
    algorithm: str | None = None,
    iters: LargeNumber = None,
) -> None:
    """Draw a strategy.

    The picture has hands by actions at a public node, infosets by actions in games without hands,
    or the four decisions of Kuhn poker.

    Options:
        source: A solution saved by 'tensorcfr solve --save', or a game, 'kuhn'.
        output: Write the picture to this file (.png, .svg, .pdf ...).
        node: Draw this public node: the infoset label without the hand, 'rr' in Leduc; 'start' is
            the first. By default draw Kuhn's four decisions, all infosets of games without hands,
            or the first node of other games.
        listed: List the public nodes.

    Settings:
        algorithm: Solve a game with this algorithm; by default {DEFAULTS}.
        iters (NUMBER): Solve a game with this many iterations; by default {DEFAULT_ITERATIONS}.
    """
    if output is None and not listed:
        raise ValueError(
            "there is nothing to do: give --output picture.png, or --list for the public nodes"
        )
    argument_parsers.check_plot("--output", output)
    saved = argument_parsers.is_saved(source, algorithm, iters)
    loaded = Solution.load(source, registered=False) if saved else compile_game(source)
    game = loaded.game if isinstance(loaded, Solution) else loaded
    if listed:
        report.print_public_nodes(game)
    if output:
        _check_node(game, node)
        solution = loaded if isinstance(loaded, Solution) else _solved(loaded, algorithm, iters)
        _draw(solution, node, output)
        report.print_lines(f"wrote {output}")


def _solved(game: CompiledGame, algorithm: str | None, iters: int | None) -> Solution:
    """Return a solution of the game."""
    record = resolve_algorithm(algorithm and argument_parsers.read_algorithm(algorithm), game)
    if record.is_exact:
        return run(game, record, iters=iters)
    return run(game, record, iters=argument_parsers.DEFAULT_ITERATIONS if iters is None else iters)


def _check_node(game: CompiledGame, node: str | None) -> None:
    """Check that the node exists, before the game is solved."""
    from ..plots import find_node

    if node is not None:
        find_node(game, node)


def _draw(solution: Solution, node: str | None, path: Path) -> None:
    from ..plots import has_hands, infoset_chart, is_kuhn, kuhn_stages, public_nodes, strategy_chart

    if node is None and is_kuhn(solution.game):
        kuhn_stages(solution, path=path)
    elif node is None and not has_hands(solution.game):
        infoset_chart(solution, path=path)
    else:
        strategy_chart(solution, node or next(iter(public_nodes(solution.game))), path=path)


@command()
def draw(
    source: str,
    *,
    output: Output = None,
    most: Annotated[int, typer.Option(min=1)] = 2_000,
) -> None:
    """Draw the history tree of a small game.

    Without --output, print it as text for Graphviz.

    Options:
        source: A game, 'kuhn', or a solution (.npz), whose probabilities are drawn.
        output: Write the picture by Graphviz to this file (.svg, .png ...), or its text (.dot,
            .gv).

    Settings:
        most: Draw at most this many histories.
    """
    from ..plots.trees import draw as picture
    from ..plots.trees import tree_source

    argument_parsers.check_target("--output", output)
    solution = Solution.load(source, registered=False) if source.endswith(".npz") else None
    game = solution.game if solution else compile_game(source, cut=False)
    if output is None:
        typer.echo(tree_source(game, solution, most=most), nl=False)
    elif output.suffix in (".dot", ".gv"):
        output.write_text(tree_source(game, solution, most=most), encoding="utf-8")
    else:
        picture(game, solution, path=output, most=most)
    if output:
        typer.echo(f"wrote {output}")
