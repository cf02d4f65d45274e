"""Hold'em after the flop: the names and modules of :mod:`tensorcfr.games.poker` for it."""

from __future__ import annotations

import sys
from importlib import import_module

from ..poker.deck import CARDS, HANDS, grid_label, grid_place, hand_label, read_cards
from ..poker.ranges import read_range
from ..poker.sizes import BetSize, read_sizes
from ..poker.spot import Holdem

__all__ = [
    "CARDS",
    "HANDS",
    "BetSize",
    "Holdem",
    "grid_label",
    "grid_place",
    "hand_label",
    "read_cards",
    "read_range",
    "read_sizes",
]

_MODULES = "betting flops groups ranges runouts sizes spot strength"
for _name in _MODULES.split():
    # ``tensorcfr.games.holdem.ranges`` stays the name of a module that can be imported.
    _module = import_module(f"..poker.{_name}", __name__)
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _module
