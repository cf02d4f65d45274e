"""The form and the library in a real browser: imports, the tree, sizes, names, and words while the
page waits."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.browsing import IN_BROWSER, open_page, running
from tensorcfr import compile_game, solve
from tensorcfr._util.compiles import Compiles
from tensorcfr.analysis import SolvedSpot
from tensorcfr.viewer.library import Library
from tensorcfr.viewer.server import Server
from tensorcfr.viewer.session import Session

pytestmark = IN_BROWSER
WASM: dict[str, Any] = {
    "oopRange": "AA,KK",
    "ipRange": "QQ:0.5,JJ",
    "config": {
        **{"board": ["Td", "9d", "6h", "Qc"], "startingPot": 60, "effectiveStack": 90},
        **{"rakePercent": 5, "rakeCap": 3, "addAllInThreshold": 200, "mergingThreshold": 0},
        **{"forceAllInThreshold": 20, "donkOption": True, "oopTurnDonk": "", "oopRiverDonk": "30"},
        **{
            f"{seat}{street}{kind}": "50" if seat == "oop" else "75"
            for seat in ("oop", "ip")
            for street in ("Flop", "Turn", "River")
            for kind in ("Bet", "Raise")
        },
    },
}


@pytest.fixture(scope="module")
def kuhn() -> Session:
    return Session(solve(compile_game("kuhn"), iters=50))


def test_a_page_that_waits_says_so(page: Any, kuhn: Session, tmp_path: Path) -> None:
    with running(Server(kuhn, library=Library(tmp_path))) as server:
        held: list[Any] = []
        page.route("**/api/about", lambda route: held.append(route))
        page.goto(server.url)
        page.wait_for_selector("#waiting:has-text('working …')")
        now = server.start.compiles
        assert isinstance(now, Compiles)
        now.begun, now.now = 7, 1
        page.wait_for_selector("#waiting:has-text('compiling kernels, 7 so far (once on this')")
        held[0].continue_()
        page.wait_for_selector("#strategy tbody tr")
        page.wait_for_selector("#waiting", state="hidden")


def test_an_import_the_tree_and_its_size(page: Any, tmp_path: Path) -> None:
    with running(Server(None, library=Library(tmp_path))) as server:
        open_page(page, server.url)
        page.click("#form-import summary")
        page.fill("#import-text", "hello")
        page.click("#import")
        page.wait_for_selector("#import-note.error")
        page.fill("#import-text", json.dumps(WASM))
        page.click("#import")
        page.wait_for_selector("#import-note:has-text('The spot is in the form')")
        shown = {
            name: page.input_value(f"[id='form-{name}']")
            for name in ("oop", "ip", "pot", "stacks", "rake", "rake_cap", "force_allin", "merging")
        }
        assert shown == {
            **{"oop": "KK,AA", "ip": "JJ,QQ:0.5", "pot": "60", "stacks": "90", "rake": "5"},
            **{"rake_cap": "3", "force_allin": "20", "merging": "0"},
        }
        assert page.is_checked("#form-split")
        assert page.input_value("[id='form-bets.turn.ip']") == "75"
        assert page.input_value("[id='form-donk.river']") == "30"
        page.wait_for_selector("#form-size:has-text('public nodes')")
        # The size of other fields is gone at once, and what has no size cannot be built.
        held: list[Any] = []
        page.route("**/api/form/size", lambda route: held.append(route))
        page.fill("#form-pot", "61")
        assert page.text_content("#form-size") == "working out the size …"
        assert page.is_disabled("#build")
        page.unroute("**/api/form/size")
        page.fill("#form-pot", "60")
        page.wait_for_selector("#build:not([disabled])")
        # Add a size after a check, and remove the bet of OOP.
        page.click("#form-tree summary")
        page.click("#tree [data-key='take check']")
        page.wait_for_selector("#tree:has-text('IP acts on the turn; pot 60')")
        page.fill("#tree-size", "100%")
        page.click("#tree-add")
        page.wait_for_selector("#form-size:has-text('before:')")
        assert page.input_value("#form-add") == "check bet60"
        page.wait_for_selector("#tree [data-step='bet60']:has-text('added')")
        page.click("#tree [data-key='start']")
        page.click("#tree [data-key='remove bet30']")
        page.wait_for_selector("#tree [data-step='bet30']", state="detached")
        assert page.input_value("#form-remove") == "bet30"
        page.fill("#tree-size", "50%")
        page.click("#tree-add")
        page.wait_for_selector("#tree [data-step='bet30']")  # It is back.
        assert page.input_value("#form-remove") == ""
        # All of it is a file, which the form of another day opens.
        page.fill("#spots-name", "turn with a pot bet")
        page.click("#spots-save")
        page.wait_for_selector("#spots-note:has-text('saved as')")
        page.click("#spots-save")
        page.click("#spots-replace")
        page.wait_for_selector("#spots-note:has-text('saved as')")
        while Library(tmp_path).page().get("form", {}).get("add") != "check bet60":
            page.wait_for_timeout(50)
        rules = compile_game(tmp_path / "spots/turn with a pot bet.toml").nodes.rules
        assert rules.options["add"] == ["check bet60"]
    with running(Server(None, library=Library(tmp_path))) as server:
        page.goto("about:blank")
        open_page(page, server.url)
        page.wait_for_selector("#form-size:has-text('public nodes')")
        assert page.input_value("#form-pot") == "60"
        page.fill("#form-add", "")
        page.select_option("#spots-list", "turn with a pot bet")
        page.click("#spots-open")
        page.wait_for_function("() => document.getElementById('form-add').value === 'check bet60'")


def test_words_of_fields_that_are_no_numbers(page: Any, tmp_path: Path) -> None:
    with running(Server(None, library=Library(tmp_path))) as server:
        open_page(page, server.url)
        page.fill("#form-pot", "abc")
        page.wait_for_selector("#form-size.error:has-text(\"pot must be a number, not 'abc'\")")
        page.fill("#form-pot", "5.5")
        page.fill("#form-stacks", "97.5")
        page.wait_for_selector("#form-size:has-text('Smallest chip 0.1')")
        page.fill("#form-target", "0,5")
        page.click("#build:not([disabled])")
        page.wait_for_selector("#building.error:has-text('The target must be a number, not 0,5')")


def test_a_build_is_cancelled(page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_forever(*_: Any, **__: Any) -> Any:
        while True:
            time.sleep(0.01)

    monkeypatch.setattr("tensorcfr.viewer.spot_form.compile_game", compile_forever)
    with running(Server(None, library=Library(tmp_path))) as server:
        open_page(page, server.url)
        page.click("[data-game='kuhn']")
        page.wait_for_selector("#building:has-text('building the game')")
        assert page.is_disabled("#build")
        page.click("#cancel")
        page.wait_for_selector("#building:text-is('cancelled')")
        page.wait_for_selector("#build:not([disabled])")
        assert page.is_hidden("#cancel")


def test_back_from_a_new_spot(page: Any, kuhn: Session, tmp_path: Path) -> None:
    with running(Server(kuhn, library=Library(tmp_path))) as server:
        open_page(page, server.url)
        headline = page.text_content("#brief")
        assert "50 iterations" in headline
        page.click("#new-spot")
        page.wait_for_selector("#title:text-is('A new spot')")
        page.go_back()
        page.wait_for_selector("#title:text-is('kuhn')")
        page.wait_for_selector("#strategy tbody tr")
        assert page.text_content("#brief") == headline
        assert page.is_visible("#about")


def test_locks_of_a_line(page: Any, kuhn: Session, tmp_path: Path) -> None:
    with running(Server(kuhn, library=Library(tmp_path))) as server:
        open_page(page, server.url)
        page.click("tr[data-infoset='K']")
        for text, reason in (
            ("1.5", "The probability of bet must be a number from 0 to 1."),
            ("-1", "The probability of bet must be a number from 0 to 1."),
        ):
            page.fill("#editor input[data-action='bet']", text)
            page.click("#lock")
            assert page.text_content("#lock-note") == reason
        page.fill("#editor input[data-action='bet']", "0.2")
        page.fill("#editor input[data-action='pass']", "0.3")
        page.click("#lock")
        assert "their probabilities sum to 0.5, not 1" in page.text_content("#lock-note")
        assert page.locator("#lock-list li").count() == 0
        page.click("#lock-all")
        page.click("#lock-as-is")
        locks = page.evaluate("state.locks")
        policy = kuhn.solutions[0].solution.policy
        assert list(locks) == ["J", "Q", "K"]
        for hand, lock in locks.items():
            assert lock == pytest.approx(policy[hand], abs=1e-12)
        # Locks are part of the state of the page.
        while server.start.view.get("locks") != locks:
            page.wait_for_timeout(50)
        page.reload()
        page.wait_for_selector("#lock-list li")
        assert page.evaluate("state.locks") == locks
        page.click("#free-all")
        assert page.locator("#lock-list li").count() == 0


def test_a_range_is_locked(page: Any, tmp_path: Path) -> None:
    spot = {"board": "Td9d6hQdQs", "ranges": ("AA:0.5,KK,AJs,77", "QJs,88"), "pot": 100}
    game = compile_game("holdem", **spot, stacks=150, bets="50%", raises="a")
    session = Session(solve(game, iters=5, precision="float32"))
    with running(Server(session, library=Library(tmp_path))) as server:
        open_page(page, server.url)
        assert "% of the pot" in page.text_content("#brief")
        page.click("#lock-all")
        page.fill("#lock-range", "KK+")
        page.press("#lock-range", "Enter")
        page.click("#editor .always >> nth=1")
        page.click("#lock")
        assert page.evaluate("state.locks") == {"KK+": {"check": 0, "bet50": 1, "allin": 0}}
        page.click("#lock-all")
        page.click("#lock-as-is")
        # In the order in which they were set, although "77" alone would be the first.
        names = page.evaluate("Object.keys(state.locks)")
        assert names[0] == "KK+"
        assert set(names[1:]) == {"AA", "KK", "AJs", "77 start"}
        assert page.locator("#strategy .cell.locked").count() == 4
        page.fill("#iterations", "5")
        page.click("#solve")
        page.wait_for_selector("#cost td.cost", timeout=120_000)
        # Each class plays what it played on average.
        tables = [SolvedSpot(one.solution).table() for one in session.solutions]
        first, second = (table.grid(table.strategy) for table in tables)
        np.testing.assert_allclose(second, first, atol=1e-6)
        page.keyboard.press("Escape")
        page.click("#edit-tree")
        page.wait_for_selector("#tree:has-text('OOP acts on the river; pot 100')")
        assert page.input_value("#form-stacks") == "150"
