"""Files that are replaced as a whole, or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A new file in the same folder, which takes the place of ``path`` only when it is complete.

    A full disk, a crash or Ctrl-C leaves the old file as it was.
    """
    # Through a symbolic link, it is the file behind it that is replaced.
    target = Path(path).resolve()
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(unfinished, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
