"""Hold'em after the flop: cards, ranges, bet sizes, and the rules of a spot."""

from __future__ import annotations

from .deck import CARDS, HANDS, grid_label, grid_place, hand_label, read_cards
from .ranges import read_range
from .sizes import Size, read_sizes
from .spot import Holdem

__all__ = [
    "CARDS",
    "HANDS",
    "Holdem",
    "Size",
    "grid_label",
    "grid_place",
    "hand_label",
    "read_cards",
    "read_range",
    "read_sizes",
]
