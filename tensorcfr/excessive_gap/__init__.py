"""The excessive gap technique, a first-order method."""

from .gap_solver import GapSolver

__all__ = ["GapSolver"]
