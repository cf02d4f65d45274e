"""Hold'em after the flop: the names and modules of :mod:`tensorcfr.games.poker` for it."""

from __future__ import annotations

import sys

from ..._util.renamed import renamed_in_module
from ..poker import (
    betting,
    betting_rows,
    bunching,
    deck,
    flops,
    groups,
    ranges,
    runouts,
    sizes,
    spot,
    strength,
)
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

for _module in (
    *(betting, betting_rows, bunching, deck, flops, groups),
    *(ranges, runouts, sizes, spot, strength),
):
    # ``tensorcfr.games.holdem.deck`` stays the name of a module that can be imported.
    sys.modules[_module.__name__.replace(".poker.", ".holdem.")] = _module

__getattr__ = renamed_in_module(__name__, Size="BetSize")
