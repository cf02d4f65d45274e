"""CFR in exact fractions, by recursion over histories: what a tie is, there is no doubt here.

The rules of games give chance probabilities and utilities as floats; they stand for the fractions
with the smallest denominators that are as near.  Nothing is shared with the library but the rules.
"""

from __future__ import annotations

from fractions import Fraction

from support.reference import (
    ChanceNode,
    DecisionNode,
    Node,
    TerminalNode,
    Tree,
    build_tree,
)
from tensorcfr import Game

LARGEST_DENOMINATOR = 10**6
"""Chance probabilities and utilities are fractions with denominators up to here."""
Strategies = dict[str, list[Fraction]]
"""Probabilities by infoset label."""


def exact(number: float) -> Fraction:
    """The fraction that a float stands for."""
    return Fraction(number).limit_denominator(LARGEST_DENOMINATOR)


def matched(weights: list[Fraction]) -> list[Fraction]:
    """Positive parts, normalised; uniform where there are none."""
    positive = [max(weight, Fraction(0)) for weight in weights]
    total = sum(positive, Fraction(0))
    return [w / total if total else Fraction(1, len(weights)) for w in positive]


class ExactCFR:
    """Alternating iterations of CFR, or with ``plus`` of CFR+ (Tammelin 2014).

    Args:
        game: The rules, or the tree that they make.
        plus: Whether regrets are cut off at 0, and averages are linear.
    """

    def __init__(self, game: Game | Tree, *, plus: bool = False) -> None:
        self.tree, self.plus, self.t = build_tree(game), plus, 0
        infosets = self.tree.infosets
        zeros = {label: [Fraction(0)] * len(i.actions) for label, i in infosets.items()}
        self.regret = {label: list(row) for label, row in zeros.items()}
        self.cumulative = {label: list(row) for label, row in zeros.items()}
        self.strategy = {label: matched(row) for label, row in zeros.items()}

    def iterate(self) -> None:
        """One iteration."""
        self.t += 1
        weight = Fraction(self.t if self.plus else 1)
        for player in range(self.tree.n_players):
            for label, reach in self.reaches(self.strategy, player).items():
                row = self.cumulative[label]
                row[:] = [
                    c + weight * reach * p for c, p in zip(row, self.strategy[label], strict=True)
                ]
            found = self.values(self.strategy, player)
            for label, values in found.items():
                sigma = self.strategy[label]
                mean = sum((p * q for p, q in zip(sigma, values, strict=True)), Fraction(0))
                row = [r + q - mean for r, q in zip(self.regret[label], values, strict=True)]
                self.regret[label] = [max(r, Fraction(0)) for r in row] if self.plus else row
                self.strategy[label] = matched(self.regret[label])

    def average(self) -> Strategies:
        """The average strategies."""
        return {label: matched(row) for label, row in self.cumulative.items()}

    def reaches(self, strategy: Strategies, player: int) -> dict[str, Fraction]:
        """Own reach of a player's infosets."""
        found: dict[str, Fraction] = {}

        def walk(node: Node, reach: Fraction) -> None:
            if isinstance(node, TerminalNode):
                return
            if isinstance(node, ChanceNode) or node.infoset.player != player:
                for child in node.children:
                    walk(child, reach)
                return
            found[node.infoset.label] = reach
            for child, p in zip(node.children, strategy[node.infoset.label], strict=True):
                walk(child, reach * p)

        walk(self.tree.root, Fraction(1))
        return found

    def values(self, strategy: Strategies, player: int) -> Strategies:
        """Counterfactual values of the actions at a player's infosets."""
        found = {
            infoset.label: [Fraction(0)] * len(infoset.actions)
            for infoset in self.tree.infosets_of(player)
        }

        def walk(node: Node, others: Fraction) -> Fraction:
            if not others:
                return others
            if isinstance(node, TerminalNode):
                return others * exact(node.utilities[player])
            if isinstance(node, ChanceNode):
                steps = map(exact, node.probabilities)
                return sum(
                    (
                        walk(child, others * p)
                        for child, p in zip(node.children, steps, strict=True)
                    ),
                    Fraction(0),
                )
            sigma = strategy[node.infoset.label]
            if node.infoset.player != player:
                return sum(
                    (
                        walk(child, others * p)
                        for child, p in zip(node.children, sigma, strict=True)
                    ),
                    Fraction(0),
                )
            row = found[node.infoset.label]
            values = [walk(child, others) for child in node.children]
            row[:] = [q + value for q, value in zip(row, values, strict=True)]
            return sum((p * value for p, value in zip(sigma, values, strict=True)), Fraction(0))

        walk(self.tree.root, Fraction(1))
        return found

    def nash_conv(self) -> Fraction:
        """What players gain by best responses to the average strategies, together."""
        average, gains = self.average(), Fraction(0)
        for player in range(self.tree.n_players):
            gains += self._best(average, player) - self._expected(average, player)
        return gains

    def _expected(self, strategy: Strategies, player: int) -> Fraction:
        def walk(node: Node, reach: Fraction) -> Fraction:
            if not reach:
                return reach
            if isinstance(node, TerminalNode):
                return reach * exact(node.utilities[player])
            steps = (
                map(exact, node.probabilities)
                if isinstance(node, ChanceNode)
                else strategy[node.infoset.label]
            )
            return sum(
                (walk(child, reach * p) for child, p in zip(node.children, steps, strict=True)),
                Fraction(0),
            )

        return walk(self.tree.root, Fraction(1))

    def _best(self, strategy: Strategies, player: int) -> Fraction:
        """The value of a best response: from infoset to infoset, all histories of one together."""

        def gather(
            nodes: list[tuple[Node, Fraction]],
        ) -> tuple[Fraction, dict[str, list[tuple[DecisionNode, Fraction]]]]:
            """What histories pay before the player's next infosets, and the histories there."""
            paid, here = Fraction(0), {}
            stack = list(nodes)
            while stack:
                node, others = stack.pop()
                if not others:
                    continue
                if isinstance(node, TerminalNode):
                    paid += others * exact(node.utilities[player])
                elif isinstance(node, ChanceNode):
                    steps = map(exact, node.probabilities)
                    stack += [
                        (child, others * p) for child, p in zip(node.children, steps, strict=True)
                    ]
                elif node.infoset.player != player:
                    sigma = strategy[node.infoset.label]
                    stack += [
                        (child, others * p) for child, p in zip(node.children, sigma, strict=True)
                    ]
                else:
                    here.setdefault(node.infoset.label, []).append((node, others))
            return paid, here

        def best(nodes: list[tuple[Node, Fraction]]) -> Fraction:
            paid, here = gather(nodes)
            for histories in here.values():
                actions = range(len(histories[0][0].children))
                paid += max(best([(node.children[a], w) for node, w in histories]) for a in actions)
            return paid

        return best([(self.tree.root, Fraction(1))])
