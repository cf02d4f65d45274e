"""The excessive gap technique by its formulas: plans as vectors, payoffs as a dense matrix.

Written from

* Nesterov, "Excessive Gap Technique in Nonsmooth Convex Minimization", SIAM Journal on
  Optimization 16, 2005, and Hoda, Gilpin, Pena, Sandholm, "Smoothing Techniques for Computing Nash
  Equilibria of Sequential Games", Mathematics of Operations Research 35, 2010: the step, with a
  proximal mapping by the gradient of the distance-generating function;
* Kroer, Farina, Sandholm, "Solving Large Sequential Games with the Excessive Gap Technique",
  NeurIPS 2018: the dilated entropy, the balance of both smoothings, steps that are halved;
* Farina, Kroer, Sandholm, "Better Regularization for Sequential Decision Spaces", EC 2021: the
  weights.

Nothing is carried from step to step but plans and numbers, and nothing is shared with the library.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from support.reference import ChanceNode, Node, TerminalNode, Tree


class Plan(NamedTuple):
    """A smoothed response."""

    x: np.ndarray
    """Own reaches."""
    value: float
    """What it maximises."""
    logarithms: dict[str, np.ndarray]
    """Of the probabilities, which may be too small for a float."""


class Treeplex:
    """The plans of one player."""

    def __init__(self) -> None:
        self.place: dict[tuple[str, int] | None, int] = {None: 0}
        self.parent: dict[str, int] = {}
        self.actions: dict[str, int] = {}

    def sequence(self, label: str, action: int) -> int:
        return self.place[label, action]

    def enter(self, label: str, actions: int, last: int) -> None:
        """An infoset, met for the first time after the player's sequence ``last``."""
        if label not in self.parent:
            self.parent[label], self.actions[label] = last, actions
            for action in range(actions):
                self.place[label, action] = len(self.place)

    def finish(self) -> None:
        """All infosets are known."""
        self.n = len(self.place)
        self.own = {
            label: np.array([self.place[label, a] for a in range(count)])
            for label, count in self.actions.items()
        }
        self.after: dict[int, list[str]] = {}
        for label, above in self.parent.items():
            self.after.setdefault(above, []).append(label)
        self.weight = {label: self._weight(label) for label in self.parent}

    def _weight(self, label: str) -> float:
        return 1.0 + max(
            sum(self._weight(child) for child in self.after.get(s, [])) for s in self.own[label]
        )

    def widest(self, above: int = 0) -> float:
        """The largest entropy of a plan, after a sequence."""
        return sum(
            self.weight[label] * np.log(len(own)) + max(self.widest(s) for s in own)
            for label, own in self.own.items()
            if self.parent[label] == above
        )

    def gradient(self, plan: Plan) -> np.ndarray:
        """That of the dilated entropy, ``sum w (sum x ln(x / parent) + parent ln |A|)``."""
        found = np.zeros(self.n)
        for label, own in self.own.items():
            weight, above = self.weight[label], self.parent[label]
            found[own] += weight * (plan.logarithms[label] + 1.0)
            found[above] += weight * (np.log(len(own)) - 1.0)
        return found

    def respond(self, gradient: np.ndarray, mu: float) -> Plan:
        """The plan that maximises ``gradient x - mu entropy(x)``."""
        logarithms: dict[str, np.ndarray] = {}

        def settle(s: int) -> float:
            return float(gradient[s]) + sum(choose(label) for label in self.after.get(s, []))

        def choose(label: str) -> float:
            q = np.array([settle(s) for s in self.own[label]])
            scale = mu * self.weight[label]
            powers = (q - q.max()) / scale
            logarithms[label] = powers - np.log(np.exp(powers).sum())
            p = np.exp(logarithms[label])
            return float(p @ q - scale * (np.log(len(q)) + p @ logarithms[label]))

        value, x = settle(0), np.ones(self.n)

        def spread(s: int) -> None:
            for label in self.after.get(s, []):
                x[self.own[label]] = x[s] * np.exp(logarithms[label])
                for below in self.own[label]:
                    spread(below)

        spread(0)
        return Plan(x, value, logarithms)


