"""Application with its groups of commands; ``walkthrough``, ``games`` and ``algorithms``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .._util.version import __version__
from ..analysis.walkthroughs import walkthrough as walk
from ..compilers import compile_game
from . import (
    argument_parsers,
    boards_command,
    chart_commands,
    compile_command,
    diagnose_command,
    exports,
    hands_command,
    icm_command,
    playing,
    protocol_commands,
    report,
    respond_command,
    solving,
    spot_command,
    sweep_commands,
    values,
    viewing,
)
from .commands import Command, Group, read_settings
from .console import errors_in_one_line
from .declared_options import command
from .guide import guide

app = typer.Typer(
    name="tensorcfr",
    cls=Group,
    help="Solve extensive-form games of imperfect information.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    """Print the version and exit, if requested."""
    if value:
        typer.echo(f"tensorcfr {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
    settings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Read options and settings from this TOML file: keys at its top are for all "
            "commands, and keys in a table for the command of that name. Also accepted after "
            "the command.",
        ),
    ] = None,
) -> None:
    """Solve extensive-form games of imperfect information."""
    group: Any = ctx.command
    if settings is not None:
        with errors_in_one_line():
            ctx.default_map = read_settings(settings, group.commands)
    if ctx.invoked_subcommand is None:
        typer.echo(guide())


@command()
def walkthrough(
    game: str = "kuhn",
    *,
    algorithm: str = "chance_sampling(alternating=False)",
    iters: int = 2,
    deal: str | None = None,
    seed: int | None = None,
    html: Path | None = None,
    line: str | None = None,
    force: bool = False,
) -> None:
    """Show single iterations with every number, before and after.

    Options:
        game: A built-in game; 'tensorcfr games' lists them.
        algorithm: Run this iterative algorithm; 'tensorcfr algorithms' lists them.
        iters: Show this many iterations.
        deal (A,B,...): Fix the outcomes of the first chance nodes, in this order.
        html: Write a page to this file that plays the iterations on the tree of histories.

    Settings:
        seed
        line: Show only the histories after 'A,B,...' in the page of --html.
        force: Let --html replace an existing file.
    """
    argument_parsers.check_target("--html", html, force=force)
    if line is not None and html is None:
        raise ValueError("walkthrough: --line takes --html")
    arguments: Any = compile_game(game, cut=False), argument_parsers.read_algorithm(algorithm)
    options: Any = {"iters": iters, "deal": argument_parsers.read_deal(deal), "seed": seed}
    if html is None:
        report.print_walkthrough(walk(*arguments, **options))
        return
    # Other commands start in less time without the viewer.
    from ..viewer import iteration_page

    steps = argument_parsers.read_deal(line) or ()
    iteration_page(*arguments, **options, line=steps).save(html)
    typer.echo(f"wrote {html}")


def games() -> None:
    """List the built-in games and their parameters."""
    report.print_games()


def algorithms() -> None:
    """List the algorithms and their sources."""
    report.print_algorithms()


COMMANDS = {
    "Solve": (solving.solve, values.size, games, algorithms, walkthrough),
    "Look": (viewing.view, values.show, chart_commands.chart, chart_commands.draw),
    "Poker": (
        spot_command.spot,
        boards_command.boards,
        playing.play,
        icm_command.icm,
        hands_command.hands,
    ),
    "Compare": (
        values.evaluate,
        exports.compare,
        diagnose_command.diagnose,
        sweep_commands.sweep,
        sweep_commands.plot,
        respond_command.respond,
        values.regrets,
    ),
    "Files": (exports.export,),
    "Serve": (protocol_commands.upi, protocol_commands.mcp, compile_command.compile),
}
"""Commands by purpose, in the order of the help."""
for panel, commands in COMMANDS.items():
    for function in commands:
        app.command(cls=Command, rich_help_panel=panel)(function)
