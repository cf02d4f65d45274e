"""The form: a spot's size before it is built, its ranges as grids, and the solve that it begins."""

from __future__ import annotations

import json
import time
from threading import Thread
from typing import Any

import numba
import numpy as np
import pytest

from support.browsing import built, wait_for_solve
from tensorcfr._util.compiles import compiles_seen
from tensorcfr.compilers import game_size
from tensorcfr.games.holdem import grid_place
from tensorcfr.games.poker.deck import HANDS
from tensorcfr.viewer.session import BusyError
from tensorcfr.viewer.spot_form import SpotForm

SPOT: dict[str, Any] = {
    "board": "Td9d6hQdQs",
    "ranges": ["AA:0.5,KK,AJs", "QJs,88"],
    "pot": 100,
    "stacks": 150,
    "bets": {"river": "50%"},
    "raises": {"river": "a"},
}


def test_a_range_as_a_grid() -> None:
    found = SpotForm().range("AA:0.5,KK,AsKs,T9o")
    grid = np.array(found["grid"])
    assert found["combos"] == pytest.approx(6 * 0.5 + 6 + 1 + 12)
    expected = {"AA": 0.5, "KK": 1.0, "AKs": 0.25, "T9o": 1.0}
    assert [grid[0, 0], grid[1, 1], grid[0, 1], grid[5, 4]] == list(expected.values())
    assert np.count_nonzero(grid) == 4
    counts = np.zeros((13, 13))
    for hand in HANDS:
        counts[grid_place(hand)] += 1
    assert (grid * counts).sum() == pytest.approx(found["combos"])
    assert SpotForm().range("  ")["combos"] == 0.0
    with pytest.raises(ValueError, match="is not a group of hands"):
        SpotForm().range("AA,foo")
    with pytest.raises(TypeError, match="a range must be a text"):
        SpotForm().range(None)


def test_the_size_is_that_of_the_game() -> None:
    said = SpotForm().size(SPOT)
    size = game_size("holdem", **SPOT)
    assert said["infosets"] == size.infosets
    assert said["public_nodes"] == size.public_nodes
    assert said["bytes"] == int(size.bytes_in_all("float32")[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"board": ""}, "the spot has no board"),
        ({"board": "Td9d"}, "a board has 3 to 5"),
        ({"ranges": ["", ""]}, "the spot has no ranges"),
        ({"ranges": ["QQ", "xx"]}, "ranges\\[1\\]"),
        ({"pot": None}, "the spot has no pot"),
        ({"path": "/etc/passwd"}, "a spot has no 'path'"),
        ({"bets": {"river": "many"}}, "is not a size"),
    ],
)
def test_spots_that_make_no_sense(change: dict[str, Any], message: str) -> None:
    start = SpotForm()
    with pytest.raises(ValueError, match=message):
        start.size(SPOT | change)
    with pytest.raises(ValueError, match=message):
        start.begin({"spot": SPOT | change, "iterations": 5})
    status = start.status()
    assert (status["building"], status["ready"], status["error"]) == (False, False, None)


def test_only_built_in_games_are_opened() -> None:
    for source in ("/etc/passwd", "openspiel:chess", "spot.toml", "Kuhn", "kuhn(cards=3).efg"):
        with pytest.raises(ValueError, match="there is no game"):
            SpotForm().begin({"game": source, "iterations": 5})
    for given in ([], {"spot": 5}, {"game": 7}):
        with pytest.raises(TypeError):
            SpotForm().begin(given)


def test_what_the_form_cannot_take() -> None:
    """A target that is no float, a game that is not a text, betting without end."""
    river = SPOT | {"board": "Td9d6hQc2s"}
    for target in (10**400, "1", -1, float("nan"), True):
        with pytest.raises(ValueError, match="target must be a number above 0"):
            SpotForm().begin({"spot": river, "iterations": 5, "target": target})
    for game in (5, [], {}, None):
        with pytest.raises(ValueError, match="cannot read the game"):
            SpotForm().size(river | {"game": game})
        with pytest.raises(TypeError, match="a range must be a text"):
            SpotForm().range("AA", game)
    many = {"board": "Td9d6h", "stacks": 10**5, "bets": "1c", "raises": "min,2x,3x,7c"}
    with pytest.raises(ValueError, match=r"more than .* public nodes; give fewer sizes"):
        SpotForm().size(SPOT | many)


def test_a_small_game_is_built_and_solved() -> None:
    start = SpotForm()
    start.begin({"game": "kuhn", "iterations": 40, "target": None})
    assert built(start)["ready"]
    assert start.session is not None
    wait_for_solve(start.session)
    assert start.session.about()["solutions"][0]["iterations"] == 40
    json.dumps(start.status())
    start.begin({"game": "kuhn", "iterations": 0})
    status = built(start)
    assert "iterations must be" in status["error"]


def test_one_game_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    start = SpotForm()
    monkeypatch.setattr("tensorcfr.viewer.spot_form.compile_game", lambda source: time.sleep(0.3))
    start.begin({"game": "kuhn", "iterations": 5})
    with pytest.raises(BusyError):
        start.begin({"game": "kuhn", "iterations": 5})
    assert built(start)["error"]


def test_a_spot_is_built_and_solved_to_its_target() -> None:
    """One per cent of a pot of 20 chips."""
    start = SpotForm()
    start.begin({"spot": SPOT | {"pot": 20}, "iterations": 5000, "target": 1.0})
    assert built(start)["ready"], start.error
    assert start.session is not None
    wait_for_solve(start.session)
    solution = start.session.solutions[0].solution
    assert solution.exploitability <= 0.2
    assert 0 < solution.iterations < 5000


def test_a_spot_is_built_with_locks_before_its_first_solve() -> None:
    start = SpotForm()
    spot = SPOT | {"board": "Td9d6hQdQs"}
    start.begin({"spot": spot, "iterations": 300, "target": 1.0, "build_only": True, "threads": 1})
    assert built(start)["error"] is None
    session = start.session
    assert session is not None
    about = session.about()
    assert (about["solutions"][0]["iterations"], about["iterations"]) == (0, 300)
    session.solve({"KK": {"check": 1}}, about["iterations"])
    wait_for_solve(session)
    # The first solve replaces the strategies without iterations, and has the form's target.
    (shown,) = session.about()["solutions"]
    assert shown["locks"]["KK"]["check"] == 1.0
    assert shown["exploitability"] <= 1.0
    assert shown["iterations"] < 300


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_compiling_is_seen() -> None:
    """One kernel, whichever thread compiles it; then it is known."""

    @numba.njit
    def kernel(number: float) -> float:
        return number + 1.0

    with compiles_seen() as seen:
        assert (seen.begun, seen.now) == (0, 0)
        thread = Thread(target=kernel, args=(1.0,))
        thread.start()
        thread.join()
        begun = seen.begun
        assert begun >= 1
        assert kernel(2.0) == 3.0
        assert (seen.begun, seen.now) == (begun, 0)
    kernel(1)  # For another type, when nobody listens.
    assert seen.begun == begun
