"""Pot-limit Omaha after the flop: ranges, the strength of hands, and the rules of a spot."""

from __future__ import annotations

from .omaha_ranges import read_range
from .omaha_spot import Omaha

__all__ = ["Omaha", "read_range"]
