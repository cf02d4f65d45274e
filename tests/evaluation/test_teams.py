"""Teams: values by another program, brute force over joint plans, best responses, refusals."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from support.equality import PerturbedHands, as_game, assert_equal
from support.random_games import random_game
from support.reference import ReferenceCFR, TerminalNode, Tree, build_tree, expected_values
from tensorcfr import Solver, compile_game, solve
from tensorcfr.algorithms import CFR, CFR_PLUS
from tensorcfr.evaluation import (
    correlation_gap,
    evaluate,
    team_best_response,
    team_equilibrium,
    team_exploitability,
)
from tensorcfr.games.kuhn import KuhnPoker
from tensorcfr.games.matrix import MatrixGame

linprog = pytest.importorskip("scipy.optimize").linprog

KUHN: dict[int, tuple[float, float, float]] = {
    3: (0.0, 0.0, 0.0),
    4: (5 / 132, 7 / 264, -1 / 24),
    5: (0.0436873586, 0.0162892581, -0.0251900521),
    6: (0.0525415445, 0.0281432749, -0.0236499585),
}
"""Value of the team in 3-player Kuhn poker, by cards and by the adversary's seat: column generation
by a program that is not ours, to a gap below 1e-9."""


@pytest.mark.parametrize(
    ("cards", "seat"),
    [
        pytest.param(cards, seat, marks=pytest.mark.full if cards < 5 else pytest.mark.slow)
        for cards, seat in product(KUHN, range(3))
    ],
)
def test_kuhn(cards: int, seat: int) -> None:
    game = compile_game(f"kuhn(players=3, cards={cards})")
    found = team_equilibrium(game, ([p for p in range(3) if p != seat], (seat,)))
    assert found.values[0] == pytest.approx(KUHN[cards][seat], rel=0, abs=1e-9)
    assert found.values[1] == -found.values[0]
    assert found.gap <= 1e-9


# ------------------------------------------------------------------------------------ brute force


def plans(tree: Tree, team: tuple[int, ...]) -> list[dict[str, list[float]]]:
    """Every joint pure plan of a team."""
    own = [i for player in team for i in tree.infosets_of(player)]
    return [
        {i.label: np.eye(len(i.actions))[a].tolist() for i, a in zip(own, chosen, strict=True)}
        for chosen in product(*(range(len(i.actions)) for i in own))
    ]


def value_by_enumeration(tree: Tree, teams: Any) -> float:
    """The value of the matrix game of all joint plans."""
    rows, columns = (plans(tree, team) for team in teams)
    matrix = np.array(
        [
            [sum(expected_values(tree, row | column)[p] for p in teams[0]) for column in columns]
            for row in rows
        ]
    )
    count = len(rows)
    result = linprog(
        np.append(np.zeros(count), -1.0),
        A_ub=np.hstack([-matrix.T, np.ones((len(columns), 1))]),
        b_ub=np.zeros(len(columns)),
        A_eq=np.append(np.ones(count), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * count + [(None, None)],
    )
    return float(result.x[-1])


def few_plans(n_players: int, teams: Any, wanted: int) -> list[tuple[Any, Tree]]:
    """Random games of a constant sum with 2 to 32 joint plans for each team."""
    found: list[tuple[Any, Tree]] = []
    for seed in range(2000):
        game = random_game(
            seed, n_players=n_players, zero_sum=True, max_depth=4, max_actions=2, max_histories=30
        )
        tree = build_tree(game)
        counts = [
            np.prod([len(i.actions) for p in team for i in tree.infosets_of(p)]) for team in teams
        ]
        if min(counts) >= 2 and max(counts) >= 8 and max(counts) <= 32:
            found.append((game, tree))
        if len(found) == wanted:
            break
    return found


@pytest.mark.parametrize(
    "teams",
    [((0, 2), (1,)), ((1,), (0, 2)), ((0, 2), (1, 3)), ((1, 2, 3), (0,))],
    ids=str,
)
def test_brute_force(teams: Any) -> None:
    n_players = sum(map(len, teams))
    games = few_plans(n_players, teams, 3)
    assert len(games) == 3
    for rules, tree in games:
        game = compile_game(rules)
        found = team_equilibrium(game, teams)
        expected = value_by_enumeration(tree, teams)
        assert found.values[0] == pytest.approx(expected, abs=1e-9)
        assert found.teams == teams
        for side, plan in zip(teams, found.plans, strict=True):
            assert sum(weight for weight, _ in plan) == pytest.approx(1.0)
            # No plan of the other team is better against this one's mixture.
            other = teams[0] if side is teams[1] else teams[1]
            best = max(
                sum(
                    weight
                    * sum(expected_values(tree, as_lists(tree, policy) | answer)[p] for p in other)
                    for weight, policy in plan
                )
                for answer in plans(tree, other)
            )
            assert best == pytest.approx(found.values[teams.index(other)], abs=1e-9)


def as_lists(tree: Tree, policy: Any) -> dict[str, list[float]]:
    return {
        label: [policy[label][str(a)] for a in infoset.actions]
        for label, infoset in tree.infosets.items()
    }


def test_best_response_of_a_team() -> None:
    """Together the members gain at least what either gains alone; brute force says how much."""
    for rules, tree in few_plans(3, ((0, 2), (1,)), 3):
        game = compile_game(rules)
        policy = solve(game, iters=1).policy
        found = team_best_response(game, policy, (0, 2))
        uniform = as_lists(tree, policy)
        best = max(
            sum(expected_values(tree, uniform | plan)[p] for p in (0, 2))
            for plan in plans(tree, (0, 2))
        )
        assert found.value == pytest.approx(best, abs=1e-12)
        gained = evaluate(game, found.policy).values
        assert gained[0] + gained[2] == pytest.approx(best, abs=1e-12)
        own = slice(*game.form.player_sequences[1:3].tolist())
        kept = found.policy.probabilities[own]
        np.testing.assert_array_equal(kept, policy.probabilities[own])
        alone = team_best_response(game, policy, (1,)).value
        assert alone == pytest.approx(evaluate(game, policy).best_responses[1], abs=1e-12)


def test_what_correlation_is_worth() -> None:
    """Von Stengel and Koller 1997: two members must choose the same side, unseen by the adversary,
    who must guess it.  Correlated they win a half; each mixing alone, a quarter."""
    payoffs = np.zeros((3, 2, 2, 2))
    for side in range(2):
        payoffs[0, side, side, 1 - side] = payoffs[1, side, side, 1 - side] = 0.5
        payoffs[2, side, side, 1 - side] = -1.0
    game = compile_game(MatrixGame(payoffs))
    found = team_equilibrium(game, ((0, 1), (2,)))
    assert found.values == pytest.approx((0.5, -0.5), abs=1e-12)
    apart = solve(game, iters=1).policy
    assert sum(evaluate(game, apart).values[:2]) == pytest.approx(0.25)
    # As a plan of all players it is no equilibrium of single players' interests only by chance.
    plan = [
        (weight * mix, {**dict(one), "P2": dict(other)["P2"]})
        for weight, one in found.plans[0]
        for mix, other in found.plans[1]
    ]
    assert correlation_gap(game, plan).distance == pytest.approx(0.0, abs=1e-12)


# ---------------------------------------------------------------------------------- shared payoffs


def shared(rules: Any, teams: Any) -> Tree:
    """The game's tree, every terminal paying the mean over a team to each member."""
    tree = build_tree(as_game(rules))
    for node in tree.nodes():
        if isinstance(node, TerminalNode):
            paid = node.utilities
            node.utilities = [
                sum(paid[p] for p in team) / len(team)
                for player in range(tree.n_players)
                for team in teams
                if player in team
            ]
    return tree


