"""The modules of poker under the paths that they had in version 0.16.0."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

import tensorcfr.games


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("holdem.ranges", "ranges"),
        ("holdem.flops", "flops"),
        ("holdem.spot", "spot"),
    ],
)
def test_a_module_of_poker_has_two_paths(path: str, module: str) -> None:
    """Both imports return one module, so that its classes and its patches are the same."""
    by_path = import_module(f"tensorcfr.games.{path}")
    assert by_path is sys.modules[f"tensorcfr.games.poker.{module}"]
    package, name = path.split(".")
    assert getattr(getattr(tensorcfr.games, package), name) is by_path
