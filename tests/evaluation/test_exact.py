"""Exact equilibria: a short program of its own, in fractions and on histories, proves them."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from support.equality import as_game
from support.properties import examples
from support.random_games import RandomGame, games
from support.reference import ChanceNode, Node, TerminalNode, Tree, build_tree
from tensorcfr import Policy, compile_game, solve
from tensorcfr.algorithms import LP
from tensorcfr.errors import CutError, MissingExtraError
from tensorcfr.evaluation import ExactEquilibrium, exact, exact_equilibrium
from tensorcfr.games import make_game
from tensorcfr.games.matrix import MatrixGame
from tensorcfr.rules import Chance, Decision, Game, Terminal
from tensorcfr.solvers import Status

Strategies = dict[str, dict[str, Fraction]]


def chances(node: ChanceNode) -> list[Fraction]:
    """The probabilities of a chance node as the fractions that they are, which sum to 1."""
    found = [Fraction(p).limit_denominator(1000) for p in node.probabilities]
    assert sum(found) == 1
    return found


def best_response_value(tree: Tree, strategies: Strategies, player: int) -> Fraction:
    """What the best answer to the others' strategies gets, by recursion over histories."""
    reaches: dict[int, Fraction] = {}
    chosen: dict[str, int] = {}

    def reach(node: Node, share: Fraction) -> None:
        """Chance's and the others' reaches."""
        reaches[id(node)] = share
        if isinstance(node, TerminalNode):
            return
        if isinstance(node, ChanceNode):
            shares = chances(node)
        elif node.infoset.player == player:
            shares = [Fraction(1)] * len(node.children)
        else:
            shares = list(strategies[node.infoset.label].values())
        for child, own in zip(node.children, shares, strict=True):
            reach(child, share * own)

    def value(node: Node) -> Fraction:
        """Reach times utility below a history."""
        if isinstance(node, TerminalNode):
            return reaches[id(node)] * Fraction(node.utilities[player])
        if isinstance(node, ChanceNode) or node.infoset.player != player:
            return sum(map(value, node.children), Fraction(0))
        return value(node.children[best(node.infoset.label)])

    def best(label: str) -> int:
        if label not in chosen:
            infoset = tree.infosets[label]
            sums = [
                sum((value(node.children[a]) for node in infoset.nodes), Fraction(0))
                for a in range(len(infoset.actions))
            ]
            chosen[label] = sums.index(max(sums))
        return chosen[label]

    reach(tree.root, Fraction(1))
    return value(tree.root)


class EvenChances(Game):
    """A game whose chance outcomes are all alike likely."""

    def __init__(self, rules: Game) -> None:
        self.rules, self.n_players = rules, rules.n_players

    def root(self) -> Any:
        return self.rules.root()

    def next(self, state: Any, action: Any) -> Any:
        return self.rules.next(state, action)

    def node(self, state: Any) -> Chance | Decision | Terminal:
        node = self.rules.node(state)
        if not isinstance(node, Chance):
            return node
        return Chance(dict.fromkeys(node.outcomes, 1 / len(node.outcomes)))


def check(rules: Any, found: ExactEquilibrium) -> None:
    """Probabilities are probabilities, and nobody gains by leaving them."""
    for row in found.strategies.values():
        assert sum(row.values()) == 1
        assert min(row.values()) >= 0
    tree = build_tree(rules)
    for player in (0, 1):
        assert best_response_value(tree, found.strategies, player) == found.values[player]


# Of Leduc poker no fraction was known.  The decimals are those of two best responses to a linear
# program's strategies, 1e-14 apart (tests/evaluation/test_linear_program.py has their source).
LEDUC = Fraction(-1454920850547486749701863871533, 16995463438839962469905132501930)
VALUES = {
    "kuhn": Fraction(-1, 18),
    "kuhn(cards=5)": Fraction(-1, 15),
    "leduc": LEDUC,
    "liars_dice(faces=3)": Fraction(1, 9),
    "goofspiel(cards=3)": Fraction(0),
    "rock_paper_scissors": Fraction(0),
}
"""Proved by an exact dual pair each; sources in tests/evaluation/test_linear_program.py."""


@pytest.mark.parametrize("spec", VALUES)
def test_the_value_and_the_proof(spec: str) -> None:
    found = exact_equilibrium(compile_game(spec))
    assert found.values == (VALUES[spec], -VALUES[spec])
    check(as_game(make_game(spec)), found)


