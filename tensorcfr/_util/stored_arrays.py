"""Arrays stored in an ``.npz`` file, read without trust in the file.

Members are stored, not compressed, as ``numpy.savez`` writes them: reading takes no more memory
than the size of the file.  Nothing is unpickled or evaluated.
"""

from __future__ import annotations

import errno
import io
import math
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from typing import BinaryIO, NamedTuple

import numpy as np

MOST_MEMBERS = 1000
"""Members that an archive may have; a solution has about a hundred."""
LONGEST_DIRECTORY = 1 << 20
"""Bytes that the list of the members may take."""


class Member(NamedTuple):
    """One array of an archive, from its headers alone."""

    key: str
    start: int
    """Offset of the numbers in the file."""
    dtype: np.dtype
    shape: tuple[int, ...]
    crc: int
    """Checksum of the member."""
    head: bytes
    """Description of the array, the bytes of the member before the numbers."""

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def list_members(
    file: BinaryIO, name: str, dtypes: frozenset[str] | None = None
) -> dict[str, Member]:
    """The arrays of an archive by key; reads headers only.

    Args:
        file: The archive, open for reading; it can seek.
        name: The name of the file in errors.
        dtypes: Dtypes that arrays may have, ``"f8"`` for instance; by default :data:`PLAIN`.

    Raises:
        ValueError: It is no archive of arrays; says what is wrong.
    """
    size = file.seek(0, io.SEEK_END)
    try:
        with zipfile.ZipFile(_Directory(file)) as archive:
            listed = archive.infolist()
    except OSError as error:
        # The system says so with a number; an offset that leads nowhere is damage.
        if error.errno is not None and not _leads_nowhere(error):
            raise
        raise _no_archive(name) from error
    except Exception as error:  # The library has a dozen ways to say that an archive is damaged.
        raise _no_archive(name) from error
    if len(listed) > MOST_MEMBERS:
        raise ValueError(f"{name} is damaged: it has {len(listed):,} members")
    members: dict[str, Member] = {}
    for info in listed:
        try:
            member = _find_member(file, info, size, dtypes or PLAIN)
        except (ValueError, struct.error) as error:
            raise ValueError(f"{name} is damaged: member {info.filename!r} {error}") from error
        if member.key in members:
            raise ValueError(f"{name} is damaged: there are two members {info.filename!r}")
        members[member.key] = member
    if (total := sum(len(member.head) + member.nbytes for member in members.values())) > size:
        raise ValueError(f"{name} is damaged: {total:,} bytes of arrays in a file of {size:,}")
    return members


class _Directory:
    """A file of which only so much is read: the list of an archive's members is short.

    Args:
        file: The file; stays open.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._left = LONGEST_DIRECTORY
        self.seek, self.tell, self._read = file.seek, file.tell, file.read

    def read(self, count: int = -1) -> bytes:
        """Read some bytes.

        Raises:
            ValueError: It would be more than a list of members has.
        """
        found = self._read(self._left + 1 if count < 0 else min(count, self._left + 1))
        if len(found) > self._left:
            raise ValueError("the list of members is too long")
        self._left -= len(found)
        return found


def _leads_nowhere(error: OSError) -> bool:
    """Whether the system refused to go to an offset."""
    return error.errno in (errno.EINVAL, errno.EOVERFLOW)


def _no_archive(name: str) -> ValueError:
    return ValueError(f"{name} is not an .npz file, or it is damaged")


LOCAL_HEADER = struct.Struct("<4s5H3L2H")
"""Before each member of a zip archive; the last two numbers are the lengths of what follows it."""
ENCRYPTED = 0x1


def _find_member(
    file: BinaryIO, info: zipfile.ZipInfo, size: int, dtypes: frozenset[str]
) -> Member:
    """A member from its headers.

    Raises:
        ValueError: It is no stored array; the text goes on after the member's name.
    """
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
        raise ValueError("is compressed; arrays are stored as they are, as numpy.savez does it")
    if info.flag_bits & ENCRYPTED:
        raise ValueError("is encrypted")
    begin = info.header_offset
    if not 0 <= begin <= begin + LOCAL_HEADER.size + info.file_size <= size:
        raise ValueError("lies beyond the end of the file")
    file.seek(begin)
    signature, *_, name_length, extra_length = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    if signature != b"PK\x03\x04":
        raise ValueError("has no header of its own")
    begin += LOCAL_HEADER.size + name_length + extra_length
    if begin + info.file_size > size:
        raise ValueError("lies beyond the end of the file")
    file.seek(begin)
    head = file.read(min(info.file_size, LONGEST_HEAD))
    length, dtype, shape = _parse_head(head, dtypes)
    member = Member(
        key=info.filename.removesuffix(".npy"),
        start=begin + length,
        dtype=dtype,
        shape=shape,
        crc=info.CRC,
        head=head[:length],
    )
    if length + member.nbytes != info.file_size:
        raise ValueError(
            f"is {info.file_size - length:,} bytes long, not the {member.nbytes:,} of "
            f"{dtype} {shape}"
        )
    return member


LONGEST_HEAD = 512
"""Bytes that the description of an array may take; numpy pads it to a multiple of 64."""
MOST_DIMENSIONS = 8
HEAD = re.compile(
    rb"\{'descr': '([<>|=])([biufU][0-9]{1,2})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:[0-9]{1,18}, ?)*(?:[0-9]{1,18})?)\), \} *\n"
)
"""The description of an array as numpy writes it."""


def _parse_head(head: bytes, dtypes: frozenset[str]) -> tuple[int, np.dtype, tuple[int, ...]]:
    """Length of an array's description, dtype and shape.

    Raises:
        ValueError: It is no plain array.
    """
    if head[:6] != b"\x93NUMPY" or head[6:8] not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
        raise ValueError("is no array")
    begin = 10 if head[6] == 1 else 12
    length = begin + int.from_bytes(head[8:begin], "little")
    found = HEAD.fullmatch(head[begin:length]) if length <= len(head) else None
    if found is None:
        raise ValueError("is no plain array")
    order, kind, fortran = found[1].decode(), found[2].decode(), found[3] == b"True"
    sizes = tuple(int(part) for part in found[4].decode().split(",") if part.strip())
    if kind not in dtypes or len(sizes) > MOST_DIMENSIONS:
        raise ValueError(f"is of dtype {kind} with {len(sizes)} dimensions")
    if fortran and len(sizes) > 1:
        raise ValueError("is not in C order")
    dtype = np.dtype(kind)
    if dtype.itemsize > 1 and (order == ">") != (sys.byteorder == "big"):
        raise ValueError(f"is in foreign byte order ({order}{kind})")
    return length, dtype, sizes


PLAIN = frozenset(
    ["b1"] + [f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)] + ["f2", "f4", "f8"]
)
"""Dtypes of plain numbers."""


def read_member(
    file: BinaryIO, member: Member, name: str, new: Callable[..., np.ndarray] = np.empty
) -> np.ndarray:
    """The array of a member, its checksum checked, in an array that ``new`` makes."""
    array = new(member.shape, member.dtype)
    numbers = array.reshape(-1).view(np.uint8).data
    file.seek(member.start)
    at = 0
    while at < len(numbers):
        count = file.readinto(numbers[at:])  # type: ignore[attr-defined]
        if not count:
            raise ValueError(f"{name} is damaged: array {member.key!r} is cut off")
        at += count
    if zlib.crc32(numbers, zlib.crc32(member.head)) != member.crc:
        raise ValueError(f"{name} is damaged: the checksum of array {member.key!r} is another")
    return array
