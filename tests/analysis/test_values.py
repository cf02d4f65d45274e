"""Tables of values, comparisons and plays, against sums over all histories."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.equality import Multiplied, as_game
from support.properties import examples
from support.random_games import games, public_tree_games
from support.reference import build_tree
from support.slow_values import SlowValues
from tensorcfr import CompiledGame, Policy, compile_game, evaluate, solve
from tensorcfr.analysis import best_responses, compare, head_to_head, simulate, values
from tensorcfr.games import make_game
from tensorcfr.kernels.evaluation import normalise
from tensorcfr.model.arrays import CHANCE

TOLERANCE = 1e-12


def random_policy(game: CompiledGame, seed: int, *, pure: bool = False) -> Policy:
    """Random strategies; pure ones leave much of the game unreached."""
    weight = np.random.default_rng(seed).random(game.n_sequences)
    probabilities = normalise(game.form, weight**200 if pure else weight)
    return Policy(game, probabilities)


def check(rules: Any, seed: int, *, pure: bool) -> None:
    """Compare a table of values of random strategies with sums over histories."""
    game = compile_game(rules)
    policy = random_policy(game, seed, pure=pure)
    rows_of = {label: list(row.values()) for label, row in policy.items()}
    fast, slow = values(game, policy), SlowValues(build_tree(as_game(rules)), rows_of)
    expected = {label: slow.at(label) for label in game.infoset_labels}
    scale = max(1.0, float(np.abs(game.utilities).max()))

    def close(one: Any, other: Any) -> None:
        np.testing.assert_allclose(one, other, rtol=0, atol=TOLERANCE * scale)

    for infoset, found in enumerate(expected.values()):
        at, q = game.sequences(infoset), np.array(found.value)
        chosen = policy.probabilities[at]
        mean = chosen @ q
        close(fast.own_reach[infoset], found.own)
        close(fast.counterfactual_reach[infoset], found.others)
        close(fast.counterfactual[at], q)
        close(fast.regret[at], q - mean)
        close(fast.loss[infoset], found.own * (max(found.best) - chosen @ found.best))
        if found.others > 0:
            close(fast.expected[at] * found.others, q)
            close(fast.infoset_expected[infoset] * found.others, mean)
        else:
            assert np.isnan(fast.expected[at]).all()
    for player in range(game.n_players):
        for rows in fast.rows(player):
            at = [game.infoset_index[label] for label in rows.infosets.labels]
            own, others, q = (
                np.array([expected[label][k] for label in rows.infosets.labels]) for k in range(3)
            )
            chosen = policy.at(rows.infosets.numbers)
            close(rows.probability, chosen)
            close(rows.reach, own * others)
            close(rows.regret, q - (chosen * q).sum(axis=1, keepdims=True))
            close(rows.expected * others[:, None], np.where(others[:, None] > 0, q, np.nan))
            close(rows.loss, fast.loss[at])
    close(fast.evaluation.values, slow.values)
    close(fast.evaluation.best_responses, slow.best_responses)


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize(
    "name",
    ["kuhn", "kuhn(players=3)", "liars_dice(faces=2)", "goofspiel(cards=3)", "stag_hunt",
     "leduc(ranks=2)"],
)  # fmt: skip
def test_tables_equal_sums_over_histories(name: str, pure: bool) -> None:
    check(make_game(name), 1, pure=pure)


@given(
    game=st.one_of(games(max_histories=80), public_tree_games()),
    seed=st.integers(0, 99),
    pure=st.booleans(),
)
@examples(120)
def test_random_games(game: Any, seed: int, pure: bool) -> None:
    check(game, seed, pure=pure)


def test_values_are_in_the_unit_of_the_game() -> None:
    """Payoffs times a power of two, which the compiler divides out again: values times it."""
    rules = as_game(make_game("kuhn"))
    plain, large = (compile_game(Multiplied(rules, factor)) for factor in (1.0, 2.0**50))
    assert (plain.unit, large.unit) == (1.0, 2.0**51)  # The largest payoff is 2.
    policy = random_policy(plain, 1).to_dict()
    one, other = values(plain, policy), values(large, policy)
    for name in ("counterfactual", "regret", "best", "expected", "infoset_expected", "loss"):
        assert (getattr(other, name) == 2.0**50 * getattr(one, name)).all(), name


def test_kuhn_by_hand() -> None:
    game = compile_game("kuhn")
    assert values(game, solve(game, "lp").policy).loss.sum() == pytest.approx(0, abs=1e-12)
    # By the rules: facing a bet, a king calls and wins 2, and what is given up is the ante.  A king
    # that bets is called half of the time, which makes 1.5, and each queen or jack is as likely.
    table = values(game, Policy.uniform(game)).table().to_dict()
    assert table["Kb"]["bet"]["expected_value"] == pytest.approx(2, abs=TOLERANCE)
    assert table["Jb"]["pass"]["expected_value"] == pytest.approx(-1, abs=TOLERANCE)
    assert table["K"]["bet"]["expected_value"] == pytest.approx(1.5, abs=TOLERANCE)
    assert table["K"]["bet"]["reach"] == pytest.approx(1 / 3, abs=TOLERANCE)
    uniform = values(game, Policy.uniform(game))
    assert sum(loss for _, loss in uniform.worst(12)) == pytest.approx(uniform.evaluation.nash_conv)
    assert [loss for _, loss in uniform.worst(12)] == sorted(uniform.loss.tolist())[::-1]


ANSWERS = Path(__file__).parents[1] / "data" / "gambit_answers.json"
GAMBIT = {
    (name, key): answer
    for name, said in json.loads(ANSWERS.read_text("utf-8"))["trees"].items()
    for key, answer in said["policies"].items()
    if "infosets" in answer
}
"""What pygambit says of games and policies; ``scripts/gambit_answers.py`` records it."""


@pytest.mark.parametrize(("name", "key"), GAMBIT)
def test_gambit_finds_the_same_values(name: str, key: str) -> None:
    said = GAMBIT[name, key]["infosets"]
    game = compile_game(name)
    policy = Policy.from_mapping(
        game,
        {
            label: {action: probability for action, (probability, _) in one["actions"].items()}
            for label, one in said.items()
        },
    )
    ours = values(game, policy)
    assert sorted(said) == sorted(game.infoset_labels)
    for infoset, label in enumerate(game.infoset_labels):
        assert ours.reach[infoset] == pytest.approx(said[label]["reach"], abs=TOLERANCE)
        expected = [said[label]["actions"][action][1] for action in game.infoset_actions[infoset]]
        np.testing.assert_allclose(ours.expected[game.sequences(infoset)], expected, atol=TOLERANCE)


def test_best_responses() -> None:
    game = compile_game("kuhn(players=3)")
    policy = random_policy(game, 4)
    evaluation = evaluate(game, policy)
    for player, response in enumerate(best_responses(game, policy)):
        assert response.value == pytest.approx(evaluation.best_responses[player], abs=TOLERANCE)
        assert evaluate(game, response.policy).values[player] == pytest.approx(
            response.value, abs=TOLERANCE
        )


# ----------------------------------------------------------------------------------- comparison


@pytest.mark.parametrize("name", ["kuhn", "kuhn(players=3)", "leduc"])
def test_head_to_head(name: str) -> None:
    game = compile_game(name)
    policies = {"a": random_policy(game, 1), "b": random_policy(game, 2), "u": Policy.uniform(game)}
    result = head_to_head(game, policies)
    listed = list(policies.values())
    for seats in np.ndindex(result.values.shape[:-1]):
        mixed: dict[str, Any] = {}
        for player, policy in enumerate(seats):
            mixed |= listed[policy].to_dict(player)
        expected = evaluate(game, mixed).values
        np.testing.assert_allclose(result.values[seats], expected, rtol=0, atol=TOLERANCE)
    if game.n_players == 2:
        np.testing.assert_allclose(result.scores, -result.scores.T, atol=TOLERANCE)
        both_seats = (result.values[0, 1, 0] + result.values[1, 0, 1]) / 2
        assert result.scores[0, 1] == both_seats != 0.0
        assert str(result).splitlines()[1].startswith("a")
    else:
        with pytest.raises(ValueError, match="scores are for 2 players, not for 3"):
            _ = result.scores
    with pytest.raises(ValueError, match="there is no policy to play"):
        head_to_head(game, [])


@pytest.mark.parametrize("name", ["kuhn", "kuhn(players=3)", "leduc"])
def test_compare(name: str) -> None:
    game = compile_game(name)
    one, other = random_policy(game, 1), random_policy(game, 2)
    compared = compare(one, other)
    swapped = head_to_head(game, [one, other]).values
    for player in range(game.n_players):
        seats = tuple(int(i == player) for i in range(game.n_players))
        own = game.infoset_player == player
        gained = swapped[seats][player] - swapped[(0,) * game.n_players][player]
        assert compared.value[own].sum() == pytest.approx(gained, abs=TOLERANCE)
    for row in compared.differences(5):
        infoset = game.infoset_index[row.infoset]
        p, q = (np.array(list(x[row.infoset].values())) for x in (one, other))
        assert row.total_variation == pytest.approx(abs(p - q).sum() / 2)
        assert row.reach == pytest.approx(compared.reach[infoset])
    weighted = [row.reach * row.total_variation for row in compared.differences(game.n_infosets)]
    assert weighted == sorted(weighted, reverse=True)
    assert sum(compared.distance) == pytest.approx(sum(weighted))
    same = compare(one, one.to_dict())
    assert same.distance == (0.0,) * game.n_players
    assert not same.value.any()
    assert "exploitability" in str(compared)


def test_compare_takes_solutions() -> None:
    game = compile_game("kuhn")
    compared = compare(solve(game, iters=10), solve(game, iters=1000))
    assert compared.evaluations[1].nash_conv < compared.evaluations[0].nash_conv
    with pytest.raises(TypeError, match="first must be a Solution or a Policy"):
        compare({}, {})


# ---------------------------------------------------------------------------------- simulation


@pytest.mark.parametrize("name", ["kuhn", "leduc", "kuhn(players=3)", "goofspiel(cards=3)"])
def test_plays_agree_with_exact_values(name: str) -> None:
    game = compile_game(name)
    policy = random_policy(game, 5)
    plays = simulate(game, policy, 10_000, seed=1)
    error = (plays.mean - evaluate(game, policy).values) / plays.standard_error
    # 4 standard errors; a game that paid another player or skipped a card would be 25 off.
    assert (np.abs(error) < 4).all()
    assert (plays.utilities == simulate(game, policy, 10_000, seed=1).utilities).all()


@pytest.mark.parametrize(
    "name", ["kuhn", pytest.param("kuhn(cards=4)", marks=pytest.mark.full), "goofspiel(cards=3)"]
)
def test_every_play_is_drawn_as_often_as_it_should_be(name: str) -> None:
    """A chi-square test over all plays, on both boards."""
    game = compile_game(name)
    policy = random_policy(game, 6)
    n = 20_000
    plays = simulate(game, policy, n, seed=2)
    drawn = Counter(zip(plays.log(), strict=True))
    expected: dict[tuple[str], float] = {}
    tree = game.tree
    for terminal, paid in zip(tree.terminal.tolist(), tree.utility.tolist(), strict=True):
        steps, probability, node, dealt = [], 1.0, terminal, 0
        while node:
            above = int(tree.parent[node])
            if tree.player[above] == CHANCE:
                probability *= float(tree.probability[node])
                steps.append(f"chance: {game.outcome_labels[tree.outcome[node]]}")
                dealt += 1
            else:
                infoset = int(tree.infoset[above])
                action = node - int(tree.first_child[above])
                probability *= float(policy.probabilities[game.sequences(infoset)][action])
                label, name_of = game.infoset_labels[infoset], game.infoset_actions[infoset]
                steps.append(f"player {tree.player[above]} at {label}: {name_of[action]}")
            node = above
        steps.reverse()
        if game.public is not None and dealt:
            steps[:2] = [f"{step} to player {player}" for player, step in enumerate(steps[:2])]
        pays = ", ".join(f"{utility + 0.0:+g}" for utility in paid)
        expected[(f"{'; '.join(steps)} -> {pays}",)] = n * probability
    assert set(drawn) <= set(expected)
    square = sum((drawn[play] - mean) ** 2 / mean for play, mean in expected.items())
    freedom = len(expected) - 1
    assert abs(square - freedom) < 5 * np.sqrt(2 * freedom)


def test_wrong_number_of_plays() -> None:
    game = compile_game("kuhn")
    with pytest.raises(ValueError, match="n must be a whole number >= 1, not 0"):
        simulate(game, Policy.uniform(game), 0)
    assert np.isnan(simulate(game, Policy.uniform(game), 1).standard_error).all()
