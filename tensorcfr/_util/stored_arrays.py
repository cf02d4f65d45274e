"""Arrays stored in an ``.npz`` file, read without trusting the file.

Members are stored uncompressed, as ``numpy.savez`` writes them: reading takes no more memory than
the size of the file. Nothing is unpickled or evaluated.
"""

from __future__ import annotations

import errno
import io
import math
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy

MOST_MEMBERS = 1000
"""Largest number of members of an archive; a solution has about a hundred."""
LONGEST_DIRECTORY = 1 << 20
"""Largest number of bytes of the list of members."""
LONGEST_HEAD = 512
"""Largest number of bytes of an array's header; numpy pads it to a multiple of 64."""
MOST_DIMENSIONS = 8
TOGETHER = 1 << 20
"""Bytes of an array that one read requests."""
PLAIN = frozenset(
    ["b1"] + [f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)] + ["f2", "f4", "f8"]
)
"""Numeric dtypes that arrays may have by default."""


class Member(NamedTuple):
    """One array of an archive, described by its headers."""

    key: str
    archive: zipfile.ZipFile
    info: zipfile.ZipInfo
    head: int
    """Bytes of the member before the numbers: the header of the array."""
    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def list_members(file: BinaryIO, name: str, dtypes: frozenset[str] = PLAIN) -> dict[str, Member]:
    """Return the arrays of an archive by key, from their headers alone.

    Args:
        file: Archive, open for reading and seekable.
        name: Name of the file in errors.
        dtypes: Dtypes that arrays may have, ``"f8"`` for instance.

    Raises:
        ValueError: The file is not an archive of arrays; the message gives the reason.
    """
    size = file.seek(0, io.SEEK_END)
    source: Any = _Source(file)
    with _damage_as(f"{name} is not an .npz file, or it is damaged"):
        archive = zipfile.ZipFile(source)
    source.left = sys.maxsize
    listed = archive.infolist()
    if len(listed) > MOST_MEMBERS:
        raise ValueError(f"{name} is damaged: it has {len(listed):,} members")
    members: dict[str, Member] = {}
    for info in listed:
        with _damage_as(f"{name} is damaged: member {info.filename!r}", says_why=True):
            member = _find_member(archive, info, dtypes)
            if member.key in members:
                raise ValueError("occurs twice")
            members[member.key] = member
    # Members of a malicious archive may overlap, so that together they are larger than the file.
    if (total := sum(info.file_size for info in listed)) > size:
        raise ValueError(f"{name} is damaged: {total:,} bytes of arrays in a file of {size:,}")
    return members


class _Source:
    """File whose reads are limited while the list of members is read."""

    def __init__(self, file: BinaryIO) -> None:
        self.left = LONGEST_DIRECTORY
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable
        self._read = file.read

    def read(self, count: int = -1) -> bytes:
        """Read bytes, at most as many as are left of the limit."""
        data = self._read(count if 0 <= count <= self.left else self.left + 1)
        if len(data) > self.left:
            raise ValueError("the list of members is too long")
        self.left -= len(data)
        return data


@contextmanager
def _damage_as(problem: str, *, says_why: bool = False) -> Iterator[None]:
    """Raise any error of a file's content as a ValueError.

    The libraries raise errors of a dozen classes for a damaged archive.
    """
    try:
        yield
    except Exception as error:
        # Errors of the system have a number, and are passed on. Exceptions are the numbers of a
        # seek to an impossible offset, which comes from a damaged archive.
        number = error.errno if isinstance(error, OSError) else None
        if number not in (None, errno.EINVAL, errno.EOVERFLOW):
            raise
        raise ValueError(f"{problem} {error}" if says_why else problem) from error


def _find_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, dtypes: frozenset[str]) -> Member:
    """Return a member from its headers; texts of errors continue a sentence about the member."""
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
        raise ValueError("is compressed; write it without compression, by numpy.savez")
    with archive.open(info) as file:
        try:
            read_head = HEADS[npy.read_magic(file)]
            shape, fortran, dtype = read_head(file, max_header_size=LONGEST_HEAD)
        except zipfile.BadZipFile:
            raise
        except Exception as error:  # Numpy evaluates literals, which fails in many ways.
            raise ValueError("is not a plain array") from error
        member = Member(
            info.filename.removesuffix(".npy"), archive, info, file.tell(), dtype, shape
        )
    kind = dtype.str[1:]
    if kind not in dtypes or len(shape) > MOST_DIMENSIONS:
        raise ValueError(f"is of dtype {kind} with {len(shape)} dimensions")
    if fortran and len(shape) > 1:
        raise ValueError("is not in C order")
    if not dtype.isnative:
        raise ValueError(f"has foreign byte order ({dtype.str})")
    if member.head + member.nbytes != info.file_size:
        raise ValueError(
            f"is {info.file_size - member.head:,} bytes long, not the {member.nbytes:,} of "
            f"{dtype} {shape}"
        )
    return member


HEADS: dict[tuple[int, int], Callable[..., Any]] = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}
"""Function that reads the header of an array, by the version of its format."""


def read_member(member: Member, name: str, new: Callable[..., np.ndarray] = np.empty) -> np.ndarray:
    """Return the array of a member, read into an array that ``new`` creates; check its checksum."""
    array = new(member.shape, member.dtype)
    numbers = array.reshape(-1).view(np.uint8).data
    with (
        _damage_as(f"{name} is damaged: array {member.key!r}:", says_why=True),
        member.archive.open(member.info) as file,
    ):
        file.read(member.head)
        offset = 0
        while offset < len(numbers):
            count = file.readinto(numbers[offset : offset + TOGETHER])  # type: ignore[attr-defined]
            if not count:
                raise ValueError("it is truncated")
            offset += count
    return array
