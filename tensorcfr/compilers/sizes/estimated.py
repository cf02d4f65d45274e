"""Size of a game, estimated from samples.

The estimator is due to P. C. Chen ("Heuristic sampling: a method for predicting the performance of
tree searching programs", SIAM Journal on Computing 21, 1992).  It keeps one history for each
stratum (depth, acting player, number of actions), with the weight of all histories that it
represents.  With one stratum per depth, it becomes the estimator of D. Knuth ("Estimating the
efficiency of backtrack programs", Mathematics of Computation 29, 1975).  Both are unbiased;
independent passes give the error.
"""

from __future__ import annotations

import copy
import math
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from ..._util.limits import DEEPEST
from ..._util.memory_budget import taken
from ...errors import GameError
from ...model.arrays import CHANCE, TERMINAL
from ...rules import Chance, Decision, Game, PublicTreeGame
from ..public_checks import checked_prior
from .size import GameSize

PASSES = (100, 400)
"""Minimum and maximum number of passes of the estimator."""
PRECISE = 0.01
"""Relative standard error at which the estimator stops."""
MAX_SINGLETONS = 0.1
"""Largest share of infosets seen only once among a stratum's samples.  Beyond it, the upper end of
the interval is the number of nodes."""
MOST_FOUND = 1e140
"""Number of nodes at which a pass is abandoned, because squares of larger numbers overflow a
float."""
LOOK_EVERY = 8
"""Number of states between two checks of the memory that an estimate has taken."""


PROBES = 16
"""Number of random plays of a probe."""
PROBE_SECONDS = 0.5
"""Maximum duration of a probe, in seconds."""


class _TooMuchError(Exception):
    """Exception for an estimate that has taken more memory than it may."""


def estimate_quietly(
    rules: Game | PublicTreeGame, name: str, *, seconds: float, allowed: float
) -> GameSize | None:
    """Estimate a game, or return None if its rules cannot be sampled or take too much memory."""
    try:
        return estimate(_copy_rules(rules), name, seconds=seconds, allowed=allowed)
    except Exception:
        return None  # The rules are broken, which the compiler reports, or memory is short.


def _copy_rules(rules: Game | PublicTreeGame) -> Game | PublicTreeGame:
    """Copy rules that define ``__copy__``, because rules may cache the states that they were asked
    for."""
    return copy.copy(rules) if hasattr(rules, "__copy__") else rules


@dataclass(frozen=True)
class _VisitedState:
    """State that a pass has visited."""

    stratum: Hashable
    totals: tuple[float, ...]
    """Counts of one such state: histories, terminals, decisions, actions, infosets."""
    n_children: int
    child: Callable[[int], Any]
    label: tuple[int, int] | None = None
    """Player and hash of the infoset, for games by histories; a hash, because labels may be
    long."""


class _SampledHistories:
    """Game, visited history by history."""

    def __init__(self, rules: Game) -> None:
        self.rules = rules

    def root(self) -> Any:
        return self.rules.root()

    def visit(self, state: Any) -> _VisitedState:
        """Return the node of a state, with its counts and its stratum."""
        node, following = self.rules.node(state), self.rules.next
        edges: Sequence[Any] = ()
        kind, label, totals = TERMINAL, None, (1.0, 1.0, 0.0, 0.0, 0.0)
        if type(node) is Decision:
            edges, kind = node.actions, int(node.player)
            label, totals = (kind, hash(node.infoset)), (1.0, 0.0, 1.0, float(len(edges)), 0.0)
        elif type(node) is Chance:
            edges, kind, totals = list(node.outcomes), CHANCE, (1.0, 0.0, 0.0, 0.0, 0.0)
        stratum = kind, len(edges)
        return _VisitedState(
            stratum, totals, len(edges), lambda i: following(state, edges[i]), label
        )


