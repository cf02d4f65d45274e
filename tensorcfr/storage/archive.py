"""Arrays and a header in one file: plain ``.npz``, which any NumPy reads, without pickle.

A file holds a JSON header under the key ``header`` (format, version, kind of content), plain
arrays, whose keys are grouped by the part before a slash, and under the key ``digest`` a
fingerprint of header and arrays.  Nothing in this module knows of games.

Reading trusts nothing.  The sizes of all arrays are added up from the headers and compared with
the memory before an array is read.  Members are stored, not compressed, as ``numpy.savez`` writes
them: what is read is never larger than the file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .._util.files import replacing
from .._util.memory import free_memory
from .._util.stored_arrays import Member, list_members, read_member
from ..errors import FileSizeError, OldFileError, UnknownGameError
from .fields import Fields, read_fields, shown, text, whole

FORMAT = "tensorcfr"
"""``format`` in the header of every file."""
VERSION = 4
"""``version`` in the header: the layout of files that this code reads and writes."""
LAST_WRITER, CONVERTER = "0.6", "0.15.0"
"""The last release that wrote an older layout, and the last one that reads it."""
SUFFIX = ".npz"
"""What a path without a suffix gets."""
HEADER, DIGEST = "header", "digest"
"""Keys of the header, the bytes of a JSON object, and of the digest, the bytes of a SHA-256."""
MEMORY_FACTOR = 4.0
"""Memory that loading takes at its peak, in sizes of the arrays: the arrays, and what their checks
take for a while.  Measured by ``python -m benchmarks.loading``."""
LABEL_BYTES = 100
"""Memory of a label as a text of Python, in addition to its letters."""
TEXT_FACTOR = 32
"""Memory of the values of a JSON object, in lengths of its text: ``[],`` is a list of 70 bytes,
``{"a":[]},`` takes 260."""
LONGEST_ERROR = 1000
"""Characters of an error about a file, at most."""
TEXTS = ("header", "game/cut/text", "game/rules/text", "game/teams/text")
"""The arrays that hold a JSON object."""
Arrays = dict[str, np.ndarray]
Source = str | Path | BinaryIO
"""A path, or a file that is open for reading and can seek."""


def write_arrays(path: str | Path, header: Mapping[str, Any], arrays: Arrays) -> Path:
    """Write arrays and a header to one ``.npz`` file, all or nothing.

    A full disk, a crash or Ctrl-C leaves the file that was there as it was.

    Args:
        path: Where to; ``.npz`` is added if it has no suffix.
        header: What JSON can hold; ``kind`` says what the file is.
        arrays: Plain arrays by key; arrays of objects are refused.

    Returns:
        The path of the file.

    Raises:
        OSError: The file cannot be written; names the path.
        ValueError: The header holds a number that is not finite.
        TypeError: An array holds objects.
    """
    path = with_suffix(path)
    for key, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"array {key!r} holds objects, which need pickle")
    members = {HEADER: pack_header({"format": FORMAT, "version": VERSION, **header})}
    # In the order of bytes that every machine of today has, and the order of axes of C.
    members |= {
        key: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        for key, array in arrays.items()
    }
    members[DIGEST] = digest_of(members)
    with replacing(path) as file:
        np.savez(file, **members)  # type: ignore[arg-type]
    return path


class InFiles(NamedTuple):
    """Arrays that are read into files, which are mapped into memory."""

    prefix: str
    """What their keys begin with."""
    new: Callable[[tuple[int, ...], np.dtype], np.ndarray]
    """Makes such an array."""


def read_arrays(
    source: Source, kind: str, *, memory_limit: int | None = None, in_files: InFiles | None = None
) -> tuple[dict[str, Any], Arrays]:
    """Read what :func:`write_arrays` wrote.

    Args:
        source: The file; ``.npz`` is added to a path without suffix, as in writing.
        kind: What it must be, ``"game"`` for instance.
        memory_limit: Bytes that reading and checking may take; by default the free memory.
        in_files: The arrays that do not count, because they are read into files.

    Returns:
        The header, its ``format``, ``version`` and ``kind`` checked, and the arrays.

    Raises:
        FileNotFoundError: There is no such file; other errors of the system likewise.
        ValueError: It is no ``.npz`` file, damaged, not of this library, of another version or
            of another kind; says which, and where.
        FileSizeError: It takes more memory than there is; a ValueError, too.
    """
    name = name_of(source)
    with _opened(source) as file:
        members = list_members(file, name)
        if HEADER not in members:
            raise ValueError(f"{name} was not written by {FORMAT}")
        mapped = {key for key in members if in_files and key.startswith(in_files.prefix)}
        in_memory = {key: member for key, member in members.items() if key not in mapped}
        _check_memory(in_memory, name, memory_limit)
        header = parse_header(read_member(members[HEADER], name), name)
        if header["kind"] != kind:
            raise ValueError(f"{name} holds a {header['kind']}, not a {kind}")
        arrays = {key: read_member(member, name) for key, member in in_memory.items()}
        if in_files is not None:
            arrays |= {key: read_member(members[key], name, in_files.new) for key in mapped}
    digest = arrays.pop(DIGEST, None)
    if digest is None:
        raise ValueError(f"{name} is damaged: array {DIGEST!r} is missing")
    if not np.array_equal(digest, digest_of(arrays)):
        raise ValueError(f"{name} is damaged: its digest is of other arrays or another header")
    del arrays[HEADER]
    return header, arrays


def with_suffix(path: str | Path) -> Path:
    """The path, with ``.npz`` if it has no suffix of its own."""
    path = Path(path)
    return path if path.suffix else path.with_name(path.name + SUFFIX)


def name_of(source: Source) -> str:
    """What errors call a file."""
    if isinstance(source, (str, Path)):
        return str(with_suffix(source))
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "the file"


@contextmanager
def says_where(source: Source) -> Iterator[None]:
    """Name the file in the text of a ValueError, and of what its checks raise."""
    try:
        yield
    except FileSizeError as error:
        what = f"reading {name_of(source)}: {_shortened(error.what)}"
        raise FileSizeError(what, error.needed, error.limit) from error
    except (OldFileError, UnknownGameError) as error:
        raise type(error)(f"{name_of(source)}: {_shortened(error)}") from error
    except ValueError as error:
        raise ValueError(f"{name_of(source)} is damaged: {_shortened(error)}") from error


def _shortened(error: object) -> str:
    """Return the text of an error, or its beginning: it may quote a file at any length."""
    said = str(error)
    return said if len(said) <= LONGEST_ERROR else f"{said[:LONGEST_ERROR]}..."


def pack_header(header: Mapping[str, Any]) -> np.ndarray:
    """A header as the bytes of a JSON object, uint8.

    Raises:
        ValueError: A number in it is not finite, which JSON has no words for.
    """
    return pack_text(json.dumps(header, allow_nan=False))


def digest_of(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """The SHA-256 of keys, dtypes, shapes and contents, uint8 (32,); their order plays no part."""
    digest = hashlib.sha256()
    for key in sorted(arrays):
        array = arrays[key]
        digest.update(f"{key!r} {array.dtype.str} {array.shape}\n".encode("utf-8", "surrogatepass"))
        digest.update(array.reshape(-1).view(np.uint8).data)
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def pack_text(text: str) -> np.ndarray:
    """The bytes of a text, uint8."""
    # A label may hold half a surrogate pair, as undecodable file names do.
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


class Taken:
    """Arrays by key, which are taken one by one, so that none is left that nobody knows.

    Args:
        arrays: The arrays.
        prefix: What the keys begin with that may be taken; the others are of others.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], prefix: str) -> None:
        self._arrays = arrays
        self._left = {key for key in arrays if key.startswith(prefix)}

    def take(self, key: str, dtype: type[np.generic] | None = None) -> np.ndarray:
        """The array of a key.

        Args:
            key: The key.
            dtype: If given, the array must be one-dimensional and of this type.

        Raises:
            ValueError: There is no such array, or it is of another type.
        """
        array = self._arrays.get(key)
        if not isinstance(array, np.ndarray):
            raise ValueError(
                f"array {key!r} is missing" if array is None else f"{key!r} is no array"
            )
        if dtype is not None and (array.dtype != dtype or array.ndim != 1):
            raise ValueError(
                f"array {key!r} is {array.dtype} {array.shape}, not a row of {np.dtype(dtype)}"
            )
        self._left.discard(key)
        return array

    def has(self, prefix: str) -> bool:
        """Whether any key begins with a prefix."""
        return any(key.startswith(prefix) for key in self._left)

    def refuse_rest(self) -> None:
        """Make sure that all were taken.

        Raises:
            ValueError: One was not; names it.
        """
        for key in sorted(self._left):
            raise ValueError(f"array {key!r} is unknown")


