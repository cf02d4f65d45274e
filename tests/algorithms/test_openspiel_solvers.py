"""Average strategies equal those of OpenSpiel's own solvers, run here, infoset by infoset."""

from __future__ import annotations

import numpy as np
import pytest

from tensorcfr import Solver, compile_game
from tensorcfr.algorithms import CFR, CFR_PLUS

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.openspiel

GAMES = (
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker",
    "liars_dice(numdice=1,dice_sides=3)",
)
SOLVERS = {
    "cfr": (CFR, pyspiel.CFRSolver),
    "cfr+": (CFR_PLUS, pyspiel.CFRPlusSolver),
}


@pytest.mark.full
@pytest.mark.parametrize("algorithm", SOLVERS)
@pytest.mark.parametrize("name", GAMES)
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
