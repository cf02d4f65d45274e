"""The kinds of solvers."""

from __future__ import annotations

from ..algorithms import Record
from .base import IterativeSolver
from .sampled_solver import SampledSolver
from .solver import Solver

SOLVERS: tuple[type[IterativeSolver], ...] = (Solver, SampledSolver)
"""The kinds; each record is run by at most one."""


def solver_class(record: Record) -> type[IterativeSolver] | None:
    """The kind of solver that runs an algorithm; None where it does not iterate."""
    return next((kind for kind in SOLVERS if isinstance(record, kind.records)), None)
