"""Subgames that end before the game does; given strategies are played after their end.

Source: N. Brown, T. Sandholm, B. Amos, "Depth-limited solving for imperfect-information games",
NeurIPS 2018.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..evaluation.profile import strategies_at
from ..model.arrays import CHANCE, TERMINAL
from ..model.policy import Policy
from ..model.public_nodes import PublicNodes
from ..rules import Chance, Decision, Payoff
from .roots import Roots, exists
from .subgame_rules import SubgameRules


class DepthLimit(NamedTuple):
    """Depth limit of a subgame, and the strategies after it."""

    depth_limit: int
    """Number of public steps from its root to its leaves."""
    blueprint: Policy
    """Strategy of the player below the leaves."""
    continuations: list[Policy]
    """Strategies of which the opponent chooses one at a leaf."""


class ContinuationNode(NamedTuple):
    """Public state after the opponent has chosen a continuation strategy at a leaf."""

    leaf: int
    continuation: int


class LimitedPart(SubgameRules):
    """The game below some public nodes down to its leaves, as rules.

    At a leaf the opponent sees their hand and chooses one of the continuation strategies; the other
    player continues with the blueprint. The payoffs are the expected values of these strategies,
    deal by deal. The first two arguments are those of
    :class:`~tensorcfr.subgames.subgame_rules.SubgameRules`.
    """

    def __init__(self, roots: Roots, weights: np.ndarray, early: DepthLimit, opponent: int) -> None:
        super().__init__(roots, weights)
        blueprint, continuations = early.blueprint, early.continuations
        self.opponent = opponent
        self.played = [(p, blueprint) if opponent == 0 else (blueprint, p) for p in continuations]
        self.leaves = leaves_below(roots, early.depth_limit)

    def node(self, state: Any) -> Decision | Chance | Payoff:
        """Return a node above the leaves, the choice at a leaf, or its payoffs."""
        if isinstance(state, ContinuationNode):
            return Payoff(1.0, state)
        if isinstance(state, int) and state in self.leaves:
            # No public label of a game begins with a space and ends like this.
            label = f" goes on at {self.nodes.name(state)}"
            return Decision(self.opponent, label, tuple(map(str, range(len(self.played)))))
        return super().node(state)

    def next(self, state: Any, action: Any) -> Any:
        """Return the state after a step."""
        if isinstance(state, int) and state in self.leaves:
            return ContinuationNode(state, int(action))
        return super().next(state, action)

    def matrix(self, key: Any) -> np.ndarray:
        """Return a matrix of the whole game, or the values of a continuation."""
        if isinstance(key, ContinuationNode):
            return expected_payoffs(self.nodes, key.leaf, self.played[key.continuation])
        return super().matrix(key)


def leaves_below(roots: Roots, depth_limit: int) -> frozenset[int]:
    """Return the nodes at a depth below some public nodes at which the game is not over."""
    nodes, level = roots.nodes, list(roots.roots)
    for _ in range(depth_limit):
        level = [step.node for node in level for step in nodes.children(node)]
    return frozenset(n for n in level if nodes.player(n) != TERMINAL and exists(nodes, n))


def expected_payoffs(nodes: PublicNodes, node: int, policies: tuple[Policy, Policy]) -> np.ndarray:
    """Compute the expected payoffs from a public node on if player ``i`` plays ``policies[i]``.

    Returns:
        float64 (2, hands of player 0, hands of player 1): payoffs of each player, deal by deal, in
        the unit of the game.
    """
    player = nodes.player(node)
    if player == TERMINAL:
        factor, key = nodes.payoff(node)
        return factor * nodes.matrix(key)
    below = [expected_payoffs(nodes, step.node, policies) for step in nodes.children(node)]
    if player == CHANCE:
        probabilities = nodes.chances(node)
    else:
        columns = strategies_at(policies[player], nodes, node).T
        probabilities = list(columns[:, :, None] if player == 0 else columns[:, None, :])
    total = np.zeros_like(below[0])
    for probability, payoffs in zip(probabilities, below, strict=True):
        total += probability * payoffs
    return total
