"""Representation of a compiled game for Monte Carlo traversals: table of infosets, trees, bytes."""

from ...uncompiled.infosets import BASELINE, CUMULATIVE, REGRETS, STRATEGY
from .history_tree import fixed_chance, history_traversal
from .memory import bytes_of
from .public_tree import all_hands_traversal, public_traversal
from .table import TableLayout

__all__ = [
    "BASELINE",
    "CUMULATIVE",
    "REGRETS",
    "STRATEGY",
    "TableLayout",
    "all_hands_traversal",
    "bytes_of",
    "fixed_chance",
    "history_traversal",
    "public_traversal",
]
