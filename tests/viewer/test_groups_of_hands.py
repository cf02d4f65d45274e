"""Groups of hands in place of the 13 x 13, beside the table of the line."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tensorcfr import Locks, Solution, compile_game, solve
from tensorcfr.analysis import SolvedSpot
from tensorcfr.viewer.card_nodes import LISTED
from tensorcfr.viewer.session import Session

LINE = "check"


@pytest.fixture(scope="module")
def river() -> Solution:
    spot = {"board": "Td9d6hQcTs", "pot": 100, "stacks": 300, "bets": "pot"}
    game = compile_game("omaha", ranges=("AA,QQ$ds,JT98", "TT,AA$ds:0.5,KJ98"), **spot)
    return solve(game, iters=10)


def test_groups_are_those_of_the_table(river: Solution) -> None:
    session, table = Session(river), SolvedSpot(river).table(LINE)
    session.solutions[0].get()
    at = session.nodes.place(LINE)
    node, equity = session.node(at, 0), session.extra("equity", at, 0)
    for by in ("pairs", "suits", "made"):
        said = {row["name"]: row for row in node["groups"][by] if row["reach"] > 0}
        expected = table.groups(by)
        assert list(said) == [row[by] for row in expected]
        for row in expected:
            one = said[row[by]]
            assert one["reach"] / node["reach"] == pytest.approx(row["share"], abs=1e-9)
            assert one["weight"] == pytest.approx(row["combos"], abs=1e-9)
            assert one["p"] == pytest.approx([row[action] for action in table.actions], abs=1e-9)
            assert one["ev"] == pytest.approx(row["value"], abs=1e-6)
            known = equity["groups"][table.player][by][one["name"]]
            assert known == pytest.approx(row["equity"], abs=1e-9)
    cells = {row["name"]: row["p"] for row in node["groups"]["cell"] if row["reach"] > 0}
    grid, labels = table.grid(table.strategy), table.places.labels
    for row, column in np.ndindex(table.places.shape):
        if not np.isnan(grid[row, column]).any():
            np.testing.assert_allclose(cells[labels[row][column]], grid[row, column], atol=1e-9)
    assert node["value"] == pytest.approx(table.mean(table.value), abs=1e-6)


def test_the_likely_hands_of_each_group_are_listed(river: Solution) -> None:
    """So many of each that a page holds no more, whatever the range."""
    session = Session(river)
    node = session.node(session.nodes.place(LINE), 0)
    table = SolvedSpot(river).table(LINE)
    listed = {row["hand"] for row in node["hands"]}
    assert len(listed) == len(node["hands"]) < len(table.hands) / 3
    for by in table.grouped:
        names = [row[by] for row in table.rows()]
        for name, count in Counter(names).items():
            own = np.array([one == name for one in names])
            least = min(LISTED, count)
            likely = np.sort(table.share[own])[-least]
            must = [h for h in np.flatnonzero(own) if table.share[h] > likely * (1 + 1e-9)]
            assert {table.hands[h] for h in must} <= listed
            assert sum(table.hands[h] in listed for h in np.flatnonzero(own)) >= least
    for row in node["hands"]:
        assert row["p"] == table.strategy[table.hands.index(row["hand"])].tolist()


@pytest.mark.full
def test_a_place_of_the_grid_is_a_range(river: Solution) -> None:
    """A lock by what the page calls it is one of all its hands."""
    session = Session(river)
    node = session.node(session.nodes.place(LINE), 0)
    cell = next(row for row in node["groups"]["cell"] if row["name"] == "AA double-suited")
    locks = Locks(river.game, {f"{cell['range']} {LINE}": {"check": 1.0}}).probabilities()
    table = SolvedSpot(river).table(LINE)
    place = table.places.place
    own = (place[:, 0] == 0) & (place[:, 1] == 0)
    assert own.sum() == cell["hands"]
    for hand, locked in zip(table.hands, own.tolist(), strict=True):
        at = river.game.locate(f"{hand} {LINE}")
        row = dict(zip(at.actions, locks[at.numbers].tolist(), strict=True))
        assert (row["check"] == 1.0) == locked
