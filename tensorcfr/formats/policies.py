"""Import and export of policies: dicts, tables, files, and the policies of other libraries."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import numpy as np

from .._util.argument_checks import LONGEST_PATH, brief
from .._util.extras import needs
from .._util.frames import columns_of
from .._util.stored_arrays import PLAIN, list_members, read_member
from ..errors import suggest
from ..model.compiled_game import CompiledGame
from ..model.function_policies import Batched, ByLine, policy_of_function
from ..model.infoset_rows import InfosetRows
from ..model.layout import Layout
from ..model.policy import SUM_TOLERANCE, Filling, Policy, suggest_label
from ..model.sequence_table import (
    PROBABILITY,
    PYARROW,
    SequenceTable,
    all_rows,
    find_format,
    policy_of,
)
from .gambit import from_gambit
from .game_sources import library_of
from .openspiel_policies import from_openspiel

Row = tuple[int, Any, Any, Any]
"""Row of a table: its number in the source, infoset label, action label, probability."""

COLUMNS = ("infoset", "action", PROBABILITY)
"""Columns of a table that are read."""


def policy_table(policy: Any) -> SequenceTable:
    """Return the table of a policy or of a solution: ``policy.table()``."""
    table: SequenceTable = policy_of(policy).table()
    return table


def save_policy(policy: Any, path: str | Path, format: str | None = None) -> Path:
    """Write the policy, also of a solution, to a file: ``policy.save(path, format)``."""
    saved: Path = policy_of(policy).save(path, format)
    return saved


def read_policy(game: CompiledGame, path: str | Path, format: str | None = None) -> Policy:
    """Read a policy that :func:`save_policy` or any other program wrote.

    Tables may have rows in any order and further columns.  Missing actions have probability 0.

    Raises:
        ValueError: The file is not in its format, or the policy is for another game; names file and
            line, or the infoset.
        OSError: The file cannot be read.
    """
    path = Path(path)
    return FORMATS[find_format(path, format, FORMATS)](game, path)


def find_policy(game: CompiledGame, source: Any, name: str = "policy") -> Policy:
    """Return the policy of a source; every function that takes a policy accepts these sources.

    A source is

    * a policy, or an object with a ``policy``, such as a solution;
    * a mapping from infoset label to action label to probability;
    * the path of a file, see :func:`read_policy`;
    * a table of pandas, Polars or pyarrow with the columns ``infoset``, ``action`` and
      ``probability``;
    * a policy of OpenSpiel, or a mixed behaviour profile of pygambit;
    * a function that is called with each :class:`~tensorcfr.model.infoset.Infoset` (its label,
      with player and actions) and returns its probabilities, by action or in order;
    * a :class:`Batched` function of many infosets, such as a network;
    * a :class:`ByLine` function of all hands at a decision.

    Args:
        game: The game.
        source: The source.
        name: Name of the argument in errors.

    Raises:
        TypeError: ``source`` is not a source of a policy.
        ValueError: The policy is for another game, or invalid; names the infoset.
    """
    source = policy_of(source)
    if isinstance(source, Policy):
        if source.game is not game and source.game.digest != game.digest:
            raise ValueError(f"{name} is for {_describe_difference(source.game, game)}")
        return source
    if isinstance(source, (Batched, ByLine)):
        return policy_of_function(game, source)
    if isinstance(source, Mapping) and not callable(source):
        return Policy.from_mapping(game, source)
    if isinstance(source, (str, Path)):
        if len(str(source)) > LONGEST_PATH or Path(source).suffix[1:] not in FORMATS:
            raise ValueError(
                f"{name} must be the path of a file, {', '.join(FORMATS)}, not {brief(source)}"
            )
        return read_policy(game, source)
    if (library := library_of(source, LIBRARIES)) is not None:
        return LIBRARIES[library](game, source)
    if callable(source):
        return policy_of_function(game, source)
    raise TypeError(
        f"{name} must be a Policy, a mapping of infosets to actions to probabilities, a function "
        f"of infosets, a file, a table, or a policy of OpenSpiel or pygambit, not {brief(source)}"
    )


def _describe_difference(source_game: CompiledGame, target_game: CompiledGame) -> str:
    """Describe in an error the game that a policy is for, and its difference from another game."""
    if source_game.name != target_game.name:
        return f"{source_game.name}, not for {target_game.name}"
    ours, theirs = (
        "in chunks" if game.layout == Layout.CHUNKS else "flat"
        for game in (source_game, target_game)
    )
    if ours != theirs:
        return f"{source_game.name} {ours}, not {theirs}: compile both with the same cut"
    return f"another game that is called {source_game.name}: its rules or its cut differ"


def is_policy_file(path: Path) -> bool:
    """Return whether an ``.npz`` file holds only a policy, and not a solution or a game."""
    try:
        with open(path, "rb") as file:
            return PROBABILITY in list_members(file, str(path), PLAIN | {DIGEST_DTYPE})
    except ValueError:
        return False  # Reading the file later raises an error with the reason.


def policy_of_rows(
    game: CompiledGame, rows: Iterable[Row], source: str, name_row: Callable[[int], str]
) -> Policy:
    """Return the policy that rows in any order give.

    Args:
        game: The game.
        rows: The rows.
        source: Name of the file or table in errors.
        name_row: Function from the number of a row to its name in errors.

    Raises:
        ValueError: An infoset or action is unknown or occurs twice, or an infoset is missing or has
            no distribution.  The message begins with the name of the row, or with the source and
            names the infoset.
    """
    filling = Filling(game)
    # Rows in the order of the game need no index of labels, which is slow to build.
    remaining, rows = _take_in_order(all_rows(game), iter(rows), filling, source)
    table = _by_infoset(game, rows, name_row)
    for infosets in remaining:
        probabilities = np.zeros(infosets.numbers.shape)
        pairs = zip(probabilities, infosets.labels, infosets.actions, strict=True)
        for row, label, actions in pairs:
            if label not in table:
                raise ValueError(f"{source}: the policy has no probabilities for infoset {label!r}")
            _, by_action = table.pop(label)
            row[:] = [by_action.get(action, 0.0) for action in actions]
        _check_rows(infosets, probabilities, source)
        filling.put(infosets, probabilities)
    for label, (place, by_action) in table.items():
        raise ValueError(
            f"{name_row(place)}: action {next(iter(by_action))!r} of infoset {label!r} "
            "is given twice"
        )
    return Policy(game, filling.probabilities)


def _by_infoset(
    game: CompiledGame, rows: Iterable[Row], name_row: Callable[[int], str]
) -> dict[str, tuple[int, dict[str, float]]]:
    """Group rows by infoset: number of the first row, and probabilities by action."""
    by_label: dict[str, tuple[int, dict[str, float]]] = {}
    last: str | None = None
    spelled, actions, by_action = "", tuple[str, ...](), dict[str, float]()
    for place, label, action, number in rows:
        # Rows of an infoset usually follow each other, so look up a label only when it changes.
        if label != last:
            try:
                spelled, _, actions, _ = game.locate(label if isinstance(label, str) else "")
            except KeyError:
                hint = suggest_label(game, str(label))
                raise ValueError(
                    f"{name_row(place)}: {game.name} has no infoset {label!r}; {hint}"
                ) from None
            last = label
            by_action = by_label.setdefault(spelled, (place, {}))[1]
        if action not in actions:
            raise ValueError(
                f"{name_row(place)}: infoset {label!r} has no action {action!r}; "
                f"{suggest(str(action), actions)}"
            )
        if action in by_action:
            raise ValueError(
                f"{name_row(place)}: action {action!r} of infoset {label!r} is given twice"
            )
        try:
            by_action[action] = float(number)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{name_row(place)}: {brief(number)} is not a probability") from None
    return by_label


def _take_in_order(
    infoset_rows: Iterator[InfosetRows], rows: Iterator[Row], filling: Filling, source: str
) -> tuple[Iterator[InfosetRows], Iterator[Row]]:
    """Read rows in batches as long as they are in the order of the game.

    Returns:
        The infosets and the rows that are left.
    """
    for infosets in infoset_rows:
        taken = list(islice(rows, infosets.numbers.size))
        table = _table_of(infosets, taken)
        if table is None:  # The caller reads the rest row by row, which can name a wrong row.
            return chain([infosets], infoset_rows), chain(taken, rows)
        _check_rows(infosets, table, source)
        filling.put(infosets, table)
    return iter(()), rows


def _table_of(infosets: InfosetRows, taken: list[Row]) -> np.ndarray | None:
    """Return the probabilities of rows if they are exactly the rows of some infosets, in order.

    Returns:
        float64 (infosets, actions), or None for any other rows.
    """
    n_actions = infosets.numbers.shape[1]
    if len(taken) < infosets.numbers.size:
        return None
    _, labels, actions, numbers = zip(*taken, strict=True)
    expected = chain.from_iterable(repeat(label, n_actions) for label in infosets.labels)
    if labels != tuple(expected) or actions != tuple(chain.from_iterable(infosets.actions)):
        return None
    try:
        return np.array(list(map(float, numbers))).reshape(-1, n_actions)
    except (TypeError, ValueError, OverflowError):
        return None


def _check_rows(infosets: InfosetRows, table: np.ndarray, source: str) -> None:
    """Check that the probabilities of every infoset are a distribution; errors name the infoset."""
    wrong = ~((table >= 0).all(axis=1) & (np.abs(table.sum(axis=1) - 1) <= SUM_TOLERANCE))
    if wrong.any():
        index = int(wrong.argmax())
        by_action = dict(zip(infosets.actions[index], table[index].tolist(), strict=True))
        raise ValueError(
            f"{source}: the probabilities of infoset {infosets.labels[index]!r} are not a "
            f"distribution: {by_action}"
        )


# ------------------------------------------------------------------------------------- formats


def _read_csv(game: CompiledGame, path: Path) -> Policy:
    def rows(reader: Iterator[list[str]]) -> Iterator[Row]:
        columns = next(reader, [])
        indices = _column_indices(columns, str(path))
        for cells in reader:
            line: int = reader.line_num  # type: ignore[attr-defined]
            if len(cells) != len(columns):
                raise ValueError(f"{path}:{line}: {len(cells)} cells, but {len(columns)} columns")
            yield line, *(cells[index] for index in indices)  # type: ignore[misc]

    with open(path, encoding="utf-8-sig", newline="") as file:
        try:
            return policy_of_rows(
                game, rows(csv.reader(file)), str(path), lambda line: f"{path}:{line}"
            )
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"cannot read {path}: {error}") from error


def read_json(path: Path) -> Any:
    """Read a JSON file in which no object has a key twice.

    Raises:
        ValueError: The file cannot be read; names it.
    """
    try:
        return json.loads(path.read_bytes(), object_pairs_hook=_distinct_keys)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"cannot read {path}: {error}") from error


def _read_json(game: CompiledGame, path: Path) -> Policy:
    content = read_json(path)
    if not isinstance(content, dict):
        raise ValueError(
            f"{path}: expected infosets with their actions, found {type(content).__name__}"
        )

    def rows() -> Iterator[Row]:
        for label, row in content.items():
            if not isinstance(row, dict):
                raise ValueError(f"{path}: infoset {label!r} has {row!r}, not its actions")
            for action, cell in row.items():
                # A table with values has the probability as one of several columns.
                yield 0, label, action, cell.get(PROBABILITY) if isinstance(cell, dict) else cell

    return policy_of_rows(game, rows(), str(path), lambda _: str(path))


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{repeated!r} is given twice")
    return mapping


def _read_parquet(game: CompiledGame, path: Path) -> Policy:
    pa, parquet = needs(*PYARROW), needs("pyarrow.parquet", "tables")
    try:
        # With dictionaries, each label is decoded once per batch instead of once per row.
        with parquet.ParquetFile(path, read_dictionary=["infoset", "action"]) as file:
            _column_indices(file.schema_arrow.names, str(path))
            batches = file.iter_batches(columns=list(COLUMNS))
            return policy_of_rows(
                game, _arrow_rows(batches), str(path), lambda row: f"{path}: row {row}"
            )
    except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError) as error:
        # Errors of the operating system have a number.  For a damaged file the library raises
        # OSErrors without a number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"cannot read {path}: {error}") from error


def _arrow_rows(batches: Iterable[Any]) -> Iterator[Row]:
    row = 0
    for batch in batches:
        # pyarrow does not check the indices of dictionaries in a file.
        batch.validate(full=True)
        columns = (_values(batch.column(name)) for name in COLUMNS)
        yield from zip(range(row, row + len(batch)), *columns, strict=True)
        row += len(batch)


def _values(column: Any) -> list[Any]:
    """Convert a column of Arrow to Python objects; each entry of a dictionary is converted once."""
    if not hasattr(column, "dictionary"):
        return column.to_pylist()
    labels = column.dictionary.to_pylist()
    return [None if code is None else labels[code] for code in column.indices.to_pylist()]


ARCHIVES: dict[str, Callable[[CompiledGame, Path], Any]] = {}
"""Reader of other archives with a policy, by the name of an array that only they have.

