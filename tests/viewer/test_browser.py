"""The viewer in a real browser: headless Chromium, driven by Playwright."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.browsing import (
    IN_BROWSER,
    TURN,
    assert_shows,
    click_to,
    open_page,
    running,
    served,
    table,
)
from tensorcfr import Decision, Payoff, PublicTreeGame, compile_game, solve
from tensorcfr.analysis import SolvedSpot, values
from tensorcfr.viewer import save_html
from tensorcfr.viewer.server import Server
from tensorcfr.viewer.session import Session

pytestmark = IN_BROWSER


def test_leduc(page: Any) -> None:
    solution = solve(compile_game("leduc"), iters=200)
    with served(solution) as server:
        open_page(page, server.url)
        assert page.text_content("#title") == "leduc"
        assert_shows(page, solution, "Js")
        click_to(page, "raise", "call", "Qs")
        assert_shows(page, solution, "Kh rc/Qs")
        taken = page.locator("#line .option[aria-pressed='true']").all()
        assert [one.get_attribute("data-step") for one in taken] == ["raise", "call", "Qs"]
        # The hand on the board cannot be held.
        assert "Qs rc/Qs" not in table(page)
        page.click("#line .where >> nth=1")
        page.wait_for_selector("#node[data-id='2']")
        assert_shows(page, solution, "Js r")
        ranges = page.locator("#ranges .range[data-player='0'] b").all()
        shares = [float(one.get_attribute("data-p")) for one in ranges]
        assert sum(shares) == pytest.approx(1.0)
        assert page.locator("#curve polyline").count() == 1


@pytest.mark.parametrize("game", ["liars_dice(faces=4)", "goofspiel(cards=3)"])
def test_an_infoset_is_found(page: Any, game: str) -> None:
    """In a public tree and in a game of histories."""
    solution = solve(compile_game(game), iters=30)
    with served(solution) as server:
        open_page(page, server.url)
        label = solution.game.infoset_labels[solution.game.n_infosets // 3]
        page.fill("#search", label)
        page.locator("#found button").first.click()
        page.wait_for_selector("tr.chosen")
        assert page.get_attribute("tr.chosen", "data-infoset") == label
        assert_shows(page, solution, label)


def test_editing_a_lock_and_solving_again(page: Any) -> None:
    game = compile_game("leduc")
    first = solve(game, iters=100)
    # Here, because it may have to compile kernels, for which no page waits.
    twin = solve(game, iters=150, locks={"Js r": {"fold": 1}})
    with served(first) as server:
        open_page(page, server.url)
        click_to(page, "raise")
        page.click("tr[data-infoset='Js r']")
        page.fill("#editor input[data-action='fold']", "1")
        page.click("#lock")
        assert page.text_content("#lock-list li").startswith("Js r: fold 1")
        page.fill("#iterations", "150")
        page.click("#solve")
        page.wait_for_selector("#cost td.cost")
        for player in range(2):
            shown = {
                name: float(
                    page.get_attribute(f"#cost .{name}[data-player='{player}']", "data-value")
                )
                for name in ("b", "cost")
            }
            assert shown["b"] == twin.value[player]
            cost = shown["cost"]
            assert cost == pytest.approx(twin.value[player] - first.value[player], abs=1e-15)
        assert page.locator("#curve polyline").count() == 2
        page.wait_for_selector("tr[data-infoset='Js r'] .fixed:has-text('B fixed')")
        assert page.locator(".fixed").count() == 1


def test_a_lock_that_makes_no_sense_is_told(tolerant: Any) -> None:
    with served(solve(compile_game("kuhn"), iters=5)) as server:
        open_page(tolerant, server.url)
        # The page refuses it, and so does the server.
        tolerant.evaluate("setLocks({K: {bet: 2}})")
        tolerant.click("#solve")
        tolerant.wait_for_selector("#solving.error")
        assert "sum to at most 1" in tolerant.text_content("#solving")


def test_downloads(page: Any, tmp_path: Path) -> None:
    solution = solve(compile_game("kuhn"), iters=50)
    with served(solution) as server:
        open_page(page, server.url)
        with page.expect_download() as download:
            page.click("#save-csv")
        download.value.save_as(tmp_path / "node.csv")
        rows = list(csv.DictReader((tmp_path / "node.csv").read_text().splitlines()))
        assert len(rows) == 6
        for row in rows:
            expected = solution.policy[row["infoset"]][row["action"]]
            assert float(row["probability"]) == expected
        with page.expect_download() as download:
            page.click("#save-json")
        download.value.save_as(tmp_path / "node.json")
        said = json.loads((tmp_path / "node.json").read_text())
        assert said["solutions"][0]["hands"][0]["infoset"] == "J"


def test_keys_and_shapes(page: Any) -> None:
    with served(solve(compile_game("leduc"), iters=20)) as server:
        open_page(page, server.url)
        page.keyboard.press("2")
        page.wait_for_selector("#node[data-id='2']")
        page.keyboard.press("v")
        assert page.locator(".tile").count() == 6
        page.keyboard.press("v")
        assert page.locator(".heat td.cell").count() == 18
        page.keyboard.press("Backspace")
        page.wait_for_selector("#node[data-id='0']")
        theme = page.get_attribute("html", "data-theme")
        page.keyboard.press("t")
        assert page.get_attribute("html", "data-theme") != theme
        page.keyboard.press("/")
        page.keyboard.type("Kh r")
        page.wait_for_selector("#found button")
        page.keyboard.press("Enter")
        page.wait_for_selector("#node[data-id='2']")
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        assert page.locator("#help[open]").count() == 1
        # Back in the browser's history.
        page.keyboard.press("Escape")
        page.go_back()
        page.wait_for_selector("#node[data-id='0']")


@pytest.mark.full
def test_a_spot_shows_what_its_chunks_say(page: Any) -> None:
    solution = solve(compile_game("holdem", **TURN), "dcfr", iters=20)
    table = SolvedSpot(solution).table("check check 7s")  # Compiles, before the page waits.
    with served(solution) as server:
        open_page(page, server.url)
        click_to(page, "check", "check", "7s")
        page.click("#shapes button:has-text('table')")
        assert_shows(page, solution, f"{table.hands[0]} check check 7s")
        for row, hand in enumerate(table.hands):
            if table.weight[row] <= 0:
                continue
            row_of = f"table:not(.combos) tr[data-infoset='{hand} check check 7s']"
            cells = page.query_selector_all(f"{row_of} td.action")
            shown = [float(cell.get_attribute("data-p")) for cell in cells]
            assert shown == pytest.approx(table.strategy[row].tolist(), abs=1e-12)
            if np.isfinite(table.values[row]).all():
                shown = [float(cell.get_attribute("data-q")) for cell in cells]
                assert shown == pytest.approx(table.values[row].tolist(), abs=1e-9)


def test_two_cards_of_a_full_deck_are_13_by_13(page: Any) -> None:
    cards = [rank + suit for rank in "AKQ" for suit in "shdc"]
    pairs = [a + b for i, a in enumerate(cards) for b in cards[i + 1 :]]

    class TwoCards(PublicTreeGame):
        """Player 0 bets or not; the hands are two of twelve cards, and one that means nothing."""

        hands = (pairs, ["x"])
        prior = np.full((len(pairs), 1), 1 / len(pairs))

        def node(self, state: tuple[str, ...]) -> Any:
            if state:
                return Payoff(1.0, state)
            return Decision(0, None, ("check", "bet"))

        def matrix(self, key: Any) -> Any:
            # Only suited hands gain by a bet.
            gain = [1.0 if key == ("bet",) and hand[1] == hand[3] else 0.0 for hand in pairs]
            return np.array([gain, [-g for g in gain]])[:, :, None]

    with served(solve(compile_game(TwoCards()), iters=20)) as server:
        open_page(page, server.url)
        page.keyboard.press("v")
        assert page.locator("#strategy .cell").count() == 169
        assert page.locator("#strategy .cell:not([disabled])").count() == 9
        for hand in ("AKs", "AKo", "AA"):
            shares = page.get_attribute(f"#strategy .cell[data-hand='{hand}']", "data-p").split()
            assert (float(shares[1]) > 0.8) == (hand == "AKs"), (hand, shares)


@pytest.mark.full
def test_a_game_is_looked_at_while_it_is_solved(page: Any) -> None:
    game = compile_game("leduc")
    session = Session(solve(game, iters=0))
    with running(Server(session)) as server:
        session.solve({}, 10_000_000)
        open_page(page, server.url)
        page.wait_for_selector("#solving:has-text('iteration')")
        page.wait_for_selector("#curve polyline")  # It is drawn while the solve runs.
        page.click("#stop")
        page.wait_for_selector("#solving:has-text('stopped')")
        assert session.solutions[0].solution.iterations > 0
        # The page fetches the node again once it knows that the solve has ended.
        page.wait_for_load_state("networkidle")
        assert_shows(page, session.solutions[0].solution, "Js")


def test_a_phone_and_a_dark_page(browser: Any) -> None:
    with served(solve(compile_game("leduc"), iters=20)) as server:
        for scheme in ("light", "dark"):
            opened = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme=scheme)
            open_page(opened, server.url)
            assert opened.get_attribute("html", "data-theme") == scheme
            # Nothing makes the page wider than the screen.
            assert opened.evaluate("document.documentElement.scrollWidth") <= 360
            opened.close()


def test_a_page_for_sharing(page: Any, tmp_path: Path) -> None:
    solution = solve(compile_game("leduc"), iters=50)
    path = save_html(solution, tmp_path / "leduc.html")
    open_page(page, path.as_uri())
    click_to(page, "raise")
    shown = table(page)
    for row in Session(solution).node(2, 0)["hands"]:
        assert shown[row["infoset"]]["p"] == pytest.approx(row["p"], rel=1e-5)
        assert shown[row["infoset"]]["ev"] == pytest.approx(row["ev"], rel=1e-5)
    assert page.is_hidden("#locks")
    page.fill("#search", "Kh rc/Qs")
    page.wait_for_selector("#found button")
    page.keyboard.press("Enter")
    page.wait_for_selector("tr.chosen")
    few = save_html(solution, tmp_path / "few.html", most=3)
    page.goto("about:blank")
    open_page(page, few.as_uri())
    page.locator("#children button").first.click()
    page.wait_for_selector("#node[data-id='1']")
    page.locator("#children button").first.click()
    page.wait_for_function(
        "document.getElementById('note').textContent.includes('not in the page')"
    )


def test_a_page_of_another_origin_gets_nothing(tolerant: Any, tmp_path: Path) -> None:
    with (
        served(solve(compile_game("kuhn"), iters=5)) as server,
        served(solve(compile_game("kuhn"), iters=5)) as other,
    ):
        # A page of another port of this machine, and one from a file, know the token even.
        evil = tmp_path / "evil.html"
        evil.write_text("<!doctype html><title>evil</title>")
        for start in (f"http://127.0.0.1:{other.port}/nothing", evil.as_uri()):
            tolerant.goto(start)
            said = tolerant.evaluate(
                """async ([url, token]) => {
                  try {
                    const answer = await fetch(url, {headers: {"X-Token": token}});
                    return "read " + answer.status;
                  } catch (error) { return "refused"; }
                }""",
                [f"http://127.0.0.1:{server.port}/api/about", server.token],
            )
            assert said == "refused"


def test_labels_are_text(page: Any) -> None:
    from tensorcfr import Chance, Decision, Game, Terminal

    class Awkward(Game):
        def node(self, state: tuple[str, ...]) -> Any:
            if not state:
                return Chance({"<img src=x onerror=alert(1)>": 0.5, "</script>": 0.5})
            if len(state) == 1:
                return Decision(0, f"{state[0]}&amp;", ("<b>x</b>", "{{y}}"))
            return Terminal((1.0, -1.0))

    with served(solve(compile_game(Awkward()), iters=5)) as server:
        open_page(page, server.url)
        page.wait_for_selector("#children button")
        text = page.text_content("body")
        assert "<img src=x onerror=alert(1)>" in text or "</script>" in text
        assert page.locator("img, #children b").count() == 0


def test_two_solutions_are_named(page: Any) -> None:
    """The headline, the frequencies and the value of a node are told of both, with their names."""
    game = compile_game("kuhn")
    first, second = solve(game, iters=5), solve(game, iters=500)
    nodes = [values(game, one.policy).at_node(0) for one in (first, second)]
    reaches, means = zip(
        *((one.reach, one.mean / one.counterfactual_reach) for one in nodes), strict=True
    )
    worth = [float(reach @ mean / reach.sum()) for reach, mean in zip(reaches, means, strict=True)]
    bets = [
        float(one.reach @ one.probability[:, one.infosets.actions[0].index("bet")]) for one in nodes
    ]
    with served(first, second) as server:
        open_page(page, server.url)
        page.wait_for_function(
            "document.getElementById('node-figures').textContent.includes('value')"
        )
        said = page.text_content("#brief")
        assert said.startswith("A: 5 iterations, exploitability ")
        assert "; B: 500 iterations, exploitability " in said
        figures = page.text_content("#node-figures")
        found = re.search(r"value for player 0: A ([+-][0-9.e-]+), B ([+-][0-9.e-]+)", figures)
        assert found is not None
        assert list(map(float, found.groups())) == pytest.approx(worth, rel=2e-3)
        button = page.text_content("#children button[data-step='bet'] small")
        assert button == ", ".join(
            f"{name} {100 * bet:.1f}%" for name, bet in zip("AB", bets, strict=True)
        )
        assert page.text_content("#ranges-title") == "ranges in A"
        page.evaluate("look({shape: 'table'})")
        cell = page.locator("tr[data-infoset='K'] td.action").nth(1)
        assert f"B {100 * second.policy['K']['bet']:.1f}%" in cell.text_content()
        assert page.locator("tr[data-infoset='K'] .bar").count() == 2
        assert page.locator("#curve polyline").count() == 2
        assert page.locator("tr[data-infoset='K'] td.reach small").text_content().startswith("B ")
    with served(first) as server:
        open_page(page, server.url)
        assert page.text_content("#brief").startswith("5 iterations")
        assert page.text_content("#ranges-title") == "ranges"
