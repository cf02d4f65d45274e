"""Reports on many boards in the viewer, and the textures of boards."""

from __future__ import annotations

import time
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.browsing import TURN
from tensorcfr import Solution, compile_game, solve
from tensorcfr.analysis import BoardReport, solve_boards
from tensorcfr.games.holdem import Holdem, read_cards
from tensorcfr.games.poker.flops import flops, texture
from tensorcfr.games.poker.strength import CATEGORY_SHIFT, STRAIGHT, STRAIGHT_FLUSH, strengths
from tensorcfr.viewer.reports import Reports
from tensorcfr.viewer.session import Session
from tensorcfr.viewer.spot_form import SpotForm

BOARDS = ["Td9d6hQd", "7c7d2h2s", "AsKsQs4h"]


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(solve(compile_game("holdem", **TURN), "dcfr", iters=10, precision="float32"))


def reports_of(session: Session, folder: Path) -> Reports:
    """New reports of a session that saves in a folder."""
    session.folder, session.reports = folder, Reports(session)
    return session.reports


def finished(reports: Reports) -> dict[str, Any]:
    """The report after its work."""
    while (told := reports.status())["running"] or told["opening"]:
        time.sleep(0.02)
    return told


def test_rows_are_those_of_solve_boards(session: Session, tmp_path: Path) -> None:
    reports = reports_of(session, tmp_path)
    node = session.nodes.place("check")
    reports.begin(" ".join(BOARDS), node, 1.0)
    told = finished(reports)
    expected = solve_boards(Holdem(**TURN), BOARDS, line="check", target="1%", threads=1)
    assert (told["line"], told["done"], told["boards"], told["error"]) == ("check", 3, 3, None)
    assert tuple(told["actions"]) == expected.actions
    for row, twin in zip(told["rows"], expected.rows, strict=True):
        for name in ("board", "player", "weight", "iterations", *expected.actions):
            assert row[name] == pytest.approx(twin[name], abs=1e-12), name
        for name in ("value", "equity"):
            assert row[name] == pytest.approx(twin[name], rel=1e-9)
        assert row["suits"] == texture(row["board"])["suits"]
    # The same report goes on from its table; another line has another one.
    began = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(began) == 1
    again = reports_of(session, tmp_path)
    again.begin(f"{BOARDS[0]} 2c3c4c5d", node, 1.0)
    first, _ = finished(again)["rows"]
    assert first["seconds"] == told["rows"][0]["seconds"]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_board_is_opened_and_solved(session: Session, tmp_path: Path) -> None:
    shown = Session(session.solutions[0].solution, precision="float32")
    reports = reports_of(shown, tmp_path)
    with pytest.raises(ValueError, match="no board '7c7d2h2s'"):
        reports.open(BOARDS[1])
    reports.begin(BOARDS[1], 0, 1.0)
    told = finished(reports)
    assert told["kept"] == [BOARDS[1]]
    kept, _ = reports._solutions[BOARDS[1]]
    reports.open(BOARDS[1])
    assert finished(reports)["opened"] == 1
    # The solution of the report is shown; without it the board is solved to the same target.
    assert shown.solutions[0].solution is kept
    assert shown.status()["running"] is None
    kept.save(tmp_path / "kept.npz")
    assert Solution.load(tmp_path / "kept.npz", registered=False).iterations == kept.iterations
    reports.forget()
    reports.open(BOARDS[1])
    finished(reports)
    while shown.status()["running"]:
        time.sleep(0.02)
    about = shown.about()
    assert about["game"] == f"holdem {BOARDS[1]}"
    assert about["solutions"][0]["exploitability"] <= 1.0  # Per cent of a pot of 100.


def test_a_new_spot_ends_the_report(session: Session, tmp_path: Path) -> None:
    """It ends within the solve of a board, and its table has no row of that board."""
    shown = Session(session.solutions[0].solution, precision="float32")
    reports, form = shown.reports, SpotForm(shown)
    shown.folder = tmp_path
    reports.begin(" ".join(BOARDS), 0, 1e-9)
    form.begin({"game": "kuhn", "iterations": 1})
    told = finished(reports)
    assert form.session is not shown
    assert told["rows"] == []
    assert told["error"] is None
    assert not list((tmp_path / "reports").iterdir())


