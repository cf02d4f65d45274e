"""Hold'em after the flop: cards, ranges, bet sizes, and the rules of a spot."""

from __future__ import annotations

from ..._util.renamed import renamed_in_module
from .deck import CARDS, HANDS, grid_label, grid_place, hand_label, read_cards
from .ranges import read_range
from .sizes import BetSize, read_sizes
from .spot import Holdem

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

__getattr__ = renamed_in_module(__name__, Size="BetSize")
