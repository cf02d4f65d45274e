"""AIVAT by its definition, part by part, over all histories.  Shares no code with the library but
the rules.

Source: Burch, Schmid, Moravčík, Morrill, Bowling, AAAI 2018.  A *part* is a public node with a hand
of the player who is watched: its histories differ in the other hand alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from support.reference import ChanceNode, DecisionNode, Node, Policy, TerminalNode, Tree
from support.slow_values import SlowValues
from support.ways import Line, _label, _moves, after, histories_of, start_of, tree_of
from tensorcfr.rules import Decision


def reaches(tree: Tree, policy: Policy) -> dict[Node, list[float]]:
    """The probabilities with which each player, and chance last, lead to every history."""
    found: dict[Node, list[float]] = {tree.root: [1.0] * (tree.n_players + 1)}
    for node in tree.nodes():
        if isinstance(node, TerminalNode):
            continue
        is_chance = isinstance(node, ChanceNode)
        mover = tree.n_players if is_chance else node.infoset.player
        steps = node.probabilities if is_chance else policy[node.infoset.label]
        for p, child in zip(steps, node.children, strict=True):
            found[child] = list(found[node])
            found[child][mover] *= p
    return found


class SlowPlay(NamedTuple):
    """A play of a game of hands."""

    hands: tuple[int, ...]
    lines: tuple[Line, ...]
    """The public nodes that it came to."""
    probability: float
    utilities: list[float]
    adjusted: float
    """What it paid the watched player, without luck."""


@dataclass(eq=False)
class SlowAivat:
    """All plays of a game of hands of the corpus.

    Args:
        name: The game.
        policy: What everybody plays.
        baseline: Whose values say how good steps are.
        known: The players whose strategies are known.
        watched: The player whose payoffs are adjusted.
    """

    name: str
    policy: Policy
    baseline: Policy
    known: Collection[int]
    watched: int

    def __post_init__(self) -> None:
        tree = tree_of(self.name)
        self.reach, self.guessed = reaches(tree, self.policy), reaches(tree, self.baseline)
        self.worth = SlowValues(tree, self.baseline).worth

    def weights(self, line: Line, hand: int, reach: dict[Node, list[float]]) -> dict[Node, float]:
        """The probability with which chance and the other player lead to each history of a part."""
        part = [at for hands, _, at in line.deals if hands[self.watched] == hand]
        return {at: reach[at][1 - self.watched] * reach[at][2] for at in part}

    def mean(self, line: Line, hand: int) -> float:
        """What the baseline expects in a part."""
        weights = self.weights(line, hand, self.guessed)
        total = sum(weights.values())
        paid = sum(p * self.worth(at)[self.watched] for at, p in weights.items())
        return paid / total if total > 0 else 0.0

    def weight(self, line: Line, hand: int) -> float:
        """The probability of a part, if the watched player does all for it."""
        return sum(self.weights(line, hand, self.reach).values())

    @cached_property
    def plays(self) -> list[SlowPlay]:
        """All plays with a probability above 0."""
        start, found = start_of(self.name), []
        own = {hands[self.watched] for hands, _, _ in start.deals}
        deal = sum(self.weight(start, hand) * self.mean(start, hand) for hand in own)
        for hand in own:
            found += self._below((start,), hand, deal - self.mean(start, hand))
        return found

    def _below(self, lines: tuple[Line, ...], hand: int, luck: float) -> Iterator[SlowPlay]:
        line = lines[-1]
        here = [deal for deal in line.deals if deal[0][self.watched] == hand]
        if not here or not any(p > 0 for p in self.weights(line, hand, self.reach).values()):
            return
        if isinstance(here[0][2], TerminalNode):
            weights = self.weights(line, hand, self.reach)
            total = sum(weights.values())
            mean = sum(p * at.utilities[self.watched] for at, p in weights.items()) / total
            for hands, _, at in here:
                if (p := float(self.reach[at][0] * self.reach[at][1] * self.reach[at][2])) > 0:
                    yield SlowPlay(hands, lines, p, at.utilities, luck + mean)
            return
        nodes = [histories_of(self.name).node(state) for _, state, _ in line.deals]
        labels = dict.fromkeys(_label(self.name, n, m) for n in nodes for m in _moves(n))
        below = [after(self.name, line, label) for label in labels]
        expected = [self.mean(one, hand) for one in below]
        acts = line.node.player if isinstance(line.node, Decision) else None
        is_known = acts is None or acts in self.known
        if acts == self.watched:
            assert isinstance(here[0][2], DecisionNode)
            likely = self.policy[here[0][2].infoset.label]
        else:
            whole = self.weight(line, hand)
            likely = [self.weight(one, hand) / whole for one in below]
        mean = sum(p * one for p, one in zip(likely, expected, strict=True))
        for one, worth in zip(below, expected, strict=True):
            yield from self._below((*lines, one), hand, luck + (mean - worth) * is_known)


End = tuple[TerminalNode, float, list[float]]


def adjusted_of_histories(
    tree: Tree, policy: Policy, baseline: Policy, known: Collection[int]
) -> Iterator[End]:
    """Every end with its probability and what it pays without luck, each history a part of its
    own."""
    worth = SlowValues(tree, baseline).worth

    def visit(node: Node, reach: float, luck: list[float]) -> Iterator[End]:
        if isinstance(node, TerminalNode):
            yield node, reach, [u + own for u, own in zip(node.utilities, luck, strict=True)]
            return
        is_chance = isinstance(node, ChanceNode)
        steps = node.probabilities if is_chance else policy[node.infoset.label]
        is_known = is_chance or node.infoset.player in known
        for p, child in zip(steps, node.children, strict=True):
            after_it = []
            for player, own in enumerate(luck):
                mean = sum(q * worth(c)[player] for q, c in zip(steps, node.children, strict=True))
                after_it.append(own + (mean - worth(child)[player] if is_known else 0.0))
            yield from visit(child, reach * p, after_it)

    yield from visit(tree.root, 1.0, [0.0] * tree.n_players)
