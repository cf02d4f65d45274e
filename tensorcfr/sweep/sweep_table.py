"""Table of a sweep: a CSV file with one row per checkpoint, which survives crashes.

Each row is appended in one write. Readers ignore an unfinished line at the end of the file. A row
replaces earlier rows of its cell with the same or a later iteration, so that a restarted cell
replaces its unfinished attempt. A normal end, Ctrl-C included, sorts the file.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from .._util.argument_checks import Kind, Several, Where, checked
from .._util.files import open_locked, replacing
from ..solvers.solution import Status
from .cells import Cell, StopRules, read_algorithm

CONTINUES = ""
"""``SweepRow.status`` of a checkpoint that is not the last of its cell."""
INTERRUPTED = "interrupted"
"""``SweepRow.status`` of the last row of an interrupted cell, which will be run again."""


@dataclass(frozen=True)
class SweepRow:
    """One checkpoint of one solve."""

    game: str
    """Name of the game, with its parameters."""
    algorithm: str
    """Algorithm with options that differ from the published ones: ``dcfr(alpha=2)``."""
    parameters: str
    """All parameters and options of the algorithm."""
    seed: int | None
    """Seed; None for an algorithm that does not sample."""
    iteration: int
    """Iterations done; each updates every player once."""
    nodes_touched: int
    """Histories visited so far."""
    decision_nodes_touched: int | None
    """Decision nodes visited so far; None in rows of versions that did not record the number."""
    seconds: float
    """Time spent iterating so far; evaluations do not count."""
    nash_conv: float
    """Sum over players of best-response value minus value, of the average strategy."""
    exploitability: float
    """``nash_conv`` divided by the number of players."""
    players: int
    """Number of players."""
    status: str
    """Reason for the end of the cell, on its last row; see :class:`tensorcfr.Status`."""
    budget: str
    """Stop rules of the sweep."""
    versions: str
    """Versions of this library, Python, numpy and numba."""
    machine: str
    """Processor and number of cores."""
    date: str
    """Day on which the cell began, in UTC."""
    repeat: int = 0
    """Index of the run among several of the same solve, from 0."""

    @property
    def key(self) -> Key:
        """Game, algorithm, seed and repeat, which identify the cell."""
        return self.game, self.algorithm, self.seed, self.repeat

    @property
    def learning_nodes(self) -> int | None:
        """Decision nodes visited, where a traversal from which all players learn counts once.

        None if the row lacks ``decision_nodes_touched``.

        Raises:
            ValueError: The algorithm is not registered in this process.
        """
        if self.decision_nodes_touched is None:
            return None
        record = read_algorithm(self.algorithm)
        return record.learning_nodes(self.decision_nodes_touched, self.players)

    @property
    def ends_cell(self) -> bool:
        """True if this row is the last one of a finished cell."""
        return self.status not in (CONTINUES, INTERRUPTED)


COLUMNS = tuple(field.name for field in fields(SweepRow))
"""Names of the columns, in order."""
HEADING = f"{','.join(COLUMNS)}\n".encode()
ADDED = ("decision_nodes_touched", "repeat")
"""Columns that tables of earlier versions lack; they are read as empty."""


def _matching(pattern: str, kind: str, make: Callable[[str], Any]) -> Callable[[str], Any]:
    """Make a function that converts a text after matching it with a regular expression."""

    def read(text: str) -> Any:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"{text[:40]!r} is not a {kind}")
        return make(text)

    return read


_whole = _matching(r"[0-9]{1,25}", "whole number", int)
_float = _matching(r"-?[0-9]{1,310}(\.[0-9]{1,330})?(e[+-]?[0-9]{1,3})?", "number", float)


def _number(text: str) -> float:
    """Parse a finite number, as Python prints it."""
    number: float = _float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]!r} is not finite")
    return number


def _seconds(text: str) -> float:
    """Parse a finite number >= 0."""
    if (seconds := _number(text)) < 0.0:
        raise ValueError(f"{text!r} is negative")
    return seconds


def _players(text: str) -> int:
    players: int = _whole(text)
    if not players:
        raise ValueError("there are no players")
    return players


def _optional(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Make a function that reads an empty text as None."""
    return lambda text: read(text) if text else None


