"""The pictures of the viewer in docs/figures, by headless Chromium.

python -m scripts.screenshots       needs Playwright and Chromium
"""

from __future__ import annotations

import io
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from tensorcfr import CompiledGame, compile_game, solve
from tensorcfr.viewer import iteration_page
from tensorcfr.viewer.library import Library
from tensorcfr.viewer.server import Server
from tensorcfr.viewer.session import Session

from ._pages import FIGURES

PATIENCE = 300_000
"""Milliseconds to wait for a page: kernels may have to be compiled first."""
READY = "body[data-ready]"
DESKTOP, PHONE = {"width": 1400, "height": 900}, {"width": 390, "height": 844}
COLOURS = 256
"""Colours of a picture, the most frequent ones, which make its file small; only edges of letters
have others."""
FOLDER = "/home/you/poker"
"""Folder of the library, which is not there: nothing is saved."""
SPOT: dict[str, Any] = {
    "board": "Td9d6hQc",
    "ranges": (
        "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s",
        "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+",
    ),
    "pot": 200,
    "stacks": 900,
    "bets": {"turn": "60%", "river": "50%,a"},
    "raises": "2.5x",
}
"""A turn."""
FLOP: dict[str, Any] = {
    "board": "Td9d6h",
    "ranges": ("99+,AQs+,AKo,KQs,98s,87s", "88-22,AJs,KQs,QJs,JTs,T9s"),
    "bets": {"flop": "50%", "turn": "60%", "river": "60%"},
    "raises": "",
    "stacks": 300,
}
"""Changes of the turn to a flop."""


THREE: dict[str, Any] = {
    "board": "Td9d6hQc2s",
    "ranges": (
        "99+,AQs+,KQs,98s,87s",
        "JJ-77,AQs-ATs,KQs-KTs,QJs,JTs,T9s",
        "66+,ATs+,KJs+,QJs,J9s+",
    ),
    "pot": 60,
    "stacks": (100, 200, 150),
    "bets": "60%",
    "raises": "a",
}
"""A river of three players."""


@contextmanager
def served(session: Session | None, folder: str = FOLDER) -> Iterator[str]:
    """Yield the address of a viewer; without a session, of the form."""
    server = Server(session, library=Library(folder))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.url
    finally:
        server.stop()
        thread.join()
        server.server_close()


def open_page(browser: Any, url: str, size: dict[str, int], scheme: str = "light") -> Any:
    """Yield a page that shows its first node."""
    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    page.wait_for_selector(READY)
    return page


def save(page: Any, name: str) -> None:
    """Save the screen as a small file."""
    page.wait_for_timeout(800)
    page.evaluate("scrollTo(0, 0)")
    pixels = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"), dtype=np.int64)
    colours, where, counts = np.unique(
        pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True
    )
    palette = colours[np.argsort(-counts)[:COLOURS]]
    nearest = ((colours[:, None] - palette) ** 2).sum(axis=2).argmin(axis=1)
    few = Image.fromarray(nearest[where].reshape(pixels.shape[:2]).astype(np.uint8), "P")
    few.putpalette(palette.ravel().tolist())
    few.save(FIGURES / name, optimize=True)


def leduc(browser: Any) -> None:
    """Take a picture of a node with a lock, solved again."""
    with served(Session(solve(compile_game("leduc"), iters=1000))) as url:
        page = open_page(browser, url, DESKTOP)
        page.keyboard.press("2")
        page.wait_for_selector("#node[data-id='2']")
        page.click("tr[data-infoset='Js r']")
        page.fill("#editor input[data-action='fold']", "1")
        page.click("#lock")
        page.click("#solve")
        page.wait_for_selector("#cost td.cost")
        save(page, "viewer_leduc.png")


def turn() -> CompiledGame:
    """Return the spot."""
    return compile_game("holdem", **SPOT)


def holdem(browser: Any) -> None:
    """Take pictures of a turn as a grid with the hands of a class, of the next river card, and of a
    phone."""
    with served(Session(solve(turn(), iters=200, precision="float32"))) as url:
        page = open_page(browser, url, DESKTOP)
        page.wait_for_selector("#ranges figcaption:has-text('equity')")
        page.click("#strategy .cell[data-hand='KJs']")
        save(page, "viewer_holdem.png")
        for step in range(2):
            page.click("#children [data-step='check']")
            page.wait_for_selector(f"#line .stop.here:nth-child({step + 2})")
        page.wait_for_selector("#strategy .cell[data-p]")
        save(page, "viewer_runouts.png")
        phone = open_page(browser, f"{url}#0&cell=KJs", PHONE, "dark")
        phone.wait_for_selector("#ranges figcaption:has-text('equity')")
        save(phone, "viewer_phone.png")


