"""Solvers from requests."""

from __future__ import annotations

from typing import Any

from ..model.locks import locks_for
from .base import IterativeSolver
from .cluster_solver import ClusterSolver
from .kinds import solver_class
from .request import SolveRequest
from .warm_start import warm_state


def make_solver(request: SolveRequest) -> IterativeSolver:
    """The solver that a checked request asks for, where ``start`` ended if there is one.

    Raises:
        ValueError: The algorithm does not iterate, or the solver refuses an argument.
        MemoryLimitError: The arrays would not fit.
    """
    record, start = request.record, request.start
    kind = solver_class(record, request.game)
    if kind is None:
        raise ValueError(f"{record.name} does not iterate")
    options: dict[str, Any] = {"memory_limit": request.memory_limit}
    if start is not None:
        options |= {"state": start.state, "iteration": start.iterations}
    if request.cluster is not None:
        kind, options["cluster"] = ClusterSolver, request.cluster
    if request.state_dir is not None:
        options["state_dir"] = request.state_dir
    if record.is_sampled:
        options["seed"] = request.seed
    if record.passes_whole_game:
        options["threads"] = request.threads
        options["precision"] = request.precision or "float64"
        options["locks"] = request.locks
        if start is not None:
            options["precision"] = str(start.state.regret.dtype)
            options["locks"] = locks_for(request.game, start.locks) if start.locks else None
        elif request.warm_start is not None:
            options["state"] = warm_state(
                request.game,
                record,
                request.warm_start,
                iterations=request.warm_iterations,
                locks=request.locks,
                precision=options["precision"],
            )
    return kind(request.game, record, **options)