@pytest.mark.full
@pytest.mark.parametrize(
    ("rules", "teams"),
    [
        (PerturbedHands(KuhnPoker(players=3)), ((0, 2), (1,))),
        (PerturbedHands(KuhnPoker(players=4)), ((0, 2), (1, 3))),
        (random_game(3, n_players=4, max_histories=200), ((1, 2, 3), (0,))),
        (random_game(4, n_players=4, zero_sum=True, max_histories=200), ((3, 0), (2, 1))),
    ],
    ids=["three hands", "four hands", "three against one", "two against two"],
)
def test_cfr_with_shared_payoffs_is_the_slow_one(rules: Any, teams: Any) -> None:
    game, tree = compile_game(rules, teams=teams), shared(rules, teams)
    for variant, options in (
        (CFR, {"average_power": 0}),
        (CFR_PLUS, {"average_power": 1, "regret_matching_plus": True}),
    ):
        reference = ReferenceCFR(tree, alternating=True, **options)
        assert_equal(Solver(game, variant), reference, (1, 2, 5, 20))
    alone = compile_game(rules)
    assert game.zero_sum == alone.zero_sum
    assert game.name.endswith(
        f", teams {'+'.join(map(str, teams[0]))} v " + "+".join(map(str, teams[1]))
    )
    policy = solve(game, iters=3).policy
    values = evaluate(alone, dict(policy)).values
    found = evaluate(game, policy).values
    for team in teams:
        for member in team:
            mean = sum(values[p] for p in team) / len(team)
            assert found[member] == pytest.approx(mean, abs=1e-12)


