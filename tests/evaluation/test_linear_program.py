"""The exact linear program: game values to rounding, nothing left to exploit, clear refusals."""

from __future__ import annotations

import sys
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from support import reference
from support.equality import as_game
from support.properties import examples
from support.random_games import RandomGame, RandomPublicTreeGame, games, public_tree_games
from tensorcfr import MemoryLimitError, Policy, best_response, compile_game, evaluate, solve
from tensorcfr.algorithms import LP
from tensorcfr.errors import MissingExtraError
from tensorcfr.evaluation.linear_program import bytes_needed, equilibrium
from tensorcfr.games.matrix import MatrixGame
from tensorcfr.kernels.evaluation import realization_plan
from tensorcfr.rules import Chance, Decision, Game, Terminal
from tensorcfr.solvers import Status

ACCURACY = 1e-10
"""Of values and of exploitability.  A vertex of the program is exact but for rounding (1e-15 was
seen); an interior point without crossover, or HiGHS' own tolerance of 1e-7, would not pass."""

# Values for player 0.  Fractions are proved: both players' strategies of OpenSpiel's game were
# rounded to rationals, and exact best responses to them agree.  The decimals are brackets of
# width 1e-14, from best responses to a linear program's strategies.  Source of both: values.json
# of the reference figures that this library was built against (OpenSpiel 2.0.2, HiGHS); where
# another source is known it is named.
VALUES: dict[str, Fraction | float] = {
    # Two cards: each knows the other's.  The higher wins at least the ante, and the lower need
    # never lose more; both are dealt the higher equally often.
    "kuhn(cards=2)": Fraction(0),
    # H. W. Kuhn, "A simplified two-person poker", 1950.
    "kuhn": Fraction(-1, 18),
    "kuhn(cards=4)": Fraction(-1, 24),
    "kuhn(cards=5)": Fraction(-1, 15),
    "kuhn(cards=6)": Fraction(-11, 180),
    "kuhn(cards=7)": Fraction(-1, 14),
    "kuhn(cards=8)": Fraction(-1, 16),
    "kuhn(cards=9)": Fraction(-7, 108),
    "kuhn(cards=10)": Fraction(-11, 180),
    "leduc": -0.08560642407800,
    "liars_dice(faces=2)": Fraction(1, 2),
    "liars_dice(faces=3)": Fraction(1, 9),
    "liars_dice(faces=4)": Fraction(1, 16),
    "liars_dice(faces=5)": Fraction(1, 125),
    # OpenSpiel tells the dice of a hand apart; here they come sorted, which loses nothing.
    "liars_dice(dice=2, faces=2)": Fraction(7, 8),
    # The payoffs are antisymmetric.
    "goofspiel(cards=3)": Fraction(0),
    "goofspiel(cards=4)": Fraction(0),
    "goofspiel(cards=5)": Fraction(0),
    "goofspiel(cards=4, payoff='point_difference')": Fraction(0),
    "rock_paper_scissors": Fraction(0),
    "matching_pennies": Fraction(0),
}


class Written(Game):
    """A game written out as a dictionary, history to node."""

    def __init__(self, nodes: dict[tuple[Any, ...], Decision | Chance | Terminal]) -> None:
        self.nodes = nodes

    def node(self, state: tuple[Any, ...]) -> Decision | Chance | Terminal:
        return self.nodes[state]


@pytest.mark.parametrize("spec", VALUES)
def test_value_is_the_known_one(spec: str) -> None:
    policy, evaluation = equilibrium(compile_game(spec))
    value = float(VALUES[spec])
    assert evaluation.values == pytest.approx((value, -value), abs=ACCURACY)
    assert abs(evaluation.nash_conv) < ACCURACY
    assert evaluate(policy.game, policy) == evaluation


@pytest.mark.slow
def test_value_of_liars_dice() -> None:
    # values.json of the reference figures; -7/258 to all digits, not proved.
    _, evaluation = equilibrium(compile_game("liars_dice"))
    assert evaluation.values[0] == pytest.approx(-0.027131782945736448, abs=ACCURACY)
    assert abs(evaluation.nash_conv) < ACCURACY


@pytest.mark.slow
def test_interior_point_takes_over_on_large_decks() -> None:
    # leduc(suits=4) is dense enough for the other method; no published value, so the
    # exploitability alone has to prove the solution.
    _, evaluation = equilibrium(compile_game("leduc(suits=4)"))
    assert abs(evaluation.nash_conv) < ACCURACY


def test_kuhn_strategies_are_those_of_the_paper() -> None:
    # Kuhn 1950: player 1's equilibrium strategy is unique, player 0's is a line segment with
    # the probability alpha in [0, 1/3] of bluffing with the jack.
    policy, _ = equilibrium(compile_game("kuhn"))
    bets = {label: row["bet"] for label, row in policy.items()}
    player_1 = {"Jp": 1 / 3, "Qp": 0.0, "Kp": 1.0, "Jb": 0.0, "Qb": 1 / 3, "Kb": 1.0}
    assert {label: bets[label] for label in player_1} == pytest.approx(player_1, abs=ACCURACY)
    alpha = bets["J"]
    assert -ACCURACY < alpha < 1 / 3 + ACCURACY
    player_0 = {"Q": 0.0, "K": 3 * alpha, "Jpb": 0.0, "Qpb": alpha + 1 / 3}
    assert {label: bets[label] for label in player_0} == pytest.approx(player_0, abs=ACCURACY)


