"""Further solvers: the excessive gap technique, joint play towards correlated equilibria, teams."""

from .correlated_solver import CorrelatedSolver, CorrelatedState
from .gap_solver import GapSolver
from .team_solver import TeamSolver

__all__ = ["CorrelatedSolver", "CorrelatedState", "GapSolver", "TeamSolver"]