_READERS: dict[str, Callable[[str], Any]] = {
    "seed": _optional(_whole),
    "repeat": lambda text: _whole(text) if text else 0,
    "iteration": _whole,
    "nodes_touched": _whole,
    "decision_nodes_touched": _optional(_whole),
    "seconds": _seconds,
    "nash_conv": _number,
    "exploitability": _number,
    "players": _players,
    "status": _matching(
        "|".join([CONTINUES, *(member.name.lower() for member in Status)]), "status", str
    ),
    "date": _matching(
        "[0-9]{4}-[0-9]{2}-[0-9]{2}", "date", lambda text: date.fromisoformat(text).isoformat()
    ),
}
"""Function that parses a column; all other columns are texts."""
ROUNDING = 1e-9
"""Relative tolerance of the exploitability of a row against ``nash_conv / players``."""

ROWS = Several(Kind((SweepRow,), "a row of a sweep"))

Key = tuple[str, str, int | None, int]


@checked()
def read_sweep(path: Annotated[str | Path, Where()]) -> list[SweepRow]:
    """Read the rows of a sweep's table, without replaced rows of unfinished attempts.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: The file is not the table of a sweep, or it is damaged; the message names line
            and column.
    """
    rows: dict[Key, list[SweepRow]] = {}
    for row in parse_table(Path(path).read_bytes(), str(path)):
        _add(rows, row)
    return [row for cell_rows in rows.values() for row in cell_rows]


@checked()
def curves(
    rows: Annotated[Iterable[SweepRow], ROWS],
) -> dict[tuple[str, str], list[list[SweepRow]]]:
    """Return the rows of each run, that is of a seed and a repeat, by game and algorithm."""
    by_cell: dict[Key, list[SweepRow]] = {}
    for row in rows:
        by_cell.setdefault(row.key, []).append(row)
    by_algorithm: dict[tuple[str, str], list[list[SweepRow]]] = {}
    for (game, algorithm, *_), run in by_cell.items():
        by_algorithm.setdefault((game, algorithm), []).append(run)
    return by_algorithm


class SweepTable:
    """Table of a sweep, open for more rows; a context manager.

    Args:
        path: Path of the CSV file, which is created if it does not exist.
        cells: Cells of the sweep.
        budget: Budget of every cell.

    Raises:
        ValueError: The file is not the table of a sweep, it is the table of another sweep, with
            other cells or another budget, or another process writes to it.
        OSError: The file cannot be written.
    """

    def __init__(self, path: str | Path, cells: Sequence[Cell], budget: StopRules) -> None:
        self.path = Path(path)
        self._order = {cell.key: position for position, cell in enumerate(cells)}
        self._rows: dict[Key, list[SweepRow]] = {}
        self._file = open_locked(self.path, "sweep")
        try:
            if os.fstat(self._file.fileno()).st_size:
                for row in parse_table(self.path.read_bytes(), str(path)):
                    self._check(row, str(budget))
                    _add(self._rows, row)
                self._put_in_order()
            else:
                self._write(HEADING)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> SweepTable:
        return self

    def __exit__(self, *error: object) -> None:
        # All rows are on the disk; a full disk only prevents sorting them.
        with suppress(OSError):
            self._put_in_order()
        self._file.close()

    @property
    def rows(self) -> list[SweepRow]:
        """All rows, in the order of the cells."""
        keys = sorted(self._rows, key=self._order.__getitem__)
        return [row for key in keys for row in self._rows[key]]

    def is_finished(self, cell: Cell) -> bool:
        """Return whether the last row of a cell ends it."""
        rows = self._rows.get(cell.key)
        return bool(rows) and rows[-1].ends_cell  # type: ignore[index]

    def append(self, row: SweepRow) -> None:
        """Write a row completely or not at all; the last row of a cell is synced to the disk.

        Raises:
            OSError: The row could not be written; the file is unchanged.
        """
        self._write(_line(row))
        if row.ends_cell:
            os.fsync(self._file.fileno())
        _add(self._rows, row)

    def _check(self, row: SweepRow, budget: str) -> None:
        """Raise an error for a row of another sweep."""
        wrong = None
        if row.key not in self._order:
            wrong = f"it holds {row.game} by {row.algorithm}"
            wrong += "" if row.seed is None else f", seed {row.seed}"
            wrong += f", repeat {row.repeat}" if row.repeat else ""
        elif row.budget != budget:
            wrong = f"its cells end at {row.budget}, not at {budget}"
        if wrong:
            raise ValueError(
                f"{self.path} belongs to another sweep: {wrong}; give another file or remove it"
            )

    def _write(self, line: bytes) -> None:
        """Append a line completely or not at all."""
        size = os.fstat(self._file.fileno()).st_size
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(size)
            raise OSError(error.errno, error.strerror, str(self.path)) from error

    def _put_in_order(self) -> None:
        """Rewrite the file, sorted by cells, without replaced rows."""
        with replacing(self.path) as file:
            file.writelines([HEADING, *map(_line, self.rows)])
        # The open file is the old one, which has been replaced.
        self._file.close()
        self._file = open_locked(self.path, "sweep")


