"""Position of a play: hands, public node, the strategy that the resolving player follows there, and
the costs of decisions against a solution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..analysis.policy_values import Values
from ..evaluation.profile import strategies_at
from ..model.arrays import not_none
from ..model.compiled_game import CompiledGame
from ..model.policy import Policy
from ..model.public_nodes import START, PublicNodes
from .resolving import PartPolicy, resolve
from .roots import Steps, nodes_of

NO_HANDS = (-1, -1)
"""Placeholder for the hands before the deal."""


@dataclass(frozen=True, eq=False)
class Position:
    """A point of a play. Positions are immutable; a step leads to another one.

    After resolving, the player follows the solution of a subgame, and later resolves from that.
    """

    nodes: PublicNodes
    """Public nodes of the game."""
    seat: int
    """Player who resolves."""
    blueprint: Policy
    """Policy that both players follow before the first resolving."""
    known: PartPolicy
    """Policy that the resolving player follows: the blueprint, or the solution of the last subgame.
    It includes the steps to this position in its game."""
    ground: CompiledGame
    """Game in which the next subgame is resolved: the whole game, or the last subgame."""
    hands: tuple[int, int] = NO_HANDS
    """Dealt hands, by number; :data:`NO_HANDS` before the deal."""
    steps: Steps = ()
    """Public steps so far."""
    node: int = 0
    """Public node."""

    @property
    def line(self) -> str:
        """Public steps so far, as one text."""
        return " ".join(self.steps)

    @property
    def shown(self) -> str:
        """Other public information, in words: the board and the chips."""
        return self.nodes.described(self.node)

    def holding(self, hands: tuple[int, int]) -> Position:
        """Return the same public node with other hands."""
        return replace(self, hands=hands)

    def hand(self, player: int) -> str:
        """Return the label of a player's hand."""
        return self.nodes.hands[player][self.hands[player]]

    @property
    def player(self) -> int:
        """Player who acts; ``CHANCE`` or ``TERMINAL`` otherwise."""
        return self.nodes.player(self.node)

    @property
    def actions(self) -> Steps:
        """Labels of the possible actions or outcomes."""
        return tuple(step.label for step in self.nodes.children(self.node))

    def outcomes(self) -> dict[str, float]:
        """Return the public outcomes that chance can draw, with their probabilities."""
        chances = self.nodes.outcomes(self.node, np.array([self.hands]))[0].tolist()
        steps = self.nodes.children(self.node)
        return {step.label: p for step, p in zip(steps, chances, strict=True) if p > 0}

    def after(self, step: str) -> Position:
        """Return the position after an action or an outcome."""
        node = next(below.node for below in self.nodes.children(self.node) if below.label == step)
        known = self.known._replace(steps=(*self.known.steps, step))
        return replace(self, node=node, steps=(*self.steps, step), known=known)

    def probabilities(self) -> dict[str, float]:
        """Return the probability of each action of the player who acts, with their hand."""
        row = self.strategies()[self.hands[self.player]]
        return dict(zip(self.actions, row.tolist(), strict=True))

    def strategies(self) -> np.ndarray:
        """Return the strategies of the player who acts, float64 (hands, actions).

        They are uniform if the policy that the player follows lacks the line or the hand, or takes
        none of the actions.
        """
        player, actions = self.player, self.actions
        policy, steps, hands = self.blueprint, self.steps, np.arange(len(self.nodes.hands[player]))
        probabilities = np.zeros((len(hands), len(actions)))
        if player == self.seat:
            policy, steps, part_hands = self.known
            hands = part_hands[player]
        nodes = nodes_of(policy.game)
        # A coarser game may have no such line.
        if (node := nodes.find_node(steps)) is not None:
            played = strategies_at(policy, nodes, node)
            labels = [step.label for step in nodes.children(node)]
            for k, action in enumerate(actions):
                if action in labels:
                    probabilities[hands, k] = played[:, labels.index(action)]
        total = probabilities.sum(axis=1, keepdims=True)
        return np.divide(
            probabilities,
            total,
            out=np.full_like(probabilities, 1.0 / len(actions)),
            where=total > 0,
        )

    def resolved(self, options: dict[str, Any]) -> Position:
        """Return the position after the player who acts has solved the rest of the game again."""
        policy, steps, part_hands = self.known
        resolution = resolve(self.ground, policy, " ".join(steps), player=self.seat, **options)
        policy, steps, subgame_hands = resolution.subgames[0].followed
        # ``subgame_hands`` numbers hands within the last subgame; ``part_hands`` maps these numbers
        # to the whole game.
        first, second = (
            hands[numbers] for hands, numbers in zip(part_hands, subgame_hands, strict=True)
        )
        return replace(self, known=PartPolicy(policy, steps, (first, second)), ground=policy.game)

    def utilities(self) -> tuple[float, float]:
        """Return the payoffs of the play, in the unit of the game."""
        factor, key = self.nodes.payoff(self.node)
        first, second = factor * self.nodes.matrix(key)[:, self.hands[0], self.hands[1]]
        return float(first), float(second)


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
