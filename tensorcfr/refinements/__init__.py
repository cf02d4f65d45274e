"""Equilibrium refinements off the path: quasi-perfect equilibria and quantal responses of small
games."""

from .perturbed_programs import QuasiPerfect, quasi_perfect
from .quantal import QuantalResponse, quantal_responses

__all__ = ["QuantalResponse", "QuasiPerfect", "quantal_responses", "quasi_perfect"]
