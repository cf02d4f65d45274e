"""Equilibria that hold off the path: quasi-perfect ones of small games, exactly."""

from .quasi_perfect import QuasiPerfect, quasi_perfect

__all__ = ["QuasiPerfect", "quasi_perfect"]
