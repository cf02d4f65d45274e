"""Abstraction: smaller games whose infosets share strategies, and lifting back to the full game."""

from .buckets import buckets_by_future, buckets_by_label, buckets_by_strength
from .cards import BucketedCards, abstract_cards
from .game import AbstractGame, lift
from .hands import abstract_hands, board_names
from .infosets import abstract

__all__ = [
    "AbstractGame",
    "BucketedCards",
    "abstract",
    "abstract_cards",
    "abstract_hands",
    "board_names",
    "buckets_by_future",
    "buckets_by_label",
    "buckets_by_strength",
    "lift",
]
