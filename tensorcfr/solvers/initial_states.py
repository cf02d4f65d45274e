"""Beginnings of a solve: a finished solution, or a solver in the state from which it iterates."""

from __future__ import annotations

import time
from typing import Any

from ..evaluation import evaluate
from ..model.game_arguments import require_flat
from ..model.layout import Layout
from .base import IterativeSolver, solver_class, solver_for
from .choose import resolve_precision, resolve_threads
from .request import SolveRequest
from .solution import Solution, Status
from .warm_start import warm_state


def exact_solution(request: SolveRequest) -> Solution:
    """Solve by the linear program, or in fractions if the request asks for a proof."""
    from ..evaluation.exact import exact_equilibrium
    from ..evaluation.linear_program import equilibrium

    started, exact = time.perf_counter(), None
    if request.wants_proof:
        exact = exact_equilibrium(request.game, memory_limit=request.memory_limit)
        policy = exact.policy
        evaluation = evaluate(request.game, policy)
    else:
        policy, evaluation = equilibrium(request.game, memory_limit=request.memory_limit)
    return Solution(
        game=request.game,
        algorithm=request.record,
        status=Status.EXACT,
        policy=policy,
        evaluation=evaluation,
        iterations=0,
        seconds=time.perf_counter() - started,
        exact=exact,
    )


def make_solver(request: SolveRequest) -> IterativeSolver:
    """Create the solver of a checked request, in its initial state.

    Raises:
        ValueError: The algorithm does not iterate, or the solver refuses an argument.
        MemoryLimitError: The arrays would not fit.
    """
    game, record, start = request.game, request.record, request.start
    kind = solver_class(record, game)
    if kind is None:
        if "flat" in record.solvers and game.layout == Layout.CHUNKS:
            require_flat(game, record.name)
        raise ValueError(f"{record.name} does not iterate")
    options: dict[str, Any] = {"memory_limit": request.memory_limit}
    if request.cluster is not None:
        kind, options["cluster"] = solver_for(record, "cluster"), request.cluster
    if request.state_dir is not None:
        options["state_dir"] = request.state_dir
    if record.is_sampled:
        options["seed"] = request.seed
    if record.passes_whole_game:
        options["threads"] = resolve_threads(
            request.threads, game, on_cluster=request.cluster is not None
        )
        options["precision"] = resolve_precision(request.precision, game, record)
        options["locks"] = request.locks if start is None else start.locks or None
    if start is not None:
        options |= {"state": start.state, "iteration": start.iterations}
    elif request.warm_start is not None:
        options["state"] = warm_state(
            game,
            record,
            request.warm_start,
            iterations=request.warm_iterations,
            locks=request.locks,
            precision=options["precision"],
        )
    return kind(game, record, **options)
