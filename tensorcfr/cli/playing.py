"""The command ``play``: against a player who solves the rest of the game before every action."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ..compilers import compile_game
from ..formats.other_spots import ENDINGS
from ..solvers.driver import solve
from ..solvers.solution import Solution
from ..subgames.play import Match
from ..subgames.resolving import ITERATIONS
from . import arguments
from .console import takes
from .spots import GivenSpot, SpotOptions, spot_options

BLUEPRINT_ITERATIONS = 200


@dataclass(frozen=True)
class PlayOptions:
    """What ``play`` takes, the options of a spot apart."""

    source: Annotated[
        str,
        typer.Argument(
            help="A game of private hands, 'leduc' or 'nl_leduc(stack=6)'; 'holdem' with the "
            f"options of a spot, or a file with a spot ({', '.join(ENDINGS)}); or a solution "
            "(.npz), which is then the blueprint.",
            autocompletion=arguments.game_names,
        ),
    ]
    seat: Annotated[
        int, typer.Option(min=0, max=1, help="Your player; in hold'em 0 acts first.")
    ] = 0
    plays: Annotated[int, typer.Option(min=1, help="How many plays.")] = 1
    resolve_after: Annotated[
        int,
        typer.Option(
            min=0,
            help="Public cards or other outcomes that must come before the solver resolves; before "
            "that, it follows the blueprint.",
        ),
    ] = 0
    blueprint_only: Annotated[
        bool, typer.Option("--blueprint-only", help="The solver never resolves.")
    ] = False
    method: Annotated[
        str, typer.Option(help="'unsafe', 'resolve', 'maxmargin' or 'reach-maxmargin'.")
    ] = "resolve"
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="Solves the subgames; by default as the game.",
            autocompletion=arguments.algorithm_names,
        ),
    ] = None
    iters: Annotated[
        int, typer.Option(min=1, help="Iterations of the blueprint, if no solution is given.")
    ] = BLUEPRINT_ITERATIONS
    subgame_iters: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Iterations on the rest of the game before each action; "
            f"{ITERATIONS} if the algorithm iterates.",
        ),
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Of hands, outcomes and actions.")] = 0
    hints: Annotated[
        bool, typer.Option("--hints", help="Print the blueprint's probabilities of your actions.")
    ] = False


@takes(SpotOptions, PlayOptions)
def play(spot: SpotOptions, asked: PlayOptions) -> None:
    """Play against the solver, which resolves before each of its actions."""
    blueprint = _blueprint(asked.source, spot.given, asked.iters)
    match = Match(
        blueprint.game,
        blueprint,
        seat=1 - asked.seat,
        resolve_after=None if asked.blueprint_only else asked.resolve_after,
        method=asked.method,
        algorithm=asked.algorithm and arguments.read_algorithm(asked.algorithm),
        iters=asked.subgame_iters,
        seed=asked.seed,
    )
    total = fair = 0.0
    for number in range(1, asked.plays + 1):
        match.deal()
        named = match.position.nodes.player_names[asked.seat]
        typer.echo(f"play {number}: you are {named} and hold {match.hand(asked.seat)}")
        _finish(match, asked.seat, hints=asked.hints)
        won = match.utilities()[asked.seat]
        total += won
        other = match.hand(1 - asked.seat)
        typer.echo(f"over: {match.position.line}; the solver held {other}")
        unit = match.position.nodes.unit_name
        typer.echo(f"you get {won:+g}{unit}, in all {total:+g}{unit}")
        if match.game.constant_sum:
            adjusted = match.adjusted_utilities()[asked.seat]
            fair += adjusted
            typer.echo(f"without luck {adjusted:+.3g}{unit}, in all {fair:+.3g}{unit}")


def _blueprint(source: str, given: GivenSpot, iters: int) -> Solution:
    """A solution that is given, or one of the game that is."""
    path = Path(source)
    is_spot = source == "holdem" or path.suffix.lower() in ENDINGS
    if given and not is_spot:
        raise ValueError(
            f"{source} is neither 'holdem' nor a file with a spot: it takes no {', '.join(given)}"
        )
    if path.suffix == ".npz":
        return Solution.load(source)
    if is_spot:
        options = spot_options(None if source == "holdem" else path, given)
        return solve(compile_game("holdem", **options), iters=iters, checkpoints=())
    return solve(compile_game(source), iters=iters, checkpoints=())


def _finish(match: Match, seat: int, *, hints: bool) -> None:
    """Play to the end, asking for the actions of the seat."""
    while not match.is_over:
        if match.to_act != seat:
            typer.echo(f"the solver: {match.resolve_and_act()}")
            continue
        line, shown = match.position.line, match.position.shown
        said = ", ".join(filter(None, (f"after {line}" if line else "you begin", shown)))
        if hints:
            chances = (f"{action} {p:.3f}" for action, p in match.probabilities().items())
            typer.echo(f"blueprint: {', '.join(chances)}")
        while True:
            action = typer.prompt(f"{said}: {', '.join(match.actions)}")
            if action in match.actions:
                break
            typer.echo(f"there is no action {action!r}", err=True)
        match.act(action)
