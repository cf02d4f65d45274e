"""Files that are replaced as a whole, or not at all."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows has no locks of this kind.
    HAS_LOCKS = False
else:
    HAS_LOCKS = True


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A new file in the same folder, which takes the place of ``path`` only when it is complete.

    A full disk, a crash or Ctrl-C leaves the old file as it was.  The unfinished files of
    processes that were killed while they wrote to the same path are removed; those of live
    processes are locked, and stay.  (Windows has no such locks: there all of them stay.)

    Raises:
        OSError: The file cannot be written; names ``path``.
    """
    # Through a symbolic link, it is the file behind it that is replaced.
    target = Path(path).resolve()
    try:
        _remove_abandoned(target)
        file, unfinished = _begin(target)
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                # Under the lock, so that nobody takes the file for an abandoned one.
                if HAS_LOCKS:
                    os.replace(unfinished, target)
            if not HAS_LOCKS:
                os.replace(unfinished, target)
            _sync_folder(target.parent)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    except OSError as error:
        # A full disk names no file, and other errors name the unfinished one.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _sync_folder(folder: Path) -> None:
    """Make the new names of a folder last through a crash of the machine, where that is known."""
    if os.name == "nt":
        return  # Windows opens no folders.
    opened = os.open(folder, os.O_RDONLY)
    try:
        # Some network file systems know no such thing.
        with suppress(OSError):
            os.fsync(opened)
    finally:
        os.close(opened)


def _begin(target: Path) -> tuple[BinaryIO, Path]:
    """A new unfinished file for a target, open and locked."""
    while True:
        unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        file = open(unfinished, "xb")  # noqa: SIM115
        if not HAS_LOCKS:
            return file, unfinished
        # File systems without locks have no file that looks abandoned either.
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
        for found in [
            entry.path for entry in os.scandir(target.parent) if name.fullmatch(entry.name)
        ]:
            # Not there any more, of another user, or locked by a process that is writing it.
            with suppress(OSError), open(found, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(found)
