"""Analysis of solves: true regrets with their bounds, and single iterations number by number."""

from .regret_bounds import RegretPoint, regrets
from .walkthroughs import Walkthrough, walkthrough

__all__ = ["RegretPoint", "Walkthrough", "regrets", "walkthrough"]
