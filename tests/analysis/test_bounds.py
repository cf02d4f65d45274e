"""Local best responses and sampled values, beside the exact ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.random_games import random_game
from support.tiers import tiered
from tensorcfr import Decision, Game, Policy, Terminal, best_response, compile_game, evaluate, solve
from tensorcfr.analysis import Interval, local_best_response, sampled_values
from tensorcfr.model.infoset import Infoset


def uniform(infoset: Infoset) -> list[float]:
    return [1 / len(infoset.actions)] * len(infoset.actions)


def skewed(infoset: Infoset) -> list[float]:
    """Some strategy, the same in every run, that is far from an equilibrium."""
    weights = [1.0 + (sum(map(ord, infoset)) + 3 * k) % 5 for k in range(len(infoset.actions))]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("spec", tiered(["kuhn", "leduc", "kuhn(players=3)"], {"kuhn"}))
@pytest.mark.parametrize("strategies", [uniform, skewed])
def test_the_response_earns_at_most_what_the_best_one_does(spec: str, strategies: Any) -> None:
    """The learned response itself, evaluated exactly: no sampling error on either side."""
    game = compile_game(spec)
    exact = evaluate(game, strategies)
    found = local_best_response(spec, strategies, tries=400, plays=400, seed=1)
    for player, response in enumerate(found.responses):

        def mixed(infoset: Infoset, player: int = player, response: Any = response) -> Any:
            return response(infoset) if infoset.player == player else strategies(infoset)

        earned = evaluate(game, mixed).values[player]
        assert earned <= exact.best_responses[player] + 1e-12
        # One step of improvement finds most of what there is to gain against these.
        assert earned > exact.values[player] + 0.3 * exact.gains[player]
        # And the sample says so: 5 standard errors are never left by accident.
        value = found.values[player]
        assert abs(value.mean - earned) < 5 * value.standard_error
    assert found.nash_conv.mean < exact.nash_conv + 5 * found.nash_conv.standard_error


class OneDecisionEach(Game):
    """Each player acts once, having seen nothing: a look one action ahead is the whole game."""

    paid = np.array([[3.0, -1.0, 0.5], [0.0, 2.0, -2.0]])

    def node(self, state: tuple[int, ...]) -> Any:
        if len(state) < 2:
            return Decision(len(state), "row" if not state else "column", range(2 + len(state)))
        utility = float(self.paid[state])
        return Terminal((utility, -utility))


def test_where_one_step_is_all_there_is_the_bound_is_exact() -> None:
    rules = OneDecisionEach()
    game = compile_game(rules)
    exact = evaluate(game, skewed)
    found = local_best_response(rules, skewed, tries=500, plays=2000, seed=2)
    for player in range(2):
        best = best_response(game, skewed, player).policy
        label = ("row", "column")[player]
        chosen = found.responses[player](Infoset(label, player, game.infoset_actions[player]))
        assert chosen == list(best[label].values())
        assert abs(found.values[player].mean - exact.best_responses[player]) < (
            5 * found.values[player].standard_error
        )
    bound = found.exploitability
    assert abs(bound.mean - exact.exploitability) < 5 * bound.standard_error


@pytest.mark.parametrize("seed", range(3))
def test_sampled_values_cover_the_exact_ones(seed: int) -> None:
    rules = random_game(seed, n_players=3, max_histories=100)
    exact = evaluate(compile_game(rules), skewed).values
    found = sampled_values(rules, skewed, plays=3000, seed=seed)
    for value, expected in zip(found.values, exact, strict=True):
        assert abs(value.mean - expected) <= 5 * value.standard_error + 1e-12
    again = sampled_values(rules, skewed, plays=3000, seed=seed)
    assert again == found


def test_the_sum_of_a_game_of_constant_sum_is_sure() -> None:
    assert sampled_values("kuhn", uniform, plays=50).total == Interval(0.0, 0.0, 0.95)


def test_intervals_are_those_of_the_normal_distribution() -> None:
    interval = Interval(1.0, 0.5, 0.95)
    # 1.959964: the 97.5 % point of the normal distribution, as in every table.
    assert interval.low == pytest.approx(1.0 - 0.5 * 1.959964, abs=1e-6)
    assert interval.high == pytest.approx(1.0 + 0.5 * 1.959964, abs=1e-6)
    assert str(interval) == "+1 ± 0.98 (95%)"


@pytest.mark.full
def test_intervals_cover_as_often_as_they_say() -> None:
    """Of 200 intervals of 80 %, between 132 and 183 cover the value: 5 standard deviations."""
    exact = evaluate(compile_game("kuhn"), skewed).values[0]
    covered = 0
    for seed in range(200):
        found = sampled_values("kuhn", skewed, plays=200, seed=seed, confidence=0.8).values[0]
        covered += found.low <= exact <= found.high
    assert 132 <= covered <= 183


def test_policies_come_in_every_form() -> None:
    game = compile_game("kuhn")
    solution = solve(game, iters=10)
    table = {label: dict(row) for label, row in solution.policy.items()}
    found = [
        sampled_values("kuhn", policy, plays=200)
        for policy in (solution.policy, table, lambda infoset: table[infoset])
    ]
    assert found[0] == found[1] == found[2]
    expected = sampled_values("kuhn", uniform, plays=200)
    assert sampled_values("kuhn", Policy.uniform(game), plays=200) == expected


@pytest.mark.full
@pytest.mark.openspiel
def test_policies_of_openspiel_answer_at_their_states() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    policies = pytest.importorskip("open_spiel.python.policy")
    game = pyspiel.load_game("kuhn_poker")
    for theirs in (policies.UniformRandomPolicy(game), pyspiel.UniformRandomPolicy(game)):
        found = sampled_values(game, theirs, plays=200)
        assert found == sampled_values(game, uniform, plays=200)
    with pytest.raises(TypeError, match="kuhn is not"):
        sampled_values("kuhn", policies.UniformRandomPolicy(game), plays=2)


@pytest.mark.parametrize(
    ("policy", "error", "words"),
    [
        (lambda infoset: [0.5], ValueError, "infoset '.' has 2 actions"),
        (lambda infoset: [np.nan, 1.0], ValueError, "infoset '.' are not a distribution"),
        ({"K": {"bet": 1.0}}, ValueError, "has no probabilities for infoset"),
        (3, TypeError, "policy must be a function of infosets"),
    ],
)
def test_what_is_no_policy_is_refused(policy: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        sampled_values("kuhn", policy, plays=100)
