"""The command line: what it prints, what it refuses, and with which exit code."""

from __future__ import annotations

import json
import os
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import tensorcfr
from support.command_line import FAILURE, USAGE, invoke, printed, python, refused
from tensorcfr import (
    ALGORITHMS,
    GAMES,
    Chance,
    Decision,
    Game,
    Solution,
    Terminal,
    cli,
    compile_game,
    solve,
)
from tensorcfr.algorithms import CFR, CFR_PLUS, DCFR, LP
from tensorcfr.cli import app as commands
from tensorcfr.cli import argument_parsers, solving
from tensorcfr.compilers.cut import cut_compiler as cut_game
from tensorcfr.errors import CutError


class Awkward(Game):
    """A player who acts at one of three infosets, whose labels are hard to tell apart."""

    n_players = 2

    def root(self) -> str:
        return "root"

    def node(self, state: str) -> Any:
        if state == "root":
            return Chance({"": 0.5, "a": 0.25, "a:b": 0.25})
        if state == "over":
            return Terminal([0, 0])
        return Decision(0, state, ["b", "b=1", "b,c"])

    def next(self, state: str, action: Any) -> str:
        return action if state == "root" else "over"


def test_how_to_cut_is_said_as_one_types_it() -> None:
    """The library says ``cut=``, the command line ``--cut``."""
    cut = ("solve", "leduc", "--cut", "3", "--iters", "1")
    for name, what in (
        ("external_sampling",) * 2,
        ("egt",) * 2,
        ("rtcfr+", "payoffs by own reach"),
    ):
        said = refused(USAGE, *cut, "--algorithm", name)
        assert what in said
        assert said.endswith("; solve it with --cut never")
    said = refused(USAGE, *cut[:-2], "--algorithm", "lp")
    assert said.endswith("flat game; solve it with --cut never")
    for option in (("--precision", "int16"), ("--state-dir", "."), ("--cluster", "tcp://x:1")):
        said = refused(USAGE, "solve", "leduc", "--iters", "1", *option)
        assert said.endswith("games in chunks; solve it with --cut always")
    game = compile_game("leduc", cut=3)
    with pytest.raises(CutError, match=r"flat game; use game.flat\(\), or .* cut=False$") as one:
        solve(game, "external_sampling", iters=1)
    with pytest.raises(CutError, match=r"games in chunks; compile it with cut=True$") as other:
        solve(compile_game("leduc"), precision="int16", iters=1)
    for error in (one.value, other.value):
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.cut) == (str(error), error.cut)


def test_commands_that_need_a_game_laid_out_lay_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut_game, "CUT_FROM", 1)
    assert "regret" in printed("regrets", "kuhn", "--checkpoints", "1")
    assert printed("walkthrough", "kuhn", "--iters", "1")
    assert printed("draw", "kuhn").startswith("digraph")


def no_solving(*args: object, **kwargs: object) -> None:
    raise AssertionError("solved before refusing")


