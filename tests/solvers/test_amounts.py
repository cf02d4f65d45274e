"""Amounts with units, what is usual for a game, time limits, and solvers that run by rules."""

from __future__ import annotations

import re
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.equality import bits
from tensorcfr import GAMES, Policy, Solution, Solver, compile_game, evaluate, exploitability, solve
from tensorcfr.algorithms import ALGORITHMS
from tensorcfr.analysis import SolvedSpot, compare, hand_table, values
from tensorcfr.evaluation import Evaluation, best_response
from tensorcfr.formats import policy_table, save_policy
from tensorcfr.games.holdem import Holdem
from tensorcfr.games.limit_poker import LimitPoker
from tensorcfr.solvers import base, loop
from tensorcfr.solvers.solution import Status
from tensorcfr.solvers.solver_arguments import to_game_unit

KUHN = compile_game("kuhn")
SPOT: dict[str, Any] = {
    "board": "QsJh2h8d3c",
    "ranges": ("AA,KK,QQ,AKs", "AA-TT,AKs,AQs,AKo"),
    "pot": 150,
    "stacks": 200,
    "bets": "50%",
    "raises": "60%",
}
RULES = Holdem(**SPOT, big_blind=4)


class TestAmounts:
    @pytest.mark.parametrize(
        ("amount", "chips"),
        [
            # A per cent of 150 chips is 1.5, a thousandth of a big blind of 4 chips 0.004.
            ("0.5%", 0.75),
            ("0.5 % of the pot", 0.75),
            (" 2 chips ", 2.0),
            ("1e-1 chips", 0.1),
            ("500 mbb", 2.0),
            ("3", 3.0),
            (0.25, 0.25),
        ],
    )
    def test_in_the_game_s_own_unit(self, amount: Any, chips: float) -> None:
        assert to_game_unit("target", amount, RULES) == pytest.approx(chips, rel=1e-15)

    def test_blinds_are_known_where_they_are_posted(self) -> None:
        assert to_game_unit("target", "10 mbb", LimitPoker(blinds=(50, 100))) == 1.0

    @pytest.mark.parametrize(
        ("game", "amount", "message"),
        [
            (
                KUHN,
                "5 mbb",
                "target: kuhn does not define the unit 'mbb' of '5 mbb': give a number ",
            ),
            (Holdem(**SPOT), "5 mbb", "give a number with chips, %; big_blind= of the spot"),
            (RULES, "5 euros", "holdem QsJh2h8d3c does not define the unit 'euros'"),
            (RULES, "much", "target must be a number, or one with a unit such as '0.5%' of the"),
            (RULES, "1.2.3 chips", "target must be a number"),
        ],
    )
    def test_wrong_amounts(self, game: Any, amount: str, message: str) -> None:
        with pytest.raises(ValueError, match=re.escape(message)):
            to_game_unit("target", amount, game)

    @pytest.mark.parametrize(
        ("limit", "refused"), [("2GiB", False), ("1 kB", True), ("0.5 KiB", True), (1000, True)]
    )
    def test_limits_of_memory(self, limit: Any, refused: bool) -> None:
        if not refused:
            assert solve(KUHN, iters=1, memory_limit=limit).iterations == 1
            return
        with pytest.raises(MemoryError, match=r"to change it, pass for example"):
            solve(compile_game("leduc"), iters=1, memory_limit=limit)

    @pytest.mark.parametrize("limit", ["2", "2 gib", "-1GiB", "many GiB", "1e3GiB"])
    def test_wrong_limits(self, limit: str) -> None:
        with pytest.raises(ValueError, match=r"memory_limit must be bytes >= 0, or a text such as"):
            solve(KUHN, iters=1, memory_limit=limit)

    def test_whole_numbers_may_be_written_as_floats(self) -> None:
        assert solve(KUHN, iters=1e1).iterations == 10  # type: ignore[arg-type]
        assert solve(KUHN, nodes=1e3).nodes_touched >= 1000  # type: ignore[arg-type]


