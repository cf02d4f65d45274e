"""Solves whose average is switched off: every number is that of the last iterate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.layouts import farthest
from tensorcfr import SampledSolver, Solution, Solver, compile_game, evaluate, solve
from tensorcfr.algorithms import (
    CFR,
    CFR_D,
    CFR_PLUS,
    CHANCE_SAMPLING,
    EXTERNAL_SAMPLING,
    OUTCOME_SAMPLING,
    Sampling,
)
from tensorcfr.analysis import values
from tensorcfr.solvers import Status

OFF = CFR_PLUS(delay=10**9)
GAMES: dict[str, Any] = {
    "flat": lambda: compile_game("kuhn"),
    "merged": lambda: compile_game("nl_leduc(stack=2)", cut=False),
    "chunked": lambda: compile_game("nl_leduc(stack=2)", cut=1),
}


@pytest.mark.parametrize("name", GAMES)
def test_all_figures_follow_the_last_iterate(name: str, tmp_path: Path) -> None:
    game = GAMES[name]()
    solution = solve(game, OFF, iters=60, checkpoints=[1, 30, 60])
    assert not solution.has_average
    assert farthest(solution.policy, solution.last_policy) <= 1e-15
    last = evaluate(game, solution.last_policy)
    assert solution.value == pytest.approx(last.values, abs=1e-12)
    assert solution.exploitability == pytest.approx(last.exploitability, abs=1e-12)
    assert values(game, solution.policy).evaluation.values == pytest.approx(last.values, abs=1e-12)
    curve = [point.exploitability for point in solution.trace]
    assert curve[-1] == solution.exploitability < 0.5 * curve[0]
    for point in solution.trace:
        solver = Solver(game, OFF)
        solver.iterate(point.iteration)
        assert point.exploitability == solver.evaluate_current().exploitability
        assert solver.evaluate() == solver.evaluate_current()
    assert "of the last iterate: no iteration is in the average" in solution.summary()
    other = Solution.load(solution.save(tmp_path / "off.npz"), game=game)
    assert other.policy.to_dict() == solution.policy.to_dict()
    assert other.evaluation == solution.evaluation
    # The regrets, and so the last iterate, are those of a solve that averages.
    whole = solve(game, CFR_PLUS, iters=60, checkpoints=())
    assert whole.has_average
    assert "last iterate" not in whole.summary()
    assert whole.last_policy.to_dict() == solution.last_policy.to_dict()


@pytest.mark.parametrize("cut", [False, 1])
def test_decomposed_solvers_follow_the_last_iterate(cut: bool | int) -> None:
    game = compile_game("nl_leduc(stack=2)", cut=cut)
    record = CFR_D(variant=OFF(alternating=False), subgame_iterations=20, resolve_iterations=50)
    solution = solve(game, record, iters=12, checkpoints=[4, 12])
    assert not solution.has_average
    last = evaluate(game, solution.last_policy)
    assert farthest(solution.policy, solution.last_policy) <= 1e-12
    assert solution.value == pytest.approx(last.values, abs=1e-12)
    assert solution.exploitability == pytest.approx(last.exploitability, abs=1e-12)
    curve = [point.exploitability for point in solution.trace]
    assert curve[-1] == solution.exploitability
    assert curve[0] != curve[-1]
    late = record(variant=OFF(alternating=False, delay=11))
    assert solve(game, late, iters=12, checkpoints=()).has_average


@pytest.mark.parametrize(
    "record", [EXTERNAL_SAMPLING, OUTCOME_SAMPLING, CHANCE_SAMPLING], ids=lambda one: one.name
)
def test_sampled_solvers_follow_the_last_iterate(record: Sampling, tmp_path: Path) -> None:
    solution = solve(compile_game("kuhn"), record(delay=10**9), iters=300, seed=1)
    assert not solution.has_average
    assert solution.policy.to_dict() == solution.last_policy.to_dict()
    last = evaluate(solution.game, solution.last_policy)
    assert solution.value == pytest.approx(last.values, abs=1e-12)
    assert "of the last iterate: no iteration is in the average" in solution.summary()
    other = Solution.load(solution.save(tmp_path / "off.npz"))
    assert other.policy.to_dict() == solution.policy.to_dict()
    assert solve(compile_game("kuhn"), record(delay=299), iters=300, seed=1).has_average


def test_sampling_rules_follows_the_last_iterate() -> None:
    solver = SampledSolver("kuhn", EXTERNAL_SAMPLING(delay=10**9), seed=1)
    solver.iterate(300)
    last = solver.current_policy().to_dict()
    assert solver.average_policy().to_dict() == last
    assert solver.policy_of(solver.problem, solver.state).to_dict() == last
    assert last["K"]["bet"] != 0.5


def test_a_target_is_that_of_the_last_iterate() -> None:
    solution = solve(compile_game("kuhn"), OFF, target=0.02, iters=5000, checkpoints=1)
    assert solution.status is Status.TARGET
    assert solution.exploitability <= 0.02
    assert evaluate(solution.game, solution.last_policy).exploitability <= 0.02


def test_the_average_takes_over_when_it_begins() -> None:
    game = compile_game("kuhn")
    before, after = (solve(game, CFR(delay=5), iters=iters) for iters in (5, 6))
    assert (before.has_average, after.has_average) == (False, True)
    # Iteration 6, the first in the average, plays the last iterate of iteration 5.
    first, second = before.policy.to_dict(), after.policy.to_dict()
    reached = [label for label, sums in after.sums.items() if sum(sums.strategy.values()) > 0]
    assert len(reached) > 6
    for label in reached:
        assert second[label] == pytest.approx(first[label], abs=1e-12)


def test_the_best_is_called_the_last_iterate() -> None:
    solution = solve(compile_game("kuhn"), OFF, iters=40, checkpoints=5, keep_best=True)
    assert solution.best.kind == "last"


def test_a_policy_of_the_last_iterate_is_detached_from_the_solver() -> None:
    solver = Solver(compile_game("nl_leduc(stack=2)", cut=1), OFF)
    solver.iterate(3)
    policy = solver.average_policy()
    kept = solver.current_policy().to_dict()
    solver.iterate(3)
    assert policy.to_dict() == kept


def test_the_floor_of_the_last_iterate_is_kept() -> None:
    """Strategies that are mixed with the uniform one are so in the policy and its values, too."""
    game = compile_game("nl_leduc(stack=2)", cut=1)
    solution = solve(game, CFR(delay=10**9, floor=0.5), iters=5)
    assert farthest(solution.policy, solution.last_policy) <= 1e-15
    assert min(min(row.values()) for row in solution.policy.to_dict().values()) > 0.0
    expected = evaluate(game, solution.last_policy).values
    assert solution.value == pytest.approx(expected, abs=1e-12)
    assert values(game, solution.policy).evaluation.values == pytest.approx(expected, abs=1e-12)
