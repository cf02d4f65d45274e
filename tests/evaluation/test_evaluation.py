"""Values, best responses and exploitability equal the slow recursion's, and OpenSpiel's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import reference
from support.properties import examples
from support.random_games import RandomGame, RandomPublicTreeGame, games, public_tree_games
from tensorcfr import (
    CompiledGame,
    Game,
    Policy,
    PublicTreeGame,
    best_response,
    compile_game,
    evaluate,
    exploitability,
    nash_conv,
)
from tensorcfr.evaluation import expected_values
from tensorcfr.games import make_game

TOLERANCE = 1e-12

BUILT_IN = [
    "kuhn",
    "kuhn(cards=5)",
    "kuhn(players=3)",
    "leduc",
    "leduc(ranks=2, suits=2, players=3, raise_cap=1)",
    "liars_dice(faces=3)",
    "liars_dice(dice=(2, 1), faces=2)",
    "bluff(faces=4)",
    "goofspiel(cards=3)",
    "goofspiel(cards=3, players=3)",
    "goofspiel(cards=3, prizes='random', payoff='total_points')",
    "matrix(payoffs=[[3, -1, 0], [-2, 1, 5]])",
]

# Of the uniform policy: expected values, then best-response values, in the order of the players.
# Source: uniform.json of the reference figures that this library was built against, where an
# independent program and OpenSpiel 2.0.2 agree.  They are exact to the digits of a float64 of
# size 1 or so, hence the tolerance.
UNIFORM: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "kuhn": ((0.125, -0.125), (0.5, 0.41666666666666663)),
    "kuhn(cards=4)": ((0.125, -0.125), (0.5, 0.375)),
    "kuhn(cards=5)": ((0.125, -0.125), (0.5, 0.35)),
    "kuhn(cards=6)": ((0.125, -0.125), (0.5, 0.35)),
    "kuhn(cards=7)": ((0.125, -0.125), (0.5, 0.3452380952380952)),
    "kuhn(cards=8)": ((0.125, -0.125), (0.5, 0.3392857142857142)),
    "kuhn(cards=9)": ((0.125, -0.125), (0.5, 0.3333333333333333)),
    "kuhn(cards=10)": ((0.125, -0.125), (0.5, 0.3333333333333333)),
    "kuhn(players=3)": (
        (0.234375, -0.046875, -0.1875),
        (0.78125, 0.6458333333333334, 0.6354166666666667),
    ),
    "leduc": ((-0.078125, 0.078125), (2.0875, 2.659722222222222)),
    "liars_dice(faces=2)": ((0.125, -0.125), (0.75, 0.375)),
    "liars_dice(faces=3)": (
        (0.01851851851851852, -0.01851851851851852),
        (0.5925925925925926, 0.5185185185185185),
    ),
    "liars_dice(faces=4)": ((-0.015625, 0.015625), (0.6837053571428571, 0.6264136904761903)),
    "liars_dice(faces=5)": ((-0.028, 0.028), (0.741699470899471, 0.7000423280423282)),
    # OpenSpiel's hands are ordered; uniform play does not look at them, and a best response has
    # no use for the order.
    "liars_dice(dice=2, faces=2)": ((0.0625, -0.0625), (0.9375, 0.703125)),
    "goofspiel(cards=3)": ((0.0, 0.0), (0.6666666666666666, 0.6666666666666666)),
    "goofspiel(cards=4)": ((0.0, 0.0), (0.7083333333333333, 0.7083333333333333)),
    "goofspiel(cards=4, payoff='point_difference')": ((0.0, 0.0), (1.25, 1.25)),
    "goofspiel(cards=5)": ((0.0, 0.0), (0.775, 0.775)),
    "matching_pennies": ((0.0, 0.0), (0.0, 0.0)),
    "rock_paper_scissors": ((0.0, 0.0), (0.0, 0.0)),
}


@cache
def compiled(spec: str) -> CompiledGame:
    return compile_game(spec)


def as_tree(rules: Game | PublicTreeGame) -> reference.Tree:
    """The rules history by history."""
    return reference.build_tree(rules if isinstance(rules, Game) else reference.DealtGame(rules))


def random_policy(game: CompiledGame, seed: int, kind: str) -> Policy:
    """Full support, some actions never taken, or pure."""
    rng = np.random.default_rng(seed)
    probabilities = np.ones(game.n_sequences)
    for infoset, actions in enumerate(game.infoset_actions):
        weights = rng.exponential(size=len(actions))
        if kind == "sparse":
            weights *= rng.random(len(actions)) < 0.5
        if kind == "pure" or not weights.any():
            weights = np.eye(len(actions))[rng.integers(len(actions))]
        probabilities[game.sequences(infoset)] = weights / weights.sum()
    return Policy(game, probabilities)


KINDS = ("full", "sparse", "pure")


def rows(policy: Mapping[str, Mapping[str, float]]) -> dict[str, list[float]]:
    """A policy as the reference reads it."""
    return {label: list(row.values()) for label, row in policy.items()}


def assert_equals_reference(tree: reference.Tree, game: CompiledGame, policy: Policy) -> None:
    given = rows(policy)
    values = reference.expected_values(tree, given)
    best = [reference.best_response_value(tree, given, i) for i in range(game.n_players)]
    evaluation = evaluate(game, policy)
    assert evaluation.values == pytest.approx(values, abs=TOLERANCE)
    assert evaluation.best_responses == pytest.approx(best, abs=TOLERANCE)
    assert evaluation.nash_conv == pytest.approx(reference.nash_conv(tree, given), abs=TOLERANCE)
    assert evaluation.exploitability == evaluation.nash_conv / game.n_players
    assert min(evaluation.gains) >= -TOLERANCE


def assert_best_response_earns_its_value(game: CompiledGame, policy: Policy) -> None:
    for player in range(game.n_players):
        response = best_response(game, policy, player)
        earned = evaluate(game, response.policy).values[player]
        assert earned == pytest.approx(response.value, abs=TOLERANCE)
        assert response.value == evaluate(game, policy).best_responses[player]
        own = np.zeros(game.n_sequences, dtype=bool)
        first, last = game.form.player_sequences[player : player + 2]
        own[first:last] = True
        after = response.policy.probabilities
        assert set(after[own].tolist()) <= {0.0, 1.0}
        assert after[~own].tolist() == policy.probabilities[~own].tolist()
        for label in game.infoset_labels:
            assert sum(response.policy[label].values()) == pytest.approx(1.0)


# -------------------------------------------------------------------------- equality with others


@pytest.mark.parametrize("spec", BUILT_IN)
def test_equals_the_recursion(spec: str) -> None:
    game, tree = compiled(spec), as_tree(make_game(spec))
    for seed, kind in enumerate(KINDS):
        policy = random_policy(game, seed, kind)
        assert_equals_reference(tree, game, policy)
        assert_best_response_earns_its_value(game, policy)


@given(st.one_of(games(), public_tree_games()), st.integers(0, 2**32 - 1), st.sampled_from(KINDS))
@examples(150)
def test_equals_the_recursion_on_random_games(
    rules: RandomGame | RandomPublicTreeGame, seed: int, kind: str
) -> None:
    game = compile_game(rules)
    policy = random_policy(game, seed, kind)
    assert_equals_reference(as_tree(rules), game, policy)
    assert_best_response_earns_its_value(game, policy)


@pytest.mark.parametrize("spec", UNIFORM)
def test_uniform_policy_has_the_known_figures(spec: str) -> None:
    game = compiled(spec)
    values, best = UNIFORM[spec]
    evaluation = evaluate(game, Policy.uniform(game))
    assert evaluation.values == pytest.approx(values, abs=TOLERANCE)
    assert evaluation.best_responses == pytest.approx(best, abs=TOLERANCE)
    assert evaluation.nash_conv == pytest.approx(sum(best) - sum(values), abs=TOLERANCE)


@pytest.mark.slow
def test_uniform_policy_has_the_known_figures_in_liars_dice() -> None:
    game = compiled("liars_dice")
    evaluation = evaluate(game, Policy.uniform(game))
    # uniform.json of the reference figures, as above.
    assert evaluation.values[0] == pytest.approx(-0.0324074074074074, abs=TOLERANCE)
    best = (0.795491622574956, 0.7659970238095238)
    assert evaluation.best_responses == pytest.approx(best, abs=TOLERANCE)


# ----------------------------------------------------------------------------------- the surface


def test_the_short_forms_are_parts_of_the_evaluation() -> None:
    game = compiled("kuhn(players=3)")
    policy = random_policy(game, 1, "full")
    evaluation = evaluate(game, policy)
    assert expected_values(game, policy) == evaluation.values
    assert nash_conv(game, policy) == evaluation.nash_conv == sum(evaluation.gains)
    assert exploitability(game, policy) == evaluation.nash_conv / 3


def test_a_mapping_is_a_policy() -> None:
    game = compiled("kuhn")
    always_bet = {label: {"bet": 1} for label in game.infoset_labels}
    evaluation = evaluate(game, always_bet)
    # Both always put in 2 and show: the game is fair.  Against it, call with the king, fold the
    # jack, and with the queen it is the same: (2 - 1 + 0) / 3, for player 0 as for player 1.
    assert evaluation.values == pytest.approx((0.0, 0.0))
    assert evaluation.best_responses == pytest.approx((1 / 3, 1 / 3))
    assert best_response(game, always_bet, 1).policy["Kb"] == {"pass": 0.0, "bet": 1.0}


def test_the_first_of_equal_actions_is_taken() -> None:
    game = compiled("rock_paper_scissors")
    response = best_response(game, Policy.uniform(game), 1)
    assert response.value == 0.0
    assert response.policy["P1"] == {"rock": 1.0, "paper": 0.0, "scissors": 0.0}


def test_infosets_that_cannot_happen_take_their_first_action() -> None:
    game = compiled("kuhn")
    never_bet = {label: {"pass": 1.0} for label in game.infoset_labels}
    response = best_response(game, never_bet, 1)
    assert response.policy["Kb"] == {"pass": 1.0, "bet": 0.0}


def test_not_zero_sum_is_judged_too() -> None:
    # Jordan 1993: uniform is the equilibrium of the three-player game, worth 0 to all.
    game = compile_game("matching_pennies_3p")
    evaluation = evaluate(game, Policy.uniform(game))
    assert evaluation.values == evaluation.best_responses == (0.0, 0.0, 0.0)


# ------------------------------------------------------------------------------------ the errors


def without(policy: Policy, label: str) -> dict[str, dict[str, float]]:
    return {other: row for other, row in policy.items() if other != label}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Kx": {"bet": 1.0}}, r"kuhn has no infoset 'Kx'; did you mean 'K.*'\?"),
        ({"K": {"raise": 1.0}}, "infoset 'K' has no action 'raise'; there are: bet, pass"),
        ({"K": {"bet": 0.5}}, "probabilities of infoset 'K' are not a distribution: {'bet': 0.5}"),
        ({"K": {"bet": 1.5, "pass": -0.5}}, "probabilities of infoset 'K' are not a distribution"),
        ({"K": {"bet": float("nan")}}, "'bet' at infoset 'K' must be a number, not nan"),
        ({"K": {}}, "probabilities of infoset 'K' are not a distribution: {}"),
    ],
)
def test_a_mapping_that_is_no_policy(changes: dict[str, dict[str, float]], message: str) -> None:
    game = compiled("kuhn")
    wrong = dict(Policy.uniform(game)) | changes
    with pytest.raises(ValueError, match=message):
        Policy.from_mapping(game, wrong)
    with pytest.raises(ValueError, match=message):
        evaluate(game, wrong)


def test_a_mapping_that_is_silent_about_an_infoset() -> None:
    game = compiled("kuhn")
    with pytest.raises(ValueError, match="the policy has no probabilities for infoset 'Qpb'"):
        Policy.from_mapping(game, without(Policy.uniform(game), "Qpb"))


def test_a_mapping_may_leave_actions_out_and_round() -> None:
    game = compiled("kuhn")
    third = {"bet": 0.3333333333, "pass": 0.6666666667}
    policy = Policy.from_mapping(game, {**Policy.uniform(game), "K": {"bet": 1}, "J": third})
    assert policy["K"] == {"pass": 0.0, "bet": 1.0}
    assert policy["J"] == third


def test_labels_of_a_policy() -> None:
    policy = Policy.uniform(compiled("kuhn"))
    assert len(policy) == 12
    assert set(policy) == set(compiled("kuhn").infoset_labels)
    assert repr(policy) == "<Policy for kuhn: 12 infosets>"
    with pytest.raises(KeyError, match="kuhn has no infoset 'Qpp'; did you mean 'Q"):
        policy["Qpp"]


def test_a_policy_is_read_only_and_of_the_right_size() -> None:
    game = compiled("kuhn")
    with pytest.raises(ValueError, match="read-only"):
        Policy.uniform(game).probabilities[0] = 0.5
    with pytest.raises(ValueError, match=r"kuhn must be float64 \(26,\), not float64 \(25,\)"):
        Policy(game, np.ones(25))


def test_a_policy_for_another_game() -> None:
    policy = Policy.uniform(compiled("kuhn(cards=4)"))
    with pytest.raises(ValueError, match=r"policy is for kuhn\(cards=4\), not for kuhn"):
        evaluate(compiled("kuhn"), policy)


def test_the_same_game_compiled_twice_shares_policies() -> None:
    first, second = compile_game("kuhn"), compile_game("kuhn")
    values = evaluate(second, Policy.uniform(first)).values
    assert values == pytest.approx((0.125, -0.125))


@pytest.mark.parametrize("player", [2, -1, True])
def test_a_player_who_does_not_exist(player: int) -> None:
    game = compiled("kuhn")
    with pytest.raises(ValueError, match="player must be"):
        best_response(game, Policy.uniform(game), player)
