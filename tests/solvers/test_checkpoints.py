"""Files that a long solve writes as it runs, and from which it goes on to the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tensorcfr import Solution, compile_game, solve
from tensorcfr.algorithms import CFR, CFR_PLUS, EXTERNAL_SAMPLING, HEDGE
from tensorcfr.solvers.loop import SolveLoop
from tensorcfr.solvers.solver import bytes_needed

GAMES = {"flat": None, "chunks": 2}


@pytest.mark.parametrize("cut", GAMES.values(), ids=GAMES)
@pytest.mark.parametrize(
    "algorithm",
    [
        CFR,
        *(pytest.param(one, marks=pytest.mark.full) for one in (HEDGE, CFR_PLUS(restart_base=2))),
    ],
    ids=str,
)
def test_the_file_is_of_the_iteration(algorithm: Any, cut: int | None, tmp_path: Path) -> None:
    """Written every 4 iterations; the one of iteration 8 of 11 is caught, and gone on from."""
    game = compile_game("kuhn(cards=4)", cut=cut, symmetry=False)
    path, caught = tmp_path / "at.npz", tmp_path / "caught.npz"

    def catch(progress: Any) -> None:
        if path.exists() and not caught.exists() and progress.iteration >= 8:
            os.link(path, caught)

    whole = solve(
        game, algorithm, iters=11, checkpoint=path, checkpoint_iterations=4, progress=catch
    )
    plain = solve(game, algorithm, iters=11)
    assert whole.trace[-1].nash_conv == plain.trace[-1].nash_conv
    begun, ended = Solution.load(caught), Solution.load(path)
    assert (begun.iterations, ended.iterations) == (8, 11)
    after = solve(begun.game, start=begun, iters=3)
    for solution in (whole, after, ended):
        assert solution.state.regret.tobytes() == plain.state.regret.tobytes()
        assert solution.state.cumulative.tobytes() == plain.state.cumulative.tobytes()
        assert solution.evaluation == plain.evaluation


def test_by_time(tmp_path: Path) -> None:
    """With no seconds between them, after every step."""
    path, seen = tmp_path / "at.npz", set()
    game = compile_game("kuhn")

    def look(progress: Any) -> None:
        seen.add(Solution.load(path).iterations)

    solve(
        game,
        EXTERNAL_SAMPLING,
        seed=1,
        iters=9,
        checkpoints=3,
        checkpoint=path,
        checkpoint_every=0.0,
        progress=look,
    )
    assert {3, 6, 9} <= seen


def test_the_first_file_is_written_within_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next follows after ten minutes; an iteration takes one minute here."""
    game, path, now, saved = compile_game("kuhn"), tmp_path / "at.npz", 0.0, []
    save = SolveLoop.save_checkpoint

    def iteration_took_a_minute(progress: Any) -> None:
        nonlocal now
        now += 60.0

    def note(loop: SolveLoop) -> None:
        saved.append(now)
        save(loop)

    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(SolveLoop, "save_checkpoint", note)
    solve(game, CFR, iters=15, checkpoints=1, checkpoint=path, progress=iteration_took_a_minute)
    assert saved == [60.0, 660.0]


def test_the_linear_program_writes_its_file_too(tmp_path: Path) -> None:
    path = tmp_path / "at.npz"
    solution = solve(compile_game("kuhn"), "lp", checkpoint=path)
    assert Solution.load(path).evaluation == solution.evaluation


def test_what_a_state_needs_is_counted_in_its_precision(interpreted: None) -> None:
    game = compile_game("leduc", cut=3)
    limit = bytes_needed(game, CFR, "int16") + 1
    begun = solve(game, CFR, iters=2, precision="int16", memory_limit=limit)
    assert solve(game, start=begun, iters=1, memory_limit=limit).iterations == 3
    flat = compile_game("kuhn(cards=5)")
    limit = bytes_needed(flat, CFR, "float32") + 1
    begun = solve(flat, CFR, iters=2, precision="float32", memory_limit=limit)
    assert solve(flat, start=begun, iters=1, memory_limit=limit).iterations == 3


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "at.npz"
    warned = pytest.warns(UserWarning, match=r"the checkpoint was not written: .*nowhere")
    with warned, pytest.raises(OSError, match="nowhere") as caught:
        solve(compile_game("kuhn"), CFR, iters=3, checkpoint=path, checkpoint_iterations=2)
    assert caught.value.solution.iterations == 3  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="checkpoint_iterations needs checkpoint"):
        solve(compile_game("kuhn"), CFR, iters=3, checkpoint_iterations=3)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.parametrize("cut", GAMES.values(), ids=GAMES)
def test_kills(cut: int | None, tmp_path: Path) -> None:
    """A process that is killed leaves a whole file, and the run goes on to the same bits."""
    path = tmp_path / "at.npz"
    program = (
        "from tensorcfr import compile_game, solve\n"
        f"game = compile_game('leduc', cut={cut})\n"
        f"solve(game, 'cfr', iters=10**9, checkpoint={str(path)!r}, checkpoint_every=0.0)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 120
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = Solution.load(path)
    expected = solve(found.game, "cfr", iters=found.iterations + 2)
    after = solve(found.game, start=found, iters=2)
    assert after.state.regret.tobytes() == expected.state.regret.tobytes()
    assert after.state.cumulative.tobytes() == expected.state.cumulative.tobytes()


def test_on_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from tensorcfr.cli.app import app

    at = str(tmp_path / "at.npz")
    begin = ["solve", "kuhn", "--algorithm", "cfr", "--cut", "2", "--iters", "7"]
    begun = CliRunner().invoke(
        app, [*begin, "--checkpoint", at, "--checkpoint-every", "0", "--state-dir", str(tmp_path)]
    )
    assert begun.exit_code == 0, begun.output
    again = ["solve", "--resume", at, "--checkpoint", at, "--iters", "4", "--precision", "float64"]
    after = CliRunner().invoke(app, again)
    assert after.exit_code == 0, after.output
    expected = solve(compile_game("kuhn", cut=2), "cfr", iters=11)
    assert Solution.load(at).state.regret.tobytes() == expected.state.regret.tobytes()
    for options, problem in (
        (["--cut", "x"], "--cut takes auto, always, never or a number of public steps, not 'x'"),
        (["--checkpoint", "at.txt"], "--checkpoint at.txt: a solution is an .npz file"),
        (["--checkpoint", at], "exists"),
    ):
        refused = CliRunner().invoke(app, ["solve", "kuhn", *options])
        assert refused.exit_code == 2
        assert problem in refused.stderr
