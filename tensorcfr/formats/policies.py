"""Policies in and out: dicts, tables, files, and the policies of other libraries."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from .._util.arguments import brief
from .._util.stored_arrays import PLAIN, list_members, read_member
from ..errors import suggest
from ..model.game import CompiledGame
from ..model.policy import SUM_TOLERANCE, Policy, suggest_label
from .functions import Batched, policy_of_batches, policy_of_function
from .tables import CHUNK, Piece, SequenceTable, chunks, find_format, repeat_labels

Row = tuple[int, Any, Any, Any]
"""Number of the row in its source, infoset label, action label, probability."""

PROBABILITY = "probability"
"""The column of a table that holds the policy."""


def policy_table(policy: Policy) -> SequenceTable:
    """A policy as a table; it has the one column ``probability``.  That of a game in chunks is in
    the order of public nodes, and read chunk by chunk."""
    by_node = policy.by_node
    if by_node is None:
        return SequenceTable(policy.game, {PROBABILITY: policy.probabilities})

    def pieces() -> Iterator[Piece]:
        for at in chain.from_iterable(map(by_node, range(policy.game.n_players))):
            actions = [at.actions] * len(at.labels)
            yield Piece(at.player, at.labels, actions, [at.probabilities])

    return SequenceTable(policy.game, _Column(policy), pieces)


class _Column(Mapping[str, np.ndarray]):
    """The column of a policy, laid out when it is asked for."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def __getitem__(self, name: str) -> np.ndarray:
        if name != PROBABILITY:
            raise KeyError(name)
        return self._policy.probabilities

    def __iter__(self) -> Iterator[str]:
        return iter((PROBABILITY,))

    def __len__(self) -> int:
        return 1


def save_policy(policy: Policy, path: str | Path, format: str | None = None) -> Path:
    """Write a policy to a file, which :func:`read_policy` reads back to the same bits.

    Args:
        policy: The policy.
        path: Where to; a file that is there is replaced when the new one is complete.
        format: ``"csv"`` and ``"json"`` write a line for every action or infoset; ``"parquet"``
            the same table in columns (the extra ``tensorcfr[tables]``); ``"npz"`` the
            probabilities by sequence without any label, for games of any size.  By default the
            suffix of the path.

    Returns:
        The path.

    Raises:
        ValueError: There is no such format.
    """
    path = Path(path)
    if find_format(path, format, FORMATS) == "npz":
        from .._util.files import replacing

        with replacing(path) as file:
            digest = np.array(policy.game.digest)
            np.savez(file, probability=policy.probabilities, digest=digest)
        return path
    return policy_table(policy).save(path, format)


LONGEST_PATH = 4096
"""Characters; a longer text is no path on any system."""


def read_policy(game: CompiledGame, path: str | Path, format: str | None = None) -> Policy:
    """Read a policy that :func:`save_policy` or any other program wrote.

    Tables may have their rows in any order and further columns; actions that are left out have
    probability 0.

    Raises:
        ValueError: The file is not in its format, or the policy is not one for this game; names
            file and line, or the infoset.
        OSError: The file cannot be read.
    """
    path = Path(path)
    return FORMATS[find_format(path, format, FORMATS)](game, path)


def find_policy(game: CompiledGame, source: Any, name: str = "policy") -> Policy:
    """The policy of a source; every function that takes a policy takes these sources.

    Args:
        game: The game.
        source: A policy; a mapping of infoset label to action label to probability; the path of
            a file, see :func:`read_policy`; a table of pandas or pyarrow with the columns
            ``infoset``, ``action`` and ``probability``; a policy of OpenSpiel; a mixed behaviour
            profile of pygambit; a function that is called with each
            :class:`~tensorcfr.model.infoset.Infoset`, which is its label and knows player and
            actions, and that returns its probabilities by action or in order; a :class:`Batched`
            function of many infosets, such as a network.
        name: The name of the argument in errors.

    Raises:
        TypeError: This is no source of a policy.
        ValueError: The policy is not one for this game.
    """
    if isinstance(source, Policy):
        if source.game is not game and source.game.digest != game.digest:
            raise ValueError(f"{name} is for {source.game.name}, not for {game.name}")
        return source
    if isinstance(source, Batched):
        return policy_of_batches(game, source)
    if isinstance(source, Mapping) and not callable(source):
        return Policy.from_mapping(game, source)
    if isinstance(source, (str, Path)):
        if len(str(source)) > LONGEST_PATH or Path(source).suffix[1:] not in FORMATS:
            raise ValueError(
                f"{name} must be the path of a file, {', '.join(FORMATS)}, not {brief(source)}"
            )
        return read_policy(game, source)
    modules = {base.__module__.partition(".")[0] for base in type(source).__mro__}
    for library, read in LIBRARIES.items():
        if library in modules:
            return read(game, source)
    if callable(source):
        return policy_of_function(game, source)
    raise TypeError(
        f"{name} must be a Policy, a mapping of infosets to actions to probabilities, a function "
        f"of infosets, a file, a table, or a policy of OpenSpiel or pygambit, not {brief(source)}"
    )


