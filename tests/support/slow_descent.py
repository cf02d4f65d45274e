"""The slow twin of mirror descent at every infoset: recursion over histories, from the formula of
the record."""

from __future__ import annotations

import math
from typing import Any

from support.reference import DecisionNode, TerminalNode, Tree

Strategies = dict[str, list[float]]


class SlowDescent:
    """Strategies and their changes; the options are those of ``MMD_AGENT``."""

    def __init__(self, tree: Tree, options: dict[str, float]) -> None:
        self.tree, self.options, self.t = tree, options, 0
        count = {label: len(infoset.actions) for label, infoset in tree.infosets.items()}
        self.strategy: Strategies = {label: [1.0 / n] * n for label, n in count.items()}
        self.before: Strategies = {label: [0.0] * n for label, n in count.items()}
        self.total: Strategies = {label: [0.0] * n for label, n in count.items()}
        self.change = dict.fromkeys(count, 0.0)
        scale = {label: self.largest(label) for label in count}
        largest = max(scale.values(), default=0.0) or 1.0
        counts = {label: one for label, one in scale.items() if one > 1e-9 * largest}
        self.scale = {label: counts.get(label, largest) for label in scale}
        self.stakes = min(counts.values(), default=largest)

    def histories(self, label: str) -> list[tuple[float, DecisionNode]]:
        """The histories of an infoset, each with the reach of chance and the others."""
        player, found = self.tree.infosets[label].player, []

        def walk(node: Any, reach: float) -> None:
            if isinstance(node, TerminalNode):
                return
            if not isinstance(node, DecisionNode):
                steps = node.probabilities
            elif node.infoset.player == player:
                steps = [1.0] * len(node.children)
                if node.infoset.label == label:
                    found.append((reach, node))
            else:
                steps = self.strategy[node.infoset.label]
            for step, child in zip(steps, node.children, strict=True):
                walk(child, reach * step)

        walk(self.tree.root, 1.0)
        return found

    def worth(self, node: Any, player: int) -> float:
        if isinstance(node, TerminalNode):
            return node.utilities[player]
        is_chance = not isinstance(node, DecisionNode)
        steps = node.probabilities if is_chance else self.strategy[node.infoset.label]
        values = (self.worth(child, player) for child in node.children)
        return math.fsum(step * value for step, value in zip(steps, values, strict=True))

    def expected(self, label: str) -> list[float]:
        """The value of every action given that the infoset is reached."""
        here, player = self.histories(label), self.tree.infosets[label].player
        reach = math.fsum(weight for weight, _ in here)
        return [
            math.fsum(weight * self.worth(node.children[a], player) for weight, node in here)
            / reach
            if reach > 0.0
            else 0.0
            for a in range(len(self.strategy[label]))
        ]

    def largest(self, label: str) -> float:
        """The largest size of an infoset's value over all own strategies from there on."""
        player, here = self.tree.infosets[label].player, self.histories(label)
        reach = math.fsum(weight for weight, _ in here)

        def extreme(some: list[tuple[float, Any]], choose: Any) -> float:
            """Over own strategies, of the weighted sum of the values of some histories."""
            total, own = self.spread(some, player)
            return total + sum(
                choose(
                    extreme([(w, n.children[a]) for w, n in nodes], choose)
                    for a in range(len(nodes[0][1].children))
                )
                for nodes in own.values()
            )

        return max(abs(extreme(here, max)), abs(extreme(here, min))) / reach if reach > 0 else 0.0

    def spread(self, some: list[tuple[float, Any]], player: int) -> tuple[float, dict[str, Any]]:
        """Down to terminals and the player's next decisions."""
        total, own = 0.0, {}
        for weight, node in some:
            if isinstance(node, TerminalNode):
                total += weight * node.utilities[player]
            elif isinstance(node, DecisionNode) and node.infoset.player == player:
                own.setdefault(node.infoset.label, []).append((weight, node))
            else:
                is_chance = not isinstance(node, DecisionNode)
                steps = node.probabilities if is_chance else self.strategy[node.infoset.label]
                below = [(weight * p, c) for p, c in zip(steps, node.children, strict=True)]
                deeper, more = self.spread(below, player)
                total += deeper
                for key, nodes in more.items():
                    own.setdefault(key, []).extend(nodes)
        return total, own

    def own_reach(self, label: str) -> float:
        """Own reach of the first history of an infoset, which is that of all of them."""
        player, target = self.tree.infosets[label].player, self.tree.infosets[label].nodes[0]

        def walk(node: Any, reach: float) -> float | None:
            if node is target:
                return reach
            for at, child in enumerate([] if isinstance(node, TerminalNode) else node.children):
                mine = isinstance(node, DecisionNode) and node.infoset.player == player
                step = self.strategy[node.infoset.label][at] if mine else 1.0
                if (found := walk(child, reach * step)) is not None:
                    return found
            return None

        reach = walk(self.tree.root, 1.0)
        assert reach is not None
        return reach

    @property
    def changes(self) -> Strategies:
        """The changes of infosets, at every action."""
        return {key: [one] * len(self.strategy[key]) for key, one in self.change.items()}

    def iterate(self) -> None:
        """Player after player; all infosets of a player at once."""
        self.t += 1
        players = {label: infoset.player for label, infoset in self.tree.infosets.items()}
        for player in sorted(set(players.values())):
            here = [label for label, one in players.items() if one == player]
            self.strategy |= {label: self.moved(label) for label in here}
        for label, played in self.strategy.items():
            own = self.own_reach(label)
            for a, p in enumerate(played):
                self.total[label][a] += self.t ** self.options["average_power"] * own * p

    def moved(self, label: str) -> list[float]:
        """The next strategy of an infoset."""
        played, scale, floor = self.strategy[label], self.scale[label], self.options["floor"]
        alpha = self.options["alpha"] + self.options["heat"] * self.stakes
        values = self.expected(label)
        mean = math.fsum(p * q for p, q in zip(played, values, strict=True))
        better = [(q - mean) / scale for q in values]
        known = self.before[label] if self.t > 1 else better
        self.change[label] += max(abs(d - p) for d, p in zip(better, known, strict=True)) ** 2
        self.before[label] = better
        rate = self.options["eta"] / math.sqrt(1.0 + self.change[label])
        weights = [
            (p * math.exp(rate * (2 * d - was))) ** (1.0 / (1.0 + rate * alpha / scale))
            for p, d, was in zip(played, better, known, strict=True)
        ]
        whole = math.fsum(weights)
        return [(1 - floor) * w / whole + floor / len(weights) for w in weights]
