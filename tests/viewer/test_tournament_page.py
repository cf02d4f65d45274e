"""Hands of tournaments in the viewer: the form, chips next to prizes, risks, and chips against
prizes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from support.browsing import IN_BROWSER, built, click_to, open_page, served, wait_for_solve
from support.slow_prizes import slow_icm
from tensorcfr import Solution, compile_game, evaluate, solve
from tensorcfr.analysis import SolvedSpot, prize_table, table_change
from tensorcfr.games.holdem import grid_label, grid_place
from tensorcfr.games.tournaments import risk
from tensorcfr.viewer.opponents import Opponent
from tensorcfr.viewer.session import Session
from tensorcfr.viewer.spot_form import SpotForm

RIVER: dict[str, Any] = {
    "board": "QsJh2h8d3c",
    "ranges": ("AsAh,KsQs,Tc9c,7h6h", "KsKh,QdJd,Th9h,5c5d"),
    "pot": 100,
    "bets": "50%,a",
    "raises": "a",
}
PRIZES: dict[str, Any] = {"stacks": (200, 350), "payouts": (50, 30, 20), "others": (90, 120)}
LINE = "check allin"
CELL = "#strategy .cell"


@pytest.fixture(scope="module")
def chips() -> Solution:
    return solve(compile_game("holdem", **RIVER, stacks=200), iters=60, precision="float32")


@pytest.fixture(scope="module")
def prizes() -> Solution:
    return solve(compile_game("holdem", **RIVER, **PRIZES), iters=60, precision="float32")


def test_hands_have_chips_next_to_prizes(prizes: Solution) -> None:
    session = Session(prizes)
    node = session.whole_node(session.nodes.place(LINE), 0)
    table = prize_table(prizes, LINE)
    assert len(node["hands"]) == len(table.prizes.hands)
    for row in node["hands"]:
        k = table.prizes.hands.index(row["hand"])
        assert row["q"] == pytest.approx(table.prizes.values[k].tolist(), abs=1e-9)
        assert row["chips_q"] == pytest.approx(table.chips[k].tolist(), abs=1e-9)
        mean = float(table.prizes.strategy[k] @ table.chips[k])
        assert row["chips"] == pytest.approx(mean, abs=1e-9)
    assert any(row["chips_q"] != row["q"] for row in node["hands"])
    ordinary = Session(solve(compile_game("holdem", **RIVER, stacks=200), iters=1))
    assert "chips_q" not in ordinary.whole_node(0, 0)["hands"][0]
    assert ordinary.about()["tournament"] is None


def test_the_page_is_told_prizes_risks_and_gains(prizes: Solution) -> None:
    about = Session(prizes).about()
    stacks = [250, 400, 90, 120]
    expected = slow_icm(stacks, PRIZES["payouts"])
    facts = about["tournament"]
    assert facts["players"] == ["OOP", "IP", "P3", "P4"]
    assert facts["stacks"] == stacks
    assert facts["prizes"] == pytest.approx(expected)
    assert facts["before"] == pytest.approx(expected[:2])
    assert facts["pool"] == pytest.approx(100)
    found = np.array(facts["bubble_factors"], dtype=float)
    np.testing.assert_allclose(found, risk(stacks, PRIZES["payouts"]).bubble_factors)
    assert about["solutions"][0]["gains"] == list(prizes.evaluation.gains)
    json.dumps(about)


def test_strategies_for_chips_have_values_in_prizes(prizes: Solution, chips: Solution) -> None:
    """The second solution is of another game, whose infosets are the same."""
    session = Session(prizes, chips)
    by_label = {row: chips.policy[row] for player in (0, 1) for row in chips.game.labels_of(player)}
    expected = evaluate(prizes.game, by_label)
    first, second = session.about()["solutions"]
    assert (first["solved_for"], second["solved_for"]) == (None, "chips")
    assert second["values"] == pytest.approx(expected.values, abs=1e-9)
    assert second["gains"] == pytest.approx(expected.gains, abs=1e-9)
    for row in session.whole_node(session.nodes.place(LINE), 1)["hands"]:
        assert row["p"] == [chips.policy[row["infoset"]][a] for a in ("fold", "call")]


def test_a_solve_for_chips(prizes: Solution) -> None:
    session = Session(prizes)
    locks = {"AsAh check allin": {"call": 1}}
    session.solve(locks, 20, for_chips=True)
    wait_for_solve(session)
    game = compile_game("holdem", **RIVER, stacks=200)
    twin = solve(game, prizes.algorithm, iters=20, locks=locks)
    second = session.solutions[1].solution
    assert second.game is prizes.game
    np.testing.assert_array_equal(second.policy.probabilities, twin.policy.probabilities)
    assert second.locks is not None
    assert dict(second.locks) == dict(twin.locks or {})
    # A target in prizes is not one in chips.
    unsolved = Session(solve(prizes.game, iters=0, precision="float32"))
    unsolved.target = 1e9
    unsolved.solve({}, 3, for_chips=True)
    wait_for_solve(unsolved)
    assert unsolved.solutions[-1].solution.iterations == 3
    ordinary = Session(solve(compile_game("kuhn"), iters=1))
    with pytest.raises(TypeError, match="kuhn is not a hand of a tournament"):
        ordinary.solve({}, 5, for_chips=True)


def test_the_largest_risk_is_in_prizes(
    prizes: Solution, chips: Solution, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No per cent: these would be of all prizes."""
    monkeypatch.setattr("tensorcfr.viewer.opponents.check_constant_sum", lambda game: None)
    asked: list[Any] = []
    monkeypatch.setattr(Opponent, "respond", lambda self, _: asked.append(self.max_loss))
    for solution in (prizes, chips):
        session = Session(solution)
        session.respond({"player": 0, "model": "locks", "locks": {"AsAh": {}}, "max_loss": 2}, 5)
        session.finish()
    assert asked == [2, "2%"]


