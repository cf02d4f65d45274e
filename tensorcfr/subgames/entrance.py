"""The gadget of resolving as rules: a player decides at an *entry* before a subgame begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..compilers.derived_rules import Derived, DerivedPublicTree, forwards
from ..rules import CardGame, Decision, Fold, Payoff

FOLLOW, TERMINATE = "follow", "terminate"
"""Actions at an entry: play the subgame, or take the alternative value and end the game."""


class Entry(NamedTuple):
    """Decision before a subgame begins."""

    label: str | None
    """Public label of its infosets; None for all actions so far."""
    payoffs: tuple[float, float] | np.ndarray
    """Payoffs of both players for terminating: two numbers in a game of cards; otherwise float64
    (2, hands of the player who decides)."""


class EntryNode(NamedTuple):
    """State before a subgame."""

    begin: Any
    """State at which the subgame begins."""
    is_over: bool = False
    """True if the player has terminated; False if they decide."""


class Entrance(Derived):
    """Rules in which a player decides before a subgame begins: follow into it, or terminate.

    Args:
        rules: The rules without entries.
        player: The player who decides.
        entries: The entry of each state at which a subgame begins.
    """

    def __init__(self, rules: Any, player: int, entries: Mapping[Any, Entry]) -> None:
        super().__init__(rules)
        self.player, self.entries = player, entries

    def _enter(self, state: Any) -> Any:
        return EntryNode(state) if state in self.entries else state

    def _is_entry(self, state: Any) -> bool:
        # States of other entries are possible, too: the rules may be a gadget.
        return isinstance(state, EntryNode) and state.begin in self.entries

    def root(self) -> Any:
        """Return the root, or its entry."""
        return self._enter(self.rules.root())

    def node(self, state: Any) -> Any:
        """Return the decision at an entry, the payoff for terminating, or a node of the rules."""
        if not self._is_entry(state):
            return self.rules.node(state)
        label, payoffs = self.entries[state.begin]
        if not state.is_over:
            return Decision(self.player, label, (FOLLOW, TERMINATE))
        return Fold(payoffs) if isinstance(payoffs, tuple) else Payoff(1.0, state)

    def next(self, state: Any, action: Any) -> Any:
        """Return the state after an action or a chance outcome."""
        if self._is_entry(state):
            return state.begin if action == FOLLOW else state._replace(is_over=True)
        return self._enter(self.rules.next(state, action))


class TreeEntrance(Entrance, DerivedPublicTree):
    """Game of private hands with entries; payoffs for terminating depend on the player's hand."""

    def matrix(self, key: Any) -> np.ndarray:
        """Return a matrix of the rules, or the payoffs for terminating."""
        if not self._is_entry(key):
            matrix: np.ndarray = self.rules.matrix(key)
            return matrix
        by_hand = np.expand_dims(self.entries[key.begin].payoffs, 2 - self.player)
        return np.broadcast_to(by_hand, (2, *self.prior.shape)).copy()


@forwards(
    *("cards", "board", "dead", "boards", "hands", "weights", "weights_vary", "weights_on"),
    *("strength", "rankings", "runouts", "hand_label", "named_hands"),
)
class CardEntrance(Entrance, CardGame):
    """Game of cards with entries; payoffs for terminating are the same for all hands."""
