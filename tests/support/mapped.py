"""Arrays that lie in files."""

from __future__ import annotations

from collections.abc import Iterable
from mmap import mmap
from typing import Any

import numpy as np


def mapped_bytes(arrays: Iterable[np.ndarray]) -> int:
    """Bytes of those arrays that lie in files."""
    return sum(array.nbytes for array in arrays if _is_mapped(array))


def _is_mapped(array: Any) -> bool:
    while array is not None and not isinstance(array, mmap):
        array = getattr(array, "base", None)
    return array is not None
