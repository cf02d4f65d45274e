"""The state after an iteration depends on the iteration alone, whoever works on it and whatever
happens between; and solvers that fail or share a directory say so."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.equality import bits
from support.fake_cluster import FakeClient, play_cluster
from support.interpreted import interpret
from support.tiers import tiered
from tensorcfr import ALGORITHMS, Algorithm, LocalRule, Solution, Solver, compile_game, solve
from tensorcfr.algorithms import CFR, CFR_PLUS
from tensorcfr.cluster.cluster_solver import ClusterSolver
from tensorcfr.kernels import chunk_passes, iteration
from tensorcfr.solvers.solver_state import State

WHOLE = {name: r for name, r in ALGORITHMS.items() if isinstance(r, Algorithm)} | {
    "delayed": CFR(delay=2),
    "simultaneous": CFR_PLUS(alternating=False),
    "floor": CFR(floor=0.1),
    "descending": CFR(order="descending", delay=1),
    "restarts": CFR_PLUS(restart_base=2),
    "growth": CFR_PLUS(average_growth=2.0**20),
}
KINDS = (
    *("flat", "flat threads", "chunks", "threads", "files", "cluster"),
    *("two depths", "two depths threads files", "two depths cluster"),
)
LAST = 6


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels run as Python, and clusters are played."""
    play_cluster(monkeypatch)
    interpret(monkeypatch)


def maker(kind: str, record: Algorithm, precision: str, at: Path) -> Callable[..., Any]:
    """What makes a solver of a kind."""
    symmetry = not record.rule.is_scale_dependent
    cut = None if "flat" in kind else (1, 2) if "two depths" in kind else 1
    game = compile_game("kuhn(cards=4)", cut=cut, symmetry=symmetry)
    options: dict[str, Any] = {"precision": precision}
    if "threads" in kind:
        options["threads"] = 2
    if "files" in kind:
        options["state_dir"] = at
    if "cluster" in kind:
        return lambda **own: ClusterSolver(game, record, cluster=FakeClient(2), **options, **own)
    return lambda **own: Solver(game, record, **options, **own)


def check_divisions(kind: str, record: Algorithm, precision: str, at: Path) -> None:
    """However the iterations are divided, and with whatever between, the bits are the same."""
    make = maker(kind, record, precision, at)
    whole = make()
    whole.iterate(LAST)
    expected = bits(whole.state)
    judged = whole.evaluate()
    whole.close()
    for steps in ((1,) * LAST, (4, LAST - 4)):
        solver, done = make(), 0
        for count in steps:
            solver.iterate(count)
            done += count
            solver.evaluate()
            solver.evaluate_current()
            solver.average_policy()
        assert bits(solver.state) == expected, steps
        assert solver.evaluate() == judged
        solver.close()
    first = make()
    first.iterate(4)
    kept = State(*(array.copy() for array in first.state))
    first.close()
    second = make(state=kept, iteration=4)
    second.iterate(LAST - 4)
    assert bits(second.state) == expected
    second.close()


@pytest.mark.parametrize(
    ("name", "kind", "precision"),
    tiered(
        product(WHOLE, KINDS, ("float64", "float32", "int16")),
        [
            *product(["delayed", "floor"], KINDS, ["float32"]),
            *product(["dcfr", "delayed"], KINDS, ["int16"]),
            *product(
                ["pcfr+", "restarts", "sapcfr+", "descending"],
                ["chunks", "cluster", "two depths threads files"],
                ["float64"],
            ),
            *product(["growth"], ["flat", "chunks", "cluster"], ["float32", "int16"]),
        ],
    ),
)
def test_every_rule(
    name: str, kind: str, precision: str, tmp_path: Path, interpreted: None
) -> None:
    record = WHOLE[name]
    if precision == "int16" and ("flat" in kind or record.rule.memory):
        pytest.skip("16 bits are for games in chunks")
    if precision == "int16" and not record.rule.matches_regret:
        pytest.skip("16 bits are for regrets alone")
    if record.rule.payoff is not None and "flat" not in kind:
        pytest.skip("such payoffs are for games in one piece")
    if "cluster" in kind and record.name not in ALGORITHMS:
        pytest.skip("workers know the algorithms of the library")
    check_divisions(kind, record, precision, tmp_path)


@pytest.mark.compiled
@pytest.mark.parametrize("precision", tiered(["float64", "float32", "int16"], fast=["float64"]))
def test_compiled(precision: str, tmp_path: Path) -> None:
    check_divisions("threads", CFR_PLUS, precision, tmp_path)


def test_a_solve_by_the_clock(monkeypatch: pytest.MonkeyPatch, interpreted: None) -> None:
    """``solve`` divides iterations by the clock; the state is that of one step."""
    game = compile_game("kuhn(cards=4)", cut=1)
    whole = Solver(game, CFR, precision="int16")
    whole.iterate(40)
    solution = solve(game, CFR, iters=40, precision="int16")
    assert bits(solution.state) == bits(whole.state)


# ------------------------------------------------------------------------------- threads that fail


