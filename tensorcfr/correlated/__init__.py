"""Joint play towards correlated equilibria: regrets for deviations from recommendations."""

from .correlated_solver import CorrelatedSolver, CorrelatedState

__all__ = ["CorrelatedSolver", "CorrelatedState"]