class TestSolve:
    def test_the_report(self) -> None:
        lines = printed("solve", "kuhn", "--algorithm", "cfr", "--iters", "10").splitlines()
        expected = solve(compile_game("kuhn"), "cfr", iters=10)
        histories = expected.game.n_histories
        assert lines[0] == f"kuhn: 2 players, zero-sum, {histories} histories, 12 infosets"
        assert lines[1] == "cfr(average_power=0, alternating): finished all iterations"
        figures = {line[:19].strip(): line[19:].split("  ")[0] for line in lines[3:10]}
        assert figures.pop("time").endswith(" s")
        assert figures == {
            "value of player 0": f"{expected.value[0]:+.6g}",
            "value of player 1": f"{expected.value[1]:+.6g}",
            "exploitability": f"{expected.exploitability:.6g}",
            "nash_conv": f"{expected.nash_conv:.6g}",
            "iterations": "10",
            "nodes touched": f"{10 * 2 * histories:,}",
        }
        assert "nash_conv / 2 players, in utility" in lines[5]
        assert "sum of best-response value - value" in lines[6]
        iterations = [line.split()[0] for line in lines[12:16]]
        assert iterations == ["1", "2", "5", "10"]
        assert lines[15].split()[3] == f"{expected.exploitability:.4g}"
        label = expected.game.infoset_labels[0]
        actions = "  ".join(f"{a} {p:.3f}" for a, p in expected.policy[label].items())
        row = next(line for line in lines if line.startswith(f"{label} "))
        assert " ".join(row.split()) == " ".join(f"{label} {actions}".split())

    def test_a_pipe_gets_80_plain_columns(self, interpreted: None) -> None:
        text = printed("solve", "liars_dice(faces=4)", "--iters", "1")
        assert "\x1b" not in text
        assert text.isascii()
        assert all(len(line) <= 80 and line == line.rstrip() for line in text.splitlines())

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ("kuhn", ["iterations 1,000 "]),
            ("kuhn --target 1e-3", ["reached the target exploitability"]),
            ("kuhn --time-limit 0.02", ["reached the time limit"]),
            ("kuhn --nodes 1e4", ["reached the limit of nodes", " 10,092 "]),
            (
                "kuhn --algorithm dcfr(alpha=2) --simultaneous --iters=1",
                [str(DCFR(alpha=2, alternating=False))],
            ),
            ("kuhn --algorithm lp", ["lp: solved exactly", "-0.0555556"]),
            ("kuhn --algorithm auto", ["lp: solved exactly"]),
            (
                "kuhn --algorithm auto --target 1e-3",
                ["paced-cfr+(average_power=10, alternating): reached the"],
            ),
            ("kuhn --algorithm auto --target 1e-12", ["lp: solved exactly"]),
            ("kuhn --algorithm auto --lock=J:bet=0", ["iterations 1,000 "]),
            (
                "kuhn(players=3) --algorithm auto",
                ["paced-cfr+(average_power=10, alternating): finished all iterations"],
            ),
            ("kuhn(players=3) --iters 2", ["value of player 2", "nash_conv / 3 players"]),
        ],
    )
    def test_ends_and_algorithms(self, words: str, said: list[str]) -> None:
        text = " ".join(printed("solve", *words.split(), "--no-strategy").split())
        assert [one for one in said if one not in text] == []
        assert ("iterations" in text) != ("lp: " in text)

    def test_parameters_of_the_game(self) -> None:
        by_set = printed("solve", "leduc", "--set", "ranks=2", "--iters", "1", "--no-strategy")
        by_name = printed("solve", "leduc(ranks=2)", "--iters", "1", "--no-strategy")
        assert by_set.startswith("leduc(ranks=2): ")
        assert by_set.splitlines()[0] == by_name.splitlines()[0]

    def test_checkpoints(self) -> None:
        text = printed("solve", "kuhn", "--iters=9", "--checkpoints=3,6", "--no-strategy")
        table = text.partition("iteration  ")[2].splitlines()[1:]
        assert [line.split()[0] for line in table] == ["3", "6", "9"]

    def test_automatic_goes_on_as_it_began(self, tmp_path: Path) -> None:
        file = tmp_path / "dcfr.npz"
        printed("solve", "kuhn", "--algorithm=dcfr", "--iters=5", "--save", file)
        text = printed("solve", "--resume", file, "--algorithm=auto", "--iters=5")
        assert "\ndcfr(" in text
        assert "\niterations         10 " in text

    def test_automatic_is_drawn(self, tmp_path: Path) -> None:
        printed("solve", "kuhn", "--algorithm=auto", "--target=1e-9", "--plot", tmp_path / "a.png")
        message = refused(USAGE, "solve", "kuhn", "--algorithm=auto", "--simultaneous")
        assert message == "--simultaneous needs a named algorithm, not auto"

    def test_locks(self, interpreted: None) -> None:
        text = printed(
            *("solve", "kuhn", "--algorithm=pcfr+", "--iters=500", "--rows=0"),
            *("--lock", "J:bet=1", "--lock", "Kb:pass=1/4,bet=0.75"),
        )
        locks = {"J": {"bet": 1.0}, "Kb": {"pass": 0.25, "bet": 0.75}}
        expected = solve(compile_game("kuhn"), "pcfr+", iters=500, locks=locks)
        assert "pcfr+(average_power=2, alternating), 2 infosets locked: finished" in text
        assert f"\nvalue of player 0  {expected.value[0]:+.6g} " in text
        assert f"\nexploitability     {expected.exploitability:.6g} " in text
        assert "pass 0.250  bet 0.750" in text

    def test_the_best_is_kept(self, tmp_path: Path) -> None:
        file = tmp_path / "best.npz"
        text = printed(
            *("solve", "leduc", "--algorithm=cfr", "--iters=300", "--keep-best", "--no-strategy"),
            *("--save", file),
        )
        solution = Solution.load(file)
        assert solution.best is not None
        assert f"\nbest seen          {solution.best.exploitability:.6g}  " in text
        assert str(solution.best) in text
        assert "nash_conv  last iterate\n" in text
        assert all(len(line) <= 80 for line in text.partition("\nwrote")[0].splitlines())
        assert solution.trace[-1].last_exploitability is not None
        assert f"  {solution.trace[-1].last_exploitability:.4g}\n" in text

    def test_rows(self) -> None:
        short = printed("solve", "kuhn", "--iters", "1", "--rows", "2")
        assert short.count("... and 4 more infosets (--rows 0 prints all)") == 2
        long = printed("solve", "leduc", "--iters", "1", "--rows", "0")
        assert "more infosets" not in long
        for label in compile_game("leduc").infoset_labels:
            assert f"\n{label} " in long

    def test_actions_that_are_never_played_are_left_out_of_long_rows(self) -> None:
        text = printed("solve", "goofspiel(cards=5)", "--iters", "60", "--rows", "1")
        assert "(actions left out: probability below 0.0005)" in text


