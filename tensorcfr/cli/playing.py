"""Command ``play``: a match against a player who resolves the rest of the game before every
action."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..analysis import values as values_of
from ..compilers import compile_game
from ..formats.other_spots import ENDINGS
from ..games import SPOTS
from ..hands import Hand, save_hands
from ..hands.spot_decisions import nodes_of_spot
from ..hands.writing import ENDINGS as HAND_ENDINGS
from ..hands.writing import hand_of_steps
from ..solvers.driver import solve
from ..solvers.solution import Solution
from ..subgames.play import Match
from ..subgames.positions import Coach, RatedDecision
from ..subgames.resolving import ITERATIONS  # noqa: F401, named in the help
from . import argument_parsers
from .declared_options import Algorithm, FromZero, command
from .spot_options import GivenSpot, SpotOptions, spot_of

BLUEPRINT_ITERATIONS = 200
WORST = 3
"""Largest number of actions in the summary of a training."""


@dataclass(frozen=True)
class PlayOptions:
    """Options of ``play``, in addition to the options of a spot.

    Options:
        source: A game of private hands, 'leduc' or 'nl_leduc(stack=6)'; one of {SPOTS}
            with the options of a spot; a file with a spot ({ENDINGS}); or a solution (.npz), which
            becomes the blueprint.
        player (NUMBER): Play as this player; in hold'em player 0 acts first.
        plays: Play this many times.
        seed: Draw hands, outcomes and actions with this seed.
        hints: Print the blueprint's probabilities of your actions.
        train: Print the cost of each of your actions against the blueprint, and a summary
            at the end.
        save_hands (FILE): Write the plays of a spot to this file as hands (.phh, .phhs), or as the
            text of PokerStars, which trackers read (.txt).

    Settings:
        game, board, oop, ip, pot, stacks, bets, raises
        resolve_after: Resolve only after this many public cards or other outcomes; until then the
            solver follows the blueprint.
        blueprint_only: Let the solver follow the blueprint, and never resolve.
        method: Resolve by the method 'unsafe', 'resolve', 'maxmargin' or 'reach-maxmargin'.
        algorithm: Solve subgames with this algorithm; by default chosen as for the game.
        iters (NUMBER): Solve the blueprint with this many iterations if no solution is given; by
            default {BLUEPRINT_ITERATIONS}.
        subgame_iters: Solve the rest of the game with this many iterations before each action; by
            default {ITERATIONS} if the algorithm iterates.
    """

    source: Annotated[str, typer.Argument(autocompletion=argument_parsers.game_names)]
    _: KW_ONLY
    player: Annotated[int, typer.Option(min=0, max=1)] = 0
    plays: Annotated[int, typer.Option(min=1)] = 1
    resolve_after: FromZero = 0
    blueprint_only: bool = False
    method: str = "resolve"
    algorithm: Algorithm = None
    iters: Annotated[int, typer.Option(parser=argument_parsers.whole)] = BLUEPRINT_ITERATIONS
    subgame_iters: Annotated[int | None, typer.Option(min=1)] = None
    seed: FromZero = 0
    hints: bool = False
    train: bool = False
    save_hands: Path | None = None


@command(SpotOptions, PlayOptions)
def play(spot: SpotOptions, options: PlayOptions) -> None:
    """Play against the solver.

    The solver resolves before each of its actions. Type an action or the beginning of its name;
    'help' lists the actions, 'quit' ends.
    """
    target = options.save_hands
    argument_parsers.check_target("--save-hands", target)
    if target is not None and target.suffix.lower() not in HAND_ENDINGS:
        raise ValueError(f"--save-hands {target}: the name must end in {', '.join(HAND_ENDINGS)}")
    blueprint = _blueprint(options.source, spot.given, options.iters)
    if target is not None:
        nodes_of_spot(blueprint.game)
    match = Match(
        blueprint.game,
        blueprint,
        seat=1 - options.player,
        resolve_after=None if options.blueprint_only else options.resolve_after,
        method=options.method,
        algorithm=options.algorithm and argument_parsers.read_algorithm(options.algorithm),
        iters=options.subgame_iters,
        seed=options.seed,
    )
    coach = Coach(values_of(blueprint.game, blueprint)) if options.train else None
    rated: list[RatedDecision] = []
    unit, total, fair, n_played = match.position.nodes.unit_name, 0.0, 0.0, 0
    names = ("you", "solver") if options.player == 0 else ("solver", "you")
    played: list[Hand] = []
    try:
        for number in range(1, options.plays + 1):
            match.deal()
            seat_name = match.position.nodes.player_names[options.player]
            typer.echo(f"play {number}: you are {seat_name} and hold {match.hand(options.player)}")
            for decision in _finish(match, options.player, coach, hints=options.hints):
                rated.append(decision)  # One by one: those before a 'quit' count.
            if target is not None:
                steps, cards = match.steps, (match.hand(0), match.hand(1))
                record: Any = {"source": target.name, "index": number}
                played.append(hand_of_steps(match.game, steps, cards, names, **record))
            won = match.utilities()[options.player]
            total, n_played = total + won, number
            opponent_hand = match.hand(1 - options.player)
            typer.echo(f"over: {match.position.line}; the solver held {opponent_hand}")
            typer.echo(f"you get {won:+g}{unit}, in all {total:+g}{unit}")
            if match.game.constant_sum:
                adjusted = match.adjusted_utilities()[options.player]
                fair += adjusted
                typer.echo(f"without luck {adjusted:+.3g}{unit}, in all {fair:+.3g}{unit}")
    except (typer.Abort, QuitError):
        typer.echo("")
    if target is not None:
        typer.echo(f"wrote {save_hands(played, target, hero='you')}: {len(played)} hands")
    if n_played != 1 or options.plays != 1:
        mean = f", {total / n_played:+.4g}{unit} a play" if n_played else ""
        typer.echo(f"{n_played} of {options.plays} plays: in all {total:+g}{unit}{mean}")
    for line in _summary(rated, unit):
        typer.echo(line)


def _blueprint(source: str, spot_options: GivenSpot, iters: int) -> Solution:
    """Return the given solution, or solve the given game."""
    path = Path(source)
    is_spot = source in SPOTS or path.suffix.lower() in ENDINGS
    if spot_options and not is_spot:
        raise ValueError(
            f"{source} is neither one of {', '.join(SPOTS)} nor a file with a spot: it "
            f"takes no {', '.join(spot_options)}"
        )
    if path.suffix == ".npz":
        return Solution.load(source)
    if is_spot:
        game_option = {"game": source} if source in SPOTS else {}
        rules = spot_of(None if game_option else path, {**game_option, **spot_options})
        return solve(compile_game(rules.game, **rules.options), iters=iters, checkpoints=())
    return solve(compile_game(source), iters=iters, checkpoints=())


class QuitError(Exception):
    """Request of the player to end the match."""


def _finish(
    match: Match, seat: int, coach: Coach | None, *, hints: bool
) -> Iterator[RatedDecision]:
    """Play to the end; with a coach, yield the decisions of the seat."""
    while not match.is_over:
        if match.to_act != seat:
            typer.echo(f"the solver: {match.resolve_and_act()}")
            continue
        if hints:
            chances = (f"{action} {p:.3f}" for action, p in match.probabilities().items())
            typer.echo(f"blueprint: {', '.join(chances)}")
        action = _prompt_action(match)
        if coach is not None:
            rated = coach.rate(match.position, action)
            typer.echo(_describe(rated, match.position.nodes.unit_name))
            yield rated
        match.act(action)


def _prompt_action(match: Match) -> str:
    """Return the action that the player types."""
    line, shown, actions = match.position.line, match.position.shown, match.actions
    situation = ", ".join(filter(None, (f"after {line}" if line else "you begin", shown)))
    while True:
        typed = typer.prompt(f"{situation}: {', '.join(actions)}").strip()
        if typed in ("q", "quit", "exit"):
            raise QuitError
        matching = meant(typed, actions, match.steps)
        if len(matching) == 1:
            return matching[0]
        if typed in ("?", "h", "help"):
            typer.echo(f"actions: {', '.join(actions)}, or the beginning of one; quit ends")
        else:
            typer.echo(f"there is no action {typed!r}; 'help' lists the actions", err=True)


def meant(typed: str, actions: Sequence[str], steps: Sequence[str]) -> list[str]:
    """Return the actions that a typed word may mean: by name, by another name or by beginning."""
    word = typed.lower().replace("-", "")
    # Without a bet, "call" and "pass" mean to check. There is a bet if folding is possible; in Kuhn
    # poker, which calls folding a pass, there is one if the last action was a bet.
    faces_bet = "fold" in actions or (bool(steps) and steps[-1] == "bet")
    checks = [] if faces_bet else [action for action in ("call", "pass") if action in actions]
    exact = [action for action in actions if action.lower() == word]
    if exact or (word == "check" and checks):
        return exact or checks
    return [action for action in actions if word and action.lower().startswith(word)]


def _describe(rated: RatedDecision, unit: str) -> str:
    """Return a line with the cost of a decision.

    The cost is the value of the best action with this hand minus the value of the action taken, if
    both players follow the blueprint afterwards.
    """
    if not rated.cost:
        return f"{rated.action}: nothing is better"
    return f"{rated.action}: costs {rated.cost:.4g}{unit}; {rated.best} is best"


def _summary(rated: Sequence[RatedDecision], unit: str) -> list[str]:
    """Return lines with the number of costly actions, their total cost, and the worst of them."""
    if not rated:
        return []
    total = sum(decision.cost for decision in rated)
    right = sum(not decision.cost for decision in rated)
    worst = sorted(rated, key=lambda decision: -decision.cost)[:WORST]
    return [
        f"{len(rated)} decisions, {right} of them at no cost; they cost "
        f"{total:.4g}{unit}, {total / len(rated):.4g}{unit} each",
        *(f"  {decision.cost:.4g}{unit}: {decision}" for decision in worst if decision.cost),
    ]