def is_policy_file(path: Path) -> bool:
    """Whether an ``.npz`` file holds a policy alone, and not a solution or a game."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return PROBABILITY in arrays.files
    except (ValueError, EOFError, BadZipFile):
        return False  # Who reads it says why.


def policy_of_rows(
    game: CompiledGame, rows: Iterable[Row], name_row: Callable[[int], str]
) -> Policy:
    """A policy from rows in any order.

    Args:
        game: The game.
        rows: The rows.
        name_row: What error messages call a row.

    Raises:
        ValueError: An infoset or action is unknown or given twice, or an infoset is missing or
            has no distribution; begins with the place of the row, or names the infoset.
    """
    probabilities = np.zeros(game.n_sequences)
    given = np.zeros(game.n_sequences, dtype=bool)
    probabilities[game.form.player_sequences[:-1]] = 1.0
    # Rows in the game's own order are recognised without a look at the index, which makes labels.
    left = _take_in_order(game, iter(rows), probabilities, given)
    last: str | None = None
    infoset, actions = 0, tuple[str, ...]()
    for place, label, action, number in left:
        if label != last:
            found = game.infoset_index.get(label) if isinstance(label, str) else None
            if found is None:
                hint = suggest_label(game, str(label))
                raise ValueError(f"{name_row(place)}: {game.name} has no infoset {label!r}; {hint}")
            last, infoset, actions = label, found, game.infoset_actions[found]
        if action not in actions:
            raise ValueError(
                f"{name_row(place)}: infoset {label!r} has no action {action!r}; "
                f"{suggest(str(action), actions)}"
            )
        at = game.sequences(infoset)
        sequence = at.start + at.step * actions.index(action)
        if given[sequence]:
            raise ValueError(
                f"{name_row(place)}: action {action!r} of infoset {label!r} is given twice"
            )
        given[sequence] = True
        try:
            probabilities[sequence] = float(number)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{name_row(place)}: {brief(number)} is not a probability") from None
    _check_distributions(game, probabilities, given)
    return Policy(game, probabilities)


def _take_in_order(
    game: CompiledGame, rows: Iterator[Row], probabilities: np.ndarray, given: np.ndarray
) -> Iterator[Row]:
    """Take the first rows as long as they are in the game's own order, many at a time.

    Args:
        game: The game.
        rows: The rows.
        probabilities: float64 (sequences,): modified in place, like ``given``.
        given: bool (sequences,): which probabilities are there.

    Returns:
        The rows that are left.
    """
    for chunk in chunks(game):
        n_actions = chunk.sequences.shape[1]
        for first in range(0, len(chunk.labels), CHUNK):
            part = slice(first, first + CHUNK)
            sequences = chunk.sequences[part].ravel()
            taken = list(islice(rows, len(sequences)))
            if len(taken) < len(sequences):
                return chain(taken, rows)
            _, labels, actions, numbers = zip(*taken, strict=True)
            expected = chain.from_iterable(repeat(label, n_actions) for label in chunk.labels[part])
            if labels != tuple(expected) or actions != tuple(
                chain.from_iterable(chunk.actions[part])
            ):
                return chain(taken, rows)
            try:
                probabilities[sequences] = list(map(float, numbers))
            except (TypeError, ValueError, OverflowError):
                return chain(taken, rows)  # Row by row, which names the one that is wrong.
            given[sequences] = True
    return rows


def _check_distributions(game: CompiledGame, probabilities: np.ndarray, given: np.ndarray) -> None:
    """Every infoset is there, and its probabilities sum to 1."""
    form = game.form
    shapes = (form.bucket_infoset, form.bucket_sequence, form.bucket_actions, form.bucket_lanes)
    for infoset, first, actions, lanes in zip(*(s.tolist() for s in shapes), strict=True):
        at = slice(first, first + actions * lanes)
        missing = ~given[at].reshape(actions, lanes).any(axis=0)
        if missing.any():
            label = game.infoset_labels[infoset + int(missing.argmax())]
            raise ValueError(f"the policy says nothing about infoset {label!r}")
        table = probabilities[at].reshape(actions, lanes)
        wrong = ~((table >= 0).all(axis=0) & (np.abs(table.sum(axis=0) - 1) <= SUM_TOLERANCE))
        if wrong.any():
            lane = int(wrong.argmax())
            said = dict(
                zip(game.infoset_actions[infoset + lane], table[:, lane].tolist(), strict=True)
            )
            label = game.infoset_labels[infoset + lane]
            raise ValueError(f"the probabilities of infoset {label!r} are no distribution: {said}")


# ------------------------------------------------------------------------------------- formats


def _read_csv(game: CompiledGame, path: Path) -> Policy:
    def rows(reader: Iterator[list[str]]) -> Iterator[Row]:
        columns = next(reader, [])
        at = [_column(columns, name, str(path)) for name in ("infoset", "action", PROBABILITY)]
        for cells in reader:
            line: int = reader.line_num  # type: ignore[attr-defined]
            if len(cells) != len(columns):
                raise ValueError(f"{path}:{line}: {len(cells)} cells, but {len(columns)} columns")
            yield line, *(cells[index] for index in at)  # type: ignore[misc]

    with open(path, encoding="utf-8-sig", newline="") as file:
        try:
            return policy_of_rows(game, rows(csv.reader(file)), lambda line: f"{path}:{line}")
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"cannot read {path}: {error}") from error


def _read_json(game: CompiledGame, path: Path) -> Policy:
    try:
        given = json.loads(path.read_bytes(), object_pairs_hook=_distinct_keys)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"cannot read {path}: {error}") from error
    if not isinstance(given, dict):
        raise ValueError(
            f"{path}: expected infosets with their actions, found {type(given).__name__}"
        )

    def rows() -> Iterator[Row]:
        for label, row in given.items():
            if not isinstance(row, dict):
                raise ValueError(f"{path}: infoset {label!r} has {row!r}, not its actions")
            for action, cell in row.items():
                # A table of values has more than the probability.
                yield 0, label, action, cell.get(PROBABILITY) if isinstance(cell, dict) else cell

    return policy_of_rows(game, rows(), lambda _: str(path))


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{twice!r} is given twice")
    return found


def _read_parquet(game: CompiledGame, path: Path) -> Policy:
    from .tables import _pyarrow

    pa = _pyarrow()
    from pyarrow import parquet

    try:
        # Each label is made once per batch, and not once per row.
        with parquet.ParquetFile(path, read_dictionary=["infoset", "action"]) as file:
            names = ["infoset", "action", PROBABILITY]
            for name in names:
                _column(file.schema_arrow.names, name, str(path))
            in_order = _read_in_order(game, file, names)
            if in_order is not None:
                return in_order
            batches = file.iter_batches(columns=names)
            return policy_of_rows(game, _arrow_rows(batches), lambda row: f"{path}: row {row}")
    except (pa.ArrowException, OSError, KeyError) as error:
        # An error of the system has a number; the library raises its own OSErrors for damage.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"cannot read {path}: {error}") from error


def _read_in_order(game: CompiledGame, file: Any, names: list[str]) -> Policy | None:
    """The policy of a Parquet file whose rows are in the game's own order; None if they are not.

    Columns are compared as a whole, so that no row becomes a Python object.
    """
    import pyarrow as pa

    probabilities = np.ones(game.n_sequences)
    given = np.zeros(game.n_sequences, dtype=bool)
    groups = (file.read_row_group(i, names) for i in range(file.num_row_groups))
    left = next(groups, None)
    for chunk in chunks(game):
        rows = chunk.sequences.size
        while left is not None and len(left) < rows:
            more = next(groups, None)
            if more is None:
                return None
            left = pa.concat_tables([left, more])
        if left is None:
            return None
        table, left = left.slice(0, rows), left.slice(rows)
        expected = repeat_labels(pa, chunk)
        for name, column in zip(names[:2], expected, strict=True):
            found = table.column(name)
            if not (pa.types.is_dictionary(found.type) or pa.types.is_string(found.type)):
                return None
            if not found.cast(pa.string()).combine_chunks().equals(column):
                return None
        numbers = table.column(names[2])
        if numbers.null_count or not pa.types.is_floating(numbers.type):
            return None
        sequences = chunk.sequences.ravel()
        probabilities[sequences] = numbers.to_numpy()
        given[sequences] = True
    if (left is not None and len(left)) or next(groups, None) is not None:
        return None
    _check_distributions(game, probabilities, given)
    return Policy(game, probabilities)


def _arrow_rows(batches: Iterable[Any]) -> Iterator[Row]:
    row = 0
    for batch in batches:
        # The library trusts the indices of dictionaries in a file.
        batch.validate(full=True)
        columns = [_values(batch.column(name)) for name in ("infoset", "action", PROBABILITY)]
        for label, action, number in zip(*columns, strict=True):
            yield row, label, action, number
            row += 1


def _values(column: Any) -> list[Any]:
    """A column of Arrow as Python objects, those of a dictionary made once."""
    if not hasattr(column, "dictionary"):
        return column.to_pylist()
    labels = column.dictionary.to_pylist()
    return [None if code is None else labels[code] for code in column.indices.to_pylist()]


DIGEST_DTYPE = "U64"
"""Dtype of the digest beside a policy: a text of 64 hexadecimal digits."""


def _read_npz(game: CompiledGame, path: Path) -> Policy:
    with open(path, "rb") as file:
        members = list_members(file, str(path), PLAIN | {DIGEST_DTYPE})
        if set(members) != {PROBABILITY, "digest"}:
            raise ValueError(f"{path} holds no policy: its arrays are {', '.join(members)}")
        arrays = {key: read_member(file, member, str(path)) for key, member in members.items()}
    if arrays["digest"].shape or str(arrays["digest"]) != game.digest:
        raise ValueError(f"{path}: the policy is for another game than {game.name}")
    try:
        policy = Policy(game, arrays[PROBABILITY])
        if (policy.probabilities[game.form.player_sequences[:-1]] != 1.0).any():
            raise ValueError("an empty sequence has another probability than 1")
        _check_distributions(game, policy.probabilities, np.ones(game.n_sequences, dtype=bool))
        return policy
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


FORMATS: Mapping[str, Callable[[CompiledGame, Path], Policy]] = {
    "csv": _read_csv,
    "json": _read_json,
    "parquet": _read_parquet,
    "npz": _read_npz,
}
"""What reads a policy, by format."""


def _column(columns: list[str], name: str, source: str) -> int:
    if name not in columns:
        # A table with an open quotation mark has one long name.
        named = [column if str(column).isidentifier() else brief(column) for column in columns]
        raise ValueError(f"{source}: there is no column {name!r}; {suggest(name, named)}")
    return columns.index(name)


def _of_table(game: CompiledGame, table: Any) -> Policy:
    """A table of pandas or pyarrow."""
    columns = list(getattr(table, "column_names", None) or table.columns)
    for name in ("infoset", "action", PROBABILITY):
        _column(columns, name, "the table")
    if hasattr(table, "to_batches"):
        rows = _arrow_rows(table.to_batches())
    else:
        parts = [table[name].tolist() for name in ("infoset", "action", PROBABILITY)]
        rows = ((row, *cells) for row, cells in enumerate(zip(*parts, strict=True)))
    return policy_of_rows(game, rows, lambda row: f"the table: row {row}")


def _of_openspiel(game: CompiledGame, policy: Any) -> Policy:
    from .openspiel_policies import from_openspiel

    return from_openspiel(game, policy)


def _of_gambit(game: CompiledGame, profile: Any) -> Policy:
    from .gambit import from_gambit

    return from_gambit(game, profile)


LIBRARIES: Mapping[str, Callable[[CompiledGame, Any], Policy]] = {
    "pandas": _of_table,
    "pyarrow": _of_table,
    "open_spiel": _of_openspiel,
    "pyspiel": _of_openspiel,
    "pygambit": _of_gambit,
}
"""Packages whose tables and policies are taken as they are."""
