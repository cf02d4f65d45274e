"""How many random examples a property is tried on."""

from __future__ import annotations

from hypothesis import settings

FACTOR = 1.0
"""Set by ``conftest.py`` before test modules are imported: less on save, more at night."""


def examples(count: int) -> settings:
    """A decorator: ``count`` examples in CI, without a deadline, for kernels may be compiled."""
    return settings(deadline=None, max_examples=max(3, round(count * FACTOR)))
