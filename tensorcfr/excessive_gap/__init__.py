"""The excessive gap technique, a first-order method."""

from .solver import GapSolver

__all__ = ["GapSolver"]
