"""The size of a game of private hands, counted without unfolding its public tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._util.memory import Budget
from ..rules import Decision, Payoff, PublicTreeGame
from . import public_tree
from .public_checks import States, checked_prior
from .size import Size
from .tables import ChanceProducts


def size_of_public_states(rules: PublicTreeGame, name: str, own: Budget) -> Size:
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
                seen[weight] = int(alive.sum()), hands_held(alive)
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
        infosets_interval=(count.infosets, count.infosets),
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


def hands_held(alive: np.ndarray) -> list[int]:
    """How many hands of each player are in some deal."""
    axes = range(alive.ndim)
    return [int(alive.any(axis=tuple(a for a in axes if a != own)).sum()) for own in axes]
