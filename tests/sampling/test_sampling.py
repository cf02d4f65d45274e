"""Monte Carlo CFR: unbiased, counted exactly, the same bits from the same seed, convergent."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from support.equality import GAMES, as_game, built
from support.random_games import random_game
from support.reference import Tree, build_tree, regret_matching
from support.sampled_choices import Traversal, average, chance, external, outcome, robust, samples
from support.sampled_increments import expect_increments, increments, prepared, some_regrets
from support.sampled_solves import EVERYTHING, KUHN, SAMPLED, same
from support.tiers import tiered
from tensorcfr import (
    Algorithm,
    CompiledGame,
    Policy,
    SampledSolver,
    Solution,
    Solver,
    compile_game,
    evaluate,
    solve,
)
from tensorcfr.algorithms import (
    AVERAGE_STRATEGY_SAMPLING,
    CFR,
    CFR_PLUS,
    CHANCE_SAMPLING,
    EXTERNAL_SAMPLING,
    LCFR,
    OUTCOME_SAMPLING,
    ROBUST_SAMPLING,
    WHOLE_TRAVERSAL,
    Sampling,
)
from tensorcfr.games import make_game
from tensorcfr.kernels import random
from tensorcfr.kernels.sampling_plays import follow_plays
from tensorcfr.solvers import Status, sampling_base
from tensorcfr.solvers.traversal import TableLayout, history_traversal

LEDUC = compile_game("leduc")

# -------------------------------------------------------------------------------------- unbiased

RANDOM_GAMES: dict[str, dict[str, Any]] = {
    "random, 2 players": {"seed": 11, "max_histories": 40},
    "random, met several times": {"seed": 27, "max_histories": 40, "chance": 0.3, "max_actions": 3},
    "random, zero-sum": {"seed": 4, "max_histories": 50, "zero_sum": True},
    "random, 3 players": {"seed": 72, "n_players": 3, "max_histories": 40, "max_actions": 3},
    "random, 1 player": {"seed": 5, "n_players": 1, "max_histories": 40, "max_actions": 3},
}
SMALL: tuple[str, ...] = ("kuhn", "kuhn, 3 players", *RANDOM_GAMES)
SMALLEST = ("kuhn", "random, met several times", "random, 3 players")


@cache
def small(name: str) -> tuple[CompiledGame, Tree]:
    if name in RANDOM_GAMES:
        rules: Any = random_game(**RANDOM_GAMES[name])
    else:
        rules = make_game({"kuhn": "kuhn", "kuhn, 3 players": "kuhn(players=3)"}[name])
    return compile_game(rules), build_tree(as_game(rules))


CASES: dict[str, tuple[Sampling, Traversal]] = {
    "chance": (CHANCE_SAMPLING(prune=False), chance(prune=False)),
    "chance, pruned": (CHANCE_SAMPLING, chance(prune=True)),
    "chance, together": (CHANCE_SAMPLING(alternating=False), chance(prune=True)),
    "external": (EXTERNAL_SAMPLING, external),
    "external, stochastic": (EXTERNAL_SAMPLING(averaging="stochastic"), external),
    "outcome": (OUTCOME_SAMPLING, outcome(0.6)),
    "outcome, stochastic": (OUTCOME_SAMPLING(averaging="stochastic"), outcome(0.6)),
    "outcome, epsilon": (OUTCOME_SAMPLING(epsilon=0.1), outcome(0.1)),
    "outcome, baselines": (OUTCOME_SAMPLING(baseline=0.5), outcome(0.6)),
}


@pytest.mark.parametrize("negative", [False, True], ids=["all played", "some not played"])
@pytest.mark.parametrize("name", tiered(SMALL, SMALLEST))
@pytest.mark.parametrize("case", CASES)
def test_expected_increments(case: str, name: str, negative: bool) -> None:
    """The mean over all samples is what CFR adds, for regrets; for averages, up to a constant
    of the infoset that no strategy has a part in."""
    record, traversal = CASES[case]
    game, tree = small(name)
    expect_increments(game, tree, record, traversal, negative=negative)


OWN_DRAWS: dict[str, tuple[Sampling, Traversal]] = {
    "robust": (ROBUST_SAMPLING, robust(1)),
    "robust, stochastic": (ROBUST_SAMPLING(averaging="stochastic", tries=2), robust(2)),
    "average": (
        AVERAGE_STRATEGY_SAMPLING(epsilon=0.2, threshold=1.5, bonus=0.1),
        average(0.2, 1.5, 0.1),
    ),
    "average, stochastic": (
        AVERAGE_STRATEGY_SAMPLING(averaging="stochastic", threshold=0.5, bonus=0.5),
        average(0.05, 0.5, 0.5),
    ),
}


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel runs as Python: for some hundred samples that takes less time than compiling."""
    monkeypatch.setattr(
        sampling_base, "follow_plays", getattr(follow_plays, "py_func", follow_plays)
    )


