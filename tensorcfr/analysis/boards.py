"""One spot of hold'em on many boards: a row for each."""

from __future__ import annotations

import csv
import hashlib
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from .._util.arguments import Flag, Kind, Limit, Text, Where, brief, checked
from .._util.one_line import OneLine
from ..compilers import compile_game
from ..formats import spot_text
from ..games.holdem import Holdem
from ..games.holdem.flops import N_CLASSES, Flop, flops
from ..games.holdem.spot import PLAYERS
from ..model.arguments import CALLABLE
from ..solvers.arguments import PRECISION, THREADS, Named, Target, own_amount
from ..solvers.choose import asked_algorithm, asked_precision
from ..solvers.driver import solve
from ..solvers.solution import Status
from .hands import LONGEST_LINE, SolvedSpot
from .tables import save_rows

COLUMNS = ("board", "weight", "player", "value", "equity")
"""Columns before the actions."""
LAST_COLUMNS = ("exploitability", "iterations", "seconds", "spot")
"""Columns after them."""
NUMBERS = ("weight", "value", "equity", "exploitability", "seconds")
"""Columns that hold numbers, in addition to the actions."""
ROUNDING = 1e-5
"""How far from 1 the frequencies of a row may sum: strategies may be in single precision."""


@dataclass(frozen=True, repr=False)
class BoardReport(OneLine):
    """What is done at a line of one spot on many boards."""

    line: str
    """The line."""
    actions: tuple[str, ...]
    """What can be done there."""
    rows: tuple[dict[str, Any], ...]
    """A row for each board: ``board``, its ``weight``, who acts (``player``, ``"oop"`` or
    ``"ip"``), the ``value`` in chips and the ``equity`` of that player's range, how often each
    action is taken, and of the solve the ``exploitability`` in chips, ``iterations``, ``seconds``,
    and a fingerprint of ``spot`` and options."""

    @property
    def means(self) -> dict[str, float]:
        """Value, equity and frequencies over all boards, by their weights."""
        weight = np.array([row["weight"] for row in self.rows])
        return {
            name: float(weight @ np.array([row[name] for row in self.rows]) / weight.sum())
            for name in ("value", "equity", *self.actions)
        }

    @checked()
    def save(self, path: Annotated[str | Path, Where()]) -> Path:
        """Write :attr:`rows` to a file, ``.csv``, ``.json`` or ``.parquet``; returns its path."""
        return save_rows(self.rows, Path(path))


@checked()
def solve_boards(
    spot: Annotated[Holdem, Kind((Holdem,), "the rules of a spot, Holdem(...)")],
    boards: int | Sequence[str] | Sequence[Flop],
    *,
    line: Annotated[str, Text(LONGEST_LINE)] = "",
    algorithm: Named | None = None,
    target: Target | None = None,
    precision: Annotated[str | None, PRECISION] = None,
    threads: Annotated[int, THREADS] = 1,
    equity: Annotated[bool, Flag()] = True,
    table: Annotated[str | Path | None, Where()] = None,
    memory_limit: Limit = None,
    progress: Annotated[Callable[[int, int, dict[str, Any]], object] | None, CALLABLE] = None,
) -> BoardReport:
    """Solve a spot on many boards, one after the other.

    Args:
        spot: The spot; its own board does not matter.
        boards: How many flops, as :func:`~tensorcfr.games.holdem.flops.flops` chooses them; or the
            boards, ``["Td9d6h", "AsKd2c"]``, which then weigh the same.
        line: Where to look, a line of actions: ``""`` for the start, ``"check"``.
        algorithm: As for :func:`tensorcfr.solve`.
        target: As for :func:`tensorcfr.solve`: ``"0.5%"`` of the pot, which is the default, or
            ``"0.1 chips"``.  A bare number is read as per cent, for this version, with a warning.
        precision: As for :func:`tensorcfr.solve`.
        threads: As for :func:`tensorcfr.solve`.
        equity: Whether to work out equities, which takes a second or less for a flop.
        table: A ``.csv`` file that gets a row as soon as a board is solved.  Boards that are in it
            already are not solved again.
        memory_limit: Bytes that a solve may take; by default the free memory.
        progress: Called after each board with the number of boards that are done, of all boards,
            and the row.

    Raises:
        ValueError: A board is wrong, or leaves a player without hands (before anything is solved);
            there is no such line; or the table is of another spot, line or options.
        MemoryLimitError: A solve would not fit.
        OSError: The table cannot be read or written.
        KeyboardInterrupt: Ctrl-C; the boards that are done are in the table.
    """
    wanted = _boards(boards)
    spots = [Holdem(**(spot.options | {"board": board.board})) for board in wanted]
    record = asked_algorithm(algorithm, spot, precision)
    precision = asked_precision(precision, spot, record)
    if isinstance(target, (int, float)):
        told = f"target={target!r} is read as per cent of the pot: write '{target!r}%'"
        warnings.warn(told, DeprecationWarning, stacklevel=3)
        target = f"{target!r}%"
    chips = own_amount("target", target or spot.usual.target or 0.0, spot)
    if chips <= 0.0:
        raise ValueError(f"target must be above 0, not {target!r}")
    percent = float(f"{chips / spot.usual.units['%']:.12g}")
    anywhere = spot_text(Holdem(**(spot.options | {"board": wanted[0].board})))
    what = (anywhere.replace(wanted[0].board, ""), line, str(record), percent, precision)
    said = hashlib.sha256(repr(what).encode()).hexdigest()[:16]
    path = None if table is None else Path(table)
    known = {} if path is None else _read(path, said)
    rows: list[dict[str, Any]] = []
    for board, rules in zip(wanted, spots, strict=True):
        row = known.get(board.board)
        if row is None:
            game = compile_game(rules, memory_limit=memory_limit)
            solution = solve(
                game,
                record,
                target=chips,
                precision=precision,
                threads=threads,
                memory_limit=memory_limit,
            )
            if solution.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            shown = SolvedSpot(solution).table(line)
            row = {
                "board": board.board,
                "weight": board.weight,
                "player": PLAYERS[shown.player],
                "value": shown.mean(shown.value),
                "equity": shown.mean(shown.equity) if equity else float("nan"),
                **shown.frequencies,
                "exploitability": solution.exploitability,
                "iterations": solution.iterations,
                "seconds": solution.seconds,
                "spot": said,
            }
            if other := next((each for each in known.values() if each.keys() != row.keys()), None):
                raise ValueError(f"table: {path} has other columns for {other['board']}")
        rows.append(row | {"weight": board.weight})
        if path is not None:
            # Boards of the table that nobody asks for now stay in it.
            known[board.board] = rows[-1]
            save_rows(list(known.values()), path, "csv")
        if progress is not None:
            progress(len(rows), len(wanted), rows[-1])
    actions = tuple(name for name in rows[0] if name not in COLUMNS + LAST_COLUMNS)
    return BoardReport(line, actions, tuple(rows))


