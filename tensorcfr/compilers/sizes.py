"""How large a game is, told before it is compiled.

Games of private hands are counted exactly, without unfolding their public tree.  Trees of histories
are sampled: the estimator is that of P. C. Chen ("Heuristic sampling: a method for predicting the
performance of tree searching programs", SIAM Journal on Computing 21, 1992), which keeps one
history for each stratum (depth, who acts, number of actions) with the weight of all that it
represents.  With one stratum per depth and history it is D. Knuth's ("Estimating the efficiency of
backtrack programs", Mathematics of Computation 29, 1975).  Both are unbiased; independent passes
give the error.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np

from .._util.arguments import Limit, Number, Whole, checked
from .._util.memory import Budget, budget, free_memory, taken
from ..errors import GameError, MemoryLimitError, format_bytes
from ..formats.sources import find_rules
from ..model.arrays import CHANCE, TERMINAL
from ..rules import CardGame, Chance, Decision, Game, Payoff, PublicTreeGame
from . import histories, public_tree
from .public_checks import States, checked_prior
from .tables import ChanceProducts
from .too_large import DEEPEST

PASSES = (100, 400)
"""Passes of the estimator, at least and at most."""
PRECISE = 0.01
"""Relative standard error at which the estimator ends."""
REFUSED_ABOVE = 4.0
"""A game whose estimate needs so many times the limit is refused before it is walked..."""
REFUSED_ERROR = 0.25
"""... if the relative standard error of the estimate is at most this."""
ESTIMATE_SHARE = 0.04
"""Share of the limit that an estimate may take while a game is compiled."""
LOOK_EVERY = 8
"""States between two looks at the memory that an estimate has taken."""
ESTIMATED_FROM = 0.02
"""Share of the limit after which the whole game is estimated."""
TOLD_AFTER, TOLD_EVERY = 0.5, 0.1
"""Seconds after which a hook is told how far a walk is, and how often."""

# Measured on the built-in games; docs/large-games.md has the comparison.
BYTES_PER_STEP = 24
"""Bytes per terminal history where payoffs are single entries: two players, 12 each."""
BYTES_PER_PUBLIC_NODE = 20
BYTES_PER_INFOSET = 8
BYTES_PER_SEQUENCE = 4
BYTES_PER_LABEL = 100
BYTES_LAID_OUT = 230
"""Per public node, while a public tree is unfolded and laid out."""
SOLVER_BYTES = 51
"""Per sequence: five float64 arrays of CFR+, and a policy."""
NANOSECONDS_PER_SEQUENCE = 3.0
NANOSECONDS_PER_ENTRY = 4.0
NANOSECONDS_FIXED = 300.0


@dataclass(frozen=True)
class Size:
    """How large a game is.  Of numbers that are estimated, ``interval`` says how well."""

    name: str
    """The game."""
    n_players: int
    """Players."""
    histories: float
    """Histories: the root, chance nodes, decision nodes and terminals."""
    terminals: float
    """Terminal histories."""
    decisions: float
    """Decision nodes."""
    infosets: float
    """Infosets of all players.  Where histories are sampled, this is a rough number, within a
    factor of about two: it supposes that the infosets of a player and depth have equal sizes."""
    sequences: float
    """Sequences of all players, the empty ones included."""
    public_nodes: int | None
    """Nodes of the public tree; None where the rules give none."""
    passes: int
    """Passes of the estimator; 0 where all is counted."""
    relative_error: float
    """Standard error of ``histories``, divided by it; 0 where all is counted, infinite where one
    pass did not end in the time given."""

    @property
    def is_exact(self) -> bool:
        """Whether all is counted, and nothing estimated."""
        return self.passes == 0

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of ``histories``, by Student's t over the passes."""
        if self.is_exact:
            return self.histories, self.histories
        if not math.isfinite(self.relative_error):
            return self.histories, math.inf
        free = max(1, self.passes - 1)
        width = (1.96 + 2.37 / free + 2.8 / free**2) * self.relative_error * self.histories
        return max(1.0, self.histories - width), self.histories + width

    @property
    def bytes_compiled(self) -> tuple[float, float]:
        """Bytes of the compiled game, from and to: in games of private hands it depends on how many
        payoffs are products and how many are single entries."""
        if self.public_nodes is None:
            least = self.histories * 45 + self.sequences * 16
            return least, least + self.terminals * 12 * self.n_players * (self.n_players - 1)
        least = (
            self.public_nodes * BYTES_PER_PUBLIC_NODE
            + self.infosets * BYTES_PER_INFOSET
            + self.sequences * BYTES_PER_SEQUENCE
        )
        return least, least + self.terminals * BYTES_PER_STEP

    @property
    def bytes_compiling(self) -> float:
        """Bytes that compiling takes at least, the compiled game included."""
        if self.public_nodes is None:
            return self.histories * histories.BYTES_AFTER_WALK
        return self.public_nodes * BYTES_LAID_OUT + self.bytes_compiled[0]

    @property
    def bytes_solving(self) -> float:
        """Bytes that CFR+ takes in addition, at most: less where symmetric infosets are merged."""
        return self.sequences * SOLVER_BYTES

    @property
    def seconds_per_iteration(self) -> tuple[float, float]:
        """Seconds of one iteration of CFR+ on one core of 2020 or later, from and to."""
        sweep = NANOSECONDS_FIXED + NANOSECONDS_PER_SEQUENCE * self.sequences
        entries = NANOSECONDS_PER_ENTRY * self.terminals * self.n_players * (self.n_players - 1)
        if self.public_nodes is None:
            return (0.5 * (sweep + entries) * 1e-9, 2 * (sweep + entries) * 1e-9)
        return 0.5 * sweep * 1e-9, 2 * (sweep + entries) * 1e-9

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON; infinite numbers as None."""

        def plain(value: Any) -> Any:
            if isinstance(value, tuple):
                return [plain(one) for one in value]
            return None if isinstance(value, float) and not math.isfinite(value) else value

        return {
            name: plain(getattr(self, name))
            for name in (
                "name",
                "n_players",
                "is_exact",
                "histories",
                "interval",
                "relative_error",
                "passes",
                "terminals",
                "decisions",
                "infosets",
                "sequences",
                "public_nodes",
                "bytes_compiling",
                "bytes_compiled",
                "bytes_solving",
                "seconds_per_iteration",
            )
        }

    def __str__(self) -> str:
        def number(value: float) -> str:
            return f"{value:,.0f}" if self.is_exact else f"about {_three_digits(value)}"

        exact = "counted exactly" if self.is_exact else f"estimated from {self.passes:,} passes"
        lines = [f"{self.name}: {self.n_players} players, {exact}"]
        if self.is_exact:
            lines.append(f"  {number(self.histories)} histories")
        elif not math.isfinite(self.relative_error):
            lines.append(f"  more than {_three_digits(self.histories)} histories")
        else:
            low, high = map(_three_digits, self.interval)
            lines.append(f"  {number(self.histories)} histories (95 %: {low} to {high})")
        if self.public_nodes is not None:
            lines.append(f"  {self.public_nodes:,} nodes in the public tree")
        rough = "" if self.is_exact else f" (roughly; at most {_three_digits(self.decisions)})"
        lines.append(
            f"  {number(self.infosets)} infosets{rough}, {number(self.sequences)} sequences"
        )
        low_bytes, high_bytes = (format_bytes(int(b)) for b in self.bytes_compiled)
        lines += [
            f"  compiling takes about {format_bytes(int(self.bytes_compiling))}; "
            f"compiled {low_bytes} to {high_bytes}",
            f"  solving by CFR+ takes at most {format_bytes(int(self.bytes_solving))} more, and "
            f"{_seconds(self.seconds_per_iteration[0])} to "
            f"{_seconds(self.seconds_per_iteration[1])} per iteration",
        ]
        return "\n".join(lines)


@checked()
def game_size(
    source: str | Path | Game | PublicTreeGame | CardGame | Any,
    *,
    seconds: Annotated[float, Number(above=0, finite=True, counts="seconds")] = 2.0,
    seed: Annotated[int, Whole(0)] = 0,
    memory_limit: Limit = None,
    **parameters: Any,
) -> Size:
    """How large a game is, without compiling it.

    >>> game_size("leduc").infosets
    936

    Args:
        source: As for :func:`tensorcfr.compile_game`.
        seconds: How long the estimator may take where histories are sampled.
        seed: Of the estimator.
        memory_limit: Bytes that reading the rules may take; by default the free memory.
        parameters: Parameters of a built-in game.

    Raises:
        GameError: As for :func:`tensorcfr.compile_game`.
        MissingExtraError: Likewise.
        OSError: A file cannot be read.
    """
    limit = free_memory() if memory_limit is None else memory_limit
    name, rules = find_rules(source, **parameters)
    if isinstance(rules, CardGame):
        from .card_size import card_size

        return card_size(rules, name)
    if isinstance(rules, PublicTreeGame):
        with budget(f"reading {name}", limit) as own:
            try:
                return _of_public_states(rules, name, own)
            except MemoryLimitError:
                pass
        return estimate(_PublicTree(rules), name, seconds=seconds, seed=seed)
    return estimate(_Histories(rules), name, seconds=seconds, seed=seed)


@dataclass(frozen=True)
class CompileProgress:
    """What a progress hook of :func:`tensorcfr.compile_game` is told while rules are read."""

    name: str
    """The game."""
    done: int
    """Histories, or public states, read so far."""
    expected: float | None
    """About how many there are; None where nobody has estimated that."""
    seconds: float
    """Since the compile began."""


class Watch:
    """Looks at a game of histories while it is walked: tells how far it is, refuses what cannot
    fit.

    Args:
        rules: The game.
        name: Its name.
        own: The budget of the compile.
        progress: The hook, if any.
    """

    def __init__(
        self,
        rules: Game | PublicTreeGame,
        name: str,
        own: Budget,
        progress: Callable[[CompileProgress], object] | None,
    ) -> None:
        self.rules, self.name, self.own, self.progress = rules, name, own, progress
        self.begun = self.told = time.monotonic()
        self.size: Size | None = None
        self.is_estimated = isinstance(rules, PublicTreeGame)

    def __call__(self, count: int, coming: int) -> None:
        """Look; ``coming`` bytes are needed for the ``count`` histories so far."""
        now = time.monotonic()
        large = coming > self.own.limit * ESTIMATED_FROM
        slow = self.progress is not None and now - self.begun > TOLD_AFTER
        if not self.is_estimated and (large or slow):
            self.size = self.estimate(0.5)
            needed = self.size.bytes_compiling if self.size else 0
            if needed > REFUSED_ABOVE * self.own.limit:
                assert self.size is not None
                raise self.too_large(self.size)
        if self.progress is not None and now - self.told > TOLD_EVERY:
            self.told = now
            expected = max(self.size.histories, count) if self.size else None
            self.progress(CompileProgress(self.name, count, expected, now - self.begun))

    def explain(self, error: MemoryLimitError) -> MemoryLimitError:
        """A better error for a walk that ended at its limit: how much the whole game needs."""
        if error.about or isinstance(self.rules, PublicTreeGame):
            return error
        error.__traceback__ = None  # Its frames hold what has been walked.
        size = self.estimate(2.0)
        return (
            error if size is None or size.bytes_compiling <= error.needed else self.too_large(size)
        )

    def too_large(self, size: Size) -> MemoryLimitError:
        """The error that says about how much memory a game needs."""
        what = f"{self.own.what} (about {_three_digits(size.histories)} histories)"
        return MemoryLimitError(what, int(size.bytes_compiling), self.own.limit, about=True)

    def estimate(self, seconds: float) -> Size | None:
        """An estimate that can be relied upon; None where there is none."""
        self.is_estimated = True
        assert isinstance(self.rules, Game)
        allowed = int(ESTIMATE_SHARE * self.own.limit)
        size = _estimate_quietly(self.rules, self.name, seconds=seconds, allowed=allowed)
        return size if size is not None and size.relative_error <= REFUSED_ERROR else None


class _TooMuchError(Exception):
    """An estimate has taken more memory than it may."""


def _estimate_quietly(rules: Game, name: str, *, seconds: float, allowed: int) -> Size | None:
    """An estimate; None where the rules do not let themselves be sampled, or take much memory.

    Rules that remember the states that they have met must not meet any out of turn.
    """
    game = copy.copy(rules) if hasattr(rules, "__copy__") else rules
    try:
        return estimate(_Histories(game), name, seconds=seconds, seed=0, allowed=allowed)
    except Exception:
        return None  # The rules are broken, and the walk says where.


# ---------------------------------------------------------------------------------- counted


def _of_public_states(rules: PublicTreeGame, name: str, own: Budget) -> Size:
    """The size of a game of private hands, level by level over its distinct public states."""
    prior = checked_prior(rules)
    states = public_tree.walk_states(rules, own)
    tables = public_tree.read_tables(rules, states, prior)
    weights = ChanceProducts(prior.shape, tables.chance_table)
    dealt = prior > 0
    count = _Counts(rules.n_players)
    level: dict[tuple[int, int], int] = {(0, 0): 1}
    seen: dict[int, tuple[int, list[int]]] = {}
    while level:
        below: dict[tuple[int, int], int] = {}
        for (state, weight), times in level.items():
            if weight not in seen:
                alive = dealt & (weights.table[weight] > 0)
                seen[weight] = int(alive.sum()), _held(alive)
            deals, held = seen[weight]
            count.add(states, state, times, deals, held)
            chances = tables.chance[state] or [-1] * len(states.children[state])
            after = weights.after(np.full(len(chances), weight), np.array(chances, dtype=np.int64))
            for child, row in zip(states.children[state], after.tolist(), strict=True):
                key = child, row
                below[key] = below.get(key, 0) + times
        level = below
    hands = np.argwhere(dealt)
    dealing = sum(len(np.unique(hands[:, :player], axis=0)) for player in range(rules.n_players))
    return Size(
        name=name,
        n_players=rules.n_players,
        histories=count.histories + dealing,
        terminals=count.terminals,
        decisions=count.decisions,
        infosets=count.infosets,
        sequences=count.sequences,
        public_nodes=count.nodes if rules.n_players == 2 else None,
        passes=0,
        relative_error=0.0,
    )


@dataclass
class _Counts:
    """Totals over public nodes."""

    players: int
    nodes: int = 0
    histories: int = 0
    terminals: int = 0
    decisions: int = 0
    infosets: int = 0
    actions: int = 0

    @property
    def sequences(self) -> int:
        return self.actions + self.players

    def add(self, states: States, state: int, times: int, deals: int, held: list[int]) -> None:
        """Add some public nodes of one state, to which so many deals and hands get."""
        node = states.nodes[state]
        self.nodes += times
        self.histories += times * deals
        if isinstance(node, Payoff):
            self.terminals += times * deals
        elif isinstance(node, Decision):
            self.decisions += times * deals
            self.infosets += times * held[node.player]
            self.actions += times * held[node.player] * len(node.actions)


def _held(alive: np.ndarray) -> list[int]:
    """How many hands of each player are in some deal."""
    axes = range(alive.ndim)
    return [int(alive.any(axis=tuple(a for a in axes if a != own)).sum()) for own in axes]


# ---------------------------------------------------------------------------------- estimated


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


class _Histories:
    """A game history by history."""

    def __init__(self, rules: Game) -> None:
        self.rules = rules
        self.n_players = int(rules.n_players)
        self.is_public = False

    def root(self) -> Any:
        return self.rules.root()

    def meet(self, state: Any) -> _Met:
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


class _PublicTree:
    """A game of private hands, public node by public node, with the deals that get there."""

    def __init__(self, rules: PublicTreeGame) -> None:
        self.rules = rules
        self.n_players = rules.n_players
        self.is_public = rules.n_players == 2
        self.dealt = checked_prior(rules) > 0

    def root(self) -> Any:
        return self.rules.root(), self.dealt

    def meet(self, state: Any) -> _Met:
        at, alive = state
        node = self.rules.node(at)
        deals = float(alive.sum())
        following = self.rules.next
        if isinstance(node, Decision):
            held = _held(alive)[node.player]
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
    rules: _Histories | _PublicTree,
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
    if isinstance(rules, _Histories):
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
    rules: _Histories | _PublicTree, rng: Random, deadline: float, limit: int | None
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


def _three_digits(value: float) -> str:
    if not math.isfinite(value):
        return "any number of"
    if value < 1e6:
        return f"{value:,.0f}"
    for power, unit in ((1e12, ""), (1e9, " billion"), (1e6, " million")):
        if value >= power:
            return f"{value:.2g}" if not unit else f"{value / power:.3g}{unit}"
    return f"{value:,.0f}"


def _seconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            scaled = seconds / size
            return f"{scaled:,.0f} {unit}" if scaled >= 10 else f"{scaled:.2g} {unit}"
    return f"{seconds * 1e6:.2g} us"


__all__ = ["CompileProgress", "Size", "Watch", "estimate", "game_size"]
