"""Odd games and odd arguments: nothing crashes, nothing is silently another thing."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from support.reference import ReferenceCFR, build_tree, nash_conv
from support.spoiling import compiled
from tensorcfr import (
    ALGORITHMS,
    Algorithm,
    Chance,
    Decision,
    Game,
    LocalRule,
    MemoryLimitError,
    Policy,
    Solution,
    Solver,
    Terminal,
    compile_game,
    evaluate,
    solve,
)
from tensorcfr.algorithms import CFR, CFR_PLUS, DCFR
from tensorcfr.errors import MissingExtraError
from tensorcfr.rules import Payoff, PublicTreeGame

KUHN = compile_game("kuhn")


class Choice(Game):
    """One player, two moves, and chance in between."""

    n_players = 1

    def node(self, history: Any) -> Decision | Chance | Terminal:
        if not history:
            return Decision(0, "first", ("a", "b"))
        if len(history) == 1:
            return Chance({"up": 0.25, "down": 0.75, "never": 0.0})
        if len(history) == 2:
            return Decision(0, f"after {history[0]} {history[1]}", ("x", "y"))
        return Terminal(((history[0] == "b") + 2.0 * (history[1:] == ("up", "y")),))


class Over(Game):
    """A game that is over before it begins."""

    def node(self, history: Any) -> Terminal:
        return Terminal((1.0, -1.0))


class Bystander(Game):
    """Three players, of whom player 1 never acts; an infoset with one action."""

    n_players = 3

    def node(self, history: Any) -> Decision | Terminal:
        if not history:
            return Decision(0, "P0", ("only",))
        if len(history) == 1:
            return Decision(2, "P2", ("a", "b"))
        return Terminal((1.0, 2.0, 3.0) if history[1] == "a" else (0.0, 0.5, 4.0))


class Cancelling(Game):
    """Two actions that are both worth exactly 0, as a sum of integers over seven equal chances."""

    pays = {"x": (9, -7, -1, -6, 6, 5, -6), "y": (6, 3, -3, -6, 6, -9, 3)}

    def node(self, history: Any) -> Decision | Chance | Terminal:
        if not history:
            return Chance({str(i): 1 / 7 for i in range(7)})
        if len(history) == 1:
            return Decision(0, "blind", ("x", "y"))
        won = float(self.pays[history[1]][int(history[0])])
        return Terminal((won, -won))


class CancellingHands(PublicTreeGame):
    """The same with private hands, which change nothing: chance comes last."""

    hands = [("a", "b"), ("c", "d")]
    prior = np.full((2, 2), 0.25)

    def node(self, state: tuple[str, ...]) -> Any:
        if not state:
            return Decision(0, None, ["x", "y"])
        if len(state) == 1:
            return Chance({str(i): 1 / 7 for i in range(7)})
        return Payoff(Cancelling.pays[state[0]][int(state[1])], "k")

    def matrix(self, key: str) -> np.ndarray:
        own = np.array([[1.0, 0.3], [0.7, 2.0]])
        return np.stack([own, -own])


class Tiny(Game):
    """A coordination game in very small money."""

    def node(self, history: Any) -> Decision | Terminal:
        if len(history) < 2:
            return Decision(len(history), f"P{len(history)}", ("a", "b"))
        return Terminal((1e-13, 1e-13) if history[0] == history[1] else (0.0, 0.0))


@pytest.mark.parametrize("rules", [Choice(), Over(), Bystander()])
@pytest.mark.parametrize("algorithm", [CFR, CFR_PLUS(alternating=False)])
def test_odd_games_equal_the_reference(rules: Game, algorithm: Algorithm) -> None:
    game = compile_game(rules)
    solution = solve(game, algorithm, iters=20)
    tree = build_tree(rules)
    reference = ReferenceCFR(
        tree,
        regret_matching_plus=algorithm.name == "cfr+",
        average_power=algorithm.average_power,
        alternating=algorithm.alternating,
    )
    for _ in range(20):
        reference.iterate()
    for label, expected in reference.average_policy().items():
        np.testing.assert_allclose(list(solution.policy[label].values()), expected, atol=1e-12)
    policy = {label: list(row.values()) for label, row in solution.policy.items()}
    assert solution.nash_conv == pytest.approx(nash_conv(tree, policy), abs=1e-12)


def test_a_decision_problem_is_solved() -> None:
    """b, then y: 1 + 2 * 0.25."""
    assert solve(compile_game(Choice()), iters=500).value[0] == pytest.approx(1.5, abs=1e-2)


def test_payoffs_that_cancel_are_a_tie(interpreted: None) -> None:
    solver = Solver(compile_game(Cancelling()), CFR)
    solver.iterate(3)
    assert solver.current_policy()["blind"] == {"x": 0.5, "y": 0.5}
    solver = Solver(compile_game(CancellingHands()), CFR)
    solver.iterate(3)
    assert all(row == {"x": 0.5, "y": 0.5} for row in solver.current_policy().values())


def test_small_money_is_money() -> None:
    game = compile_game(Tiny())
    assert not game.zero_sum
    with pytest.raises(ValueError, match="zero-sum"):
        solve(game, "lp")


class TestArguments:
    @pytest.mark.parametrize("game", ["kuhn", Choice()])
    def test_rules_are_compiled_first(self, game: Any) -> None:
        with pytest.raises(ValueError, match=r"cfr\+ needs a compiled game: compile \w+ with"):
            solve(game, iters=1)
        with pytest.raises(TypeError, match=r"game must be a compiled game \(from compile_game\)"):
            Solver(game)

    def test_what_is_no_algorithm(self) -> None:
        with pytest.raises(TypeError, match="algorithm must be the name of an algorithm or an"):
            solve(KUHN, CFR.rule, iters=1)  # type: ignore[arg-type]

    def test_numpy_integers_are_integers(self, tmp_path: Any) -> None:
        solution = solve(KUHN, iters=np.int64(6), checkpoints=np.int64(2))  # type: ignore[arg-type]
        assert [point.iteration for point in solution.trace] == [2, 4, 6]
        assert Solution.load(solution.save(tmp_path / "s")).iterations == 6

    @pytest.mark.parametrize("iters", [10.5, float("inf"), float("nan"), "7"])
    def test_other_numbers_are_not(self, iters: Any) -> None:
        with pytest.raises(ValueError, match="iters must be a whole number"):
            solve(KUHN, iters=iters)
        with pytest.raises(ValueError, match="iterations must be a whole number"):
            Solver(KUHN).iterate(iters)

    def test_steps_forward_only(self) -> None:
        with pytest.raises(ValueError, match="iterations must be a whole number >= 0, not -1"):
            Solver(KUHN).iterate(-1)
        with pytest.raises(ValueError, match=r"checkpoints must be iterations from 1, not 1\.5"):
            solve(KUHN, iters=5, checkpoints=[1.5])  # type: ignore[list-item]

    @pytest.mark.parametrize("record", [DCFR(alpha=1e4), CFR(average_power=500)])
    def test_an_overflow_is_said(self, record: Algorithm) -> None:
        with pytest.raises(ValueError, match="not finite at iteration"):
            solve(KUHN, record, iters=1000)

    def test_weights_that_single_precision_cannot_hold(self) -> None:
        """The sum of ``t ** 10`` passes 3.4e38 at iteration 3,960; before, the average was nan."""
        solver = Solver(KUHN, CFR_PLUS(average_power=10), precision="float32")
        solver.iterate(3000)
        kept = solver.state.cumulative.copy()
        with pytest.raises(ValueError, match="by iteration 5,000 the sum of its weights is too"):
            solver.iterate(2000)
        assert solver.iteration == 3000
        np.testing.assert_array_equal(solver.state.cumulative, kept)


class TestPolicies:
    def test_of_another_game(self) -> None:
        class Turned(Game):
            def node(self, history: Any) -> Decision | Terminal:
                if not history:
                    return Decision(0, "only", ("b", "a"))
                return Terminal((1.0, -1.0))

        class Straight(Turned):
            def node(self, history: Any) -> Decision | Terminal:
                node = super().node(history)
                return node._replace(actions=("a", "b")) if isinstance(node, Decision) else node

        with pytest.raises(ValueError, match=" is for Turned, not for Straight"):
            evaluate(compile_game(Straight()), Policy.uniform(compile_game(Turned())))

    @pytest.mark.parametrize("value", [-0.5, 1.5, np.nan])
    def test_probabilities_are_probabilities(self, value: float) -> None:
        with pytest.raises(ValueError, match=r"a policy contains .*, which is not a probability"):
            Policy(KUHN, np.full(KUHN.n_sequences, value))

    def test_labels_are_strings(self) -> None:
        with pytest.raises(KeyError, match="an infoset label must be a string, not 3"):
            Policy.uniform(KUHN)[3]  # type: ignore[index]


class TestStates:
    def test_of_another_game(self) -> None:
        state = Solver(KUHN).state
        with pytest.raises(ValueError, match=r"regret is float64 \(26,\); for leduc"):
            Solver(compile_game("leduc"), state=state)

    def test_damaged(self) -> None:
        state = Solver(KUHN).state
        # All arrays are float64 or all are float32, as the regrets say.
        with pytest.raises(ValueError, match=r"cumulative is float64 .* must be float32 \(26,\)$"):
            Solver(KUHN, state=state._replace(regret=state.regret.astype(np.float32)))
        with pytest.raises(ValueError, match=r"regret is float16 .* it must be float64 \(26,\)$"):
            Solver(KUHN, state=state._replace(regret=state.regret.astype(np.float16)))
        with pytest.raises(ValueError, match="regret holds a number that is not finite"):
            Solver(KUHN, state=state._replace(regret=state.regret + np.nan))

    def test_of_a_solution_cannot_be_changed(self, tmp_path: Any) -> None:
        solution = solve(KUHN, iters=5)
        for one in (solution, Solution.load(solution.save(tmp_path / "s"))):
            with pytest.raises(ValueError, match="read-only"):
                one.state.regret[:] = 99


class TestCopies:
    @pytest.mark.parametrize("name", ALGORITHMS)
    def test_of_algorithms(self, name: str) -> None:
        record = ALGORITHMS[name]
        assert pickle.loads(pickle.dumps(record)) == record
        assert copy.deepcopy(record) == record

    @pytest.mark.parametrize("name", ["kuhn", "histories:kuhn", "suited", "blocks", "lazy"])
    def test_of_games_stay_read_only(self, name: str) -> None:
        game = compiled(name)
        for twin in (pickle.loads(pickle.dumps(game)), copy.deepcopy(game)):
            assert twin.digest == game.digest
            assert list(twin.infoset_labels) == list(game.infoset_labels)
            assert not any(array.flags.writeable for array in twin.arrays().values())

    def test_of_solutions(self) -> None:
        solution = solve(KUHN, DCFR, iters=20)
        twin = pickle.loads(pickle.dumps(solution))
        assert twin.evaluation == solution.evaluation
        assert solve(twin.game, start=twin, iters=5).iterations == 25

    def test_of_errors(self) -> None:
        for error in (MemoryLimitError("this", 2, 1), MissingExtraError("scipy", "lp")):
            assert str(pickle.loads(pickle.dumps(error))) == str(error)

    def test_the_digest_sees_every_label(self) -> None:
        other = replace(KUHN, outcome_labels=("x", "y", "z"))
        assert other.digest != KUHN.digest


def test_a_rule_that_is_defined_again_is_the_same() -> None:
    def define() -> LocalRule:
        def step(regret, instant, parameters):  # type: ignore[no-untyped-def]
            return regret + instant, regret

        return LocalRule("again", step, at=lambda t, a: (a * t,), parameter_names=("a",))

    assert define() == define()
    assert hash(define()) == hash(define())
    assert define() != CFR.rule


def test_functions_are_not_lost_in_saving(tmp_path: Any) -> None:
    solution = solve(KUHN, DCFR(alpha=lambda t: 1 + 0 * t), iters=5)
    with pytest.raises(ValueError, match="parameter 'alpha' of dcfr is a function"):
        solution.save(tmp_path / "s")


def undefined(regret: float, instant: float, parameters: tuple[float, ...]) -> tuple[float, float]:
    return regret + nowhere, instant  # type: ignore[name-defined] # noqa: F821


def without_preference(regret: float, instant: float, parameters: tuple[float, ...]) -> float:
    return regret + instant


def with_text(regret: float, instant: float, parameters: tuple[float, ...]) -> tuple[str, float]:
    return "much", instant


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            undefined,
            r"rule 'bad' cannot be compiled: NameError: name 'nowhere' is not defined, at ",
        ),
        (
            without_preference,
            r"must return \(regret, preference\), numbers, and returns float64, at ",
        ),
        (with_text, r"must return \(regret, preference\), numbers, and returns Tuple"),
    ],
)
def test_a_mistake_in_a_rule_is_told_in_one_line(step: Any, message: str) -> None:
    rule = Algorithm("bad", LocalRule("bad", step), formula="", source="")
    with pytest.raises(ValueError, match=message) as raised:
        solve(compile_game("kuhn"), rule, iters=1)
    assert len(str(raised.value).splitlines()) == 1
    assert f"{__file__}:" in str(raised.value)