def _boards(boards: Any) -> list[Flop]:
    """The boards and their weights."""
    is_count = isinstance(boards, int) and not isinstance(boards, bool)
    if is_count and 1 <= boards <= N_CLASSES:
        return flops(boards)
    if isinstance(boards, str) or not isinstance(boards, Sequence) or not boards:
        raise (ValueError if is_count else TypeError)(
            f"boards must be a number of flops up to {N_CLASSES:,}, or a list of boards, not "
            f"{brief(boards)}"
        )
    found = [one if isinstance(one, Flop) else Flop(one, 1.0 / len(boards)) for one in boards]
    for one in found:
        if not isinstance(one.board, str):
            raise TypeError(f"boards: a board is a text such as 'Td9d6h', not {brief(one.board)}")
        if [other.board for other in found].count(one.board) > 1:
            raise ValueError(f"boards: {one.board!r} is there twice")
    return found


def _read(path: Path, said: str) -> dict[str, dict[str, Any]]:
    """The rows of a table by board; none if there is no file.

    Raises:
        ValueError: It is no such table, or one of another spot.
    """
    if not path.exists():
        return {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"table: {path} is no CSV file: {error}") from None
    found = {}
    for number, row in enumerate(rows, start=2):
        if row.get("spot") != said:
            raise ValueError(
                f"table: {path}, line {number}, is of another spot, line, algorithm, target or "
                "precision; give another file"
            )
        try:
            read = _row(row)
            if read["board"] in found:
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"table: {path}, line {number}, is no row of a report") from None
        found[read["board"]] = read
    return found


def _row(cells: dict[str, str]) -> dict[str, Any]:
    """A row of numbers of a row of texts.  A KeyError or TypeError says that there are fewer or
    more cells than columns, a ValueError that a cell does not hold what its column does, or that
    the frequencies of the actions do not sum to 1."""
    actions = set(cells).difference(COLUMNS, LAST_COLUMNS)
    found: dict[str, Any] = {name: float(cells[name]) for name in {*NUMBERS, *actions}}
    found["iterations"] = int(cells["iterations"])
    # Rows without equities say that it is no number.
    finite = [value for name, value in found.items() if name != "equity" or value == value]
    frequencies = [found[name] for name in actions]
    if (
        cells["player"] not in PLAYERS
        or not all(map(math.isfinite, finite))
        or min(found["weight"], found["iterations"], *frequencies) < 0
        or abs(sum(frequencies) - 1.0) > ROUNDING
    ):
        raise ValueError
    return {name: found.get(name, text) for name, text in cells.items()}