@pytest.mark.parametrize("failing", [0, 1])
@pytest.mark.parametrize("cut", [None, 1])
def test_a_thread_that_fails(
    cut: int | None, failing: int, monkeypatch: pytest.MonkeyPatch, interpreted: None
) -> None:
    """The others do not wait for it, and its error is raised."""
    module, name = (iteration, "iterate") if cut is None else (chunk_passes, "run_passes")
    solver = Solver(compile_game("kuhn(cards=4)", cut=cut), CFR, threads=2)
    kernel = getattr(module, name)

    def fails(*given: Any) -> None:
        if given[-3 if cut is None else -4] == failing:
            raise MemoryError("no room for scratch")
        kernel(*given)

    monkeypatch.setattr(module, name, fails)
    with pytest.raises(MemoryError, match="no room for scratch"):
        solver.iterate(2)


@pytest.mark.full
def test_a_rule_that_cannot_be_compiled() -> None:
    """One line says so, also in a game in chunks; ``test_odd_corners.py`` has other games."""

    def step(regret: float, instant: float, parameters: tuple[float, ...]) -> tuple[float, float]:
        return regret + instant, regret.no_such_thing  # type: ignore[attr-defined, no-any-return]

    record = Algorithm("broken", LocalRule("broken", step), "", "")
    with pytest.raises(ValueError, match="the rule 'broken' cannot be compiled") as raised:
        Solver(compile_game("kuhn", cut=1), record)
    assert "\n" not in str(raised.value)


# ------------------------------------------------------------------------------- directories


def test_a_directory_is_for_one_solver(tmp_path: Path, interpreted: None) -> None:
    """The second is told of the first; once that is closed or gone, there is room again."""
    game = compile_game("kuhn(cards=4)", cut=1)
    first = Solver(game, CFR, state_dir=tmp_path)
    first.iterate(3)
    before = bits(first.state)
    with pytest.raises(BlockingIOError, match=f"in use by process {os.getpid()} on"):
        Solver(game, CFR, state_dir=tmp_path)
    with pytest.raises(BlockingIOError, match="in use by process"):
        solve(game, CFR, iters=1, state_dir=tmp_path)
    assert bits(first.state) == before
    first.close()
    second = Solver(game, CFR, state_dir=tmp_path)
    second.iterate(3)
    first.iterate(1)  # Its arrays are its own.
    assert bits(second.state) == before
    del second
    gc.collect()
    third = Solver(game, CFR, state_dir=tmp_path)
    third.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_does_not_unlock_its_parents_directory(tmp_path: Path) -> None:
    """It ends as programs do, with the finalizers of all that it has."""
    program = (
        "import os, sys, pathlib; from tensorcfr._util.mapped_files import MappedFiles\n"
        "files = MappedFiles(folder := pathlib.Path(sys.argv[1]))\n"
        "if os.fork() == 0: sys.exit(0)\n"
        "os.wait()\n"
        "try: MappedFiles(folder)\n"
        "except BlockingIOError: print('in use')\n"
        "files.close(); MappedFiles(folder); print('free')"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["in use", "free", ""]
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_leaves(tmp_path: Path) -> None:
    """Its lock ends with it, and files without a solver are removed."""
    (tmp_path / "state-0.bin").write_bytes(b"of an earlier version")
    holds = (
        "import sys, time, pathlib; from tensorcfr._util.mapped_files import MappedFiles\n"
        "import numpy as np\n"
        "files = MappedFiles(pathlib.Path(sys.argv[1]))\n"
        "own = files.new(1000, np.dtype('f8')); print('ready', flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holds, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        game = compile_game("kuhn(cards=4)", cut=1)
        with pytest.raises(BlockingIOError, match=f"in use by process {process.pid} on"):
            Solver(game, CFR, state_dir=tmp_path)
        process.send_signal(signal.SIGKILL)
    Solver(game, CFR, state_dir=tmp_path).close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_simultaneous_solves_on_one_directory(tmp_path: Path, interpreted: None) -> None:
    """Each is refused, or gives the right bits."""
    game = compile_game("kuhn(cards=4)", cut=1)
    expected = solve(game, CFR, iters=5).state.regret.tobytes()
    begin, children = time.monotonic() + 0.2, []
    for _ in range(6):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                time.sleep(max(0.0, begin - time.monotonic()))
                found = solve(game, CFR, iters=5, state_dir=tmp_path).state.regret.tobytes()
                status = 0 if found == expected else 2
            except BlockingIOError:
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * len(children)
    assert not list(tmp_path.glob("*.bin"))


def test_loading_and_solving_in_one_directory(tmp_path: Path, interpreted: None) -> None:
    """What is read and what is solved lie side by side."""
    game, place = compile_game("kuhn(cards=4)", cut=1), tmp_path / "state"
    saved = solve(game, CFR, iters=3).save(tmp_path / "at.npz")
    loaded = Solution.load(saved, game=game, state_dir=place)
    ended = solve(game, start=loaded, iters=2, state_dir=place)
    assert ended.state.regret.tobytes() == solve(game, CFR, iters=5).state.regret.tobytes()
    np.testing.assert_array_equal(loaded.state.regret, solve(game, CFR, iters=3).state.regret)