def test_teams_of_one_change_nothing() -> None:
    game = compile_game("kuhn", teams=((1,), (0,)))
    assert game.name == "kuhn"
    assert solve(game, iters=5).nash_conv == solve(compile_game("kuhn"), iters=5).nash_conv


def test_exploitability_of_teams() -> None:
    """By brute force; and at the equilibrium of a game whose teams need no correlation it is 0."""
    for teams in (((0, 2), (1,)), ((1,), (0, 2))):
        for rules, tree in few_plans(3, teams, 2):
            game = compile_game(rules)
            policy = solve(game, iters=2).policy
            found = team_exploitability(game, policy, teams)
            played = as_lists(tree, policy)
            for side, gain in zip(teams, found.gains, strict=True):
                values = [
                    sum(expected_values(tree, played | plan)[p] for p in side)
                    for plan in ({}, *plans(tree, side))
                ]
                assert gain == pytest.approx(max(values) - values[0], abs=1e-12)
            assert found.exploitability == pytest.approx(sum(found.gains) / 2, abs=1e-15)
            together = compile_game(rules, teams=teams)
            again = team_exploitability(together, dict(policy), teams)
            assert again.gains == pytest.approx(found.gains, abs=1e-12)


# -------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("teams", "reason"),
    [
        (((0, 1), (1, 2)), "player 1 is in the teams more than once"),
        (((0,), (1,)), "player 2 is in no team"),
        (((0, 1, 2),), "there must be two teams, not 1"),
        (((0, 1, 2), ()), "a team must have at least one player"),
        (((0, 3), (1, 2)), r"teams\[0\] must be a player of kuhn"),
        (((0, "1"), (1, 2)), r"teams\[0\] must be a player of kuhn"),
        ((0, (1, 2)), r"teams\[0\] must be two groups of players, not 0"),
    ],
    ids=str,
)
def test_teams_that_are_none(teams: Any, reason: str) -> None:
    with pytest.raises((ValueError, TypeError), match=reason):
        team_equilibrium(compile_game("kuhn(players=3)"), teams)
    with pytest.raises((ValueError, TypeError), match=reason):
        compile_game("kuhn(players=3)", teams=teams)


def test_other_refusals() -> None:
    game = compile_game(MatrixGame([[[2, 0], [0, 1]], [[1, 0], [0, 2]]]))
    with pytest.raises(ValueError, match="teams are for games with a constant sum"):
        team_equilibrium(game, ((0,), (1,)))
    uniform = solve(game, iters=1).policy
    with pytest.raises(ValueError, match="each once, not"):
        team_best_response(game, uniform, (0, 0))
    with pytest.raises(ValueError, match="team must be a player of matrix"):
        team_best_response(game, uniform, (2,))
