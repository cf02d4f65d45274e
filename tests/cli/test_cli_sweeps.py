"""The commands ``sweep``, ``plot`` and ``chart``."""

from __future__ import annotations

import filecmp
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from support.command_line import FAILURE, USAGE, invoke, printed, refused
from support.paths import ROOT
from tensorcfr import compile_game, solve
from tensorcfr.cli import argument_parsers
from tensorcfr.plots import infoset_chart, kuhn_stages, strategy_chart, sweep_curves
from tensorcfr.sweep import SweepTable, read_sweep

TWO = ("-g", "kuhn", "-a", "cfr", "-a", "cfr+")


class TestSweep:
    def test_the_summary(self, tmp_path: Path) -> None:
        path = tmp_path / "s.csv"
        text = printed("sweep", path, *TWO, "-a", "lp", "--iters", "1e3", "--levels", "0.1,1e-3")
        lines = text.splitlines()
        assert lines[0].split() == ["kuhn", "0.1", "0.001"]
        assert [line.split()[0] for line in lines[1:4]] == ["cfr", "cfr+", "lp"]
        # 6 and 1000 iterations of two sweeps of 58 histories
        assert lines[1].split()[1] == "696"
        assert "116k " in lines[1]
        assert "nash_conv / players" in text
        rows = read_sweep(path)
        assert text.endswith(f"\nwrote {path}: {len(rows)} rows\n")
        assert all(len(line) <= 80 for line in lines if str(path) not in line)
        assert "median of" not in text

    def test_the_note_is_true_of_any_number_of_seeds(self, tmp_path: Path) -> None:
        """It explained x5 under rows of x3."""
        words = ("-g", "kuhn", "-a", "external_sampling", "--iters", "10", "--seeds", "3")
        text = " ".join(printed("sweep", tmp_path / "s.csv", *words, "--levels", "1").split())
        assert "external_sampling x3" in text
        assert "xN: median of N runs" in text

    def test_not_reached(self, tmp_path: Path) -> None:
        text = printed("sweep", tmp_path / "s.csv", *TWO, "--iters", "2")
        assert text.splitlines()[1].split() == ["cfr", "-", "-", "-", "-"]

    def test_it_goes_on(self, tmp_path: Path) -> None:
        path = tmp_path / "s.csv"
        printed("sweep", path, "-g", "kuhn", "-a", "cfr", "--nodes", "1e4")
        before = read_sweep(path)
        printed("sweep", path, *TWO, "--nodes", "10000", "--processes", "2")
        assert read_sweep(path)[: len(before)] == before

    def test_clusters(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("distributed")
        monkeypatch.setattr("tensorcfr._util.cluster.CONNECT_SECONDS", 0.1)
        nowhere = ("--cluster", "tcp://127.0.0.1:1")
        said = refused(FAILURE, "sweep", tmp_path / "s.csv", *TWO, "--iters", "2", *nowhere)
        assert said.startswith("no scheduler answers at tcp://127.0.0.1:1: ")
        assert refused(FAILURE, "solve", "kuhn", "--cut", "1", *nowhere) == said
        said = refused(USAGE, "solve", "kuhn", *nowhere)
        assert said.startswith("cluster is for variants that pass over the whole game, on games in")

    @pytest.mark.full
    def test_picture(self, tmp_path: Path) -> None:
        picture, twin = tmp_path / "s.png", tmp_path / "twin.png"
        words = ("sweep", tmp_path / "s.csv", *TWO, "--iters", "5", "--plot", picture)
        assert printed(*words).endswith(f"wrote {picture}\n")
        sweep_curves(read_sweep(tmp_path / "s.csv"), path=twin)
        assert filecmp.cmp(picture, twin, shallow=False)
        picture.write_text("old")
        printed(*words, "--x", "learning_nodes")
        sweep_curves(read_sweep(tmp_path / "s.csv"), x=["learning_nodes"], path=twin)
        assert filecmp.cmp(picture, twin, shallow=False)

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ([*TWO, "--nodes=-5"], "nodes must be a whole number >= 0, not -5"),
            ([*TWO, "--iters", "1", "--repeats", "1001"], "repeats must be a whole number from 1"),
            ([*TWO, "--iters", "1", "--seeds", "0"], "--seeds takes a number"),
            ([*TWO, "--iters", "1", "--seeds", "a"], "--seeds takes a number"),
            ([*TWO, "--iters", "1", "--levels", "0"], "--levels takes exploitabilities above 0"),
            ([*TWO, "--iters", "1", "--levels", "x"], "--levels takes exploitabilities above 0"),
            ([*TWO, "--iters", "1", "--plot", "s.doc"], "its ending must be one of"),
            (
                [*TWO, "--iters", "1", "--plot", "s.png", "--x", "learning"],
                "no x axis 'learning'; did you mean 'learning_nodes'",
            ),
        ],
    )
    def test_refused_before_anything_runs(
        self, tmp_path: Path, words: list[str], message: str
    ) -> None:
        path = tmp_path / "s.csv"
        assert message in refused(USAGE, "sweep", path, *words)
        assert not path.exists()

    def test_the_table_of_another_sweep(self, tmp_path: Path) -> None:
        path = tmp_path / "s.csv"
        printed("sweep", path, *TWO, "--iters", "1")
        message = refused(USAGE, "sweep", path, *TWO, "--iters", "2")
        assert "belongs to another sweep: its cells end at iters=1, not at iters=2" in message

    def test_a_full_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "s.csv"

        def full(table: SweepTable, lines: list[str]) -> None:
            raise OSError(28, "No space left on device", str(path))

        monkeypatch.setattr(SweepTable, "_write", full)
        message = refused(FAILURE, "sweep", path, *TWO, "--iters", "1")
        assert message == f"{path}: No space left on device"

    def test_a_failed_cell(self, tmp_path: Path) -> None:
        path = tmp_path / "s.csv"
        words = ("sweep", path, "-g", "kuhn(players=3)", "-g", "kuhn", "-a", "lp", "--iters", "1")
        assert "kuhn(players=3) by lp: " in refused(FAILURE, *words)
        assert len(read_sweep(path)) == 1

    def test_progress_on_a_terminal(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FORCE_COLOR", "1")
        result = invoke("sweep", tmp_path / "s.csv", *TWO, "--iters", "3000")
        assert result.exit_code == 0
        assert "of 2" in result.stderr
        assert "exploitability" in result.stderr

    @pytest.mark.full
    @pytest.mark.skipif(sys.platform == "win32", reason="signals")
    @pytest.mark.parametrize("processes", [1, 2])
    def test_ctrl_c(self, tmp_path: Path, processes: int) -> None:
        """As a terminal sends it: to the command and all its processes."""
        path = tmp_path / "s.csv"
        with running_sweep(path, processes) as running:
            os.killpg(running.pid, signal.SIGINT)
            assert_interrupted(running, path, 130)

    @pytest.mark.full
    @pytest.mark.skipif(sys.platform == "win32", reason="signals")
    @pytest.mark.parametrize("processes", [1, 2])
    @pytest.mark.parametrize(("name", "status"), [("SIGTERM", 143), ("SIGHUP", 129)])
    def test_other_signals(self, tmp_path: Path, name: str, status: int, processes: int) -> None:
        """As a service manager or a closed connection sends them, to the command alone; exit
        statuses are 128 and the number of the signal (POSIX signals 15 and 1)."""
        path = tmp_path / "s.csv"
        with running_sweep(path, processes) as running:
            os.kill(running.pid, getattr(signal, name))
            assert_interrupted(running, path, status)

    @pytest.mark.full
    @pytest.mark.skipif(sys.platform == "win32", reason="signals")
    def test_a_killed_sweep_leaves_no_process(self, tmp_path: Path) -> None:
        """Nobody is there to end the workers: they must do it themselves."""
        path = tmp_path / "s.csv"
        with running_sweep(path, 2) as running:
            assert len(group(running.pid)) >= 3
            os.kill(running.pid, signal.SIGKILL)
            running.communicate(timeout=PATIENCE)
            deadline = time.monotonic() + 30
            while group(running.pid) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert group(running.pid) == []
        assert any(row.iteration > 1000 for row in read_sweep(path))


PATIENCE = 240
"""Seconds after which something hangs, also on a busy machine."""


@contextmanager
def running_sweep(path: Path, processes: int) -> Iterator[subprocess.Popen[str]]:
    """A sweep in a session of its own, all its processes at work, one cell finished; a test that
    fails leaves none of them."""
    words = ["sweep", path, "-g", "kuhn", "-a", "lp", "-a", "cfr", "-a", "cfr+"]
    settings = path.with_suffix(".toml")
    settings.write_text(f"processes = {processes}\n")
    words += ["--time-limit", "600", "--settings", settings]
    command = [sys.executable, "-m", "tensorcfr", *map(str, words)]
    running = subprocess.Popen(
        command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    # All processes at work: what is interrupted while it is imported says so itself.
    at_work = {"cfr", "cfr+"} if processes == 2 else {"cfr"}
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        rows = read_sweep(path) if path.exists() and path.stat().st_size > 1000 else []
        far = at_work <= {row.algorithm for row in rows if row.iteration > 1000}
        if far and any(row.ends_cell for row in rows):
            break
        time.sleep(0.05)
    try:
        yield running
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)


def assert_interrupted(running: subprocess.Popen[str], path: Path, status: int) -> None:
    _, error = running.communicate(timeout=PATIENCE)
    assert error == (
        f"tensorcfr: interrupted; 1 finished solves are in {path}: run the same command to "
        "continue\n"
    )
    assert running.returncode == status
    assert any(row.iteration > 1000 for row in read_sweep(path))


def group(leader: int) -> list[int]:
    """The processes of a session that are alive."""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,sid=,stat="], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in listed.stdout.splitlines()]
    return [int(pid) for pid, session, state in rows if int(session) == leader and state[0] != "Z"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plot") / "s.csv"
    printed("sweep", path, *TWO, "-g", "matching_pennies", "--iters", "20")
    return path


class TestPlot:
    def test_a_picture_and_the_summary(self, table: Path, tmp_path: Path) -> None:
        picture = tmp_path / "s.png"
        text = printed("plot", table, "-o", picture, "-g", "kuhn", "--x", "iterations")
        assert text.startswith("kuhn")
        assert "matching_pennies" not in text
        assert text.endswith(f"wrote {picture}\n")
        twin, rows = tmp_path / "twin.png", read_sweep(table)
        sweep_curves([row for row in rows if row.game == "kuhn"], x=["iterations"], path=twin)
        assert filecmp.cmp(picture, twin, shallow=False)
        words = ("-g", "kuhn", "-a", "cfr", "--x", "decision_nodes", "--title", "One")
        printed("plot", table, "-o", picture, *words)
        one = [row for row in rows if (row.game, row.algorithm) == ("kuhn", "cfr")]
        sweep_curves(one, x=["decision_nodes"], title="One", path=twin)
        assert filecmp.cmp(picture, twin, shallow=False)

    def test_the_summary_alone(self, table: Path) -> None:
        text = printed("plot", table, "-a", "cfr+", "--levels", "0.1")
        # After 13 iterations of two passes over 58 histories; uniform play of the other game is an
        # equilibrium, which no weight of iterations changes.
        rows = [row for row in read_sweep(table) if row.algorithm == "cfr+"]
        first = {
            game: next(r for r in rows if r.game == game and r.exploitability <= 0.1)
            for game in ("kuhn", "matching_pennies")
        }
        assert first["matching_pennies"].iteration == 1
        found = [line.split()[1] for line in text.splitlines() if line.startswith("cfr+")]
        assert found == [f"{first[game].nodes_touched:,}" for game in first]
        assert "wrote" not in text

    def test_refused(self, table: Path, tmp_path: Path) -> None:
        picture = tmp_path / "s.png"
        message = refused(USAGE, "plot", table, "-o", picture, "-a", "cfr++")
        assert message == "the table has no algorithm 'cfr++'; did you mean 'cfr+'?"
        message = refused(USAGE, "plot", table, "-o", picture, "--x", "node")
        assert "no x axis 'node'; did you mean 'nodes'" in message
        picture.write_text("mine")
        none = tmp_path / "none.csv"
        assert refused(FAILURE, "plot", none) == f"{none}: No such file or directory"
        assert "is not a sweep's table" in refused(USAGE, "plot", picture)


class TestChart:
    def test_kuhn(self, tmp_path: Path) -> None:
        picture, twin = tmp_path / "kuhn.png", tmp_path / "twin.png"
        words = ("chart", "kuhn", "-o", picture, "--iters", "5", "--algorithm", "cfr+")
        assert printed(*words) == f"wrote {picture}\n"
        kuhn_stages(solve(compile_game("kuhn"), "cfr+", iters=5), path=twin)
        assert filecmp.cmp(picture, twin, shallow=False)

    def test_a_node_of_a_saved_solution(self, tmp_path: Path) -> None:
        solution = solve(compile_game("leduc"), iters=5)
        saved = solution.save(tmp_path / "leduc.npz")
        picture, twin = tmp_path / "leduc.png", tmp_path / "twin.png"
        for words, node in ((["--node", "cc/Qs"], "cc/Qs"), ([], "start")):
            printed("chart", saved, "-o", picture, *words)
            strategy_chart(solution, node, path=twin)
            assert filecmp.cmp(picture, twin, shallow=False)
        message = refused(USAGE, "chart", saved, "-o", tmp_path / "other.png", "--iters", "5")
        assert "is already solved" in message

    def test_exactly_solved(self, tmp_path: Path) -> None:
        picture, twin = tmp_path / "kuhn.png", tmp_path / "twin.png"
        printed("chart", "kuhn", "-o", picture, "--algorithm", "lp")
        kuhn_stages(solve(compile_game("kuhn"), "lp"), path=twin)
        assert filecmp.cmp(picture, twin, shallow=False)

    def test_the_first_node_and_the_list(self, tmp_path: Path) -> None:
        picture, twin = tmp_path / "c.png", tmp_path / "twin.png"
        text = printed("chart", "matching_pennies", "--list", "-o", picture)
        infoset_chart(solve(compile_game("matching_pennies"), iters=1000), path=twin)
        assert filecmp.cmp(picture, twin, shallow=False)
        assert text.splitlines()[:2] == [
            "P0: player 0, no hands, heads, tails",
            "P1: player 1, no hands, heads, tails",
        ]
        assert "rr: player 0, 6 hands, fold, call" in printed("chart", "leduc", "--list")

    def test_refused(self, tmp_path: Path) -> None:
        picture = tmp_path / "c.png"
        assert "there is nothing to do: give --output" in refused(USAGE, "chart", "kuhn")
        message = refused(USAGE, "chart", "leduc", "-o", picture, "--node", "cc/Qz")
        assert "no public node 'cc/Qz'; did you mean" in message
        assert "there is no game 'ledoc'" in refused(USAGE, "chart", "ledoc", "-o", picture)
        none = tmp_path / "none.npz"
        assert refused(FAILURE, "chart", none, "--list") == f"{none}: No such file or directory"
        assert not picture.exists()


def test_whole_numbers() -> None:
    for text, number in (("1e9", 10**9), ("1_000", 1000), ("0", 0), (str(10**17 + 1), 10**17 + 1)):
        assert argument_parsers.whole(text) == number
    for text in ("1.5", "inf", "many", ""):
        result = invoke("sweep", "s.csv", "-g", "kuhn", "-a", "cfr", "--iters", text)
        assert result.exit_code == USAGE
        assert "--iters" in result.stderr


def test_seeds() -> None:
    assert argument_parsers.read_seeds("3") == [0, 1, 2]
    assert argument_parsers.read_seeds("3,7,") == [3, 7]
