"""What every test shares."""

from __future__ import annotations

from collections.abc import Iterator

import numba
import pytest

from tensorcfr import ALGORITHMS

pytest.register_assert_rewrite("support")


@pytest.fixture
def registry() -> Iterator[None]:
    """Leave the table of algorithms as it was."""
    before = dict(ALGORITHMS)
    yield
    ALGORITHMS.clear()
    ALGORITHMS.update(before)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With the JIT off, leave out what only checks at length what other tests check briefly."""
    if numba.config.DISABLE_JIT:
        skip = pytest.mark.skip(reason="takes too long with the JIT off")
        for item in items:
            if item.get_closest_marker("compiled"):
                item.add_marker(skip)
