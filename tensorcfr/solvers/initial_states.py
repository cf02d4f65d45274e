"""Beginnings of a solve: a finished solution, or a solver in the state from which it iterates."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ..model.game_arguments import require_flat
from ..model.layout import Layout
from .base import IterativeSolver, named, solver_class, solver_for
from .choose import resolve_precision, resolve_threads
from .request import SolveRequest
from .solution import Solution, Status
from .warm_start import warm_state


def exact_solution(request: SolveRequest) -> Solution:
    """Solve without iterations, in fractions if the request asks for a proof."""
    started = time.perf_counter()
    compute = named(request.record.equilibria["fractions" if request.wants_proof else "floats"])
    equilibrium = compute(request.game, memory_limit=request.memory_limit)
    return Solution(
        game=request.game,
        algorithm=request.record,
        status=Status.EXACT,
        policy=equilibrium.policy,
        evaluation=equilibrium.evaluation,
        iterations=0,
        seconds=time.perf_counter() - started,
        exact=equilibrium if request.wants_proof else None,
    )


def _resumed(request: SolveRequest, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with which a solver continues from a solution."""
    start: Any = request.start
    locks = {"locks": start.locks or None} if "locks" in options else {}
    return {"state": start.state, "iteration": start.iterations} | locks


def _warm(request: SolveRequest, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with which a solver begins with regrets or strategies of another solution,
    and an empty average."""
    state = warm_state(
        request.game,
        request.record,
        request.warm_start,
        iterations=request.warm_iterations,
        locks=request.locks,
        precision=options["precision"],
    )
    return {"state": state}


STATES: Mapping[str, Callable[[SolveRequest, dict[str, Any]], dict[str, Any]]] = {
    "start": _resumed,
    "warm_start": _warm,
}
"""Functions that make the first state, by option.  A request has at most one of these options.  The
function receives the options of the solver so far, and returns further ones.  Without a state,
a solver begins with its own."""


def make_solver(request: SolveRequest) -> IterativeSolver:
    """Create the solver of a checked request, in its initial state.

    Raises:
        ValueError: The algorithm does not iterate, or the solver refuses an argument.
        MemoryLimitError: The arrays would not fit.
    """
    game, record = request.game, request.record
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
        options["locks"] = request.locks
    for option, state_of in STATES.items():
        if getattr(request, option) is not None:
            options |= state_of(request, options)
    return kind(game, record, **options)
