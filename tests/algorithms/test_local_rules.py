"""Rules of one's own, and what rules may do beyond a step: remember, exponentiate, forecast."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.random_games import random_game
from support.rule_twins import REMEMBERING, Twin, each_twin
from support.sampled_solves import SEEN
from support.tiers import tiered
from support.variants import CLASSIC
from tensorcfr import (
    ALGORITHMS,
    Algorithm,
    LocalRule,
    Solution,
    Solver,
    compile_game,
    register,
    solve,
)
from tensorcfr.algorithms import (
    CFR,
    CFR_D,
    CFR_PLUS,
    DCFR,
    DCFR_POSTFLOP,
    LP,
    Deep,
    from_dict,
)
from tensorcfr.algorithms.records import SCHEDULE_ROWS

GAMES = {
    name: compile_game(name) for name in ("kuhn(cards=4)", "kuhn(players=3)", "goofspiel(cards=3)")
} | {f"random {seed}": compile_game(random_game(seed, n_players=2 + seed % 2)) for seed in (3, 4)}


@pytest.mark.parametrize("name", GAMES)
@each_twin
def test_equals_its_twin(name: str, algorithm: Algorithm, twin: type[Twin]) -> None:
    solver, slow = Solver(GAMES[name], algorithm), twin(GAMES[name])
    for _ in range(12):
        solver.step()
        slow.iterate()
        np.testing.assert_allclose(solver.state.strategy, slow.strategy, rtol=0, atol=1e-9)
        np.testing.assert_allclose(solver.state.regret, slow.regret, rtol=0, atol=1e-9)


def test_a_rule_of_one_s_own_is_as_good_as_ours() -> None:
    """CFR+ written again is the same bits: built-in rules have no other door."""

    def step(regret, instant, parameters):  # type: ignore[no-untyped-def]
        regret = max(regret + instant, 0.0)
        return regret, regret

    mine = Algorithm("mine", LocalRule("mine", step), "", "", average_power=1.0)
    game = GAMES["kuhn(cards=4)"]
    one, other = solve(game, mine, iters=50), solve(game, CFR_PLUS, iters=50)
    np.testing.assert_array_equal(one.policy.probabilities, other.policy.probabilities)


def test_saved_and_resumed(registry: None, tmp_path: Any) -> None:
    register(REMEMBERING)
    game = GAMES["kuhn(cards=4)"]
    whole = solve(game, "remembering", iters=40)
    part = Solution.load(solve(game, "remembering", iters=15).save(tmp_path / "part"))
    rest = solve(part.game, start=part, iters=25)
    assert whole.state is not None
    assert rest.state is not None
    np.testing.assert_array_equal(whole.state.memory, rest.state.memory)
    np.testing.assert_array_equal(whole.policy.probabilities, rest.policy.probabilities)


def test_an_unknown_algorithm_is_not_read_as_another(tmp_path: Any) -> None:
    game = GAMES["kuhn(cards=4)"]
    path = solve(game, REMEMBERING, iters=5).save(tmp_path / "mine")
    with pytest.raises(ValueError, match=r"no algorithm 'remembering'.* must be registered"):
        Solution.load(path)
    impostor = Algorithm("cfr", REMEMBERING.rule, "", "")
    path = solve(game, impostor, iters=5).save(tmp_path / "impostor")
    with pytest.raises(ValueError, match="cfr was written with the rule 'remembering'"):
        Solution.load(path)


def test_published_names_are_taken(registry: None) -> None:
    register(REMEMBERING)
    register(REMEMBERING(average_power=1))
    assert ALGORITHMS["remembering"] == REMEMBERING(average_power=1)
    with pytest.raises(ValueError, match="the name 'cfr' belongs to a published algorithm"):
        register(Algorithm("cfr", REMEMBERING.rule, "", ""))


class TestSchedules:
    def test_a_function_of_t(self) -> None:
        record = DCFR(alpha=lambda t: 1.0 + 1.0 / t)
        third = 2.0 ** (1 + 1 / 3)
        np.testing.assert_allclose(record.schedule(3, 1), [[9.0, third / (third + 1), 0.5]])
        assert "alpha=f(t)" in str(record)
        solution = solve(GAMES["kuhn(cards=4)"], record, iters=300)
        assert solution.exploitability < 0.01

    def test_a_constant_function_is_the_constant(self) -> None:
        game = GAMES["kuhn(cards=4)"]
        one = solve(game, DCFR(alpha=lambda t: np.full(len(t), 1.5)), iters=50)
        other = solve(game, DCFR, iters=50)
        np.testing.assert_array_equal(one.policy.probabilities, other.policy.probabilities)

    def test_read_back_from_the_registered_record(self, registry: None) -> None:
        scheduled = Algorithm(
            "scheduled",
            DCFR.rule,
            "",
            "",
            parameters={"alpha": lambda t: 1.5 + 0 * t, "beta": 0.5},
        )
        register(scheduled)
        assert from_dict(scheduled.to_dict()) == scheduled


class TestRestarts:
    def test_at_powers(self) -> None:
        spans = list(DCFR_POSTFLOP.runs(1, 99))
        assert spans == [(False, 3), (True, 12), (True, 48), (True, 36)]
        restarts = [next(DCFR_POSTFLOP.runs(t, 1)) for t in range(1, 100)]
        assert [t for t, (is_one, _) in enumerate(restarts, 1) if is_one] == [4, 16, 64]
        assert list(DCFR_POSTFLOP.runs(4, 1)) == [(True, 1)]
        assert list(CFR.runs(7, 5)) == [(False, 5)]
        assert list(DCFR_POSTFLOP.runs(4, 0)) == []

    def test_runs_begin_at_powers_and_have_a_table_each(self) -> None:
        assert list(DCFR_POSTFLOP.runs(3, 14)) == [(False, 1), (True, 12), (True, 1)]
        assert list(DCFR_POSTFLOP.runs(5, 11)) == [(False, 11)]
        long = list(DCFR_POSTFLOP.runs(4**8, SCHEDULE_ROWS + 7))
        assert long == [(True, SCHEDULE_ROWS), (False, 7)]
        assert list(CFR.runs(7, 0)) == []

    def test_the_average_holds_what_came_since(self) -> None:
        game = GAMES["kuhn(cards=4)"]
        restarted, plain = Solver(game, DCFR(restart_base=4)), Solver(game, DCFR)
        plain.step(15)
        before = plain.state.cumulative.copy()
        plain.step(5)
        restarted.step(7)
        restarted.step(13)
        np.testing.assert_array_equal(restarted.state.regret, plain.state.regret)
        np.testing.assert_allclose(
            restarted.state.cumulative, plain.state.cumulative - before, rtol=1e-12
        )

    def test_no_step_restarts_nothing(self) -> None:
        solver = Solver(GAMES["kuhn(cards=4)"], DCFR(restart_base=4))
        solver.step(3)
        before = solver.state.cumulative.copy()
        solver.step(0)
        np.testing.assert_array_equal(solver.state.cumulative, before)

    def test_refusal(self) -> None:
        with pytest.raises(ValueError, match="restart_base must be 0 or at least 2, not 1"):
            DCFR(restart_base=1)


ITERATED = [
    name
    for name, record in ALGORITHMS.items()
    if record not in (LP, CFR_D) and not isinstance(record, Deep)
]
SEEN_BEFORE = [n for n in ITERATED if n in (*CLASSIC, *SEEN)]


@pytest.mark.parametrize("name", tiered(ITERATED, SEEN_BEFORE))
def test_every_name_solves(name: str) -> None:
    assert solve(GAMES["kuhn(cards=4)"], name, iters=200).exploitability < 0.2
