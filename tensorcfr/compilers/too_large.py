"""Refuse games that are too large to be visited before memory is full: by depth, by probes.

A probe is one random play.  The product of the numbers of choices that it had, summed over its
steps, is in expectation the number of nodes of the tree (D. Knuth, "Estimating the efficiency of
backtrack programs", Mathematics of Computation 29, 1975), and it is never negative.  So by Markov's
inequality it is more than ``MARGIN`` times the true number with a probability of less than
``1 / MARGIN``.  So a tree is refused if its probes estimate ``MARGIN`` times as many nodes as fit
the memory.  Most probes underestimate; the memory of a walk is measured in any case.
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
"""Largest length of a history; a game with a longer one is refused as endless."""
PROBE_AT = 1_000
"""Number of visited nodes at which probes start; small enough for a game of one long history."""
PROBES = 16
SECONDS = 0.5
"""Longest time of the probes, in seconds."""
MARGIN = 1e6

Children = Callable[[Any, Any], tuple[int, Callable[[int], Any]]]
"""From a game and a state: the number of children, and a function from index to child."""


class Probe:
    """Estimates the size of a game early in its walk.

    Args:
        game: The rules.
        children: Returns the children of a state.
        budget: Memory budget of the compile.
        bytes_each: Least number of bytes per node.
        nodes: A word for the nodes in errors.
    """

    def __init__(
        self, game: Any, children: Children, budget: Budget, bytes_each: int, nodes: str
    ) -> None:
        self._game, self._children = game, children
        self._budget, self._bytes, self._nodes = budget, bytes_each, nodes
        self._probed = False

    def look(self, count: int) -> None:
        """Probe once, when the number of visited nodes is at least :data:`PROBE_AT`.

        Raises:
            MemoryLimitError: The game has too many nodes.
        """
        if self._probed or count < PROBE_AT:
            return
        self._probed = True
        most = self._budget.limit / self._bytes * MARGIN
        total, begun = 0.0, time.perf_counter()
        # Probe a copy: rules may depend on the order in which their states are visited.
        game = copy.copy(self._game) if hasattr(self._game, "__copy__") else self._game
        for number in range(PROBES):
            try:
                total += self._play(game, Random(number), most * PROBES - total, begun)
            except Exception:
                return  # The rules are broken; the walk will report the place.
            if total > most * PROBES:
                raise MemoryLimitError(
                    f"{self._budget.what} (more than {most / MARGIN:.0e} {self._nodes})",
                    int(total / PROBES / MARGIN * self._bytes),
                    self._budget.limit,
                )
            if time.perf_counter() - begun > SECONDS:
                return

    def _play(self, game: Any, rng: Random, enough: float, begun: float) -> float:
        """The estimate of one random play; the play ends once the estimate is large enough."""
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
    """Refuse a history that is too long.

    Raises:
        GameError: The history is too long; names it, shortened.
    """
    if depth > DEEPEST:
        begin = where()[:60]
        raise GameError(f"a history has more than {DEEPEST:,} steps, does the game end? {begin}...")
