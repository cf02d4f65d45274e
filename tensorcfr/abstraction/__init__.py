"""Abstraction: smaller games in which infosets share strategies, and the way back."""

from .buckets import buckets_by_future, buckets_by_label, buckets_by_strength
from .game import AbstractGame, lift
from .hands import abstract_hands, board_names
from .infosets import abstract

__all__ = [
    "AbstractGame",
    "abstract",
    "abstract_hands",
    "board_names",
    "buckets_by_future",
    "buckets_by_label",
    "buckets_by_strength",
    "lift",
]
