"""Layouts of the arrays of games."""

from __future__ import annotations

from enum import StrEnum


class Layout(StrEnum):
    """Layout of a game's arrays, by which :attr:`tensorcfr.algorithms.Record.solvers` names solvers
    and code chooses between kinds of games."""

    FLAT = "flat"
    """One sequence form, and labels of all its infosets."""
    TIED = "tied"
    """Flat arrays whose infosets share strategies: imperfect recall."""
    CHUNKS = "chunks"
    """Trunk and chunks; only the arrays of a policy cover all sequences."""
    TEAMS = "teams"
    """One sequence form of two teams, where several sequences lead to an infoset."""
    RULES = "rules"
    """Rules without arrays: the game is not compiled."""
