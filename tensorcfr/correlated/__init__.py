"""Joint play towards correlated equilibria: regrets for deviations from recommendations."""

from .solver import CorrelatedSolver, CorrelatedState

__all__ = ["CorrelatedSolver", "CorrelatedState"]