def test_solutions_are_dropped_if_memory_is_short(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tensorcfr.viewer.reports.free_memory", lambda: 0)
    reports = reports_of(session, tmp_path)
    reports.begin(BOARDS[1], 0, 1.0)
    assert finished(reports)["kept"] == []


def test_solutions_that_are_kept_have_a_limit(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quarter of the free memory at the beginning; none after a new spot has begun."""
    shown = Session(session.solutions[0].solution, precision="float32")
    reports = shown.reports
    reports.begin(BOARDS[1], 0, 1.0)
    assert finished(reports)["kept"] == [BOARDS[1]]
    # Enough for the solve, and for one solution but not for two.
    monkeypatch.setattr(
        "tensorcfr.viewer.reports.free_memory", lambda size=reports.nbytes: 6 * size
    )
    reports.begin(" ".join(BOARDS), 0, 1.0)
    assert finished(reports)["kept"] == [BOARDS[-1]]
    start = SpotForm(shown)
    monkeypatch.setattr(start, "_start", lambda *_: None)
    start.begin({"spot": shown.rules.options, "iterations": 1})
    assert reports.status()["kept"] == []


def test_only_rows_that_are_new_are_sent(session: Session, tmp_path: Path) -> None:
    reports = reports_of(session, tmp_path)
    reports.begin(" ".join(BOARDS), 0, 1.0)
    told = finished(reports)
    assert (told["number"], told["first"], len(told["rows"])) == (1, 0, 3)
    later = reports.status(1, 2)
    assert (later["first"], later["rows"]) == (2, told["rows"][2:])
    # Rows of an earlier report do not count.
    assert reports.status(0, 2)["rows"] == told["rows"]


def test_cards_on_the_way_stand_for_all(session: Session, tmp_path: Path) -> None:
    reports = reports_of(session, tmp_path)
    reports.begin(BOARDS[0], session.nodes.place("check check 7s"), 2.0)
    told = finished(reports)
    assert told["line"] == "check check *"
    assert [row["board"] for row in told["rows"]] == [BOARDS[0]] * 48


def test_refusals(session: Session, tmp_path: Path) -> None:
    reports = reports_of(session, tmp_path)
    for boards, node, target, message in (
        ("25", 0, None, "4 cards on the board"),
        ("Td9d6h", 0, None, "not a board of 4 cards"),
        ("Td9d6hQd Td9d6hQd", 0, None, "occurs twice"),
        ("", 0, None, "give 1 to 1,755"),
        (BOARDS[0], session.nodes.place("check check"), None, "a player acts"),
        (BOARDS[0], 0, -1.0, "target must be a number above 0"),
        (BOARDS[0], 0, True, "target must be a number above 0"),
    ):
        with pytest.raises(ValueError, match=message):
            reports.begin(boards, node, target)
    with pytest.raises(TypeError, match="boards a text"):
        reports.begin(25, 0, None)
    reports.begin("Td9d6hQ0", 0, None)
    assert "Q0" in finished(reports)["error"]
    with pytest.raises(ValueError, match="is not a spot"):
        Session(solve(compile_game("leduc"), iters=2)).reports.begin("25", 0, None)


def test_flops_of_unequal_weights_are_refused() -> None:
    """As by :func:`solve_boards`: their means would be those of other flops."""
    flop = TURN | {"board": "Td9d6h", "ranges": ("AA", "KK"), "bets": "a"}
    for more, reason in (
        ({"folded": ("QQ",)}, "folded players make some flops likelier"),
        ({"dead": "2c2d"}, "needs the full deck of 52 cards"),
    ):
        rules = Holdem(**flop, **more)
        with pytest.raises(ValueError, match=reason):
            solve_boards(rules, 3)
        session = Session(solve(compile_game(rules), iters=0, precision="float32"))
        with pytest.raises(ValueError, match=reason):
            Reports(session).begin("3", session.nodes.place("start"), 1.0)


@pytest.mark.parametrize(
    "board", [flop.board for flop in flops(30)] + ["5c4d2h", "Ac2d3h", "AcKdTh", "9c9d9h"]
)
def test_textures(board: str) -> None:
    """By counting, and by every hand that could make a straight."""
    cards = np.array(read_cards(board, "board"))
    told, suits, ranks = texture(board), set(board[1::2]), board[::2]
    assert told["suits"] == {1: "monotone", 2: "two-tone", 3: "rainbow"}[len(suits)]
    assert told["pairing"] == {1: "trips", 2: "paired", 3: "unpaired"}[len(set(ranks))]
    assert told["height"] == max(ranks, key="23456789TJQKA".index)
    hands = np.array([hand for hand in combinations(range(52), 2) if not set(hand) & set(cards)])
    # Straight flushes are straights, too.
    best = strengths(cards, hands) >> CATEGORY_SHIFT
    straight = bool(((best == STRAIGHT) | (best == STRAIGHT_FLUSH)).any())
    assert told["straights"] == ("possible" if straight else "impossible")
    assert texture(board + "2s") == told


def test_means_by_texture() -> None:
    """Groups of rows by a property of the flop, against sums by hand."""
    rows = tuple(
        {"board": flop.board, "weight": flop.weight, "value": float(k), "equity": 0.5, "check": 1.0}
        for k, flop in enumerate(flops(40))
    )
    report = BoardReport("", ("check",), rows)
    for key in ("suits", "pairing", "height", "straights"):
        sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for row in rows:
            group = sums[texture(row["board"])[key]]
            group[0] += row["weight"] * row["value"]
            group[1] += row["weight"]
        grouped = {row[key]: row for row in report.group_by(key)}
        assert grouped.keys() == sums.keys()
        for name, (total, weight) in sums.items():
            assert grouped[name]["value"] == pytest.approx(total / weight, rel=1e-12)
            assert grouped[name]["weight"] == pytest.approx(weight, rel=1e-12)
    with pytest.raises(ValueError, match="suits, pairing, height, straights"):
        report.group_by("colour")
