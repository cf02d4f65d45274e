"""The theorem of paced CFR+: cumulative regrets bound the regrets of the weighted average."""

from __future__ import annotations

import numpy as np
import pytest

from tensorcfr import Solver, compile_game
from tensorcfr.algorithms import PACED_CFR_PLUS
from tensorcfr.games import MatrixGame


def _matrix(kind: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    payoffs = rng.normal(size=(9, 7))
    if kind == "rare":
        return payoffs * np.where(rng.random(payoffs.shape) < 0.1, 1.0, 1e-3)
    return np.round(payoffs) + 1e-5 * rng.normal(size=payoffs.shape)


@pytest.mark.parametrize("kind", ["rare 0", "rare 1", "noise 0", "noise 1"])
@pytest.mark.parametrize("power", [8.0, 10.0])
def test_regrets_of_the_average_are_bounded_by_cumulative_ones(kind: str, power: float) -> None:
    """For every action: sum of t^power r_t <= T^power R_T (docs/newer-variants.md)."""
    name, seed = kind.split()
    payoffs = _matrix(name, int(seed))
    game = compile_game(MatrixGame(payoffs.tolist()))
    solver = Solver(game, PACED_CFR_PLUS(average_power=power, alternating=False))
    rows, columns = (game.infoset_labels[i] for i in (0, 1))
    weighted = [np.zeros(9), np.zeros(7)]
    for t in range(1, 601):
        policy = solver.current_policy()
        x, y = (np.array(list(policy[label].values())) for label in (rows, columns))
        values = payoffs @ y, -x @ payoffs
        keep = ((t - 1) / t) ** power
        for total, value, own in zip(weighted, values, (x, y), strict=True):
            total[:] = keep * total + (value - own @ value)
        solver.iterate()
        if t % 50 == 0:
            sums = solver.sums
            for total, label in zip(weighted, (rows, columns), strict=True):
                regret = np.array(list(sums[label].regret.values()))
                assert (total <= regret + 1e-9 * np.abs(payoffs).max()).all(), (t, label)


@pytest.mark.parametrize("name", ["kuhn", "goofspiel(cards=4)", "leduc"])
def test_exploitability_is_bounded_by_cumulative_regrets(name: str) -> None:
    """NashConv of the average is at most T^10 / (1^10 + ... + T^10) times the sum, over the
    infosets, of their largest cumulative regret."""
    game = compile_game(name)
    solver = Solver(game, PACED_CFR_PLUS(alternating=False))
    for t in (1, 10, 100, 300):
        solver.iterate(t - solver.iteration)
        largest = sum(max(sums.regret.values()) for sums in solver.sums.values())
        share = 1.0 / sum((k / t) ** 10 for k in range(1, t + 1))
        assert solver.evaluate().nash_conv <= share * largest * (1 + 1e-9) + 1e-12