@pytest.mark.parametrize("case", OWN_DRAWS)
def test_expected_increments_where_own_actions_are_drawn(case: str, interpreted: None) -> None:
    expect_increments(*small("kuhn"), *OWN_DRAWS[case], negative=False)


@pytest.mark.full
@pytest.mark.parametrize("name", SMALLEST)
@pytest.mark.parametrize("case", OWN_DRAWS)
def test_expected_increments_where_own_actions_are_drawn_compiled(case: str, name: str) -> None:
    for negative in (False, True):
        expect_increments(*small(name), *OWN_DRAWS[case], negative=negative)


def test_robust_sampling_of_all_actions_is_external_sampling(interpreted: None) -> None:
    """Without a draw more: the same bits."""
    found, expected = (
        SampledSolver(KUHN, ROBUST_SAMPLING(tries=2)),
        SampledSolver(KUHN, EXTERNAL_SAMPLING),
    )
    for solver in (found, expected):
        solver.iterate(50)
    np.testing.assert_array_equal(found.state.regret, expected.state.regret)
    np.testing.assert_array_equal(found.state.cumulative, expected.state.cumulative)


@pytest.mark.compiled
@pytest.mark.parametrize("averaging", ["simple", "stochastic", "optimistic"])
@pytest.mark.parametrize("scheme", [EXTERNAL_SAMPLING, OUTCOME_SAMPLING], ids=lambda r: r.name)
def test_a_player_alone_learns_an_average(scheme: Sampling, averaging: str) -> None:
    """The average would stay uniform if it waited for another player's traversal."""
    game = small("random, 1 player")[0]
    uniform = evaluate(game, Policy.uniform(game)).exploitability
    solution = solve(game, scheme(averaging=averaging), iters=100_000)
    assert solution.exploitability < 1e-2 * uniform


def test_the_games_above_cover_what_they_are_for() -> None:
    """An infoset that a chance-sampled traversal meets twice, infosets with one action."""
    layouts = {name: TableLayout(small(name)[0], 1) for name in SMALL}
    once = {name: history_traversal(own.game, own).visits_once for name, own in layouts.items()}
    assert once["kuhn"]
    assert once["kuhn, 3 players"]
    assert not once["random, met several times"]
    assert not once["random, 3 players"]
    assert any(
        len(infoset.actions) == 1
        for name in RANDOM_GAMES
        for infoset in small(name)[1].infosets.values()
    )


