"""Abstraction: smaller games whose infosets share strategies, and lifting back to the full game."""

from .abstract_game import AbstractGame, lift
from .buckets import buckets_by_future, buckets_by_label, buckets_by_strength
from .card_abstraction import BucketedCards, abstract_cards
from .hand_abstraction import abstract_hands, board_names
from .infoset_abstraction import abstract

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
