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

from .._util.files import replacing
from ..invariants import check
from ..model.arrays import (
    HistoryTree,
    PublicTree,
    SequenceForm,
)
from ..model.cut_game import CutGame
from ..model.game import CompiledGame, Merged
from ..model.labels import InfosetActions, InfosetLabels, InfosetPlaces, PublicGame
from ..payoff import KINDS

FORMAT = "tensorcfr"
"""``format`` in the header of every file."""
VERSION = 2
"""``version`` in the header: the newest layout of files that this code reads, and the one that
it writes.  Version 1 knew no hands, blocks or merged games."""
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
    header, arrays = read_arrays(path, "game")
    try:
        return unpack_game(arrays, header["version"])
    except ValueError as error:
        raise ValueError(f"{with_suffix(path)} is damaged: {error}") from error


def pack_game(game: CompiledGame) -> Arrays:
    """A game as plain arrays, whose keys begin with ``game/``.

    The arrays of all views keep their names and contents, and ``game/views`` says which views there
    are; labels become text and offsets, and each distinct tuple of actions is kept once.
    Labels that are made when they are asked for are not kept.
    """
    if isinstance(game, CutGame):
        raise ValueError(f"{game.name} is cut into chunks, which no file holds yet")
    arrays = {f"game/{name}": array for name, array in game.arrays().items()}
    views = ["form"]
    if game.histories is not None:
        views.append("tree")
    if game.merged is not None:
        views.append("merged")
    if game.public is not None:
        views.append("public")
        arrays |= _pack_public(game.public)
    labels: dict[str, Sequence[str]] = {"name": [game.name], "outcomes": game.outcome_labels}
    if not isinstance(game.infoset_labels, InfosetLabels):
        views.append("labels")
        kinds = {actions: kind for kind, actions in enumerate(dict.fromkeys(game.infoset_actions))}
        arrays["game/actions/kind"] = np.array(
            [kinds[actions] for actions in game.infoset_actions], dtype=np.int64
        )
        arrays["game/actions/offset"] = _offsets(list(map(len, kinds)))
        labels["infosets"] = game.infoset_labels
        labels["actions"] = list(chain.from_iterable(kinds))
    for key, given in (labels | {"views": views}).items():
        arrays |= _pack_labels(f"game/{key}", given)
    return arrays


def unpack_game(arrays: Mapping[str, np.ndarray], version: int = VERSION) -> CompiledGame:
    """The game that :func:`pack_game` packed, checked, its arrays read-only.

    Args:
        arrays: The arrays, among others maybe.
        version: ``version`` in the header of their file.

    Raises:
        ValueError: An array is missing or breaks an invariant; the message names it.
    """
    if version == 1:
        arrays = _from_version_1(arrays)
    views = _unpack_labels(arrays, "game/views")
    form = _unpack_form(arrays, "game/form")
    public = _unpack_public(arrays) if "public" in views else None
    labels: Sequence[str]
    actions: Sequence[tuple[str, ...]]
    if "labels" in views:
        labels, actions = _unpack_infosets(arrays)
    elif public is not None:
        places = InfosetPlaces(public, form)
        labels, actions = InfosetLabels(places), InfosetActions(places)
    else:
        raise ValueError("array 'game/views/text' lists neither labels nor a public tree")
    game = CompiledGame(
        name="".join(_unpack_labels(arrays, "game/name")),
        form=form,
        infoset_labels=labels,
        infoset_actions=actions,
        outcome_labels=_unpack_labels(arrays, "game/outcomes"),
        histories=HistoryTree(*_fields(arrays, "game/tree", HistoryTree))
        if "tree" in views
        else None,
        public=public,
        merged=(
            Merged(_unpack_form(arrays, "game/merged"), _get(arrays, "game/merged/sequence"))
            if "merged" in views
            else None
        ),
    )
    if game.histories is None and public is None:
        raise ValueError("array 'game/views/text' lists neither a history tree nor a public one")
    check(game)
    game.freeze()
    return game


def _fields(arrays: Mapping[str, np.ndarray], key: str, view: Any) -> list[np.ndarray]:
    """The arrays of a view, in order."""
    return [_get(arrays, f"{key}/{name}") for name in view._fields]


def _unpack_form(arrays: Mapping[str, np.ndarray], key: str) -> SequenceForm:
    layout = [name for name in SequenceForm._fields if name != "operator"]
    kinds = {name: kind for name, kind in KINDS.items() if _has(arrays, f"{key}/{name}/")}
    parts = [kind(*_fields(arrays, f"{key}/{name}", kind)) for name, kind in kinds.items()]
    return SequenceForm(
        **{name: _get(arrays, f"{key}/{name}") for name in layout},
        # Before version 3 empty parts were kept.
        operator=tuple(part for part in parts if not part.is_empty),
    )


def _has(arrays: Mapping[str, np.ndarray], prefix: str) -> bool:
    """Whether any key begins with a prefix."""
    return any(key.startswith(prefix) for key in arrays)


def _from_version_1(arrays: Mapping[str, np.ndarray]) -> Arrays:
    """Games of version 1 had a history tree, one hand, and single payoff entries."""
    lanes = _get(arrays, "game/form/bucket_lanes")
    renamed = {key.replace("form/payoff_", "form/payoff/"): array for key, array in arrays.items()}
    return {
        **renamed,
        "game/form/bucket_stride": lanes,
        "game/form/bucket_mask": np.zeros_like(lanes),
        "game/form/hand_rank": np.array([[0, 1]]),
        **_pack_labels("game/views", ["form", "tree", "labels"]),
    }


def _pack_public(public: PublicGame) -> Arrays:
    """The labels of a public tree."""
    nodes = public.node_labels or ()
    return {
        "game/hands/offset": _offsets(list(map(len, public.hands))),
        **_pack_labels("game/hands", list(chain.from_iterable(public.hands))),
        **_pack_labels("game/edges", public.edges),
        # Which public nodes have labels; no entry at all where none can have one.
        "game/nodes/given": np.array([label is not None for label in nodes], dtype=np.uint8),
        **_pack_labels("game/nodes", [label for label in nodes if label is not None]),
    }


def _unpack_public(arrays: Mapping[str, np.ndarray]) -> PublicGame:
    hands = _unpack_labels(arrays, "game/hands")
    given = _get(arrays, "game/nodes/given", np.uint8)
    labels = _unpack_labels(arrays, "game/nodes")
    if np.count_nonzero(given) != len(labels):
        raise ValueError(f"array 'game/nodes/given' does not give {len(labels)} labels")
    following = iter(labels)
    nodes = tuple(next(following) if one else None for one in given.tolist())
    return PublicGame(
        tree=PublicTree(*_fields(arrays, "game/public", PublicTree)),
        hands=tuple(hands[a:b] for a, b in _ranges(arrays, "game/hands/offset", len(hands))),
        edges=_unpack_labels(arrays, "game/edges"),
        node_labels=nodes if len(nodes) else None,
    )


def _unpack_infosets(
    arrays: Mapping[str, np.ndarray],
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Labels and actions of the infosets."""
    labels = _unpack_labels(arrays, "game/actions")
    kinds = [tuple(labels[a:b]) for a, b in _ranges(arrays, "game/actions/offset", len(labels))]
    kind = _get(arrays, "game/actions/kind", np.int64)
    if len(kind) and not 0 <= kind.min() <= kind.max() < len(kinds):
        raise ValueError("array 'game/actions/kind' points beyond the tuples of actions")
    return _unpack_labels(arrays, "game/infosets"), tuple(map(kinds.__getitem__, kind.tolist()))


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
