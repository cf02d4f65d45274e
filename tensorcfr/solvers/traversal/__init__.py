"""Representation of a compiled game for Monte Carlo traversals: table of infosets, trees, bytes."""

from ...uncompiled.infoset_table import BASELINE, CUMULATIVE, REGRETS, STRATEGY
from .card_trees import card_traversal, card_tree
from .history_tree import fixed_chance, history_traversal
from .public_trees import all_hands_traversal, public_traversal
from .table_layout import TableLayout
from .traversal_memory import bytes_of

__all__ = [
    "BASELINE",
    "CUMULATIVE",
    "REGRETS",
    "STRATEGY",
    "TableLayout",
    "all_hands_traversal",
    "bytes_of",
    "card_traversal",
    "card_tree",
    "fixed_chance",
    "history_traversal",
    "public_traversal",
]
