"""The best strategy that a solve looked at, and the last iterates beside the averages."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from support.tiers import tiered
from tensorcfr import Solution, compile_game, evaluate, solve
from tensorcfr.algorithms import CFR, CFR_PLUS
from tensorcfr.evaluation import Evaluation

KUHN = compile_game("kuhn")
LEDUC = compile_game("leduc")
ALGORITHMS = ("cfr", "cfr+", "pdcfr+", "dcfr", "hedge", "external_sampling")


def assert_equal(found: Evaluation, expected: Evaluation) -> None:
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.best_responses, expected.best_responses, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("algorithm", "name"),
    tiered(
        product(ALGORITHMS, ["kuhn", "leduc", "kuhn(players=3)"]),
        [*product(ALGORITHMS, ["kuhn"]), ("cfr+", "leduc"), ("pdcfr+", "kuhn(players=3)")],
    ),
)
def test_it_is_the_least_exploitable_of_all(name: str, algorithm: str) -> None:
    game, marks = compile_game(name), [1, 2, 3, 7, 20, 60]
    solution = solve(game, algorithm, iters=60, checkpoints=marks, keep_best=True)
    assert solution.best is not None
    found = []
    for mark, point in zip(marks, solution.trace, strict=True):
        until = solve(game, algorithm, iters=mark, checkpoints=[mark])
        last = evaluate(game, until.last_policy)
        assert point.nash_conv == pytest.approx(until.nash_conv, abs=1e-12)
        assert point.last_nash_conv == pytest.approx(last.nash_conv, abs=1e-12)
        assert point.last_exploitability == pytest.approx(last.exploitability, abs=1e-12)
        found += [
            (until.exploitability, mark, "average", until.policy),
            (last.exploitability, mark, "last", until.last_policy),
        ]
    exploitability, mark, kind, policy = min(found, key=lambda each: each[0])
    best = solution.best
    assert (best.iteration, best.kind) == (mark, kind)
    assert best.exploitability == best.nash_conv / game.n_players
    assert best.exploitability == pytest.approx(exploitability, abs=1e-12)
    np.testing.assert_array_equal(best.policy.probabilities, policy.probabilities)
    assert_equal(best.evaluation, evaluate(game, best.policy))
    assert f"best {best.exploitability:.6g}, " in solution.summary()


@pytest.mark.parametrize("locks", [None, pytest.param({"K": {"bet": 0.5}}, marks=pytest.mark.full)])
def test_in_single_precision_it_is_what_its_strategies_are_worth(
    locks: Any, interpreted: None
) -> None:
    """Rounded strategies do not sum to 1, by which the least exploitable of many would profit."""
    best = solve(KUHN, "pdcfr+", iters=100, precision="float32", keep_best=True, locks=locks).best
    assert best.evaluation == evaluate(KUHN, best.policy, locks=locks)


@pytest.mark.parametrize("iters", [0, 3])
def test_what_was_there_before_competes(iters: int) -> None:
    start = solve(KUHN, "pcfr+", iters=500)
    best = solve(KUHN, start=start, iters=iters, keep_best=True).best
    last = evaluate(KUHN, start.last_policy).exploitability
    assert best.exploitability <= min(start.exploitability, last) + 1e-15


def test_a_last_iterate_may_be_the_best() -> None:
    """Predictive CFR+ comes to an equilibrium of Kuhn poker with its strategies themselves."""
    best = solve(KUHN, "pcfr+", iters=1000, keep_best=True).best
    assert (best.kind, str(best)) == ("last", f"last iterate of iteration {best.iteration:,}")


def test_it_stays_when_things_get_worse() -> None:
    solution = solve(KUHN, CFR(restart_base=2), iters=2048, keep_best=True)
    assert solution.best.iteration < 2048
    assert solution.best.exploitability < solution.exploitability


def test_nothing_is_kept_unless_asked_for() -> None:
    plain, kept = solve(LEDUC, iters=30), solve(LEDUC, iters=30, keep_best=True)
    assert plain.best is None
    assert all(point.last_nash_conv is None for point in plain.trace)
    assert all(point.last_exploitability is None for point in plain.trace)
    np.testing.assert_array_equal(plain.policy.probabilities, kept.policy.probabilities)


@pytest.mark.parametrize("algorithm", ["pdcfr+", "outcome_sampling"])
def test_goes_on_from_a_file(algorithm: str, tmp_path: Any) -> None:
    options: dict[str, Any] = {"checkpoints": [4, 9, 20, 33], "keep_best": True}
    whole = solve(KUHN, algorithm, iters=33, **options)
    part = solve(KUHN, algorithm, iters=9, **options)
    loaded = Solution.load(part.save(tmp_path / "part"))
    assert loaded.trace == part.trace
    assert (loaded.best.evaluation, str(loaded.best)) == (part.best.evaluation, str(part.best))
    np.testing.assert_array_equal(loaded.best.policy.probabilities, part.best.policy.probabilities)
    rest = solve(loaded.game, start=loaded, iters=24, checkpoints=[4, 9, 20, 33])
    assert (rest.best.evaluation, str(rest.best)) == (whole.best.evaluation, str(whole.best))
    np.testing.assert_array_equal(rest.best.policy.probabilities, whole.best.policy.probabilities)
    ends = [(point.iteration, point.last_nash_conv) for point in whole.trace]
    assert [(point.iteration, point.last_nash_conv) for point in rest.trace] == ends


def test_from_a_solution_without_one() -> None:
    part = solve(KUHN, iters=10)
    rest = solve(KUHN, start=part, iters=10, keep_best=True)
    assert 10 < rest.best.iteration <= 20
    assert rest.trace[: len(part.trace)] == part.trace


def test_with_locks() -> None:
    locks = {"J": {"bet": 1}}
    best = solve(KUHN, "cfr+", iters=100, locks=locks, keep_best=True).best
    assert best.policy["J"] == {"pass": 0.0, "bet": 1.0}
    assert_equal(best.evaluation, evaluate(KUHN, best.policy, locks=locks))


def test_the_summary_says_that_exploitability_has_risen() -> None:
    """The average begins anew in iteration 64."""
    risen = solve(KUHN, CFR_PLUS(restart_base=2), iters=64, checkpoints=[63])
    assert risen.exploitability > 2 * risen.trace[0].exploitability
    assert (
        f"exploitability has risen from {risen.trace[0].exploitability:.6g} at iteration 63; "
        "keep_best=True"
    ) in risen.summary()
    assert "risen" not in solve(KUHN, "cfr+", iters=64, checkpoints=[63]).summary()
