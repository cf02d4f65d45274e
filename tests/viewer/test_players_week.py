"""A player's week at the viewer by keyboard: import a range, build a spot, watch it being solved,
save, end the server, open again, lock a line, solve again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.browsing import IN_BROWSER, running, window
from tensorcfr import Solution
from tensorcfr.viewer.library import Library
from tensorcfr.viewer.server import Server

pytestmark = IN_BROWSER
PICTURES = os.environ.get("TENSORCFR_PICTURES")
"""Folder into which this test writes what is on the screen, for people."""
PATIENCE = 120_000
"""Milliseconds: kernels may have to be compiled."""


def tab_to(page: Any, selector: str) -> None:
    """Press Tab until an element has the focus, from the beginning of the page."""
    page.evaluate("document.activeElement.blur()")
    for _ in range(400):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"Tab does not come to {selector}")


def write(page: Any, selector: str, text: str) -> None:
    tab_to(page, selector)
    page.keyboard.press("Control+A")
    page.keyboard.type(text)


def press(page: Any, selector: str) -> None:
    tab_to(page, selector)
    page.keyboard.press("Enter")


@pytest.fixture(params=[(1400, 900, "light"), (390, 844, "dark")], ids=["desk", "phone"])
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    width, height, scheme = request.param
    size = {"width": width, "height": height}
    with window(browser, viewport=size, color_scheme=scheme) as opened:
        opened.set_default_timeout(PATIENCE)
        yield opened


@pytest.mark.full
def test_first_half(page: Any, tmp_path: Path) -> None:
    width = page.viewport_size["width"]

    def look(name: str) -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if PICTURES:
            page.wait_for_timeout(600)
            page.screenshot(path=f"{PICTURES}/{name}_{width}.png")

    with running(Server(None, library=Library(tmp_path))) as server:
        page.goto(server.url)
        page.wait_for_selector("#paint-ip .cell")
        for seat, text in (("oop", "AA:0.5,KK,AJs"), ("ip", "QJs,88")):
            write(page, f"#form-{seat}", text)
        write(page, "#ranges-oop-name", "open from the button")
        page.keyboard.press("Enter")
        page.wait_for_selector("#ranges-oop-note:has-text('saved as')")
        assert (tmp_path / "ranges/open from the button.txt").read_text() == "AA:0.5,KK,AJs"
        write(page, "#form-board", "Td9d6hQd")
        write(page, "#form-pot", "5.5")
        write(page, "#form-stacks", "97.5")
        for sizes, text in (("bets", "60%"), ("raises", "3x")):
            for street in ("turn", "river"):
                write(page, f"[id='form-{sizes}.{street}']", text)
        write(page, "#form-target", "0")
        write(page, "#form-iterations", "10000000")
        tab_to(page, "#form-threads")
        page.keyboard.type("2")
        page.wait_for_selector("#form-size:has-text('Smallest chip 0.1')")
        look("form")
        page.wait_for_selector("#build:not([disabled])")
        press(page, "#build")

        # Strategies are browsed while the solve runs.
        page.wait_for_selector("#brief:has-text('so far')")
        page.wait_for_selector("#brief:has-text('% of the pot')")
        page.keyboard.press("1")
        page.wait_for_selector("#node[data-id='1']")
        page.wait_for_selector("#strategy .cell[data-p]")
        assert page.is_visible("#stop")
        session = server.session
        assert session is not None
        assert session.threads == 2
        look("running")
        press(page, "#stop")
        page.wait_for_selector("#solving:has-text('stopped; the strategy so far is kept')")
        page.keyboard.press("Escape")
        page.keyboard.press("s")
        page.wait_for_selector("#solutions-name:focus")
        page.keyboard.type("monday")
        page.keyboard.press("Enter")
        page.wait_for_selector("#solutions-note:has-text('saved as')")
        look("saving")
        page.keyboard.press("Escape")
        solved = session.solutions[0].solution
        address = page.evaluate("location.hash")
    assert not list((tmp_path / "solutions").glob("last*"))  # Everything has been saved.
    saved = Solution.load(tmp_path / "solutions/monday.npz")
    assert saved.value == solved.value
    assert saved.game.name == "holdem Td9d6hQd"

    with running(Server(None, library=Library(tmp_path))) as server:
        page.goto(server.url)
        page.wait_for_selector("#form-size:has-text('Smallest chip 0.1')")  # The form is as it was.
        tab_to(page, "#solutions-list")
        page.keyboard.type("monday")
        press(page, "#solutions-open")
        page.wait_for_selector("#brief:has-text('% of the pot')")
        assert page.evaluate("location.hash") == address
        press(page, "#lock-all")
        press(page, "#editor .always")
        press(page, "#lock")
        page.wait_for_selector("#lock-list li:has-text('* check: check 1')")
        write(page, "#iterations", "20")
        look("lock")
        press(page, "#solve")
        page.wait_for_selector("#cost td.cost")
        look("solved_again")
    files = sorted(path.name for path in (tmp_path / "solutions").glob("last*.npz"))
    assert files == ["last A.npz", "last B.npz"]
    locked = Solution.load(tmp_path / "solutions/last B.npz").locks
    assert locked == {"* check": {"check": 1.0, "bet3.3": 0.0}}
