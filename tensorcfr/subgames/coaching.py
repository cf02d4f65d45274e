"""Costs of a player's decisions against a solution; the trainers of the terminal and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..analysis.policy_values import Values
from ..model.arrays import not_none
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
        if action not in position.actions:
            raise ValueError(f"there is no action {action!r}: {', '.join(position.actions)}")
        player = position.player
        hand_values = not_none(self.values.of_hand(position.node, position.hands[player]))
        expected, played = (
            dict(zip(hand_values.actions, numbers.tolist(), strict=True))
            for numbers in (hand_values.expected, hand_values.probability)
        )
        cost = self.values.game.round_to_zero(hand_values.loss(action))
        line, hand = position.line or START, position.hand(player)
        return RatedDecision(line, hand, action, hand_values.best, cost, played, expected)