@pytest.mark.compiled
class TestUsual:
    def test_a_spot(self) -> None:
        game = compile_game("holdem", **SPOT)
        solution = solve(game)
        assert solution.status is Status.TARGET
        assert solution.exploitability <= 0.75
        assert solution.state.regret.dtype == np.float32
        assert Solver(game).precision == "float32"
        assert Solver(game, "cfr+", precision="float64").state.regret.dtype == np.float64
        flat = solve(game.flat(), iters=1)
        assert flat.state.regret.dtype == np.float64

    def test_other_games(self) -> None:
        solution = solve(KUHN)
        assert (solution.status, solution.iterations) == (Status.ITERATIONS, 1000)
        assert solution.state.regret.dtype == np.float64
        assert solve(KUHN, start=solution).iterations == 2000

    def test_names_are_short(self) -> None:
        game = compile_game("holdem", **SPOT)
        assert game.name == "holdem QsJh2h8d3c"
        with pytest.raises(ValueError, match=r"^line: holdem QsJh2h8d3c has no step 'rise' at the"):
            hand_table(solve(game, iters=1), "rise")

    @pytest.mark.full
    def test_start_is_a_node(self, interpreted: None) -> None:
        spot = SolvedSpot(solve(compile_game("holdem", **SPOT, big_blind=4), iters=5))
        np.testing.assert_array_equal(spot.table("start").values, spot.table("").values)
        assert spot.table("start").line == ""
        locks = {"AA start": {"check": 1}}
        locked = solve(spot.game, iters=1, locks=locks)
        assert dict(locked.locks or {}) == dict(
            solve(spot.game, iters=1, locks={"AA": {"check": 1}}).locks or {}
        )
        # 4 chips are a big blind, and 1 chip 250 thousandths of one.
        assert spot.units(1.0, "mbb") == 250.0
        assert spot.units(1.0, "mbb", big_blind=2) == 500.0


