"""The regret side: true sums, the theorems of CFR, and the bounds that they promise."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from support.equality import as_game
from support.random_games import random_game
from support.random_locks import random_locks
from support.reference import ReferenceCFR, Tree, best_response_value, build_tree, expected_values
from support.tiers import tiered
from tensorcfr import CompiledGame, Solver, compile_game, solve
from tensorcfr.algorithms import CFR
from tensorcfr.analysis import RegretPoint, regrets
from tensorcfr.evaluation import correlation_gap
from tensorcfr.games import make_game

GAMES: dict[str, Any] = {
    "kuhn": make_game("kuhn"),
    "kuhn, 3 players": make_game("kuhn(players=3)"),
    "goofspiel": make_game("goofspiel(cards=3)"),
    "random": random_game(12, max_histories=120),
    "random, 3 players": random_game(8, n_players=3, max_histories=120),
}
SIMULTANEOUS = CFR(alternating=False)
RECORDS = ("cfr", SIMULTANEOUS, "cfr+")


def best_actions(game: CompiledGame, array: np.ndarray) -> np.ndarray:
    """The largest of an infoset's numbers, for each infoset."""
    return np.array([array[game.sequences(index)].max() for index in range(game.n_infosets)])


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("name", GAMES)
def test_the_true_sums_are_those_that_cfr_keeps(
    name: str, *, alternating: bool, locked: bool
) -> None:
    game = compile_game(GAMES[name])
    record, locks = CFR(alternating=alternating), random_locks(game, 3) if locked else None
    (point,) = regrets(game, record, checkpoints=[40], locks=locks)
    solver = Solver(game, record, locks=locks)
    solver.iterate(40)
    kept = solver.whole_regrets(solver.problem, solver.state).copy()
    for label, row in (locks or {}).items():
        infoset = game.infoset_index[label]
        is_locked = [action in row for action in game.infoset_actions[infoset]]
        kept[game.sequences(infoset)][is_locked] = -np.inf
    # Infosets that are locked wholly have no regret and no bound.
    expected = np.where(point.infoset_bound > 0, best_actions(game, kept), 0.0)
    np.testing.assert_allclose(point.infoset, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("algorithm", ["cfr+", "dcfr", "external_sampling", "outcome_sampling"])
def test_what_other_variants_keep_is_something_else(algorithm: str) -> None:
    """And the sums here are the true ones: those of the reference for the same strategies."""
    game, tree = compile_game("kuhn"), build_tree(as_game(make_game("kuhn")))
    (point,) = regrets(game, algorithm, checkpoints=[15])
    kept = solve(game, algorithm, iters=15).state
    assert kept is not None
    assert np.abs(point.infoset - best_actions(game, kept.regret)).max() > 0.01
    assert point.infoset == pytest.approx(_true_sums(game, tree, algorithm, 15), abs=1e-12)


def _true_sums(game: CompiledGame, tree: Tree, algorithm: str, iterations: int) -> np.ndarray:
    """By recursion over histories, from the strategies after every iteration."""
    sums = {label: np.zeros(len(infoset.actions)) for label, infoset in tree.infosets.items()}
    solved = [solve(game, algorithm, iters=t, checkpoints=[1]) for t in range(iterations + 1)]
    strategies = [
        {label: list(row.values()) for label, row in solution.last_policy.items()}
        for solution in solved
    ]
    for old, new in pairwise(strategies):
        reference = ReferenceCFR(tree, average_power=0, alternating=True)
        for player in range(2):
            # Player 1 meets the new strategy of player 0.
            reference.strategy = {
                label: (new if infoset.player < player else old)[label]
                for label, infoset in tree.infosets.items()
            }
            instant = {label: [0.0] * len(row) for label, row in sums.items()}
            reference._value(tree.root, player, 1.0, 1.0, instant, {})
            for infoset in tree.infosets_of(player):
                sums[infoset.label] += instant[infoset.label]
    return np.array([sums[label].max() for label in game.infoset_labels])


@pytest.mark.parametrize("power", [0.0, 2.0])
def test_weighted_regrets_are_gains_from_the_joint_play(power: float) -> None:
    """Iterations drawn with the averaging weights; the first one has no weight."""
    game = compile_game("kuhn(players=3)")
    record = CFR(alternating=False, average_power=power, delay=1)
    (point,) = regrets(game, record, checkpoints=[6])
    solver, profiles = Solver(game, record), []
    for _ in range(6):
        profiles.append(solver.current_policy())
        solver.iterate()
    weights = np.arange(6.0) ** power * (np.arange(6) > 0)
    plan = list(zip((weights / weights.sum()).tolist(), profiles, strict=True))
    gains = correlation_gap(game, plan).gains
    np.testing.assert_allclose(point.weighted, gains, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", GAMES)
def test_overall_regret_by_its_definition(name: str) -> None:
    """Best fixed strategy against everything that was met, minus what was earned."""
    game, tree = compile_game(GAMES[name]), build_tree(as_game(GAMES[name]))
    reference = ReferenceCFR(tree, average_power=0, alternating=False)
    (point,) = regrets(game, SIMULTANEOUS, checkpoints=[1])
    policy = reference.current_policy()
    earned = expected_values(tree, policy)
    expected = [
        best_response_value(tree, policy, player) - earned[player]
        for player in range(tree.n_players)
    ]
    assert point.overall == pytest.approx(expected, abs=1e-12)


@pytest.mark.full
def test_average_game_value_of_a_tutorial() -> None:
    """What the program of J. Sermeno (https://justinsermeno.com/posts/cfr/) prints after 10,000
    iterations of Kuhn poker, as READMEs of programs made from it show it."""
    (point,) = regrets(compile_game("kuhn"), SIMULTANEOUS, checkpoints=[10_000])
    assert point.played[0] == pytest.approx(-0.05666979368427769, abs=1e-12)
    assert point.played[1] == pytest.approx(-point.played[0], abs=1e-15)


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("name", ["kuhn", "leduc", "liars_dice(faces=3)", "goofspiel(cards=3)"])
def test_average_regrets_sum_to_nash_conv(name: str, *, locked: bool) -> None:
    """Zero-sum, two players who update at once: the folk theorem, with equality.  A best fixed
    strategy plays what is locked, as a best response does."""
    game = compile_game(name)
    locks = random_locks(game, 8) if locked else None
    for point in regrets(game, SIMULTANEOUS, checkpoints=[1, 10, 60], locks=locks):
        solution = solve(game, SIMULTANEOUS, iters=point.iteration, locks=locks)
        assert sum(point.average) == pytest.approx(solution.nash_conv, abs=1e-11)


def check_theorems(game: CompiledGame, point: RegretPoint) -> None:
    positive = np.maximum(point.infoset, 0.0)
    assert (positive <= point.infoset_bound).all()
    for player in range(game.n_players):
        own = slice(*game.form.player_infosets[player : player + 2])
        assert point.overall[player] <= positive[own].sum() + 1e-9
        assert point.overall[player] <= point.overall_bound[player]
        assert point.average[player] <= point.average_bound[player]


@pytest.mark.parametrize("record", RECORDS, ids=str)
@pytest.mark.parametrize("name", GAMES)
def test_the_bounds_hold(name: str, record: Any) -> None:
    """For regret matching they are theorems; those of CFR+ are Tammelin's."""
    game = compile_game(GAMES[name])
    for point in regrets(game, record, checkpoints=[1, 2, 5, 20, 80]):
        check_theorems(game, point)


def test_overall_regret_is_below_the_sum_of_the_infosets_for_any_algorithm(
    interpreted: None,
) -> None:
    """Theorem 3 is about sequences of strategies, not about regret matching."""
    game = compile_game("kuhn")
    for algorithm in ("hedge", "pcfr+", "external_sampling"):
        (point,) = regrets(game, algorithm, checkpoints=[30])
        positive = np.maximum(point.infoset, 0.0)
        for player in range(2):
            own = slice(*game.form.player_infosets[player : player + 2])
            assert point.overall[player] <= positive[own].sum() + 1e-9


@pytest.mark.parametrize(
    ("name", "record"),
    tiered(product(GAMES, RECORDS), [*product(GAMES, ["cfr"]), *product(["kuhn"], RECORDS[1:])]),
    ids=str,
)
def test_the_bounds_hold_with_locks(name: str, record: Any, interpreted: None) -> None:
    game = compile_game(GAMES[name])
    locks = random_locks(game, 5)
    assert locks
    for point in regrets(game, record, checkpoints=[1, 2, 5, 20, 80], locks=locks):
        check_theorems(game, point)
        for label, bound, regret in zip(
            game.infoset_labels, point.infoset_bound, point.infoset, strict=True
        ):
            if sum(locks.get(label, {}).values()) > 1 - 1e-12:
                assert (bound, regret) == (0, 0)


def test_locks_are_counted_out_of_the_bounds() -> None:
    """Kuhn: two of six infosets of player 0 locked wholly, one of two actions being one."""
    locks = {"J": {"bet": 0.25}, "Kpb": {"bet": 1}}
    (point,) = regrets(compile_game("kuhn"), "cfr", checkpoints=[4], locks=locks)
    assert point.overall_bound == pytest.approx([4 * 4 * 8**0.5, 6 * 4 * 8**0.5])


def test_bounds_in_figures() -> None:
    """Kuhn: utilities from -2 to 2, two actions, six infosets a player."""
    first, fourth = regrets(compile_game("kuhn"), "cfr", checkpoints=[4, 1])
    assert (first.iteration, fourth.iteration) == (1, 4)
    assert first.infoset_bound == pytest.approx(4 * 2**0.5)
    assert fourth.infoset_bound == pytest.approx(4 * 8**0.5)
    assert fourth.overall_bound == pytest.approx([6 * 4 * 8**0.5] * 2)
    assert fourth.average_bound == pytest.approx([6 * 8**0.5] * 2)


def test_the_same_seed_gives_the_same_regrets() -> None:
    game = compile_game("kuhn")
    one, same, other = (
        regrets(game, "external_sampling", checkpoints=[20], seed=seed)[0] for seed in (1, 1, 2)
    )
    assert one.overall == same.overall
    assert one.overall != other.overall


@pytest.mark.parametrize(
    ("algorithm", "options", "message"),
    [
        ("cfr", {"checkpoints": [0]}, "checkpoints must be a whole number >= 1, not 0"),
        ("cfr", {"checkpoints": [1.5]}, "checkpoints must be a whole number >= 1, not 1.5"),
        ("cfr", {"checkpoints": [1], "seed": 1}, "cfr draws no random numbers"),
        ("lp", {"checkpoints": [1]}, "lp does not iterate: it has no regrets"),
        ("mmd-agent", {"checkpoints": [1]}, "mmd-agent has no averaging weights, so its regrets"),
        ("cfrr", {"checkpoints": [1]}, "no algorithm 'cfrr'"),
        ("cfr", {"checkpoints": [1], "locks": {"T": {"bet": 1}}}, "kuhn has no infoset 'T'"),
        (
            "external_sampling",
            {"checkpoints": [1], "locks": {"J": {"bet": 1}}},
            "external_sampling takes no locks",
        ),
    ],
)
def test_refusals(algorithm: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        regrets(compile_game("kuhn"), algorithm, **options)
