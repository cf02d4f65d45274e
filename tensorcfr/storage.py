"""Games on disk: plain ``.npz`` files, which any NumPy reads, without pickle.

A file holds a JSON header under the key ``header`` (format, version, kind of content) and plain
arrays, which are grouped by the part of their keys before a slash.  :func:`pack_game` and
:func:`unpack_game` say what a game is as arrays; :func:`write_arrays` and :func:`read_arrays`
know nothing of games.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from .compiled import CompiledGame, HistoryTree, SequenceForm
from .files import replacing
from .invariants import check

FORMAT = "tensorcfr"
"""``format`` in the header of every file."""
VERSION = 1
"""``version`` in the header: the newest layout of files that this code reads, and the one that
it writes."""
SUFFIX = ".npz"
"""What a path without a suffix gets."""
HEADER = "header"
"""Key of the header: the bytes of a JSON object."""

Arrays = dict[str, np.ndarray]


def save_game(game: CompiledGame, path: str | Path) -> Path:
    """Write a compiled game; a file that was there is replaced at the very end, or not at all.

    Args:
        game: The game.
        path: Where to; ``.npz`` is added if it has no suffix.

    Returns:
        The path of the file.
    """
    return write_arrays(path, {"kind": "game", "name": game.name}, pack_game(game))


def load_game(path: str | Path) -> CompiledGame:
    """Read what :func:`save_game` wrote; every invariant is checked, as after compiling.

    Raises:
        ValueError: The file is no compiled game, or of a newer version, or damaged; says which.
    """
    _, arrays = read_arrays(path, "game")
    try:
        return unpack_game(arrays)
    except ValueError as error:
        raise ValueError(f"{with_suffix(path)} is damaged: {error}") from error


def pack_game(game: CompiledGame) -> Arrays:
    """A game as plain arrays, whose keys begin with ``game/``.

    The arrays of both views keep their names and contents; labels become text and offsets, and
    each distinct tuple of actions is kept once.
    """
    arrays = {
        f"game/{view}/{name}": array
        for view, record in (("tree", game.tree), ("form", game.form))
        for name, array in record._asdict().items()
    }
    kinds = {actions: kind for kind, actions in enumerate(dict.fromkeys(game.infoset_actions))}
    arrays["game/actions/kind"] = np.array(
        [kinds[actions] for actions in game.infoset_actions], dtype=np.int64
    )
    arrays["game/actions/offset"] = _offsets(list(map(len, kinds)))
    for key, labels in (
        ("name", [game.name]),
        ("infosets", game.infoset_labels),
        ("outcomes", game.outcome_labels),
        ("actions", list(chain.from_iterable(kinds))),
    ):
        arrays |= _pack_labels(f"game/{key}", labels)
    return arrays


def unpack_game(arrays: Mapping[str, np.ndarray]) -> CompiledGame:
    """The game that :func:`pack_game` packed, checked, its arrays read-only.

    Raises:
        ValueError: An array is missing or breaks an invariant; the message names it.
    """
    labels = _unpack_labels(arrays, "game/actions")
    kinds = [tuple(labels[a:b]) for a, b in _ranges(arrays, "game/actions/offset", len(labels))]
    kind = _get(arrays, "game/actions/kind", np.int64)
    if len(kind) and not 0 <= kind.min() <= kind.max() < len(kinds):
        raise ValueError("array 'game/actions/kind' points beyond the tuples of actions")
    game = CompiledGame(
        name="".join(_unpack_labels(arrays, "game/name")),
        tree=HistoryTree(*(_get(arrays, f"game/tree/{name}") for name in HistoryTree._fields)),
        form=SequenceForm(*(_get(arrays, f"game/form/{name}") for name in SequenceForm._fields)),
        infoset_labels=_unpack_labels(arrays, "game/infosets"),
        infoset_actions=tuple(map(kinds.__getitem__, kind.tolist())),
        outcome_labels=_unpack_labels(arrays, "game/outcomes"),
    )
    check(game)
    game.freeze()
    return game


def write_arrays(path: str | Path, header: Mapping[str, Any], arrays: Arrays) -> Path:
    """Write arrays and a header to one ``.npz`` file, all or nothing.

    A full disk, a crash or Ctrl-C leaves the file that was there as it was.

    Args:
        path: Where to; ``.npz`` is added if it has no suffix.
        header: What JSON can hold; ``kind`` says what the file is.
        arrays: Plain arrays by key; arrays of objects are refused.

    Returns:
        The path of the file.
    """
    path = with_suffix(path)
    for key, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"array {key!r} holds objects, which need pickle")
    text = json.dumps({"format": FORMAT, "version": VERSION, **header})
    with replacing(path) as file:
        np.savez(file, **{HEADER: _bytes(text)}, **arrays)  # type: ignore[arg-type]
    return path


def read_arrays(path: str | Path, kind: str) -> tuple[dict[str, Any], Arrays]:
    """Read what :func:`write_arrays` wrote.

    Args:
        path: The file; ``.npz`` is added if it has no suffix, as in writing.
        kind: What it must be, ``"game"`` for instance.

    Returns:
        The header and the arrays.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is no ``.npz`` file, damaged, not of this library, of a newer version or
            of another kind; says which.
    """
    path = with_suffix(path)
    try:
        # Opened here because numpy leaves a damaged archive open.
        with open(path, "rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise zipfile.BadZipFile("one array alone")
            arrays = {key: archive[key] for key in archive.files}
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} is not an .npz file, or it is damaged") from error
    header = _read_header(arrays.pop(HEADER, None))
    version = header.get("version")
    if header.get("format") != FORMAT or not isinstance(version, int):
        raise ValueError(f"{path} was not written by {FORMAT}")
    if version > VERSION:
        raise ValueError(
            f"{path} was written by a newer {FORMAT}: its format has version {version}, "
            f"this one reads up to {VERSION}"
        )
    if header.get("kind") != kind:
        raise ValueError(f"{path} holds a {header.get('kind')}, not a {kind}")
    return header, arrays


def with_suffix(path: str | Path) -> Path:
    """The path, with ``.npz`` if it has no suffix of its own."""
    path = Path(path)
    return path if path.suffix else path.with_name(path.name + SUFFIX)


def _read_header(array: object) -> dict[str, Any]:
    """The header, or an empty one where there is none."""
    if not isinstance(array, np.ndarray) or array.dtype != np.uint8:
        return {}
    try:
        header = json.loads(array.tobytes())
    except ValueError:
        return {}
    return header if isinstance(header, dict) else {}


def _get(
    arrays: Mapping[str, np.ndarray], key: str, dtype: type[np.generic] | None = None
) -> np.ndarray:
    """The array of a key; with ``dtype``, one-dimensional and of that type."""
    if key not in arrays:
        raise ValueError(f"array {key!r} is missing")
    array = arrays[key]
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{key!r} is no array")
    if dtype is not None and (array.dtype != dtype or array.ndim != 1):
        raise ValueError(
            f"array {key!r} is {array.dtype} {array.shape}, not a row of {np.dtype(dtype)}"
        )
    return array


def _bytes(text: str) -> np.ndarray:
    # A label may hold half a surrogate pair, as undecodable file names do.
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def _offsets(lengths: Sequence[int]) -> np.ndarray:
    """Where each of a row of pieces begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _ranges(arrays: Mapping[str, np.ndarray], key: str, end: int) -> pairwise[tuple[int, int]]:
    """Begin and end of each piece."""
    offsets = _get(arrays, key, np.int64)
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != end or (np.diff(offsets) < 0).any():
        raise ValueError(f"array {key!r} does not go from 0 to {end} without falling")
    return pairwise(offsets.tolist())


def _pack_labels(key: str, labels: Sequence[str]) -> Arrays:
    """Labels as one text in UTF-8 and the offset of each, counted in characters."""
    return {
        f"{key}/text": _bytes("".join(labels)),
        f"{key}/text_offset": _offsets(list(map(len, labels))),
    }


def _unpack_labels(arrays: Mapping[str, np.ndarray], key: str) -> tuple[str, ...]:
    """The labels that :func:`_pack_labels` packed."""
    blob = _get(arrays, f"{key}/text", np.uint8)
    try:
        text = blob.tobytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise ValueError(f"array '{key}/text' is not UTF-8") from None
    return tuple(text[a:b] for a, b in _ranges(arrays, f"{key}/text_offset", len(text)))
