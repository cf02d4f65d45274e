"""Differences between two solutions at a line, and strategies in a game with other utilities."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.browsing import TURN
from tensorcfr import Solution, compile_game, evaluate, solve
from tensorcfr.analysis import SolvedSpot, model_locks, restate, table_change
from tensorcfr.cli.json_output import of_solution
from tensorcfr.games.holdem import grid_label, grid_place

PRIZES: dict[str, Any] = {"payouts": (50, 30, 20), "others": (90, 120)}
LINE = "check allin"


@pytest.fixture(scope="module")
def pair() -> tuple[Solution, Solution]:
    """A turn for chips, and for prizes."""
    games = compile_game("holdem", **TURN), compile_game("holdem", **TURN, **PRIZES)
    chips, prizes = (solve(game, "cfr+", iters=12, precision="float64") for game in games)
    return chips, prizes


def test_a_difference_hand_by_hand_and_as_a_grid(pair: Any, tmp_path: Path) -> None:
    first, second = (SolvedSpot(solution).table(LINE) for solution in pair)
    change = table_change(first, second)
    with open(change.save(tmp_path / "change.csv"), encoding="utf-8") as file:
        rows = {row["hand"]: row for row in csv.DictReader(file)}
    assert list(rows) == list(first.hands)
    sums: dict[str, list[np.ndarray]] = {}
    for k, hand in enumerate(first.hands):
        label = f"{hand} {LINE}"
        played = [solution.policy[label]["call"] for solution in pair]
        row = rows[hand]
        assert [float(row["first call"]), float(row["second call"])] == pytest.approx(played)
        assert float(row["change of call"]) == pytest.approx(played[1] - played[0], abs=1e-12)
        assert float(row["change of fold"]) == pytest.approx(played[0] - played[1], abs=1e-12)
        name = grid_label(*grid_place(first.cards[k]))
        parts = [np.array([t.share[k], t.share[k] * t.strategy[k, 1]]) for t in (first, second)]
        sums.setdefault(name, []).append(np.concatenate(parts))
        assert change.total_variation[k] == pytest.approx(abs(played[1] - played[0]))
    assert max(change.total_variation) > 0.01
    grid = change.grid()
    for place in np.ndindex(13, 13):
        name = grid_label(*place)
        if name in sums:
            one, one_calls, other, other_calls = np.sum(sums[name], axis=0)
            expected = other_calls / other - one_calls / one
            assert grid[place] == pytest.approx([-expected, expected], abs=1e-12)
        else:
            assert np.isnan(grid[place]).all()
    assert change.frequencies["call"] == pytest.approx(
        second.frequencies["call"] - first.frequencies["call"]
    )


def test_tables_that_do_not_fit(pair: Any) -> None:
    first = SolvedSpot(pair[0]).table(LINE)
    with pytest.raises(ValueError, match="second has another line than first: 'check'"):
        table_change(first, SolvedSpot(pair[1]).table("check"))
    with pytest.raises(TypeError, match="second must be a table of hands"):
        table_change(first, pair[1])


def test_strategies_in_a_game_with_other_utilities(pair: Any) -> None:
    """They equal the strategies by label, and their values are those of the other game."""
    chips, prizes = pair
    restated = restate(chips, prizes.game)
    by_label = {
        label: chips.policy[label] for player in range(2) for label in chips.game.labels_of(player)
    }
    assert restated.evaluation.gains == pytest.approx(
        evaluate(prizes.game, by_label).gains, abs=1e-12
    )
    assert restated.value == pytest.approx(evaluate(prizes.game, by_label).values, abs=1e-12)
    assert restated.value != pytest.approx(chips.value, abs=1e-3)
    back = restate(restated, chips.game)
    np.testing.assert_array_equal(back.policy.probabilities, chips.policy.probabilities)
    assert back.value == pytest.approx(chips.value, abs=1e-12)
    assert restate(chips, chips.game) is chips
    ranges = ("AA,KK,AQs", "QJs,88")
    # Other lines, other hands, and hands that are not merged.
    others: list[dict[str, Any]] = [{"bets": "50%"}, {"ranges": ranges}, {"symmetry": False}]
    for other in others:
        with pytest.raises(ValueError, match="differ in more than utilities"):
            restate(chips, compile_game("holdem", **TURN | other))


@pytest.mark.parametrize("cut", [False, "auto"])
def test_locks_stay(cut: Any, interpreted: None) -> None:
    river = TURN | {"board": "Td9d6hQdQs", "bets": "a"}
    game, raked = (compile_game("holdem", **river, rake=rake, cut=cut) for rake in (0.0, 0.1))
    locks = {next(iter(game.labels_of(0))): {"allin": 1}}
    restated = restate(solve(game, "cfr+", iters=5, locks=locks), raked)
    assert restated.locks is not None
    assert restated.locks.game is raked
    assert restated.evaluation.gains == pytest.approx(
        evaluate(raked, restated.policy, locks=restated.locks).gains
    )
    assert sum(restated.value) < -1.0


def test_a_model_stays(interpreted: None) -> None:
    """A response to a model has the values of the other game against that model; a rake refuses
    it."""
    river = TURN | {"board": "Td9d6hQdQs", "bets": "a"}
    game = compile_game("holdem", **river)
    other = compile_game("holdem", **river | {"stacks": 160})
    response = solve(game, "cfr+", iters=5, locks=model_locks(game, None, 1, 0.25))
    restated, model = restate(response, other), model_locks(other, None, 1, 0.25)
    assert restated.locks == model
    assert restated.value == evaluate(other, restated.policy, locks=model).values
    assert restated.value != pytest.approx(response.value, abs=1e-3)
    assert of_solution(restated)["model"] == {"player": 1, "method": "restricted", "weight": 0.25}
    with pytest.raises(ValueError, match="a response to a model needs a constant sum"):
        restate(response, compile_game("holdem", **river, rake=0.05))
