"""An abstraction: a compiled game whose infosets are several of another game."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..model.arrays import HistoryTree
from ..model.game import CompiledGame

OF_THE_ABSTRACTION = (
    "This holds in the abstraction.  In the full game its strategies may be exploitable, and a "
    "finer abstraction may be more exploitable: evaluate(full_game, lift(solution)) measures it."
)


@dataclass(frozen=True, eq=False)
class AbstractGame(CompiledGame):
    """A compiled game whose infosets are several infosets of a full game.

    Make one with :func:`abstract` or :func:`abstract_hands`.  It is solved, evaluated and saved as
    any other game.
    """

    full: CompiledGame = field(kw_only=True, repr=False)
    """The game that it is an abstraction of."""
    infoset: np.ndarray = field(kw_only=True, repr=False)
    """int64 (infosets of the full game,): the infoset of the abstraction that each is in."""

    @cached_property
    def tree(self) -> HistoryTree:
        """The histories of the full game, with the infosets of the abstraction, if it was made
        without them."""
        if self._counted is self:
            return super().tree
        tree = self.full.tree
        infoset = tree.infoset.copy()
        infoset[infoset >= 0] = self.infoset[infoset[infoset >= 0]]
        infoset.flags.writeable = False
        return tree._replace(infoset=infoset)

    @cached_property
    def n_histories(self) -> int:
        """As :attr:`CompiledGame.n_histories`."""
        return self._counted.n_histories if self._counted is not self else super().n_histories

    @cached_property
    def n_decision_nodes(self) -> int:
        """As :attr:`CompiledGame.n_decision_nodes`."""
        if self._counted is not self:
            return self._counted.n_decision_nodes
        return super().n_decision_nodes

    def _utilities(self) -> np.ndarray:
        if self._counted is not self:
            return self._counted._utilities()
        return super()._utilities()

    def freeze(self) -> None:
        """Make every array read-only."""
        super().freeze()
        self.infoset.flags.writeable = False

    @property
    def by_histories(self) -> bool:
        """As :attr:`CompiledGame.by_histories`; without either, the full game's are taken."""
        return self.histories is not None or self.public is None

    @property
    def _counted(self) -> CompiledGame:
        """The game whose histories are counted."""
        return self.full if self.histories is None and self.public is None else self

    @property
    def caveat(self) -> str:
        """See :attr:`CompiledGame.caveat`."""
        return " ".join(filter(None, (super().caveat, OF_THE_ABSTRACTION)))

    @cached_property
    def sequence(self) -> np.ndarray:
        """int64 (sequences of the full game,): the sequence of the abstraction that each is in."""
        full, own = self.full, self
        found = np.empty(full.form.n_sequences, dtype=np.int64)
        found[full.form.player_sequences[:-1]] = own.form.player_sequences[:-1]
        actions = np.repeat(full.form.bucket_actions, full.form.bucket_lanes)
        for action in range(int(actions.max(initial=0))):
            here = actions > action
            theirs = full.infoset_sequence[here] + action * full.infoset_stride[here]
            at = self.infoset[here]
            found[theirs] = own.infoset_sequence[at] + action * own.infoset_stride[at]
        return found
