"""Costs of a player's decisions against a solution; the trainers of the terminal and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..analysis.policy_values import Values
from ..model.public_nodes import START
from .positions import Position


class RatedDecision(NamedTuple):
    """Decision of a player, next to the solution's values of all actions."""

    line: str
    """Public steps before it; :data:`START` for the first decision."""
    hand: str
    """The player's hand."""
    action: str
    """Action that the player took."""
    best: str
    """Action with the largest value."""
    cost: float
    """Value of the best action minus the value of the action taken, in the game's unit; 0 for
    rounding."""
    probabilities: dict[str, float]
    """Probability of each action in the solution, with this hand."""
    values: dict[str, float]
    """Expected value of each action if both players follow the solution afterwards."""

    def __str__(self) -> str:
        return f"{self.action} with {self.hand} at {self.line}, where {self.best} is best"


@dataclass(frozen=True, eq=False)
class Coach:
    """Ratings of decisions, by the values of a solution that both players follow afterwards."""

    values: Values
    """Values of the solution."""

    def rate(self, position: Position, action: str) -> RatedDecision:
        """Return the cost of an action of the player who acts at a position.

        Raises:
            ValueError: There is no such action.
        """
        player, nodes = position.player, position.nodes
        if action not in position.actions:
            raise ValueError(f"there is no action {action!r}: {', '.join(position.actions)}")
        possible = np.flatnonzero(nodes.possible(position.node, player))
        row = int(np.searchsorted(possible, position.hands[player]))
        rows = self.values.at_node(position.node)
        expected = dict(zip(position.actions, rows.expected[row].tolist(), strict=True))
        best = max(expected, key=expected.__getitem__)
        played = dict(zip(position.actions, rows.probability[row].tolist(), strict=True))
        cost = self.values.game.round_to_zero(expected[best] - expected[action])
        line, hand = position.line or START, position.hand(player)
        return RatedDecision(line, hand, action, best, cost, played, expected)
