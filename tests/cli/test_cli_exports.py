"""The commands that export and compare solutions, and solving files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from support.command_line import FAILURE, USAGE, printed, refused
from tensorcfr import Solution, compile_game, solve
from tensorcfr.analysis import values
from tensorcfr.formats import read_policy

DATA = Path(__file__).parents[1] / "data" / "gambit"


@pytest.fixture(scope="module")
def solution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("solutions") / "leduc.npz"
    return solve(compile_game("leduc"), iters=10, keep_best=True).save(path)


def test_solve_reads_files(tmp_path: Path) -> None:
    report = printed("solve", DATA / "two_stages.efg", "--algorithm", "lp")
    # By hand: the toll of 0.1 and, going right, 3 or -1.5 + 3 = 1.5 in the other branch at worst.
    assert "value of player 0  +2.9" in report
    assert "Ann 1              left 0.000   right 1.000" in report
    bad = tmp_path / "bad.efg"
    bad.write_text('EFG 2 R "x" { "a" }\nt "" 1')
    message = refused(USAGE, "solve", bad)
    assert message == f"{bad}:2:6: outcome 1 must be described where it is first used"
    assert "No such file" in refused(FAILURE, "solve", "nowhere.efg")
    message = refused(USAGE, "solve", bad, "--set", "ranks=3")
    assert message.startswith("--set is for built-in games")


@pytest.mark.parametrize("ending", ["csv", "json", "npz", "parquet"])
def test_export_to_files(solution: Path, ending: str, tmp_path: Path) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    loaded = Solution.load(solution)
    for which, policy in [("average", loaded.policy), ("last", loaded.last_policy)]:
        path = tmp_path / f"{which}.{ending}"
        assert printed("export", solution, "--output", path, "--strategy", which) == ""
        read = read_policy(loaded.game, path)
        assert (read.probabilities == policy.probabilities).all()
    assert printed("export", solution, "--output", path, "--strategy", "best") == ""


def test_export_to_standard_output(solution: Path) -> None:
    loaded = Solution.load(solution)
    rows = list(csv.DictReader(io.StringIO(printed("export", solution))))
    assert len(rows) == loaded.game.n_sequences - 2
    assert {(row["infoset"], row["action"]): float(row["probability"]) for row in rows} == {
        (i, a): p for i, actions in loaded.policy.items() for a, p in actions.items()
    }
    table = json.loads(printed("export", solution, "--format", "json", "--values"))
    found = values(loaded.game, loaded.policy)
    assert sum(next(iter(actions.values()))["loss"] for actions in table.values()) == pytest.approx(
        found.evaluation.nash_conv
    )


def test_export_of_the_game(solution: Path, tmp_path: Path) -> None:
    path = tmp_path / "leduc.efg"
    assert printed("export", solution, "--output", path) == ""
    assert compile_game(path).infoset_index.keys() == set(compile_game("leduc").infoset_labels)


def test_compare(solution: Path, tmp_path: Path) -> None:
    longer = solve(compile_game("leduc"), iters=20).save(tmp_path / "longer.npz")
    report = printed("compare", solution, longer, "--rows", "3")
    assert len([line for line in report.splitlines() if "  0.0" in line or "  0.1" in line]) >= 3
    path = tmp_path / "longer.csv"
    printed("export", longer, "--output", path)
    assert printed("compare", solution, path, "--rows", "3") == report
    other = solve(compile_game("kuhn"), iters=1).save(tmp_path / "kuhn.npz")
    assert refused(USAGE, "compare", solution, other) == "second is for kuhn, not for leduc"
    path.write_text("player,infoset,action,probability\n0,[Observer: 0][Private: 0],Call,1\n")
    said = refused(USAGE, "compare", solution, path)
    assert said.endswith("there are 936, such as Jh, Jh c, Jh cc/Js")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "xml"], "cannot export to 'xml'; there are: csv, efg, json"),
        (["--format", "parquet"], "this format is not printed: give --output file.parquet"),
        (["--format", "npz", "--values", "-o", "x.npz"], "--values is for csv, json, parquet"),
        (["-o", "nowhere/x.csv"], "--output nowhere/x.csv: there is no folder"),
    ],
)
def test_usage(solution: Path, words: list[str], message: str) -> None:
    assert message in refused(USAGE, "export", solution, *words)


def test_no_best_strategy(tmp_path: Path) -> None:
    path = solve(compile_game("kuhn"), iters=1).save(tmp_path / "kuhn.npz")
    message = refused(USAGE, "export", path, "--strategy", "best")
    assert message == "the solution kept no best strategy; solve with --keep-best"


def test_zero_is_printed_as_zero() -> None:
    solution = solve(compile_game("rock_paper_scissors"), iters=1)
    report = printed("solve", "rock_paper_scissors", "--algorithm", "lp", "--no-strategy")
    assert "value of player 0  +0 " in report
    assert "e-1" not in report
    assert len(repr(solution)) < 120
    assert "e-1" not in str(solve(compile_game("goofspiel(cards=3)"), "lp"))