FORM: dict[str, Any] = RIVER | {"ranges": ["AsAh,KsQs", "KsKh,QdJd"], "stacks": "200, 350"}


def test_the_form_reads_amounts_of_players() -> None:
    spot = FORM | {"payouts": "50,30,20", "others": "90,120", "bounties": ""}
    facts = SpotForm().size(spot)["tournament"]
    assert facts["prizes"] == pytest.approx(slow_icm([250, 400, 90, 120], (50, 30, 20)))
    bounties = SpotForm().size(spot | {"bounties": "8,5,3,2"})["tournament"]
    assert bounties["pool"] == pytest.approx(118)
    assert SpotForm().size(FORM | {"stacks": "200"})["tournament"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"payouts": "50,x"}, "payouts '50,x': 'x' is not a number"),
        ({"payouts": "50,,20"}, "payouts '50,,20': '' is not a number"),
        ({"payouts": "20,30"}, r"payouts\[1\] = 30 is above payouts\[0\] = 20"),
        ({"payouts": "nan"}, "payouts must be"),
        ({"payouts": "50", "others": "0"}, "others must be"),
        ({"payouts": "50", "others": "4,-1"}, "others must be"),
        (
            {"payouts": "50", "bounties": "1"},
            "bounties has 1 amounts, but stacks and others have 2",
        ),
        ({"payouts": "", "others": "90"}, "payouts must contain a prize"),
        ({"payouts": "50", "stacks": "1,2,3"}, "stacks has 3 numbers; there are 2 players"),
        ({"payouts": "50", "stacks": "many"}, "stacks 'many': 'many' is not a number"),
        ({"stacks": "200,350"}, "stacks has 2 numbers; give the smaller one"),
        ({"payouts": {"1": 5}}, "payouts must be"),
        ({"utility": "max"}, "a spot has no 'utility'"),
    ],
)
def test_prizes_that_make_no_sense(change: dict[str, Any], message: str) -> None:
    start = SpotForm()
    for ask in (start.size, lambda spot: start.begin({"spot": spot, "iterations": 5})):
        with pytest.raises((TypeError, ValueError), match=message):
            ask(FORM | change)