class _SampledPublicTree:
    """Game of private hands, visited public node by public node, with the deals that reach each."""

    def __init__(self, rules: PublicTreeGame) -> None:
        self.rules = rules
        self.dealt = checked_prior(rules) > 0

    def root(self) -> Any:
        return self.rules.root(), self.dealt

    def visit(self, state: Any) -> _VisitedState:
        """Return the node of a state, with its counts and its stratum."""
        public_state, alive = state
        node, following = self.rules.node(public_state), self.rules.next
        deals = float(alive.sum())
        if isinstance(node, Decision):
            edges: Sequence[Any] = node.actions
            n_hands = hands_held(alive)[node.player]
            totals = (deals, 0.0, deals, float(n_hands * len(edges)), float(n_hands))
            stratum = (node.player, len(edges), deals)
            return _VisitedState(
                stratum, totals, len(edges), lambda i: (following(public_state, edges[i]), alive)
            )
        if isinstance(node, Chance):
            outcomes = list(node.outcomes)
            probabilities = [np.broadcast_to(node.outcomes[o], alive.shape) for o in outcomes]
            return _VisitedState(
                (CHANCE, len(outcomes), deals),
                (deals, 0.0, 0.0, 0.0, 0.0),
                len(outcomes),
                lambda i: (following(public_state, outcomes[i]), alive & (probabilities[i] > 0)),
            )
        return _VisitedState((TERMINAL, 0, deals), (deals, deals, 0.0, 0.0, 0.0), 0, lambda i: None)


def _visitor(rules: Game | PublicTreeGame) -> _SampledHistories | _SampledPublicTree:
    return (
        _SampledPublicTree(rules) if isinstance(rules, PublicTreeGame) else _SampledHistories(rules)
    )


def hands_held(alive: np.ndarray) -> list[int]:
    """Count the hands of each player that occur in some deal."""
    axes = range(alive.ndim)
    return [int(alive.any(axis=tuple(a for a in axes if a != axis)).sum()) for axis in axes]


def probe(rules: Game | PublicTreeGame, most: float) -> float:
    """Estimate the number of nodes by Knuth's method, from few random plays; mostly too low.

    Args:
        rules: The rules.
        most: Number of nodes at which the plays stop.
    """
    total, deadline = 0.0, time.perf_counter() + PROBE_SECONDS
    try:
        visitor = _visitor(_copy_rules(rules))
        for number in range(PROBES):
            rng, product = Random(number), 1.0
            visited = visitor.visit(visitor.root())
            for _ in range(DEEPEST):
                # The product of the numbers of children is an unbiased estimate of the nodes at
                # this depth.
                product *= visited.n_children
                total += product
                if total > most * PROBES or time.perf_counter() > deadline:
                    return total / PROBES
                if not product:
                    break
                visited = visitor.visit(visited.child(rng.randrange(visited.n_children)))
    except Exception:
        return 0.0  # The rules are broken; the compiler reports where.
    return total / PROBES


def estimate(
    rules: Game | PublicTreeGame,
    name: str,
    *,
    seconds: float,
    seed: int = 0,
    allowed: float = math.inf,
) -> GameSize:
    """Estimate a game's size by Chen's method.

    Args:
        rules: The rules.
        name: The name of the game.
        seconds: Time for all passes, in seconds; a single pass may take five times as long.
        seed: Seed of the samples.
        allowed: Memory limit of the estimate in bytes.

    Raises:
        GameError: The histories do not end.
    """
    begun = time.perf_counter()
    visitor = _visitor(rules)
    is_public = isinstance(visitor, _SampledPublicTree)
    limit = taken() + allowed
    passes: list[np.ndarray] = []
    labels: list[Weighted] = []
    ended = True
    while len(passes) < PASSES[1] and ended:
        rng = Random(f"{seed} {len(passes)}")
        totals, sample, ended = _pass(visitor, rng, begun + 5 * seconds, limit)
        passes.append(totals)
        labels.append(sample)
        # More passes improve only the number of infosets, which no compile needs.
        if len(passes) >= PASSES[0] and (is_public or allowed < math.inf):
            each = np.array(passes)[:, 0]
            if each.std(ddof=1) / math.sqrt(len(each)) <= PRECISE * each.mean():
                break
        if time.perf_counter() - begun > seconds and len(passes) > 1:
            break
    table = np.array(passes)
    nodes, terminals, decisions, actions, infosets, public_nodes = table.mean(axis=0).tolist()
    spread = np.full(6, math.inf)
    if len(passes) > 1:
        spread = table.std(axis=0, ddof=1) / math.sqrt(len(passes))
    width = 1.96 * float(spread[4]) if len(passes) > 1 else 0.0
    between = max(0.0, infosets - width), infosets + width
    if not is_public:
        infosets, low, high = _infosets(labels)
        between = low, high if ended else math.inf
        actions = actions * infosets / decisions if decisions else 0.0
    return GameSize(
        name=name,
        n_players=int(rules.n_players),
        histories=nodes,
        terminals=terminals,
        decisions=decisions,
        infosets=infosets,
        sequences=actions + int(rules.n_players),
        public_nodes=int(public_nodes) if is_public and rules.n_players == 2 else None,
        passes=len(passes),
        relative_error=float(spread[0]) / nodes if ended else math.inf,
        infosets_interval=between,
    )


