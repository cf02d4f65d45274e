"""Slow twins of local rules that remember or exponentiate."""

from __future__ import annotations

import numpy as np
import pytest

from support.products import naive_product
from support.tiers import tiered
from tensorcfr import Algorithm, CompiledGame, LocalRule, Solver
from tensorcfr.algorithms import CFR, HEDGE


def remembering(regret, instant, last, parameters):  # type: ignore[no-untyped-def]
    regret = max(regret + instant, 0.0)
    return regret, regret + last, instant


REMEMBERING = Algorithm(
    "remembering",
    LocalRule("remembering", remembering, memory=("last",)),
    formula="",
    source="",
    average_power=2.0,
)


class Twin:
    """One player after the other, infoset by infoset, with plain NumPy on rows of actions."""

    def __init__(self, game: CompiledGame) -> None:
        self.game = game
        start = Solver(game, CFR).state
        self.regret, self.strategy = start.regret.copy(), start.strategy.copy()
        self.reach, self.memory = start.reach.copy(), np.zeros(game.n_sequences)
        self.t = 0

    def iterate(self) -> None:
        """One alternating iteration."""
        self.t += 1
        for player in range(self.game.n_players):
            self.update(player, naive_product(self.game, player, self.reach))
            for infoset in self.infosets(player):
                own, above = self.game.sequences(infoset), self.game.form.infoset_parent[infoset]
                self.reach[own] = self.reach[above] * self.strategy[own]

    def infosets(self, player: int) -> range:
        first, end = self.game.form.player_infosets[player : player + 2]
        return range(first, end)

    def update(self, player: int, g: np.ndarray) -> None:
        """Regrets and strategy of one player, from the deepest infoset up."""
        q = g.copy()
        for infoset in reversed(self.infosets(player)):
            own, above = self.game.sequences(infoset), self.game.form.infoset_parent[infoset]
            sigma = self.strategy[own].copy()
            v = float(sigma @ q[own])
            instant = without_rounding(q[own] - v, q[own])
            self.strategy[own] = self.respond(own, instant)
            q[above] += v

    def respond(self, own: slice, instant: np.ndarray) -> np.ndarray:
        raise NotImplementedError


def without_rounding(regret: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Regrets that are no more than the rounding of the values are 0."""
    return np.where(np.abs(regret) <= 2.0**-48 * np.abs(values).max(), 0.0, regret)


def matched(preference: np.ndarray) -> np.ndarray:
    """Regret matching."""
    positive = np.maximum(preference, 0.0)
    total = positive.sum()
    return positive / total if total > 0 else np.full(len(positive), 1 / len(positive))


class RememberingTwin(Twin):
    def respond(self, own, instant):  # type: ignore[no-untyped-def]
        self.regret[own] = np.maximum(self.regret[own] + instant, 0.0)
        preference = self.regret[own] + self.memory[own]
        self.memory[own] = instant
        return matched(preference)


class HedgeTwin(Twin):
    """Freund and Schapire 1999, step size 3 / sqrt(t)."""

    def respond(self, own, instant):  # type: ignore[no-untyped-def]
        self.regret[own] += instant
        weight = np.exp(3.0 / np.sqrt(self.t) * self.regret[own])
        return weight / weight.sum()


TWINS = [
    (REMEMBERING, RememberingTwin),
    (HEDGE(eta=3), HedgeTwin),
]
NAMES = ["memory", "hedge"]
each_twin = pytest.mark.parametrize(("algorithm", "twin"), TWINS, ids=NAMES)
hedge_first = pytest.mark.parametrize(
    ("algorithm", "twin"), tiered(TWINS, TWINS[1:2], quick_as_python=True), ids=NAMES
)
"""For options of which each has its kernels compiled: one twin in the fast tier."""
