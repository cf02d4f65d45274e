"""Analysis of solves: true regrets with their bounds, and single iterations number by number."""

from .regret_bounds import regrets
from .walkthroughs import walkthrough

__all__ = ["regrets", "walkthrough"]
