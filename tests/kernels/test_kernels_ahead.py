"""Kernels of a plan are compiled by this process and a helper, and run as if compiled alone."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module, reload
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

from tensorcfr import compile_game
from tensorcfr._util import jit_ahead, jit_pieces
from tensorcfr._util.jit_lowering import LowerKernel
from tensorcfr.solvers import driver
from tensorcfr.solvers.request import SolveRequest

pytestmark = pytest.mark.compiled

KERNELS = """
from tensorcfr._util.jit import inlined, kernel

@inlined
def add(first, second) -> None:
    add_twice(first, second, 0.5)

@inlined
def add_twice(first, second, factor) -> None:
    for _ in range(2):
        first[0] += factor * second[0]

@kernel
def long(first, second, third):
    add(first, second)
    add(first, third)
    return first[0]

@inlined
def wrong(first) -> None:
    return first[0]

@kernel
def bad(first):
    wrong(first)

@kernel
def short(first):
    first[0] += 1.0
    return first[0]
"""


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module with two kernels and an empty cache, on a machine of two cores."""
    name = f"kernels_of_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(jit_ahead, "available_cores", lambda: 2)
    monkeypatch.delenv(jit_ahead.HELPERS, raising=False)
    # As in a process that multiprocessing did not start.
    monkeypatch.setattr(jit_ahead.multiprocessing, "parent_process", lambda: None)
    return import_module(name)


def use(kernels: ModuleType) -> tuple[int, list[np.ndarray]]:
    """Call both kernels under a plan; returns how often it was carried out, and its arrays."""
    plans, planned = 0, [np.zeros(1) for _ in range(3)]

    def plan() -> None:
        nonlocal plans
        plans += 1
        assert kernels.short(planned[0]) == 0.0
        assert kernels.long(*planned) == 0.0
        raise OSError("the plan ends early")

    with jit_ahead.compiled_ahead(plan):
        assert kernels.short(np.array([2.0])) == 3.0
        assert kernels.long(*np.array([[2.0], [3.0], [4.0]])) == 9.0
    return plans, planned


def assert_this_process_compiles(kernels: ModuleType) -> None:
    use(kernels)
    assert kernels.long.stats.cache_misses
    assert kernels.short.stats.cache_misses


START = {"a copy of this process": True, "a new process": False}


