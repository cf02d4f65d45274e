"""Joint play towards correlated equilibria: regrets of players who leave recommendations."""

from .solver import CorrelatedSolver, CorrelatedState

__all__ = ["CorrelatedSolver", "CorrelatedState"]
