"""One spot on many boards: a row for each."""

from __future__ import annotations

import csv
import hashlib
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from .._util.arguments import Flag, Kind, Limit, Text, Where, brief, checked
from .._util.one_line import OneLine
from ..compilers import compile_game
from ..compilers.cards.nodes import ANY_CARD
from ..formats import spot_text
from ..games.holdem import CARDS
from ..games.holdem.betting import STREETS
from ..games.holdem.flops import N_CLASSES, Flop, flops
from ..games.holdem.spot import PLAYERS, Spot
from ..model.arguments import CALLABLE
from ..model.public_nodes import steps_of
from ..solvers.arguments import PRECISION, THREADS, Named, Target, own_amount
from ..solvers.choose import asked_algorithm, asked_precision
from ..solvers.driver import solve
from ..solvers.solution import Status
from .hands import LONGEST_LINE, SolvedSpot
from .tables import save_rows

COLUMNS = ("board", *STREETS[1:], "weight", "player", "value", "equity")
"""Columns before the actions; those of streets where the line has ``*`` for their card."""
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
    """A row for each board, and for each card in the place of ``*``: ``board``, the cards
    (``turn``, ``river``), its ``weight`` (0 where nobody gets), who acts (``player``, ``"oop"`` or
    ``"ip"``), the ``value`` in chips and the ``equity`` of that player's range, how often each
    action is taken, and of the solve the ``exploitability`` in chips, ``iterations``, ``seconds``,
    and a fingerprint of ``spot`` and options."""

    @property
    def dealt(self) -> tuple[str, ...]:
        """The streets whose cards have a column: ``"turn"``, ``"river"``."""
        return tuple(street for street in STREETS[1:] if street in self.rows[0])

    @property
    def means(self) -> dict[str, float]:
        """Value, equity and frequencies over all rows, by their weights."""
        return self._means(self.rows)

    def by(self, what: str | Callable[[dict[str, Any]], Any]) -> list[dict[str, Any]]:
        """Means over the rows that have something in common.

        >>> report.by("board")  # doctest: +SKIP
        >>> report.by(lambda row: row["turn"][0])  # by the rank of the turn card  # doctest: +SKIP

        Args:
            what: A column, ``"board"``, ``"turn"``, ``"river"``; or a function of a row.

        Returns:
            A row for each of its values, in the order in which they come first: the value, as
            ``board``, ``turn``, ``river``, or ``group`` for a function, the sum of the weights as
            ``weight``, and the means of ``value``, ``equity`` and all actions.

        Raises:
            ValueError: There is no such column.
        """
        if not callable(what) and what not in ("board", *self.dealt):
            columns = ", ".join(("board", *self.dealt))
            raise ValueError(f"what must be one of {columns}, or a function, not {brief(what)}")
        groups = dict[Any, list[dict[str, Any]]]()
        for row in self.rows:
            groups.setdefault(what(row) if callable(what) else row[what], []).append(row)
        name = "group" if callable(what) else what
        return [
            {name: key, "weight": sum(row["weight"] for row in rows), **self._means(rows)}
            for key, rows in groups.items()
        ]

    def _means(self, rows: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Means over some rows; NaN if nobody gets to any of them."""
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
        """Write :attr:`rows` to a file, ``.csv``, ``.json`` or ``.parquet``; returns its path."""
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
        line: Where to look, a line of actions: ``""`` for the start, ``"check"``; with ``*`` for
            any card, ``"check check *"``, a board has a row for each card.
        algorithm: As for :func:`tensorcfr.solve`.
        target: As for :func:`tensorcfr.solve`: ``"0.5%"`` of the pot, which is the default, or
            ``"0.1 chips"``.  A bare number is read as per cent, for this version, with a warning.
        precision: As for :func:`tensorcfr.solve`.
        threads: As for :func:`tensorcfr.solve`.
        equity: Whether to work out equities, which takes a second or less for a flop.
        table: A ``.csv`` file that gets the rows of a board as soon as it is solved.  Boards that
            are in it already are not solved again.
        memory_limit: Bytes that a solve may take; by default the free memory.
        progress: Called after each board with the number of boards that are done, of all boards,
            and its last row.

    Raises:
        ValueError: A board is wrong, or leaves a player without hands (before anything is solved);
            there is no such line; or the table is of another spot, line or options.
        MemoryLimitError: A solve would not fit.
        OSError: The table cannot be read or written.
        KeyboardInterrupt: Ctrl-C; the boards that are done are in the table.
    """
    wanted = _boards(boards, spot)
    spots = [type(spot)(**(spot.options | {"board": board.board})) for board in wanted]
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
    anywhere = spot_text(spots[0])
    what = (anywhere.replace(wanted[0].board, ""), line, str(record), percent, precision)
    said = hashlib.sha256(repr(what).encode()).hexdigest()[:16]
    dealt = _dealt(line, wanted, len(spot.cards) - len(spot.dead))
    path = None if table is None else Path(table)
    known = {} if path is None else _read(path, said, math.prod(dealt.values()))
    if path is not None and known:
        save_rows(list(chain.from_iterable(known.values())), path, "csv")
    options = {
        "algorithm": record,
        "target": chips,
        "precision": precision,
        "threads": threads,
        "memory_limit": memory_limit,
    }
    rows: list[dict[str, Any]] = []
    for done, (board, rules) in enumerate(zip(wanted, spots, strict=True), start=1):
        own = known.get(board.board)
        if own is None:
            found = _rows(rules, options, line, tuple(dealt), equity)
            own = [{"board": board.board, **row, "spot": said} for row in found]
            other = next(iter(known.values()), own)
            if other[0].keys() != own[0].keys():
                raise ValueError(f"table: {path} has other columns for {other[0]['board']}")
            if path is not None and known:
                _append(path, own, list(other[0]))
            elif path is not None:
                save_rows(own, path, "csv")
        # The rows of a table may be from a list of boards with other weights.
        total = sum(row["weight"] for row in own) or 1.0
        known[board.board] = [row | {"weight": row["weight"] / total * board.weight} for row in own]
        rows += known[board.board]
        if progress is not None:
            progress(done, len(wanted), rows[-1])
    if path is not None:
        # Boards of the table that nobody asks for now stay in it.
        save_rows(list(chain.from_iterable(known.values())), path, "csv")
    actions = tuple(name for name in rows[0] if name not in COLUMNS + LAST_COLUMNS)
    return BoardReport(line, actions, tuple(rows))


def _rows(
    rules: Spot, options: dict[str, Any], line: str, dealt: tuple[str, ...], equity: bool
) -> Iterator[dict[str, Any]]:
    """Solve a board, and see what is done at the line: the cards of the streets that are dealt in
    the places of ``*``, how likely they are there, and the other columns."""
    solution = solve(compile_game(rules, memory_limit=options["memory_limit"]), **options)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    solved = {
        "exploitability": solution.exploitability,
        "iterations": solution.iterations,
        "seconds": solution.seconds,
    }
    shown = SolvedSpot(solution)
    if not dealt:
        table = shown.table(line)
        yield {
            "weight": float(table.share.sum()),
            "player": PLAYERS[table.player],
            "value": table.mean(table.value),
            "equity": table.mean(table.equity) if equity else math.nan,
            **table.frequencies,
            **solved,
        }
        return
    found = shown.runouts(line, equity=equity)
    for k, cards in enumerate(found.cards):
        yield {
            **dict(zip(dealt, cards, strict=True)),
            "weight": float(found.probability[k]),
            "player": PLAYERS[found.player],
            "value": float(found.value[k]),
            "equity": float(found.equity[k]),
            **dict(zip(found.actions, found.frequency[k].tolist(), strict=True)),
            **solved,
        }


def _dealt(line: str, boards: list[Flop], deck: int) -> dict[str, int]:
    """The streets whose card is ``*`` in a line, and of how many cards each is one, where the
    deck has so many.

    Raises:
        ValueError: Boards of the flop and of the turn are mixed.
    """
    found = dict[str, int]()
    on_board = len(boards[0].board) // 2
    for step in steps_of(line):
        if step == ANY_CARD and on_board < 5:
            found[STREETS[on_board - 2]] = deck - on_board
        on_board += step == ANY_CARD or step in CARDS
    if found and any(len(board.board) != len(boards[0].board) for board in boards):
        raise ValueError(f"boards must all have as many cards where line has {ANY_CARD}")
    return found


def _append(path: Path, rows: list[dict[str, Any]], columns: list[str]) -> None:
    """Add the rows of a board to a table, which may be too long to be written anew each time."""
    with path.open("a", newline="", encoding="utf-8") as file:
        csv.DictWriter(file, columns).writerows(rows)


def _boards(boards: Any, spot: Spot) -> list[Flop]:
    """The boards and their weights."""
    is_count = isinstance(boards, int) and not isinstance(boards, bool)
    if is_count and 1 <= boards <= N_CLASSES:
        if spot.dead:
            raise ValueError(
                f"boards must be a list: a number of flops stands for those of {len(CARDS)} cards, "
                f"and here {len(spot.dead)} of them are dead"
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
    found = [one if isinstance(one, Flop) else Flop(one, 1.0 / len(boards)) for one in boards]
    for one in found:
        if not isinstance(one.board, str):
            raise TypeError(f"boards: a board is a text such as 'Td9d6h', not {brief(one.board)}")
        if [other.board for other in found].count(one.board) > 1:
            raise ValueError(f"boards: {one.board!r} is there twice")
    return found


def _read(path: Path, said: str, each: int) -> dict[str, list[dict[str, Any]]]:
    """The rows of a table by board; none if there is no file.

    A process that was killed may have left the last board unfinished: it is dropped.

    Args:
        path: The table.
        said: The fingerprint of the spot and the options.
        each: Rows of a board.

    Raises:
        ValueError: It is no such table, or one of another spot.
    """
    if not path.exists():
        return {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = file.readlines()
        rows = list(csv.DictReader(lines))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"table: {path} is no CSV file: {error}") from None
    if rows and not lines[-1].endswith("\n"):
        rows.pop()
    found = dict[str, list[dict[str, Any]]]()
    for number, row in enumerate(rows, start=2):
        if row.get("spot") != said:
            raise ValueError(
                f"table: {path}, line {number}, is of another spot, line, algorithm, target or "
                "precision; give another file"
            )
        try:
            read = _row(row)
            of_board = found.setdefault(read["board"], [])
            cards = [read.get(street) for street in STREETS]
            if any(cards == [other.get(street) for street in STREETS] for other in of_board):
                raise ValueError
            of_board.append(read)
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"table: {path}, line {number}, is no row of a report") from None
    short = [board for board, of_board in found.items() if len(of_board) != each]
    if short and short == list(found)[-1:]:
        del found[short.pop()]
    for board in short:
        raise ValueError(f"table: {path} has {len(found[board])} rows of {board}, not {each}")
    return found


def _row(cells: dict[str, str]) -> dict[str, Any]:
    """A row of numbers of a row of texts.  A KeyError or TypeError says that there are fewer or
    more cells than columns, a ValueError that a cell does not hold what its column does, or that
    the frequencies of the actions do not sum to 1."""
    actions = set(cells).difference(COLUMNS, LAST_COLUMNS)
    found: dict[str, Any] = {name: float(cells[name]) for name in {*NUMBERS, *actions}}
    found["iterations"] = int(cells["iterations"])
    # Rows without equities say that it is no number, and so does all that is seen where nobody
    # gets.
    unknown = {"equity"} if found["weight"] else {"equity", "value", *actions}
    finite = [value for name, value in found.items() if name not in unknown or value == value]
    frequencies = [found[name] for name in actions]
    if (
        cells["player"] not in PLAYERS
        or any(cells.get(street, CARDS[0]) not in CARDS for street in STREETS[1:])
        or not all(map(math.isfinite, finite))
        or min(found["weight"], found["iterations"], *frequencies) < 0
        or (found["weight"] and abs(sum(frequencies) - 1.0) > ROUNDING)
    ):
        raise ValueError
    return {name: found.get(name, text) for name, text in cells.items()}
