"""Subgames that end before the game does: what comes later is played by given strategies.

Source: N. Brown, T. Sandholm, B. Amos, "Depth-limited solving for imperfect-information games",
NeurIPS 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..model.arrays import CHANCE, TERMINAL
from ..model.policy import Policy
from ..rules import Chance, Decision, Payoff
from .part import Part
from .places import PublicNodes


class Chosen(NamedTuple):
    """The public state after the opponent has chosen a continuation strategy at a leaf."""

    leaf: int
    continuation: int


class LimitedPart(Part):
    """The game below some public nodes, as rules, up to its leaves.

    At a leaf the opponent sees their hand and chooses one of the continuation strategies; the other
    player goes on by the blueprint.  The payoffs are the expected values of that, deal by deal.

    Args:
        nodes: As for :class:`~tensorcfr.subgames.part.Part`, like the next two.
        weights: Weights of the deals.
        entries: Players who decide at an entry.
        depth_limit: Public steps from the public nodes to the leaves.
        opponent: The player who chooses.
        blueprint: What the other player plays below the leaves.
        continuations: What the opponent may play there.
    """

    def __init__(
        self,
        nodes: PublicNodes,
        weights: np.ndarray,
        entries: Mapping[int, np.ndarray | None] | None = None,
        *,
        depth_limit: int,
        opponent: int,
        blueprint: Policy,
        continuations: Sequence[Policy],
    ) -> None:
        super().__init__(nodes, weights, entries)
        self.opponent = opponent
        self.played = [(p, blueprint) if opponent == 0 else (blueprint, p) for p in continuations]
        self.leaves = leaves_below(nodes, depth_limit)

    def node(self, state: Any) -> Decision | Chance | Payoff:
        """A node above the leaves, the choice at a leaf, or its payoffs."""
        if isinstance(state, Chosen):
            return Payoff(self.nodes.game.unit, state)
        if isinstance(state, int) and state in self.leaves:
            # Spaces: no public label of a game begins with them and ends so.
            label = f" goes on at {self.places.name(state)}"
            return Decision(self.opponent, label, tuple(map(str, range(len(self.played)))))
        return super().node(state)

    def next(self, state: Any, action: Any) -> Any:
        """The node after a step."""
        if isinstance(state, int) and state in self.leaves:
            return Chosen(state, int(action))
        return super().next(state, action)

    def matrix(self, key: Any) -> np.ndarray:
        """A matrix of the whole game, the alternative values, or values of a continuation."""
        if isinstance(key, Chosen):
            return expected_payoffs(self.nodes, key.leaf, self.played[key.continuation])
        return super().matrix(key)


def leaves_below(nodes: PublicNodes, depth_limit: int) -> frozenset[int]:
    """The nodes so many public steps below some public nodes at which the game is not over."""
    tree = nodes.places.tree
    level = list(nodes.nodes)
    for _ in range(depth_limit):
        level = [c for n in level for c in range(*tree.first_child[n : n + 2].tolist())]
    return frozenset(n for n in level if tree.player[n] != TERMINAL and tree.exists[n])


def expected_payoffs(nodes: PublicNodes, node: int, policies: tuple[Policy, Policy]) -> np.ndarray:
    """What each player can expect from a public node on, deal by deal, in the unit of the arrays.

    Args:
        nodes: Any nodes of the game.
        node: The node.
        policies: The policy that each player plays.

    Returns:
        float64 (2, hands of player 0, hands of player 1).
    """
    tree = nodes.places.tree
    player = int(tree.player[node])
    if player == TERMINAL:
        payoff = int(tree.payoff[node])
        paid: np.ndarray = tree.matrix_table[tree.matrix[payoff]] * float(tree.coefficient[payoff])
        return paid
    total = np.zeros((2, *tree.prior.shape))
    for child in range(*tree.first_child[node : node + 2].tolist()):
        below = expected_payoffs(nodes, child, policies)
        if player == CHANCE:
            total += tree.chance_table[tree.chance[child]] * below
            continue
        held, sequences = nodes.sequences(node, child)
        probability = np.zeros(tree.prior.shape[player])
        probability[held] = policies[player].probabilities[sequences]
        total += (probability[:, None] if player == 0 else probability) * below
    return total
