"""Where a play is: the hands, the public node, and what the resolving player follows there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..evaluation.profile import strategies_at
from ..model.game import CompiledGame
from ..model.policy import Policy
from ..model.public_nodes import PublicNodes
from .resolving import Followed, resolve
from .roots import Steps, nodes_of

NO_HANDS = (-1, -1)
"""Hands before the deal."""


@dataclass(frozen=True, eq=False)
class Position:
    """A point of a play.  Positions do not change; a step leads to another one.

    After resolving, the player follows the solution of a subgame, and resolves from it again.
    """

    nodes: PublicNodes
    """The public nodes of the game."""
    seat: int
    """The player who resolves."""
    blueprint: Policy
    """What everybody follows before anybody resolves."""
    known: Followed
    """What the resolving player follows: the blueprint, or the solution of the last subgame; and
    the way to this position in the game of that."""
    ground: CompiledGame
    """The game that is resolved in: the whole game, or the last subgame."""
    hands: tuple[int, int] = NO_HANDS
    """The hands that are dealt, by number; :data:`NO_HANDS` before the deal."""
    steps: Steps = ()
    """The public steps so far."""
    node: int = 0
    """The public node."""

    @property
    def line(self) -> str:
        """The public steps so far, as a text."""
        return " ".join(self.steps)

    @property
    def shown(self) -> str:
        """What else everybody sees, in words: the board and the chips."""
        return self.nodes.described(self.node)

    def holding(self, hands: tuple[int, int]) -> Position:
        """The same public node with other hands."""
        return replace(self, hands=hands)

    def hand(self, player: int) -> str:
        """The label of a player's hand."""
        return self.nodes.hands[player][self.hands[player]]

    @property
    def player(self) -> int:
        """Who acts; ``CHANCE`` or ``TERMINAL`` otherwise."""
        return self.nodes.player(self.node)

    @property
    def actions(self) -> Steps:
        """What the player who acts can do."""
        return tuple(step.label for step in self.nodes.children(self.node))

    def outcomes(self) -> dict[str, float]:
        """What public chance can draw, and with which probabilities."""
        likely = self.nodes.outcomes(self.node, np.array([self.hands]))[0].tolist()
        steps = self.nodes.children(self.node)
        return {step.label: p for step, p in zip(steps, likely, strict=True) if p > 0}

    def after(self, step: str) -> Position:
        """The position after an action or an outcome."""
        node = next(below.node for below in self.nodes.children(self.node) if below.label == step)
        known = self.known._replace(steps=(*self.known.steps, step))
        return replace(self, node=node, steps=(*self.steps, step), known=known)

    def probabilities(self) -> dict[str, float]:
        """The probability of each action of the player who acts, with their hand."""
        row = self.strategies()[self.hands[self.player]]
        return dict(zip(self.actions, row.tolist(), strict=True))

    def strategies(self) -> np.ndarray:
        """The strategies of the player who acts, float64 (hands, actions); uniform where what they
        follow has no such line or hand, or none of the actions is taken."""
        player, actions = self.player, self.actions
        policy, steps, held = self.blueprint, self.steps, np.arange(len(self.nodes.hands[player]))
        found = np.zeros((len(held), len(actions)))
        if player == self.seat:
            policy, steps, kept = self.known
            held = kept[player]
        nodes = nodes_of(policy.game)
        # A coarser game may have no such line.
        if (node := nodes.find_node(steps)) is not None:
            played = strategies_at(policy, nodes, node)
            labels = [step.label for step in nodes.children(node)]
            for k, action in enumerate(actions):
                if action in labels:
                    found[held, k] = played[:, labels.index(action)]
        total = found.sum(axis=1, keepdims=True)
        return np.divide(found, total, out=np.full_like(found, 1.0 / len(actions)), where=total > 0)

    def resolved(self, options: dict[str, Any]) -> Position:
        """The position after the player who acts has solved the rest of the game again."""
        policy, steps, kept = self.known
        found = resolve(self.ground, policy, " ".join(steps), player=self.seat, **options)
        policy, steps, own = found.subgames[0].followed
        first, second = (of[here] for of, here in zip(kept, own, strict=True))
        return replace(self, known=Followed(policy, steps, (first, second)), ground=policy.game)

    def utilities(self) -> tuple[float, float]:
        """What the play pays, in the unit of the game."""
        factor, key = self.nodes.payoff(self.node)
        first, second = factor * self.nodes.matrix(key)[:, self.hands[0], self.hands[1]]
        return float(first), float(second)
