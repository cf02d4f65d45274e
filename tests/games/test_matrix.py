"""Normal-form games: shape, rules, errors; ``formats/test_openspiel.py`` compares the classics."""

import itertools

import numpy as np
import pytest

from support.walks import play
from tensorcfr import compile_game, solve
from tensorcfr.games import matrix
from tensorcfr.games.matrix import MatrixGame
from tensorcfr.rules import Decision, Terminal

CLASSICS = [
    matrix.rock_paper_scissors,
    matrix.rock_paper_scissors_plus,
    matrix.biased_rock_paper_scissors,
    matrix.matching_pennies,
    matrix.matching_pennies_3p,
    matrix.prisoners_dilemma,
    matrix.stag_hunt,
    matrix.chicken,
    matrix.battle_of_the_sexes,
    matrix.shapleys_game,
]


def test_one_matrix_is_zero_sum():
    game = MatrixGame([[0, 2, 3], [4, 5, 6]])
    assert game.payoffs.shape == (2, 2, 3)
    assert play(game) == Decision(0, "P0", (0, 1))
    assert play(game, 1) == Decision(1, "P1", (0, 1, 2))
    assert play(game, 1, 2) == Terminal((6.0, -6.0))
    assert not np.signbit(game.payoffs[1, 0, 0])  # 0, not -0


@pytest.mark.parametrize("shape", [(1, 2), (2, 3, 2), (3, 2, 3, 4), (4, 2, 1, 2, 3)])
def test_payoffs_of_any_shape(shape):
    payoffs = np.random.default_rng(0).normal(size=shape)
    game = MatrixGame(payoffs)
    table = game.payoffs
    for choice in itertools.product(*map(range, table.shape[1:])):
        assert play(game, *choice) == Terminal(tuple(table[(slice(None), *choice)]))


def test_payoffs_are_copied_and_read_only():
    given = np.eye(2)
    game = MatrixGame(given)
    given[:] = 7
    assert game.payoffs[0].tolist() == [[1, 0], [0, 1]]
    with pytest.raises(ValueError, match="read-only"):
        game.payoffs[0, 0, 0] = 3


def test_labels_and_title():
    game = MatrixGame(np.zeros((2, 2, 3)), actions=["UD", ("l", "m", "r")], title="toy")
    assert game.name == "toy"
    assert play(game, "D").actions == ("l", "m", "r")
    assert MatrixGame([[1]]).name == "matrix"


@pytest.mark.parametrize("make", CLASSICS)
def test_a_classic_is_called_as_its_function(make):
    assert make().name == make.__name__


# Equilibria of the symmetric zero-sum games, as their docstrings and sources say.
@pytest.mark.parametrize(
    ("make", "mix"),
    [
        (matrix.rock_paper_scissors, [1 / 3, 1 / 3, 1 / 3]),
        (matrix.rock_paper_scissors_plus, [2 / 5, 2 / 5, 1 / 5]),
        (matrix.biased_rock_paper_scissors, [1 / 16, 10 / 16, 5 / 16]),
    ],
)
def test_the_stated_mix_leaves_nothing_to_gain(make, mix):
    payoffs = make().payoffs
    np.testing.assert_allclose(payoffs[0] @ mix, 0, atol=1e-14)
    np.testing.assert_array_equal(payoffs[1], payoffs[0].T)


# Exact values, by a simplex in fractions; the games are of the kinds that people report to other
# solvers (Nashpy, issues 60, 35, 76 and 41).
@pytest.mark.parametrize(
    ("payoffs", "value"),
    [
        ([[-100, 0, 0, -100], [0, 0, 0, -100], [-100, 0, 0, 0], [0, 0, 0, -50]], -100 / 3),
        ([[-1, -1, -1], [0, 0, 0], [-1, -1, -10000]], 0),
        ([[0, -1, 1, 1], [1, 0, -1, -1], [-1, 1, 0, -1], [-1, 1, 1, 0]], 0),
    ],
)
@pytest.mark.parametrize("how", [{"algorithm": "lp"}, {"target": 0}, {"target": 1e-6}], ids=str)
def test_values_of_degenerate_games(payoffs, value, how):
    found = solve(compile_game("matrix", payoffs=payoffs), **how)
    assert float(found.value[0]) == pytest.approx(value, abs=2e-6)


@pytest.mark.parametrize(
    ("payoffs", "message"),
    [
        ([[1, 2], [3]], "payoffs must be an array of numbers"),
        ([["a", "b"]], "payoffs must be an array of numbers"),
        (3, r"not shape \(\)"),
        (np.zeros((3, 2, 2)), r"not shape \(3, 2, 2\)"),
        (np.zeros((2, 0, 2)), "at least one action per player"),
        ([[1, np.nan]], r"payoffs must be finite; player 0 gets nan at actions \(0, 1\)"),
        ([[[1.0]], [[-np.inf]]], r"player 1 gets -inf at actions \(0, 0\)"),
    ],
)
def test_wrong_payoffs(payoffs, message):
    with pytest.raises(ValueError, match=message):
        MatrixGame(payoffs)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (["ab"], "actions must label 2 players, not 1"),
        (["ab", "ab"], "actions must hold 3 labels for player 1, not 2"),
        (["aa", "abc"], "actions of player 0 must differ"),
    ],
)
def test_wrong_actions(actions, message):
    with pytest.raises(ValueError, match=message):
        MatrixGame(np.zeros((2, 2, 3)), actions=actions)
