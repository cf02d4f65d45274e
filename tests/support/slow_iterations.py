"""Iterations of CFR by recursion over the rules of a game, with every number on the way.

It shares no code with the library but the rules.  A traversal that samples gets the histories that
it visits, and follows them; each number is computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from math import prod
from typing import Any

from support.reference import DealtGame
from tensorcfr.rules import Chance, Game, Terminal

Path = tuple[str, ...]


@dataclass
class SlowTerm:
    """What one history adds to the regrets of its infoset."""

    path: Path
    weight: Any
    values: list[Any]
    value: Any


@dataclass
class SlowUpdate:
    """Every number of one player's update."""

    player: int
    reach: dict[Path, list[Any]] = field(default_factory=dict)
    value: dict[Path, Any] = field(default_factory=dict)
    drawn: dict[Path, Any] = field(default_factory=dict)
    strategy: dict[str, list[Any]] = field(default_factory=dict)
    terms: dict[str, list[SlowTerm]] = field(default_factory=dict)
    regrets: dict[str, tuple[list[Any], list[Any], list[Any]]] = field(default_factory=dict)
    """Instantaneous regrets, old sums, new sums."""
    added: list[tuple[str, Any, Any]] = field(default_factory=list)
    """Infoset, own reach (1 if sampled), and probability of the visit."""


class SlowIterations:
    """Regrets, strategies and averages between two updates.

    Args:
        rules: The rules.
        number: Conversion of probabilities and utilities, ``float`` or a fraction.
        new_regret: From old sum, instantaneous regret and iteration to the new sum.
        weight: Averaging weight of an iteration.
        scheme: ``"whole"``, ``"chance"``, ``"external"`` or ``"outcome"``.
        epsilon: Exploration of outcome sampling.
    """

    def __init__(
        self,
        rules: Any,
        *,
        number: Callable[[float], Any] = float,
        new_regret: Callable[[Any, Any, int], Any] = lambda old, instant, t: old + instant,
        weight: Callable[[int], Any] = lambda t: 1,
        scheme: str = "whole",
        epsilon: float = 0.6,
    ) -> None:
        self.rules: Any = rules if isinstance(rules, Game) else DealtGame(rules)
        self.hands = [] if rules is self.rules else rules.hands
        self.number, self.new_regret, self.weight = number, new_regret, weight
        self.scheme, self.epsilon = scheme, number(epsilon)
        self.regret: dict[str, list[Any]] = {}
        self.strategy: dict[str, list[Any]] = {}
        self.sums: dict[str, list[Any]] = {}

    def label(self, depth: int, step: Any) -> str:
        return str(self.hands[depth][step]) if depth < len(self.hands) else str(step)

    def update(self, player: int, t: int, visited: Collection[Path] | None = None) -> SlowUpdate:
        """Update a player; the averages take what their regrets had been."""
        update = SlowUpdate(player)
        ones = [self.number(1)] * (self.rules.n_players + 1)
        self._visit(update, self.rules.root(), (), ones, self.number(1), visited)
        if self.scheme in ("whole", "chance"):
            for label, terms in update.terms.items():
                update.added.append((label, update.reach[terms[0].path][player], self.number(1)))
        for label, reach, sampled in update.added:
            self.sums[label] = [
                old + self.number(self.weight(t)) * reach * p / sampled
                for old, p in zip(self.sums[label], update.strategy[label], strict=True)
            ]
        for label, terms in update.terms.items():
            old = self.regret[label]
            instant = [
                sum(term.weight * (term.values[a] - term.value) for term in terms)
                for a in range(len(old))
            ]
            new = [self.new_regret(r, i, t) for r, i in zip(old, instant, strict=True)]
            update.regrets[label] = instant, old, new
            self.regret[label] = new
            positive = [max(r, self.number(0)) for r in new]
            total = sum(positive)
            even = self.number(1) / len(new)
            self.strategy[label] = [r / total if total > 0 else even for r in positive]
        return update

    def _visit(
        self,
        update: SlowUpdate,
        state: Any,
        path: Path,
        reach: list[Any],
        led: Any,
        visited: Collection[Path] | None,
    ) -> Any:
        node, player = self.rules.node(state), update.player
        update.reach[path] = reach
        if isinstance(node, Terminal):
            update.value[path] = self.number(float(node.utilities[player]))
            return update.value[path]
        is_chance = isinstance(node, Chance)
        if is_chance:
            choices = [(step, self.number(float(p))) for step, p in node.outcomes.items()]
        else:
            label, count = node.infoset, len(node.actions)
            self.regret.setdefault(label, [self.number(0)] * count)
            self.sums.setdefault(label, [self.number(0)] * count)
            self.strategy.setdefault(label, [self.number(1) / count] * count)
            strategy = update.strategy[label] = self.strategy[label]
            choices = list(zip(node.actions, strategy, strict=True))
        actor = self.rules.n_players if is_chance else node.player
        is_own = actor == player
        plays = self.scheme in ("external", "outcome")
        several = not is_chance and len(choices) > 1
        if plays and several and not is_own:
            third = [r for k, r in enumerate(reach[:-1]) if k not in (player, actor)]
            update.added.append((label, self.number(1), led * prod(third)))
        values, tried = [], 0
        for step, p in choices:
            child = (*path, self.label(len(path), step))
            if visited is not None and child not in visited:
                values.append(None)
                continue
            tried += 1
            below = [r * p if k == actor else r for k, r in enumerate(reach)]
            xi = self.number(1)
            if self.scheme == "outcome" and is_own and several:
                xi = update.drawn[child] = self.epsilon / len(choices) + (1 - self.epsilon) * p
            after = self.rules.next(state, step)
            values.append(self._visit(update, after, child, below, led * xi, visited) / xi)
        one = is_chance and self.scheme != "whole"
        one = one or (plays and not is_chance and (not is_own or self.scheme == "outcome"))
        assert tried == (1 if one else tried)
        known = [self.number(0) if value is None else value for value in values]
        if one and not (is_own and self.scheme == "outcome"):
            result = sum(known)
        else:
            result = sum(p * value for (_, p), value in zip(choices, known, strict=True))
        if is_own and several:
            others = [r for k, r in enumerate(reach) if k != player]
            weight = {"whole": prod(others), "chance": prod(others[:-1])}.get(self.scheme, 1 / led)
            if self.scheme == "external":
                weight = self.number(1)
            update.terms.setdefault(label, []).append(SlowTerm(path, weight, known, result))
        update.value[path] = result
        return result
