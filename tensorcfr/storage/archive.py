"""Arrays and a header in one file: plain ``.npz``, which any NumPy reads, without pickle.

A file holds a JSON header under the key ``header`` (format, version, kind of content), and plain
arrays, whose keys are grouped by the part before a slash.  The key ``digest`` holds the SHA-256 of
header and arrays.  This module does not depend on games.

Reading trusts no file.  The sizes of all arrays are added up from the members' headers and compared
with the memory before an array is read.  Members are stored without compression, as ``numpy.savez``
writes them, so that a small file cannot expand in memory.
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
from .._util.memory_budget import free_memory
from .._util.stored_arrays import Member, list_members, read_member
from ..errors import FileSizeError, OldFileError, UnknownGameError
from .fields import Fields, read_fields, shown, text, whole

FORMAT = "tensorcfr"
"""Value of ``format`` in the header of every file."""
VERSION = 4
"""Value of ``version`` in the header: the layout of files that this code reads and writes."""
LAST_WRITER, CONVERTER = "0.6", "0.15.0"
"""The last release that wrote an older layout, and the last release that reads it."""
SUFFIX = ".npz"
"""Suffix that a path without one gets."""
HEADER, DIGEST = "header", "digest"
"""Keys of the header, the bytes of a JSON object, and of the digest, the bytes of a SHA-256."""
MEMORY_FACTOR = 4.0
"""Peak memory of loading, in sizes of the arrays: the arrays, and the temporary arrays of their
checks.  Measured by ``benchmarks/loading.py`` of commit b5ab28bb."""
LABEL_BYTES = 100
"""Bytes that a label takes as a Python string, in addition to its letters."""
TEXT_FACTOR = 32
"""Memory of the values of a JSON object, in lengths of its text: ``[],`` becomes a list of 70
bytes, and ``{"a":[]},`` takes 260 bytes."""
LONGEST_ERROR = 1000
"""Largest number of characters of an error about a file."""
TEXTS = ("header", "game/cut/text", "game/rules/text", "game/teams/text")
"""Keys of the arrays that hold a JSON object."""
Arrays = dict[str, np.ndarray]
Source = str | Path | BinaryIO
"""A path, or a binary file that is open for reading and supports seeking."""


def write_arrays(path: str | Path, header: Mapping[str, Any], arrays: Arrays) -> Path:
    """Write arrays and a header to one ``.npz`` file, completely or not at all.

    After a full disk, a crash or Ctrl-C, an existing file at that path is unchanged.

    Args:
        path: Path of the file; ``.npz`` is added if it has no suffix.
        header: JSON values by key; ``kind`` is the kind of content.
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
    # Little-endian and C-contiguous, so that the bytes of a file do not depend on the machine.
    members |= {
        key: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        for key, array in arrays.items()
    }
    members[DIGEST] = digest_of(members)
    with replacing(path) as file:
        np.savez(file, **members)  # type: ignore[arg-type]
    return path


class InFiles(NamedTuple):
    """Arrays that are read into memory-mapped files instead of memory."""

    prefix: str
    """Prefix of their keys."""
    new: Callable[[tuple[int, ...], np.dtype], np.ndarray]
    """Function that creates such an array, given its shape and dtype."""


def read_arrays(
    source: Source, kind: str, *, memory_limit: int | None = None, in_files: InFiles | None = None
) -> tuple[dict[str, Any], Arrays]:
    """Read a file of :func:`write_arrays`.

    Args:
        source: The file; ``.npz`` is added to a path without suffix, as in writing.
        kind: Kind of content that the file must have, ``"game"`` for instance.
        memory_limit: Bytes that reading and checking may take; by default the free memory.
        in_files: Arrays that are read into files; they do not count as memory.

    Returns:
        The header, its ``format``, ``version`` and ``kind`` checked, and the arrays.

    Raises:
        FileNotFoundError: The file does not exist.  Other errors of the operating system pass
            unchanged.
        ValueError: The file is not an ``.npz`` file, is damaged, or is of another library, version
            or kind; the message names the reason.
        FileSizeError: The file needs more memory than ``memory_limit``; also a ValueError.
    """
    name = name_of(source)
    with _opened(source) as file:
        members = list_members(file, name)
        if HEADER not in members:
            raise ValueError(f"{name} was not written by {FORMAT}")
        mapped = {key for key in members if in_files and key.startswith(in_files.prefix)}
        in_memory = {key: member for key, member in members.items() if key not in mapped}
        # From the sizes that the members declare, before an array is allocated.
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
    """Return the path, with ``.npz`` added if it has no suffix."""
    path = Path(path)
    return path if path.suffix else path.with_name(path.name + SUFFIX)


