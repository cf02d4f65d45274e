"""Commands ``show``, ``evaluate``, ``size`` and ``regrets``, which print facts about solutions,
strategies and games."""

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
from ..analysis.named_nodes import find_node
from ..analysis.reached_regrets import regrets_of
from ..analysis.regret_bounds import regrets as sum_regrets
from ..compilers import compile_game, game_size
from ..evaluation import best_response as respond
from ..evaluation import evaluate as worth
from ..formats import find_policy, save_policy
from ..model.compiled_game import CompiledGame
from ..model.infoset_rows import InfosetRows
from ..model.policy import Policy
from ..solvers.solution import Solution
from . import argument_parsers, json_output, report
from .console import plain_console
from .declared_options import FromZero, Json, Locks, Output, Settings, command
from .json_output import print_json


@dataclass(frozen=True)
class Selection:
    """Selection of infosets of a game; by default all of them."""

    player: int | None = None
    pattern: str | None = None
    node: str | None = None

    def __bool__(self) -> bool:
        return any(part is not None for part in (self.player, self.pattern, self.node))

    def infosets(self, game: CompiledGame) -> Iterator[InfosetRows]:
        """Return an iterator over the selected infosets, some at a time, in the game's order.

        Raises:
            ValueError: There is no such player or node, or no label matches the pattern.
        """
        if self.player is not None and not 0 <= self.player < game.n_players:
            raise ValueError(
                f"--player: {game.name} has players 0 to {game.n_players - 1}, not {self.player}"
            )
        selected = self._select(game)
        if (first := next(selected, None)) is None:
            raise ValueError(f"{game.name} has no infoset for {self}")
        return chain([first], selected)

    def _select(self, game: CompiledGame) -> Iterator[InfosetRows]:
        node = None if self.node is None else find_node(game, self.node)
        for player in range(game.n_players):
            if self.player not in (None, player) or (node and node.player != player):
                continue
            listed = game.rows(player) if node is None else iter([node.infosets])
            for infosets in listed:
                fits = [
                    index
                    for index, label in enumerate(infosets.labels)
                    if self.pattern is None or fnmatchcase(label.strip(), self.pattern.strip())
                ]
                if fits:
                    yield infosets.select(np.array(fits))

    def __str__(self) -> str:
        options = {"--player": self.player, "--infoset": self.pattern, "--node": self.node}
        return ", ".join(f"{name} {value}" for name, value in options.items() if value is not None)


DEFAULT_ROWS = 10


@command()
def show(
    file: Path,
    *,
    player: int | None = None,
    infoset: str | None = None,
    node: str | None = None,
    strategy: bool = True,
    values: bool = True,
    rows: Annotated[int | None, typer.Option(min=0)] = None,
    off_path: bool = False,
    as_json: Json = False,
) -> None:
    """Print a saved solution.

    It has the figures of the solution, and for every infoset its reach, its expected value, and the
    probability and expected value of each action.

    Options:
        file: A solution saved by 'tensorcfr solve --save'.
        player (NUMBER): Show only infosets of this player.
        infoset (PATTERN): Show only infosets whose label matches, where '*' is any text and '?' one
            character, 'K*'.
        node: Show only infosets of this public node: the label without the hand, 'rr' in Leduc;
            'start' is the first ('tensorcfr chart --list' lists them).
        values: Print reaches and expected values, too.
        rows: Print this many infosets per player; 0 prints all, which --json does by default.
        off_path: Print the largest and the mean regret over all infosets, given that they are
            reached.

    Settings:
        strategy: Print the strategy.
    """
    solution = Solution.load(file, registered=False)
    chosen = Selection(player, infoset, node)
    needs_values = values and strategy
    table = values_of(solution.game, solution.policy) if needs_values or off_path else None
    regrets = regrets_of(table) if table is not None and off_path else None
    table = table if needs_values else None
    if as_json:
        infoset_rows = chosen.infosets(solution.game) if strategy else iter(())
        listed = json_output.of_policy(solution.policy, infoset_rows, table)
        infosets = list(islice(listed, rows or None))
        document = json_output.of_solution(solution) | json_output.of_regrets(regrets)
        print_json(document | {"infosets": infosets})
        return
    count = DEFAULT_ROWS if rows is None else rows
    # Check the selection before anything is printed.
    selected = list(chosen.infosets(solution.game)) if chosen and strategy else None
    report.print_solution(solution, rows=count, strategy=strategy and not (chosen or values))
    if strategy and (chosen or values):
        report.print_infosets(solution.policy, selected, table, count)
    if regrets is not None:
        report.print_regrets(solution.game, regrets)


