"""NashConv curves equal OpenSpiel's, iteration by iteration, as far as rounding lets them.

The numbers and where they come from are in ``data/openspiel_curves.json``.  Each curve is stored
up to the iteration to which it does not depend on the order of floating-point sums.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from support.paths import DATA as FILES
from tensorcfr import Algorithm, compile_game, solve
from tensorcfr.algorithms import CFR, CFR_PLUS, DCFR, LCFR

DATA: dict[str, Any] = json.loads((FILES / "openspiel_curves.json").read_text())
TOLERANCE = 1e-9
LEDUC_AT_500 = 1e-8
"""By the 500th iteration of CFR, Leduc has made 1e-9 of a rounding of 1e-16: OpenSpiel is 6e-10
away from exact arithmetic there, and another order of sums 1e-9."""

ALGORITHMS: dict[str, Algorithm] = {
    "cfr_alternating": CFR,
    "cfr_alternating_linear_avg": CFR(average_power=1),
    "cfr_simultaneous": CFR(alternating=False),
    "cfr_plus": CFR_PLUS,
    "cfr_simultaneous_linear_avg_rm_plus": CFR_PLUS(alternating=False),
    "rm_plus_alternating_uniform_avg": CFR_PLUS(average_power=0),
    "dcfr_1.5_0_2": DCFR,
    "lcfr": LCFR,
}

SMALL = ("kuhn", "kuhn(players=3)", "rock_paper_scissors", "goofspiel(cards=3)")
"""Games whose whole curves take a few seconds with the JIT off."""
CASES = [
    pytest.param(game, algorithm, marks=() if game in SMALL else pytest.mark.compiled)
    for game, curves in DATA["curves"].items()
    for algorithm, curve in curves.items()
    if len(curve["nash_conv"]) > 1
]


@pytest.mark.parametrize(("game", "algorithm"), CASES)
def test_nash_conv_curve(game: str, algorithm: str) -> None:
    expected = DATA["curves"][game][algorithm]["nash_conv"]
    marks = DATA["iterations"][: len(expected)]
    solution = solve(compile_game(game), ALGORITHMS[algorithm], iters=marks[-1], checkpoints=marks)
    assert [point.iteration for point in solution.trace] == marks
    curve = [point.nash_conv for point in solution.trace]
    last = LEDUC_AT_500 if (game, marks[-1]) == ("leduc", 500) else TOLERANCE
    np.testing.assert_allclose(curve[:-1], expected[:-1], rtol=0, atol=TOLERANCE)
    assert curve[-1] == pytest.approx(expected[-1], rel=0, abs=last)


TIES: dict[str, Any] = json.loads((FILES / "exact_curves.json").read_text())["curves"]


@pytest.mark.compiled
@pytest.mark.parametrize("algorithm", ["cfr_alternating", "cfr_plus"])
@pytest.mark.parametrize("game", TIES)
def test_curves_of_games_with_ties_equal_exact_arithmetic(game: str, algorithm: str) -> None:
    """Regrets that are 0 in exact arithmetic are 0 here too (``docs/numerics.md``)."""
    curve = TIES[game][algorithm]
    marks = curve["iterations"]
    solution = solve(compile_game(game), ALGORITHMS[algorithm], iters=marks[-1], checkpoints=marks)
    found = [point.nash_conv for point in solution.trace]
    np.testing.assert_allclose(found, curve["nash_conv"], rtol=0, atol=TOLERANCE)
