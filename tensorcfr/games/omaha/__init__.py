"""Pot-limit Omaha after the flop: the names of :mod:`tensorcfr.games.poker` for it."""

from ..poker.omaha_ranges import read_range
from ..poker.omaha_spot import Omaha

__all__ = ["Omaha", "read_range"]
