"""One colour for each action of poker, in the pictures and in the viewer."""

from __future__ import annotations

import re
from collections.abc import Sequence

PASSIVE = {"fold": "#8FA7C4", "check": "#8CC08C", "call": "#8CC08C", "pass": "#8CC08C"}
"""Colours of the actions that put no new chips in."""
AGGRESSIVE = ("#F2B8A0", "#E5886A", "#D1573D", "#A93226", "#7B1E17", "#4F120D")
"""Colours of bets and raises, from the smallest; all-in is the darkest."""
_BET = re.compile(r"(bet|raise) ?[\d.]*|all-?in")


def action_colours(actions: Sequence[str]) -> list[str] | None:
    """A colour for each action: blue to fold, green to check or call, reds to bet, the darker the
    larger.

    Args:
        actions: Labels, amounts in order: ``("fold", "call", "raise300", "allin")``.

    Returns:
        Colours as ``"#rrggbb"``; None if the actions are not those of poker.
    """
    bets = [action for action in actions if _BET.fullmatch(action)]
    if not all(action in PASSIVE or action in bets for action in actions):
        return None
    steps = max(len(bets) - 1, 1)
    # The last colour but one is that of the largest bet, the last that of all-in.
    found = {
        bet: AGGRESSIVE[round(k * (len(AGGRESSIVE) - 2) / steps)] for k, bet in enumerate(bets)
    }
    found |= {bet: AGGRESSIVE[-1] for bet in bets if bet.startswith("all")}
    return [PASSIVE.get(action) or found[action] for action in actions]
