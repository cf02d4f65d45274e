"""Numbers by infoset and action as tables: rows, CSV, JSON, Parquet, pandas, Arrow.

A table has a row for each action of each infoset, in the game's own order, with the columns
``player``, ``infoset``, ``action`` and the numbers.  Large tables are written some thousands of
infosets at a time, so they take little memory beyond their arrays.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .._util.files import replacing
from ..errors import MissingExtraError, suggest
from ..model.game import CompiledGame
from ..model.labels import InfosetLabels, InfosetPlaces, PublicGame

KEYS = ("player", "infoset", "action")
"""The columns that say which sequence a row is about."""

CHUNK = 16_384
"""Infosets that are written together."""


class Chunk(NamedTuple):
    """Consecutive infosets of one player and one number of actions."""

    player: int
    """Whose."""
    labels: list[str]
    """Label of each infoset."""
    actions: list[tuple[str, ...]]
    """Action labels of each infoset."""
    sequences: np.ndarray
    """int64 (infosets, actions): their sequences."""


def chunks(game: CompiledGame) -> Iterator[Chunk]:
    """All infosets in order, with their labels."""
    form = game.form
    for bucket, lanes in enumerate(form.bucket_lanes.tolist()):
        begin = int(form.bucket_infoset[bucket])
        player = int(game.infoset_player[begin])
        action = lanes * np.arange(form.bucket_actions[bucket])
        for lane, labels, actions in _labelled(game, bucket, begin, lanes):
            first = form.bucket_sequence[bucket] + lane + np.arange(len(labels))
            yield Chunk(player, labels, actions, first[:, None] + action)


def _labelled(
    game: CompiledGame, bucket: int, begin: int, lanes: int
) -> Iterator[tuple[int, list[str], list[tuple[str, ...]]]]:
    """First lane, labels and actions of some lanes at a time."""
    if isinstance(game.infoset_labels, InfosetLabels):
        yield from _labelled_hands(game.infoset_labels.places, bucket)
        return
    for lane in range(0, lanes, CHUNK):
        at = slice(begin + lane, begin + min(lane + CHUNK, lanes))
        yield lane, list(game.infoset_labels[at]), list(game.infoset_actions[at])


def _labelled_hands(
    places: InfosetPlaces, bucket: int
) -> Iterator[tuple[int, list[str], list[tuple[str, ...]]]]:
    """The same where lanes are hands x public nodes: each public label is made once."""
    form, public = places.form, places.game
    nodes = int(form.bucket_stride[bucket])
    first = int(places.first[bucket])
    node = places.nodes[first : first + nodes].tolist()
    suffixes = _node_labels(public, places.nodes[first : first + nodes])
    actions = [public.actions(n) for n in node]
    names = public.hands[int(public.tree.player[node[0]])]
    held = np.flatnonzero(np.diff(form.hand_rank[form.bucket_mask[bucket]])).tolist()
    together = max(1, CHUNK // nodes)
    for nth in range(0, len(held), together):
        hands = [names[hand] for hand in held[nth : nth + together]]
        yield (
            nth * nodes,
            [hand + suffix for hand in hands for suffix in suffixes],
            actions * len(hands),
        )


def _node_labels(public: PublicGame, nodes: np.ndarray) -> list[str]:
    """:meth:`PublicGame.node_label` of many nodes, which share most of their steps."""
    if public.node_labels is not None:
        return [public.node_label(node) for node in nodes.tolist()]
    tree = public.tree
    levels: list[tuple[np.ndarray, np.ndarray]] = []
    above = nodes
    while len(above) > 1 or above[0]:
        parents, place = np.unique(np.where(above > 0, tree.parent[above], 0), return_inverse=True)
        levels.append((above, place))
        above = parents
    labels = [""]
    for below, place in reversed(levels):
        steps = zip(below.tolist(), tree.edge[below].tolist(), place.tolist(), strict=True)
        labels = [f"{labels[at]} {public.edges[edge]}" if node else "" for node, edge, at in steps]
    return labels


def action_codes(actions: list[tuple[str, ...]]) -> tuple[list[str], np.ndarray]:
    """The action labels of infosets, each once; int32 (rows,): which of them each row has."""
    number: dict[str, int] = {}
    # Few infosets differ in their actions.
    kinds = {own: index for index, own in enumerate(dict.fromkeys(actions))}
    table = [[number.setdefault(a, len(number)) for a in own] for own in kinds]
    kind = np.fromiter(map(kinds.__getitem__, actions), dtype=np.int64)
    codes = np.array(table, dtype=np.int32).reshape(len(kinds), -1)[kind].ravel()
    return list(number), codes


def repeat_labels(pa: Any, chunk: Chunk) -> tuple[Any, Any]:
    """Infoset and action label of every row of a chunk, as arrays of strings."""
    infosets, n_actions = chunk.sequences.shape
    repeated = np.repeat(np.arange(infosets), n_actions)
    number, codes = action_codes(chunk.actions)
    labels = pa.array(chunk.labels, pa.string()).take(pa.array(repeated))
    return labels, pa.array(number, pa.string()).take(pa.array(codes))


class Piece(NamedTuple):
    """Infosets of one player and one number of actions, with the numbers of a table."""

    player: int
    labels: list[str]
    """Label of each infoset."""
    actions: list[tuple[str, ...]]
    """Action labels of each infoset."""
    numbers: list[np.ndarray]
    """For each column float64 (infosets, actions)."""


@dataclass(frozen=True, eq=False)
class SequenceTable:
    """Columns of numbers over the sequences of a game."""

    game: CompiledGame
    """The game."""
    columns: Mapping[str, np.ndarray]
    """Name to float64 (sequences,); the entries of empty sequences are in no row."""
    by_node: Callable[[], Iterator[Piece]] | None = None
    """All infosets with their numbers, in another order, where that takes less than to look up the
    columns."""

    def __repr__(self) -> str:
        return f"<SequenceTable of {self.game.name}: {', '.join(self.columns)}>"

    def __len__(self) -> int:
        return self.game.n_sequences - self.game.n_players

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return [*KEYS, *self.columns]

    def pieces(self) -> Iterator[Piece]:
        """All infosets with their numbers."""
        if self.by_node is not None:
            yield from self.by_node()
            return
        for one in chunks(self.game):
            numbers = [column[one.sequences] for column in self.columns.values()]
            yield Piece(one.player, one.labels, one.actions, numbers)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Player, infoset, action and the numbers, row by row."""
        for piece in self.pieces():
            n_infosets, n_actions = piece.numbers[0].shape
            numbers = [column.ravel().tolist() for column in piece.numbers]
            labels = chain.from_iterable([label] * n_actions for label in piece.labels)
            actions = chain.from_iterable(piece.actions)
            players = [piece.player] * (n_infosets * n_actions)
            yield from zip(players, labels, actions, *numbers, strict=True)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Infoset to action to the number; to a dict of numbers where there are several."""
        return {label: dict(row) for label, row in self._nested()}

    def _nested(self) -> Iterator[tuple[str, dict[str, Any]]]:
        alone = len(self.columns) == 1
        for piece in self.pieces():
            numbers = np.stack(piece.numbers, -1)
            listed = (numbers[..., 0] if alone else numbers).tolist()
            for label, actions, row in zip(piece.labels, piece.actions, listed, strict=True):
                cells = row if alone else [dict(zip(self.columns, n, strict=True)) for n in row]
                yield label, dict(zip(actions, cells, strict=True))

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``; labels are dictionary-encoded.

        Raises:
            MissingExtraError: pyarrow is not installed; says what installs it.
        """
        pa = _pyarrow()
        return pa.Table.from_batches(list(self._batches(pa)), self._schema(pa)).unify_dictionaries()

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``; labels are categories.

        Raises:
            MissingExtraError: pandas or pyarrow is not installed; says what installs it.
        """
        table = self.to_arrow()
        try:
            return table.to_pandas()
        except ImportError as error:
            raise MissingExtraError("pandas", "tables") from error

    def _schema(self, pa: Any) -> Any:
        label = pa.dictionary(pa.int32(), pa.string())
        fields = [("player", pa.int8()), ("infoset", label), ("action", label)]
        return pa.schema([*fields, *((name, pa.float64()) for name in self.columns)])

    def _batches(self, pa: Any) -> Iterator[Any]:
        """Record batches, in which labels are numbers and every label is there once."""
        schema = self._schema(pa)
        for piece in self.pieces():
            infosets, n_actions = piece.numbers[0].shape
            number, codes = action_codes(piece.actions)
            repeated = np.repeat(np.arange(infosets, dtype=np.int32), n_actions)
            columns = [
                pa.array(np.full(len(codes), piece.player, dtype=np.int8)),
                pa.DictionaryArray.from_arrays(repeated, pa.array(piece.labels, pa.string())),
                pa.DictionaryArray.from_arrays(codes, pa.array(number, pa.string())),
                *(pa.array(column.ravel()) for column in piece.numbers),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def write(self, file: BinaryIO, format: str) -> None:
        """Write the table to an open file; see :data:`WRITERS`."""
        WRITERS[format](self, file)

    def save(self, path: str | Path, format: str | None = None) -> Path:
        """Write the table to a file; one that is there is replaced when the new one is complete.

        Args:
            path: Where to.
            format: ``"csv"``, ``"json"`` or ``"parquet"`` (the extra ``tensorcfr[tables]``);
                by default the suffix of the path.

        Returns:
            The path.

        Raises:
            MissingExtraError: pyarrow is not installed; says what installs it.
            ValueError: There is no such format.
        """
        path = Path(path)
        name = find_format(path, format, WRITERS)
        with replacing(path) as file:
            self.write(file, name)
        return path


def find_format(path: Path, format: str | None, known: Mapping[str, Any]) -> str:
    """The format asked for, or that of the suffix.

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
    while some := list(islice(rows, CHUNK)):
        # The file is written in large pieces.  csv writes floats with as many digits as they have.
        piece = io.StringIO()
        csv.writer(piece, lineterminator="\n").writerows(some)
        text.write(piece.getvalue())
    text.detach()


def _write_json(table: SequenceTable, file: BinaryIO) -> None:
    text = _text(file)
    begin = "{\n"
    rows = table._nested()
    while some := list(islice(rows, CHUNK)):
        # JSON has no number for "not reached".
        lines = [f"{json.dumps(label)}: {json.dumps(_without_nan(row))}" for label, row in some]
        text.write(begin + ",\n".join(lines))
        begin = ",\n"
    text.write("\n}\n" if begin == ",\n" else "{}\n")
    text.detach()


def _without_nan(row: Any) -> Any:
    if isinstance(row, dict):
        return {key: _without_nan(value) for key, value in row.items()}
    return None if math.isnan(row) else row


def _write_parquet(table: SequenceTable, file: BinaryIO) -> None:
    pa = _pyarrow()
    from pyarrow import parquet

    with parquet.ParquetWriter(file, table._schema(pa)) as writer:
        for batch in table._batches(pa):
            writer.write_batch(batch)


WRITERS: Mapping[str, Callable[[SequenceTable, BinaryIO], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
}
"""What writes a table, by format."""


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError("pyarrow", "tables") from error
    return pyarrow
