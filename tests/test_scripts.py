"""The scripts that draw the pictures of the documentation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tensorcfr.sweep import read_sweep

ROOT = Path(__file__).parent.parent


def figures(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scripts.figures", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_a_figure(tmp_path: Path) -> None:
    done = figures("--quick", "--out", tmp_path, "kuhn_time", "leduc_strategy")
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in tmp_path.iterdir()} == {
        *("kuhn_time.csv", "kuhn_time.png", "leduc_strategy.png")
    }
    assert {row.algorithm for row in read_sweep(tmp_path / "kuhn_time.csv")} == {"cfr", "cfr+"}


def test_no_such_figure(tmp_path: Path) -> None:
    done = figures("--out", tmp_path, "kuhn_tim")
    assert done.returncode == 2
    assert "there is no figure 'kuhn_tim'; there are: kuhn_nodes, " in done.stderr


def test_the_page_is_written_from_what_is_measured() -> None:
    code = """if True:
        from tensorcfr.sweep import read_sweep
        from scripts import variants
        rows = read_sweep(variants.FOLDER / "variants.csv")
        peers = {"peer": {"kuhn": {"0.001": {"seconds": 1e-9}, "1e-06": None, "1e-09": None,
                                   "budget": 2.0}}}
        text = variants.markdown(rows, peers, ["kuhn.png"])
        page = variants.page_with(variants.PAGE.read_text(), text)
        assert page.count(text) == 1 and page.startswith("# Which algorithm")
        assert variants.page_with(page, text) == page
        print(text)
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("| peer")]
    assert lines[0].count("**1 ns**") == 1  # the first of all is bold, a peer or not
    assert [line.count("\N{EN DASH}") for line in lines] == [0, 1, 1]
    assert "figures/kuhn.png" in done.stdout
