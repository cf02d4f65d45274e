"""The commands that look at solutions and games: show, evaluate, size, and ``--json``."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest

from support.command_line import FAILURE, USAGE, invoke, printed, refused
from tensorcfr import (
    ALGORITHMS,
    Algorithm,
    LocalRule,
    Policy,
    Solution,
    compile_game,
    register,
    solve,
)
from tensorcfr.algorithms import CFR
from tensorcfr.analysis import regrets, robust_responses, values
from tensorcfr.cli import report
from tensorcfr.cli.playing import meant
from tensorcfr.evaluation import best_response, evaluate
from tensorcfr.formats import read_policy, save_policy

HANDS = ("Js", "Jh", "Qs", "Qh", "Ks", "Kh")


@pytest.fixture(scope="module")
def leduc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("values") / "leduc.npz"
    return solve(compile_game("leduc"), iters=50).save(path)


class TestShow:
    def test_values_beside_probabilities(self, leduc: Path) -> None:
        solution = Solution.load(leduc)
        table = values(solution.game, solution.policy)
        text = printed("show", leduc, "--infoset", "Jh cc/Js")
        infoset = solution.game.infoset_index["Jh cc/Js"]
        (line,) = (line for line in text.splitlines() if line.startswith("Jh cc/Js "))
        words = line.split()
        assert words[2] == f"{table.reach[infoset]:.4f}"
        assert words[3] == f"{table.infoset_expected[infoset]:+.4g}"
        at = solution.game.sequences(infoset)
        shown = [
            f"{action} {p:.3f} ({v:+.4g})"
            for action, p, v in zip(
                solution.game.infoset_actions[infoset],
                solution.policy.probabilities[at],
                table.expected[at],
                strict=True,
            )
        ]
        assert "  ".join(shown) in line
        assert all(len(line) <= 80 for line in text.splitlines())

    def test_filters(self, leduc: Path) -> None:
        by_node = json.loads(printed("show", leduc, "--node", "rr", "--json"))["infosets"]
        assert [row["infoset"] for row in by_node] == [
            f"{h} rr" for h in ["Js", "Jh", "Qs", "Qh", "Ks", "Kh"]
        ]
        by_both = json.loads(printed("show", leduc, "--node=rr", "--infoset=K*", "--json"))
        assert [row["infoset"] for row in by_both["infosets"]] == ["Ks rr", "Kh rr"]
        by_player = json.loads(printed("show", leduc, "--player=1", "--json"))["infosets"]
        assert {row["player"] for row in by_player} == {1}
        assert len(by_player) == 468
        assert len(json.loads(printed("show", leduc, "--json", "--rows=7"))["infosets"]) == 7

    def test_refusals(self, leduc: Path) -> None:
        assert "players 0 to 1, not 2" in refused(USAGE, "show", leduc, "--player=2")
        assert "no public node 'zz'" in refused(USAGE, "show", leduc, "--node=zz")
        message = refused(USAGE, "show", leduc, "--infoset=zz*")
        assert message == "leduc has no infoset for --infoset zz*"

    def test_numbers_for_machines(self, leduc: Path) -> None:
        said = json.loads(printed("show", leduc, "--json"))
        solution = Solution.load(leduc)
        assert said["exploitability"] == solution.exploitability
        assert said["values"] == list(solution.value)
        assert len(said["trace"]) == len(solution.trace)
        assert len(said["infosets"]) == 936
        table = values(solution.game, solution.policy)
        for row in said["infosets"][::97]:
            infoset = solution.game.infoset_index[row["infoset"]]
            at = solution.game.sequences(infoset)
            assert row["expected_value"] == table.infoset_expected[infoset]
            found = [action["expected_value"] for action in row["actions"]]
            np.testing.assert_array_equal(found, table.expected[at])

    def test_a_solution_by_an_algorithm_of_one_s_own(
        self, tmp_path: Path, interpreted: None
    ) -> None:
        def step(regret, instant, parameters):  # type: ignore[no-untyped-def]
            regret = max(regret + instant, 0.0)
            return regret, regret

        mine = Algorithm("my own", LocalRule("my own", step), "", "", average_power=1.0)
        register(mine)
        try:
            solution = solve(compile_game("kuhn"), mine, iters=30)
            path = solution.save(tmp_path / "mine.npz")
        finally:
            del ALGORITHMS["my own"]
        text = printed("show", path)
        assert "my own (not registered here)" in text
        assert f"{solution.exploitability:.6g}" in text
        assert "infoset,action" in printed("export", path)
        said = json.loads(printed("evaluate", path, "--json"))
        assert said["exploitability"] == pytest.approx(solution.exploitability, abs=1e-15)
        read = Solution.load(path, registered=False)
        np.testing.assert_array_equal(read.policy.probabilities, solution.policy.probabilities)
        assert read.state is None
        with pytest.raises(ValueError, match=r"register\(\) an algorithm of your own"):
            Solution.load(path)
        with pytest.raises(ValueError, match="it has no state"):
            solve(read.game, start=read, iters=1)


class TestEvaluate:
    def test_a_solution(self, leduc: Path) -> None:
        solution = Solution.load(leduc)
        said = json.loads(printed("evaluate", leduc, "--json", "--worst=3"))
        assert said["exploitability"] == pytest.approx(solution.exploitability, abs=1e-15)
        worst = values(solution.game, solution.policy).worst(3)
        assert [(row["infoset"], row["loss"]) for row in said["worst"]] == worst
        text = printed("evaluate", leduc, "--worst=1")
        assert f"exploitability     {solution.exploitability:.6g}" in text
        assert worst[0][0] in text

    def test_a_strategy_for_a_game(self, tmp_path: Path) -> None:
        game = compile_game("kuhn")
        policy = solve(game, iters=20).policy
        path = save_policy(policy, tmp_path / "kuhn.csv")
        said = json.loads(printed("evaluate", "kuhn", path, "--lock=K:bet=1", "--json"))
        expected = evaluate(game, policy, locks={"K": {"bet": 1}})
        assert said["values"] == list(expected.values)
        assert said["best_responses"] == list(expected.best_responses)

    def test_best_responses_are_written(self, leduc: Path, tmp_path: Path) -> None:
        path = tmp_path / "response.csv"
        text = printed("evaluate", leduc, "--best-response=1", "-o", path)
        solution = Solution.load(leduc)
        expected = best_response(solution.game, solution.policy, 1)
        assert f"value {expected.value:+.6g}" in text
        written = read_policy(solution.game, path)
        np.testing.assert_array_equal(written.probabilities, expected.policy.probabilities)
        printed("evaluate", leduc, "--best-response=0", "-o", path)
        assert read_policy(solution.game, path) != written

    def test_refusals(self, leduc: Path, tmp_path: Path) -> None:
        other = json.loads(printed("evaluate", "leduc", leduc, "--json"))
        assert other == json.loads(printed("evaluate", leduc, "--json"))
        assert "of a different game than kuhn: leduc" in refused(USAGE, "evaluate", "kuhn", leduc)
        assert "give a file with a strategy of kuhn" in refused(USAGE, "evaluate", "kuhn")
        assert "must be given together" in refused(USAGE, "evaluate", leduc, "--best-response=1")
        missing = tmp_path / "none.csv"
        assert refused(FAILURE, "evaluate", "kuhn", missing).endswith("No such file or directory")

    def test_what_exploitability_means_with_three_players(self, tmp_path: Path) -> None:
        text = " ".join(printed("solve", "kuhn(players=3)", "--iters=2", "--no-strategy").split())
        assert "In a 3-player game exploitability is the mean gain of a player" in text
        solution = solve(compile_game("kuhn(players=3)"), iters=2)
        assert "does not bound" in solution.summary()
        assert "does not bound" not in solve(compile_game("kuhn"), iters=2).summary()


class TestSize:
    def test_counted(self) -> None:
        assert "936 infosets, 2,186 sequences" in printed("size", "leduc")
        said = json.loads(printed("size", "leduc", "--set", "ranks=4", "--json"))
        assert said["infosets"] == compile_game("leduc(ranks=4)").n_infosets

    def test_estimated(self) -> None:
        said = json.loads(printed("size", "goofspiel(cards=4)", "--seconds=0.2", "--json"))
        assert said["histories"] == pytest.approx(1077)  # 1,077 histories when compiled.
        assert said["passes"] > 0

    def test_refusals(self) -> None:
        assert "no game" in refused(USAGE, "size", "leduk")
        assert "--set is for built-in games" in refused(USAGE, "size", "a.efg", "--set", "x=1")


class TestSolve:
    def test_json(self) -> None:
        said = json.loads(printed("solve", "kuhn", "--iters=10", "--json"))
        solution = solve(compile_game("kuhn"), iters=10)
        assert said["exploitability"] == solution.exploitability
        assert said["status"] == "ITERATIONS"
        strategy = {
            row["infoset"]: {a["action"]: a["probability"] for a in row["actions"]}
            for row in said["infosets"]
        }
        assert strategy == solution.policy.to_dict()

    def test_threads_precision_and_log(self, tmp_path: Path, interpreted: None) -> None:
        log, file = tmp_path / "solve.log", tmp_path / "s.npz"
        before = logging.getLogger("tensorcfr").level
        printed(
            *("solve", "liars_dice(faces=3)", "--iters=10", "--precision=float32", "--threads=2"),
            *("--no-strategy", "--log", log, "--save", file),
        )
        assert Solution.load(file).state.regret.dtype == np.float32
        lines = log.read_text().splitlines()
        assert "begins" in lines[0]
        assert "finished all iterations" in lines[-1]
        assert logging.getLogger("tensorcfr").level == before
        assert "precision must be one of" in refused(USAGE, "solve", "kuhn", "--precision=half")

    def test_warm_starts(self, tmp_path: Path) -> None:
        game = compile_game("kuhn")
        first = solve(game, "cfr", iters=50)
        path = first.save(tmp_path / "first.npz")
        warm = json.loads(printed("solve", "kuhn", "--iters=5", "--warm-start", path, "--json"))
        expected = solve(game, iters=5, warm_start=first)
        assert warm["exploitability"] == expected.exploitability
        for ending in ("csv", "npz"):
            file = save_policy(first.policy, tmp_path / f"policy.{ending}")
            words = ("--warm-start", file, "--warm-iterations=3")
            warm = json.loads(printed("solve", "kuhn", "--iters=5", *words, "--json"))
            expected = solve(game, iters=5, warm_start=first.policy, warm_iterations=3)
            assert warm["exploitability"] == expected.exploitability

    def test_labels_are_accepted_as_they_are_printed(self) -> None:
        text = printed("solve", "leduc", "--iters=1", "--lock=Jh cc/Js:raise=1", "--rows=0")
        assert "1 infosets locked" in text
        (line,) = (line for line in text.splitlines() if line.startswith("Jh cc/Js  "))
        assert "raise 1.000" in line


def test_compare_for_machines(leduc: Path, tmp_path: Path) -> None:
    other = solve(compile_game("leduc"), iters=5).save(tmp_path / "other.npz")
    said = json.loads(printed("compare", leduc, other, "--json", "--rows=4"))
    assert len(said["differences"]) == 4
    assert said["second"]["exploitability"] > said["first"]["exploitability"]
    file = save_policy(Solution.load(other).policy, tmp_path / "policy.npz")
    assert json.loads(printed("compare", leduc, file, "--json", "--rows=4")) == said


def test_the_shell_completes_names() -> None:
    text = invoke("--help").output
    assert "--install-completion" in text


class TestPlay:
    """The whole of a play with typed answers, some of them wrong."""

    def test_a_play_to_its_end(self) -> None:
        options = ("--algorithm=lp", "--seed=5", "--hints")
        result = invoke("play", "kuhn", *options, typed="fold\nbet\n")
        assert result.exit_code == 0, result.output
        lines = result.stdout.splitlines()
        assert lines[0].startswith("play 1: you are player 0 and hold ")
        assert "there is no action 'fold'" in result.stderr
        assert any(line.startswith("the solver: ") for line in lines)
        assert lines[-2].startswith("you get ")
        assert lines[-1].startswith("without luck ")

    @pytest.mark.parametrize("end", ["quit\n", "q\n", ""])
    def test_help_and_an_early_end(self, end: str) -> None:
        result = invoke("play", "leduc", "--plays=3", "--seed=1", typed=f"help\n?\n{end}")
        assert result.exit_code == 0
        assert result.stdout.count("actions: call, raise, or the beginning of one; quit ends") == 2
        assert result.stdout.splitlines()[-1] == "0 of 3 plays: in all +0"
        assert "Aborted" not in result.output

    @pytest.mark.parametrize(
        ("typed", "actions", "steps", "means"),
        [
            ("check", ("call", "raise"), (), ["call"]),
            ("check", ("fold", "call"), ("raise",), []),
            ("check", ("pass", "bet"), (), ["pass"]),
            ("check", ("pass", "bet"), ("bet",), []),
            ("check", ("check", "call"), (), ["check"]),
            ("c", ("check", "call"), (), ["check", "call"]),
            ("RA", ("fold", "raise"), ("bet",), ["raise"]),
            ("all-in", ("check", "allin"), (), ["allin"]),
            ("", ("pass", "bet"), (), []),
        ],
    )
    def test_what_words_mean(
        self, typed: str, actions: tuple[str, ...], steps: tuple[str, ...], means: list[str]
    ) -> None:
        assert meant(typed, actions, steps) == means

    def test_training(self) -> None:
        """Costs are differences of expected values of the blueprint, which the analysis has."""
        words = ("play", "leduc", "--train", "--seed=1", "--iters=50", "--plays=4")
        result = invoke(*words, typed="raise\n" * 4 + "call\n" * 20)
        assert result.exit_code == 0, result.output
        lines = result.stdout.splitlines()
        game = compile_game("leduc")
        solution = solve(game, iters=50, checkpoints=())
        table = values(game, solution).table().to_dict()
        total, count = 0.0, 0
        for line in lines:
            if line.startswith("  "):
                cost, what = line.strip().split(": ")
                action, _, rest = what.partition(" with ")
                held, _, where = rest.partition(" at ")
                node = where.partition(", where ")[0]
                label = f"{held} {_short(node)}".strip()
                worth = {a: row["expected_value"] for a, row in table[label].items()}
                assert float(cost) == pytest.approx(max(worth.values()) - worth[action], rel=1e-3)
                assert what.endswith(f"{max(worth, key=worth.__getitem__)} is best")
            if " costs " in line or line.endswith("nothing is better"):
                count += 1
                total += float(line.split(" costs ")[1].split(";")[0]) if " costs " in line else 0
        summary = next(line for line in lines if " decisions, " in line)
        assert summary.startswith(f"{count} decisions, ")
        assert float(summary.split("they cost ")[1].split(",")[0]) == pytest.approx(total, rel=1e-2)

    def test_a_game_without_a_public_tree(self) -> None:
        assert "is not a game of private hands" in refused(USAGE, "play", "matching_pennies")


def _short(line: str) -> str:
    """A line of Leduc as its labels have it: ``cc/Js r``."""
    steps = [] if line == "start" else line.split()
    return "".join(f"/{step} " if step[0] in "JQK" else step[0] for step in steps).strip()


class TestRegrets:
    def test_what_was_played_and_regretted(self) -> None:
        text = printed("regrets", "kuhn", "--checkpoints", "1,5")
        game = compile_game("kuhn")
        points = regrets(game, CFR(alternating=False), checkpoints=[1, 5])
        rows = [line.split() for line in text.splitlines()[1:5]]
        assert [row[:2] for row in rows] == [["1", "0"], ["1", "1"], ["5", "0"], ["5", "1"]]
        for row, point, player in zip(rows, np.repeat(points, 2), (0, 1, 0, 1), strict=True):
            expected = (point.played[player], point.average[player])
            assert [float(number) for number in row[2:4]] == pytest.approx(expected, rel=1e-6)
            own = point.infoset[game.infoset_player == player]
            positive = sum(regret for regret in own if regret > 0) / point.iteration
            assert float(row[4]) == pytest.approx(positive, rel=1e-6)

    @pytest.mark.parametrize("given", ["", "x", "0", "geometric"])
    def test_bad_iterations(self, given: str) -> None:
        assert "checkpoints" in refused(USAGE, "regrets", "kuhn", "--checkpoints", given)


def test_labels_are_one_line() -> None:
    """Those of OpenSpiel's goofspiel have seven."""
    assert report.one_line("P0 hand: 1 2\nPoints: 0 0 \n") == "P0 hand: 1 2 | Points: 0 0 "
    assert report.one_line("Ks rr") == "Ks rr"


