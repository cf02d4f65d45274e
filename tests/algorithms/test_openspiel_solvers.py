"""Average strategies equal those of OpenSpiel's own solvers, run here, infoset by infoset."""

from __future__ import annotations

import numpy as np
import pytest

from tensorcfr import Algorithm, Solver, compile_game
from tensorcfr.algorithms import CFR, CFR_PLUS, DCFR, LCFR

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.openspiel

from open_spiel.python.algorithms import cfr, discounted_cfr  # noqa: E402

GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=4,"
    "points_order=descending,returns_type=win_loss))"
)
GAMES = {
    "kuhn_poker": 50,
    "kuhn_poker(players=3)": 50,
    "leduc_poker": 20,
    "liars_dice(numdice=1,dice_sides=3)": 20,
    "liars_dice(numdice=1,dice_sides=4)": 10,
    GOOFSPIEL: 20,
}
SOLVERS = {
    "cfr": (CFR, pyspiel.CFRSolver),
    "cfr+": (CFR_PLUS, pyspiel.CFRPlusSolver),
}
SLOW_SOLVERS = {
    "dcfr": (DCFR, discounted_cfr.DCFRSolver),
    "lcfr": (LCFR, discounted_cfr.LCFRSolver),
    "cfr simultaneous": (
        CFR(alternating=False),
        lambda game: cfr._CFRSolver(
            game,
            alternating_updates=False,
            linear_averaging=False,
            regret_matching_plus=False,
        ),
    ),
}


def largest_difference(name: str, algorithm: Algorithm, theirs: object, iterations: int) -> float:
    """Between the expected values of the two average policies and between their NashConv."""
    from open_spiel.python.algorithms import expected_game_score, exploitability

    game = pyspiel.load_game(name)
    peer = theirs(game)  # type: ignore[operator]
    for _ in range(iterations):
        peer.evaluate_and_update_policy()
    ours = Solver(compile_game(game), algorithm)
    ours.iterate(iterations)
    found, policy = ours.evaluate(), peer.average_policy()
    if isinstance(policy, pyspiel.Policy):
        conv = pyspiel.nash_conv(game, policy, True)
        values = pyspiel.expected_returns(game.new_initial_state(), policy, -1, True)
    else:
        conv = exploitability.nash_conv(game, policy)
        values = expected_game_score.policy_value(game.new_initial_state(), [policy] * 3)
    return max(abs(found.nash_conv - conv), np.abs(np.array(found.values) - values).max())


@pytest.mark.full
@pytest.mark.parametrize("algorithm", SOLVERS)
@pytest.mark.parametrize("name", GAMES)
def test_values_and_nash_conv(name: str, algorithm: str) -> None:
    record, theirs = SOLVERS[algorithm]
    assert largest_difference(name, record, theirs, GAMES[name]) < 1e-9


@pytest.mark.full
@pytest.mark.parametrize("algorithm", SLOW_SOLVERS)
def test_python_solvers(algorithm: str) -> None:
    record, theirs = SLOW_SOLVERS[algorithm]
    assert largest_difference("kuhn_poker", record, theirs, 50) < 1e-9


@pytest.mark.full
@pytest.mark.parametrize("algorithm", SOLVERS)
@pytest.mark.parametrize("name", [*GAMES][:4])
def test_every_infoset(name: str, algorithm: str) -> None:
    record, theirs = SOLVERS[algorithm]
    game = pyspiel.load_game(name)
    peer, ours = theirs(game), Solver(compile_game(game), record)
    for _ in range(20):
        peer.evaluate_and_update_policy()
    ours.iterate(20)
    table = peer.tabular_average_policy().policy_table()
    policy = ours.average_policy()
    assert set(table) == set(policy)
    for label, probabilities in policy.items():
        expected = [probability for _, probability in table[label]]
        np.testing.assert_allclose(list(probabilities.values()), expected, rtol=0, atol=1e-9)
