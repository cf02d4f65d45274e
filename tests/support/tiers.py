"""Parameters of a test of which some are fast and all are run in CI."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def tiered(cases: Iterable[Any], fast: Collection[Any]) -> list[Any]:
    """Values for ``pytest.mark.parametrize``: those that are not ``fast`` are marked ``full``.

    A case is one value, or a tuple of values where the test has several parameters.
    """
    values = list(cases)
    assert set(fast) <= set(values)
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if case in fast else pytest.mark.full,
        )
        for case in values
    ]