def test_a_walkthrough_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = printed("walkthrough", "kuhn", "--iters", "1", "--deal", "Q,K")
    assert "…" not in text
    assert "strategy sum" in text


class TestRespond:
    def test_table_and_response(self, tmp_path: Path) -> None:
        weak = tmp_path / "weak.json"
        game = compile_game("kuhn")
        save_policy(Policy.uniform(game), weak)
        response = tmp_path / "response.csv"
        arguments = ("kuhn", weak, "--player", "0", "--method", "restricted")
        text = printed("respond", *arguments, "--max-loss", "0.02", "--output", response)
        assert text.startswith("kuhn: restricted responses of player 0")
        assert f"wrote {response}" in text
        found = robust_responses(game, None, 0, model=weak, method="restricted", max_loss=0.02)
        assert read_policy(game, response) == found.policies[found.chosen]
        document = json.loads(printed("respond", *arguments, "--weights", "0.5,1", "--json"))
        assert document["weights"] == [0.0, 0.5, 1.0]
        assert document["gain"][2] > document["gain"][1] > 0.0

    def test_counts(self, tmp_path: Path) -> None:
        counts = tmp_path / "counts.json"
        counts.write_text('{"Jb": {"bet": 9, "pass": 3}}')
        document = json.loads(printed("respond", "kuhn", "--counts", counts, "--json"))
        found = robust_responses(compile_game("kuhn"), json.loads(counts.read_text()), 0)
        assert document["gain"] == found.gain.tolist()

    def test_refusals(self) -> None:
        assert "give the file of a model, or --counts" in refused(USAGE, "respond", "kuhn")
