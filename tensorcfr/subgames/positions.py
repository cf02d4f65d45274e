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
from .roots import Steps, follow_steps, nodes_of

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

    def weights(self) -> np.ndarray:
        """float64 (hands of player 0,): how likely each hand of player 0 is dealt, unnormalised."""
        return self.nodes.others_reach(0, 0, [np.ones(len(own)) for own in self.nodes.hands])

    def weights_given(self, hand: int) -> np.ndarray:
        """float64 (hands of player 1,): the same of player 1, given player 0's hand."""
        return self.nodes.others_reach(0, 1, self._holding(hand, -1))

    def _holding(self, *hands: int) -> list[np.ndarray]:
        """For each player float64 (hands,): 1 for the hand that they hold."""
        pairs = zip(hands, self.nodes.hands, strict=True)
        return [(np.arange(len(own)) == hand).astype(np.float64) for hand, own in pairs]

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
        own = self._holding(*self.hands)
        given = {
            step.label: float(self.nodes.others_reach(step.node, 0, own)[self.hands[0]])
            for step in self.nodes.children(self.node)
        }
        total = sum(given.values())
        return {label: p / total for label, p in given.items() if p > 0}

    def after(self, step: str) -> Position:
        """The position after an action or an outcome."""
        node = next(below.node for below in self.nodes.children(self.node) if below.label == step)
        known = self.known._replace(steps=(*self.known.steps, step))
        return replace(self, node=node, steps=(*self.steps, step), known=known)

    def probabilities(self) -> dict[str, float]:
        """The probability of each action of the player who acts, with their hand; uniform where
        what they follow has no such line or hand, or none of the actions is taken."""
        player, actions = self.player, self.actions
        policy, steps, hand = self.blueprint, self.steps, self.hands[player]
        if player == self.seat:
            policy, steps, kept = self.known
            # No number where the player never comes here with the hand.
            hand = next(iter(np.flatnonzero(kept[player] == hand).tolist()), -1)
        row, nodes = np.zeros(len(actions)), nodes_of(policy.game)
        # A coarser game may have no such line.
        if hand >= 0 and (node := follow_steps(nodes, steps)) is not None:
            labels = (step.label for step in nodes.children(node))
            played = strategies_at(policy, nodes, node)[hand].tolist()
            given = dict(zip(labels, played, strict=True))
            row += [given.get(action, 0.0) for action in actions]
        row = row / row.sum() if row.sum() > 0 else np.full(len(row), 1.0 / len(row))
        return dict(zip(actions, row.tolist(), strict=True))

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