def test_infosets_that_the_own_strategy_avoids_are_uniform() -> None:
    game = compile_game("liars_dice(faces=3)")
    policy, _ = equilibrium(game)
    reach = np.empty(game.n_sequences)
    realization_plan(game.form, policy.probabilities, reach)
    avoided = np.flatnonzero(reach[game.form.infoset_parent] == 0.0)
    assert len(avoided) > 0
    uniform = Policy.uniform(game).probabilities
    for infoset in avoided.tolist():
        own = game.sequences(infoset)
        assert policy.probabilities[own].tolist() == uniform[own].tolist()


@given(
    st.one_of(
        games(n_players=2, zero_sum=True),
        games(n_players=2, zero_sum=True, integer_payoffs=True),
        public_tree_games(n_players=2, zero_sum=True),
    )
)
@examples(90)
def test_nothing_beats_it_in_random_games(rules: RandomGame | RandomPublicTreeGame) -> None:
    """Ties make degenerate programs, whose dual variables are not unique."""
    policy, evaluation = equilibrium(compile_game(rules))
    assert abs(evaluation.nash_conv) < ACCURACY
    rows = {label: list(row.values()) for label, row in policy.items()}
    assert abs(reference.nash_conv(as_game(rules), rows)) < ACCURACY


def test_constant_sum_needs_no_shift() -> None:
    # One unit to share, by matching pennies where one side pays double the chance.
    to_player_0 = np.array([[1.0, 0.25], [0.0, 1.0]])
    game = compile_game(MatrixGame([to_player_0, 1.0 - to_player_0]))
    policy, evaluation = equilibrium(game)
    # p + 0 (1-p) = p / 4 + (1-p) for the row player: p = 4/7, which is also the value.
    assert evaluation.values == pytest.approx((4 / 7, 3 / 7), abs=ACCURACY)
    assert policy["P0"]["0"] == pytest.approx(4 / 7, abs=ACCURACY)
    assert evaluation.nash_conv < ACCURACY


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_unit_of_utility_does_not_matter(unit: float) -> None:
    payoffs = np.random.default_rng(7).normal(size=(8, 8))
    _, evaluation = equilibrium(compile_game(MatrixGame(unit * payoffs)))
    _, expected = equilibrium(compile_game(MatrixGame(payoffs)))
    assert evaluation.values[0] == pytest.approx(unit * expected.values[0], rel=1e-9)
    assert evaluation.nash_conv < ACCURACY * unit


def test_a_player_who_never_acts_and_a_game_about_nothing() -> None:
    alone = Written(
        {
            (): Chance({"sun": 0.25, "rain": 0.75}),
            ("sun",): Decision(1, "looks out", ("go", "stay")),
            ("rain",): Decision(1, "looks out", ("go", "stay")),
            ("sun", "go"): Terminal((-4.0, 4.0)),
            ("rain", "go"): Terminal((2.0, -2.0)),
            ("sun", "stay"): Terminal((0.0, 0.0)),
            ("rain", "stay"): Terminal((0.0, 0.0)),
        }
    )
    policy, evaluation = equilibrium(compile_game(alone))
    assert policy["looks out"] == {"go": 0.0, "stay": 1.0}
    assert evaluation.values == (0.0, 0.0)
    _, evaluation = equilibrium(compile_game(MatrixGame(np.zeros((2, 3)))))
    assert evaluation.best_responses == (0.0, 0.0)


def test_reaches_a_little_below_zero_are_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    # HiGHS promises reaches at least 0 only to its tolerance; -1e-13 was seen on leduc(ranks=10).
    honest = scipy.optimize.linprog

    def careless(*arguments: Any, **options: Any) -> Any:
        result = honest(*arguments, **options)
        result.x = result.x - 1e-13
        return result

    monkeypatch.setattr(scipy.optimize, "linprog", careless)
    policy, evaluation = equilibrium(compile_game("leduc"))
    assert policy.probabilities.min() >= 0.0
    assert abs(evaluation.nash_conv) < ACCURACY


# ------------------------------------------------------------------------------------ refusals


def test_three_players_are_refused() -> None:
    with pytest.raises(ValueError, match=r"needs two players, and kuhn\(players=3\) has 3"):
        equilibrium(compile_game("kuhn", players=3))


def test_general_sum_is_refused() -> None:
    # Total points: a tied prize goes to nobody, so the sum depends on the play.
    game = compile_game("goofspiel(cards=3, payoff='total_points')")
    with pytest.raises(ValueError, match=r"the utilities of goofspiel.* sum to 0 .* and to 6 "):
        equilibrium(game)


def test_memory_is_said_before_it_is_taken() -> None:
    game = compile_game("leduc")
    with pytest.raises(MemoryLimitError, match="linear program of leduc") as refusal:
        equilibrium(game, memory_limit=1_000_000)
    assert (refusal.value.needed, refusal.value.limit) == (bytes_needed(game), 1_000_000)
    equilibrium(game, memory_limit=bytes_needed(game))


def test_missing_scipy_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingExtraError, match=r"'scipy'.*pip install 'tensorcfr\[lp\]'"):
        equilibrium(compile_game("kuhn"))


def test_a_solver_that_fails_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = SimpleNamespace(status=4, message="numerical difficulties")
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: failed)
    with pytest.raises(RuntimeError, match="no optimum for kuhn: numerical difficulties"):
        equilibrium(compile_game("kuhn"))


# ------------------------------------------------------------------------------------ in solve


def test_solve_runs_it_by_name_and_by_record() -> None:
    game = compile_game("kuhn")
    for algorithm in ("lp", LP):
        solution = solve(game, algorithm)
        assert solution.status is Status.EXACT
        assert solution.algorithm == LP
        assert (solution.iterations, solution.trace, solution.state) == (0, (), None)
        assert solution.value[0] == pytest.approx(-1 / 18, abs=ACCURACY)
        assert solution.exploitability < ACCURACY
        assert best_response(game, solution.policy, 1).value == pytest.approx(1 / 18)
