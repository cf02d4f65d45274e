"""The command ``regrets``: what the strategies of a solve earn and regret, beside the bounds."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from ..analysis.regret_bounds import regrets as sum_regrets
from ..compilers import compile_game
from . import arguments
from .console import errors_in_one_line, plain_console


def regrets(
    game: Annotated[str, typer.Argument(help="A game (see: tensorcfr games).")] = "kuhn",
    algorithm: Annotated[
        str, typer.Option(help="Any iterative algorithm (see: tensorcfr algorithms).")
    ] = "cfr(alternating=False)",
    checkpoints: Annotated[
        str, typer.Option(metavar="T,T,...", help="Iterations after which to look.")
    ] = "10,100,1000",
    seed: Annotated[int | None, typer.Option(help="Seed of a sampling algorithm.")] = None,
) -> None:
    """What the strategies of all iterations earned on average, and regret; with the bounds."""
    with errors_in_one_line():
        record = arguments.read_algorithm(algorithm, simultaneous=False)
        marks = arguments.read_marks(checkpoints)
        compiled = compile_game(game)
        points = sum_regrets(compiled, record, checkpoints=marks, seed=seed)
        grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for name in ("iterations", "player", "played", "regret", "infosets", "bound"):
            grid.add_column(name, justify="right", no_wrap=True)
        for point in points:
            for player in range(compiled.n_players):
                figures = (
                    point.played[player],
                    point.average[player],
                    point.immediate[player],
                    point.average_bound[player],
                )
                grid.add_row(
                    f"{point.iteration:,}", str(player), *(f"{value:.7g}" for value in figures)
                )
        console = plain_console()
        console.print(grid)
        console.print(
            "\nplayed: average value of the strategies that were played; regret: average overall "
            "regret; infosets: average positive regrets of the infosets, summed; bound: |I| Delta "
            "sqrt(|A| T) / T.",
            style="dim",
        )
