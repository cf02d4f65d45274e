"""CFR as a plain recursion over histories, with one switch for each usual mistake.

:func:`tensorcfr.analysis.diagnose` runs these loops next to the numbers of another program.  They
are slow and share no code with the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import NamedTuple

import numpy as np

from ..model.arrays import CHANCE, TERMINAL
from ..model.flat_game import FlatGame

WEIGHTS = ("1", "t", "t^2", "1 from iteration 2 on", "t - 1", "(t - 1)^2")
"""Averaging weights of iteration ``t`` that every loop sums at the same time."""
REACHES = ("own", "others", "none", "all", "unreached", "reached", "first player", "never")
"""Weights of a strategy in the average.

``"own"`` is the player's reach, ``"others"`` the product of the other players' reaches, ``"none"``
the number 1, and ``"all"`` the product of all reaches and chance.  ``"unreached"`` and
``"reached"`` are the player's reach where the others' reach is 0 or positive, and ``"first
player"`` is the reach of player 0 only.
"""
SUMMED = 6
"""Number of :data:`REACHES` that a loop sums; the last two follow from the first."""


@dataclass(frozen=True)
class LoopSettings:
    """One way to write CFR.  The defaults, with any rule and order, are CFR as published."""

    rule: str = "cfr"
    """``"cfr"``, ``"cfr+"``, ``"lcfr"``, ``"dcfr"``; or a mistake: ``"overwritten"`` keeps only the
    regrets of the last iteration, ``"positive"`` adds only positive ones."""
    alternating: bool = False
    """True if players are updated one after the other; False for all in one pass."""
    at_once: bool = False
    """True if each history adds its regrets immediately, and later histories use them."""
    each_history: bool = False
    """True if the floor or the discount is applied at each history, not once per infoset."""
    regret_reach: str = "others"
    """Reach that weights regrets: ``"others"``, ``"own"``, ``"none"`` or ``"all"``."""
    lags: bool = False
    """True if the next strategy is read before the regrets of the iteration are added."""
    chance_in_reach: int = 1
    """Number of times that chance probabilities are in the reach."""
    chance_in_value: int = 1
    """Number of times that chance probabilities are in the values."""
    payoffs: str = "right"
    """Payoffs of terminals; a name of :func:`payoff_tables`."""


class Averages(NamedTuple):
    """Position of an average in :meth:`PlainLoop.averages`."""

    passes: int
    """Passes in which a player's strategies are summed: 0 the player's, 1 the others', 2 both."""
    weight: int
    """Index in :data:`WEIGHTS`."""
    reach: int
    """Index in :data:`REACHES`."""


AVERAGES_SHAPE = 3, len(WEIGHTS), len(REACHES)
"""Numbers of passes, weights and reaches in :meth:`PlainLoop.averages`."""


class LoopTree:
    """The history tree as lists; infosets are numbered as in the game."""

    def __init__(self, game: FlatGame) -> None:
        tree = game.tree
        self.game = game
        self.player = tree.player.tolist()
        self.infoset = tree.infoset.tolist()
        self.probability = tree.probability.tolist()
        bounds = tree.first_child.tolist()
        self.children = [range(*bounds[node : node + 2]) for node in range(tree.n_nodes)]
        self.sizes = list(map(len, game.infoset_actions))
        self.starts = np.append(0, np.cumsum(self.sizes)).astype(np.int64)
        self.slices = [slice(*self.starts[i : i + 2].tolist()) for i in range(len(self.sizes))]
        self.owner = np.repeat(np.asarray(game.infoset_player), self.sizes)
        """int64 (numbers,): player of each number."""
        visited, first = np.unique(tree.infoset[tree.player >= 0], return_index=True)
        self.order = visited[np.argsort(first)].tolist()
        """Infosets in the order of their first histories."""
        self.payoffs = payoff_tables(self)

    def normalise(self, sums: np.ndarray) -> np.ndarray:
        """Divide sums by their total over the actions of each infoset, float64 (..., numbers).

        Infosets without a positive sum become uniform.
        """
        totals = np.add.reduceat(sums, self.starts[:-1], axis=-1)
        totals, uniform = (
            np.repeat(x, self.sizes, axis=-1) for x in (totals, 1 / np.array(self.sizes))
        )
        return np.where(totals > 0, sums / np.where(totals > 0, totals, 1.0), uniform)