class TestTimeLimit:
    def test_evaluations_count(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An evaluation takes 20 seconds: nine fit into 200, and the end of the ninth is known."""
        judge, clock = Solver.evaluate, [0.0]

        def slowly(solver: Solver) -> Evaluation:
            clock[0] += 20.0
            return judge(solver)

        monkeypatch.setattr(Solver, "evaluate", slowly)
        told = SimpleNamespace(perf_counter=lambda: clock[0], monotonic=time.monotonic)
        monkeypatch.setattr(loop, "time", told)
        solution = solve(KUHN, "cfr", time_limit=200, iters=50, checkpoints=1)
        assert solution.status is Status.TIME_LIMIT
        assert [point.iteration for point in solution.trace] == list(range(1, 10))
        assert solution.iterations == 9
        assert clock[0] == 180.0

    @pytest.mark.parametrize(
        ("each", "expected"),
        [
            (0.2, [1, 8, 8, 8]),
            (0.6, [1, 3, 3, 3]),
            (3.0, [1, 1, 1]),
            (1e-6, [1, 8, 64]),
        ],
    )
    def test_slow_iterations_run_together(
        self, each: float, expected: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Up to eight, within two seconds, or as many as take a twentieth of one."""
        run, clock, counts = Solver._run, [0.0], list[int]()

        def slowly(solver: Solver, count: int) -> None:
            clock[0] += each * count
            counts.append(count)
            run(solver, count)

        monkeypatch.setattr(Solver, "_run", slowly)
        told = SimpleNamespace(perf_counter=lambda: clock[0], monotonic=time.monotonic)
        for module in (loop, base):
            monkeypatch.setattr(module, "time", told)
        solve(KUHN, "cfr", iters=sum(expected), checkpoints=[1000])
        assert counts == expected

    def test_nothing_at_once(self) -> None:
        assert solve(KUHN, time_limit=0).iterations == 0


class TestRun:
    def test_a_solver_runs_and_goes_on(self) -> None:
        solver = Solver(KUHN, "dcfr")
        first = solver.run(20)
        second = solver.run(iters=30)
        solver.iterate(5)
        for solution, count in ((first, 20), (second, 50)):
            expected = solve(KUHN, "dcfr", iters=count)
            assert bits(solution.state) == bits(expected.state)
            assert solution.exploitability == expected.exploitability
            np.testing.assert_array_equal(
                solution.policy.probabilities, expected.policy.probabilities
            )
        assert solver.run(target=1e-3).status is Status.TARGET


class TestPolicies:
    def test_a_solution_is_a_policy(self, tmp_path: Path) -> None:
        solution = solve(KUHN, iters=30, keep_best=True)
        policy, path = solution.policy, solution.save(tmp_path / "k.npz")
        for source in (solution, path, str(path)):
            assert evaluate(KUHN, source) == evaluate(KUHN, policy)
            assert exploitability(KUHN, source) == exploitability(KUHN, policy)
            assert best_response(KUHN, source, 0).value == best_response(KUHN, policy, 0).value
            assert values(KUHN, source).table().to_dict() == values(KUHN, policy).table().to_dict()
        assert exploitability(KUHN, solution.best) == solution.best.exploitability  # type: ignore[union-attr]
        assert policy_table(solution).to_dict() == policy_table(policy).to_dict()
        assert compare(solution, path).distance == (0.0, 0.0)
        saved = save_policy(solution, tmp_path / "p.csv").read_text()
        assert policy.save(tmp_path / "q.csv").read_text() == saved
        with pytest.raises(ValueError, match="of a different game than leduc: kuhn"):
            exploitability(compile_game("leduc"), path)

    @pytest.mark.parametrize("package", ["pandas", "polars"])
    def test_frames(self, package: str) -> None:
        frames = pytest.importorskip(package)
        policy = solve(KUHN, iters=3).policy
        frame = getattr(policy, f"to_{package}")()
        assert isinstance(frame, frames.DataFrame)
        assert exploitability(KUHN, frame) == exploitability(KUHN, policy)
        assert policy.to_arrow().num_rows == len(frame) == 24

    def test_what_is_near(self) -> None:
        policy = Policy.uniform(KUHN)
        for wrong, said in (
            (lambda: policy["K"]["bets"], "there is no 'bets'; did you mean 'bet'?"),
            (lambda: policy["Kpp"], "kuhn has no infoset 'Kpp'; did you mean 'Kp'?"),
            (lambda: GAMES["leduk"], "there is no 'leduk'; did you mean 'leduc'?"),
            (lambda: ALGORITHMS["cfr++"], "there is no 'cfr++'; did you mean 'cfr+'?"),
        ):
            with pytest.raises(KeyError) as error:
                wrong()
            assert str(error.value) == said

    def test_saving_over_a_solution(self, tmp_path: Path) -> None:
        solution, path = solve(KUHN, iters=1), tmp_path / "k.npz"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solution.save(path)
            with pytest.raises(FileExistsError, match="the file exists; force=True replaces it"):
                solution.save(path)
            solve(KUHN, iters=2).save(path, force=True)
        assert Solution.load(path).iterations == 2


class TestRefusals:
    @pytest.mark.parametrize("payoffs", [np.eye(2), [[1, -1], [-1, 1]]], ids=str)
    def test_payoffs_are_no_game(self, payoffs: Any) -> None:
        for call in (lambda: compile_game(payoffs), lambda: solve(payoffs, iters=1)):
            with pytest.raises(TypeError, match=r"compile_game\('matrix', payoffs=...\)") as error:
                call()
            assert "\n" not in str(error.value)
        assert compile_game("matrix", payoffs=payoffs).n_players == 2

    def test_arguments_of_other_functions(self) -> None:
        with pytest.raises(TypeError, match=r"solve\(\) takes no 'cut'; compile_game\(..., cut="):
            solve(KUHN, iters=1, cut=True)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"takes no 'itres'; did you mean 'iters'\?"):
            solve(KUHN, itres=1)  # type: ignore[call-arg]


def test_everything_is_one_line() -> None:
    solution = solve(KUHN, iters=3)
    spot = solve(compile_game("holdem", **SPOT), iters=1)
    for shown in (
        *(KUHN, spot.game, Solver(KUHN), solution, solution.trace, solution.state, solution.policy),
        *(spot.state, hand_table(spot), SolvedSpot(spot), RULES, solution.policy["K"]),
        *(values(KUHN, solution), *ALGORITHMS.values(), *GAMES.values()),
    ):
        assert "\n" not in repr(shown)
        assert len(repr(shown)) <= 400, repr(shown)
