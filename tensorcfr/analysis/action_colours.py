"""Colours of poker actions, for the pictures and the viewer."""

from __future__ import annotations

import re
from collections.abc import Sequence

PASSIVE = {"fold": "#8FA7C4", "check": "#8CC08C", "call": "#8CC08C", "pass": "#8CC08C"}
"""Colours of the actions that put no new chips in."""
AGGRESSIVE = ("#F2B8A0", "#E5886A", "#D1573D", "#A93226", "#7B1E17", "#4F120D")
"""Colours of bets and raises, from the smallest; all-in is the darkest."""
_BET = re.compile(r"(bet|raise) ?[\d.]*|all-?in")


def action_colours(actions: Sequence[str]) -> list[str] | None:
    """Choose a colour for each action.

    Folds are blue, checks and calls green, bets red: the larger, the darker.

    Args:
        actions: Labels, with amounts in ascending order: ``("fold", "call", "raise300", "allin")``.

    Returns:
        Colours as ``"#rrggbb"``; None if the actions are not poker actions.
    """
    bets = [action for action in actions if _BET.fullmatch(action)]
    if not all(action in PASSIVE or action in bets for action in actions):
        return None
    steps = max(len(bets) - 1, 1)
    # The largest bet has the second-darkest colour; the darkest is reserved for all-in.
    bet_colours = {
        bet: AGGRESSIVE[round(k * (len(AGGRESSIVE) - 2) / steps)] for k, bet in enumerate(bets)
    }
    bet_colours |= {bet: AGGRESSIVE[-1] for bet in bets if bet.startswith("all")}
    return [PASSIVE.get(action) or bet_colours[action] for action in actions]