def refuse_others(arrays: Mapping[str, np.ndarray], prefixes: tuple[str, ...]) -> None:
    """Make sure that every key begins with one of some prefixes.

    Raises:
        ValueError: One does not; names it.
    """
    for key in arrays:
        if not key.startswith(prefixes):
            raise ValueError(f"array {key!r} is unknown")


def _opened(source: Source) -> AbstractContextManager[BinaryIO]:
    """A file to read; one that is open already stays open."""
    if isinstance(source, (str, Path)):
        return open(with_suffix(source), "rb")
    return nullcontext(source)


def _check_memory(members: Mapping[str, Member], name: str, memory_limit: int | None) -> None:
    """Refuse a file that would take too much memory, before an array is read."""
    labels = sum(
        math.prod(member.shape) for key, member in members.items() if key.endswith("/text_offset")
    )
    arrays = sum(member.nbytes for member in members.values())
    texts = sum(members[key].nbytes for key in TEXTS if key in members)
    needed = int(MEMORY_FACTOR * arrays) + LABEL_BYTES * labels + TEXT_FACTOR * texts
    limit = free_memory() if memory_limit is None else memory_limit
    if needed > limit:
        raise FileSizeError(f"reading {name}", needed, limit)


START: Fields = {
    "format": text((FORMAT,)),
    "version": whole(VERSION, VERSION),
    "kind": text(),
}
"""What the header of every file begins with."""