class PlainLoop:
    """The recursion of one setting.

    Args:
        tree: The tree.
        settings: The switches.
    """

    def __init__(self, tree: LoopTree, settings: LoopSettings) -> None:
        self.tree, self.settings = tree, settings
        self.iteration = 0
        self.regret = [[0.0] * size for size in tree.sizes]
        self.strategy = [[1 / size] * size for size in tree.sizes]
        self._sums = np.zeros((2, len(WEIGHTS), SUMMED, int(tree.starts[-1])))
        self._payoff = tree.payoffs[settings.payoffs]
        players = range(tree.game.n_players)
        self._passes = (
            [(player,) for player in players] if settings.alternating else [tuple(players)]
        )
        self._updated: tuple[int, ...] = ()

    def iterate(self) -> None:
        """Run one iteration."""
        self.iteration += 1
        t = float(self.iteration)
        weights = np.array([1.0, t, t * t, float(t > 1), t - 1, (t - 1) ** 2])[:, None, None]
        for updated in self._passes:
            self._updated = updated
            self._instant = [[0.0] * size for size in self.tree.sizes]
            self._weights = [[0.0] * SUMMED for _ in self.tree.sizes]
            self._increments = np.zeros((SUMMED, len(self.tree.owner)))
            self._visit(0, [1.0] * self.tree.game.n_players, 1.0)
            reaches = np.repeat(np.array(self._weights).T, self.tree.sizes, axis=1)
            increments = self._increments + reaches * self.numbers(self.strategy)
            self._finish_pass()
            is_updated = np.isin(self.tree.owner, self._updated)
            self._sums[0] += weights * np.where(is_updated, increments, 0.0)
            self._sums[1] += weights * np.where(is_updated, 0.0, increments)

    def numbers(self, lists: Sequence[Sequence[float]]) -> np.ndarray:
        """Return numbers of all infosets as one array, float64 (numbers,)."""
        return np.array([number for row in lists for number in row])

    def averages(self) -> np.ndarray:
        """Return all average strategies, float64 (passes, weights, reaches, numbers)."""
        sums = np.concatenate([self._sums, self._sums.sum(axis=0, keepdims=True)])
        first_player = np.where(self.tree.owner == 0, sums[:, :, :1], 0.0)
        sums = np.concatenate([sums, first_player, np.zeros_like(first_player)], axis=2)
        return self.tree.normalise(sums)

    def _visit(self, node: int, reach: list[float], chance: float) -> Sequence[float]:
        """Return the value of a history to each player, and collect regrets on the way."""
        tree, settings = self.tree, self.settings
        player, children = tree.player[node], tree.children[node]
        players = range(len(reach))
        if player == TERMINAL:
            return self._payoff[node]
        if player == CHANCE:
            total = [0.0] * len(reach)
            for child in children:
                p = tree.probability[child]
                value = self._visit(child, reach, chance * p**settings.chance_in_reach)
                for i in players:
                    total[i] += p**settings.chance_in_value * value[i]
            return total
        infoset = tree.infoset[node]
        if settings.at_once:
            self.strategy[infoset] = match_regrets(self.regret[infoset])
        strategy = self.strategy[infoset]
        own_reach, others = reach[player], 1.0
        for i in players:
            others *= 1.0 if i == player else reach[i]
        weights = (
            own_reach,
            others,
            1.0,
            own_reach * others * chance,
            own_reach * (others == 0),
            own_reach * (others > 0),
        )
        if settings.at_once:  # The next history of the infoset may have another strategy.
            self._increments[:, tree.slices[infoset]] += np.outer(weights, strategy)
        else:
            self._weights[infoset] = list(map(add, self._weights[infoset], weights))
        values = []
        for child, probability in zip(children, strategy, strict=True):
            next_reach = list(reach)
            next_reach[player] *= probability
            values.append(self._visit(child, next_reach, chance))
        mean = [sum(p * v[i] for p, v in zip(strategy, values, strict=True)) for i in players]
        if player in self._updated:
            weight = {
                "others": others * chance,
                "own": own_reach,
                "none": 1.0,
                "all": own_reach * others * chance,
            }[settings.regret_reach]
            self._add(infoset, [weight * (value[player] - mean[player]) for value in values])
        return mean

    def _add(self, infoset: int, instant: list[float]) -> None:
        """Add the regrets of one history."""
        if self.settings.each_history:
            self.regret[infoset] = self._apply_rule(self.regret[infoset], instant)
        else:
            sums = self.regret if self.settings.at_once else self._instant
            sums[infoset] = [old + new for old, new in zip(sums[infoset], instant, strict=True)]

    def _finish_pass(self) -> None:
        """Update regrets and strategies of the players of the pass."""
        settings = self.settings
        for infoset, owner in enumerate(self.tree.game.infoset_player):
            if owner not in self._updated:
                continue
            before = self.regret[infoset]
            if not settings.each_history:
                self.regret[infoset] = self._apply_rule(before, self._instant[infoset])
            self.strategy[infoset] = match_regrets(
                before if settings.lags else self.regret[infoset]
            )

    def _apply_rule(self, regret: list[float], instant: list[float]) -> list[float]:
        """Return the new cumulative regrets of an infoset."""
        pairs = list(zip(regret, instant, strict=True))
        last = self.iteration - 1
        match self.settings.rule:
            case "cfr+":
                return [max(old + new, 0.0) for old, new in pairs]
            case "lcfr":
                return [old * last / (last + 1) + new for old, new in pairs]
            case "dcfr":
                positive = last**1.5 / (last**1.5 + 1)
                return [old * (positive if old > 0 else 0.5) + new for old, new in pairs]
            case "overwritten":
                return instant
            case "positive":
                return [old + max(new, 0.0) for old, new in pairs]
        return [old + new for old, new in pairs]


