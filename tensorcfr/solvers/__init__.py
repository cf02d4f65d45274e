"""Solving: the driver, the solvers, what they return, warm starts, the choice of an algorithm."""

from .driver import Progress, solve
from .rules_solver import RulesSolver
from .sampled_solver import SampledSolver
from .solution import BestIterate, Solution, Status, TracePoint
from .solver import Solver

__all__ = [
    "BestIterate",
    "Progress",
    "RulesSolver",
    "SampledSolver",
    "Solution",
    "Solver",
    "Status",
    "TracePoint",
    "solve",
]
