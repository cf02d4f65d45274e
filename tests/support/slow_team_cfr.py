"""The slow twin of CFR over belief DAGs: sets of histories, dictionaries, recursion.

Written from the definitions of Zhang, Farina and Sandholm (ICML 2023).  A belief is a set of
histories that later infosets of the team connect; nothing is laid out, and a belief is evaluated
again wherever a play gets there.  For games in which all histories of an infoset have one length.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from support.reference import ChanceNode, Node, TerminalNode, Tree

Belief = tuple[int, ...]
"""The histories of a belief, by number."""


class SlowSide:
    """A team's beliefs and strategies."""

    def __init__(self, tree: Tree, team: tuple[int, ...]) -> None:
        self.tree, self.team = tree, team
        self.nodes: list[Node] = [tree.root]
        self.depth: list[int] = [0]
        self.chance = [1.0]
        self.children: list[list[int]] = []
        for at, node in enumerate(self.nodes):
            following = [] if isinstance(node, TerminalNode) else node.children
            first = len(self.nodes)
            self.children.append(list(range(first, first + len(following))))
            self.nodes += following
            self.depth += [self.depth[at] + 1] * len(following)
            odds = node.probabilities if isinstance(node, ChanceNode) else [1.0] * len(following)
            self.chance += [self.chance[at] * p for p in odds]
        self.below: list[frozenset[str]] = [frozenset()] * len(self.nodes)
        for at in reversed(range(len(self.nodes))):
            own = {self.label(at)} if self.acts(at) else set()
            self.below[at] = frozenset(own.union(*(self.below[c] for c in self.children[at])))
        self.terminals = [k for k, n in enumerate(self.nodes) if isinstance(n, TerminalNode)]
        self.regret: dict[Belief, list[float]] = {}
        self.known: dict[Belief, list[tuple[list[Belief], list[int]]]] = {}
        self.average = dict.fromkeys(self.terminals, 0.0)
        self.weight = 0.0

    def acts(self, at: int) -> bool:
        node: Any = self.nodes[at]
        return not isinstance(node, (TerminalNode, ChanceNode)) and node.infoset.player in self.team

    def label(self, at: int) -> str:
        node: Any = self.nodes[at]
        return str(node.infoset.label)

    def after(self, histories: Iterable[int]) -> tuple[list[Belief], list[int]]:
        """The beliefs and the terminals that histories lead to, whatever the others do."""
        frontier: list[int] = []
        terminals: list[int] = []
        todo = list(histories)
        while todo:
            at = todo.pop()
            if self.acts(at):
                frontier.append(at)
            elif isinstance(self.nodes[at], TerminalNode):
                terminals.append(at)
            else:
                todo += self.children[at]
        beliefs: list[tuple[set[str], list[int]]] = []
        for at in frontier:
            together, members = set(self.below[at]), [at]
            for other in [b for b in beliefs if b[0] & together]:
                beliefs.remove(other)
                together |= other[0]
                members += other[1]
            beliefs.append((together, members))
        return [tuple(sorted(members)) for _, members in beliefs], terminals

    def prescriptions(self, belief: Belief) -> list[tuple[list[Belief], list[int]]]:
        """What follows each prescription; looked up where it was worked out before."""
        if belief in self.known:
            return self.known[belief]
        now = min(self.depth[at] for at in belief)
        acting = sorted({self.label(at) for at in belief if self.depth[at] == now})
        counts = [range(len(self.tree.infosets[label].actions)) for label in acting]
        found = []
        for chosen in product(*counts):
            told = dict(zip(acting, chosen, strict=True))
            histories = [
                self.children[at][told[self.label(at)]] if self.depth[at] == now else at
                for at in belief
            ]
            found.append(self.after(histories))
        self.known[belief] = found
        return found

    def sigma(self, belief: Belief, n: int) -> list[float]:
        positive = [max(r, 0.0) for r in self.regret.setdefault(belief, [0.0] * n)]
        total = sum(positive)
        return [r / total if total > 0 else 1 / n for r in positive]

    def reaches(self) -> dict[int, float]:
        """With which probability the team plays towards each terminal."""
        found = dict.fromkeys(self.terminals, 0.0)

        def flow(beliefs: list[Belief], terminals: list[int], weight: float) -> None:
            for at in terminals:
                found[at] += weight
            for belief in beliefs:
                following = self.prescriptions(belief)
                for p, after in zip(self.sigma(belief, len(following)), following, strict=True):
                    if p > 0.0:
                        flow(*after, weight * p)

        flow(*self.after([0]), 1.0)
        return found

    def update(self, others: dict[int, float], t: int) -> None:
        """CFR+ against what the others reach; the average has the reaches of this iteration."""
        for at, reach in self.reaches().items():
            self.average[at] += t * reach
        self.weight += t
        instant: dict[Belief, list[float]] = {}

        def worth(beliefs: list[Belief], terminals: list[int]) -> float:
            total = 0.0
            for at in terminals:
                node: Any = self.nodes[at]
                utility = sum(node.utilities[player] for player in self.team)
                total += self.chance[at] * utility * others[at]
            for belief in beliefs:
                following = self.prescriptions(belief)
                sigma = self.sigma(belief, len(following))
                q = [worth(*after) for after in following]
                v = sum(p * one for p, one in zip(sigma, q, strict=True))
                instant[belief] = [one - v for one in q]
                total += v
            return total

        worth(*self.after([0]))
        for belief, gained in instant.items():
            pairs = zip(self.regret[belief], gained, strict=True)
            self.regret[belief] = [max(r + g, 0.0) for r, g in pairs]


class SlowTeamCFR:
    """Alternating CFR+ of two teams, with linear averages."""

    def __init__(self, tree: Tree, teams: tuple[tuple[int, ...], ...]) -> None:
        self.sides, self.t = [SlowSide(tree, team) for team in teams], 0

    def iterate(self) -> None:
        self.t += 1
        for side, other in (self.sides, self.sides[::-1]):
            side.update(other.reaches(), self.t)

    def average(self, side: int) -> list[float]:
        """What a team's average strategy plays towards each terminal, in breadth-first order."""
        own = self.sides[side]
        return [own.average[at] / own.weight for at in own.terminals]
