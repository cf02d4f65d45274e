"""Files that are replaced completely or not at all."""

from __future__ import annotations

import errno
import io
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows has no such locks.
    HAS_LOCKS = False
else:
    HAS_LOCKS = True


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a new file in the same folder, which replaces ``path`` once it is complete.

    A full disk, a crash or Ctrl-C leaves the old file unchanged. Unfinished files for the same path
    are removed if the process that wrote them was killed; the files of live processes are locked,
    and stay. (Windows has no such locks: there all of them stay.)

    Raises:
        OSError: The file cannot be written; the error names ``path``.
    """
    # A symbolic link stays: the file that it points to is replaced.
    target = Path(path).resolve()
    try:
        _remove_abandoned(target)
        file, unfinished = _begin(target)
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                # Rename while the lock is held, so that no process removes the file as abandoned.
                if HAS_LOCKS:
                    os.replace(unfinished, target)
            if not HAS_LOCKS:
                os.replace(unfinished, target)
            _sync_folder(target.parent)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    except OSError as error:
        # The error of a full disk names no file, and other errors name the unfinished file.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def open_locked(path: Path, user: str) -> io.FileIO:
    """Open a file to append to it, and lock it against other processes; Windows has no such locks.

    Args:
        path: The file.
        user: Name of the writer in the error, such as ``"sweep"``.

    Raises:
        OSError: The file cannot be written.
        ValueError: Another process has locked it.
    """
    file = open(path, "ab", buffering=0)  # noqa: SIM115
    if not HAS_LOCKS:
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        if error.errno not in (errno.EACCES, errno.EAGAIN):
            raise
        raise ValueError(f"{path}: another {user} is writing this file") from None
    return file


def _sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to the disk, so that they outlast a crash of the machine."""
    if os.name == "nt":
        return  # Windows cannot open folders.
    opened = os.open(folder, os.O_RDONLY)
    try:
        # Some network file systems cannot flush folders.
        with suppress(OSError):
            os.fsync(opened)
    finally:
        os.close(opened)


def _begin(target: Path) -> tuple[BinaryIO, Path]:
    """Create an unfinished file for a target; return it, open and locked, and its path."""
    while True:
        unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        file = open(unfinished, "xb")  # noqa: SIM115
        if not HAS_LOCKS:
            return file, unfinished
        # A file system without locks also refuses the lock that removal of a file needs.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        # Another process may have removed the file before it was locked.
        if os.fstat(file.fileno()).st_nlink:
            return file, unfinished
        file.close()


def _remove_abandoned(target: Path) -> None:
    """Remove the unfinished files of a target that no live process has locked."""
    if not HAS_LOCKS:
        return
    name = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{8}\.tmp")
    with suppress(OSError):
        for abandoned in [
            entry.path for entry in os.scandir(target.parent) if name.fullmatch(entry.name)
        ]:
            # Skip files that are gone, belong to another user, or are locked by their writer.
            with suppress(OSError), open(abandoned, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(abandoned)
