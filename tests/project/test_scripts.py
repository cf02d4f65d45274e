"""The scripts that draw the pictures of the documentation."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import python
from tensorcfr.sweep import read_sweep


def figures(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return python("-m", "scripts.figures", *words)


@pytest.mark.full
def test_a_figure(tmp_path: Path) -> None:
    done = figures("--quick", "--out", tmp_path, "kuhn_time", "leduc_strategy")
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in tmp_path.iterdir()} == {
        *("kuhn_time.csv", "kuhn_time.png", "kuhn_time.svg"),
        *("leduc_strategy.png", "leduc_strategy.svg"),
    }
    assert {row.algorithm for row in read_sweep(tmp_path / "kuhn_time.csv")} == {"cfr", "cfr+"}


@pytest.mark.full
def test_no_such_figure(tmp_path: Path) -> None:
    done = figures("--out", tmp_path, "kuhn_tim")
    assert done.returncode == 2
    assert "there is no figure 'kuhn_tim'; there are: kuhn_nodes, " in done.stderr


@pytest.mark.full
def test_the_page_is_written_from_what_is_measured(tmp_path: Path) -> None:
    """Three games in place of all, a few iterations, and no picture."""
    code = """if True:
        import sys
        from pathlib import Path
        from scripts import variants as page
        from scripts._pages import page_with
        for part, names in (("choose", ["kuhn"]), ("judge", ["kuhn(cards=4)", "kuhn(players=3)"])):
            page.PARTS[part].clear()
            page.PARTS[part].update({name: page.Suited(200) for name in names})
        three = ("cfr", page.FORMER, page.DEFAULT)
        page.JUDGED = page.MAIN = page.BY_GAME = three
        page.RULES = ("cfr+",)
        page.WEIGHTS = ("average_power=3",)
        page.RESULTS = Path(sys.argv[1]) / "variants.csv"
        for part in page.PARTS:
            page.measure(part)
        before = page.RESULTS.read_text()
        page.measure("judge")  # Nothing is measured twice.
        assert page.RESULTS.read_text() == before
        parts = page.tables()
        whole = page_with(page.PAGE.read_text(), "variants", parts)
        assert page_with(whole, "variants", parts) == whole
        for name in ("games", "goals", "weights", "many players"):
            print(parts[name])
    """
    done = python("-c", code, tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()

    def cells(begin: str) -> list[list[str]]:
        own = [line for line in lines if line.startswith(begin)]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in own]

    # CFR is not at 1e-3 after 200 iterations, and the default is the first to 1e-9.
    by_game, goals = cells("| kuhn(cards=4) |")
    assert by_game[1] == "\N{EN DASH}, \N{EN DASH}, \N{EN DASH}, \N{EN DASH}"
    assert by_game[3].count("**") >= 2
    assert all(cell.startswith(("0.", "1", "\N{LESS-THAN OR EQUAL TO}")) for cell in goals[1:4])
    assert cells("| `average_power=3` |")[0][1].endswith(", \N{EN DASH}")
    assert any(line.startswith("| `cfr` | ") and line.endswith("(200) |") for line in lines)


@pytest.mark.full
def test_the_pictures_of_the_spot_of_the_tutorial(tmp_path: Path) -> None:
    done = figures("--out", tmp_path, "holdem")
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in tmp_path.iterdir()} == {"holdem_turn.png", "holdem_rivers.png"}


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_that_is_told_and_limits(tmp_path: Path) -> None:
    """One game of twenty, and one limit of 27; a second run keeps what the first has found."""
    path = tmp_path / "memory.json"
    for words in (["--only", "faces=8) hedge"], ["--limits", "--only", "cut by hand"]):
        done = python("-m", "scripts.memory_told", "--json", path, *words)
        assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(path.read_text())
    assert [case["game"] for case in said["told"]["cases"]] == ["liars_dice(faces=8)"]
    assert [case["holds"] for case in said["limits"]["cases"]] == [True]


@pytest.mark.full
def test_benchmarks_are_saved_where_a_peer_is_not_installed(tmp_path: Path) -> None:
    """A skip during the rounds left a benchmark without figures, and saving failed on it."""
    code = f"""if True:
        import sys
        import pytest
        from benchmarks import test_iteration
        test_iteration.available = lambda tool: tool == "tensorcfr"
        sys.exit(pytest.main([
            "benchmarks/test_iteration.py", "--benchmark-only", "-q", "-p", "no:cacheprovider",
            "-k", "kuhn and time_to_target", "--benchmark-storage", {str(tmp_path)!r},
            "--benchmark-save", "saved",
        ]))
    """
    done = python("-c", code)
    assert done.returncode == 0, done.stdout + done.stderr
    (saved,) = tmp_path.rglob("*saved.json")
    (benchmark,) = json.loads(saved.read_text())["benchmarks"]
    assert benchmark["extra_info"]["iterations"] > 1


@pytest.mark.full
def test_skipped_benchmarks_name_the_command_that_runs_them() -> None:
    words = ["benchmarks/test_set_up.py", "-q", "-p", "no:cacheprovider"]
    skipped = python("-m", "pytest", *words)
    assert "run pytest benchmarks --benchmark-only" in skipped.stdout
    chosen = python("-m", "pytest", *words, "--benchmark-only", "--collect-only")
    assert chosen.returncode == 0, chosen.stdout
    assert "benchmarks are skipped" not in chosen.stdout