@command()
def evaluate(
    source: str,
    strategy: Path | None = None,
    *,
    locks: Locks = None,
    best_response: int | None = None,
    output: Output = None,
    worst: FromZero = 0,
    off_path: bool = False,
    memory_limit: str | None = None,
    as_json: Json = False,
) -> None:
    """Evaluate a strategy: values, best responses, exploitability.

    Options:
        source: A solution (.npz) or a game: 'leduc', game.efg, 'openspiel:...'.
        strategy: Evaluate this strategy (csv, json, parquet, npz); by default the solution's.
        best_response (PLAYER): Write the best response of this player to --output.
        output: Write to this file (csv, json, parquet, npz).
        worst: Print this many infosets with the largest losses.
        off_path: Print the largest and the mean regret over all infosets, given that they are
            reached.

    Settings:
        locks (INFOSET:ACTION=P,...): Fix probabilities of an infoset, also in best responses;
            repeatable.
    """
    if (best_response is None) != (output is None):
        raise ValueError("--best-response and --output must be given together")
    argument_parsers.check_target("--output", output)
    limit = argument_parsers.read_memory_limit(memory_limit)
    game, policy = _game_and_policy(source, strategy, limit)
    locked = argument_parsers.read_locks(game, locks or [])
    evaluation = worth(game, policy, locks=locked)
    table = values_of(game, policy) if worst or off_path else None
    losses = table.worst(worst) if table is not None and worst else []
    regrets = regrets_of(table) if table is not None and off_path else None
    response = None
    if best_response is not None and output is not None:
        response = respond(game, policy, best_response, locks=locked)
        save_policy(response.policy, output)
    if as_json:
        document: dict[str, Any] = {"game": json_output.of_game(game)}
        document |= json_output.of_evaluation(game, evaluation)
        document |= json_output.of_regrets(regrets)
        document["worst"] = [{"infoset": label, "loss": loss} for label, loss in losses]
        print_json(document)
        return
    report.print_evaluation(game, evaluation, losses, regrets)
    if response is not None:
        report.print_lines(
            f"wrote {output}: the best response of player {best_response}, "
            f"value {response.value + 0.0:+.6g}",
        )


@command()
def size(
    game: str,
    *,
    settings: Settings = None,
    seconds: float = 2.0,
    seed: FromZero = 0,
    as_json: Json = False,
) -> None:
    """Print the size of a game without compiling it.

    Games with private hands are counted; other games are estimated from sampled histories.

    Options:
        game: A built-in game, a file of Gambit, or 'openspiel:...'.

    Settings:
        seconds: Sample histories for this many seconds.
        seed: Sample with this seed.
    """
    parameters = argument_parsers.read_settings(settings, game)
    measured = game_size(game, seconds=seconds, seed=seed, **parameters)
    if as_json:
        print_json(measured.to_dict())
    else:
        report.print_lines(*measured.described("--cut always").splitlines())


def _game_and_policy(
    source: str, strategy: Path | None, limit: int | None
) -> tuple[CompiledGame, Policy]:
    """Return the game and the policy to evaluate."""
    if source.endswith(".npz"):
        solution = Solution.load(source, registered=False, memory_limit=limit)
        game = solution.game
        return game, solution.policy if strategy is None else find_policy(game, strategy)
    if strategy is None:
        raise ValueError(f"give a file with a strategy of {source}: csv, json, parquet or npz")
    game = compile_game(source, memory_limit=limit)
    return game, find_policy(game, strategy)


@command()
def regrets(
    game: str = "kuhn",
    *,
    algorithm: str = "cfr(alternating=False)",
    checkpoints: str = "10,100,1000",
    seed: int | None = None,
) -> None:
    """Print average regrets of all iterations, with their bounds.

    The table also has the average value of the strategies that were played.

    Options:
        game: A game; 'tensorcfr games' lists them.
        algorithm: Run this iterative algorithm; 'tensorcfr algorithms' lists them.
        checkpoints (T,T,...): Print regrets after these iterations.

    Settings:
        seed
    """
    record = argument_parsers.read_algorithm(algorithm)
    marks = argument_parsers.read_marks(checkpoints)
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
