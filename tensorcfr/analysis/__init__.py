"""Analysis of solves: values of every action, comparisons, plays, regrets, single iterations."""

from .comparison import compare, head_to_head
from .policy_values import best_responses, values
from .regret_bounds import RegretPoint, regrets
from .simulation import simulate
from .walkthroughs import Walkthrough, walkthrough

__all__ = [
    "RegretPoint",
    "Walkthrough",
    "best_responses",
    "compare",
    "head_to_head",
    "regrets",
    "simulate",
    "values",
    "walkthrough",
]