def parse_header(array: np.ndarray, name: str) -> dict[str, Any]:
    """The header of a file, a JSON object; format, version and kind are checked.

    Raises:
        ValueError: It is not a header, or of another library or another version.
    """
    header: Any = None
    if array.dtype == np.uint8 and array.ndim == 1:
        try:
            header = json.loads(
                array.tobytes(), parse_constant=_no_number, object_pairs_hook=_no_key_twice
            )
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{name} was not written by {FORMAT}: its header is no JSON"
            ) from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"{name} was not written by {FORMAT}")
    version = header.get("version")
    if type(version) is int and version > VERSION:
        raise ValueError(
            f"{name} was written by a newer {FORMAT}: its format has version {shown(version)}, "
            f"this one reads {VERSION}"
        )
    if type(version) is int and 1 <= version < VERSION:
        raise OldFileError(
            f"{name} was written by {FORMAT} {LAST_WRITER} or older: its format has version "
            f"{version}, this one reads {VERSION}; load it with {FORMAT} {CONVERTER} and save it "
            "again"
        )
    try:
        read_fields({key: header[key] for key in START if key in header}, START)
    except ValueError as error:
        raise ValueError(f"{name} is damaged: {error}") from error
    return header


def _no_number(constant: str) -> Any:
    raise ValueError(f"{constant} is no number")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found