def habits(browser: Any) -> None:
    """Take a picture of a response to two habits, with prices, gains and risks."""
    river = SPOT | {"board": "Td9d6hQc2s", "bets": "60%"}
    solution = solve(compile_game("holdem", **river), target="0.1%", precision="float32")
    with served(Session(solution, precision="float32")) as url:
        page = open_page(browser, url, DESKTOP)
        page.fill("#opponent-habits", "call +10%\nbet bluffs =0%")
        page.fill("#iterations", "2000")
        page.click("#respond")
        page.wait_for_selector("#response table")
        page.click("#shown [data-key='change']")
        # The section is next to the grid, so that one picture has both.
        page.evaluate(
            "document.querySelector('aside').prepend(document.getElementById('opponent'))"
        )
        save(page, "viewer_habits.png")


def three(browser: Any) -> None:
    """Take a picture of a river of three players after a check."""
    solution = solve(compile_game("holdem", **THREE), iters=300, precision="float32")
    with served(Session(solution)) as url:
        page = open_page(browser, url, DESKTOP)
        page.click("#children [data-step='check']")
        page.wait_for_selector("#line .stop.here:nth-child(2)")
        page.wait_for_selector("#graph polyline[data-player='2']")
        save(page, "viewer_three.png")


def study(browser: Any) -> None:
    """Take pictures of the trainer in the middle of a hand, and of a report on flops."""
    flop = compile_game("holdem", **(SPOT | FLOP))
    session = Session(solve(flop, target="0.5%", precision="float32"), precision="float32")
    session.trainer.log.session = "5"  # The seed of the deals.
    with TemporaryDirectory() as folder, served(session, folder) as url:
        page = open_page(browser, url, DESKTOP)
        page.keyboard.press("p")
        for action in ("check", "call", "check"):
            if not page.locator("#choices").count():
                page.click("#deal")
            page.wait_for_selector("#choices")
            chosen = page.locator(f"#choices [data-action='{action}']")
            (chosen if chosen.count() else page.locator("#choices button")).first.click()
            page.wait_for_selector("#trainer .rated")
        page.wait_for_timeout(500)
        page.evaluate("document.getElementById('log').remove()")  # The name of a folder.
        save(page, "viewer_trainer.png")
        page.keyboard.press("p")
        page.keyboard.press("r")
        page.wait_for_selector("#report-begin")
        page.fill("#report [data-key='target']", "1")
        page.click("#report-begin")
        page.wait_for_selector("#report-said:has-text('25 of 25 boards')")
        page.click("[data-key='sort equity']")
        page.evaluate("document.getElementById('report-said').remove()")
        save(page, "viewer_boards.png")


def form(browser: Any) -> None:
    """Take a picture of the form of a spot, with the tree at a line."""
    with served(None) as url:
        page = open_page(browser, url, DESKTOP, "dark")
        page.wait_for_selector("#form-size:has-text('public nodes')")
        page.wait_for_selector("#paint-ip .cell")
        page.click("#form-tree summary")
        page.click("#tree [data-step='check']")
        page.fill("#tree-size", "100%")
        page.click("#tree-add")
        page.wait_for_selector("#form-size:has-text('before:')")
        save(page, "viewer_form.png")


def bluff(browser: Any) -> None:
    """Take a picture of a game in chunks: a bid in the middle of Bluff(2,2)."""
    solution = solve(compile_game("bluff(dice=(2,2))", cut=True), iters=50)
    with served(Session(solution)) as url:
        page = open_page(browser, url, DESKTOP)
        page.fill("#search", "1x4 2x1 2x3 2x5")
        page.wait_for_selector("#found button")
        page.keyboard.press("Enter")
        page.wait_for_selector("#node-title:has-text('2x5')")
        page.wait_for_selector("td.ev[data-value]")
        save(page, "viewer_bluff.png")


def iterations(browser: Any) -> None:
    """Take a picture of an infoset that learns in the first iteration of CFR on Kuhn, with the sum
    of a regret."""
    with TemporaryDirectory() as folder:
        path = iteration_page(compile_game("kuhn"), "cfr").save(Path(folder) / "kuhn.html")
        page = open_page(browser, path.as_uri(), DESKTOP)
        while page.text_content(".now .event") != "regrets and next strategy of Q":
            page.keyboard.press("ArrowRight")
        page.click("[data-name='instantaneous regret 0']")
        save(page, "viewer_iterations.png")


def main() -> None:
    """Make the pictures."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        leduc(browser)
        holdem(browser)
        habits(browser)
        three(browser)
        study(browser)
        form(browser)
        bluff(browser)
        iterations(browser)
        browser.close()


if __name__ == "__main__":
    main()
