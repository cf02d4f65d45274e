"""What the viewer says of a game of cards equals what Python's tables of it say."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from support.browsing import TURN
from tensorcfr import Solution, compile_game, solve
from tensorcfr.analysis import SolvedSpot
from tensorcfr.analysis.action_colours import AGGRESSIVE, PASSIVE, action_colours
from tensorcfr.games.poker.groups import draws, made_hands
from tensorcfr.viewer import card_nodes as module
from tensorcfr.viewer.session import Session


@pytest.fixture(scope="module")
def turn() -> Solution:
    game = compile_game("holdem", **TURN)
    return solve(game, "dcfr", iters=7, precision="float32")


@pytest.fixture(scope="module")
def session(turn: Solution) -> Session:
    return Session(turn)


def at(session: Session, line: str) -> int:
    return session.nodes.place(line or "start")


@pytest.mark.parametrize("line", ["", "check", "check allin", "check check 7s"])
def test_a_node_is_the_table_of_its_line(session: Session, turn: Solution, line: str) -> None:
    spot = SolvedSpot(turn)
    table, node = spot.table(line), session.node(at(session, line), 0)
    here = node["path"][-1]
    assert here["board"] == list(table.board)
    assert [stop["label"] for stop in node["path"][1:]] == line.split()
    rows = {row["hand"]: row for row in node["hands"]}
    own = {row["hand"]: row for row in node["ranges"][table.player]}
    share = np.array([rows[hand]["reach"] if hand in rows else 0.0 for hand in table.hands])
    np.testing.assert_allclose(share / share.sum(), table.share, atol=1e-12)
    for h, hand in enumerate(table.hands):
        assert own[hand]["weight"] == pytest.approx(table.weight[h], abs=1e-12)
        if hand in rows:
            np.testing.assert_allclose(rows[hand]["p"], table.strategy[h], atol=1e-12)
    cards = tuple(turn.game.nodes.rules.cards.index(card) for card in table.board)  # type: ignore[union-attr]
    named = zip(table.hands, made_hands(cards, table.cards), draws(cards, table.cards), strict=True)
    for hand, made, draw in named:
        assert (own[hand]["made"], own[hand]["draw"]) == (made, draw)
    for player, weights in enumerate(spot.ranges(line)):
        shown = [row["weight"] for row in node["ranges"][player]]
        np.testing.assert_allclose(shown, weights, atol=1e-12)


def test_chips_on_the_way(session: Session) -> None:
    """Pot 100; all-in of 150 on the turn; half the pot after two checks."""
    path = session.node(at(session, "check allin"), 0)["path"]
    assert [stop["chips"] for stop in path] == [
        {"pot": 100.0, "call": 0.0, "behind": (150.0, 150.0), "put_in": (50.0, 50.0)},
        {"pot": 100.0, "call": 0.0, "behind": (150.0, 150.0), "put_in": (50.0, 50.0)},
        {"pot": 250.0, "call": 150.0, "behind": (150.0, 0.0), "put_in": (50.0, 200.0)},
    ]
    assert [[step["label"] for step in stop["steps"]] for stop in path] == [
        ["check", "allin"],
        ["check", "allin"],
        ["fold", "call"],
    ]
    assert path[2]["colours"] == [PASSIVE["fold"], PASSIVE["call"]]
    river = session.node(at(session, "check check 7s bet50"), 0)["path"][-1]["chips"]
    assert river.pop("put_in") == (100.0, 50.0)
    assert river == {"pot": 150.0, "call": 50.0, "behind": (100.0, 150.0)}


def test_equities(session: Session, turn: Solution) -> None:
    spot = SolvedSpot(turn)
    for line in ("", "check", "check check 7s"):
        table, found = spot.table(line), session.extra("equity", at(session, line), 0)
        own = found["hands"][table.player]
        for hand, equity in zip(table.hands, table.equity.tolist(), strict=True):
            assert own[hand] == pytest.approx(equity, abs=1e-12, nan_ok=True)
        assert found["means"][table.player] == pytest.approx(table.mean(table.equity), abs=1e-12)
        assert sum(found["means"]) == pytest.approx(1.0, abs=1e-12)


def test_runouts(session: Session, turn: Solution) -> None:
    expected = SolvedSpot(turn).runouts("check check *", equity=True)
    found = session.extra("runouts", at(session, "check check"), 0)
    assert found["player"] == expected.player
    assert tuple(found["actions"]) == expected.actions
    assert list(found["cards"]) == [card for (card,) in expected.cards]
    for k, card in enumerate(found["cards"].values()):
        if expected.probability[k] > 0:
            np.testing.assert_allclose(card["p"], expected.frequency[k], atol=1e-12)
            assert card["equity"][expected.player] == pytest.approx(expected.equity[k], abs=1e-12)
    # All-in and called: nobody acts after the card.
    called = session.extra("runouts", at(session, "allin call"), 0)
    assert called["player"] is None
    assert all(card["p"] is None for card in called["cards"].values())
    with pytest.raises(ValueError, match="no card is dealt"):
        session.extra("runouts", at(session, "check"), 0)
    with pytest.raises(ValueError, match="has no odds"):
        session.extra("odds", 0, 0)


@pytest.mark.parametrize("line", ["", "check", "check check", "allin call", "allin fold"])
def test_a_whole_node_has_what_takes_longer(session: Session, line: str) -> None:
    number = at(session, line)
    whole, node = session.whole_node(number, 0), session.node(number, 0)
    extras = whole.pop("extras")
    assert whole.keys() == node.keys()
    kinds = {"decision": {"equity"}, "chance": {"equity", "runouts"}, "terminal": set[str]()}
    assert extras.keys() == kinds[node["kind"]]
    for name, found in extras.items():
        np.testing.assert_equal(found, session.extra(name, number, 0))


def test_too_many_boards_have_no_equity(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BOARDS", 40)
    found = session.extra("equity", 0, 0)
    assert found == {"hands": None, "means": [None, None], "boards": 48}


@pytest.mark.full
def test_locks_of_classes_are_shown_by_hand(turn: Solution, interpreted: None) -> None:
    """One lock for a class, one for all hands on every river."""
    given = {"KK": {"allin": 1}, "* check check *": {"check": 1}}
    locked = solve(turn.game, "dcfr", iters=2, precision="float32", locks=given)
    session = Session(turn, locked)
    rows = {row["hand"]: row["lock"] for row in session.node(0, 1)["hands"]}
    assert {lock and lock["allin"] for hand, lock in rows.items() if hand[0] + hand[2] == "KK"} == {
        1.0
    }
    assert {lock for hand, lock in rows.items() if hand[0] + hand[2] != "KK"} == {None}
    river = session.node(at(session, "check check 2c"), 1)["hands"]
    assert all(row["lock"]["check"] == 1.0 for row in river)
    assert not any(row["lock"] for row in session.node(0, 0)["hands"])


def slow_equity(rules: Any, hand: int) -> float:
    """A hand against all others on all boards of three cards, one board at a time."""
    won, met, hands = 0.0, 0, rules.hands[0]
    mine = hands[hand : hand + 1]
    for board in combinations(range(len(rules.cards)), 3):
        if set(board) & set(mine[0].tolist()):
            continue
        free = ~np.isin(hands, [*board, *mine[0]]).any(axis=1)
        (own,), others = rules.strength(board, mine), rules.strength(board, hands[free])
        won += (own > others).sum() + 0.5 * (own == others).sum()
        met += len(others)
    return won / met


def test_before_the_flop() -> None:
    """Sixteen cards, a flop of three: more boards than are listed, found by cards in any order."""
    game = compile_game(
        "limit_poker", ranks="JQKA", suits=4, deals=(3,), bets=(2, 2), raises=(1, 1), blinds=(1, 2)
    )
    session = Session(solve(game, "dcfr", iters=3, precision="float32"))
    assert session.about()["seats"] == ["bb", "sb"]
    spot = SolvedSpot(session.solutions[0].solution)
    node = session.node(0, 0)
    assert node["path"][0]["chips"] == {"pot": 3, "call": 1, "behind": None, "put_in": None}
    assert node["path"][0]["board"] == []
    assert "made" not in node["ranges"][0][0]
    table = spot.table("")
    classes: dict[str, set[float]] = {}
    for row in node["hands"]:
        (a, s), (b, t) = row["hand"][:2], row["hand"][2:]
        classes.setdefault(a + b + "so"[s != t], set()).add(round(row["p"][0], 12))
    assert {len(own) for own in classes.values()} == {1}  # Hands of a class are solved as one.
    equity = session.extra("equity", 0, 0)
    means, own = equity["means"], equity["hands"][table.player]
    for h in (0, 40, 119):
        counted = slow_equity(spot.rules, h)
        assert table.equity[h] == pytest.approx(counted, abs=1e-12)
        assert own[table.hands[h]] == pytest.approx(counted, abs=1e-12)
    assert means[table.player] == pytest.approx(table.mean(table.equity), abs=1e-12)
    assert means == pytest.approx([0.5, 0.5], abs=1e-12)
    deal = session.node(at(session, "call check"), 0)
    assert (deal["kind"], deal["left_out"], deal["children"]) == ("chance", 560, [])
    assert deal["path"][-1]["deals"] == 3
    line = "call check AhKdJc"
    for text in (line, "call check JcAhKd"):
        assert session.node(session.nodes.search(text)[0]["node"], 0)["name"] == line
    with pytest.raises(ValueError, match="560 sets of cards"):
        session.extra("runouts", deal["id"], 0)


def test_colours_of_actions() -> None:
    """Blue, green, and reds the darker the larger; all-in is the darkest."""
    few = action_colours(("fold", "call", "raise300", "allin"))
    assert few == [PASSIVE["fold"], PASSIVE["call"], AGGRESSIVE[0], AGGRESSIVE[-1]]
    many = action_colours(("check", *(f"bet{n}" for n in (1, 2, 3.5, 4, 5))))
    assert many == [PASSIVE["check"], *AGGRESSIVE[:5]]
    assert action_colours(("1x3", "liar")) is None
