"""The slow twin of extensive-form regret minimization with triggers.

Written from Morrill et al. 2021 (sections 5 and 6: time selection with causal deviations), over the
histories of :mod:`support.reference`, with dictionaries; the strategies that deviations leave as
they are come from linear equations in fractions.
"""

from __future__ import annotations

from fractions import Fraction

from support.reference import ChanceNode, Node, TerminalNode, Tree

SMALLEST = 1e-100
LEAST = 1e-50
Key = tuple[str, int]
"""An infoset and one of its actions."""
Strategy = dict[str, list[float]]


class SlowTriggers:
    """EFR: with the recommendation at a trigger (``sees``), for extensive-form correlated
    equilibria, or without, for coarse ones."""

    def __init__(self, tree: Tree, *, sees: bool) -> None:
        self.tree, self.sees, self.played = tree, sees, []
        self.way: dict[str, tuple[Key, ...]] = {}
        self._walk(tree.root, [()] * tree.n_players)
        # Regrets by infoset, trigger and action: a trigger is an own sequence, as a way to it.
        self.regret: dict[tuple[str, tuple[Key, ...], int], float] = {}
        self.swap: dict[tuple[str, int, int], float] = {}
        self.sigma: Strategy = {
            label: [1 / len(i.actions)] * len(i.actions) for label, i in tree.infosets.items()
        }

    def _walk(self, node: Node, own: list[tuple[Key, ...]]) -> None:
        if isinstance(node, TerminalNode):
            return
        if isinstance(node, ChanceNode):
            for child in node.children:
                self._walk(child, own)
            return
        label, player = node.infoset.label, node.infoset.player
        self.way[label] = own[player]
        for a, child in enumerate(node.children):
            self._walk(child, [*own[:player], (*own[player], (label, a)), *own[player + 1 :]])

    def triggers(self, label: str) -> list[tuple[Key, ...]]:
        """The sequences whose reach counts for the regrets of deviations under way."""
        way = self.way[label]
        if not self.sees:
            return [way[:k] for k in range(len(way) + 1)]
        return [
            (*way[:k], (before, b))
            for k, (before, taken) in enumerate(way)
            for b in range(len(self.tree.infosets[before].actions))
            if b != taken
        ]

    def reach(self, way: tuple[Key, ...]) -> float:
        product = 1.0
        for label, action in way:
            product *= self.sigma[label][action]
        return product

    def values(self, player: int) -> dict[Key, float]:
        """Counterfactual values of all actions."""
        found = {
            (i.label, a): 0.0 for i in self.tree.infosets_of(player) for a in range(len(i.actions))
        }

        def value(node: Node, others: float) -> float:
            """Utility from a history on; notes it at the player's infosets."""
            if isinstance(node, TerminalNode):
                return node.utilities[player]
            if isinstance(node, ChanceNode):
                pairs = zip(node.probabilities, node.children, strict=True)
                return sum(p * value(child, others * p) for p, child in pairs)
            label, total = node.infoset.label, 0.0
            for a, child in enumerate(node.children):
                p = self.sigma[label][a]
                if node.infoset.player == player:
                    u = value(child, others)
                    found[label, a] += others * u
                else:
                    u = value(child, others * p)
                total += p * u
            return total

        value(self.tree.root, 1.0)
        return found

    def iterate(self) -> None:
        self.played.append({label: list(sigma) for label, sigma in self.sigma.items()})
        for player in range(self.tree.n_players):
            q = self.values(player)
            for infoset in self.tree.infosets_of(player):
                label, actions = infoset.label, range(len(infoset.actions))
                v = sum(self.sigma[label][a] * q[label, a] for a in actions)
                for trigger in self.triggers(label):
                    for a in actions:
                        key = label, trigger, a
                        more = self.reach(trigger) * (q[label, a] - v)
                        self.regret[key] = self.regret.get(key, 0.0) + more
                for a in actions if self.sees else ():
                    x = self.reach((*self.way[label], (label, a)))
                    for b in actions:
                        more = x * (q[label, b] - q[label, a])
                        self.swap[label, a, b] = self.swap.get((label, a, b), 0.0) + more
        # Infosets in the order of the play: those above first.
        for infoset in sorted(self.tree.infosets.values(), key=lambda i: len(self.way[i.label])):
            label, n = infoset.label, len(infoset.actions)
            rates = [[SMALLEST] * n for _ in range(n)]
            for a in range(n):
                for b in range(n):
                    for trigger in self.triggers(label):
                        rates[a][b] += self.reach(trigger) * max(self.regret[label, trigger, b], 0)
                    if self.sees:
                        rates[a][b] += self.reach(self.way[label]) * max(self.swap[label, a, b], 0)
            self.sigma[label] = stationary(rates)


def stationary(rates: list[list[float]]) -> list[float]:
    """The distribution that flows into every state as much as out of it, by Gauss in fractions."""
    n = len(rates)
    rows = [
        [
            (-sum(Fraction(rates[b][c]) for c in range(n) if c != b))
            if a == b
            else Fraction(rates[a][b])
            for a in range(n)
        ]
        + [Fraction(0)]
        for b in range(n - 1)
    ]
    rows.append([Fraction(1)] * (n + 1))
    for column in range(n):
        pivot = next(r for r in range(column, n) if rows[r][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [entry / rows[column][column] for entry in rows[column]]
        for r in range(n):
            if r != column and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[column], strict=True)]
    return [float(row[-1]) if row[-1] > LEAST else 0.0 for row in rows]
