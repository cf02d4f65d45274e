"""Second half of a player's week: compare two solutions, filter hands, train ten hands, report on
flops, and open one of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.browsing import IN_BROWSER, READY, running, window
from tensorcfr import Solution, compile_game, solve
from tensorcfr.analysis import SolvedSpot, solve_boards
from tensorcfr.games.holdem import Holdem
from tensorcfr.viewer.library import Library
from tensorcfr.viewer.server import Server
from tensorcfr.viewer.session import Session

pytestmark = IN_BROWSER
FLOP: dict[str, Any] = {
    "board": "Td9d6h",
    "ranges": ("AA,KQs", "QJs,88"),
    "pot": 5.5,
    "chip": 0.5,
    "stacks": 4,
    "bets": "a",
}


@pytest.fixture(scope="module")
def flop() -> Solution:
    game = compile_game("holdem", **FLOP)
    return solve(game, iters=60, precision="float32")


def press(page: Any, keys: str) -> None:
    """Press keys one after the other."""
    for key in keys.split():
        page.keyboard.press(key)


@pytest.mark.full
@pytest.mark.parametrize(
    ("flops", "width", "height", "scheme"),
    [(3, 1400, 900, "light"), (25, 1400, 900, "dark"), (25, 390, 844, "dark")],
)
def test_a_week_of_study(
    browser: Any, tmp_path: Path, flop: Solution, flops: int, width: int, height: int, scheme: str
) -> None:
    size = {"width": width, "height": height}
    with window(browser, viewport=size, color_scheme=scheme) as page:
        page.set_default_timeout(120_000)
        study(page, tmp_path, flop, flops)


def study(page: Any, folder: Path, flop: Solution, flops: int) -> None:
    other = solve(flop.game, iters=60, precision="float32", locks={"* check": {"check": 1.0}})

    def fits() -> None:
        width = page.viewport_size["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    session = Session(flop, other, precision="float32")
    with running(Server(session, library=Library(folder))) as server:
        page.goto(server.url)
        page.wait_for_selector(READY)
        # A and B: headline and values of both by name, and the difference as a grid.
        assert page.text_content("#brief").startswith("A: 60 iterations")
        assert "; B: 60 iterations" in page.text_content("#brief")
        tables = [SolvedSpot(one).table("check") for one in (flop, other)]
        press(page, "1 e")
        page.wait_for_selector("#node[data-id='1'] #shown [data-key='change'][aria-pressed='true']")
        index = tables[0].actions.index("check")
        change = [table.frequencies["check"] for table in tables]
        button = page.text_content("#children [data-step='check'] small")
        assert button == f"A {100 * change[0]:.1f}%, B 100.0%"
        grids = [table.grid(table.strategy)[..., index] for table in tables]
        qjs = page.get_attribute("#strategy .cell[data-hand='QJs']", "data-change").split()
        assert float(qjs[index]) == pytest.approx(float(grids[1][2, 3] - grids[0][2, 3]), abs=1e-9)
        fits()

        # Filter hands.
        press(page, "f")
        page.keyboard.type("88 no 8s")
        page.wait_for_selector("#filter-said:has-text('3 combos')")
        assert page.locator("#combos tbody tr").count() == 3
        fits()
        press(page, "Control+A Delete Escape")

        # Train ten hands from this node.
        press(page, "p")
        page.wait_for_selector("#deal")
        page.select_option("#trainer [data-key='from']", "1")
        page.select_option("#trainer [data-key='you are']", "1")
        page.focus("#deal")
        for hand in range(10):
            press(page, "Enter")
            page.wait_for_selector(f"#trainer .felt p:has-text('hand {hand + 1} of 10')")
            while not page.locator("#outcome").count():
                count = page.locator("#trainer .rated").count()
                press(page, "1")
                page.wait_for_function(
                    "count => document.querySelectorAll('#trainer .rated').length > count",
                    arg=count,
                )
        page.wait_for_selector("#series:has-text('10 hands are played')")
        fits()
        log = [json.loads(line) for line in (folder / "training.jsonl").read_text().splitlines()]
        assert len(log) == 10
        decisions = [decision for play in log for decision in play["decisions"]]
        assert all(decision["line"].startswith("check") for decision in decisions)
        row = page.locator("tr[data-sums='this session']")
        assert row.locator("[data-name='plays']").text_content() == "10"
        assert row.locator("[data-name='decisions']").text_content() == str(len(decisions))

        # Report on flops, and look at one of them.
        press(page, "p")
        page.wait_for_selector("#look:not([hidden])")
        press(page, "r")
        page.focus("#report [data-key='boards']")
        press(page, "Control+A")
        page.keyboard.type(str(flops))
        page.focus("#report [data-key='target']")
        press(page, "Control+A")
        page.keyboard.type("2")
        press(page, "Tab Enter")
        page.wait_for_selector(f"#report-said:has-text('{flops} of {flops} boards')")
        report = solve_boards(Holdem(**FLOP), flops, line="check", target="2%")
        assert page.locator("tr[data-board]").count() == flops
        mean = page.locator("tr.mean")
        for name, number in report.means.items():
            shown = float(mean.locator(f"[data-name='{name}']").get_attribute("data-value"))
            assert shown == pytest.approx(number, rel=1e-9, abs=1e-12)
        fits()
        page.click("[data-key='sort equity']")
        shown = [
            float(cell.get_attribute("data-value"))
            for cell in page.locator("tr[data-board] [data-name='equity']").all()
        ]
        assert shown == sorted(row["equity"] for row in report.rows)
        kinds = {row["suits"] for row in report.group_by("suits")}
        for kind in kinds:
            page.select_option("[data-key='filter suits']", kind)
            grouped = next(row for row in report.group_by("suits") if row["suits"] == kind)
            shown = float(mean.locator("[data-name='value']").get_attribute("data-value"))
            assert shown == pytest.approx(grouped["value"], rel=1e-9)
        page.select_option("[data-key='filter suits']", "")
        board = page.locator("tr[data-board] >> nth=0").get_attribute("data-board")
        page.focus("tr[data-board] >> nth=0")
        press(page, "Enter")
        page.wait_for_selector("#look:not([hidden]) #strategy .cell[data-p]")
        page.wait_for_function("board => document.title.includes(board)", arg=board)
        page.wait_for_selector("#node[data-id='1']")
        page.wait_for_function(
            "() => !document.getElementById('brief').textContent.startsWith('not solved yet')"
        )
        page.wait_for_selector("#stop", state="hidden")
        fits()
        # Its report is still there.
        press(page, "r")
        page.wait_for_selector("tr[data-board]")
        assert page.locator("tr[data-board]").count() == flops
