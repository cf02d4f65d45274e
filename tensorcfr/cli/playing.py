"""The command ``play``: against a player who solves the rest of the game before every action."""

from __future__ import annotations

from typing import Annotated

import typer

from ..compilers import compile_game
from ..solvers.driver import solve
from ..solvers.solution import Solution
from ..subgames.play import Match
from ..subgames.resolving import ITERATIONS
from . import completion
from .console import errors_in_one_line

BLUEPRINT_ITERATIONS = 200


def play(
    source: Annotated[
        str,
        typer.Argument(
            help="A game of private hands, 'leduc' or 'nl_leduc(stack=6)', or a solution (.npz), "
            "which is then the blueprint.",
            autocompletion=completion.games,
        ),
    ],
    seat: Annotated[int, typer.Option(min=0, max=1, help="Your player.")] = 0,
    plays: Annotated[int, typer.Option(min=1, help="How many plays.")] = 1,
    method: Annotated[
        str, typer.Option(help="'unsafe', 'resolve', 'maxmargin' or 'reach-maxmargin'.")
    ] = "resolve",
    algorithm: Annotated[
        str, typer.Option(help="Solves the subgames.", autocompletion=completion.algorithms)
    ] = "cfr+",
    iters: Annotated[
        int, typer.Option(min=1, help="Iterations of the blueprint, if no solution is given.")
    ] = BLUEPRINT_ITERATIONS,
    subgame_iters: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Iterations on the rest of the game before each action; "
            f"{ITERATIONS} if the algorithm iterates.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of hands, outcomes and actions.")] = 0,
    hints: Annotated[
        bool, typer.Option("--hints", help="Print the blueprint's probabilities of your actions.")
    ] = False,
) -> None:
    """Play against the solver, which resolves before each of its actions."""
    with errors_in_one_line():
        if source.endswith(".npz"):
            blueprint = Solution.load(source)
            game = blueprint.game
        else:
            game = compile_game(source)
            blueprint = solve(game, iters=iters, checkpoints=())
        match = Match(
            game,
            blueprint,
            seat=1 - seat,
            method=method,
            algorithm=algorithm,
            iters=subgame_iters,
            seed=seed,
        )
        total = 0.0
        for number in range(1, plays + 1):
            match.deal()
            typer.echo(f"play {number}: you are player {seat} and hold {match.hand(seat)}")
            _finish(match, seat, hints=hints)
            won = match.utilities()[seat]
            total += won
            other = match.hand(1 - seat)
            typer.echo(f"over: {' '.join(match.steps)}; the solver held {other}")
            typer.echo(f"you get {won:+g}, in all {total:+g}")


def _finish(match: Match, seat: int, *, hints: bool) -> None:
    """Play to the end, asking for the actions of the seat."""
    while not match.is_over:
        if match.to_act != seat:
            typer.echo(f"the solver: {match.resolve_and_act()}")
            continue
        said = f"after {' '.join(match.steps)}" if match.steps else "you begin"
        if hints:
            chances = (f"{action} {p:.3f}" for action, p in match.probabilities().items())
            typer.echo(f"blueprint: {', '.join(chances)}")
        while True:
            action = typer.prompt(f"{said}: {', '.join(match.actions)}")
            if action in match.actions:
                break
            typer.echo(f"there is no action {action!r}", err=True)
        match.act(action)
