"""Games of two teams by belief DAGs: the slow twin, exact values, files, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.equality import PerturbedHands, as_game, perturbed
from support.reference import Tree, build_tree
from support.slow_team_cfr import SlowTeamCFR
from support.tiers import tiered
from tensorcfr import MemoryLimitError, Solution, compile_game, solve, team_game
from tensorcfr.evaluation import evaluate, team_equilibrium
from tensorcfr.games import MatrixGame
from tensorcfr.games.kuhn import KuhnPoker
from tensorcfr.games.leduc import LeducPoker
from tensorcfr.kernels import links
from tensorcfr.model.team_game import TeamGame
from tensorcfr.rules import Chance, Decision, Game, Terminal
from tensorcfr.solvers.team_solver import TeamSolver

TWINS: dict[str, tuple[Any, Any]] = {
    "kuhn 0+1 v 2": (PerturbedHands(KuhnPoker(players=3)), ((0, 1), (2,))),
    "kuhn 0 v 1+2": (PerturbedHands(KuhnPoker(players=3)), ((0,), (1, 2))),
    "kuhn 0+2 v 1+3": (PerturbedHands(KuhnPoker(players=4, cards=4)), ((0, 2), (1, 3))),
    "leduc 0+2 v 1": (
        PerturbedHands(LeducPoker(players=3, ranks=2, suits=2, raise_cap=1)),
        ((0, 2), (1,)),
    ),
    "kuhn 0 v 1": (perturbed("kuhn"), ((0,), (1,))),
}


def towards_terminals(game: TeamGame, probabilities: np.ndarray, side: int) -> np.ndarray:
    """What a team plays towards each terminal."""
    reach = np.empty(game.n_sequences)
    links.spread(game.form._replace(operator=()), game.links, probabilities, reach)
    found: np.ndarray = reach[game.numbered.leaf[side][game.dags[side].terminal_leaf]]
    return found


@pytest.mark.full
@pytest.mark.parametrize("name", TWINS)
def test_cfr_equals_the_slow_one(name: str) -> None:
    rules, teams = TWINS[name]
    tree: Tree = build_tree(as_game(rules))
    game, twin = team_game(compile_game(rules), teams), SlowTeamCFR(tree, teams)
    solver = TeamSolver(game, "cfr+")
    for mark in (1, 2, 3, 10):
        solver.step(mark - solver.iteration)
        while twin.t < mark:
            twin.step()
        for side in range(2):
            found = towards_terminals(game, solver.average_probabilities(), side)
            np.testing.assert_allclose(found, twin.average(side), rtol=0, atol=1e-12)
