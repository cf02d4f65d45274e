"""The cache of compiled kernels: behind digests, and known by the content of their sources."""

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
    "games/holdem/runouts.py",
    "games/holdem/strength.py",
    "kernels/*.py",
    "model/arrays.py",
    "model/chunks.py",
    "payoff/*.py",
)
"""Modules that have kernels, pieces of kernels, or the tuples of arrays that kernels take."""


@cache
def digest_of_sources() -> str:
    """SHA-256 of :data:`SOURCES`.

    Numba looks at the file of a kernel alone, and would go on with old code where the file of one
    of its pieces was changed.
    """
    digest = hashlib.sha256()
    for pattern in SOURCES:
        for path in sorted(PACKAGE.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _is_ours(function: Callable[..., Any]) -> bool:
    """Whether a function is one of the package's."""
    return function.__module__.partition(".")[0] == __name__.partition(".")[0]


@cache
def _import_array_functions() -> None:
    """Import numba's functions on arrays without ``scipy.linalg``, which takes 0.2 s.

    Numba imports both before it loads or compiles a kernel, the second only to see whether there is
    a BLAS.  Kernels that use it import it themselves.
    """

    def find_blas() -> None:
        if find_spec("scipy") is None:
            raise ImportError("scipy")

    looks = getattr(linalg, "ensure_blas", None)
    if looks is None:
        return  # A version with other internals.
    linalg.ensure_blas = find_blas
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = looks


class KernelCache(FunctionCache):
    """Numba's cache of one kernel; files that cannot be read are removed and written anew.

    A process that was killed, a full disk, or another version whose modules had other names can
    leave such files.  Numba passes on the error, whichever it is.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        found = self._cache_file
        self._cache_file = _CheckedFile(
            # Not the name that numba chooses: earlier versions of this library read that one.
            found._cache_path,
            f"{self._impl.filename_base}.checked",
            # A file of the package is known by its content, others by their dates.
            (digest_of_sources(), () if _is_ours(function) else found._source_stamp),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for a signature, or None where it must be compiled."""
        _import_array_functions()
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            self._cache_file.remove()  # type: ignore[attr-defined]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel; without a place to keep it, it serves this process only."""
        try:
            super().save_overload(sig, data)
        except OSError:
            return  # A full disk, say: no reason to give up the kernel.
        except Exception:
            # Another process has damaged the index since it was read.
            self._cache_file.remove()  # type: ignore[attr-defined]
            with suppress(OSError):
                super().save_overload(sig, data)


class _CheckedFile(IndexDataCacheFile):
    """Index and code files of one kernel, each behind the digest of its content.

    Without the digest, a flipped bit in a code file would be executed.
    """

    def remove(self) -> None:
        """Delete the index, and with it every code file that it names."""
        with suppress(OSError):
            Path(self._index_path).unlink()

    def save(self, key: Any, data: Any) -> None:
        """Keep the code of a signature, with the signature: after :meth:`remove` another process
        may give the name of its file to other code."""
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        """The code of a signature, or None."""
        found = super().load(key)
        return found[1] if found is not None and found[0] == key else None

    def _load_index(self) -> Any:
        # The parts are written as one: numba reads its version before the rest.
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
    """What is behind a digest.

    Raises:
        ValueError: The digest is that of something else.
    """
    size = hashlib.sha256().digest_size
    digest, content = content[:size], content[size:]
    if hashlib.sha256(content).digest() != digest:
        raise ValueError("a file of the kernel cache is damaged")
    return content
