"""A slow twin: CFR in which infosets of a bucket share one strategy, with a dictionary per bucket.

It shares nothing with the library but the rules of games, and nothing with
:mod:`support.reference` but the tree and the arithmetic of rules.  It knows of no smaller game:
histories of the full game are visited one by one, and what belongs to an infoset is kept under the
name of its bucket.

Sources: Zinkevich et al. 2007 for regrets and averages; Lanctot, Gibson, Burch, Zinkevich and
Bowling, "No-regret learning in extensive-form games with imperfect recall", ICML 2012, for buckets
whose player forgets.  There the own reach in the average has as many values as there are pasts of
own buckets and actions; they are added, each once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from support.reference import (
    ChanceNode,
    Node,
    Rule,
    TerminalNode,
    Tree,
    cfr_rule,
    normalized,
)

Past = tuple[tuple[str, int], ...]
"""Own buckets passed, with the action taken in each."""


class BucketCFR:
    """CFR of a game whose infosets are in buckets.

    Args:
        tree: The full game.
        bucket: Bucket by infoset label.
        rule: Of the regrets.
        average_power: Iteration t has the weight ``t ** average_power``.
        alternating: Whether players are updated one after the other.
    """

    def __init__(
        self,
        tree: Tree,
        bucket: Mapping[str, str],
        *,
        rule: Rule = cfr_rule,
        average_power: float = 0,
        alternating: bool = True,
    ) -> None:
        self.tree, self.bucket, self.rule = tree, bucket, rule
        self.average_power, self.alternating, self.t = average_power, alternating, 0
        width = {bucket[label]: len(i.actions) for label, i in tree.infosets.items()}
        self.player = {bucket[label]: i.player for label, i in tree.infosets.items()}
        self.regrets = {name: [0.0] * n for name, n in width.items()}
        self.cumulative = {name: [0.0] * n for name, n in width.items()}
        self.strategy = {name: [1 / n] * n for name, n in width.items()}

    def iterate(self) -> None:
        """One iteration."""
        self.t += 1
        players = range(self.tree.n_players)
        for together in [[player] for player in players] if self.alternating else [players]:
            seen = []
            for player in together:
                instant = {name: [0.0] * len(own) for name, own in self.regrets.items()}
                reaches: dict[str, dict[Past, float]] = defaultdict(dict)
                self._value(self.tree.root, player, 1.0, 1.0, (), instant, reaches)
                seen.append((player, instant, reaches))
            for player, instant, reaches in seen:
                for name, owner in self.player.items():
                    if owner == player:
                        self._learn(name, instant[name], sum(reaches[name].values()))

    def _learn(self, name: str, instant: list[float], reach: float) -> None:
        weight = self.t**self.average_power
        for action, probability in enumerate(self.strategy[name]):
            self.cumulative[name][action] += weight * reach * probability
        self.regrets[name] = self.rule(self.regrets[name], instant, self.t)
        self.strategy[name] = normalized([max(regret, 0.0) for regret in self.regrets[name]])

    def _value(
        self,
        node: Node,
        player: int,
        own: float,
        others: float,
        past: Past,
        instant: dict[str, list[float]],
        reaches: dict[str, dict[Past, float]],
    ) -> float:
        """The expected utility of a history to a player; regrets on the way."""
        if isinstance(node, TerminalNode):
            return node.utilities[player]
        if isinstance(node, ChanceNode):
            return sum(
                p * self._value(child, player, own, others * p, past, instant, reaches)
                for p, child in zip(node.probabilities, node.children, strict=True)
            )
        name = self.bucket[node.infoset.label]
        sigma = self.strategy[name]
        if node.infoset.player != player:
            return sum(
                p * self._value(child, player, own, others * p, past, instant, reaches)
                for p, child in zip(sigma, node.children, strict=True)
            )
        reaches[name][past] = own
        values = [
            self._value(child, player, own * p, others, (*past, (name, a)), instant, reaches)
            for a, (p, child) in enumerate(zip(sigma, node.children, strict=True))
        ]
        mean = sum(p * value for p, value in zip(sigma, values, strict=True))
        for action, value in enumerate(values):
            instant[name][action] += others * (value - mean)
        return mean

    def average(self, label: str) -> list[float]:
        """The average strategy at an infoset of the full game."""
        return normalized(self.cumulative[self.bucket[label]])
