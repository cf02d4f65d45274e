"""Games that are too large to be walked, told before memory is full: by their depth, by probes.

A probe is one random play.  The product of the numbers of choices that it had, summed over its
steps, is in expectation the number of nodes of the tree (D. Knuth, "Estimating the efficiency of
backtrack programs", Mathematics of Computation 29, 1975), and it is never negative.  So by Markov's
inequality it is more than ``MARGIN`` times the true number with a probability of less than
``1 / MARGIN``: a tree whose probes say ``MARGIN`` times what memory holds is too large for it.
Probes mostly say too little, never too much in that sense; what they let pass is measured.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from random import Random
from typing import Any

from .._util.memory import Budget
from ..errors import GameError, MemoryLimitError

DEEPEST = 10_000
"""Steps of a history, at most; a game with more of them is taken for one that never ends."""
PROBE_AT = 1_000
"""Nodes after which a walk is probed: few enough for a game that only goes down."""
PROBES = 16
SECONDS = 0.5
"""How long the probes take, at most."""
MARGIN = 1e6

Children = Callable[[Any, Any], tuple[int, Callable[[int], Any]]]
"""For a game and a state, how many follow it, and what makes the one with an index."""


class Probe:
    """Looks at the size of a game once, early in its walk.

    Args:
        game: The rules.
        children: What follows a state of the game.
        budget: What the compile may take.
        bytes_each: Bytes per node, at least.
        nodes: What the nodes are called.
    """

    def __init__(
        self, game: Any, children: Children, budget: Budget, bytes_each: int, nodes: str
    ) -> None:
        self._game, self._children = game, children
        self._budget, self._bytes, self._nodes = budget, bytes_each, nodes
        self._probed = False

    def look(self, count: int) -> None:
        """Probe, if so many nodes have been met for the first time.

        Raises:
            MemoryLimitError: The game has too many nodes.
        """
        if self._probed or count < PROBE_AT:
            return
        self._probed = True
        most = self._budget.limit / self._bytes * MARGIN
        total, begun = 0.0, time.perf_counter()
        # Rules that remember whom they met first must not meet anybody out of turn.
        game = copy.copy(self._game) if hasattr(self._game, "__copy__") else self._game
        for number in range(PROBES):
            try:
                total += self._play(game, Random(number), most * PROBES - total, begun)
            except Exception:
                return  # The rules are broken, and the walk says where.
            if total > most * PROBES:
                raise MemoryLimitError(
                    f"{self._budget.what} (more than {most / MARGIN:.0e} {self._nodes})",
                    int(total / PROBES / MARGIN * self._bytes),
                    self._budget.limit,
                )
            if time.perf_counter() - begun > SECONDS:
                return

    def _play(self, game: Any, rng: Random, enough: float, begun: float) -> float:
        """The estimate of one random play, which ends where it is enough."""
        state, product, total = game.root(), 1.0, 1.0
        for _ in range(DEEPEST):
            count, child = self._children(game, state)
            if not count:
                break
            product *= count
            total += product
            if total > enough or time.perf_counter() - begun > SECONDS:
                break
            state = child(rng.randrange(count))
        return total


def check_depth(depth: int, where: Callable[[], str]) -> None:
    """Refuse a history that goes on and on.

    Raises:
        GameError: It does; names the history, shortened.
    """
    if depth > DEEPEST:
        begin = where()[:60]
        raise GameError(f"a history has more than {DEEPEST:,} steps, does the game end? {begin}...")
