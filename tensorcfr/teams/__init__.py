"""Two teams against each other: regrets over beliefs."""

from .team_solver import TeamSolver

__all__ = ["TeamSolver"]
