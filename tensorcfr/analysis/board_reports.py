"""Report of one line of a spot on many boards."""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import Flag, Kind, Limit, Text, Where, brief, checked
from .._util.one_line import OneLine
from ..algorithms import Record
from ..compilers import compile_game
from ..compilers.cards.card_public_nodes import ANY_CARD
from ..formats import spot_text
from ..games.holdem import CARDS
from ..games.poker.betting import STREETS
from ..games.poker.flops import N_CLASSES, Flop, flops, texture
from ..games.poker.spot import PLAYERS, THREE_PLAYERS, Spot
from ..model.game_arguments import CALLABLE
from ..model.public_nodes import steps_of
from ..solvers.choose import resolve_algorithm, resolve_precision
from ..solvers.driver import solve
from ..solvers.solution import Solution, Status
from ..solvers.solver_arguments import AUTO, PRECISION, THREADS_OR_AUTO, Named, Target, to_game_unit
from .hand_tables import LONGEST_LINE, SolvedSpot
from .table_files import save_rows

COLUMNS = ("board", *STREETS[1:], "weight", "player", "value", "equity")
"""Columns before the actions. A street has its column if the line has ``*`` for its card."""
LAST_COLUMNS = ("exploitability", "iterations", "seconds", "spot")
"""Columns after the actions."""
NUMBERS = ("weight", "value", "equity", "exploitability", "seconds")
"""Columns that hold numbers, in addition to the actions."""
ROUNDING = 1e-5
"""Largest deviation from 1 of a row's sum of frequencies; strategies may be in single precision."""


