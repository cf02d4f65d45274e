"""Public belief states: a public node with the ranges of both players.

Source: N. Brown, A. Bakhtin, A. Lerer, Q. Gong, "Combining deep reinforcement learning and search
for imperfect-information games", NeurIPS 2020 (ReBeL).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._util.argument_checks import checked
from ..evaluation.metrics import PolicyLike
from ..evaluation.profile import own_reach_of
from ..formats.policies import find_policy
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import Compiled
from .roots import PLAYERS, At, Roots, find_roots

Ranges = tuple[np.ndarray, np.ndarray]
"""Ranges of both players, each float64 (nodes, hands): weights by public node and private hand."""


@dataclass(frozen=True, eq=False)
class Belief:
    """A public belief state: the knowledge of an observer who knows both players' strategies and
    sees the public actions, but no private hand.

    It may have several public nodes, of which a play reaches at most one. Make one with
    :func:`belief`, or from ranges of your own.
    """

    roots: Roots
    """The public nodes."""
    ranges: Ranges
    """Ranges of both players, each float64 (nodes, hands): probability that the player's own
    actions lead to the node with the hand."""

    @property
    def game(self) -> CompiledGame:
        """The game."""
        return self.roots.game

    @property
    def at(self) -> tuple[str, ...]:
        """Names of the public nodes."""
        return self.roots.names

    @cached_property
    def weights(self) -> np.ndarray:
        """float64 (nodes, hands of player 0, hands of player 1): probability that the hands are
        dealt and that all actions and public chance lead to the node."""
        dealt = np.array([self.roots.nodes.deal_probability(node) for node in self.roots.roots])
        return dealt * self.ranges[0][:, :, None] * self.ranges[1][:, None, :]

    @property
    def reach(self) -> float:
        """Probability that one of the nodes is reached."""
        return float(self.weights.sum())

    def hands(self, player: int) -> dict[str, float]:
        """Return the probability of each private hand of a player, given that one of the nodes is
        reached.

        Raises:
            ValueError: There is no such player, or the nodes are never reached.
        """
        if player not in (0, 1):
            raise ValueError(f"player must be 0 or 1, not {player!r}")
        if not self.reach > 0:
            raise ValueError(
                f"{' and '.join(map(repr, self.at))} is never reached, so that there is no belief"
            )
        probabilities = self.weights.sum(axis=(0, 2 - player)) / self.reach
        return dict(zip(self.roots.nodes.hands[player], probabilities.tolist(), strict=True))

    def __repr__(self) -> str:
        return f"<Belief at {', '.join(self.at)} of {self.game.name}, reach {self.reach:.6g}>"


@checked()
def belief(game: Compiled, policy: PolicyLike, public_nodes: At) -> Belief:
    """Return the public belief state at one or several public nodes if both players play a policy.

    >>> from tensorcfr import Policy, compile_game
    >>> game = compile_game("kuhn")
    >>> bets = {"J": {"bet": 1 / 3, "pass": 2 / 3}, "Q": {"pass": 1}, "K": {"bet": 1}}
    >>> after_bet = belief(game, Policy.uniform(game).to_dict() | bets, "bet")
    >>> after_bet.hands(0)
    {'J': 0.25, 'Q': 0.0, 'K': 0.75}

    Args:
        game: A game of private hands between two players.
        policy: The policy, in any form that :func:`tensorcfr.formats.find_policy` reads.
        public_nodes: The public part of an infoset label, ``"crc/Qh"``; or the public steps from
            the root, ``"call raise call"``; ``"start"`` for the root.

    Raises:
        ValueError: The policy is not for this game, or there is no such public node.
    """
    roots = find_roots(game, public_nodes)
    full_policy = find_policy(game, policy)
    first, second = (
        np.array([own_reach_of(full_policy, roots.nodes, node, player) for node in roots.roots])
        for player in PLAYERS
    )
    return Belief(roots, (first, second))
