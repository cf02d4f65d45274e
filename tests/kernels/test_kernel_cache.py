"""Damaged files in the cache of compiled kernels cost a compile, and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from tensorcfr._util import jit

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="nothing is compiled, and nothing kept"
)


def double(values: np.ndarray) -> float:
    total = 0.0
    for value in values:
        total += 2.0 * value
    return total


def run() -> Any:
    """The kernel as a new process would make it, called once; returns its statistics."""
    compiled = jit.kernel(double)
    assert compiled(np.array([1.0, 20.0])) == 42.0
    return compiled.stats


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that holds the kernel."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    run()
    assert run().cache_hits, "the kernel is not kept at all"
    return tmp_path


def behind_digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest() + content


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut off in the digest": lambda content: content[:10],
    "cut off": lambda content: content[: len(content) // 2],
    "last byte missing": lambda content: content[:-1],
    "one bit": lambda content: content[:-40] + bytes([content[-40] ^ 4]) + content[-39:],
    "another format": lambda content: content[32:],
    "a module that is gone": lambda content: behind_digest(b"cno_such_module\nThing\n."),
    "no tuple": lambda content: behind_digest(b"N."),
    "no pickle": lambda content: behind_digest(b"\x80\x05garbage"),
}


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_file_is_replaced(
    folder: Path, damage: Callable[[bytes], bytes], suffix: str
) -> None:
    """What a kill, a full disk or another version leaves is compiled anew, and then kept."""
    (path,) = folder.rglob(f"*.{suffix}")
    path.write_bytes(damage(path.read_bytes()))
    assert run().cache_misses
    assert run().cache_hits


def test_a_file_of_other_code_under_the_same_name_is_not_run(folder: Path) -> None:
    """Two processes that clear and fill a cache at once may give one name to two kernels."""
    compiled = jit.kernel(double)
    assert compiled(np.array([21.0], dtype=np.float32)) == 42.0
    first, second = sorted(folder.rglob("*.nbc"))
    first.write_bytes(second.read_bytes())
    run()


def test_a_cache_that_cannot_be_read_or_written_is_done_without(folder: Path) -> None:
    (path,) = folder.rglob("*.nbi")
    path.unlink()
    path.mkdir()  # Neither can be opened nor replaced, whoever runs the test.
    assert run().cache_misses
