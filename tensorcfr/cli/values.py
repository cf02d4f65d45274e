"""The commands ``show``, ``evaluate``, ``size`` and ``regrets``: solutions, strategies and games
looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..analysis import values as values_of
from ..analysis.public_nodes import find_node
from ..analysis.reached_regrets import regrets_of
from ..analysis.regret_bounds import regrets as sum_regrets
from ..compilers import compile_game, game_size
from ..evaluation import best_response as respond
from ..evaluation import evaluate as worth
from ..formats import find_policy, save_policy
from ..model.game import CompiledGame, InfosetRows
from ..model.policy import Policy
from ..solvers.solution import Solution
from . import arguments, machine, report
from .console import errors_in_one_line, plain_console
from .machine import Json, print_json

Player = Annotated[
    int | None, typer.Option(metavar="NUMBER", help="Only the infosets of this player.")
]
Pattern = Annotated[
    str | None,
    typer.Option(
        metavar="PATTERN",
        help="Only infosets whose label fits, '*' being anything and '?' one character: 'K*'.",
    ),
]
Node = Annotated[
    str | None,
    typer.Option(
        help="Only the infosets of this public node: the label without the hand, 'rr' in Leduc; "
        "'start' for the first (see: tensorcfr chart --list)."
    ),
]


@dataclass(frozen=True)
class Selection:
    """Some infosets of a game; by default all of them."""

    player: int | None = None
    pattern: str | None = None
    node: str | None = None

    def __bool__(self) -> bool:
        return any(part is not None for part in (self.player, self.pattern, self.node))

    def infosets(self, game: CompiledGame) -> Iterator[InfosetRows]:
        """The infosets, some at a time, in the game's order.

        Raises:
            ValueError: There is no such player or node, or no label fits the pattern.
        """
        if self.player is not None and not 0 <= self.player < game.n_players:
            raise ValueError(
                f"--player: {game.name} has players 0 to {game.n_players - 1}, not {self.player}"
            )
        found = self._found(game)
        if (first := next(found, None)) is None:
            raise ValueError(f"{game.name} has no infoset like that: {self}")
        return chain([first], found)

    def _found(self, game: CompiledGame) -> Iterator[InfosetRows]:
        node = None if self.node is None else find_node(game, self.node)
        for player in range(game.n_players):
            if self.player not in (None, player) or (node and node.player != player):
                continue
            listed = game.rows(player) if node is None else iter([node.infosets])
            for infosets in listed:
                fits = [
                    at
                    for at, label in enumerate(infosets.labels)
                    if self.pattern is None or fnmatchcase(label.strip(), self.pattern.strip())
                ]
                if fits:
                    yield infosets.select(np.array(fits))

    def __str__(self) -> str:
        said = {"--player": self.player, "--infoset": self.pattern, "--node": self.node}
        return ", ".join(f"{name} {value}" for name, value in said.items() if value is not None)


OffPath = Annotated[
    bool,
    typer.Option(
        "--off-path",
        help="Print the largest and mean regret given that an infoset is reached, over all.",
    ),
]
Rows = Annotated[
    int | None,
    typer.Option(min=0, help="Infosets to print per player; 0 prints them all, as --json does."),
]
DEFAULT_ROWS = 10


@errors_in_one_line()
def show(
    file: Annotated[Path, typer.Argument(help="A solution saved by: tensorcfr solve --save.")],
    player: Player = None,
    infoset: Pattern = None,
    node: Node = None,
    strategy: Annotated[
        bool, typer.Option("--strategy/--no-strategy", hidden=True, help="Print the strategy.")
    ] = True,
    values: Annotated[
        bool,
        typer.Option("--values/--no-values", help="Print reaches and expected values beside it."),
    ] = True,
    rows: Rows = None,
    off_path: OffPath = False,
    as_json: Json = False,
) -> None:
    """Print a saved solution: figures, and for every infoset its reach, its expected value, and
    probability and expected value of each action."""
    solution = Solution.load(file, registered=False)
    chosen = Selection(player, infoset, node)
    wanted = values and strategy
    table = values_of(solution.game, solution.policy) if wanted or off_path else None
    regrets = regrets_of(table) if table is not None and off_path else None
    table = table if wanted else None
    if as_json:
        found = chosen.infosets(solution.game) if strategy else iter(())
        listed = machine.of_policy(solution.policy, found, table)
        infosets = list(islice(listed, rows or None))
        said = machine.of_solution(solution) | machine.of_regrets(regrets)
        print_json(said | {"infosets": infosets})
        return
    console = plain_console()
    count = DEFAULT_ROWS if rows is None else rows
    # A selection is checked before anything is printed.
    selected = list(chosen.infosets(solution.game)) if chosen and strategy else None
    report.print_solution(
        console, solution, rows=count, strategy=strategy and not (chosen or values)
    )
    if strategy and (chosen or values):
        report.print_infosets(console, solution.policy, selected, table, count)
    if regrets is not None:
        report.print_regrets(console, solution.game, regrets)


@errors_in_one_line()
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
    off_path: OffPath = False,
    memory_limit: arguments.MemoryLimit = None,
    as_json: Json = False,
) -> None:
    """Evaluate a strategy: expected values, best responses, exploitability."""
    if (best_response is None) != (output is None):
        raise ValueError("--best-response and --output go together")
    arguments.check_target("--output", output)
    limit = arguments.read_memory_limit(memory_limit)
    game, policy = _game_and_policy(source, strategy, limit)
    given = arguments.read_locks(game, locks or [])
    evaluation = worth(game, policy, locks=given)
    table = values_of(game, policy) if worst or off_path else None
    losses = table.worst(worst) if table is not None and worst else []
    regrets = regrets_of(table) if table is not None and off_path else None
    response = None
    if best_response is not None and output is not None:
        response = respond(game, policy, best_response, locks=given)
        save_policy(response.policy, output)
    if as_json:
        said: dict[str, Any] = {"game": machine.of_game(game)}
        said |= machine.of_evaluation(game, evaluation)
        said |= machine.of_regrets(regrets)
        said["worst"] = [{"infoset": label, "loss": loss} for label, loss in losses]
        print_json(said)
        return
    console = plain_console()
    report.print_evaluation(console, game, evaluation, losses, regrets)
    if response is not None:
        report.print_line(
            console,
            f"wrote {output}: the best response of player {best_response}, "
            f"value {response.value + 0.0:+.6g}",
        )


@errors_in_one_line()
def size(
    game: Annotated[
        str, typer.Argument(help="A built-in game, a file of Gambit, or 'openspiel:...'.")
    ],
    settings: arguments.Settings = None,
    seconds: Annotated[
        float, typer.Option(hidden=True, help="How long histories may be sampled.")
    ] = 2.0,
    seed: Annotated[int, typer.Option(min=0, hidden=True, help="Of the sampling.")] = 0,
    as_json: Json = False,
) -> None:
    """Tell how large a game is, without compiling it: counted where it has private hands, sampled
    where it is a tree of histories."""
    given = arguments.read_settings(settings, game)
    found = game_size(game, seconds=seconds, seed=seed, **given)
    if as_json:
        print_json(found.to_dict())
    else:
        for line in found.described("--cut always").splitlines():
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


@errors_in_one_line()
def regrets(
    game: Annotated[str, typer.Argument(help="A game (see: tensorcfr games).")] = "kuhn",
    algorithm: Annotated[
        str, typer.Option(help="Any iterative algorithm (see: tensorcfr algorithms).")
    ] = "cfr(alternating=False)",
    checkpoints: Annotated[
        str, typer.Option(metavar="T,T,...", help="Iterations after which to look.")
    ] = "10,100,1000",
    seed: arguments.Seed = None,
) -> None:
    """What the strategies of all iterations earned on average, and regret; with the bounds."""
    record = arguments.read_algorithm(algorithm)
    marks = arguments.read_marks(checkpoints)
    compiled = compile_game(game, cut=False)
    points = sum_regrets(compiled, record, checkpoints=marks, seed=seed)
    columns = ("iterations", "player", "played", "regret", "infosets", "bound")
    grid = report.new_table(None, *columns)
    for point in points:
        rows = zip(point.played, point.average, point.immediate, point.average_bound, strict=True)
        for player, figures in enumerate(rows):
            cells = (f"{value:.7g}" for value in figures)
            grid.add_row(f"{point.iteration:,}", str(player), *cells)
    console = plain_console()
    console.print(grid)
    console.print(
        "\nplayed: average value of the strategies that were played; regret: average overall "
        "regret; infosets: average positive regrets of the infosets, summed; bound: |I| Delta "
        "sqrt(|A| T) / T.",
        style="dim",
    )
