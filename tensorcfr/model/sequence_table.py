"""Numbers by infoset and action as tables: rows, CSV, JSON, Parquet; pandas, Polars, Arrow.

A table has a row for each action of each infoset, in the game's own order, with the columns
``player``, ``infoset``, ``action`` and the numbers.  Large tables are written some thousands of
infosets at a time, so they take little memory beyond their arrays.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .._util.extras import needs
from .._util.files import replacing
from .._util.frames import FrameSource
from .._util.plain import plain
from ..errors import suggest
from .compiled_game import CompiledGame
from .infoset_rows import InfosetRows
from .layout import Layout

PYARROW = ("pyarrow", "tables")
"""Package and its extra."""
TOGETHER = 16_384
"""Number of rows that are written together."""
KEYS = ("player", "infoset", "action")
"""Columns that identify the sequence of a row."""


class Piece(NamedTuple):
    """Infosets of one player and one number of actions, with the numbers of a table."""

    player: int
    labels: list[str]
    """Label of each infoset."""
    actions: list[tuple[str, ...]]
    """Action labels of each infoset."""
    numbers: list[np.ndarray]
    """Numbers of each column, float64 (infosets, actions)."""


def all_rows(game: CompiledGame) -> Iterator[InfosetRows]:
    """Yield all infosets of a game in order, some at a time."""
    return (rows for player in range(game.n_players) for rows in game.rows(player))


class SequenceTable(FrameSource):
    """Columns of numbers over the sequences of a game.

    Args:
        game: The game.
        columns: Names of the columns.
        pieces: Function that yields all infosets in order, with the numbers of the columns.
        n_rows: Number of rows: one for each action of each infoset.
    """

    def __init__(
        self,
        game: CompiledGame,
        columns: Sequence[str],
        pieces: Callable[[], Iterator[Piece]],
        n_rows: int,
    ) -> None:
        self.game, self.columns = game, tuple(columns)
        self.pieces, self._n_rows = pieces, n_rows

    def __repr__(self) -> str:
        return f"<SequenceTable of {self.game.name}: {', '.join(self.columns)}>"

    def __len__(self) -> int:
        return self._n_rows

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        return [*KEYS, *self.columns]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield player, infoset, action and the numbers of each row."""
        for piece in self.pieces():
            n_infosets, n_actions = piece.numbers[0].shape
            numbers = [column.ravel().tolist() for column in piece.numbers]
            labels = chain.from_iterable([label] * n_actions for label in piece.labels)
            actions = chain.from_iterable(piece.actions)
            players = [piece.player] * (n_infosets * n_actions)
            yield from zip(players, labels, actions, *numbers, strict=True)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return a dict from infoset to action to the number, or to a dict of numbers if there are
        several columns."""
        return {label: dict(row) for label, row in self._nested()}

    def _nested(self) -> Iterator[tuple[str, dict[str, Any]]]:
        is_single = len(self.columns) == 1
        for piece in self.pieces():
            numbers = np.stack(piece.numbers, -1)
            listed = (numbers[..., 0] if is_single else numbers).tolist()
            for label, actions, row in zip(piece.labels, piece.actions, listed, strict=True):
                cells = row if is_single else [dict(zip(self.columns, n, strict=True)) for n in row]
                yield label, dict(zip(actions, cells, strict=True))

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``; labels are dictionary-encoded.

        Raises:
            MissingExtraError: pyarrow is not installed; names the command that installs it.
        """
        pa = needs(*PYARROW)
        return pa.Table.from_batches(list(self._batches(pa)), self._schema(pa)).unify_dictionaries()

    def _schema(self, pa: Any) -> Any:
        label = pa.dictionary(pa.int32(), pa.string())
        fields = [("player", pa.int8()), ("infoset", label), ("action", label)]
        return pa.schema([*fields, *((name, pa.float64()) for name in self.columns)])

    def _batches(self, pa: Any) -> Iterator[Any]:
        """Yield record batches with dictionary-encoded labels, each label once."""
        schema = self._schema(pa)
        for piece in self.pieces():
            infosets, n_actions = piece.numbers[0].shape
            # Many infosets have the same actions, so encode each tuple of actions once.
            action_sets = {
                actions: index for index, actions in enumerate(dict.fromkeys(piece.actions))
            }
            number: dict[str, int] = {}
            table = [
                [number.setdefault(a, len(number)) for a in actions] for actions in action_sets
            ]
            set_of_infoset = [action_sets[actions] for actions in piece.actions]
            codes = np.array(table, dtype=np.int32).reshape(-1, n_actions)[set_of_infoset].ravel()
            repeated = np.repeat(np.arange(infosets, dtype=np.int32), n_actions)
            columns = [
                pa.array(np.full(len(codes), piece.player, dtype=np.int8)),
                pa.DictionaryArray.from_arrays(repeated, pa.array(piece.labels, pa.string())),
                pa.DictionaryArray.from_arrays(codes, pa.array(list(number), pa.string())),
                *(pa.array(column.ravel()) for column in piece.numbers),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def write(self, file: BinaryIO, format: str) -> None:
        """Write the table to an open file; see :data:`WRITERS`."""
        WRITERS[format](self, file)

    def save(self, path: str | Path, format: str | None = None) -> Path:
        """Write the table to a file; an existing file is replaced when the new one is complete.

        Args:
            path: The file.
            format: ``"csv"``, ``"json"`` or ``"parquet"`` (the extra ``tensorcfr[tables]``); by
                default the suffix of the path.

        Returns:
            The path.

        Raises:
            MissingExtraError: pyarrow is not installed; names the command that installs it.
            ValueError: There is no such format.
        """
        path = Path(path)
        name = find_format(path, format, WRITERS)
        with replacing(path) as file:
            self.write(file, name)
        return path


PROBABILITY = "probability"
"""Column of a table that holds a policy."""


class Tabular(FrameSource):
    """Policy as a table, in memory and in files."""

    game: Any
    """Game of the policy."""
    probabilities: np.ndarray
    """float64 (numbers,): probability of each action."""

    def table(self) -> SequenceTable:
        """Return the policy as a table with the single column ``probability``.

        The table of a game in chunks is in the order of public nodes, and is read chunk by chunk.
        The table of a game that is not compiled has the infosets that were visited.
        """
        policy: Any = self

        def pieces() -> Iterator[Piece]:
            for player in range(policy.game.n_players):
                for rows in policy.rows(player):
                    yield Piece(player, rows.labels, rows.actions, [policy.at(rows.numbers)])

        return SequenceTable(policy.game, [PROBABILITY], pieces, policy.n_probabilities)

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``, as :meth:`SequenceTable.to_arrow` does."""
        return self.table().to_arrow()

    def save(self, path: str | Path, format: str | None = None) -> Path:
        """Write the policy to a file; :func:`tensorcfr.formats.read_policy` reads it back exactly.

        Args:
            path: The file; an existing one is replaced when the new one is complete.
            format: ``"csv"`` and ``"json"`` write a line for every action or infoset; ``"parquet"``
                the same table in columns (the extra ``tensorcfr[tables]``); ``"npz"`` the
                probabilities by sequence without any label, for games of any size.  By default the
                suffix of the path.

        Returns:
            The path.

        Raises:
            ValueError: There is no such format; or the game is not compiled and has no numbers of
                sequences, which ``"npz"`` needs.
        """
        path = Path(path)
        if find_format(path, format, [*WRITERS, "npz"]) != "npz":
            return self.table().save(path, format)
        if self.game.layout == Layout.RULES:
            raise ValueError(
                f"{path}: {self.game.name} is not compiled, so its policy can only be written with "
                "labels: csv, json or parquet"
            )
        with replacing(path) as file:
            digest = np.array(self.game.digest)
            np.savez(file, probability=self.probabilities, digest=digest)
        return path


def policy_of(source: Any) -> Any:
    """Return the policy of an object with a ``policy``, such as a solution; any other object
    unchanged."""
    policy = getattr(source, "policy", None)
    return policy if isinstance(policy, Tabular) else source


def find_format(path: Path, format: str | None, known: Collection[str]) -> str:
    """Return the requested format, or by default the suffix of the path.

    Raises:
        ValueError: There is no such format.
    """
    name = path.suffix.removeprefix(".").lower() if format is None else format
    if name not in known:
        which = f"format {name!r}" if name else "suffix"
        raise ValueError(f"{path}: a table cannot have the {which}; {suggest(name, known)}")
    return name


def _text(file: BinaryIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)


def _write_csv(table: SequenceTable, file: BinaryIO) -> None:
    text = _text(file)
    rows = chain([tuple(table.names)], table.rows())
    while batch := list(islice(rows, TOGETHER)):
        # Write large pieces, because many small writes are slow.  csv writes floats exactly.
        piece = io.StringIO()
        csv.writer(piece, lineterminator="\n").writerows(batch)
        text.write(piece.getvalue())
    text.detach()


def _write_json(table: SequenceTable, file: BinaryIO) -> None:
    text = _text(file)
    begin = "{\n"
    rows = table._nested()
    while batch := list(islice(rows, TOGETHER)):
        # ``plain`` turns NaN, "not reached", into null, because JSON has no such number.
        lines = [f"{json.dumps(label)}: {json.dumps(plain(row))}" for label, row in batch]
        text.write(begin + ",\n".join(lines))
        begin = ",\n"
    text.write("\n}\n" if begin == ",\n" else "{}\n")
    text.detach()


def _write_parquet(table: SequenceTable, file: BinaryIO) -> None:
    pa, parquet = needs(*PYARROW), needs("pyarrow.parquet", "tables")
    with parquet.ParquetWriter(file, table._schema(pa)) as writer:
        for batch in table._batches(pa):
            writer.write_batch(batch)


WRITERS: Mapping[str, Callable[[SequenceTable, BinaryIO], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
}
"""Writers of a table, by format."""
