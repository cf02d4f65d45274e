"""Pages of headless Chromium, driven by Playwright."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.browsing import CHROMIUM, ended, failed


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page on which no program fails and nothing is refused."""
    errors: list[str] = []
    opened = browser.new_page(viewport={"width": 1400, "height": 900})
    opened.on("pageerror", lambda error: errors.append(str(error)) if not ended(error) else None)
    opened.on("console", lambda message: errors.append(message.text) if failed(message) else None)
    yield opened
    opened.close()
    assert not errors


@pytest.fixture
def tolerant(browser: Any) -> Iterator[Any]:
    """A page on which requests may be refused."""
    opened = browser.new_page()
    yield opened
    opened.close()
