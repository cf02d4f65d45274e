"""Solvers that run until a stop rule applies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

from .._util.argument_checks import checked
from ..model.game_arguments import CALLABLE
from .base import IterativeSolver
from .driver import run_solver
from .solver_arguments import CHECKPOINTS, Iterations, Nodes, Seconds, Target


class RunnableSolver(IterativeSolver):
    """Base of all solvers: the iterations of its base class, and the stop rules of the driver."""

    @checked()
    def run(
        self,
        iters: Iterations | None = None,
        *,
        target: Target | None = None,
        time_limit: Seconds | None = None,
        nodes: Nodes | None = None,
        checkpoints: Annotated[str | int | Iterable[int], CHECKPOINTS] = "geometric",
        progress: Annotated[Callable[[Any], object] | None, CALLABLE] = None,
    ) -> Any:
        """Iterate until a stop rule applies; the arguments are those of :func:`tensorcfr.solve`.

        The solver can continue afterwards, because the solution has copies of its arrays.

        Returns:
            The :class:`~tensorcfr.Solution`.

        Raises:
            ValueError: An argument is invalid; names it.
        """
        return run_solver(
            self,
            progress,
            iters=iters,
            target=target,
            time_limit=time_limit,
            nodes=nodes,
            checkpoints=checkpoints,
        )
