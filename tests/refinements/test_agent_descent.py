"""Mirror descent at every infoset on its own: its slow twin, what it reaches, its files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.equality import as_game, bits
from support.random_games import random_game, random_public_tree_game
from support.reference import build_tree
from support.slow_descent import SlowDescent
from support.tiers import tiered
from tensorcfr import MemoryLimitError, Solution, compile_game, solve
from tensorcfr.algorithms import ALGORITHMS, MMD_AGENT, from_dict
from tensorcfr.analysis import conditional_regrets
from tensorcfr.games import MatrixGame, make_game
from tensorcfr.games.holdem import Holdem
from tensorcfr.refinements.agent_descent import AgentSolver

KINGS = Holdem(board="2s2h2d3s3h", ranges=("AA,QQ", "KK"), pot=100, stacks=100, bets="100%")
"""The toy game of desktop-postflop's issue 27: aces or queens against kings on 22233."""

GAMES = {
    "kuhn": lambda: make_game("kuhn"),
    "three players": lambda: make_game("kuhn(players=3)"),
    # Uniform play of the first player leaves the other nothing but rounding.
    "worth nothing": lambda: MatrixGame([[0.1, -0.2], [0.2, -0.1], [-0.3, 0.3]]),
    **{f"random {s}": lambda s=s: random_game(s, max_histories=80) for s in range(4)},
    **{f"random public {s}": lambda s=s: random_public_tree_game(s) for s in range(3)},
}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"eta": 0.3, "alpha": 0.4, "heat": 0.7, "floor": 0.0, "average_power": 1.0},
    ],
    ids=["usual", "other"],
)
@pytest.mark.parametrize("name", GAMES)
def test_equals_the_slow_one(name: str, options: dict[str, float]) -> None:
    rules, record = GAMES[name](), MMD_AGENT(**options)
    game, slow = compile_game(rules), SlowDescent(build_tree(as_game(rules)), record.options)
    solution = None
    for _ in range(6):
        slow.iterate()
        if solution is None:
            solution = solve(game, record, iters=1)
        else:
            solution = solve(game, start=solution, iters=1)
    for label, infoset in game.infoset_index.items():
        at = game.sequences(infoset)
        for found, expected in (
            (solution.state.strategy, slow.strategy),
            (solution.state.advantage, slow.before),
            (solution.state.cumulative, slow.total),
            (solution.state.change, slow.changes),
        ):
            np.testing.assert_allclose(found[at], expected[label], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", tiered(("leduc", "liars_dice"), fast=()))
def test_every_infoset_is_within_a_thousandth_of_the_pot(name: str) -> None:
    """After 2,000 iterations where own reach is at least 0.01, in Leduc everywhere; with DCFR and a
    floor that falls, 0.9 and 11 % after 5,000.  The pot, and what is won and lost, are 2."""
    game = compile_game(name)
    solution = solve(game, MMD_AGENT, iters=2000, checkpoints=[2000])
    found = conditional_regrets(game, solution.policy)
    assert found.on_own_path.largest <= 0.001 * 2
    assert found.everywhere.largest <= 0.001 * 2 or name == "liars_dice"
    assert found.everywhere.mean <= 0.0003 * 2
    assert found.unreached == 0
    assert solution.exploitability <= 0.001 * 2


def test_a_record_of_an_older_version() -> None:
    """It goes on with the floor and the temperature of the iteration from which they stayed."""
    kept = {"name": "mmd-agent", "eta": 2.0, "alpha": 0.0, "floor": 0.1, "average_power": 20.0}
    old = from_dict(kept | {"floor_fall": 0.5, "heat": 1.0, "settled": 400.0})
    assert (old.heat, old.floor, old.eta) == (0.0025, 0.005, 2.0)


def test_a_weight_beyond_floats_is_named() -> None:
    solver = AgentSolver(compile_game("kuhn"), MMD_AGENT(average_power=300))
    with pytest.raises(ValueError, match=r"mmd-agent\(.*its weight is not finite at iteration 11$"):
        solver.iterate(20)
    assert np.isfinite(solver.state.cumulative).all()
    for power in (20.0, 2.0, 0.0, 1.5):
        assert MMD_AGENT(average_power=power).weight(7) == 7**power


def test_aces_call_after_a_mistake() -> None:
    game = compile_game(KINGS).flat()
    solution = solve(game, MMD_AGENT, iters=1000, checkpoints=[1000])
    assert solution.policy["AsAh check allin"]["call"] > 0.999
    assert conditional_regrets(game, solution.policy).everywhere.largest <= 0.001 * 100


def test_resumed_to_the_bit(tmp_path: Path) -> None:
    game = compile_game("kuhn")
    whole = solve(game, MMD_AGENT, iters=40)
    part = Solution.load(solve(game, MMD_AGENT, iters=15).save(tmp_path / "part"))
    rest = solve(part.game, start=part, iters=25)
    assert bits(whole.state) == bits(rest.state)


def test_record_and_refusals() -> None:
    kuhn = compile_game("kuhn")
    changed = MMD_AGENT(alpha=0.5, floor=0.0)
    assert from_dict(changed.to_dict()) == changed
    assert ALGORITHMS["mmd-agent"] is MMD_AGENT
    with pytest.raises(ValueError, match="mmd-agent: eta"):
        MMD_AGENT(eta=0.0)
    with pytest.raises(MemoryLimitError, match="solving kuhn"):
        solve(kuhn, MMD_AGENT, iters=1, memory_limit=100)
    with pytest.raises(ValueError, match="mmd-agent keeps values given that infosets are reached"):
        solve(kuhn, "cfr", iters=1, warm_start=solve(kuhn, MMD_AGENT, iters=1))