@dataclass(frozen=True, repr=False)
class BoardReport(OneLine):
    """Values and action frequencies at one line of a spot on many boards."""

    line: str
    """Line of actions, ``*`` for any card."""
    actions: tuple[str, ...]
    """Labels of the actions at the line."""
    rows: tuple[dict[str, Any], ...]
    """Rows of the report: one for each board, or for each board and card in the place of ``*``.

    Keys of a row:

    * ``board``, and with ``*`` the cards ``turn`` and ``river``;
    * ``weight`` of the row, 0 if the line is never reached there;
    * ``player``, the name of the player who acts: ``"oop"``, ``"ip"``;
    * ``value`` in chips and ``equity`` of that player's range;
    * one key for each action: its frequency;
    * ``exploitability`` in chips, ``iterations`` and ``seconds`` of the solve;
    * ``spot``, a digest of spot and options.
    """

    @property
    def dealt(self) -> tuple[str, ...]:
        """Streets whose cards have a column: ``"turn"``, ``"river"``."""
        return tuple(street for street in STREETS[1:] if street in self.rows[0])

    @property
    def means(self) -> dict[str, float]:
        """Value, equity and frequencies over all rows, weighted by ``weight``."""
        return self._means(self.rows)

    def group_by(self, key: str | Callable[[dict[str, Any]], Any]) -> list[dict[str, Any]]:
        """Group the rows by a column or a function, and average each group.

        >>> report.group_by("board")  # doctest: +SKIP
        >>> report.group_by(lambda row: row["turn"][0])  # ranks of the turn card  # doctest: +SKIP

        Args:
            key: A column, ``"board"``, ``"turn"`` or ``"river"``; a property of the flop:
                ``"suits"`` (rainbow, two-tone, monotone), ``"pairing"`` (unpaired, paired, trips),
                ``"height"`` (its highest rank) or ``"straights"`` (possible, impossible); or a
                function of a row.

        Returns:
            One row for each group, in order of first appearance. It holds the group (as ``key``, or
            as ``group`` for a function), the sum of the weights as
            ``weight``, and the means of ``value``, ``equity`` and all actions.

        Raises:
            ValueError: There is no such column.
        """
        known = ("board", *self.dealt, *texture(self.rows[0]["board"]))
        if not callable(key) and key not in known:
            raise ValueError(
                f"key must be one of {', '.join(known)}, or a function, not {brief(key)}"
            )
        groups = dict[Any, list[dict[str, Any]]]()
        for row in self.rows:
            group = key(row) if callable(key) else (texture(row["board"]) | row)[key]
            groups.setdefault(group, []).append(row)
        name = "group" if callable(key) else key
        return [
            {name: group, "weight": sum(row["weight"] for row in rows), **self._means(rows)}
            for group, rows in groups.items()
        ]

    def _means(self, rows: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Average value, equity and frequencies over some rows; NaN if their weights are all 0."""
        rows = [row for row in rows if row["weight"] > 0.0]
        weight = np.array([row["weight"] for row in rows])
        return {
            name: float(weight @ np.array([row[name] for row in rows]) / weight.sum())
            if rows
            else math.nan
            for name in ("value", "equity", *self.actions)
        }

    @checked()
    def save(self, path: Annotated[str | Path, Where()]) -> Path:
        """Write :attr:`rows` to a file, ``.csv``, ``.json`` or ``.parquet``, and return its
        path."""
        return save_rows(self.rows, Path(path))


@checked()
def solve_boards(
    spot: Annotated[Spot, Kind((Spot,), "the rules of a spot, Holdem(...)")],
    boards: int | Sequence[str] | Sequence[Flop],
    *,
    line: Annotated[str, Text(LONGEST_LINE)] = "",
    algorithm: Named | None = None,
    target: Target | None = None,
    precision: Annotated[str | None, PRECISION] = None,
    threads: Annotated[int | str, THREADS_OR_AUTO] = AUTO,
    equity: Annotated[bool, Flag()] = True,
    table: Annotated[str | Path | None, Where()] = None,
    memory_limit: Limit = None,
    progress: Annotated[Callable[[int, int, dict[str, Any]], object] | None, CALLABLE] = None,
) -> BoardReport:
    """Solve a spot on many boards, one after the other.

    Args:
        spot: The spot; its own board is ignored.
        boards: Number of flops, chosen as by :func:`~tensorcfr.games.poker.flops.flops`; or a list
            of boards of equal weight, ``["Td9d6h", "AsKd2c"]``.
        line: Line of actions to report, ``"check"``; ``""`` for the start. ``*`` means any card:
            with ``"check check *"``, a board has a row for each card.
        algorithm: As for :func:`tensorcfr.solve`.
        target: As for :func:`tensorcfr.solve`: ``"0.5%"`` of the pot, which is the default, or
            ``"0.1 chips"``. A bare number is refused, because up to version 0.16.0 it was read as
            per cent.
        precision: As for :func:`tensorcfr.solve`.
        threads: As for :func:`tensorcfr.solve`.
        equity: Whether to compute equities, which takes at most a second for a flop.
        table: A ``.csv`` file to which the rows of a board are added as soon as it is solved.
            Boards that are already in the file are not solved again.
        memory_limit: Memory limit of a solve in bytes; by default the free memory.
        progress: Called after each board with the number of finished boards, the number of all
            boards, and the last row of the board.

    Raises:
        ValueError: A board is wrong, or leaves a player without hands (both are found before
            anything is solved); there is no such line; or the table belongs to another spot, line
            or options.
        MemoryLimitError: A solve would not fit.
        OSError: The table cannot be read or written.
        KeyboardInterrupt: Ctrl-C; the table then holds the finished boards.
    """
    chosen = weighted_boards(boards, spot)
    rows: list[dict[str, Any]] = []
    solved = solve_each(
        spot,
        chosen,
        line=line,
        algorithm=algorithm,
        target=target,
        precision=precision,
        threads=threads,
        equity=equity,
        table=table,
        memory_limit=memory_limit,
    )
    for done, board_rows in enumerate(solved, start=1):
        rows += board_rows
        if progress is not None:
            progress(done, len(chosen), rows[-1])
    return BoardReport(line, actions_of(rows[0]), tuple(rows))


def actions_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the actions of a report, from one of its rows."""
    return tuple(name for name in row if name not in COLUMNS + LAST_COLUMNS)


def _solve_board(rules: Spot, **options: Any) -> Solution:
    """Solve a spot on its board."""
    return solve(compile_game(rules, memory_limit=options["memory_limit"]), **options)


def solve_each(
    spot: Spot,
    boards: list[Flop],
    *,
    line: str,
    algorithm: str | Record | None = None,
    target: Target | None,
    precision: str | None,
    threads: int | str,
    equity: bool = True,
    table: str | Path | None,
    memory_limit: int | None = None,
    solve_board: Callable[..., Solution] = _solve_board,
) -> Iterator[list[dict[str, Any]]]:
    """Solve a spot on each board, and yield the rows of a report for one board after the other.

    The arguments and errors are those of :func:`solve_boards`. ``solve_board`` solves the spot of a
    board with options of :func:`~tensorcfr.solve`.
    """
    spots = [type(spot)(**(spot.options | {"board": board.board})) for board in boards]
    record = resolve_algorithm(algorithm, spot, precision)
    precision = resolve_precision(precision, spot, record)
    if isinstance(target, (int, float)):
        raise ValueError(f"target={target!r} needs a unit: '{target!r}%' or '{target!r} chips'")
    chips = to_game_unit("target", target or spot.defaults.target or 0.0, spot)
    if chips <= 0.0:
        raise ValueError(f"target must be above 0, not {target!r}")
    percent = float(f"{chips / spot.defaults.units['%']:.12g}")
    # The digest leaves out the board, so that all boards of a table share it.
    first_spot = spot_text(spots[0])
    key = (first_spot.replace(boards[0].board, ""), line, str(record), percent, precision)
    digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
    dealt = _dealt(line, boards, len(spot.cards) - len(spot.dead))
    path = None if table is None else Path(table)
    finished = {} if path is None else _read_table(path, digest, math.prod(dealt.values()))
    if path is not None and finished:
        # Write the table without a board that was left unfinished.
        save_rows(list(chain.from_iterable(finished.values())), path, "csv")
    options = {
        "algorithm": record,
        "target": chips,
        "precision": precision,
        "threads": threads,
        "memory_limit": memory_limit,
    }
    for board, rules in zip(boards, spots, strict=True):
        board_rows = finished.get(board.board)
        if board_rows is None:
            solution = solve_board(rules, **options)
            if solution.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            solved_rows = _rows(solution, line, tuple(dealt), equity)
            board_rows = [{"board": board.board, **row, "spot": digest} for row in solved_rows]
            earlier_rows = next(iter(finished.values()), board_rows)
            if earlier_rows[0].keys() != board_rows[0].keys():
                raise ValueError(
                    f"table: {path} has different columns for {earlier_rows[0]['board']}"
                )
            if path is not None and finished:
                _append(path, board_rows, list(earlier_rows[0]))
            elif path is not None:
                save_rows(board_rows, path, "csv")
        # The table may have been written for other boards, so rescale the weights of its rows.
        total = sum(row["weight"] for row in board_rows) or 1.0
        finished[board.board] = [
            row | {"weight": row["weight"] / total * board.weight} for row in board_rows
        ]
        yield finished[board.board]
    if path is not None:
        # Rewrite the table with the current weights. Boards of earlier calls stay in it.
        save_rows(list(chain.from_iterable(finished.values())), path, "csv")


def _rows(
    solution: Solution, line: str, dealt: tuple[str, ...], equity: bool
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the line in a solution, without ``board`` and ``spot``.

    With ``*`` in the line there is a row for each card; it holds the cards of the streets
    ``dealt``.
    """
    solve_columns = {
        "exploitability": solution.exploitability,
        "iterations": solution.iterations,
        "seconds": solution.seconds,
    }
    solved_spot = SolvedSpot(solution)
    if not dealt:
        table = solved_spot.table(line)
        yield {
            "weight": float(table.share.sum()),
            "player": table.seat,
            "value": table.mean(table.value),
            "equity": table.mean(table.equity) if equity else math.nan,
            **table.frequencies,
            **solve_columns,
        }
        return
    runouts = solved_spot.runouts(line, equity=equity)
    for k, cards in enumerate(runouts.cards):
        yield {
            **dict(zip(dealt, cards, strict=True)),
            "weight": float(runouts.probability[k]),
            "player": runouts.seat,
            "value": float(runouts.value[k]),
            "equity": float(runouts.equity[k]),
            **dict(zip(runouts.actions, runouts.frequency[k].tolist(), strict=True)),
            **solve_columns,
        }


def _dealt(line: str, boards: list[Flop], deck: int) -> dict[str, int]:
    """Return the streets whose card is ``*`` in a line, each with its number of possible cards."""
    streets = dict[str, int]()
    on_board = len(boards[0].board) // 2
    for step in steps_of(line):
        if step == ANY_CARD and on_board < 5:
            streets[STREETS[on_board - 2]] = deck - on_board
        on_board += step == ANY_CARD or step in CARDS
    if streets and any(len(board.board) != len(boards[0].board) for board in boards):
        raise ValueError(f"boards must all have the same number of cards if line has {ANY_CARD}")
    return streets


def _append(path: Path, rows: list[dict[str, Any]], columns: list[str]) -> None:
    """Append the rows of a board to a table, because rewriting a long table each time is slow."""
    with path.open("a", newline="", encoding="utf-8") as file:
        csv.DictWriter(file, columns).writerows(rows)


def weighted_boards(boards: Any, spot: Spot) -> list[Flop]:
    """Return the boards and their weights.

    Raises:
        ValueError: The number of flops is out of range or does not apply to the spot, the list is
            empty, or a board occurs twice.
        TypeError: The boards are neither a number nor a list of boards.
    """
    is_count = isinstance(boards, int) and not isinstance(boards, bool)
    if is_count and 1 <= boards <= N_CLASSES:
        if spot.dead:
            raise ValueError(
                "boards must be a list: a number of flops needs the full deck of "
                f"{len(CARDS)} cards, and {len(spot.dead)} cards are dead"
            )
        if spot.weights_vary:
            raise ValueError(
                "boards must be a list: folded players make some flops likelier than others"
            )
        return flops(boards)
    if isinstance(boards, str) or not isinstance(boards, Sequence) or not boards:
        raise (ValueError if is_count else TypeError)(
            f"boards must be a number of flops up to {N_CLASSES:,}, or a list of boards, not "
            f"{brief(boards)}"
        )
    chosen = [
        board if isinstance(board, Flop) else Flop(board, 1.0 / len(boards)) for board in boards
    ]
    for board in chosen:
        if not isinstance(board.board, str):
            raise TypeError(f"boards: a board is a text such as 'Td9d6h', not {brief(board.board)}")
        if [flop.board for flop in chosen].count(board.board) > 1:
            raise ValueError(f"boards: {board.board!r} occurs twice")
    return chosen


def _read_table(path: Path, digest: str, rows_per_board: int) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a table by board; empty if there is no file.

    A process that was killed may have left the last board unfinished: that board is dropped.
    """
    if not path.exists():
        return {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = file.readlines()
        rows = list(csv.DictReader(lines))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"table: {path} is not a CSV file: {error}") from None
    # A last line without its end was cut off while it was written.
    if rows and not lines[-1].endswith("\n"):
        rows.pop()
    table_rows = dict[str, list[dict[str, Any]]]()
    for number, row in enumerate(rows, start=2):
        if row.get("spot") != digest:
            raise ValueError(
                f"table: {path}, line {number}, is of another spot, line, algorithm, target or "
                "precision; give another file"
            )
        try:
            parsed = _parse_row(row)
            board_rows = table_rows.setdefault(parsed["board"], [])
            cards = [parsed.get(street) for street in STREETS]
            if any(cards == [earlier.get(street) for street in STREETS] for earlier in board_rows):
                raise ValueError
            board_rows.append(parsed)
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"table: {path}, line {number}, is not a row of a report") from None
    incomplete = [
        board for board, board_rows in table_rows.items() if len(board_rows) != rows_per_board
    ]
    if incomplete and incomplete == list(table_rows)[-1:]:
        del table_rows[incomplete.pop()]
    for board in incomplete:
        raise ValueError(
            f"table: {path} has {len(table_rows[board])} rows of {board}, not {rows_per_board}"
        )
    return table_rows


def _parse_row(cells: dict[str, str]) -> dict[str, Any]:
    """Parse the numbers of a row of texts."""
    actions = set(cells).difference(COLUMNS, LAST_COLUMNS)
    numbers: dict[str, Any] = {name: float(cells[name]) for name in {*NUMBERS, *actions}}
    numbers["iterations"] = int(cells["iterations"])
    # Equity is NaN if it was not asked for; all numbers are NaN if the line is never reached.
    unknown = {"equity"} if numbers["weight"] else {"equity", "value", *actions}
    finite = [value for name, value in numbers.items() if name not in unknown or value == value]
    frequencies = [numbers[name] for name in actions]
    if (
        cells["player"] not in PLAYERS + THREE_PLAYERS
        or any(cells.get(street, CARDS[0]) not in CARDS for street in STREETS[1:])
        or not all(map(math.isfinite, finite))
        or min(numbers["weight"], numbers["iterations"], *frequencies) < 0
        or (numbers["weight"] and abs(sum(frequencies) - 1.0) > ROUNDING)
    ):
        raise ValueError
    return {name: numbers.get(name, text) for name, text in cells.items()}
