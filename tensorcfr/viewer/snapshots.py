"""Solutions of a solve that is running, which the page can browse."""

from __future__ import annotations

import time

from .._util.memory_budget import free_memory
from ..model.locks import Locks
from ..solvers.loop import Progress
from ..solvers.solution import Solution, Status

FIRST = 0.4
"""Seconds until the first snapshot: most rivers are solved by then."""
PAUSE = 1.0
"""Least number of seconds between two snapshots."""
SHARE = 0.1
"""Largest share of the time that snapshots take."""


class Snapshots:
    """Snapshots of a running solve, so rarely that they hardly slow it.

    Args:
        locks: Locks of the solve.
    """

    def __init__(self, locks: Locks) -> None:
        self._locks = locks
        self._due = time.perf_counter() + FIRST
        self._iteration = 0

    def take(self, progress: Progress) -> Solution | None:
        """Return the solution so far, which cannot be continued; None if none is due.

        None is due if the memory for a copy of the strategies is missing.
        """
        begun = time.perf_counter()
        solver = progress.solver
        if solver is None or begun < self._due or progress.iteration == self._iteration:
            return None
        # The copy is one of the arrays of the state, and the previous snapshot may be in use.
        if 2 * sum(array.nbytes for array in solver.state) > free_memory():
            self._due = begun + PAUSE
            return None
        policy = progress.policy
        policy.detach()  # Requests read it in other threads while the solver continues.
        solution = Solution(
            game=solver.game,
            algorithm=solver.algorithm,
            status=Status.STOPPED,
            policy=policy,
            evaluation=progress.evaluate(),
            iterations=progress.iteration,
            seconds=progress.seconds,
            trace=progress.trace,
            locks=self._locks or None,
        )
        now = time.perf_counter()
        self._iteration = progress.iteration
        self._due = now + max(PAUSE, (now - begun) / SHARE)
        return solution
