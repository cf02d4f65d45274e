"""Solving: the driver, the solvers, their solutions, warm starts, the choice of an algorithm."""

from .driver import Progress, solve
from .sampled_solver import SampledSolver
from .solution import BestIterate, Solution, Status, TracePoint
from .solver import Solver

__all__ = [
    "BestIterate",
    "Progress",
    "SampledSolver",
    "Solution",
    "Solver",
    "Status",
    "TracePoint",
    "solve",
]
