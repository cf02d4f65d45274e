"""The table of a sweep: a CSV file, one row per checkpoint, that a crash cannot spoil.

Rows are appended as they come, each in one piece; what a crash leaves unfinished at the end of
the file is not read.  A row replaces the earlier ones of its cell that have come as far or
further, so that a cell which begins anew takes the place of its unfinished attempt.  An orderly
end, Ctrl-C included, puts the file in order.
"""

from __future__ import annotations

import csv
import errno
import io
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any

from .._util.files import replacing
from .cells import Budget, Cell

GOES_ON = ""
"""``Row.status`` of a checkpoint that is not the last of its cell."""
INTERRUPTED = "interrupted"
"""``Row.status`` of the last row of a cell that was interrupted; it will be run again."""


@dataclass(frozen=True)
class Row:
    """One checkpoint of one solve."""

    game: str
    """Name of the game, with its parameters."""
    algorithm: str
    """The algorithm, and where it departs from the published one: ``dcfr(alpha=2)``."""
    parameters: str
    """All its parameters and options."""
    seed: int | None
    """None for an algorithm that draws nothing."""
    iteration: int
    """Iterations done; each updates every player once."""
    nodes_touched: int
    """Histories visited so far."""
    decision_nodes_touched: int | None
    """Decision nodes among them; None in rows of versions that did not note it."""
    seconds: float
    """Time spent iterating so far; evaluations are not charged."""
    nash_conv: float
    """Sum over players of best-response value minus value, of the average strategy."""
    exploitability: float
    """``nash_conv`` divided by the number of players."""
    players: int
    """Number of players."""
    status: str
    """On the last row of a cell, why it ended; see :class:`tensorcfr.Status`."""
    budget: str
    """The stop rules of the sweep."""
    versions: str
    """Versions of this library, Python, numpy and numba."""
    machine: str
    """Processor and number of cores."""
    date: str
    """UTC, when the cell began."""

    @property
    def key(self) -> tuple[str, str, int | None]:
        """That of the cell."""
        return self.game, self.algorithm, self.seed

    @property
    def ends_cell(self) -> bool:
        """Whether the cell is finished with this row."""
        return self.status not in (GOES_ON, INTERRUPTED)


COLUMNS = tuple(field.name for field in fields(Row))
"""The columns, in order."""
ADDED = ("decision_nodes_touched",)
"""Columns that the tables of earlier versions lack; they are read as empty, and written anew."""

_READERS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "int | None": lambda text: int(text) if text else None,
}

Key = tuple[str, str, int | None]


def read_sweep(path: str | Path) -> list[Row]:
    """The rows of a sweep's table, attempts that were begun anew left out.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is no sweep's table, or damaged; names the line.
    """
    rows: dict[Key, list[Row]] = {}
    for row in _read_lines(Path(path)):
        _add(rows, row)
    return [row for own in rows.values() for row in own]


def curves(rows: Iterable[Row]) -> dict[tuple[str, str], list[list[Row]]]:
    """By game and algorithm, the rows of each seed."""
    by_cell: dict[Key, list[Row]] = {}
    for row in rows:
        by_cell.setdefault(row.key, []).append(row)
    found: dict[tuple[str, str], list[list[Row]]] = {}
    for (game, algorithm, _), own in by_cell.items():
        found.setdefault((game, algorithm), []).append(own)
    return found