def test_a_target_is_a_share_of_the_pot_in_prizes() -> None:
    start = SpotForm()
    spot = FORM | {"payouts": "50,30,20", "others": "90,120"}
    start.begin({"spot": spot, "iterations": 5000, "target": 2.0})
    built(start)
    assert start.session is not None, start.error
    wait_for_solve(start.session)
    solution = start.session.solutions[0].solution
    won, lost = (
        slow_icm(pair, (50, 30, 20)) for pair in ([300, 350, 90, 120], [200, 450, 90, 120])
    )
    pot = (won[0] - lost[0] + lost[1] - won[1]) / 2
    assert solution.status.name == "TARGET"
    assert solution.exploitability <= 0.02 * pot


# ----------------------------------------------------------------------------------- in a browser

BROWSER = [*IN_BROWSER, pytest.mark.full]


def marked(function: Any) -> Any:
    for mark in BROWSER:
        function = mark(function)
    return function


@marked
def test_a_hand_in_chips_equity_and_prizes(page: Any, prizes: Solution) -> None:
    table = prize_table(prizes, LINE)
    hands = table.prizes
    with served(prizes) as server:
        open_page(page, server.url)
        assert page.text_content("#brief").endswith("% of the pot")
        click_to(page, "check", "allin")
        page.wait_for_selector("#combos td.equity, #ranges figcaption:has-text('equity')")
        page.click("#shown [data-key='chips']")
        k = hands.hands.index("AsAh")
        mean = float(hands.strategy[k] @ table.chips[k])
        shown = float(page.get_attribute(f"{CELL}[data-hand='AA']", "data-value"))
        assert shown == pytest.approx(mean, abs=1e-9)
        assert "e" not in page.text_content(f"{CELL}[data-hand='AA'] span")
        page.click(f"{CELL}[data-hand='AA']")
        facts = page.text_content("#combos h3 small")
        assert f"{100 * hands.equity[k]:.1f}%" in facts
        assert "chips" in facts
        page.click("#shapes button:has-text('table')")
        cell = page.locator("tr[data-infoset='AsAh check allin'] td.chips-ev").first
        assert float(cell.get_attribute("data-value")) == pytest.approx(mean, abs=1e-9)


@marked
def test_gains_and_risks_on_the_page(page: Any, prizes: Solution) -> None:
    with served(prizes) as server:
        open_page(page, server.url)
        for player, gain in enumerate(prizes.evaluation.gains):
            cell = page.locator(f"#cost .gain-a[data-player='{player}']")
            assert float(cell.get_attribute("data-value")) == gain
            assert cell.text_content().endswith("%")
        found = risk((250, 400, 90, 120), PRIZES["payouts"])
        cells = page.locator("#risks td.risk").all()
        assert len(cells) == 16
        for cell, factor, premium in zip(
            cells, found.bubble_factors.ravel(), found.premiums.ravel(), strict=True
        ):
            if np.isfinite(factor):
                assert float(cell.get_attribute("data-value")) == pytest.approx(factor)
                assert cell.text_content().startswith(f"{factor:.2f}")
                assert f"{100 * premium:.1f}%" in cell.text_content()
    with served(solve(compile_game("kuhn"), iters=5)) as server:
        open_page(page, server.url)
        assert page.is_hidden("#risks-section")
        assert page.is_hidden("#solve-chips")
        assert page.locator("#cost .gain-a").count() == 2