Solvers register the reader of solutions here, because this layer must not import it.
"""
DIGEST_DTYPE = "U64"
"""Dtype of the digest that is stored with a policy: a text of 64 hexadecimal digits."""


def _read_npz(game: CompiledGame, path: Path) -> Policy:
    with open(path, "rb") as file:
        members = list_members(file, str(path), PLAIN | {DIGEST_DTYPE})
        for key, read in ARCHIVES.items():
            if key in members:
                return find_policy(game, read(game, path), str(path))
        if set(members) != {PROBABILITY, "digest"}:
            raise ValueError(f"{path} holds no policy: its arrays are {', '.join(members)}")
        arrays = {key: read_member(member, str(path)) for key, member in members.items()}
    if arrays["digest"].shape or str(arrays["digest"]) != game.digest:
        raise ValueError(f"{path}: the policy is for a different game, not for {game.name}")
    try:
        policy = Policy(game, arrays[PROBABILITY])
        if (policy.probabilities[game.chunks.trunk.player_sequences[:-1]] != 1.0).any():
            raise ValueError("the probability of an empty sequence is not 1")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    for infosets in all_rows(game):
        _check_rows(infosets, policy.at(infosets.numbers), str(path))
    return policy


FORMATS: Mapping[str, Callable[[CompiledGame, Path], Policy]] = {
    "csv": _read_csv,
    "json": _read_json,
    "parquet": _read_parquet,
    "npz": _read_npz,
}
"""Reader of a policy, by format."""


def _column_indices(columns: list[str], source: str) -> list[int]:
    """Return the indices of :data:`COLUMNS` among the columns of a table."""
    for name in COLUMNS:
        if name not in columns:
            # An unclosed quotation mark turns the rest of the table into one long name.
            named = [column if str(column).isidentifier() else brief(column) for column in columns]
            raise ValueError(f"{source}: there is no column {name!r}; {suggest(name, named)}")
    return [columns.index(name) for name in COLUMNS]


def _of_table(game: CompiledGame, table: Any) -> Policy:
    """Read a policy from a table of pandas, Polars or pyarrow."""
    if hasattr(table, "validate"):
        table.validate(full=True)  # pyarrow does not check the indices of dictionaries.
    columns, values = columns_of(table)
    _column_indices(columns, "the table")
    rows = ((row, *cells) for row, cells in enumerate(zip(*map(values, COLUMNS), strict=True)))
    return policy_of_rows(game, rows, "the table", lambda row: f"the table: row {row}")


LIBRARIES: Mapping[str, Callable[[CompiledGame, Any], Policy]] = {
    "pandas": _of_table,
    "pyarrow": _of_table,
    "polars": _of_table,
    "open_spiel": from_openspiel,
    "pyspiel": from_openspiel,
    "pygambit": from_gambit,
}
"""Reader of tables and policies of other packages, by package."""
