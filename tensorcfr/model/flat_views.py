"""Views of a flat game: its public tree and its histories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from .._util.memory_budget import require
from .arrays import HistoryTree, PublicTree, not_none
from .expansion import BYTES_PER_HISTORY, count_histories, expand
from .infoset_numbers import InfosetNumbers
from .labels import InfosetLabels, InfosetPlaces, PublicGame


class FlatViews(InfosetNumbers):
    """Public tree and histories of a flat game, and counts of the histories."""

    name: str
    unit: float
    outcome_labels: Sequence[str]
    histories: HistoryTree | None
    public: PublicGame | None

    @property
    def public_game(self) -> PublicGame:
        """View :attr:`public`, of a game that has it."""
        return not_none(self.public)

    @property
    def public_tree(self) -> PublicTree:
        """Tree of :attr:`public`, of a game that has it."""
        return self.public_game.tree

    @cached_property
    def places(self) -> InfosetPlaces:
        """Map between infosets and the nodes and hands of :attr:`public`, of a game that has it."""
        return InfosetPlaces(self.public_game, self.form)

    @cached_property
    def tree(self) -> HistoryTree:
        """Game as histories.

        A game of private hands is expanded at the first access: every deal over the whole public
        tree.

        Raises:
            MemoryLimitError: There is not enough memory for that; says both figures.
        """
        if self.histories is not None:
            return self.histories
        what = f"expanding {self.name} ({self.n_histories:,} histories)"
        require(self.n_histories * BYTES_PER_HISTORY, what)
        tree = expand(
            self.public_tree,
            self.places.infosets,
            *self.public_game.outcome_codes(self.outcome_labels),
        )
        for array in tree:
            array.flags.writeable = False
        return tree

    @cached_property
    def n_histories(self) -> int:
        """Number of histories, the root, chance nodes and terminals included; counted, not
        expanded."""
        game = self._counted
        return game.tree.n_nodes if game.by_histories else count_histories(game.public_tree)

    @cached_property
    def n_decision_nodes(self) -> int:
        """Number of histories where a player acts; counted, not expanded."""
        game = self._counted
        if game.by_histories:
            return int(np.count_nonzero(game.tree.player >= 0))
        return int(game.public_tree.n_deals[game.public_tree.player >= 0].sum())

    @property
    def _counted(self) -> FlatViews:
        """Game whose histories are counted: itself, unless it was made without them."""
        return self

    @property
    def by_histories(self) -> bool:
        """True if traversals go through :attr:`tree`, and not through the public tree."""
        return self.histories is not None

    @property
    def joins_labels(self) -> bool:
        """True if infoset labels are made on demand, from the labels of hands and public nodes."""
        return isinstance(self.infoset_labels, InfosetLabels)
