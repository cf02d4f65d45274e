"""Warm starts: what a solver begins with, and what it does then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.equality import Multiplied, as_game, built, difference
from support.layouts import numbers_of
from support.products import naive_product
from support.reference import ReferenceCFR
from tensorcfr import Policy, Solution, Solver, compile_game, evaluate, solve
from tensorcfr.algorithms import CFR_PLUS
from tensorcfr.games import make_game
from tensorcfr.solvers.problem import Problem
from tensorcfr.solvers.warm_start import regrets_for, warm_state

OTHERS = ("cfr", "cfr+", "lcfr", "dcfr", "dcfr+", "pcfr+", "pdcfr+")


def random_policy(game: Any, seed: int = 0) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    return {
        label: dict(zip(actions, rng.dirichlet(np.ones(len(actions))).tolist(), strict=True))
        for label, actions in zip(game.infoset_labels, game.infoset_actions, strict=True)
    }


@pytest.mark.parametrize("algorithm", OTHERS)
def test_begins_with_the_strategies(algorithm: str) -> None:
    game = compile_game("kuhn")
    policy = random_policy(game)
    solver = Solver(game, algorithm, state=warm_state(game, algorithm, policy))
    first = solver.current_policy()
    for label, probabilities in policy.items():
        assert first[label] == pytest.approx(probabilities, abs=1e-15)
    # The average begins empty: after one iteration it is what that iteration played.
    assert not solver.state.cumulative.any()
    solver.iterate()
    for label in ("J", "Q", "K"):
        assert solver.average_policy()[label] == pytest.approx(policy[label], abs=1e-12)


@pytest.mark.parametrize("iterations", [1.0, 100.0])
def test_regret_matching_makes_them(iterations: float) -> None:
    game = compile_game("goofspiel(cards=4)", symmetry=False)
    policy = Policy.from_mapping(game, random_policy(game, 1))
    strategy = policy.probabilities.copy()
    regret = regrets_for(game.chunks, strategy, iterations)
    np.testing.assert_allclose(strategy, policy.probabilities, rtol=1e-15)
    values = counterfactual_values(game, policy)
    for infoset, label in enumerate(game.infoset_labels):
        own = game.sequences(infoset)
        assert (regret[own] >= 0).all()
        bound = iterations * len(regret[own]) * np.abs(values[own]).max() ** 2
        assert np.square(regret[own]).sum() == pytest.approx(bound, rel=1e-12)
        if bound > 0:
            np.testing.assert_allclose(
                regret[own] / regret[own].sum(), list(policy[label].values()), atol=1e-15
            )


def counterfactual_values(game: Any, policy: Policy) -> np.ndarray:
    """Of every sequence, by NumPy."""
    form, sigma = game.form, policy.probabilities
    reach = np.ones(game.n_sequences)
    for infoset in range(game.n_infosets):
        own = game.sequences(infoset)
        reach[own] = reach[form.infoset_parent[infoset]] * sigma[own]
    found = np.zeros(game.n_sequences)
    for player in range(game.n_players):
        q = naive_product(game, player, reach)
        first, end = form.player_infosets[player : player + 2]
        for infoset in reversed(range(first, end)):
            own = game.sequences(infoset)
            q[form.infoset_parent[infoset]] += float(sigma[own] @ q[own])
        own = slice(*form.player_sequences[player : player + 2])
        found[own] = q[own]
    return found


@pytest.mark.parametrize("alternating", [True, False])
def test_equal_to_the_reference_from_there(alternating: bool) -> None:
    """With the same regrets and strategies, the twin takes the same way, to 1e-12."""
    game, tree = built("kuhn, 5 cards, perturbed")
    record = CFR_PLUS(alternating=alternating)
    policy = random_policy(game, 2)
    state = warm_state(game, record, policy)
    to = Problem(game, record).merged_numbers
    regret = state.regret if to is None else state.regret[to]
    assert len(state.regret) == game.n_sequences
    solver = Solver(game, record, state=state)
    twin = ReferenceCFR(tree, regret_matching_plus=True, average_power=1, alternating=alternating)
    for infoset, label in enumerate(game.infoset_labels):
        twin.regrets[label] = regret[game.sequences(infoset)].tolist()
        twin.strategy[label] = list(policy[label].values())
    for _ in range(50):
        solver.iterate()
        twin.iterate()
        assert difference(solver.average_policy(), twin.average_policy())[0] <= 1e-12


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_from_regrets_is_the_same_way(name: str) -> None:
    """Plain CFR knows no time: what is lost is the average alone."""
    game = compile_game(name)
    begun = solve(game, "cfr", iters=20)
    warm, whole = solve(game, "cfr", iters=15, warm_start=begun), Solver(game, "cfr")
    whole.iterate(20)
    before = whole.state.cumulative.copy()
    whole.iterate(15)
    np.testing.assert_array_equal(warm.state.regret, whole.state.regret)
    np.testing.assert_array_equal(warm.state.strategy, whole.state.strategy)
    np.testing.assert_allclose(
        warm.state.cumulative, whole.state.cumulative - before, rtol=0, atol=1e-10
    )
    assert warm.iterations == 15


def test_merged_or_not() -> None:
    """An infoset that stands for several has the sum of their regrets."""
    merged, whole = compile_game("leduc"), compile_game("leduc", symmetry=False)
    for first, second in ((merged, whole), (whole, merged)):
        begun = solve(first, "cfr", iters=5)
        state = warm_state(second, "cfr", begun)
        straight = solve(second, "cfr", iters=5).state
        np.testing.assert_allclose(state.strategy, straight.strategy, rtol=0, atol=1e-9)
        if second is merged:
            np.testing.assert_allclose(state.regret, straight.regret, rtol=0, atol=1e-9)
        else:
            total = np.bincount(merged.merged.sequence, weights=state.regret)
            np.testing.assert_allclose(total, begun.state.regret, rtol=0, atol=1e-9)


@pytest.mark.parametrize("cut", [True, False], ids=["chunks to flat", "flat to chunks"])
def test_merged_in_chunks_or_not(cut: bool) -> None:
    """The same between a game whose chunks merge hands and the game laid out, by label."""
    merged, whole = compile_game("leduc", cut=2), compile_game("leduc", symmetry=False)
    assert merged.merges_hands
    first, second = (merged, whole) if cut else (whole, merged)
    given = solve(first, "cfr", iters=4)
    begun, straight = given.state, solve(second, "cfr", iters=4).state
    state = warm_state(second, "cfr", given)
    to, own = numbers_of(merged, whole), np.ones(merged.n_numbers, dtype=bool)
    own[merged.chunks.trunk.player_sequences[:-1]] = False
    used = np.bincount(to, minlength=merged.n_numbers) > 0
    if second is merged:
        np.testing.assert_allclose(
            state.regret[used & own], straight.regret[used & own], rtol=0, atol=1e-9
        )
    else:
        total = np.bincount(to, weights=state.regret, minlength=merged.n_numbers)
        np.testing.assert_allclose(total[used & own], begun.regret[used & own], rtol=0, atol=1e-9)
        members = np.bincount(to, minlength=merged.n_numbers)
        shared = state.regret - (total / np.maximum(members, 1))[to]
        np.testing.assert_allclose(shared[own[to]], 0.0, rtol=0, atol=1e-9)


@pytest.mark.compiled
@pytest.mark.parametrize("first", [*OTHERS, "hedge", "external_sampling", "lp"])
def test_any_algorithm_to_any_other(first: str) -> None:
    game = compile_game("kuhn(cards=4)")
    begun = solve(game, first, **({} if first == "lp" else {"iters": 200}))
    # Large regrets of poor strategies take plain sums as long to forget as they took to grow.
    enough = {"hedge": 0.1, "external_sampling": 0.3}.get(first, 0.02)
    for second in OTHERS:
        done = solve(game, second, iters=200, warm_start=begun)
        assert done.exploitability < enough, second


def test_regrets_are_in_the_unit_of_the_game() -> None:
    """Payoffs times 2**50 make regrets times 2**50; the arrays count them in another unit."""
    rules = as_game(make_game("kuhn"))
    plain, large = (compile_game(Multiplied(rules, factor)) for factor in (1.0, 2.0**50))
    begun = solve(plain, "cfr", iters=5)
    state = warm_state(large, "cfr", begun)
    np.testing.assert_array_equal(state.regret * large.unit, begun.state.regret * plain.unit)


def test_saved_and_resumed(tmp_path: Any) -> None:
    game = compile_game("kuhn")
    begun = random_policy(game)
    whole = solve(game, "pcfr+", iters=30, warm_start=begun)
    part = Solution.load(solve(game, "pcfr+", iters=10, warm_start=begun).save(tmp_path / "a"))
    rest = solve(part.game, start=part, iters=20)
    np.testing.assert_array_equal(whole.policy.probabilities, rest.policy.probabilities)


@pytest.mark.parametrize("to", [{"cut": 10**9}, {"cut": 1}, {"symmetry": False}, {}])
def test_saved_after_a_start_from_another_game(to: dict[str, Any], tmp_path: Any) -> None:
    source = solve(compile_game("leduc", symmetry=not to), "cfr", iters=3)
    game = compile_game("leduc", **to)
    for algorithm in ("cfr", "cfr+"):
        solution = solve(game, algorithm, warm_start=source, iters=2)
        again = Solution.load(solution.save(tmp_path / "s.npz", force=True), game=game)
        assert again.exploitability == solution.exploitability


def test_with_locks(interpreted: None) -> None:
    game = compile_game("kuhn")
    locks = {"J": {"bet": 1.0}, "K": {"bet": 0.25}}
    for given in (random_policy(game), solve(game, iters=100)):
        done = solve(game, "pcfr+", iters=500, warm_start=given, locks=locks)
        assert done.policy["J"]["bet"] == 1
        assert evaluate(game, done.policy, locks=locks).exploitability < 1e-4


def test_values_are_those_of_strategies_that_play_the_locks() -> None:
    game = compile_game("kuhn")
    locks = {"J": {"bet": 1.0}, "Kb": {"bet": 0.25}}
    given = random_policy(game)
    playing = given | {"J": {"pass": 0.0, "bet": 1.0}, "Kb": {"pass": 0.75, "bet": 0.25}}
    one, other = (warm_state(game, "cfr", policy, locks=locks) for policy in (given, playing))
    np.testing.assert_array_equal(one.regret, other.regret)


def test_single_precision(interpreted: None) -> None:
    game = compile_game("kuhn")
    begun = solve(game, iters=100, precision="float32")
    for precision in ("float32", "float64"):
        done = solve(game, iters=10, warm_start=begun, precision=precision)
        assert done.state.regret.dtype == precision


def test_refusals() -> None:
    game = compile_game("kuhn")
    policy = random_policy(game)
    another = solve(compile_game("kuhn(cards=4)"), iters=1)
    with pytest.raises(ValueError, match=r"infosets and actions, and those of kuhn.cards=4."):
        solve(game, iters=1, warm_start=another)
    with pytest.raises(ValueError, match="exponential weights does not match regrets"):
        solve(game, "hedge", iters=1, warm_start=policy)
    with pytest.raises(ValueError, match="warm_iterations must be a number above 0, not 0"):
        solve(game, iters=1, warm_start=policy, warm_iterations=0)
    with pytest.raises(ValueError, match="has no probabilities for infoset"):
        solve(game, iters=1, warm_start={"K": {"bet": 1}})
