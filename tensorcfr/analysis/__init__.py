"""Analysis of solves: values of every action, comparisons, plays, regrets, single iterations."""

from .comparison import Comparison, Difference, HeadToHead, compare, head_to_head
from .policy_values import Values, best_responses, values
from .regret_bounds import RegretPoint, regrets
from .simulation import Plays, simulate
from .walkthroughs import Walkthrough, walkthrough

__all__ = [
    "Comparison",
    "Difference",
    "HeadToHead",
    "Plays",
    "RegretPoint",
    "Values",
    "Walkthrough",
    "best_responses",
    "compare",
    "head_to_head",
    "regrets",
    "simulate",
    "values",
    "walkthrough",
]
