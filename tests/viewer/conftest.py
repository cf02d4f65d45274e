"""Pages of headless Chromium, driven by Playwright."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.browsing import CHROMIUM, window


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with window(browser, viewport={"width": 1400, "height": 900}) as opened:
        yield opened


@pytest.fixture
def tolerant(browser: Any) -> Iterator[Any]:
    """A page on which requests may be refused."""
    opened = browser.new_page()
    yield opened
    opened.close()
