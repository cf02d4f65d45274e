"""Equilibria that hold off the path: quasi-perfect ones of small games, exactly."""

from .perturbed_programs import QuasiPerfect, quasi_perfect

__all__ = ["QuasiPerfect", "quasi_perfect"]
