"""Signals that end a process: what was asked to be saved is saved, and the status says why."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.command_line import python
from tensorcfr import Solution, compile_game, solve
from tensorcfr._util import signals
from tensorcfr.solvers import Progress, Status

KUHN = compile_game("kuhn")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    """The tests may run where a signal is ignored, under nohup; processes that they start hear it,
    too."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def command_that_is_sent(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line, in a process that gets a signal twice while it solves."""
    code = f"""
        import os, signal, sys
        from tensorcfr.cli import main, solving as app
        run, sent = app.run, []
        def told(request, progress):
            def hook(news):
                if news.iteration > 100 and not sent:
                    for _ in range(2 if signal.{name} != signal.SIGINT else 1):
                        sent.append(os.kill(os.getpid(), signal.{name}))
                progress(news)
            return run(request, hook)
        app.run = told
        sys.argv = {["tensorcfr", *words]!r}
        main()
        """
    return python("-c", textwrap.dedent(code))


@pytest.mark.parametrize(("name", "status"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_the_command_line_saves_first(tmp_path: Path, name: str, status: int) -> None:
    path = tmp_path / "s.npz"
    done = command_that_is_sent(name, "solve", "kuhn", "--time-limit", "600", "--save", str(path))
    assert done.returncode == status, done.stderr
    kept = Solution.load(path)
    assert kept.status is Status.INTERRUPTED
    assert kept.iterations > 100
    assert f"wrote {path}" in done.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["s.npz"]


def test_a_terminal_that_is_gone(tmp_path: Path) -> None:
    """Nothing can be printed any more; the file is written all the same."""
    path = tmp_path / "s.npz"
    words = ["solve", "kuhn", "--time-limit", "600", "--save", str(path)]
    code = f"""
        import os, signal, sys
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, 1)
        from tensorcfr.cli import main, solving as app
        run = app.run
        def told(request, progress):
            return run(request, lambda _: os.kill(os.getpid(), signal.SIGHUP))
        app.run = told
        sys.argv = {["tensorcfr", *words]!r}
        main()
        """
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    done = python("-c", textwrap.dedent(code))
    assert done.returncode == 129, done.stderr
    assert Solution.load(path).status is Status.INTERRUPTED


def test_solve_leaves_sigterm_alone() -> None:
    """A program that calls the library ends as it would without it."""
    code = """
        import os, signal
        from tensorcfr import compile_game, solve
        kill = lambda progress: os.kill(os.getpid(), signal.SIGTERM)
        solve(compile_game("kuhn"), time_limit=60, progress=kill)
        """
    done = python("-c", textwrap.dedent(code))
    assert done.returncode == -signal.SIGTERM


def kill(number: int) -> Callable[[Progress], None]:
    return lambda progress: os.kill(os.getpid(), number)


def test_where_somebody_listens() -> None:
    """Within a solve nothing is raised; outside it is, once; handlers are as they were after."""
    before = signal.getsignal(signal.SIGTERM)
    with signals.terminations():
        solution = solve(KUHN, time_limit=60, progress=kill(signal.SIGTERM))
        assert solution.status is Status.INTERRUPTED
        assert signals.is_terminated()
        os.kill(os.getpid(), signal.SIGTERM)  # Ignored: it has been heard.
    assert signals.exit_status() == 128 + 15
    with signals.terminations():
        assert not signals.is_terminated()
        with pytest.raises(signals.Terminated):
            os.kill(os.getpid(), signal.SIGHUP)
    assert signals.exit_status() == 128 + 1
    assert signal.getsignal(signal.SIGTERM) is before
    with signals.terminations():
        pass
    assert signals.exit_status() == 130


def test_what_is_ignored_stays_ignored() -> None:
    """As ``nohup`` starts a command."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals.terminations():
            os.kill(os.getpid(), signal.SIGHUP)
            assert not signals.is_terminated()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_checkpoint_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """The result is printed all the same."""
    path = tmp_path / "folder" / "at.npz"
    path.parent.mkdir()
    code = f"""
        import shutil, sys
        from tensorcfr.cli import main, solving as app
        run = app.run
        def told(request, progress):
            shutil.rmtree({str(path.parent)!r})
            return run(request, progress)
        app.run = told
        sys.argv = {["tensorcfr", "solve", "kuhn", "--iters", "9", "--checkpoint", str(path)]!r}
        main()
        """
    done = python("-c", textwrap.dedent(code))
    assert done.returncode == 1
    assert "exploitability" in done.stdout
    assert done.stderr == f"tensorcfr: {path}: No such file or directory\n"
