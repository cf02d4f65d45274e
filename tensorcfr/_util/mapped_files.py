"""Arrays in files that are mapped into memory, and may be larger than it."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import numpy as np

from ..errors import format_bytes


class MappedFiles:
    """New arrays in files of a directory, mapped into memory.

    Args:
        directory: The directory; it is made if there is none.
        name: What the names of the files begin with; older files of these names are replaced.
    """

    def __init__(self, directory: Path, name: str = "state") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory, self._name, self._count = directory, name, 0

    def new(self, shape: tuple[int, ...] | int, dtype: np.dtype) -> np.ndarray:
        """Zeros.

        Raises:
            OSError: There is no room for them on the disk.
        """
        size = int(np.prod(shape)) * dtype.itemsize
        if size == 0:
            return np.zeros(shape, dtype=dtype)
        path = self._directory / f"{self._name}-{self._count}.bin"
        self._count += 1
        path.unlink(missing_ok=True)
        free = shutil.disk_usage(self._directory).free
        if size > free:
            raise OSError(
                errno.ENOSPC,
                f"the arrays need {format_bytes(size)} more, {format_bytes(free)} are free",
                str(path),
            )
        with path.open("wb") as file:
            # Blocks, and not a hole: a full disk is an error here, and a crash when it is written.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
        found: np.ndarray = np.memmap(path, dtype=dtype, mode="r+", shape=shape).view(np.ndarray)
        return found