def match_regrets(regret: Sequence[float]) -> list[float]:
    """Return probabilities in proportion to positive regrets; uniform ones if there are none."""
    positive = [max(number, 0.0) for number in regret]
    total = sum(positive)
    return [n / total if total > 0 else 1 / len(positive) for n in positive]


def payoff_tables(tree: LoopTree) -> dict[str, dict[int, list[float]]]:
    """Compute the payoffs of terminals, right and with usual mistakes.

    Returns:
        For each name, the utilities of all players by terminal.  ``"right"`` has the game's.
        In ``"grown ..."`` the pot of an action contains the chips of the actions before it, in the
        order of the actions or in reverse; the pot is paid at showdowns or at all terminals.  In
        ``"negated ..."`` showdowns after an odd or even number of actions pay the wrong player.
    """
    game = tree.game
    utilities = (game.tree.utility * game.unit).tolist()
    right = dict(zip(game.tree.terminal.tolist(), utilities, strict=True))
    lines: list[tuple[int, ...]] = [()]
    """Actions on the way to each history, without chance."""
    for node in range(1, len(tree.player)):
        parent = int(game.tree.parent[node])
        action = (node - tree.children[parent].start,) if tree.player[parent] >= 0 else ()
        lines.append(lines[parent] + action)
    chips = _chips_paid(lines, right, game.n_players)
    stakes: dict[tuple[int, ...], set[tuple[float, ...]]] = {}
    for node, utility in right.items():
        stakes.setdefault(lines[node], set()).add(tuple(utility))
    showdowns = {line for line, payoffs in stakes.items() if len(payoffs) > 1}
    tables = {"right": right}
    for parity, name in enumerate(("even", "odd")):
        tables[f"negated {name}"] = {
            node: [-u for u in utility]
            if lines[node] in showdowns and len(lines[node]) % 2 == parity
            else utility
            for node, utility in right.items()
        }
    for order, step in (("forward", 1), ("reverse", -1)):
        extra: list[float] = [0.0] * len(lines)
        for node, children in enumerate(tree.children):
            player, surplus = tree.player[node], 0.0
            for child in children[::step]:
                extra[child] = extra[node] + surplus
                if player >= 0:
                    surplus += chips[lines[child]][player] - chips[lines[node]][player]
        for places in ("showdowns", "terminals"):
            tables[f"grown {order} {places}"] = {
                node: [u + extra[node] / 2 * ((u > 0) - (u < 0)) for u in utility]
                if places == "terminals" or lines[node] in showdowns
                else utility
                for node, utility in right.items()
            }
    return tables


