"""Payoffs at the ends of the range of floats: the same strategies, bit for bit, as near 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorcfr import (
    GameError,
    Payoff,
    Solution,
    best_response,
    compile_game,
    load_game,
    save_game,
    solve,
)
from tensorcfr.analysis import regrets, walkthrough
from tensorcfr.games.kuhn import KuhnPoker
from tensorcfr.games.matrix import MatrixGame

EXTREME = [2.0**1020, 2.0**-1030, 2.0**500, 2.0**-500]
PENNIES = np.array([[1.0, -2.0], [-3.0, 4.0]])


class ScaledKuhn(KuhnPoker):
    """Kuhn poker whose coefficients, matrices, or both, are scaled by powers of two."""

    def __init__(self, coefficient: int, matrix: int) -> None:
        super().__init__()
        self.exponents = coefficient, matrix

    def node(self, betting: Any) -> Any:
        found = super().node(betting)
        if isinstance(found, Payoff):
            return found._replace(coefficient=float(np.ldexp(1.0, self.exponents[0])))
        return found

    def matrix(self, key: Any) -> np.ndarray:
        return np.ldexp(super().matrix(key), self.exponents[1])


@pytest.mark.parametrize("algorithm", ["cfr", "cfr+", "dcfr", "pdcfr+", "pcfr+"])
@pytest.mark.parametrize("scale", EXTREME)
def test_a_matrix_game(scale: float, algorithm: str) -> None:
    """Powers of two change no bit; before, payoffs of 5e307 or 1e-310 left strategies uniform."""
    plain = solve(compile_game(MatrixGame(PENNIES)), algorithm, iters=200)
    game = compile_game(MatrixGame(PENNIES * scale))
    found = solve(game, algorithm, iters=200)
    assert found.policy.probabilities.tobytes() == plain.policy.probabilities.tobytes()
    assert found.value == tuple(np.array(plain.value) * scale)
    assert found.evaluation.best_responses == tuple(
        np.array(plain.evaluation.best_responses) * scale
    )
    np.testing.assert_array_equal(
        game.utilities, compile_game(MatrixGame(PENNIES)).utilities * scale
    )
    assert game.zero_sum


@pytest.mark.parametrize("exponents", [(1010, 0), (0, 1010), (900, 110), (-1030, 0), (0, -1030)])
def test_private_hands(exponents: tuple[int, int], tmp_path: Path) -> None:
    """Coefficient, matrix or both extreme; solved, answered, analysed, saved and read."""
    scale = float(np.ldexp(1.0, sum(exponents)))
    plain, game = compile_game(KuhnPoker()), compile_game(ScaledKuhn(*exponents))
    assert game.unit != 1.0
    ours, theirs = (solve(one, "cfr+", iters=100) for one in (game, plain))
    assert ours.policy.probabilities.tobytes() == theirs.policy.probabilities.tobytes()
    assert ours.exploitability == pytest.approx(theirs.exploitability * scale, rel=1e-9)
    answers = [best_response(one, s.policy, 1) for one, s in ((game, ours), (plain, theirs))]
    assert answers[0].value == answers[1].value * scale
    points = [regrets(one, checkpoints=[7])[0] for one in (game, plain)]
    assert points[0].overall == pytest.approx(np.array(points[1].overall) * scale, rel=1e-9)
    assert points[0].overall_bound == pytest.approx(
        np.array(points[1].overall_bound) * scale, rel=1e-9
    )
    walks = [walkthrough(one, "cfr", iters=1).iterations[0]["K"] for one in (game, plain)]
    assert walks[0].new_regret == tuple(np.array(walks[1].new_regret) * scale)
    assert walks[0].new_strategy == walks[1].new_strategy
    kept = Solution.load(ours.save(tmp_path / "s"))
    assert (kept.game.unit, kept.value) == (game.unit, ours.value)
    again = solve(kept.game, start=kept, iters=10)
    assert again.value == solve(game, "cfr+", iters=110).value
    assert load_game(save_game(game, tmp_path / "g")).digest == game.digest != plain.digest
    single = solve(game, "cfr+", iters=100, precision="float32")
    assert single.exploitability == pytest.approx(ours.exploitability, rel=1e-3)


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 5e307])
def test_rules_with_a_parameter_in_the_unit_of_payoff(scale: float) -> None:
    """Hedge plays a game of any scale about as the game near 1: eta counts in its unit."""
    game = compile_game(MatrixGame(np.array([[1.0, 0.0], [0.0, 0.5]]) * scale))
    solution = solve(game, "hedge", iters=5000)
    assert solution.policy["P0"][str(0)] == pytest.approx(1 / 3, abs=0.02)  # 0.5 x = 1 (1 - x)


def test_the_linear_program() -> None:
    pytest.importorskip("scipy")
    game = compile_game(ScaledKuhn(0, 1000))
    assert solve(game, "lp").value[0] == pytest.approx(-(2.0**1000) / 18, rel=1e-9)


@pytest.mark.parametrize("spec", ["leduc", "goofspiel", "kuhn(players=3)", "liars_dice(faces=3)"])
def test_ordinary_games_are_counted_in_1(spec: str) -> None:
    assert compile_game(spec).unit == 1.0


@pytest.mark.parametrize(
    "game",
    [
        MatrixGame(np.array([[[1e308, 0.0], [0.0, 1e308]], [[-1e308, 1e308], [1.0, 0.0]]])),
        MatrixGame(np.array([[1.7e308, -1.7e308], [0.0, 0.0]])),
        ScaledKuhn(1023, 0),
    ],
    ids=["sum", "difference", "hands"],
)
def test_what_cannot_be_held_is_refused(game: Any) -> None:
    with pytest.raises(GameError, match=r"too large|not finite"):
        compile_game(game)
