"""Fixtures of the examples in pages."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def examples_write_elsewhere(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Examples run in a folder of their own: some save files."""
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
