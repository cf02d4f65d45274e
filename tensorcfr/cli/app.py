"""The commands, in the order of the help; ``walkthrough``, ``games`` and ``algorithms``."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from ..analysis.walkthroughs import walkthrough as walk
from ..compilers import compile_game
from . import (
    arguments,
    boards,
    charts,
    exports,
    holdem,
    playing,
    report,
    solving,
    sweeps,
    values,
    viewing,
)
from .console import errors_in_one_line, plain_console

app = typer.Typer(
    name="tensorcfr",
    help="Solve extensive-form games of imperfect information.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    """Print the version and end, if asked."""
    if asked:
        typer.echo(f"tensorcfr {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Solve extensive-form games of imperfect information."""


for command in (
    *(sweeps.sweep, sweeps.plot, charts.chart, exports.export, exports.compare),
    *(values.show, values.evaluate, values.size, values.regrets, charts.draw, viewing.view),
    *(holdem.holdem, boards.boards, playing.play, solving.solve),
):
    app.command()(command)


@app.command()
@errors_in_one_line()
def walkthrough(
    game: Annotated[str, typer.Argument(help="A built-in game (see: tensorcfr games).")] = "kuhn",
    algorithm: Annotated[
        str, typer.Option(help="Any iterative algorithm (see: tensorcfr algorithms).")
    ] = "chance_sampling(alternating=False)",
    iters: Annotated[int, typer.Option(help="Iterations to show.")] = 2,
    deal: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Outcomes of the first chance nodes, in this order."),
    ] = None,
    seed: arguments.Seed = None,
) -> None:
    """Show single iterations with every number, before and after."""
    walked = walk(
        compile_game(game, cut=False),
        arguments.read_algorithm(algorithm),
        iters=iters,
        deal=arguments.read_deal(deal),
        seed=seed,
    )
    report.print_walkthrough(plain_console(), walked)


@app.command()
def games() -> None:
    """List the built-in games and their parameters."""
    report.print_games(plain_console())


@app.command()
def algorithms() -> None:
    """List the algorithms and their sources."""
    report.print_algorithms(plain_console())
