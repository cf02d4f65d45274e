"""Evaluation of strategies: expected values, best responses, exploitability; exact equilibria.

``nash_conv`` is the sum over players of the gain of a best response.  ``exploitability`` is
``nash_conv`` divided by the number of players (some papers call the sum exploitability). Both are
in the game's own unit of utility, and 0 exactly at a Nash equilibrium.
"""

from __future__ import annotations

from .correlation import CorrelatedPlan, CorrelationGap, correlation_gap
from .exact import ExactEquilibrium, exact_equilibrium
from .metrics import (
    BestResponse,
    Evaluation,
    best_response,
    evaluate,
    expected_values,
    exploitability,
    nash_conv,
)
from .team_evaluation import (
    TeamEquilibrium,
    TeamExploitability,
    team_best_response,
    team_equilibrium,
    team_exploitability,
)

__all__ = [
    "BestResponse",
    "CorrelatedPlan",
    "CorrelationGap",
    "Evaluation",
    "ExactEquilibrium",
    "TeamEquilibrium",
    "TeamExploitability",
    "best_response",
    "correlation_gap",
    "evaluate",
    "exact_equilibrium",
    "expected_values",
    "exploitability",
    "nash_conv",
    "team_best_response",
    "team_equilibrium",
    "team_exploitability",
]