@marked
def test_the_difference_between_chips_and_prizes(
    page: Any, prizes: Solution, chips: Solution
) -> None:
    change = table_change(*(SolvedSpot(solution).table(LINE) for solution in (prizes, chips)))
    grid = change.grid()
    with served(prizes, chips) as server:
        open_page(page, server.url)
        assert page.text_content("#brief").startswith("A (prizes): 60 iterations")
        assert "B (chips): 60 iterations" in page.text_content("#brief")
        click_to(page, "check", "allin")
        page.click("#shown [data-key='change']")
        assert page.locator("#strategy .square").count() == 1
        for cards in change.first.cards:
            place = grid_place(cards)
            cell = page.locator(f"{CELL}[data-hand='{grid_label(*place)}']")
            shown = [float(number) for number in cell.get_attribute("data-change").split()]
            assert shown == pytest.approx(grid[place].tolist(), abs=1e-12)
            # The filled width is the increase; the rest of the cell is empty.
            moved = max(0.0, *shown)
            assert float(cell.get_attribute("data-value")) == pytest.approx(moved, abs=1e-12)
            image = cell.evaluate("one => one.style.backgroundImage")
            assert ("transparent" in image) == (moved < 1)
        assert "show=change" in page.url
        page.keyboard.press("e")
        assert page.get_attribute("#shown [aria-pressed='true']", "data-key") == "EV"
    with served(prizes) as server:  # The address asks for a difference that there is not.
        open_page(page, f"{server.url}#0&show=change")
        assert page.get_attribute("#shown [aria-pressed='true']", "data-key") == "strategy"
        assert page.is_hidden("#shown [data-key='change']")


@marked
def test_the_form_solves_a_hand_of_a_tournament(page: Any) -> None:
    with served() as server:
        open_page(page, server.url)
        page.fill("#form-board", RIVER["board"])
        page.fill("#form-oop", RIVER["ranges"][0])
        page.fill("#form-ip", RIVER["ranges"][1])
        page.fill("#form-pot", "100")
        page.fill("#form-stacks", "200,350")
        page.wait_for_selector("#form-size.error:has-text('stacks')")
        page.click("#form-tournament summary")
        page.fill("#form-payouts", "50,30,x")
        page.wait_for_selector("#form-size.error:has-text(\"'x' is not a number\")")
        assert page.is_disabled("#build")
        page.fill("#form-payouts", "50,30,20")
        page.fill("#form-others", "90,120")
        page.wait_for_selector("#form-size:has-text('Prizes now')")
        before = slow_icm((250, 400, 90, 120), (50, 30, 20))
        assert f"OOP {before[0]:.2f}, bubble factor" in page.text_content("#form-size")
        page.reload()  # Prizes are part of the address.
        page.wait_for_selector("#form-size:has-text('Prizes now')")
        assert page.input_value("#form-others") == "90,120"
        page.fill("#form-iterations", "20")
        page.click("#build")
        page.wait_for_selector("#look:not([hidden])", timeout=120_000)
        page.wait_for_selector("#brief:has-text('% of the pot')")
        page.wait_for_selector(f"{CELL}[data-p]")
        page.fill("#iterations", "30")
        page.click("#solve-chips")
        page.wait_for_selector("#brief:has-text('B (chips): 30 iterations')", timeout=120_000)
        page.click("#shown [data-key='change']")
        page.wait_for_selector(f"{CELL}[data-change]")


@marked
@pytest.mark.parametrize("width", [1400, 390])
def test_prizes_fit_the_screen(page: Any, prizes: Solution, chips: Solution, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    with served(prizes, chips) as server:
        open_page(page, server.url)
        click_to(page, "check", "allin")
        page.wait_for_selector("#combos h3:has-text('equity')")
        for key in ("change", "chips", "strategy"):
            page.click(f"#shown [data-key='{key}']")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        for box in ("#cost", "#risks", "#groups"):
            # Nothing of these tables is cut off.
            assert page.eval_on_selector(box, "e => e.scrollWidth <= e.clientWidth"), box
    with served() as server:
        open_page(page, server.url)
        page.wait_for_selector("#form-tournament")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
