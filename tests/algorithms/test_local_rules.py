"""Rules of one's own, and what rules may do beyond a step: remember, exponentiate."""

from __future__ import annotations

import math
from itertools import islice
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
    EXTERNAL_SAMPLING,
    LP,
    Deep,
    from_dict,
)
from tensorcfr.algorithms.records import SCHEDULE_ROWS

# A twin passes over the sequences of the game.
GAMES = {
    name: compile_game(name, symmetry=False)
    for name in ("kuhn(cards=4)", "kuhn(players=3)", "goofspiel(cards=3)")
} | {f"random {seed}": compile_game(random_game(seed, n_players=2 + seed % 2)) for seed in (3, 4)}


@pytest.mark.parametrize("name", GAMES)
@each_twin
def test_equals_its_twin(name: str, algorithm: Algorithm, twin: type[Twin]) -> None:
    solver, slow = Solver(GAMES[name], algorithm), twin(GAMES[name])
    for _ in range(12):
        solver.iterate()
        slow.iterate()
        np.testing.assert_allclose(solver.state.strategy, slow.strategy, rtol=0, atol=1e-9)
        np.testing.assert_allclose(solver.state.regret, slow.regret, rtol=0, atol=1e-9)


def test_a_rule_of_one_s_own_is_as_good_as_ours(interpreted: None) -> None:
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
    np.testing.assert_array_equal(whole.state.memory, rest.state.memory)
    np.testing.assert_array_equal(whole.policy.probabilities, rest.policy.probabilities)


def test_an_unknown_algorithm_is_not_read_as_another(tmp_path: Any) -> None:
    game = GAMES["kuhn(cards=4)"]
    path = solve(game, REMEMBERING, iters=5).save(tmp_path / "mine")
    with pytest.raises(ValueError, match=r"no algorithm 'remembering'.*register\(\) an algorithm"):
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
        assert spans == [(1, 3), (0, 12), (0, 48), (0, 36)]
        restarts = [next(DCFR_POSTFLOP.runs(t, 1)) for t in range(1, 100)]
        assert [t for t, (factor, _) in enumerate(restarts, 1) if not factor] == [4, 16, 64]
        assert list(DCFR_POSTFLOP.runs(4, 1)) == [(0, 1)]
        assert list(CFR.runs(7, 5)) == [(1, 5)]
        assert list(DCFR_POSTFLOP.runs(4, 0)) == []

    def test_runs_begin_at_powers_and_have_a_table_each(self) -> None:
        assert list(DCFR_POSTFLOP.runs(3, 14)) == [(1, 1), (0, 12), (0, 1)]
        assert list(DCFR_POSTFLOP.runs(5, 11)) == [(1, 11)]
        long = list(DCFR_POSTFLOP.runs(4**8, SCHEDULE_ROWS + 7))
        assert long == [(0, SCHEDULE_ROWS), (1, 7)]
        assert list(CFR.runs(7, 0)) == []

    def test_the_average_holds_what_came_since(self) -> None:
        game = GAMES["kuhn(cards=4)"]
        restarted, plain = Solver(game, DCFR(restart_base=4)), Solver(game, DCFR)
        plain.iterate(15)
        before = plain.state.cumulative.copy()
        plain.iterate(5)
        restarted.iterate(7)
        restarted.iterate(13)
        np.testing.assert_array_equal(restarted.state.regret, plain.state.regret)
        np.testing.assert_allclose(
            restarted.state.cumulative, plain.state.cumulative - before, rtol=1e-12
        )

    def test_no_step_restarts_nothing(self) -> None:
        solver = Solver(GAMES["kuhn(cards=4)"], DCFR(restart_base=4))
        solver.iterate(3)
        before = solver.state.cumulative.copy()
        solver.iterate(0)
        np.testing.assert_array_equal(solver.state.cumulative, before)

    def test_units_of_weights_that_grow(self) -> None:
        record = CFR_PLUS(average_growth=2.0**24, delay=2, restart_base=7)
        # Exponents of the growth: 0, 0, 24, 48, 72, 96, (120), 144, ...; a unit has 64 bits.
        assert list(record.runs(1, 9)) == [(1, 4), (2.0**-64, 2), (0, 1), (2.0**-64, 2)]
        for first, count in ((1, 4), (5, 2), (7, 1), (8, 2)):
            t = np.arange(first, first + count + 1)
            exact = [2 ** (24 * (n - 2)) * (n - 2) if n > 2 else 0 for n in t.tolist()]
            unit = 2 ** (max(24 * (first - 2), 0) // 64 * 64)
            found = record.weights(t.astype(np.float64))
            np.testing.assert_allclose(found, [weight / unit for weight in exact], rtol=1e-12)

    @pytest.mark.parametrize("growth", [1.0 + 2**-40, 1.001, 2.0, 1e300])
    def test_runs_end_where_a_unit_does(self, growth: float) -> None:
        record = CFR(average_growth=growth, delay=3)
        begun, unit = 1, 0.0
        for factor, count in islice(record.runs(1, 10**6), 40):
            exponent = math.log2(growth) * max(begun - 3, 0) // 64 * 64
            assert factor == 2.0 ** (unit - exponent)
            begun, unit = begun + count, exponent

    def test_the_average_of_weights_that_double(self) -> None:
        """Of ten thousand iterations, only the last sixty count."""
        solver = Solver(GAMES["kuhn(cards=4)"], CFR(average_growth=2.0))
        solver.iterate(10_000)
        expected = np.zeros_like(solver.state.reach)
        for _ in range(60):
            expected = expected / 2.0 + solver.state.reach
            solver.iterate()
        found = solver.state.cumulative
        assert found[0] < 2.0**65
        np.testing.assert_allclose(found / found[0], expected / expected[0], rtol=0, atol=1e-12)

    def test_refusal(self) -> None:
        with pytest.raises(ValueError, match=r"average_growth must be a number >= 1, not 0\.5"):
            DCFR(average_growth=0.5)
        with pytest.raises(ValueError, match="average_growth needs passes over the whole game"):
            EXTERNAL_SAMPLING(variant=CFR(average_growth=2))
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
