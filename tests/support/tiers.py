"""Parameters of a test of which some are fast and all are run in CI."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numba
import pytest


def tiered(
    cases: Iterable[Any], fast: Collection[Any], *, quick_as_python: bool = False
) -> list[Any]:
    """Values for ``pytest.mark.parametrize``: those that are not ``fast`` are marked ``full``.

    Args:
        cases: Values, or tuples of values where the test has several parameters.
        fast: Some of them.
        quick_as_python: Whether all of them are fast with the JIT off, where compiling takes no
            time.
    """
    values = list(cases)
    if quick_as_python and numba.config.DISABLE_JIT:
        fast = values
    assert set(fast) <= set(values)
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if case in fast else pytest.mark.full,
        )
        for case in values
    ]