def test_the_value_of_leduc_is_the_known_one() -> None:
    assert float(LEDUC) == pytest.approx(-0.08560642407800, abs=1e-14)


@pytest.mark.full
@pytest.mark.parametrize(
    ("spec", "value"),
    [
        ("liars_dice(faces=4)", Fraction(1, 16)),
        ("liars_dice(faces=5)", Fraction(1, 125)),
        # 40 digits of it were said to be -7/258, and not proved.
        ("liars_dice", Fraction(-7, 258)),
        ("goofspiel(cards=4, prizes='random')", Fraction(0)),
    ],
)
def test_larger_games(spec: str, value: Fraction) -> None:
    found = exact_equilibrium(compile_game(spec))
    assert found.values == (value, -value)
    check(as_game(make_game(spec)), found)


@pytest.mark.parametrize(("spec", "iterations"), [("kuhn", 2_000), ("leduc", 30_000)])
def test_from_what_iterations_found(spec: str, iterations: int) -> None:
    """No vertex: other strategies than the linear program's, and the same value."""
    game = compile_game(spec)
    found = exact_equilibrium(game, solve(game, "pdcfr+", iters=iterations).policy)
    assert found.values[0] == VALUES[spec]
    check(as_game(make_game(spec)), found)


@given(games(n_players=2, zero_sum=True, integer_payoffs=True))
@examples(40)
def test_random_games(rules: RandomGame) -> None:
    even = EvenChances(rules)
    check(even, exact_equilibrium(compile_game(even)))


def test_a_constant_sum_and_a_free_choice() -> None:
    """One unit to share; player 1's second column is as good as the first."""
    to_player_0 = np.array([[1.0, 1.0, 0.25], [0.0, 0.0, 1.0]])
    rules = MatrixGame([to_player_0, 1.0 - to_player_0])
    found = exact_equilibrium(compile_game(rules))
    assert found.values == (Fraction(4, 7), Fraction(3, 7))
    check(rules, found)


@pytest.mark.parametrize("unit", [2.0**-60, 2.0**70])
def test_payoffs_that_are_extreme(unit: float) -> None:
    payoffs = np.array([[3.0, -1.0], [-1.0, 1.0]])
    found = exact_equilibrium(compile_game(MatrixGame(unit * payoffs)))
    assert found.values[0] == Fraction(1, 3) * Fraction(unit)


def test_target_zero_is_exact() -> None:
    game = compile_game("kuhn")
    for algorithm in (None, "auto"):
        solution = solve(game, algorithm, target=0)
        assert (solution.status, solution.algorithm) == (Status.EXACT, LP)
        assert solution.exact.values == (Fraction(-1, 18), Fraction(1, 18))
        assert solution.nash_conv == pytest.approx(0, abs=1e-15)
        assert solution.policy["Q"]["bet"] == 0.0
    assert solve(game, "auto").exact is None
    assert solve(game, target=0, iters=3).iterations == 3


# ------------------------------------------------------------------------------------ refusals


def test_strategies_that_are_not_near() -> None:
    game = compile_game("kuhn")
    with pytest.raises(ValueError, match="kuhn has no exact equilibrium with the sequences and"):
        exact_equilibrium(game, Policy.uniform(game))


def test_payoffs_that_are_no_fractions() -> None:
    game = compile_game(MatrixGame(np.array([[np.pi, 0.0], [0.0, 1.0]])))
    with pytest.raises(ValueError, match=r"is 3\.14.* not a fraction with a denominator up to"):
        exact_equilibrium(game)


def test_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"needs two players, and kuhn\(players=3\) has 3"):
        exact_equilibrium(compile_game("kuhn(players=3)"))
    with pytest.raises(ValueError, match="target=0 asks for an exact equilibrium, and kuhn"):
        solve(compile_game("kuhn(players=3)"), target=0)
    with pytest.raises(CutError, match="the exact equilibrium needs a flat game"):
        exact_equilibrium(compile_game("kuhn", cut=1))
    monkeypatch.setattr(exact, "MOST_UNKNOWN", 1)
    with pytest.raises(ValueError, match="reaches are unknown, more than 1"):
        exact_equilibrium(compile_game("kuhn"))
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(MissingExtraError, match=r"'python-flint'.*tensorcfr\[exact\]'"):
        solve(compile_game("kuhn"), target=0)
