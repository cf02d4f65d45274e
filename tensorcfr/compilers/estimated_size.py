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
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

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
NEW = 0.1
"""Share of the nodes of a stratum whose infoset was not met before, up to which the number of
infosets is told with an upper end of its own."""
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
    labels: list[Weighted] = []
    ended = True
    while len(found) < PASSES[1]:
        rng = Random(f"{seed} {len(found)}")
        totals, own, ended = _pass(rules, rng, begun + 5 * seconds, limit)
        found.append(totals)
        labels.append(own)
        if not ended:
            break
        # More passes say more about infosets, which no compile asks for.
        if len(found) >= PASSES[0] and (allowed is not None or isinstance(rules, PublicTree)):
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
    between = (infosets, infosets)
    if isinstance(rules, Histories):
        infosets, *rest = _infosets(labels)
        between = rest[0], rest[1] if ended else math.inf
        actions = actions * infosets / decisions if decisions else 0.0
    elif len(found) > 1:
        width = 1.96 * float(table[:, 4].std(ddof=1)) / math.sqrt(len(found))
        between = max(0.0, infosets - width), infosets + width
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
        infosets_interval=between,
    )


Stratum = tuple[int, int, int]
"""Depth, player, number of actions."""
Weighted = dict[Stratum, tuple[int, float]]
"""Of a pass, the infoset (a hash of its label) and the weight of each stratum of decisions."""


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
                weighted[depth, met.label[0], met.n_children] = met.label[1], weight
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


class _Infosets(NamedTuple):
    """How many infosets there are, from the labels that passes have met."""

    number: float
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end."""


def _infosets(passes: list[Weighted]) -> _Infosets:
    """The number of infosets.

    A pass meets one node of each stratum.  Of the infosets of a stratum some were met once, some
    twice, and the number of those that were not met is estimated from these (A. Chao,
    "Nonparametric estimation of the number of classes in a population", Scandinavian Journal of
    Statistics 11, 1984; bias-corrected).  It is a lower bound where infosets differ in size, so the
    upper end is the number of nodes unless nearly all that is met has been met before.
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
        found = seen + part * once * (once - 1) / (2 * (twice + 1))
        variance = (
            part * once * (once - 1) / (2 * (twice + 1))
            + part**2 * once * (2 * once - 1) ** 2 / (4 * (twice + 1) ** 2)
            + part**2 * once**2 * twice * (once - 1) ** 2 / (4 * (twice + 1) ** 4)
        )
        width = 1.96 * math.sqrt(variance)
        is_known = once <= NEW * drawn
        total[0] += min(found, most)
        total[1] += min(max(float(seen), found - width), most)
        total[2] += min(found + width, most) if is_known else most
    # Infosets with nodes in several strata were counted in each of them.
    labels = {(stratum[1], label) for stratum, counts in times.items() for label in counts}
    share = len(labels) / max(1, sum(map(len, times.values())))
    return _Infosets(share * total[0], share * total[1], total[2])
