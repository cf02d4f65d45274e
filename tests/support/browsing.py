"""What tests in a browser share: a server, and what is on the page that it serves."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from tensorcfr import Solution
from tensorcfr.viewer.server import Server
from tensorcfr.viewer.session import Session
from tensorcfr.viewer.spot_form import SpotForm

TURN: dict[str, Any] = {
    "board": "Td9d6hQd",
    "ranges": ("AA:0.5,KK,AJs", "QJs,88"),
    "pot": 100,
    "stacks": 150,
    "bets": {"turn": "a", "river": "50%"},
    "raises": "a",
}
"""The spot that most tests of the viewer look at."""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
IN_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None and os.environ.get("TENSORCFR_BROWSER") != "required",
        reason="Chromium is not installed",
    ),
]
"""The marks of such tests."""
READY = "body[data-ready]"


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """The server while it answers; at the end its builds and solves are over."""
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()
        server.server_close()
        server.start.finish()


def served(*solutions: Solution) -> AbstractContextManager[Server]:
    """The viewer of one or two solutions; of none, the form."""
    return running(Server(Session(*solutions) if solutions else None))


def built(form: SpotForm) -> dict[str, Any]:
    """The status of a form after it has built its game."""
    while (status := form.status())["building"]:
        time.sleep(0.01)
    return status


def wait_for_solve(session: Session) -> None:
    while session.running is None or not session.running.is_over:
        time.sleep(0.01)


@contextmanager
def window(browser: Any, **options: Any) -> Iterator[Any]:
    """A page on which no program fails and nothing is refused."""
    errors: list[str] = []
    opened = browser.new_page(**options)
    opened.on("pageerror", lambda error: errors.append(str(error)) if not ended(error) else None)
    opened.on("console", lambda message: errors.append(message.text) if failed(message) else None)
    yield opened
    opened.close()
    assert not errors


def failed(message: Any) -> bool:
    """Whether the console reports an error; the page may ask once more when the server is gone."""
    gone = ("ERR_CONNECTION", "ERR_SOCKET")
    return message.type == "error" and not any(word in message.text for word in gone)


def ended(error: Any) -> bool:
    """Whether an error says that the server is gone, which a test that ends may stop first."""
    return "the viewer has ended" in str(error)


def open_page(page: Any, url: str) -> None:
    page.goto(url)
    page.wait_for_selector(READY)


def click_to(page: Any, *steps: str) -> None:
    """Click the children with these labels, one after the other."""
    for step in steps:
        before = page.get_attribute("#node", "data-id")
        named = page.locator(f'#children [data-step="{step}"], #strategy [data-label="{step}"]')
        if not named.count():  # By infoset, which the step only begins with.
            named = page.locator("#children button").filter(has_text=step)
        named.first.click()
        page.wait_for_function(
            "id => document.getElementById('node').dataset.id !== id", arg=before
        )


def table(page: Any) -> dict[str, dict[str, Any]]:
    """The numbers of the table on the screen, by infoset."""
    rows = {}
    for row in page.locator("#strategy tbody tr").all():
        cells = row.locator("td.action").all()
        rows[row.get_attribute("data-infoset")] = {
            "p": [float(cell.get_attribute("data-p")) for cell in cells],
            "q": [float(cell.get_attribute("data-q") or "nan") for cell in cells],
            "ev": float(row.locator("td.ev").get_attribute("data-value") or "nan"),
            "reach": float(row.locator("td.reach").get_attribute("data-value")),
            "loss": float(row.locator("td.lost").get_attribute("data-value")),
            "conditional_regret": float(row.locator("td.regret").get_attribute("data-value")),
        }
    return rows


def assert_shows(page: Any, solution: Solution, label: str) -> None:
    """The table on the screen has the numbers of Python for the node of an infoset."""
    session = Session(solution)
    node = session.node(session.nodes.place(label), 0)
    shown = table(page)
    assert list(shown) == [row["infoset"] for row in node["hands"]]
    assert label in shown
    for row in node["hands"]:
        for key in ("p", "q"):
            assert shown[row["infoset"]][key] == row[key]
        for key in ("ev", "reach", "loss", "conditional_regret"):
            assert shown[row["infoset"]][key] == row[key]
