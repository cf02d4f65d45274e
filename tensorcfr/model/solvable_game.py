"""The properties of a game that every solver may ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..rules import Defaults
from .layout import Layout


class SolvableGame:
    """Game that :func:`tensorcfr.solve` accepts: compiled, of teams, or given by its rules."""

    is_of_cards: bool = False
    """True if this is a card game, such as a spot of hold'em."""
    defaults: Defaults = Defaults()
    """Defaults for solving the game, and its units."""
    strategy_class: np.ndarray | None = None
    """uint32 (infosets,): in an abstraction with imperfect recall, the first infoset among the
    infosets with the same strategy; see :mod:`tensorcfr.abstraction`."""

    if TYPE_CHECKING:

        @property
        def name(self) -> str:
            """Name and parameters with which the game was requested."""

        @property
        def unit(self) -> float:
            """Factor from payoffs in the arrays to payoffs in the game's own unit."""

        @property
        def layout(self) -> Layout:
            """Layout of the arrays."""

        @property
        def n_players(self) -> int:
            """Number of players; they are numbered from 0."""

        @property
        def digest(self) -> str:
            """Fingerprint by which solutions compare games."""

    @property
    def caveat(self) -> str:
        """Caveat to the algorithm's guarantee in this game; usually empty."""
        return ""

    @property
    def n_contestants(self) -> int:
        """Number of players without those who never act and always get the same."""
        return self.n_players

    @property
    def is_compiled(self) -> bool:
        """True if all infosets and histories are known; False for a game that is solved from its
        rules."""
        return self.layout != Layout.RULES

    @property
    def is_flat(self) -> bool:
        """True if one sequence form has all infosets, and the game has labels of all of them."""
        return self.layout in (Layout.FLAT, Layout.TIED, Layout.TEAMS)

    @property
    def has_imperfect_recall(self) -> bool:
        """True if infosets share a strategy although their player could tell them apart by earlier
        events (imperfect recall)."""
        return self.layout == Layout.TIED
