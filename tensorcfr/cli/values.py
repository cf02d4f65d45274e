"""The commands ``show``, ``evaluate`` and ``size``: solutions, strategies and games looked at."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from ..analysis import values as values_of
from ..compilers import compile_game, game_size
from ..evaluation import best_response as respond
from ..evaluation import evaluate as worth
from ..formats import find_policy, save_policy
from ..formats.sources import is_foreign
from ..model.game import CompiledGame
from ..model.policy import Policy
from ..solvers.solution import Solution
from . import arguments, machine, report
from .console import errors_in_one_line, plain_console
from .machine import Json, print_json
from .selection import Node, Pattern, Player, Selection

Rows = Annotated[
    int | None,
    typer.Option(min=0, help="Infosets to print per player; 0 prints them all, as --json does."),
]
DEFAULT_ROWS = 10


def show(
    file: Annotated[Path, typer.Argument(help="A solution saved by: tensorcfr solve --save.")],
    player: Player = None,
    infoset: Pattern = None,
    node: Node = None,
    strategy: Annotated[
        bool, typer.Option("--strategy/--no-strategy", help="Print the strategy.")
    ] = True,
    values: Annotated[
        bool,
        typer.Option("--values/--no-values", help="Print reaches and expected values beside it."),
    ] = True,
    rows: Rows = None,
    as_json: Json = False,
) -> None:
    """Print a saved solution: figures, and for every infoset its reach, its expected value, and
    probability and expected value of each action."""
    with errors_in_one_line():
        solution = Solution.load(file, registered=False)
        chosen = Selection(player, infoset, node)
        table = values_of(solution.game, solution.policy) if values and strategy else None
        if as_json:
            found = chosen.infosets(solution.game) if strategy else iter(())
            listed = machine.of_infosets(solution.policy, islice(found, rows or None), table)
            print_json(machine.of_solution(solution) | {"infosets": listed})
            return
        console = plain_console()
        count = DEFAULT_ROWS if rows is None else rows
        # A selection is checked before anything is printed.
        infosets = list(chosen.infosets(solution.game)) if chosen and strategy else None
        report.print_solution(
            console, solution, rows=count, strategy=strategy and not (chosen or values)
        )
        if strategy and (chosen or values):
            report.print_infosets(console, solution.policy, infosets, table, count)


def evaluate(
    source: Annotated[
        str,
        typer.Argument(help="A solution (.npz) or a game: 'leduc', game.efg, 'openspiel:...'."),
    ],
    strategy: Annotated[
        Path | None,
        typer.Argument(help="The strategy (csv, json, parquet, npz); by default the solution's."),
    ] = None,
    locks: Annotated[
        list[str] | None,
        typer.Option(
            "--lock",
            metavar="INFOSET:ACTION=P,...",
            help="Probabilities that nobody chooses, best responses included; repeatable.",
        ),
    ] = None,
    best_response: Annotated[
        int | None,
        typer.Option(metavar="PLAYER", help="Write this player's best response to --output."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to (csv, json, parquet, npz)."),
    ] = None,
    worst: Annotated[int, typer.Option(min=0, help="Infosets to print at which most is lost.")] = 0,
    memory_limit: arguments.MemoryLimit = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: Json = False,
) -> None:
    """Evaluate a strategy: expected values, best responses, exploitability."""
    with errors_in_one_line():
        if (best_response is None) != (output is None):
            raise ValueError("--best-response and --output go together")
        if output:
            arguments.check_target("--output", output, force=force)
        limit = arguments.read_memory_limit(memory_limit)
        game, policy = _game_and_policy(source, strategy, limit)
        given = arguments.read_locks(game, locks or [])
        evaluation = worth(game, policy, locks=given)
        losses = values_of(game, policy).worst(worst) if worst else []
        response = None
        if best_response is not None and output is not None:
            response = respond(game, policy, best_response, locks=given)
            save_policy(response.policy, output)
        if as_json:
            said: dict[str, Any] = {"game": machine.of_game(game)}
            said |= machine.of_evaluation(game, evaluation)
            said["worst"] = [{"infoset": label, "loss": loss} for label, loss in losses]
            print_json(said)
            return
        console = plain_console()
        report.print_evaluation(console, game, evaluation, losses)
        if response is not None:
            report.print_line(
                console,
                f"wrote {output}: the best response of player {best_response}, "
                f"value {response.value + 0.0:+.6g}",
            )


def size(
    game: Annotated[
        str, typer.Argument(help="A built-in game, a file of Gambit, or 'openspiel:...'.")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PARAMETER=VALUE", help="A parameter of the game; repeatable."
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(help="How long histories may be sampled.")] = 2.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the sampling.")] = 0,
    as_json: Json = False,
) -> None:
    """Tell how large a game is, without compiling it: counted where it has private hands, sampled
    where it is a tree of histories."""
    with errors_in_one_line():
        given = arguments.read_settings(settings or [])
        if given and is_foreign(game):
            raise ValueError(f"--set is for built-in games, not for {game!r}")
        found = game_size(game, seconds=seconds, seed=seed, **given)
        if as_json:
            print_json(found.to_dict())
        else:
            for line in str(found).splitlines():
                report.print_line(plain_console(), line)


def _game_and_policy(
    source: str, strategy: Path | None, limit: int | None
) -> tuple[CompiledGame, Policy]:
    """The game and the policy to evaluate."""
    if source.endswith(".npz"):
        solution = Solution.load(source, registered=False, memory_limit=limit)
        game = solution.game
        return game, solution.policy if strategy is None else find_policy(game, strategy)
    if strategy is None:
        raise ValueError(f"which strategy of {source}? give a file: csv, json, parquet or npz")
    game = compile_game(source, memory_limit=limit)
    return game, find_policy(game, strategy)