class Table:
    """The table of a sweep, open for more rows; use it in a ``with`` statement.

    Args:
        path: The CSV file; made if it is not there.
        cells: The cells of the sweep.
        budget: Their budget.

    Raises:
        ValueError: The file is no sweep's table, or that of another sweep: it holds cells that
            this one has not, or another budget.  Or another process is writing it.
        OSError: The file cannot be written.
    """

    def __init__(self, path: str | Path, cells: Sequence[Cell], budget: Budget) -> None:
        self.path = Path(path)
        self._order = {cell.key: place for place, cell in enumerate(cells)}
        self._rows: dict[Key, list[Row]] = {}
        self._file = self._open()
        try:
            if os.fstat(self._file.fileno()).st_size:
                for row in _read_lines(self.path):
                    self._check(row, str(budget))
                    _add(self._rows, row)
                self._put_in_order()
            else:
                self._write([",".join(COLUMNS)])
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Table:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The rows are safe already; only their order is lost where the disk is full.
        with suppress(OSError):
            self._put_in_order()
        self._file.close()

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order of the cells."""
        keys = sorted(self._rows, key=self._order.__getitem__)
        return [row for key in keys for row in self._rows[key]]

    def is_finished(self, cell: Cell) -> bool:
        """Whether a cell has run to its end."""
        rows = self._rows.get(cell.key)
        return bool(rows) and rows[-1].ends_cell  # type: ignore[index]

    def append(self, row: Row) -> None:
        """Write a row, in one piece; the last one of a cell is on the disk when this returns.

        Raises:
            OSError: It could not be written; the file is as it was before.
        """
        self._write([_line(row)])
        if row.ends_cell:
            os.fsync(self._file.fileno())
        _add(self._rows, row)

    def _open(self) -> io.FileIO:
        """The file, locked against other processes that would write it."""
        file = open(self.path, "ab", buffering=0)  # noqa: SIM115
        try:
            import fcntl
        except ImportError:
            return file
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise
            raise ValueError(f"{self.path}: another sweep is writing this file") from None
        return file

    def _check(self, row: Row, budget: str) -> None:
        """Refuse a row of another sweep."""
        wrong = None
        if row.key not in self._order:
            wrong = f"it holds {row.game} by {row.algorithm}"
            wrong += "" if row.seed is None else f", seed {row.seed}"
        elif row.budget != budget:
            wrong = f"its cells end at {row.budget}, not at {budget}"
        if wrong:
            raise ValueError(
                f"{self.path} belongs to another sweep: {wrong}; give another file, or remove it"
            )

    def _write(self, lines: list[str]) -> None:
        """Append whole lines, or nothing."""
        size = os.fstat(self._file.fileno()).st_size
        rest = memoryview("".join(f"{line}\n" for line in lines).encode())
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(size)
            raise OSError(error.errno, error.strerror, str(self.path)) from error

    def _put_in_order(self) -> None:
        """Write the file anew: cell after cell, without what was replaced."""
        with replacing(self.path) as file:
            for line in (",".join(COLUMNS), *map(_line, self.rows)):
                file.write(f"{line}\n".encode())
        self._file.close()
        self._file = self._open()


def _add(rows: dict[Key, list[Row]], row: Row) -> None:
    """Add a row to its cell, in place of those that have come as far or further."""
    own = rows.setdefault(row.key, [])
    while own and own[-1].iteration >= row.iteration:
        own.pop()
    own.append(row)


def _line(row: Row) -> str:
    """A row as CSV, without the end of the line; floats keep every digit."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(asdict(row).values())
    return text.getvalue()


def _read_lines(path: Path) -> Iterable[Row]:
    """The rows of a file, as they were written."""
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no table of a sweep: it is not text") from None
    # What follows the last end of a line was being written when the machine stopped.
    lines = text[: text.rfind("\n") + 1].splitlines()
    found = tuple(lines[0].split(",")) if lines else ()
    if found not in (COLUMNS, tuple(name for name in COLUMNS if name not in ADDED)):
        raise ValueError(f"{path} is no table of a sweep: its columns are not {', '.join(COLUMNS)}")
    readers = {field.name: _READERS[str(field.type)] for field in fields(Row)}
    for number, values in enumerate(csv.reader(lines[1:]), start=2):
        try:
            said = dict(zip(found, values, strict=True))
            yield Row(**{name: read(said.get(name, "")) for name, read in readers.items()})
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
