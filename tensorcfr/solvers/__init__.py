"""Solving: the driver, the solvers, their solutions, warm starts, the choice of an algorithm.

A call of :func:`solve` goes through :mod:`.driver` (:mod:`.request` checks the arguments),
:mod:`.loop` (checkpoints and stop rules), ``Solver.iterate`` (:mod:`.base` divides iterations into
runs with the same parameters), ``Passes.iterate`` (:mod:`.passes` makes the schedule) and the
kernel, :func:`tensorcfr.kernels.iteration.iterate`.
"""

from .driver import solve
from .loop import Progress
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