def name_of(source: Source) -> str:
    """Return the name of a file for error messages."""
    if isinstance(source, (str, Path)):
        return str(with_suffix(source))
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "the file"


@contextmanager
def says_where(source: Source) -> Iterator[None]:
    """Add the name of the file to the errors that checks of its content raise."""
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
    """Return the text of an error, shortened to :data:`LONGEST_ERROR` characters.

    The error may quote a text of any length from a file.
    """
    message = str(error)
    return message if len(message) <= LONGEST_ERROR else f"{message[:LONGEST_ERROR]}..."


def pack_header(header: Mapping[str, Any]) -> np.ndarray:
    """Encode a header as the bytes of a JSON object, uint8 (bytes,).

    Raises:
        ValueError: A number is not finite; JSON has no notation for it.
    """
    return pack_text(json.dumps(header, allow_nan=False))


def digest_of(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """Compute the SHA-256 of keys, dtypes, shapes and contents, uint8 (32,).

    The order of the keys has no effect.
    """
    digest = hashlib.sha256()
    for key in sorted(arrays):
        array = arrays[key]
        # Dtype and shape count as well: the same bytes may be another array.
        digest.update(f"{key!r} {array.dtype.str} {array.shape}\n".encode("utf-8", "surrogatepass"))
        digest.update(array.reshape(-1).view(np.uint8).data)
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def pack_text(text: str) -> np.ndarray:
    """Encode a text as UTF-8, uint8 (bytes,)."""
    # A label may hold half a surrogate pair, as undecodable file names do.
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


class Taken:
    """Arrays by key, which a reader takes one by one; it refuses the arrays that nobody took.

    Args:
        arrays: The arrays by key.
        prefix: Prefix of the keys that the reader is responsible for; it ignores other keys.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], prefix: str) -> None:
        self._arrays = arrays
        self._remaining = {key for key in arrays if key.startswith(prefix)}

    def take(self, key: str, dtype: type[np.generic] | None = None) -> np.ndarray:
        """Return the array of a key, and mark it as taken.

        Args:
            key: The key.
            dtype: If given, the array must be one-dimensional and of this dtype.

        Raises:
            ValueError: The array is missing, or has another dtype or shape.
        """
        array = self._arrays.get(key)
        if not isinstance(array, np.ndarray):
            raise ValueError(
                f"array {key!r} is missing" if array is None else f"{key!r} is not an array"
            )
        if dtype is not None and (array.dtype != dtype or array.ndim != 1):
            raise ValueError(
                f"array {key!r} is {array.dtype} {array.shape}, not a row of {np.dtype(dtype)}"
            )
        self._remaining.discard(key)
        return array

    def has(self, prefix: str) -> bool:
        """Return whether the key of any array that is not taken yet begins with a prefix."""
        return any(key.startswith(prefix) for key in self._remaining)

    def refuse_rest(self) -> None:
        """Check that all arrays were taken.

        Raises:
            ValueError: An array was not taken; names it.
        """
        for key in sorted(self._remaining):
            raise ValueError(f"array {key!r} is unknown")


def refuse_others(arrays: Mapping[str, np.ndarray], prefixes: tuple[str, ...]) -> None:
    """Check that every key begins with one of some prefixes.

    Raises:
        ValueError: A key does not; names it.
    """
    for key in arrays:
        if not key.startswith(prefixes):
            raise ValueError(f"array {key!r} is unknown")


def _opened(source: Source) -> AbstractContextManager[BinaryIO]:
    """Open a file for reading; leaving the context does not close a file that was open before."""
    if isinstance(source, (str, Path)):
        return open(with_suffix(source), "rb")
    return nullcontext(source)


def _check_memory(members: Mapping[str, Member], name: str, memory_limit: int | None) -> None:
    """Check that reading a file fits the memory, before an array is read.

    Raises:
        FileSizeError: Reading would need more than the limit.
    """
    # Labels and JSON texts become Python objects, which are larger than their arrays.
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
"""Fields with which the header of every file begins."""


def parse_header(array: np.ndarray, name: str) -> dict[str, Any]:
    """Parse the header of a file, a JSON object, and check its format, version and kind.

    Raises:
        ValueError: The array is not a header, or the file is of another library or version.
    """
    header: Any = None
    if array.dtype == np.uint8 and array.ndim == 1:
        try:
            header = json.loads(
                array.tobytes(),
                parse_constant=_refuse_constant,
                object_pairs_hook=_refuse_repeated_keys,
            )
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{name} was not written by {FORMAT}: its header is not JSON"
            ) from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"{name} was not written by {FORMAT}")
    # The version comes before the fields, because other versions have other fields.
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


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number")


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    by_key = dict(pairs)
    if len(by_key) != len(pairs):
        raise ValueError("a key occurs twice")
    return by_key
