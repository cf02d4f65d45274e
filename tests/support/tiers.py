"""Which tests run when: tiers, slices of a tier, and files that also run with kernels as Python."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import PurePosixPath
from typing import Any

import numba
import pytest

AS_PYTHON = (
    "algorithms/test_local_rules.py",
    "deep/test_deep_cfr.py",
    "evaluation/test_correlation.py",
    "evaluation/test_evaluation.py",
    "evaluation/test_player_models.py",
    "games/test_three_handed.py",
    "kernels",
    "project/test_every_way.py",
    "sampling",
    "solvers/test_correlated_play.py",
    "solvers/test_excessive_gap.py",
    "solvers/test_locks.py",
    "solvers/test_team_games.py",
    "solvers/test_warm_starts.py",
)
"""Files and folders below ``tests/`` whose fast tests ``.ci/run`` repeats with the JIT off, where
coverage sees the kernels."""
CHECKS_INDICES = (
    "evaluation/test_evaluation.py",
    "kernels/test_kernels.py",
    "kernels/test_lanes.py",
)
"""Files whose fast tests ``.ci/run`` repeats with kernels that check their indices."""


REPEATED = {"as_python": AS_PYTHON, "checks_indices": CHECKS_INDICES}
"""These by the marker that selects them."""


@cache
def repeats_of(path: str) -> tuple[str, ...]:
    """The markers of the tests of a file below ``tests/``."""
    own = PurePosixPath(path)
    return tuple(
        marker
        for marker, places in REPEATED.items()
        if any(own.is_relative_to(place) for place in places)
    )


def is_left_out(path: str, expression: str) -> bool:
    """Whether an expression of markers, as in ``.ci/run``, selects no test of a file: such files
    need not be read."""
    asked = {marker for marker in REPEATED if expression.endswith(f"and {marker}")}
    return not asked <= set(repeats_of(path))


def in_slice(test: str, place: str) -> bool:
    """Whether a test is in the ``K``-th of ``N`` slices, with ``place`` as ``"K/N"``.

    The slices are disjoint, cover all tests, and depend on the test's id alone.
    """
    at, count = (int(number) for number in place.split("/"))
    return zlib.crc32(test.encode()) % count == at % count


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