class SlowGap:
    """Iterations of the technique on a game with a constant sum.

    Args:
        tree: The game.
        factor: All payoffs and smoothings are multiplied by it, which leaves the plans as they are
            but for rounding.
    """

    def __init__(self, tree: Tree, factor: float = 1.0) -> None:
        self.plexes = (Treeplex(), Treeplex())
        payoffs: list[tuple[int, int, float, float]] = []

        def walk(node: Node, last: tuple[int, int], reach: float) -> None:
            if isinstance(node, TerminalNode):
                payoffs.append((*last, reach, factor * node.utilities[0]))
                self.constant = factor * sum(node.utilities)
            elif isinstance(node, ChanceNode):
                for p, child in zip(node.probabilities, node.children, strict=True):
                    walk(child, last, reach * p)
            else:
                player, label = node.infoset.player, node.infoset.label
                self.plexes[player].enter(label, len(node.children), last[player])
                for action, child in enumerate(node.children):
                    moved = list(last)
                    moved[player] = self.plexes[player].sequence(label, action)
                    walk(child, (moved[0], moved[1]), reach)

        walk(tree.root, (0, 0), 1.0)
        for plex in self.plexes:
            plex.finish()
        self.payoff = [np.zeros([plex.n for plex in self.plexes]) for _ in range(2)]
        for x, y, reach, utility in payoffs:
            self.payoff[0][x, y] += reach * utility
            self.payoff[1][x, y] += reach * (self.constant - utility)
        self.mu, self.tau = [1e-3 * factor, 1e-3 * factor], 0.5
        while True:
            center = self.plexes[0].respond(np.zeros(self.plexes[0].n), 1.0)
            y = self.plexes[1].respond(self.utility(1, center.x), self.mu[1]).x
            x = self.proximal(0, center, self.utility(0, y), self.mu[0])
            if self.gap((x, y), self.mu) >= 0.0:
                break
            self.mu = [2 * mu for mu in self.mu]
        self.plans = [x, y]

    def utility(self, player: int, other: np.ndarray) -> np.ndarray:
        """Payoffs of a player's sequences against a plan of the other."""
        return self.payoff[0] @ other if player == 0 else self.payoff[1].T @ other

    def gap(
        self, plans: tuple[np.ndarray, np.ndarray] | list[np.ndarray], mu: list[float]
    ) -> float:
        """The excessive gap, which the technique keeps from 0 up."""
        return self.constant - sum(
            self.plexes[p].respond(self.utility(p, plans[1 - p]), mu[p]).value for p in range(2)
        )

    def proximal(self, player: int, start: Plan, gradient: np.ndarray, mu: float) -> np.ndarray:
        """The plan that maximises ``gradient x`` less ``mu`` times the divergence from a plan."""
        plex = self.plexes[player]
        return plex.respond(gradient + mu * plex.gradient(start), mu).x

    def iterate(self) -> None:
        player = 0 if self.mu[0] > self.mu[1] else 1
        other = 1 - player
        x, y = self.plans[player], self.plans[other]
        while True:
            tau, mu = self.tau, list(self.mu)
            response = self.plexes[player].respond(self.utility(player, y), mu[player])
            between = (1 - tau) * x + tau * response.x
            answer = self.plexes[other].respond(self.utility(other, between), mu[other]).x
            mu[player] *= 1 - tau
            nearer = self.proximal(player, response, tau * self.utility(player, answer), mu[player])
            plans = [x, x]
            plans[player] = (1 - tau) * x + tau * nearer
            plans[other] = (1 - tau) * y + tau * answer
            if self.gap(plans, mu) >= 0.0:
                break
            self.tau *= 0.5
        self.plans, self.mu = plans, mu
        if self.tau < 0.5:
            self.tau = min(1.11 * self.tau, 0.5)
