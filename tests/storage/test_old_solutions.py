"""Solutions that version 0.6.0 wrote are read, and gone on from as it would have gone on.

The files are those of Kuhn poker with 4 cards and of a turn of hold'em, solved by 0.6.0 for 5
iterations and then 4 more.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.interpreted import interpret
from tensorcfr import Solution, compile_game, solve
from tensorcfr.algorithms import CFR_PLUS
from tensorcfr.solvers.base import Setting
from tensorcfr.solvers.solver import Solver

FILES = Path(__file__).parent.parent / "data" / "old_solutions"
NAMES = sorted(path.name.removesuffix("-5.npz") for path in FILES.glob("*-5.npz"))


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels run as Python."""
    interpret(monkeypatch)


@pytest.mark.parametrize("name", NAMES)
def test_gone_on_from(name: str) -> None:
    begun, ended = (Solution.load(FILES / f"{name}-{count}.npz") for count in (5, 9))
    found = solve(begun.game, start=begun, iters=4)
    rtol, atol = (0.0, 1e-12) if found.state.regret.dtype == np.float64 else (1e-6, 1e-5)
    if found.state.regret.dtype == np.int16:
        # Their rows were others, so that numbers were rounded otherwise.
        assert found.exploitability == pytest.approx(ended.exploitability, rel=1e-4)
        np.testing.assert_allclose(found.value, ended.value, rtol=1e-4)
        return
    for field in ("regret", "cumulative", "strategy", "reach", "memory"):
        np.testing.assert_allclose(
            getattr(found.state, field), getattr(ended.state, field), rtol=rtol, atol=atol
        )
    np.testing.assert_allclose(found.value, ended.value, rtol=rtol, atol=atol)


def test_one_scale_for_all_players() -> None:
    """States in 16 bits of 0.6.0 have one scale for a row, whoever's numbers are in it."""
    game = compile_game("kuhn(cards=4)", cut=1)
    solver = Solver(game, CFR_PLUS, precision="int16")
    solver.step(5)
    kept = dict(Solver.kept(solver.state))
    kept["scale"] = kept["scale"].max(axis=2)
    found = Solver.restore(Setting(game, CFR_PLUS), kept)
    assert found.scale.shape == solver.state.scale.shape
    assert (found.scale[:, :, 0] == found.scale[:, :, 1]).all()
    assert Solver(game, CFR_PLUS, state=found, iteration=5).precision == "int16"


def test_strategies_that_a_game_cut_into_no_chunks_lacked() -> None:
    """They are made from the regrets."""
    game = compile_game("kuhn(cards=4)")
    solver = Solver(game, CFR_PLUS)
    solver.step(5)
    kept = {name: getattr(solver.state, name) for name in ("regret", "cumulative", "memory")}
    kept["strategy"] = np.zeros(0)
    found = Solver.restore(Setting(game, CFR_PLUS), kept)
    np.testing.assert_allclose(found.strategy, solver.state.strategy, rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.reach, solver.state.reach, rtol=0, atol=1e-15)
