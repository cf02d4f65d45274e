"""Poker: cards, betting, ranges, strength and groups of hands, and the rules of spots."""
