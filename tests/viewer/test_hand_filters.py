"""Filters of hands, units of values, graphs of ranges and lists of infosets, in the browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from support.browsing import IN_BROWSER, open_page, served
from tensorcfr import Solution, compile_game, solve
from tensorcfr.analysis import SolvedSpot, values
from tensorcfr.games.holdem import Holdem, read_range
from tensorcfr.games.poker.deck import HANDS, hand_label
from tensorcfr.games.poker.groups import draws, made_hands
from tensorcfr.viewer.server import Server

pytestmark = IN_BROWSER
BOARD = "Td9d6hQd"
TURN: dict[str, Any] = {
    "board": BOARD,
    "ranges": ("AA:0.5,KK,AJs,T9s,87s,A5s-A2s", "QJs,88,AK,KJs"),
    "pot": 100,
    "stacks": 150,
    "big_blind": 2,
    "bets": {"turn": "a", "river": "50%"},
    "raises": "a",
}


@pytest.fixture(scope="module")
def turn() -> Solution:
    game = compile_game("holdem", **TURN)
    solution = solve(game, "dcfr", iters=10, precision="float32")
    SolvedSpot(solution).values("check")  # Compiles, before a page waits.
    return solution


@pytest.fixture(scope="module")
def server(turn: Solution) -> Iterator[Server]:
    """One for all tests that only look."""
    with served(turn) as running:
        yield running


def in_range(text: str) -> Callable[[str], bool]:
    """Whether a hand is in a range, which the library reads."""
    weights = read_range(text, "range")
    named = {hand_label(hand) for hand, weight in zip(HANDS, weights, strict=True) if weight > 0}
    return lambda hand: hand in named


def test_filters_choose_the_hands_that_they_name(page: Any, server: Server, turn: Solution) -> None:
    table = SolvedSpot(turn).table()
    order = {hand: k for k, hand in enumerate(table.hands)}
    numbers = np.array([HANDS.tolist().index(sorted(hand, reverse=True)) for hand in table.cards])
    board = tuple(Holdem(**TURN).board)
    made, drawn = made_hands(board, HANDS[numbers]), draws(board, HANDS[numbers])
    check = dict(zip(table.hands, table.strategy[:, table.actions.index("check")], strict=True))
    value = dict(zip(table.hands, table.value, strict=True))
    equity = dict(zip(table.hands, table.equity, strict=True))
    open_page(page, server.url)
    page.wait_for_selector("#graph polyline >> nth=1")
    for text, expected in (
        ("AA", in_range("AA")),
        ("AJs", in_range("AJs")),
        ("aj", in_range("AJ")),
        ("A3s+", in_range("A3s+")),
        ("KK+", in_range("KK+")),
        ("A5s-A3s", in_range("A5s-A3s")),
        ("AhJh", lambda hand: hand == "AhJh"),
        ("Ah", lambda hand: "Ah" in hand),
        ("no A", lambda hand: "A" not in hand),
        ("A no Ah", lambda hand: "A" in hand and "Ah" not in hand),
        ("suited no T", lambda hand: hand[1] == hand[3] and "T" not in hand),
        ("pocket pair", lambda hand: hand[0] == hand[2]),
        ("flush draw", lambda hand: drawn[order[hand]] == "flush draw"),
        ("draws", lambda hand: drawn[order[hand]] != ""),
        (
            "two pair, KK",
            lambda hand: made[order[hand]] == "two pair" or hand[0] + hand[2] == "KK",
        ),
        ("overpair", lambda hand: made[order[hand]] == "overpair"),
        ("check", lambda hand: check[hand] >= 0.5),
        ("all-in", lambda hand: check[hand] <= 0.5),
        ("check > 30%", lambda hand: check[hand] > 0.3),
        ("ev>10", lambda hand: value[hand] > 10),
        ("equity <= 40", lambda hand: equity[hand] <= 0.4),
    ):
        page.fill("#filter", text)
        found = page.evaluate("state.node.hands.filter(state.filter).map(hand => hand.hand)")
        assert set(found) == {hand for hand in table.hands if expected(hand)}, text
        assert 0 < len(found) < len(table.hands), text
    page.fill("#filter", "overpair")
    shown = page.locator("#strategy .cell:not([disabled])").all()
    assert {cell.get_attribute("data-hand") for cell in shown} == {"AA", "KK"}
    assert page.text_content("#combos h3").startswith("overpair")
    share = table.share[[name == "overpair" for name in made]].sum()
    assert f"{100 * share:.1f}% of the range" in page.text_content("#filter-said")
    assert "filter=overpair" in page.url
    page.fill("#filter", "AKs frog")
    assert "“frog” is not understood" in page.text_content("#filter-said.error")
    page.fill("#filter", "")
    # The search knows hands, and lines as the page writes them.
    page.fill("#search", "AJs")
    page.locator("#found button", has_text="hands: AJs").click()
    assert page.input_value("#filter") == "AJs"
    page.fill("#search", "check all-in")
    page.wait_for_selector("#found button:text-is('check allin')")


def test_a_line_as_the_page_writes_it() -> None:
    from tensorcfr.viewer.session import Session

    game = compile_game("holdem", **(TURN | {"bets": "60%", "raises": "2.5x", "stacks": 900}))
    nodes = Session(solve(game, iters=0, precision="float32")).nodes
    for text in ("check bet 60", "check bet60"):
        assert nodes.place(text) == nodes.place("check bet60")
        assert nodes.search(text)[0]["infoset"] == "check bet60"
    assert nodes.place("bet 60 raise 150") == nodes.place("bet60 raise150")


@pytest.mark.parametrize("of", ["net", "pot"])
def test_values_in_every_unit(page: Any, server: Server, turn: Solution, of: str) -> None:
    """Against SolvedSpot, which counts in the same ways."""
    spot = SolvedSpot(turn, of=of)
    line = "check allin"
    table, pot = spot.table(line), 250.0 if of == "pot" else 100.0
    factors = {"chips": 1.0, "bb": 1 / 2, "percent": 100 / pot}
    worth = dict(zip(table.hands, table.value, strict=True))
    first = SolvedSpot(turn).evaluation.values[0] + (50.0 if of == "pot" else 0.0)
    node = server.session.nodes.place(line)
    open_page(page, f"{server.url}#{node}&shape=table&of={of}")
    for unit, factor in factors.items():
        page.select_option("#value-in", unit)
        for row in page.locator("#strategy tbody tr").all()[:3]:
            hand = row.locator(".name").text_content()
            name = hand.translate(str.maketrans("♠♥♦♣", "shdc"))
            text = row.locator("td.ev").text_content()
            assert float(text) == pytest.approx(worth[name] * factor, rel=1e-3)
        at_start = 100 / 100.0 if unit == "percent" else factor
        told = float(page.locator("#cost td.a >> nth=0").text_content())
        assert told == pytest.approx(first * at_start, rel=1e-3)
    assert f"of={of}" in page.url or of == "net"
    said = page.text_content("#convention")
    assert ("half of the pot" in said) == (of == "net")
    assert ("a fold is 0" in said) == (of == "pot")
    assert ("250" in said) == (of == "pot")
    # A fold is worth nothing as a share of the pot.
    if of == "pot":
        fold = page.locator("#strategy td.action small").first.text_content()
        assert fold == "EV 0"


def test_graphs_of_both_ranges(page: Any, server: Server, turn: Solution) -> None:
    spot = SolvedSpot(turn)
    for line, in_pot in (("", (50.0, 50.0)), ("check", (50.0, 50.0))):
        open_page(page, f"{server.url}#{server.session.nodes.place(line or 'start')}")
        page.wait_for_selector("#graph [data-player='1'] td.realised[data-value]")
        numbers = {"equity": spot.equities(line), "EV": spot.values(line)}
        ranges = spot.ranges(line)
        for name, each in numbers.items():
            page.click(f"#graph [data-key='{name}']")
            for player in range(2):
                rows = page.evaluate(
                    "([player, name]) => distribution(player, name).steps", [player, name]
                )
                shown = [row[2] for row in rows]
                assert shown == sorted(shown)
                hands = {row[3]: row[2] for row in rows}
                names = turn.game.nodes.hands[player]
                held = np.flatnonzero(ranges[player] > 0)
                assert set(hands) == {names[hand] for hand in held}
                for hand in held.tolist():
                    assert hands[names[hand]] == pytest.approx(each[player][hand], abs=1e-9)
                assert rows[-1][1] == pytest.approx(1.0, abs=1e-12)
        node = server.session.nodes.place(line or "start")
        means = server.session.extra("values", node, 0)["means"]
        equities = server.session.extra("equity", node, 0)["means"]
        for player in range(2):
            expected = (means[player] + in_pot[player]) / (100 * equities[player])
            cell = page.locator(f"#graph tr[data-player='{player}'] td.realised")
            assert float(cell.get_attribute("data-value")) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("source", ["goofspiel(cards=3)", "kuhn(players=3)"])
def test_infosets_are_listed_with_their_strategies(page: Any, source: str) -> None:
    """A game without a public tree opens with the strategy of every first infoset."""
    solution = solve(compile_game(source), iters=30)
    table = values(solution.game, solution).table().to_dict()
    with served(solution) as server:
        node = server.session.node(server.session.nodes.root, 0, 5.0)
        assert len(node["children"]) > 1
        for child in node["children"]:
            row, label = child["row"], child["row"]["infoset"]
            assert dict(zip(row["actions"], row["p"], strict=True)) == solution.policy[label]
            worth = {action: entry["expected_value"] for action, entry in table[label].items()}
            assert dict(zip(row["actions"], row["q"], strict=True)) == pytest.approx(worth)
        open_page(page, server.url)
        rows = page.locator("#children tbody tr")
        assert rows.count() == len(node["children"])
        text = rows.first.text_content()
        first = node["children"][0]
        assert first["label"] in text
        for action in first["row"]["actions"]:
            assert f"{action}: " in text
        rows.first.locator("button").click()
        page.wait_for_selector(f"#node[data-id='{first['id']}']")


def test_short_decks_and_blinds(page: Any) -> None:
    short = compile_game("short_deck", **(TURN | {"ranges": ("AA,AJs,T9s", "QJs,88")}))
    solution = solve(short, "dcfr", iters=10, precision="float32")
    groups = {row["made"]: row["share"] for row in SolvedSpot(solution).table().groups()}
    with served(solution) as server:
        open_page(page, server.url)
        assert page.locator("#strategy .cell").count() == 81  # Nine ranks.
        page.wait_for_selector("#groups td[data-share]")
        names = page.locator("#groups .group").all_text_contents()
        shares = [
            float(cell.get_attribute("data-share"))
            for cell in page.locator("#groups td[data-share]").all()
        ]
        assert dict(zip(names, shares, strict=True)) == pytest.approx(groups)
    push = solve(compile_game("push_or_fold", stacks=10), iters=2)
    with served(push) as server:
        open_page(page, server.url)
        assert page.text_content("#node-title") == "SB acts"
        assert page.locator("#cost th").all_text_contents() == ["", "BB", "SB"]
        # Letters are light where the colour is dark.
        dark = page.locator("#strategy .cell[data-hand='AA'].on-dark")
        assert dark.count() == 1


def test_the_hands_of_a_cell_are_on_a_phone(page: Any, server: Server) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, server.url)
    page.click("#strategy .cell[data-hand='KK']")
    page.wait_for_selector("#combos tbody tr")
    box = page.locator("#combos tbody tr >> nth=0").bounding_box()
    assert box["y"] + box["height"] <= 844
    assert page.text_content("#combos h3").startswith("KK")


def test_a_table_begins_with_the_actions(page: Any, server: Server) -> None:
    open_page(page, f"{server.url}#0&shape=table")
    right = page.evaluate("document.getElementById('strategy').getBoundingClientRect().right")
    for cell in page.locator("#strategy tbody tr >> nth=0").locator("td.action").all():
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= right
