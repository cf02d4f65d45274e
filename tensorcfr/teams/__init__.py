"""Two teams against each other: regrets over beliefs."""

from .solver import TeamSolver

__all__ = ["TeamSolver"]
