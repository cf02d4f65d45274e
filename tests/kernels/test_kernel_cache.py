"""Damaged files in the cache of compiled kernels cost a compile, and nothing else."""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from support.paths import ROOT
from tensorcfr._util import jit, jit_cache

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


def test_an_edited_piece_is_compiled_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kernel has of other files is in its code, too."""
    monkeypatch.setattr(jit_cache, "digest_of_sources", lambda: "of other sources")
    assert run().cache_misses
    assert run().cache_hits


def test_all_pieces_are_in_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every module that has kernels or pieces of them."""
    verbs = {"not_inlined", "by_types", "if_given", "inlined", "kernel", "lends", "intrinsic"}
    listed = {path for pattern in jit_cache.SOURCES for path in jit_cache.PACKAGE.glob(pattern)}
    for path in jit_cache.PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        if path in listed or not any(verb in text for verb in verbs):
            continue  # To parse all of them takes three seconds.
        decorators = {
            name.id
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef)
            for decorator in node.decorator_list
            for name in ast.walk(decorator)
            if isinstance(name, ast.Name)
        }
        assert not decorators & verbs, path
    jit_cache.digest_of_sources.cache_clear()
    before = jit_cache.digest_of_sources()
    monkeypatch.setattr(jit_cache, "SOURCES", jit_cache.SOURCES[1:])
    jit_cache.digest_of_sources.cache_clear()
    assert jit_cache.digest_of_sources() != before
    jit_cache.digest_of_sources.cache_clear()


@pytest.mark.full
def test_a_numba_with_other_internals_is_used_without_ours(tmp_path: Path) -> None:
    """With a warning, and the same bits."""
    code = """if True:
        import sys, warnings
        if "other" in sys.argv:
            import numba.core.codegen
            del numba.core.codegen.JITCodeLibrary
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            from tensorcfr import compile_game, solve
        for warning in seen:
            print(warning.category.__name__, str(warning.message)[:60], file=sys.stderr)
        for game in (compile_game("kuhn"), compile_game("kuhn", cut=1)):
            print(solve(game, "cfr+", iters=20).exploitability.hex())
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    found = [
        subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            env=environment,
        )
        for words in ((), ("other",))
    ]
    assert [one.returncode for one in found] == [0, 0], found[1].stderr
    assert found[0].stdout == found[1].stdout
    progress = "tensorcfr: compiling kernels"
    assert all(line.startswith(progress) for line in found[0].stderr.splitlines())
    assert found[1].stderr.startswith("SlowStartWarning numba ")