class TestFiles:
    def test_save_show_resume(self, tmp_path: Path) -> None:
        first, second = tmp_path / "first.npz", tmp_path / "second.npz"
        text = printed("solve", "kuhn", "--algorithm=cfr", "--iters=10", "--save", first)
        assert f"tensorcfr solve --resume {first}" in text
        assert printed("show", first, "--no-values") == text.partition("\nwrote")[0]
        printed("solve", "--resume", first, "--iters", "10", "--save", second)
        resumed = Solution.load(second)
        whole = solve(compile_game("kuhn"), "cfr", iters=20)
        assert resumed.iterations == 20
        assert (resumed.policy.probabilities == whole.policy.probabilities).all()
        message = refused(USAGE, "solve", "leduc", "--resume", first)
        assert message == "start is a solution of kuhn, not of leduc"
        message = refused(USAGE, "solve", "--resume", first, "--simultaneous")
        assert "not by cfr(average_power=0, simultaneous)" in message
        message = refused(USAGE, "solve", "--resume", first, "--set", "cards=4")
        assert message == "--set needs a game named on the command line"

    def test_plot(self, tmp_path: Path) -> None:
        path = tmp_path / "curve.svg"
        path.write_text("old")  # Pictures are replaced.
        text = printed("solve", "kuhn", "--iters=10", "--plot", path)
        assert text.endswith(f"\nwrote {path}\n")
        assert "<svg" in path.read_text()

    @pytest.mark.parametrize(
        ("option", "name", "message"),
        [
            ("--save", "none/s.npz", "there is no folder"),
            ("--save", "there.npz", "the file exists; --force overwrites it"),
            ("--save", "s.pickle", "a solution is an .npz file; write s.pickle.npz"),
            ("--save", "folder.npz", "this is a folder, not a file"),
            ("--plot", "none/c.png", "there is no folder"),
            ("--plot", "c.doc", "its ending must be one of"),
            ("--plot", "c", "its ending must be one of"),
        ],
    )
    def test_refused_before_solving(
        self,
        option: str,
        name: str,
        message: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(solving, "run", no_solving)
        (tmp_path / "there.npz").write_text("precious")
        (tmp_path / "folder.npz").mkdir()
        assert message in refused(USAGE, "solve", "kuhn", option, tmp_path / name)
        assert (tmp_path / "there.npz").read_text() == "precious"

    def test_no_permission(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("os.access", lambda path, mode: False)
        message = refused(USAGE, "solve", "kuhn", "--save", tmp_path / "s.npz")
        assert message.endswith("no permission to write there")

    def test_a_failed_write_does_not_lose_the_result(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full_disk(solution: Solution, path: Path, *, force: bool) -> Path:
            raise OSError(28, "No space left on device", str(path))

        monkeypatch.setattr(Solution, "save", full_disk)
        picture = tmp_path / "c.svg"
        result = invoke("solve", "kuhn", "--save", tmp_path / "s.npz", "--plot", picture)
        assert result.exit_code == FAILURE
        assert "exploitability" in result.stdout
        assert "resume" not in result.stdout
        assert "No space left on device" in result.stderr
        assert picture.exists()

    def test_no_such_file(self, tmp_path: Path) -> None:
        for words in (["show"], ["solve", "--resume"]):
            path = tmp_path / "none.npz"
            assert refused(FAILURE, *words, path) == f"{path}: No such file or directory"

    def test_no_solution_in_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.npz"
        path.write_text("no archive")
        assert "notes.npz" in refused(USAGE, "show", path)

    def test_an_exact_solution_cannot_be_gone_on_from(self, tmp_path: Path) -> None:
        path = tmp_path / "exact.npz"
        text = printed("solve", "kuhn", "--algorithm", "lp", "--save", path)
        assert text.endswith(f"\nwrote {path}\n")
        assert "it has no state" in refused(USAGE, "solve", "--resume", path)


class TestErrors:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["ledoc"], "there is no game 'ledoc'; did you mean 'leduc'?"),
            (["leduc", "--set", "rank=3"], "leduc has no parameter 'rank'; did you mean 'ranks'?"),
            (["leduc", "--set", "ranks"], "--set takes parameter=value, not 'ranks'"),
            (["openspiel:kuhn_poker", "--set", "players=3"], "--set is for built-in games"),
            (["kuhn", "--algorithm", "cfr++"], "no algorithm 'cfr++'; did you mean 'cfr+'?"),
            (["kuhn", "--algorithm", "dcfr(alfa=1)"], "no option 'alfa'; did you mean 'alpha'?"),
            (["kuhn", "--algorithm", "dcfr(1)"], "cannot read the algorithm 'dcfr(1)'"),
            (["kuhn", "--algorithm", "lp", "--simultaneous"], "lp is exact: it takes no"),
            (["kuhn", "--algorithm", "lp", "--iters", "5"], "lp is exact: it takes no iters"),
            (["kuhn", "--algorithm", "lp", "--plot", "c.png"], "has no convergence"),
            (["kuhn", "--checkpoints", "often"], "--checkpoints takes geometric, a number"),
            (["kuhn", "--checkpoints", "0"], "checkpoints must be at least 1 apart"),
            (["kuhn", "--iters=-1"], "iters must be a whole number >= 0, not -1"),
            (["kuhn", "--target=nan"], "target must be an exploitability >= 0"),
            (
                ["kuhn", "--memory-limit=nan"],
                "--memory-limit must be bytes >= 0, or a text such as '2GiB'",
            ),
            ([], "give a game; 'tensorcfr games' lists them"),
        ],
    )
    def test_usage(self, words: list[str], message: str) -> None:
        assert message in refused(USAGE, "solve", *words)

    def test_typer_s_own(self) -> None:
        assert invoke("solve", "kuhn", "--iters", "many").exit_code == USAGE
        assert invoke("solv").exit_code == USAGE

    def test_memory(self) -> None:
        message = refused(FAILURE, "solve", "leduc", "--memory-limit", "1000B")
        assert "1000 bytes" in message
        assert message.endswith(
            "; to change it, write for example memory_limit = '2GiB' in the file of --settings"
        )

    def test_missing_matplotlib(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(solving, "run", no_solving)
        for name in [name for name in sys.modules if name.startswith("matplotlib")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        message = refused(FAILURE, "solve", "kuhn", "--plot", "c.png")
        assert "pip install 'tensorcfr[plot]'" in message

    def test_our_own_bugs_keep_their_traceback(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def bug(*args: object, **kwargs: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(solving, "run", bug)
        assert isinstance(invoke("solve", "kuhn").exception, ZeroDivisionError)


@pytest.mark.parametrize("package", cli.PACKAGES)
def test_missing_cli_packages(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in list(sys.modules):
        if name.startswith((f"{package}.", "tensorcfr.cli.")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(cli, "app")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as exit:
        cli.main()
    assert exit.value.code == FAILURE
    assert capsys.readouterr().err == (
        f"tensorcfr: this needs the package {package!r}, which is not installed; "
        "run: pip install 'tensorcfr[cli]'\n"
    )


class TestLists:
    def test_games(self) -> None:
        text = printed("games")
        for entry in GAMES.values():
            assert entry.name in text
            assert all(parameter in text for parameter in entry.parameters)
        assert "leduc(ranks=" in text

    def test_algorithms(self) -> None:
        text = printed("algorithms")
        flat = " ".join(text.split())
        for record in ALGORITHMS.values():
            assert f"\n{record.name}\n" in f"\n{text}"
            assert record.source in flat

    def test_version(self) -> None:
        assert printed("--version") == f"tensorcfr {tensorcfr.__version__}\n"

    def test_help(self) -> None:
        assert "--resume" in printed("solve", "-h")


class TestProgressBar:
    def test_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FORCE_COLOR", "1")
        result = invoke("solve", "leduc", "--iters", "2000", "--time-limit", "60")
        assert result.exit_code == 0
        assert "solving" in result.stderr
        assert "iterations, exploitability" in result.stderr
        assert "solving" not in result.stdout
        assert "\x1b[1mleduc\x1b[0m: 2 players" in result.stdout

    def test_without_an_end_in_sight(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert "solving" in invoke("solve", "kuhn", "--target", "1e-3").stderr


class TestArguments:
    def test_settings(self) -> None:
        settings = ["ranks=4", "bets=(2, 4)", "prizes=random", "title = a=b"]
        assert argument_parsers.read_settings(settings, None) == {
            "ranks": 4,
            "bets": (2, 4),
            "prizes": "random",
            "title": "a=b",
        }

    def test_algorithms(self) -> None:
        assert argument_parsers.read_algorithm("lp", simultaneous=False) is LP
        assert argument_parsers.read_algorithm("cfr", simultaneous=False) is CFR
        assert argument_parsers.read_algorithm("cfr", simultaneous=True) == CFR(alternating=False)
        assert argument_parsers.read_algorithm("cfr+(delay=3)", simultaneous=False) == CFR_PLUS(
            delay=3
        )

    @pytest.mark.parametrize(
        ("text", "lock"),
        [
            ("a:b=1", {"a": {"b": 1.0}}),
            ("a:b:b=1/2", {"a:b": {"b": 0.5}}),
            ("a:b:b,c=0.5,b=5e-1", {"a:b": {"b,c": 0.5, "b": 0.5}}),
            ("a:b=1=0", {"a": {"b=1": 0.0}}),
            (":b= 1 ", {"": {"b": 1.0}}),
        ],
    )
    def test_locks_of_awkward_labels(self, text: str, lock: dict[str, dict[str, float]]) -> None:
        game = compile_game(Awkward())
        assert argument_parsers.read_locks(game, [text]) == lock

    def test_locks_add_up(self) -> None:
        game = compile_game(Awkward())
        assert argument_parsers.read_locks(game, []) is None
        found = argument_parsers.read_locks(game, ["a:b=0.5", ":b=1", "a:b,c=0.25"])
        assert found == {"a": {"b": 0.5, "b,c": 0.25}, "": {"b": 1.0}}

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("jack:bet=1", "'jack:bet=1' does not begin with an infoset of kuhn"),
            ("J:raise=1", "'J:raise=1': infoset 'J' has no action 'raise'; there are: bet, pass"),
            ("J:bet=", "'J:bet=': '' is not a probability; write 0.25 or 1/4"),
            ("J:bet=lots", "'J:bet=lots': 'lots' is not a probability"),
            ("J:bet=1/0", "'1/0' is not a probability"),
            ("J:bet=1,bet=0", "'J:bet=1,bet=0': 'bet' at 'J' is locked twice"),
            ("J", "--lock 'J' names no action; write it as J:action=0.5"),
            ("J:bet", "--lock 'J:bet' gives 'bet' no probability; write it as bet=0.5"),
            ("J:bet=1e400", "'1e400' is not a probability"),
            ("J:bet=1/", "'1/' is not a probability"),
            ("J:bet=nan", "'nan' is not a probability"),
            ("J:bet=1e999999999", "'1e999999999' is not a probability"),
            ("J:bet=1,", "'J:bet=1,': infoset 'J' has no action ''"),
            (
                "J:bet=2",
                "infoset 'J' cannot be locked to {'bet': 2.0}: probabilities must be at least 0 "
                "and sum to at most 1",
            ),
        ],
    )
    def test_bad_locks(self, text: str, message: str) -> None:
        assert message in refused(USAGE, "solve", "kuhn", "--lock", text)

    def test_checkpoints(self) -> None:
        read = argument_parsers.read_checkpoints
        assert (read("geometric"), read("7"), read("7,"), read("1, 7")) == (
            "geometric",
            7,
            [7],
            [1, 7],
        )
        with pytest.raises(ValueError, match="not ','"):
            read(",")


@pytest.mark.full
def test_rules_are_sampled_and_printed(tmp_path: Path) -> None:
    saved = tmp_path / "rules.npz"
    common = ("solve", "kuhn", "--uncompiled", "--algorithm", "external_sampling", "--seed", "7")
    first = invoke(*common, "--iters", "1000", "--save", str(saved))
    assert first.exit_code == 0, first.stderr
    assert "12 infosets visited; value and exploitability are not known" in " ".join(
        first.stdout.split()
    )
    assert re.search(r"^Q +pass 0\.\d+ +bet 0\.\d+$", first.stdout, re.MULTILINE)
    again = invoke("solve", "--resume", str(saved), "--iters", "1", "--json")
    said = json.loads(again.stdout)
    assert said["iterations"] == 1001
    assert said["exploitability"] is None
    assert {row["infoset"] for row in said["infosets"]} == set(compile_game("kuhn").infoset_labels)
    for wrong, words in (
        (("--cut", "auto"), "compiled games"),
        (("--lock", "K:bet=1"), "compiled games"),
        (("--plot", str(tmp_path / "x.png")), "needs exploitabilities"),
        (("--algorithm", "cfr+"), "needs a compiled game"),
    ):
        refused = invoke(*common, *wrong)
        assert refused.exit_code != 0
        assert words in refused.stderr


@pytest.mark.full
def test_as_a_module() -> None:
    done = python("-m", "tensorcfr", "solve", "kuhn", "--iters", "10")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("kuhn: 2 players")


def test_the_library_imports_no_extra() -> None:
    # Numba itself looks whether scipy is there, but imports none of its parts.
    done = python(
        "-c",
        "import sys, tensorcfr\n"
        "extras = {'typer', 'rich', 'matplotlib', 'scipy.optimize', 'scipy.sparse', 'pyspiel'}\n"
        "print(extras & set(sys.modules))",
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")


def test_main_runs_the_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tensorcfr", "--version"])
    with pytest.raises(SystemExit) as exit:
        cli.main()
    assert not exit.value.code
    assert capsys.readouterr().out == f"tensorcfr {tensorcfr.__version__}\n"


def test_main_passes_on_what_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the library that is missing is no missing extra."""
    monkeypatch.setitem(sys.modules, "tensorcfr.cli.app", None)
    with pytest.raises(ImportError, match=r"tensorcfr\.cli\.app"):
        cli.main()


def test_output_for_a_terminal_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is thrown away, so that Python's last flush says nothing and keeps the exit status."""

    class Gone:
        """A stream whose reader is gone."""

        def __init__(self, number: int) -> None:
            self.number = number

        def fileno(self) -> int:
            return self.number

        def flush(self) -> None:
            raise BrokenPipeError(32, "Broken pipe")

    reader, writer = os.pipe()
    try:
        monkeypatch.setattr(sys, "argv", ["tensorcfr", "--version"])
        monkeypatch.setattr(cli, "is_terminated", lambda: True)
        monkeypatch.setattr(sys, "stderr", Gone(writer))
        with pytest.raises(SystemExit):
            cli.main()
        os.write(writer, b"nobody reads this")
        os.set_blocking(reader, False)
        assert os.read(reader, 100) == b""  # All its writers are closed.
    finally:
        os.close(reader)
        os.close(writer)


def test_the_shell_completes_names() -> None:
    assert argument_parsers.game_names("gof") == []
    assert argument_parsers.game_names("kuh") == ["kuhn"]
    assert argument_parsers.game_names("") == list(GAMES)
    assert argument_parsers.algorithm_names("aut") == ["auto"]
    assert argument_parsers.algorithm_names("dcfr") == [
        name for name in ALGORITHMS if name[:4] == "dcfr"
    ]


def test_a_reader_who_has_gone_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*args: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(commands.report, "print_solution", lambda *args, **kwargs: gone())
    result = invoke("solve", "kuhn", "--iters", "1")
    assert (result.exit_code, result.stdout, result.stderr) == (FAILURE, "", "")
