"""Printed reports of solutions, games and algorithms.

The output suits a pipe: 80 columns, no boxes, ASCII except in labels of the game. Rich prints
colours on terminals only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..algorithms import ALGORITHMS
from ..analysis.comparison import Comparison
from ..analysis.named_nodes import public_nodes
from ..analysis.policy_values import Values
from ..analysis.reached_regrets import ConditionalRegrets
from ..analysis.walkthroughs import Walkthrough
from ..evaluation import Evaluation
from ..evaluation.metrics import meaning_of_exploitability
from ..games import GAMES, GameEntry
from ..model.compiled_game import CompiledGame
from ..model.infoset_rows import InfosetRows
from ..model.policy import Policy
from ..solvers.solution import Solution, TracePoint
from ..sweep import Reached, SweepRow, reached
from .console import plain_console

FEW_ACTIONS = 4
"""Largest number of actions for which all are printed; with more, unplayed actions are omitted."""

NEVER_PLAYED = 0.0005
"""Probability below which an action counts as unplayed: it would be printed as 0.000."""

LABEL_WIDTH = 40
"""Largest number of characters of an infoset label on one line."""

WIDEST = 1_000
"""Largest number of columns of a table of single numbers."""

GAP = "  "
"""Blanks between two columns."""

ROUND_STEPS = (1, 2, 5)
"""Iterations of printed checkpoints: 1, 2, 5, 10, 20, 50, ... and the last."""


def print_solution(solution: Solution, *, rows: int, strategy: bool) -> None:
    """Print the whole report: game, figures, trace, strategy."""
    if solution.is_evaluated:
        _print(_game_line(solution.game))
        locked = f", {solution.locks.description}" if solution.locks else ""
        heading = (str(solution.algorithm), "bold")
        _print(Text.assemble(heading, f"{locked}: {solution.status.value}"))
        _print("")
        _print(_figures(solution))
        _print_meaning(solution.game)
    else:
        _print(Text(solution.summary()))
    if solution.trace:
        _print("")
        _print(_trace(solution.trace))
    if strategy:
        for player in range(solution.game.n_players):
            _print("")
            _print_strategy(solution, player, rows)


def print_infosets(
    policy: Policy,
    infosets: Sequence[InfosetRows] | None,
    values: Values | None,
    rows: int,
) -> None:
    """Print reach and value of infosets, and probabilities and values of their actions.

    Args:
        policy: Strategies of all players.
        infosets: Infosets to print; None for all.
        values: Expected values; None to print only probabilities.
        rows: Number of infosets to print per player; 0 prints all.
    """
    game = policy.game
    for player in range(game.n_players):
        if infosets is None:
            own_infosets, count = game.rows(player), game.count_of(player)
        else:
            chosen = [batch for batch in infosets if batch.player == player]
            own_infosets, count = iter(chosen), sum(len(batch.labels) for batch in chosen)
        if not count:
            continue
        _print("")
        numbers = () if values is None else ("reach", "EV")
        grid = new_table(f"player {player}, infoset", *numbers, width=LABEL_WIDTH)
        grid.add_column("probability" + (" (EV)" if values else ""), overflow="fold")
        for cells in islice(_infoset_cells(policy, own_infosets, values), rows or None):
            grid.add_row(*map(Text, cells))
        _print(grid)
        if rows:
            _print_left_out(count - rows)
    if values is not None:
        _print("")
        note = (
            "reach: probability of the infoset under these strategies; EV: expected utility "
            "of its player once it is reached; -: chance and the others never lead there."
        )
        _print(Text(note, "dim"))


def _infoset_cells(
    policy: Policy, infosets: Iterator[InfosetRows], values: Values | None
) -> Iterator[list[str]]:
    """Yield label, reach and expected value, and ``bet 0.222 (+0.5)`` for each action."""
    game = policy.game
    for batch in infosets:
        played = policy.at(batch.numbers).tolist()
        value_rows = None if values is None else values.of(batch)
        for index, (label, actions) in enumerate(zip(batch.labels, batch.actions, strict=True)):
            value_texts = [""] * len(actions)
            figures = []
            if value_rows is not None:
                value_texts = [
                    f" ({_value(game, value)})" for value in value_rows.expected[index].tolist()
                ]
                mean = float(value_rows.infoset_expected[index])
                figures = [f"{value_rows.reach[index]:.4f}", _value(game, mean)]
            cells = zip(actions, played[index], value_texts, strict=True)
            yield [one_line(label), *figures, GAP.join(_cells(len(actions), cells))]


def _value(game: CompiledGame, value: float, form: str = "+.4g") -> str:
    """Format a value without its rounding error; NaN is a dash."""
    return "-" if value != value else f"{game.round_to_zero(value) + 0.0:{form}}"


def print_evaluation(
    game: CompiledGame,
    evaluation: Evaluation,
    worst: Sequence[tuple[str, float]],
    regrets: ConditionalRegrets | None,
) -> None:
    """Print values, best responses and exploitability.

    Regrets given that infosets are reached follow if given, and the infosets with the largest
    losses.
    """
    _print(_game_line(game))
    _print("")
    table = Table.grid(padding=(0, 2))
    for player, value in enumerate(evaluation.values):
        table.add_row(f"value of player {player}", _value(game, value, "+.6g"))
        table.add_row("  best response", _value(game, evaluation.best_responses[player], "+.6g"))
    table.add_row("exploitability", _value(game, evaluation.exploitability, ".6g"))
    table.add_row("nash_conv", _value(game, evaluation.nash_conv, ".6g"))
    _print(table)
    _print_meaning(game)
    if regrets is not None:
        print_regrets(game, regrets)
    if worst:
        _print("")
        lost = new_table("infoset", "lost there", width=LABEL_WIDTH)
        for label, loss in worst:
            lost.add_row(Text(one_line(label)), _value(game, loss, ".4g"))
        _print(lost)


def print_regrets(game: CompiledGame, regrets: ConditionalRegrets) -> None:
    """Print regrets given that infosets are reached."""
    _print("")
    grid = new_table("regret if reached", "infosets", "largest", "mean", "at", width=LABEL_WIDTH)
    mistakes = f"own reach from {regrets.own_reach:g}"
    for name, spread in (("everywhere", regrets.everywhere), (mistakes, regrets.on_own_path)):
        figures = (_value(game, value, ".4g") for value in (spread.largest, spread.mean))
        grid.add_row(name, f"{spread.infosets:,}", *figures, Text(spread.worst or "-"))
    _print(grid)
    if regrets.unreached:
        left_out = f"{regrets.unreached:,} infosets that the others never reach have no regret"
        _print(Text(left_out, "dim"))


def _print_meaning(game: CompiledGame) -> None:
    """Print the meaning of exploitability in games where it gives no guarantee."""
    if meaning := meaning_of_exploitability(game):
        _print(Text(meaning, "dim"))


def print_files(solution: Solution, *, saved: Path | None, drawn: Path | None) -> None:
    """Print the paths of the saved solution and the picture."""
    if saved or drawn:
        _print("")
    if saved:
        hint = f" (to continue: tensorcfr solve --resume {saved})" if solution.state else ""
        print_lines(f"wrote {saved}{hint}")
    if drawn:
        print_lines(f"wrote {drawn}")


def print_walkthrough(walkthrough: Walkthrough) -> None:
    """Print the tables of every iteration."""
    _print(Text.assemble((walkthrough.game.name, "bold"), f" by {walkthrough.algorithm}"))
    for iteration in walkthrough.iterations:
        _print("")
        _print(Text(iteration.title, "bold"))
        for number, shown in enumerate(iteration.tables):
            table = new_table(None)
            for column, heading in enumerate(shown.headings):
                justify: Literal["left", "right"] = "left" if column < shown.texts else "right"
                table.add_column(heading, justify=justify, no_wrap=True)
            for cells in shown.cells:
                table.add_row(*map(Text, cells))
            if number:
                _print("")
            # Never cut off numbers: a narrow terminal breaks the lines instead.
            console = plain_console()
            needed = console.measure(table, options=console.options.update(max_width=WIDEST))
            _print(table, max(console.width, needed.maximum))


def print_games() -> None:
    """Print name, parameters and description of every built-in game."""
    for entry in GAMES.values():
        print_lines(Text.assemble((entry.name, "bold"), _parameters(entry)))
        _print(_indented(entry.description))
        if ranges := entry.ranges:
            checks = "; ".join(f"{name}: {check}" for name, check in ranges.items())
            _print(Padding(Text(checks, "dim"), (0, 0, 0, 4)))


def print_algorithms() -> None:
    """Print name, formula and source of every algorithm."""
    for record in ALGORITHMS.values():
        print_lines(Text(record.name, "bold"))
        _print(_indented(record.formula))
        _print(_indented(record.source))


def print_summary(rows: Iterable[SweepRow], levels: Sequence[float]) -> None:
    """Print nodes touched and seconds to each exploitability: a table for each game."""
    games: dict[str, dict[str, list[Reached]]] = {}
    for mark in reached(rows, levels):
        games.setdefault(mark.game, {}).setdefault(mark.algorithm, []).append(mark)
    has_repeats = False
    for game, algorithms in games.items():
        table = new_table(game, *(f"{level:g}" for level in levels))
        for algorithm, marks in algorithms.items():
            seeds = f" x{marks[0].seeds}" if marks[0].seeds > 1 else ""
            has_repeats = has_repeats or bool(seeds)
            table.add_row(Text(algorithm + seeds), *map(_effort, marks))
        _print(table)
        _print("")
    _print(
        Text(
            "Nodes touched (histories visited) and time of iterating up to the first checkpoint "
            "at or below the exploitability (nash_conv / players); "
            f"{'xN: median of N runs; ' if has_repeats else ''}-: not reached.",
            "dim",
        ),
    )


def print_comparison(compared: Comparison, rows: int) -> None:
    """Print the values of two strategies, and the infosets with the largest differences."""
    game = compared.game
    _print(_game_line(game))
    _print("")
    values = (f"value of {player}" for player in range(game.n_players))
    value_table = new_table("", *values, "exploitability")
    for which, evaluation, locks in zip(
        ("first", "second"), compared.evaluations, compared.locks, strict=True
    ):
        which += f", {locks.description}" if locks else ""
        player_values = [_value(game, value, "+.6g") for value in evaluation.values]
        value_table.add_row(which, *player_values, _value(game, evaluation.exploitability, ".6g"))
    _print(value_table)
    table = new_table("infoset", "player", "reach", "variation", "gain")
    for row in compared.differences(rows or None):
        if row.total_variation > 0:
            table.add_row(
                Text(one_line(row.infoset)),
                str(row.player),
                f"{row.reach:.4f}",
                f"{row.total_variation:.4f}",
                _value(game, row.value, "+.2g"),
            )
    if table.row_count:
        _print("")
        _print(table)
    _print("")
    note = (
        "reach: probability of the infoset, mean of both; variation: half the sum of absolute "
        "differences of probabilities; gain: utility that the player gains there by changing to "
        "the second strategy.  Largest reach times variation first."
    )
    _print(Text(note, "dim"))


def print_public_nodes(game: CompiledGame) -> None:
    """Print the public nodes of a game: name, player, number of hands, actions."""
    for node in public_nodes(game).values():
        hands = f"{len(node.hands)} hands" if any(node.hands) else "no hands"
        print_lines(f"{node.name}: player {node.player}, {hands}, {', '.join(node.actions)}")


def one_line(label: str) -> str:
    """Return a label as one line: labels of OpenSpiel may have several."""
    return " | ".join(line for line in label.splitlines() if line) if "\n" in label else label


def print_lines(*lines: str | Text) -> None:
    """Print lines without wrapping them, so that they can be copied or searched for."""
    console = plain_console()
    for line in lines:
        console.print(line, soft_wrap=True)


def _print(item: RenderableType, width: int | None = None) -> None:
    """Print an item with the width of the console or another one.

    In a pipe, trailing blanks of rich are removed.
    """
    console = plain_console(width=width)
    if console.is_terminal:
        console.print(item, crop=False)
        return
    with console.capture() as captured:
        console.print(item, crop=False)
    print_lines(*(line.rstrip() for line in captured.get().splitlines()))


def new_table(text: str | None, *numbers: str, width: int | None = None) -> Table:
    """Return a table without lines: a column of texts, unless ``text`` is None, and columns of
    numbers."""
    table = Table(box=None, padding=(0, len(GAP), 0, 0), pad_edge=False)
    if text is not None:
        table.add_column(text, overflow="fold", max_width=width)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _indented(text: str) -> Padding:
    return Padding(Text(text), (0, 0, 0, 4))


def _parameters(entry: GameEntry) -> str:
    """Return ``(ranks=3, suits=2)``; required parameters have no default."""
    listed = [
        name if default is ... else f"{name}={default!r}"
        for name, default in entry.parameters.items()
    ]
    return f"({', '.join(listed)})" if listed else ""


def _game_line(game: CompiledGame) -> Text:
    kind = "zero-sum" if game.zero_sum else "general-sum"
    return Text.assemble(
        (game.name, "bold"),
        f": {game.n_players} players, {kind}, {game.n_histories:,} histories, "
        f"{game.n_infosets:,} infosets",
    )


def _figures(solution: Solution) -> Table:
    """Return a table of values, exploitability and effort, each with its unit and definition."""
    table = Table.grid(padding=(0, 2))
    game, players = solution.game, solution.game.n_players
    for player, value in enumerate(solution.value):
        note = "utility per game, average strategies" if player == 0 else ""
        table.add_row(f"value of player {player}", _value(game, value, "+.6g"), note)
    if solution.exact is not None:
        table.add_row("", str(solution.exact.values[0]), "of player 0, exactly")
    for name, figure, note in (
        ("exploitability", solution.exploitability, f"nash_conv / {players} players, in utility"),
        ("nash_conv", solution.nash_conv, "sum of best-response value - value, in utility"),
    ):
        table.add_row(name, _value(game, figure, ".6g"), note)
    if (best := solution.best) is not None:
        table.add_row("best seen", _value(game, best.exploitability, ".6g"), f"{best}")
    if not solution.algorithm.is_exact:
        table.add_row("iterations", f"{solution.iterations:,}", "each updates every player")
        table.add_row("nodes touched", f"{solution.nodes_touched:,}", "histories visited")
        if solution.algorithm.is_sampled:
            table.add_row("", f"{solution.decision_nodes_touched:,}", "decision nodes among them")
        table.add_row("time", _seconds(solution.seconds), "iterating, without evaluations")
    else:
        table.add_row("time", _seconds(solution.seconds), "the whole linear program")
    return table


def _effort(mark: Reached) -> str:
    """Return ``1.84M 26.1ms``; a dash if the exploitability was not reached."""
    if mark.seconds is None or mark.nodes_touched is None:
        return "-"
    seconds = _short(mark.seconds, {"s": 1.0, "ms": 1e-3, "us": 1e-6})
    if not mark.nodes_touched:  # The linear program touches no nodes.
        return seconds
    return f"{_short(mark.nodes_touched, {'G': 1e9, 'M': 1e6, 'k': 1e3})} {seconds}"


def _short(value: float, units: Mapping[str, float]) -> str:
    """Format a number with three digits and the largest unit that is at most the number."""
    for unit, size in units.items():
        if value >= size:
            scaled = value / size
            return f"{scaled:.0f}{unit}" if scaled >= 100 else f"{scaled:.3g}{unit}"
    return f"{value:.3g}"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.1f} s" if seconds >= 100 else f"{seconds:.3g} s"


def _trace(trace: Sequence[TracePoint]) -> Table:
    columns: dict[str, Callable[[TracePoint], str]] = {
        "iteration": lambda point: f"{point.iteration:,}",
        "nodes touched": lambda point: f"{point.nodes_touched:,}",
        "seconds": lambda point: f"{point.seconds:.{decimals}f}",
    }
    if trace[-1].infosets_held is None:
        columns["exploitability"] = lambda point: f"{point.exploitability:.4g}"
        columns["nash_conv"] = lambda point: f"{point.nash_conv:.4g}"
    else:
        columns["infosets visited"] = lambda point: f"{point.infosets_held:,}"
        columns["MiB"] = lambda point: f"{(point.bytes_held or 0) / 2**20:,.1f}"
    if any(point.last_exploitability is not None for point in trace):
        columns["last iterate"] = lambda point: f"{point.last_exploitability:.4g}"
    table = new_table(None, *columns)
    decimals = max(0, 5 - len(f"{trace[-1].seconds:.0f}"))
    for point in _printed_points(trace):
        table.add_row(*(cell(point) for cell in columns.values()))
    return table


def _printed_points(trace: Sequence[TracePoint]) -> Iterator[TracePoint]:
    """Yield the first checkpoint at or after each round number of iterations, and the last."""
    # Geometric checkpoints are rounded powers: 1,995 is printed in place of 2,000.
    marks = (0.99 * step * 10**power for power in range(19) for step in ROUND_STEPS)
    mark = next(marks)
    for point in trace:
        if point.iteration >= mark or point is trace[-1]:
            yield point
            while mark <= point.iteration:
                mark = next(marks)


def _print_strategy(solution: Solution, player: int, rows: int) -> None:
    """Print the strategy at the first infosets of a player."""
    policy = solution.policy
    shown = policy.first_of(player, rows or None)
    heading = f"player {player}, infoset"
    label_width = min(LABEL_WIDTH, max(map(len, [heading, *shown])))
    cells = [
        _cells(len(probabilities), ((*pair, "") for pair in probabilities.items()))
        for probabilities in shown.values()
    ]
    cell_width = max((len(cell) for row in cells for cell in row), default=0) + len(GAP)
    per_line = max(1, (plain_console().width - label_width - len(GAP)) // cell_width)

    table = new_table(None)
    table.add_column(heading, overflow="fold", width=label_width)
    table.add_column("average strategy", overflow="fold")
    for label, row in zip(shown, cells, strict=True):
        lines = [
            "".join(cell.ljust(cell_width) for cell in row[offset : offset + per_line]).rstrip()
            for offset in range(0, len(row), per_line)
        ]
        table.add_row(Text(one_line(label)), Text("\n".join(lines)))
    _print(table)
    _print_left_out(policy.count_of(player) - len(shown))
    if any(
        len(row) < len(probabilities)
        for row, probabilities in zip(cells, shown.values(), strict=True)
    ):
        _print(Text(f"(actions left out: probability below {NEVER_PLAYED})", "dim"))


def _print_left_out(count: int) -> None:
    """Print the number of infosets that are not printed, if any."""
    if count > 0:
        _print(Text(f"... and {count:,} more infosets (--rows 0 prints all)", "dim"))


def _cells(n_actions: int, actions: Iterable[tuple[str, float, str]]) -> list[str]:
    """Return ``bet 0.222`` and a value for each action; if there are many, for played ones."""
    return [
        f"{action} {probability:.3f}{value}"
        for action, probability, value in actions
        if n_actions <= FEW_ACTIONS or probability >= NEVER_PLAYED
    ]
