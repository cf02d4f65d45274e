"""Pot-limit Omaha after the flop: the names and modules of :mod:`tensorcfr.games.poker` for it."""

from __future__ import annotations

import sys

from ..poker import omaha_groups, omaha_ranges, omaha_spot, omaha_strength
from ..poker.omaha_ranges import read_range
from ..poker.omaha_spot import Omaha

__all__ = ["Omaha", "read_range"]

for _module in (omaha_groups, omaha_ranges, omaha_spot, omaha_strength):
    # ``tensorcfr.games.omaha.omaha_ranges`` stays the name of a module that can be imported.
    sys.modules[_module.__name__.replace(".poker.", ".omaha.")] = _module