Stratum = tuple[int, int, int]
"""Depth, acting player and number of actions."""
Weighted = dict[Stratum, tuple[int, float]]
"""Sample of one pass: the infoset (a hash of its label) and the weight for each stratum of
decisions."""


def _pass(
    rules: _SampledHistories | _SampledPublicTree, rng: Random, deadline: float, limit: float
) -> tuple[np.ndarray, Weighted, bool]:
    """Run one pass of the estimator.

    Returns:
        float64 (6,): histories, terminals, decisions, actions, infosets, nodes; the sampled
        infosets and weights; whether the pass reached the end of all histories.
    """
    totals = np.zeros(6)
    weighted: Weighted = {}
    root = rules.visit(rules.root())
    level: dict[Hashable, tuple[float, _VisitedState]] = {root.stratum: (1.0, root)}
    for depth in range(DEEPEST + 1):
        if not level:
            return totals, weighted, True
        below: dict[Hashable, tuple[float, _VisitedState]] = {}
        for weight, visited in level.values():
            totals += weight * np.array((*visited.totals, 1.0))
            if visited.label is not None:
                weighted[depth, visited.label[0], visited.n_children] = visited.label[1], weight
            for index in range(visited.n_children):
                if index % LOOK_EVERY == 0:
                    if limit < math.inf and taken() > limit:
                        raise _TooMuchError
                    if time.perf_counter() > deadline:
                        return totals, weighted, False
                child = rules.visit(visited.child(index))
                before, current = below.get(child.stratum, (0.0, child))
                total = before + weight
                # Replacing the kept node with probability proportional to weight makes the node a
                # sample of its stratum, which keeps the estimate unbiased.
                sampled = child if rng.random() * total < weight else current
                below[child.stratum] = total, sampled
        if time.perf_counter() > deadline or totals.max() > MOST_FOUND:
            return totals, weighted, False
        level = below
    raise GameError(f"a history has more than {DEEPEST:,} steps; does the game end?")


def _infosets(passes: list[Weighted]) -> tuple[float, float, float]:
    """Estimate the number of infosets from the labels of all passes, with a 95 % interval.

    A pass visits one node of each stratum.  Some infosets of a stratum are visited once and some
    twice; the number of unvisited ones is estimated from both counts (A. Chao, "Nonparametric
    estimation of the number of classes in a population", Scandinavian Journal of Statistics 11,
    1984; bias-corrected).  The estimate is a lower bound if infosets differ in size.  So the upper
    end is the number of nodes, unless few infosets were visited only once.

    Returns:
        The estimate, and the lower and the upper end of the interval.
    """
    nodes: dict[Stratum, float] = {}
    times: dict[Stratum, Counter[int]] = {}
    for weighted in passes:
        for stratum, (label, weight) in weighted.items():
            nodes[stratum] = nodes.get(stratum, 0.0) + weight / len(passes)
            times.setdefault(stratum, Counter())[label] += 1
    total = [0.0, 0.0, 0.0]
    for stratum, counts in times.items():
        drawn, seen, often = counts.total(), len(counts), Counter(counts.values())
        most = max(nodes[stratum], float(seen))
        once, twice = often[1], often[2]
        part = (drawn - 1) / drawn
        unseen = part * once * (once - 1) / (2 * (twice + 1))
        variance = (
            unseen
            + part**2 * once * (2 * once - 1) ** 2 / (4 * (twice + 1) ** 2)
            + part**2 * once**2 * twice * (once - 1) ** 2 / (4 * (twice + 1) ** 4)
        )
        estimated, width = seen + unseen, 1.96 * math.sqrt(variance)
        total[0] += min(estimated, most)
        total[1] += min(max(float(seen), estimated - width), most)
        total[2] += min(estimated + width, most) if once <= MAX_SINGLETONS * drawn else most
    # Infosets with nodes in several strata were counted once in each, so scale the sums by the
    # share of distinct ones.
    labels = {(stratum[1], label) for stratum, counts in times.items() for label in counts}
    share = len(labels) / max(1, sum(map(len, times.values())))
    return share * total[0], share * total[1], total[2]