def _chips_paid(
    lines: Sequence[tuple[int, ...]], payoffs: dict[int, list[float]], n_players: int
) -> dict[tuple[int, ...], list[float]]:
    """Return the chips of each player in the pot after each line of actions.

    A player who gives up at once loses these chips, so they are the smallest loss below the line.
    """
    smallest: dict[tuple[int, ...], list[float]] = {}
    for node, utility in payoffs.items():
        for length in range(len(lines[node]) + 1):
            row = smallest.setdefault(lines[node][:length], [np.inf] * n_players)
            for player, amount in enumerate(utility):
                if amount < 0:
                    row[player] = min(row[player], -amount)
    # A player who never loses below a line has paid as much as before it.
    for line in sorted(smallest, key=len):
        before = smallest[line[:-1]] if line else [0.0] * n_players
        pairs = zip(smallest[line], before, strict=True)
        smallest[line] = [old if paid == np.inf else paid for paid, old in pairs]
    return smallest


CORRECT = [
    LoopSettings(rule, alternating)
    for rule in ("cfr", "cfr+", "lcfr", "dcfr")
    for alternating in (False, True)
]
"""The loops without a mistake."""


def mistaken_loops() -> list[tuple[str, LoopSettings]]:
    """Return the loops with one mistake each, by the name of the mistake."""
    plain = [settings for settings in CORRECT if settings.rule in ("cfr", "cfr+")]
    loops = [("used at once", replace(base, at_once=True)) for base in plain]
    for base in CORRECT:
        if base.rule != "cfr":
            rule = "floor" if base.rule == "cfr+" else "discount"
            loops += [
                (f"{rule} at each history", replace(base, each_history=True)),
                (
                    f"{rule} at each history, used at once",
                    replace(base, each_history=True, at_once=True),
                ),
            ]
    for base in plain:
        loops.append(("strategy read too early", replace(base, lags=True)))
        for reach, name in (("none", "no reach"), ("own", "own reach"), ("all", "all reaches")):
            loops.append((f"regrets by {name}", replace(base, regret_reach=reach)))
        for in_reach, in_value in ((0, 1), (1, 0), (0, 0), (1, 2), (2, 1), (2, 2)):
            name = "chance missing" if min(in_reach, in_value) == 0 else "chance twice"
            counted = replace(base, chance_in_reach=in_reach, chance_in_value=in_value)
            loops.append((name, counted))
        for order in ("forward", "reverse"):
            for places in ("showdowns", "terminals"):
                loops.append(("growing pot", replace(base, payoffs=f"grown {order} {places}")))
        for parity in ("odd", "even"):
            loops.append(("wrong winner", replace(base, payoffs=f"negated {parity}")))
        if base.rule == "cfr":
            loops.append(("regrets overwritten", replace(base, rule="overwritten")))
            dropped = replace(base, rule="positive")
            loops += [
                ("negative regrets dropped", replace(dropped, each_history=each))
                for each in (False, True)
            ]
    return loops
