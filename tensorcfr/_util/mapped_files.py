"""Arrays in files that are mapped into memory, and may be larger than it."""

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
except ImportError:  # Windows has no such locks, and refuses to remove a file that is open.
    fcntl = None  # type: ignore[assignment]


class MappedFiles:
    """New arrays in files of a directory, mapped into memory.

    The files are made for this process alone, and have no name once they are mapped, where the
    system allows it: they end with the arrays.  The directory is locked under the name until
    :meth:`close`, or until this object is gone.

    Args:
        directory: The directory; it is made if there is none.
        name: What the names of the files begin with; what an earlier process left of that name is
            removed.

    Raises:
        BlockingIOError: The directory is in use under this name; says by whom.
    """

    def __init__(self, directory: Path, name: str = "state") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory, self._name, self._count = directory, name, 0
        self._lock = directory / f"{name}.lock"
        descriptor = _locked(self._lock)
        self.close = weakref.finalize(self, _unlock, self._lock, descriptor, os.getpid())
        """Let others use the directory; the arrays stay."""
        for left in directory.glob(f"{name}-*.bin"):
            with suppress(OSError):
                left.unlink()

    def new(self, shape: tuple[int, ...] | int, dtype: np.dtype) -> np.ndarray:
        """Zeros.

        Raises:
            OSError: There is no room for them on the disk.
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
                f"the arrays need {format_bytes(size)} more, {format_bytes(free)} are free",
                str(path),
            )
        with path.open("x+b") as file:
            try:
                # Blocks, and not a hole: a full disk is an error here, and a crash when it is
                # written.
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
    """The descriptor of a lock file, which is locked and says who has it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Who had it before may have removed the file meanwhile.
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
