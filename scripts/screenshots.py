"""The pictures of the viewer in docs/figures, by headless Chromium.

python scripts/screenshots.py             needs Playwright and Chromium
python scripts/screenshots.py --time      also measures the time to the first view of some games
"""

from __future__ import annotations

import shutil
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tensorcfr import Solution, compile_game, solve
from tensorcfr.viewer.desk import Desk
from tensorcfr.viewer.server import Server

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures"
TIMED: tuple[tuple[str, bool | None], ...] = (
    ("leduc", None),
    ("liars_dice", None),
    ("nl_leduc", None),
    ("bluff(dice=(2,2))", None),
    ("bluff(dice=(2,2))", True),
)
"""Games, and whether each is cut."""
PATIENCE = 300_000
"""Milliseconds to wait for a page: kernels may have to be compiled first."""
READY = "body[data-ready]"


@contextmanager
def served(desk: Desk) -> Iterator[str]:
    """The address of a viewer."""
    server = Server(desk)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.url
    finally:
        server.stop()
        thread.join()
        server.server_close()


def leduc(browser: Any) -> None:
    """A node with a lock, solved again; the same on a phone."""
    with served(Desk(solve(compile_game("leduc"), iters=1000))) as url:
        page = browser.new_page(viewport={"width": 1180, "height": 900})
        page.set_default_timeout(PATIENCE)
        page.goto(url)
        page.wait_for_selector(READY)
        page.keyboard.press("2")
        page.wait_for_selector("#node[data-id='2']")
        page.click("tr[data-infoset='Js r']")
        page.fill("#editor input[data-action='fold']", "1")
        page.click("#lock")
        page.click("#solve")
        page.wait_for_selector("#cost td.cost")
        page.wait_for_timeout(500)
        page.screenshot(path=FIGURES / "viewer_leduc.png", full_page=True)
        phone = browser.new_page(viewport={"width": 390, "height": 780}, color_scheme="dark")
        phone.goto(f"{url}#2")
        phone.wait_for_selector(READY)
        phone.screenshot(path=FIGURES / "viewer_phone.png")


def holdem(browser: Any) -> None:
    """A river of hold'em: two cards of a full deck are shown as 13 x 13."""
    game = compile_game(
        "holdem",
        board="Td9d6hQc2s",
        ranges=("22+,A2+,K5+,Q8+,J8+,T8+,98s", "22+,A2+,K5+,Q8+,J8+,T8+,98s"),
        pot=100,
        stacks=200,
        bets="50%,100%",
        raises="60%",
    )
    with served(Desk(solve(game, iters=500))) as url:
        page = browser.new_page(viewport={"width": 1180, "height": 860})
        page.set_default_timeout(PATIENCE)
        page.goto(url)
        page.wait_for_selector(READY)
        page.keyboard.press("v")
        page.wait_for_timeout(500)
        page.screenshot(path=FIGURES / "viewer_holdem.png")


def bluff(browser: Any) -> None:
    """A game in chunks: a bid in the middle of Bluff(2,2)."""
    solution = solve(compile_game("bluff(dice=(2,2))", cut=True), iters=50)
    with served(Desk(solution)) as url:
        page = browser.new_page(viewport={"width": 1180, "height": 860})
        page.set_default_timeout(PATIENCE)
        page.goto(url)
        page.wait_for_selector("#strategy tbody tr")
        page.fill("#search", "1x4 2x1 2x3 2x5")
        page.wait_for_selector("#found button")
        page.keyboard.press("Enter")
        page.wait_for_selector("#node-title:has-text('2x5')")
        page.wait_for_timeout(500)
        page.screenshot(path=FIGURES / "viewer_bluff.png")


def first_views(browser: Any) -> None:
    """Seconds from opening the address to the first node, of three pages each; the median."""
    for name, cut in TIMED:
        begun = time.perf_counter()
        game = compile_game(name, cut=cut)
        solution: Solution = solve(game, iters=10)
        solved = time.perf_counter() - begun
        begun = time.perf_counter()
        desk = Desk(solution)
        with served(desk) as url:
            serving = time.perf_counter() - begun
            views = []
            for _ in range(3):
                page = browser.new_page()
                begun = time.perf_counter()
                page.goto(url)
                page.wait_for_selector(READY)
                views.append(time.perf_counter() - begun)
                page.close()
            begun = time.perf_counter()
            while desk.solutions[0].get() is None and desk.solutions[0].error is None:
                time.sleep(0.1)
            values = time.perf_counter() - begun
        print(
            f"{name}{', in chunks' if cut else ''}: {game.n_infosets:,} infosets, "
            f"compiled and solved in {solved:.1f} s, "
            f"served after {serving:.2f} s, first view {views[0]:.2f} s, median "
            f"{statistics.median(views):.2f} s, values {values:.1f} s later "
            f"{desk.solutions[0].error or ''}",
            flush=True,
        )


def main() -> None:
    """Make the pictures."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        leduc(browser)
        holdem(browser)
        bluff(browser)
        if "--time" in sys.argv:
            first_views(browser)
        browser.close()


if __name__ == "__main__":
    main()