def test_chance_sampling_meets_an_infoset_as_often_whatever_is_played() -> None:
    """Which makes the average right: its weights do not depend on the strategies."""
    _, tree = small("random, met several times")
    found = []
    for seed in (1, 2):
        row = some_regrets(tree, seed, negative=False)
        strategy = {k: regret_matching(r, r, 0) for k, r in row.items()}
        met = dict.fromkeys(tree.infosets, 0.0)
        for sample in samples(chance(prune=False), tree, strategy, 0):
            for label in sample.met:
                met[label] += sample.probability
        found.append(met)
    assert found[0] == pytest.approx(found[1], abs=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_linear_weighting(name: str) -> None:
    """Iteration 3 of Linear CFR counts three times, in regrets and in the average."""
    game, tree = small(name)
    regrets = some_regrets(tree, 8, negative=False)
    once, thrice = (prepared(game, EXTERNAL_SAMPLING(variant=v), regrets) for v in (CFR, LCFR))
    thrice.iteration = 2
    before, player = once.state, min(1, game.n_players - 1)
    for solver in (once, thrice):
        solver._run(1, random.seeded(4), np.array([player], np.uint64))
    for array in ("regret", "cumulative"):
        one, three = (getattr(s.state, array) - getattr(before, array) for s in (once, thrice))
        np.testing.assert_allclose(three, 3 * one, rtol=0, atol=1e-12)


def test_optimistic_averages_are_exact_where_own_reach_is_constant() -> None:
    """At a player's first infosets own reach is 1: every iteration up to the last visit counts."""
    solver = SampledSolver(KUHN, CHANCE_SAMPLING(averaging="optimistic", average_power=1), seed=2)
    played = []
    for _ in range(200):
        played.append(solver.current_policy().probabilities)
        solver.iterate()
    state = solver.state
    for label in ("J", "Q", "K", "Jp", "Kb"):
        infoset = KUHN.infoset_index[label]
        at = KUHN.sequences(infoset)
        weights = np.arange(1.0, 201.0)
        counted = np.cumsum(weights) <= state.last[infoset]
        assert counted.sum() > 150
        expected = (weights[:, None] * np.array(played)[:, at])[counted].sum(axis=0)
        np.testing.assert_allclose(state.cumulative[at], expected, rtol=1e-12)


def test_baselines_move_to_what_was_seen() -> None:
    """Kuhn, queen against king, bet and call: player 0 sees -2 after his bet and after the call."""
    solver = SampledSolver(KUHN, OUTCOME_SAMPLING(baseline=0.25))
    deal = ("JQ", "JK", "QJ", "QK", "KJ", "KQ").index("QK")

    def play() -> None:
        script = (np.array([(deal + 0.5) / 6, 0.9, 0.9]), np.zeros(1, np.int64))
        solver._run(1, script, np.array([0], np.uint64))

    play()
    bet = {label: KUHN.sequences(KUHN.infoset_index[label]) for label in ("Q", "Kb")}
    assert solver.state.baseline[0][bet["Kb"]].tolist() == [0.0, -0.5]
    # What arrives at Q is the estimate of what follows: -2 corrected by nothing yet.
    assert solver.state.baseline[0][bet["Q"]].tolist() == [0.0, -0.5]
    play()
    # Once more: -2 is seen after the call; what arrives at Q is that less what the other baseline
    # says, 1/2 (0) + 1/2 (-0.5) + 1/2 (-2 + 0.5) / (1/2) = -1.75, not what is seen below.
    assert solver.state.baseline[0][bet["Kb"]].tolist() == [0.0, -0.5 + 0.25 * (-2 + 0.5)]
    assert solver.state.baseline[0][bet["Q"]].tolist() == [0.0, -0.5 + 0.25 * (-1.75 + 0.5)]
    assert not solver.state.baseline[1].any()


@pytest.mark.compiled
def test_baselines_reduce_variance() -> None:
    """Of the regrets' estimates, over all plays, once the baselines are about what they should."""
    game, tree = small("kuhn")
    learned = SampledSolver(game, OUTCOME_SAMPLING(baseline=0.05))
    learned.iterate(20_000)
    state = learned.state
    strategy = {
        label: state.strategy[game.sequences(game.infoset_index[label])].tolist()
        for label in tree.infosets
    }
    variance = []
    for before in (state, state._replace(baseline=state.baseline * 0)):
        mean, square = np.zeros(game.n_sequences), np.zeros(game.n_sequences)
        for sample in samples(outcome(0.6), tree, strategy, 0):
            regret, _ = increments(learned, before, sample, 0)
            mean += sample.probability * regret
            square += sample.probability * regret**2
        variance.append((square - mean**2).sum())
    assert variance[0] < 0.6 * variance[1]


# ------------------------------------------------------------------------- whole traversals


@pytest.mark.compiled
@pytest.mark.parametrize("variant", [CFR, CFR(alternating=False), CFR_PLUS], ids=str)
@pytest.mark.parametrize("name", GAMES)
def test_a_whole_traversal_is_a_sweep(name: str, variant: Algorithm) -> None:
    game = built(name)[0].without_merging()
    sweep, walk = Solver(game, variant), SampledSolver(game, WHOLE_TRAVERSAL(variant=variant))
    sweep.iterate(20)
    walk.iterate(20)
    for array in ("regret", "strategy", "cumulative"):
        expected = getattr(sweep.state, array)
        several = np.repeat(False, game.n_sequences)
        several[walk.source.table.sequence] = True
        found = getattr(walk.state, array)
        np.testing.assert_allclose(found[several], expected[several], rtol=1e-9, atol=1e-11)


def test_players_who_learn_together_meet_one_deal() -> None:
    """Kuhn has one card of each rank, so the hands that learn in one iteration differ."""
    for seed in range(12):
        solver = SampledSolver(KUHN, CHANCE_SAMPLING(alternating=False), seed=seed)
        solver.iterate(1)
        hands = {
            (player, label[0])
            for player, label, at in zip(
                KUHN.infoset_player, KUHN.infoset_labels, KUHN.infoset_sequence, strict=True
            )
            if solver.state.regret[at]
        }
        assert len(hands) == 2
        assert len({hand for _, hand in hands}) == 2, seed


@pytest.mark.compiled
def test_what_is_cut_is_not_touched_and_changes_nothing() -> None:
    cut = SampledSolver(LEDUC, WHOLE_TRAVERSAL)
    whole = SampledSolver(LEDUC, WHOLE_TRAVERSAL(prune=False))
    for solver in (cut, whole):
        solver.iterate(50)
    assert whole.nodes_touched == 50 * 2 * LEDUC.n_histories
    assert whole.decision_nodes_touched == 50 * 2 * LEDUC.n_decision_nodes
    assert cut.nodes_touched < 0.8 * whole.nodes_touched
    for array in ("regret", "strategy", "cumulative"):
        np.testing.assert_array_equal(getattr(cut.state, array), getattr(whole.state, array))


# ---------------------------------------------------------------------------------- convergence

KUHN_VALUE = -1 / 18
LONG: dict[str, tuple[Sampling, int, float]] = {
    "chance": (CHANCE_SAMPLING, 300_000, 3e-3),
    "chance, together": (CHANCE_SAMPLING(alternating=False), 300_000, 3e-3),
    "chance, optimistic": (CHANCE_SAMPLING(averaging="optimistic"), 300_000, 5e-3),
    "chance, cfr+": (CHANCE_SAMPLING(variant="cfr+"), 300_000, 1e-2),
    "external": (EXTERNAL_SAMPLING, 300_000, 5e-3),
    "external, linear": (EXTERNAL_SAMPLING(variant="lcfr"), 300_000, 1e-2),
    "external, cfr+": (EXTERNAL_SAMPLING(variant="cfr+"), 300_000, 2e-2),
    "external, stochastic": (EXTERNAL_SAMPLING(averaging="stochastic"), 300_000, 2e-2),
    "external, optimistic": (EXTERNAL_SAMPLING(averaging="optimistic"), 300_000, 1e-2),
    "outcome": (OUTCOME_SAMPLING, 600_000, 1e-2),
    "outcome, stochastic": (OUTCOME_SAMPLING(averaging="stochastic"), 600_000, 3e-2),
    "outcome, optimistic": (OUTCOME_SAMPLING(averaging="optimistic"), 600_000, 2e-2),
    "outcome, baselines": (OUTCOME_SAMPLING(baseline=0.5), 600_000, 1e-2),
}


@pytest.mark.full
@pytest.mark.compiled
@pytest.mark.parametrize("case", LONG)
def test_long_runs_reach_the_value_of_kuhn(case: str) -> None:
    record, iterations, exploitability = LONG[case]
    solution = solve(KUHN, record, iters=iterations, seed=1, checkpoints=[iterations])
    assert solution.exploitability < exploitability
    assert solution.value[0] == pytest.approx(KUHN_VALUE, abs=exploitability)


# ---------------------------------------------------------------------------------------- bits


@pytest.mark.parametrize("name", SAMPLED)
def test_the_same_seed_gives_the_same_arrays(name: str) -> None:
    one, other, third = (solve(KUHN, name, iters=60, seed=seed) for seed in (3, 3, 4))
    assert same(one, other)
    assert same(third, one) == (name == "whole_traversal") or not same(third, one)
    np.testing.assert_array_equal(one.policy.probabilities, other.policy.probabilities)


def test_streams_of_one_seed_differ() -> None:
    first, second, alone = (
        solve(KUHN, "external_sampling", iters=50, seed=seed) for seed in ((3, 0), (3, 1), 3)
    )
    assert not same(first, second)
    assert not same(first, alone)


def test_no_seed_is_seed_0() -> None:
    one = solve(KUHN, "external_sampling", iters=50)
    assert same(one, solve(KUHN, "external_sampling", iters=50, seed=0))


@pytest.mark.parametrize("record", EVERYTHING, ids=str)
def test_going_on_gives_the_same_bits(record: Any, tmp_path: Path) -> None:
    whole = solve(KUHN, record, iters=40, seed=9)
    part = solve(KUHN, record, iters=13, seed=9)
    rest = solve(KUHN, start=part, iters=27)
    assert same(rest, whole)
    assert rest.nodes_touched == whole.nodes_touched == rest.trace[-1].nodes_touched
    loaded = Solution.load(part.save(tmp_path / "part"))
    assert loaded.algorithm == part.algorithm
    assert loaded.nodes_touched == part.nodes_touched
    assert loaded.decision_nodes_touched == part.decision_nodes_touched
    assert loaded.trace == part.trace
    assert same(solve(loaded.game, start=loaded, iters=27), whole)
    np.testing.assert_array_equal(loaded.last_policy.probabilities, part.last_policy.probabilities)


def test_stop_rules() -> None:
    target = solve(KUHN, "chance_sampling", target=0.05)
    assert target.status is Status.TARGET
    assert target.exploitability <= 0.05
    assert solve(KUHN, "external_sampling", time_limit=0.02).status is Status.TIME_LIMIT
    solution = solve(KUHN, "outcome_sampling", iters=0)
    assert solution.nodes_touched == 0
    assert solution.nash_conv == pytest.approx(0.9166666666666666, abs=1e-14)


def test_a_restart_forgets_the_average() -> None:
    solver = SampledSolver(KUHN, CHANCE_SAMPLING(restart_base=2))
    solver.iterate(3)
    assert solver.state.cumulative[0] == 2.0
    solver.iterate(1)
    assert solver.state.cumulative[0] == 1.0


# ------------------------------------------------------------------------------- random numbers


def test_the_generator_is_xoshiro256plusplus() -> None:
    """Against the published algorithm in Python's integers."""
    draw = numba.njit(lambda state: random._xoshiro(state))
    mask = 2**64 - 1
    state = random.seeded(42)
    a, b, c, d = (int(word) for word in state)
    for _ in range(20):
        total = (a + d) & mask
        expected = ((total << 23 | total >> 41) + a) & mask
        shifted = (b << 17) & mask
        c, d = c ^ a, d ^ b
        b, a = b ^ c, a ^ d
        c ^= shifted
        d = (d << 45 | d >> 19) & mask
        with np.errstate(over="ignore"):
            assert draw(state) == (expected >> 11) * 2.0**-53
    assert [int(word) for word in state] == [a, b, c, d]


def test_alias_tables_have_the_probabilities_of_chance() -> None:
    for game in (KUHN, LEDUC, small("random, met several times")[0]):
        tree = history_traversal(game, TableLayout(game, 0))
        for first, end in pairwise(tree.first_outcome.tolist()):
            count = end - first
            found: dict[int, float] = {}
            for k in range(first, first + count):
                stay, alias = tree.outcome[k].tolist()
                found[stay] = found.get(stay, 0.0) + tree.threshold[k] / count
                found[alias] = found.get(alias, 0.0) + (1.0 - tree.threshold[k]) / count
            for k in range(first, first + count):
                expected = tree.probability[k]
                assert found[int(tree.outcome[k, 0])] == pytest.approx(expected, abs=1e-15)
