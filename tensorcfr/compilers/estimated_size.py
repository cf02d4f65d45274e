"""The size of a tree of histories, estimated from samples.

The estimator is that of P. C. Chen ("Heuristic sampling: a method for predicting the performance of
tree searching programs", SIAM Journal on Computing 21, 1992), which keeps one history for each
stratum (depth, who acts, number of actions) with the weight of all that it represents.  With one
stratum per depth and history it is D. Knuth's ("Estimating the efficiency of backtrack programs",
Mathematics of Computation 29, 1975).  Both are unbiased; independent passes give the error.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from .._util.memory import taken
from ..errors import GameError
from ..model.arrays import CHANCE, TERMINAL
from ..rules import Chance, Decision, Game, PublicTreeGame
from .counted_size import hands_held
from .public_checks import checked_prior
from .size import Size
from .too_large import DEEPEST

PASSES = (100, 400)
"""Passes of the estimator, at least and at most."""
PRECISE = 0.01
"""Relative standard error at which the estimator ends."""
LOOK_EVERY = 8
"""States between two looks at the memory that an estimate has taken."""


class _TooMuchError(Exception):
    """An estimate has taken more memory than it may."""


def estimate_quietly(rules: Game, name: str, *, seconds: float, allowed: int) -> Size | None:
    """An estimate; None where the rules do not let themselves be sampled, or take much memory.

    Rules that remember the states that they have met must not meet any out of turn.
    """
    game = copy.copy(rules) if hasattr(rules, "__copy__") else rules
    try:
        return estimate(Histories(game), name, seconds=seconds, seed=0, allowed=allowed)
    except Exception:
        return None  # The rules are broken, and the walk says where.


@dataclass(frozen=True)
class _Met:
    """A state that a pass has met."""

    stratum: Hashable
    totals: tuple[float, ...]
    """What one such state adds: histories, terminals, decisions, actions, infosets."""
    label: tuple[int, int] | None
    """Player and hash of the infoset, where histories have some: labels may be long."""
    n_children: int
    child: Callable[[int], Any]


class Histories:
    """A game history by history."""

    def __init__(self, rules: Game) -> None:
        self.rules = rules
        self.n_players = int(rules.n_players)
        self.is_public = False

    def root(self) -> Any:
        """The first state."""
        return self.rules.root()

    def meet(self, state: Any) -> _Met:
        """A state, as a pass has met it."""
        node = self.rules.node(state)
        if type(node) is Decision:
            edges: Sequence[Any] = node.actions
            kind, totals = int(node.player), (1.0, 0.0, 1.0, float(len(edges)), 0.0)
            label = (kind, hash(node.infoset))
        elif type(node) is Chance:
            edges = list(node.outcomes)
            kind, totals, label = CHANCE, (1.0, 0.0, 0.0, 0.0, 0.0), None
        else:
            edges, kind, totals, label = (), TERMINAL, (1.0, 1.0, 0.0, 0.0, 0.0), None
        following = self.rules.next
        return _Met(
            (kind, len(edges)), totals, label, len(edges), lambda i: following(state, edges[i])
        )


class PublicTree:
    """A game of private hands, public node by public node, with the deals that get there."""

    def __init__(self, rules: PublicTreeGame) -> None:
        self.rules = rules
        self.n_players = rules.n_players
        self.is_public = rules.n_players == 2
        self.dealt = checked_prior(rules) > 0

    def root(self) -> Any:
        """The first state."""
        return self.rules.root(), self.dealt

    def meet(self, state: Any) -> _Met:
        """A state, as a pass has met it."""
        at, alive = state
        node = self.rules.node(at)
        deals = float(alive.sum())
        following = self.rules.next
        if isinstance(node, Decision):
            held = hands_held(alive)[node.player]
            edges: Sequence[Any] = node.actions
            totals = (deals, 0.0, deals, float(held * len(edges)), float(held))
            stratum: tuple[Any, ...] = (node.player, len(edges), deals)
            return _Met(
                stratum, totals, None, len(edges), lambda i: (following(at, edges[i]), alive)
            )
        if isinstance(node, Chance):
            outcomes = list(node.outcomes)
            given = [np.broadcast_to(node.outcomes[o], alive.shape) for o in outcomes]
            return _Met(
                (CHANCE, len(outcomes), deals),
                (deals, 0.0, 0.0, 0.0, 0.0),
                None,
                len(outcomes),
                lambda i: (following(at, outcomes[i]), alive & (given[i] > 0)),
            )
        return _Met((TERMINAL, 0, deals), (deals, deals, 0.0, 0.0, 0.0), None, 0, lambda i: None)


def estimate(
    rules: Histories | PublicTree,
    name: str,
    *,
    seconds: float,
    seed: int,
    allowed: int | None = None,
) -> Size:
    """Chen's estimate of a game's size.

    Args:
        rules: The game.
        name: Its name.
        seconds: How long it may take; a pass may take five times as long.
        seed: Of the sampling.
        allowed: Bytes that it may take; None for any number.

    Raises:
        GameError: The histories do not end.
    """
    begun = time.perf_counter()
    limit = None if allowed is None else taken() + allowed
    found: list[np.ndarray] = []
    labels = _Labels()
    ended = True
    while len(found) < PASSES[1]:
        rng = Random(f"{seed} {len(found)}")
        totals, own, ended = _pass(rules, rng, begun + 5 * seconds, limit)
        found.append(totals)
        labels.add(own)
        if not ended:
            break
        if len(found) >= PASSES[0]:
            each = np.array(found)[:, 0]
            if each.std(ddof=1) / math.sqrt(len(each)) <= PRECISE * each.mean():
                break
        if time.perf_counter() - begun > seconds and len(found) > 1:
            break
    table = np.array(found)
    mean = table.mean(axis=0)
    error = math.inf
    if ended and len(found) > 1:
        error = float(table[:, 0].std(ddof=1) / math.sqrt(len(found)) / mean[0])
    nodes, terminals, decisions, actions, infosets, public_nodes = mean.tolist()
    if isinstance(rules, Histories):
        infosets = labels.infosets(decisions)
        actions = actions * infosets / decisions if decisions else 0.0
    return Size(
        name=name,
        n_players=rules.n_players,
        histories=nodes,
        terminals=terminals,
        decisions=decisions,
        infosets=infosets,
        sequences=actions + rules.n_players,
        public_nodes=int(public_nodes) if rules.is_public else None,
        passes=len(found),
        relative_error=error,
    )


Weighted = dict[tuple[int, tuple[int, int]], float]
"""Weights of the decision nodes of a pass, by depth and infoset."""


def _pass(
    rules: Histories | PublicTree, rng: Random, deadline: float, limit: int | None
) -> tuple[np.ndarray, Weighted, bool]:
    """One pass: totals, weights of infosets, whether it came to the end."""
    totals = np.zeros(6)
    weighted: Weighted = {}
    level: dict[Hashable, tuple[float, _Met]] = {}
    root = rules.meet(rules.root())
    level[root.stratum] = 1.0, root
    for depth in range(DEEPEST + 1):
        if not level:
            return totals, weighted, True
        below: dict[Hashable, tuple[float, _Met]] = {}
        for weight, met in level.values():
            totals[:5] += weight * np.array(met.totals)
            totals[5] += weight
            if met.label is not None:
                key = depth, met.label
                weighted[key] = weighted.get(key, 0.0) + weight
            for index in range(met.n_children):
                if limit is not None and index % LOOK_EVERY == 0 and taken() > limit:
                    raise _TooMuchError
                child = rules.meet(met.child(index))
                before, kept = below.get(child.stratum, (0.0, child))
                total = before + weight
                one = child if rng.random() * total < weight else kept
                below[child.stratum] = total, one
        if time.perf_counter() > deadline:
            return totals, weighted, False
        level = below
    raise GameError(f"a history has more than {DEEPEST:,} steps, does the game end?")


class _Labels:
    """How often labels come again in other passes, from which the number of infosets follows.

    Two decision nodes of one player and depth, drawn independently with equal probability, have one
    infoset with a probability of one divided by the number of infosets, if all are of equal size;
    and with a larger one otherwise.
    """

    def __init__(self) -> None:
        self.passes = 0
        self.sums: Weighted = {}
        self.squares: Weighted = {}

    def add(self, weighted: Weighted) -> None:
        """Add a pass."""
        self.passes += 1
        for key, weight in weighted.items():
            self.sums[key] = self.sums.get(key, 0.0) + weight
            self.squares[key] = self.squares.get(key, 0.0) + weight * weight

    def infosets(self, decisions: float) -> float:
        """The estimate; as many as decision nodes where no label came again."""
        if self.passes < 2:
            return decisions
        strata: dict[tuple[int, int], list[float]] = {}
        for (depth, label), total in self.sums.items():
            nodes_pairs = strata.setdefault((depth, label[0]), [0.0, 0.0])
            nodes_pairs[0] += total / self.passes
            again = total * total - self.squares[depth, label]
            nodes_pairs[1] += again / (self.passes * (self.passes - 1))
        found = 0.0
        for nodes, pairs in strata.values():
            found += min(nodes, nodes * nodes / pairs) if pairs > 0 else nodes
        return found