def _add(rows: dict[Key, list[SweepRow]], row: SweepRow) -> None:
    """Add a row to its cell; it replaces rows of the same or a later iteration."""
    cell_rows = rows.setdefault(row.key, [])
    while cell_rows and cell_rows[-1].iteration >= row.iteration:
        cell_rows.pop()
    cell_rows.append(row)


def _line(row: SweepRow) -> bytes:
    """Return a row as a line of CSV; floats keep all digits."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(asdict(row).values())
    return text.getvalue().encode()


def parse_table(content: bytes, name: str) -> Iterator[SweepRow]:
    """Yield the rows of a table.

    Raises:
        ValueError: The content is not the table of a sweep, or it is damaged; the message names
            line and column.
    """
    # A crash may have left an unfinished line at the end.
    content = content[: content.rfind(b"\n") + 1]
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{name} is not a sweep's table: line {line} is not text") from None
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns = _next_line(lines, name) or []
    if tuple(columns) != tuple(
        heading for heading in COLUMNS if heading in columns or heading not in ADDED
    ):
        raise ValueError(f"{name} is not a sweep's table: its columns are not {', '.join(COLUMNS)}")
    first: dict[Key, SweepRow] = {}
    latest: dict[Key, SweepRow] = {}
    # A quoted text may contain line ends, so errors name the line on which a row begins.
    line = lines.line_num + 1
    while (values := _next_line(lines, name)) is not None:
        row = _parse_row(columns, values, f"{name}, line {line}")
        previous = latest.get(row.key)
        if previous is None or previous.status == INTERRUPTED:
            first[row.key] = row
        elif previous.iteration >= row.iteration and not _ends(previous, row):
            # Iterations fall only if the cell was restarted, and then it has the same first
            # checkpoint as before.
            if row.iteration > first[row.key].iteration:
                raise ValueError(
                    f"{name}, line {line}, column iteration: {row.iteration} comes after "
                    f"{previous.iteration}"
                )
            first[row.key] = row
        elif previous.nodes_touched > row.nodes_touched or previous.seconds > row.seconds:
            column = "seconds" if previous.seconds > row.seconds else "nodes_touched"
            raise ValueError(
                f"{name}, line {line}, column {column}: {getattr(row, column)} comes after "
                f"{getattr(previous, column)}"
            )
        latest[row.key] = row
        yield row
        line = lines.line_num + 1


def _ends(previous: SweepRow, row: SweepRow) -> bool:
    """Return whether a row repeats the checkpoint of the previous row in order to end the cell."""
    return previous.iteration == row.iteration and row.ends_cell and not previous.ends_cell


def _next_line(lines: Any, name: str) -> list[str] | None:
    """Return the cells of the next line of a CSV file; None at the end."""
    line = lines.line_num + 1
    try:
        return next(lines, None)
    except csv.Error as error:
        raise ValueError(f"{name}, line {line}: {error}") from None


def _parse_row(columns: Sequence[str], values: Sequence[str], where: str) -> SweepRow:
    """Parse the cells of a line as a row."""
    if len(values) != len(columns):
        raise ValueError(f"{where}: {len(values)} columns, not {len(columns)}")
    texts = dict(zip(columns, values, strict=True))
    parsed: dict[str, Any] = {}
    for column in COLUMNS:
        try:
            parsed[column] = _READERS.get(column, str)(texts.get(column, ""))
        except ValueError as error:
            raise ValueError(f"{where}, column {column}: {error}") from None
    row = SweepRow(**parsed)
    share = row.nash_conv / row.players
    if abs(row.exploitability - share) > ROUNDING * abs(share):
        raise ValueError(
            f"{where}, column exploitability: {row.exploitability!r} is not nash_conv / players, "
            f"{share!r}"
        )
    return row
