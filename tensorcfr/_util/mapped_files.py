"""Arrays in memory-mapped files, which may be larger than the memory."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import weakref
from contextlib import suppress
from pathlib import Path

import numpy as np

from ..errors import format_bytes

try:
    import fcntl
except ImportError:  # Windows has no such locks, and does not remove open files.
    fcntl = None  # type: ignore[assignment]


class MappedFiles:
    """Factory of arrays in memory-mapped files of a directory.

    Only this process uses the files. Their names are removed as soon as they are mapped, if the
    system allows it, so that their space is freed with the arrays. The directory is locked under
    ``name`` until :meth:`close` is called or this object is deleted.

    Args:
        directory: Directory of the files; it is created if necessary.
        name: Prefix of the names of the files. Files with this prefix that an earlier process left
            are removed.

    Raises:
        BlockingIOError: Another process uses the directory under this name; the message names it.
    """

    def __init__(self, directory: Path, name: str = "state") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory, self._name, self._count = directory, name, 0
        self._lock = directory / f"{name}.lock"
        descriptor = _locked(self._lock)
        self.close = weakref.finalize(self, _unlock, self._lock, descriptor, os.getpid())
        """Release the lock of the directory; the arrays stay valid."""
        for abandoned in directory.glob(f"{name}-*.bin"):
            with suppress(OSError):
                abandoned.unlink()

    def new(self, shape: tuple[int, ...] | int, dtype: np.dtype) -> np.ndarray:
        """Return an array of zeros in a new file.

        Raises:
            OSError: The disk has too little free space.
        """
        size = int(np.prod(shape)) * dtype.itemsize
        if size == 0:
            return np.zeros(shape, dtype=dtype)
        path = self._directory / f"{self._name}-{os.getpid()}-{self._count}.bin"
        self._count += 1
        free = shutil.disk_usage(self._directory).free
        if size > free:
            raise OSError(
                errno.ENOSPC,
                f"the arrays need {format_bytes(size)} more disk space, and "
                f"{format_bytes(free)} are free",
                str(path),
            )
        with path.open("x+b") as file:
            try:
                # Allocate the blocks now: on a full disk that is an error, but a write to an
                # unallocated page of a mapped file would crash the process.
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
                mapped = np.memmap(file, dtype=dtype, mode="r+", shape=shape)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(path)) from error
            finally:
                with suppress(OSError):
                    path.unlink()
        return mapped.view(np.ndarray)


def _locked(path: Path) -> int:
    """Lock a lock file, write the holder into it and return its descriptor."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous holder may have removed the file between open and flock.
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                break
        except BlockingIOError:
            holder = os.read(descriptor, 200).decode(errors="replace") or "another process"
            os.close(descriptor)
            raise BlockingIOError(
                errno.EAGAIN, f"the directory is in use by {holder}", str(path.parent)
            ) from None
        except FileNotFoundError:
            pass
        os.close(descriptor)
    os.truncate(descriptor, 0)
    os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())
    return descriptor


def _unlock(path: Path, descriptor: int, process: int) -> None:
    """Remove a lock file and release its lock, in the process that locked it."""
    # A forked process has a copy of this finalizer, and its parent still uses the directory.
    if os.getpid() == process:
        with suppress(OSError):
            path.unlink()
    with suppress(OSError):
        os.close(descriptor)
