"""Cache of compiled kernels, protected by digests and keyed by the content of the sources."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.np import linalg

PACKAGE = Path(__file__).parents[1]
SOURCES = (
    "_util/declared.py",
    "_util/jit*.py",
    "algorithms/local_rules.py",
    "compilers/cards/subsets.py",
    "games/poker/runouts.py",
    "games/poker/strength.py",
    "games/poker/three_runouts.py",
    "kernels/*.py",
    "model/arrays.py",
    "model/chunked_form.py",
    "payoff/*.py",
)
"""Modules that define kernels, pieces of kernels, or the tuples of arrays that kernels take."""


@cache
def digest_of_sources() -> str:
    """Compute the SHA-256 digest of :data:`SOURCES`, in hexadecimal digits.

    Numba checks only the file of the kernel, and would run old code after a change in the file of
    one of its pieces.
    """
    digest = hashlib.sha256()
    for pattern in SOURCES:
        for path in sorted(PACKAGE.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _is_ours(function: Callable[..., Any]) -> bool:
    """Return whether a function belongs to this package."""
    return function.__module__.partition(".")[0] == __name__.partition(".")[0]


@cache
def import_array_functions() -> None:
    """Import numba's functions on arrays without ``scipy.linalg``, which takes 0.2 s.

    Numba imports both before it loads or compiles a kernel; it needs ``scipy.linalg`` only to check
    for a BLAS. Kernels that use BLAS import it themselves.
    """

    def find_blas() -> None:
        if find_spec("scipy") is None:
            raise ImportError("scipy")

    ensure_blas = getattr(linalg, "ensure_blas", None)
    if ensure_blas is None:
        return  # This version of numba has other internals.
    linalg.ensure_blas = find_blas
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = ensure_blas


class KernelCache(FunctionCache):
    """Numba's cache of one kernel; unreadable files are removed and written again.

    A killed process, a full disk, or a version with other names of modules can leave such files.
    Numba itself would pass on the error.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        default_file = self._cache_file
        self._cache_file = _CheckedFile(
            # Not numba's default name: earlier versions of this library read files of that name.
            default_file._cache_path,
            f"{self._impl.filename_base}.checked",
            # Files of the package are identified by their content, others by their dates.
            (digest_of_sources(), () if _is_ours(function) else default_file._source_stamp),
        )

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Return whether the index has a compiled kernel for a signature."""
        try:
            key = self._index_key(sig, target_context.codegen())
            return key in self._cache_file._load_index()
        except Exception:
            return False  # Loading it removes a damaged index.

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel for a signature, or None if it must be compiled."""
        import_array_functions()
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            self._cache_file.remove()  # type: ignore[attr-defined]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled kernel on disk; if that fails, the kernel serves this process only."""
        try:
            super().save_overload(sig, data)
        except OSError:
            return  # For example a full disk: the compiled kernel is still valid.
        except Exception:
            # Another process has damaged the index since it was read.
            self._cache_file.remove()  # type: ignore[attr-defined]
            with suppress(OSError):
                super().save_overload(sig, data)


class _CheckedFile(IndexDataCacheFile):
    """Index and code files of one kernel, each preceded by the digest of its content.

    Without the digest, a flipped bit in a code file would be executed.
    """

    def remove(self) -> None:
        """Delete the index, and thereby all references to code files."""
        with suppress(OSError):
            Path(self._index_path).unlink()

    def save(self, key: Any, data: Any) -> None:
        """Store the code of a signature together with the signature.

        After :meth:`remove`, another process may reuse the name of the file for other code.
        """
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        """Return the code of a signature, or None."""
        entry = super().load(key)
        return entry[1] if entry is not None and entry[0] == key else None

    def _load_index(self) -> Any:
        # Numba reads its version before the rest; here one digest covers both.
        try:
            content = _checked(Path(self._index_path).read_bytes())
        except FileNotFoundError:
            return {}
        version, stamp, overloads = pickle.loads(content)
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: Any) -> None:
        content = self._dump((self._version, self._source_stamp, overloads))
        with self._open_for_write(self._index_path) as file:
            file.write(hashlib.sha256(content).digest() + content)

    def _load_data(self, name: str) -> Any:
        content = _checked(Path(self._data_path(name)).read_bytes())
        return pickle.loads(content)

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(content).digest() + content)


def _checked(content: bytes) -> bytes:
    """Return the content after a digest.

    Raises:
        ValueError: The digest does not match the content.
    """
    size = hashlib.sha256().digest_size
    digest, content = content[:size], content[size:]
    if hashlib.sha256(content).digest() != digest:
        raise ValueError("a file of the kernel cache is damaged")
    return content