@pytest.mark.parametrize("forks", START.values(), ids=START.keys())
def test_a_helper_compiles_a_part(
    kernels: ModuleType, forks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This process compiles the kernel with more arguments; the plan runs none and changes none."""
    if forks and not jit_ahead._can_fork():
        pytest.skip("another system, or other threads run")
    monkeypatch.setattr(jit_ahead, "_can_fork", lambda: forks)
    plans, planned = use(kernels)
    assert plans == 1
    assert not np.any(planned)
    assert (len(kernels.long.stats.cache_misses), len(kernels.long.stats.cache_hits)) == (1, 0)
    assert (len(kernels.short.stats.cache_misses), len(kernels.short.stats.cache_hits)) == (0, 1)
    assert use(reload(kernels))[0] == 0, "as in a new process, which finds both in the cache"


def ends_at_once(folder: Path) -> str:
    program = folder / "python"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return str(program)


BAD_EXECUTABLES: dict[str, Callable[[Path], str]] = {
    "none": lambda folder: "",
    "missing": lambda folder: str(folder / "python"),
    "of a program that embeds Python": lambda folder: str(folder / "server"),
    "ends at once": ends_at_once,
}


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
@pytest.mark.parametrize("executable", BAD_EXECUTABLES.values(), ids=BAD_EXECUTABLES.keys())
def test_without_a_helper_this_process_compiles(
    kernels: ModuleType,
    executable: Callable[[Path], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", executable(tmp_path))
    monkeypatch.setattr(jit_ahead, "_can_fork", lambda: False)
    assert_this_process_compiles(kernels)


def test_a_helper_of_other_sources_compiles_nothing(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package may have been replaced since this process has started."""
    monkeypatch.setattr(jit_ahead, "_can_fork", lambda: False)
    monkeypatch.setattr(jit_ahead, "digest_of_sources", lambda: "of the sources before")
    assert_this_process_compiles(kernels)


def test_a_helper_that_does_not_answer_is_ended(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not jit_ahead._can_fork():
        pytest.skip("another system, or other threads run")
    monkeypatch.setattr(jit_pieces, "PATIENCE", 0.1)
    monkeypatch.setattr(jit_ahead, "serve", lambda *_: time.sleep(1000))
    assert_this_process_compiles(kernels)


@pytest.mark.parametrize(("seconds", "is_waited_for"), [(0.5, True), (1000.0, False)])
def test_a_slow_helper_is_waited_for_while_it_works(
    kernels: ModuleType, seconds: float, is_waited_for: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not jit_ahead._can_fork():
        pytest.skip("another system, or other threads run")
    serve = jit_ahead.serve

    def serve_slowly(*arguments: Any) -> None:
        while time.process_time() < seconds:  # Of the copy, which begins with 0.
            pass
        serve(*arguments)

    monkeypatch.setattr(jit_pieces, "PATIENCE", 0.2)
    monkeypatch.setattr(jit_pieces, "MOST_PATIENCE", 100.0 if is_waited_for else 1.0)
    monkeypatch.setattr(jit_ahead, "serve", serve_slowly)
    use(kernels)
    assert bool(kernels.short.stats.cache_hits) == is_waited_for


def test_an_interrupt_at_the_end_leaves_no_helper_behind(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not jit_ahead._can_fork():
        pytest.skip("another system, or other threads run")
    before = set(jit_ahead.multiprocessing.active_children())
    ended, helpers = jit_ahead._Fork.communicate, []

    def interrupted(fork: Any) -> None:
        helpers.append(fork._process)
        signal.raise_signal(signal.SIGINT)
        ended(fork)

    monkeypatch.setattr(jit_ahead, "available_cores", lambda: 3)
    monkeypatch.setattr(jit_ahead, "serve", lambda *_: time.sleep(1000))
    monkeypatch.setattr(jit_pieces, "PATIENCE", 0.1)
    monkeypatch.setattr(jit_ahead._Fork, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        use(kernels)
    assert len(helpers) == 2
    assert set(jit_ahead.multiprocessing.active_children()) == before


def test_the_number_of_helpers_is_checked(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(jit_ahead.HELPERS, "-1")
    with pytest.raises(ValueError, match=r"TENSORCFR_HELPERS must be .* not '-1'"):
        use(kernels)
    monkeypatch.setenv(jit_ahead.HELPERS, "0")
    use(kernels)
    assert kernels.short.stats.cache_misses


class Answers(jit_pieces.PieceQueue):
    """A queue of pieces from which a helper takes each at once; ``answers`` is the helper."""

    def __init__(self, answers: Callable[[bytes], bytes | None]) -> None:
        super().__init__()
        self.answers = answers
        self.names: list[str] = []

    def add(self, piece: jit_pieces.PutOff) -> None:
        super().add(piece)
        taken = self.next()
        assert taken is piece
        assert piece.request is not None
        _, (_, name, *_) = pickle.loads(piece.request)
        self.names.append(name)
        self.finish(piece, self.answers(piece.request))


def compiled_by_a_helper(request: bytes) -> bytes | None:
    """Return the answer of a helper in a process of its own."""
    program = "from tensorcfr._util.jit_ahead import serve; import sys; "
    program += "serve(1 << 32, sys.stdin.buffer, sys.stdout.buffer)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(request),
        capture_output=True,
        check=True,
        env=environment,
    )
    answer: bytes | None = pickle.loads(done.stdout)
    return answer


def fails(request: bytes) -> bytes | None:
    return None


@pytest.mark.parametrize("answers", [compiled_by_a_helper, fails])
def test_a_piece_of_a_helper_is_that_of_this_process(
    kernels: ModuleType, answers: Callable[[bytes], bytes | None]
) -> None:
    """A piece that no helper can compile is compiled here."""
    queue = Answers(answers)
    with jit_pieces.put_off_to(queue):
        assert kernels.long(*np.array([[2.0], [3.0], [4.0]])) == 9.0
    assert queue.names == (["add"] if answers is compiled_by_a_helper else ["add", "add_twice"])
    assert not queue.pieces


def test_a_piece_that_calls_most_others_is_not_sent(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit_pieces, "COMPILED_HERE", {kernels.add})
    queue = Answers(fails)
    with jit_pieces.put_off_to(queue):
        assert kernels.long(*np.array([[2.0], [3.0], [4.0]])) == 9.0
    assert queue.names == ["add_twice"]


def test_pieces_without_a_helper_are_compiled_by_the_kernel(kernels: ModuleType) -> None:
    queue = jit_pieces.PieceQueue()
    with jit_pieces.put_off_to(queue):
        assert kernels.long(*np.array([[2.0], [3.0], [4.0]])) == 9.0
    assert queue.next() is None, "each is taken"


def test_a_bad_piece_raises_its_error_each_time(kernels: ModuleType) -> None:
    """Numba remembers the type of a piece that is put off, but not its error."""
    texts = np.array(["a"]), np.array([3.0]), np.array([4.0])
    for queue in (jit_pieces.PieceQueue(), jit_pieces.PieceQueue()):
        with (
            jit_pieces.put_off_to(queue),
            pytest.raises(
                numba.core.errors.TypingError, match=r"No implementation of function.*iadd"
            ),
        ):
            kernels.long(*texts)


def test_a_piece_that_was_interrupted_is_compiled_again(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = np.array([[2.0], [3.0], [4.0]])
    lower = LowerKernel.run_pass

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LowerKernel, "run_pass", interrupt)
    with jit_pieces.put_off_to(jit_pieces.PieceQueue()), pytest.raises(KeyboardInterrupt):
        kernels.long(*arrays)
    monkeypatch.setattr(LowerKernel, "run_pass", lower)
    with jit_pieces.put_off_to(jit_pieces.PieceQueue()):
        assert kernels.long(*arrays) == 9.0


def test_a_piece_keeps_its_declaration(kernels: ModuleType) -> None:
    with (
        jit_pieces.put_off_to(jit_pieces.PieceQueue()),
        pytest.raises(numba.core.errors.NumbaError, match="wrong is declared to return None"),
    ):
        kernels.bad(np.zeros(1))


@pytest.mark.parametrize(
    ("options", "plans"),
    [
        ({}, 1),
        ({"locks": {"Jb": {"pass": 1.0, "bet": 0.0}}}, 0),
        ({"warm_start": {"J": {"pass": 1.0, "bet": 0.0}}}, 0),
        ({"algorithm": "external_sampling"}, 0),
    ],
)
def test_objects_of_the_caller_are_in_no_plan(
    options: dict[str, Any], plans: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may keep numbers that kernels compute, which a plan would fill with zeros."""
    made: list[SolveRequest] = []
    make_solver = driver.make_solver

    def counted(request: SolveRequest) -> Any:
        made.append(request)
        return make_solver(request)

    monkeypatch.setattr(driver, "make_solver", counted)
    driver._call_kernels(SolveRequest(game=compile_game("kuhn"), iters=1, **options), False)
    assert len(made) == plans


def test_a_kernel_that_cannot_be_compiled_fails_where_it_is_called(kernels: ModuleType) -> None:
    def plan() -> None:
        kernels.short("a text")
        kernels.short(np.zeros(1))

    with (
        jit_ahead.compiled_ahead(plan),
        pytest.raises(numba.core.errors.TypingError, match="unicode_type"),
    ):
        kernels.short("a text")
    assert kernels.short(np.array([2.0])) == 3.0
