"""Games of two teams by belief DAGs: the slow twin, exact values, files, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.equality import PerturbedHands, as_game, bits, perturbed
from support.reference import Tree, build_tree
from support.slow_team_cfr import SlowTeamCFR
from support.tiers import tiered
from tensorcfr import MemoryLimitError, Solution, TeamGame, compile_game, solve, team_game
from tensorcfr.evaluation import evaluate, team_equilibrium
from tensorcfr.games.kuhn import KuhnPoker
from tensorcfr.games.leduc import LeducPoker
from tensorcfr.games.matrix import MatrixGame
from tensorcfr.kernels import links
from tensorcfr.rules import Chance, Decision, Game, Terminal
from tensorcfr.solvers.root_infoset_solver import TeamSolver

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
    links.linked_forward(game.form._replace(operator=()), game.links, probabilities, reach)
    found: np.ndarray = reach[game.numbered.leaf[side][game.dags[side].terminal_leaf]]
    return found


@pytest.mark.parametrize("name", tiered(TWINS, ["kuhn 0+1 v 2"]))
def test_cfr_equals_the_slow_one(name: str) -> None:
    rules, teams = TWINS[name]
    tree: Tree = build_tree(as_game(rules))
    game, twin = team_game(compile_game(rules), teams), SlowTeamCFR(tree, teams)
    solver = TeamSolver(game, "cfr+")
    for mark in (1, 2, 3) if "leduc" in name else (1, 2, 3, 10):
        solver.iterate(mark - solver.iteration)
        while twin.t < mark:
            twin.iterate()
        for side in range(2):
            found = towards_terminals(game, solver.average_probabilities(), side)
            np.testing.assert_allclose(found, twin.average(side), rtol=0, atol=1e-12)


class TestExactValues:
    def test_of_kuhn(self) -> None:
        """By the linear program, and by iterations near it; 5/132 for the team against seat 0."""
        game = team_game(compile_game("kuhn(players=3, cards=4)"), ((1, 2), (0,)))
        exact = solve(game, "lp")
        assert exact.value == pytest.approx((5 / 132, -5 / 132), abs=1e-12)
        assert exact.exploitability <= 1e-12
        assert "team-maxmin equilibrium with correlation" in exact.guarantee

    @pytest.mark.full
    @pytest.mark.parametrize("algorithm", ["cfr", "cfr+", "dcfr", "sapcfr+"])
    def test_by_iterations(self, algorithm: str) -> None:
        """Adversary in seat 2: -1/24, within the gap."""
        game = team_game(compile_game("kuhn(players=3, cards=4)"), ((0, 1), (2,)))
        solution = solve(game, algorithm, iters=1000)
        assert solution.exploitability <= (1e-2 if algorithm == "cfr" else 2e-4)
        assert abs(solution.value[0] + 1 / 24) <= solution.nash_conv

    def test_teams_of_one_are_the_game(self) -> None:
        """Kuhn 1950: -1/18; the beliefs of one player are the infosets."""
        game = compile_game("kuhn")
        both = team_game(game, ((0,), (1,)))
        assert [dag.n_beliefs for dag in both.dags] == [6, 6]
        solution = solve(both, "lp")
        assert solution.value[0] == pytest.approx(-1 / 18, abs=1e-12)
        strategy = {label: solution.policy[label] for label in game.infoset_labels}
        assert evaluate(game, strategy).exploitability == pytest.approx(0.0, abs=1e-9)

    @pytest.mark.slow
    def test_of_leduc(self) -> None:
        """Zhang, Farina and Sandholm, table of results, 3L151: -0.019 (adversary last)."""
        game = compile_game("leduc(players=3, ranks=5, suits=1, raise_cap=1)")
        exact = solve(team_game(game, ((0, 1), (2,))), "lp")
        assert exact.value[0] == pytest.approx(-0.019, abs=5e-4)
        assert exact.exploitability <= 1e-12

    @pytest.mark.full
    def test_of_two_teams_by_two_programs(self) -> None:
        """Four players: the linear program and iterations agree, and the plans are worth it."""
        game = compile_game("kuhn(players=4, cards=4)")
        teams = ((0, 2), (1, 3))
        both = team_game(game, teams)
        exact, near = team_equilibrium(game, teams), solve(both, iters=2000)
        # The iterations end at the equilibrium itself, to rounding.
        assert abs(exact.values[0] - near.value[0]) <= near.nash_conv + 1e-15 <= 1e-3
        value = 0.0
        for weight, plan in exact.plans[0]:
            for other_weight, other in exact.plans[1]:
                joined = {**dict(plan), **{k: other[k] for k in others_of(game, other, teams[1])}}
                values = evaluate(game, joined).values
                value += weight * other_weight * sum(values[p] for p in teams[0])
        assert value == pytest.approx(exact.values[0], abs=1e-9)


def others_of(game: Any, policy: Any, team: tuple[int, ...]) -> list[str]:
    """The infosets of a team."""
    return [label for player in team for label in policy.to_dict(player)]


class Doors(Game):
    """Player 0 and player 2 open a door each, in an order that neither knows; player 1 guesses."""

    n_players = 3

    def node(self, state: Any) -> Any:
        if not state:
            return Chance({"02": 0.5, "20": 0.5})
        if len(state) < 3:
            player = int(state[0][len(state) - 1])
            return Decision(player, f"door {player}", ("left", "right"))
        if len(state) == 3:
            return Decision(1, "guess", ("same", "other"))
        won = 1.0 if (state[1] == state[2]) == (state[3] == "same") else -1.0
        return Terminal((won / 2, -won, won / 2))


class TestRefusals:
    def test_infosets_without_an_order(self) -> None:
        with pytest.raises(
            ValueError,
            match=r"the team 0\+2 in Doors have no order: each of 'door 0' and 'door 2' is before",
        ):
            team_game(compile_game(Doors()), ((0, 2), (1,)))

    def test_too_many_prescriptions(self) -> None:
        """Counted before any belief is made."""
        game = compile_game("kuhn(players=3, cards=12)")
        with pytest.raises(
            MemoryLimitError,
            match=r"the team 0\+1 in kuhn.*, up to 2,193,907,712 prescriptions, needs",
        ):
            team_game(game, ((0, 1), (2,)), memory_limit=1 << 30)

    def test_what_does_not_apply(self) -> None:
        game = compile_game("kuhn(players=3, cards=3)")
        both = team_game(game, ((0, 1), (2,)))
        for wrong, reason in (
            (
                {"algorithm": "icfr", "iters": 1},
                "teams: icfr passes up values that need",
            ),
            ({"iters": 1, "threads": 2}, "is a game of teams: it is solved on one thread"),
            ({"algorithm": "external_sampling", "iters": 1}, "does not iterate"),
            ({"algorithm": "efce", "iters": 1}, "does not iterate"),
        ):
            with pytest.raises(ValueError, match=reason):
                solve(both, **wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="game must be a compiled game"):
            evaluate(both, {})  # type: ignore[arg-type]

    @pytest.mark.full
    def test_general_sums_have_no_team_equilibrium(self) -> None:
        general = compile_game(MatrixGame([[[2, 0], [0, 1]], [[1, 0], [0, 2]]]))
        played = solve(team_game(general, ((0,), (1,))), "cfr", iters=3)
        assert "coarse correlated equilibria" in played.guarantee
        assert "TMECor" not in played.guarantee


@pytest.mark.full
class TestKept:
    def test_resumes_to_the_same_bits(self, tmp_path: Path) -> None:
        game = team_game(compile_game("kuhn(players=3, cards=4)"), ((0, 1), (2,)))
        whole, part = solve(game, "dcfr", iters=30), solve(game, "dcfr", iters=12)
        path = part.save(tmp_path / "part")
        read, here = Solution.load(path), Solution.load(path, game=game)
        assert here.game is game
        assert read.game.name == "kuhn(players=3, cards=4), teams 0+1 v 2"
        for start in (part, read, here):
            again = solve(start.game, start=start, iters=18)
            assert bits(again.state) == bits(whole.state)
        swapped = team_game(game.game, ((2,), (0, 1)))
        with pytest.raises(ValueError, match=r"the file is of .* 0\+1 v 2, not of .* 2 v 0\+1"):
            Solution.load(path, game=swapped)
