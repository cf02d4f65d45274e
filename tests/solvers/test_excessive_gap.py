"""The excessive gap technique: its slow twin, its gap, its files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.equality import LAST_EXACT, ROUNDINGS, TOLERANCE, as_game, bits
from support.random_games import random_game, random_public_tree_game
from support.reference import build_tree
from support.slow_gap import SlowGap
from support.tiers import tiered
from tensorcfr import MemoryLimitError, Solution, compile_game, exploitability, solve
from tensorcfr.games import make_game
from tensorcfr.kernels import excessive_gap as kernels
from tensorcfr.solvers.gap_solver import GapSolver

TWINS: dict[str, Callable[[], Any]] = {
    "kuhn": lambda: make_game("kuhn"),
    "kuhn, 5 cards": lambda: make_game("kuhn(cards=5)"),
    "liar's dice, 3 faces": lambda: make_game("liars_dice(faces=3)"),
    "leduc, 1 suit": lambda: make_game("leduc(ranks=3, suits=1)"),
    "goofspiel, 3 cards": lambda: make_game("goofspiel(cards=3)"),
    "rock paper scissors": lambda: make_game("rock_paper_scissors"),
    **{
        f"random {seed}": lambda seed=seed: random_game(
            seed, n_players=2, zero_sum=True, max_actions=3, max_histories=120
        )
        for seed in range(12)
    },
    **{
        f"random public {seed}": lambda seed=seed: random_public_tree_game(seed, zero_sum=True)
        for seed in range(6)
    },
}


@pytest.mark.parametrize("name", tiered(list(TWINS), ["kuhn", "random 3"]))
def test_equals_the_slow_one(name: str) -> None:
    """Plans over 50 iterations, to 1e-12 or to the rounding of the twin."""
    rules = TWINS[name]()
    game, tree = compile_game(rules), build_tree(as_game(rules))
    twin, *multiplied = (SlowGap(tree, factor) for factor in (1.0, 0.7, 1.3, 1.9))
    solver = GapSolver(game, "egt")
    for mark in range(51):
        for player, plex in enumerate(twin.plexes):
            for label, own in plex.own.items():
                found = solver.state.cumulative[game.sequences(game.infoset_index[label])]
                worst = np.abs(found - twin.plans[player][own]).max()
                rounding = max(
                    np.abs(other.plans[player] - twin.plans[player]).max() for other in multiplied
                )
                excused = mark > LAST_EXACT and worst <= ROUNDINGS * rounding
                assert worst <= TOLERANCE or excused, f"iteration {mark}, {label!r}: off by {worst}"
        if mark < 50:
            solver.iterate()
            for slow in (twin, *multiplied):
                slow.iterate()
    np.testing.assert_allclose(solver.state.numbers[:2], twin.mu, rtol=1e-12)
    assert solver.state.numbers[kernels.TAU] == pytest.approx(twin.tau, rel=1e-12)
    assert twin.gap(twin.plans, twin.mu) >= 0.0


@pytest.mark.parametrize("name", tiered(["leduc", "kuhn"], ["kuhn"]))
def test_the_gap_bounds_nash_conv(name: str) -> None:
    """By the smoothings times the widest entropies; the bound falls as 1 / T^2 would, or slower."""
    game = compile_game(name)
    twin, solver = SlowGap(build_tree(as_game(make_game(name)))), GapSolver(game, "egt")
    for _ in range(6):
        solver.iterate(20)
        mu = solver.state.numbers
        bound = sum(mu[p] * plex.widest() for p, plex in enumerate(twin.plexes))
        assert 0.0 < solver.evaluate().nash_conv <= bound
    solution = solve(game, "egt", iters=1000)
    assert solution.exploitability < {"kuhn": 1e-3, "leduc": 5e-3}[name]
    assert exploitability(game, solution.last_policy) == solution.exploitability
    assert "as 1 / iterations" in solution.guarantee


def test_resumed_to_the_bit(tmp_path: Path) -> None:
    game = compile_game("kuhn")
    whole = solve(game, "egt", iters=40)
    part = Solution.load(solve(game, "egt", iters=15).save(tmp_path / "part"))
    rest = solve(part.game, start=part, iters=25)
    assert bits(whole.state) == bits(rest.state)
    assert whole.nodes_touched == rest.nodes_touched >= 40 * 3 * game.n_histories // 2


def test_refusals() -> None:
    kuhn = compile_game("kuhn")
    with pytest.raises(ValueError, match=r"a constant sum; kuhn\(players=3\) has 3 players"):
        solve(compile_game("kuhn(players=3)"), "egt", iters=1)
    with pytest.raises(ValueError, match=r"egt is for two players and a constant sum; .* has no"):
        solve(compile_game(random_game(3, n_players=2, zero_sum=False)), "egt", iters=1)
    with pytest.raises(MemoryLimitError, match="solving kuhn"):
        solve(kuhn, "egt", iters=1, memory_limit=100)
    with pytest.raises(ValueError, match="egt keeps plans, and no regrets"):
        solve(kuhn, "cfr", iters=1, warm_start=solve(kuhn, "egt", iters=1))
