"""Counts of decisions by situation, with a prior for rare ones and intervals.

The estimate of a situation begins with a prior, and adds counts from the coarsest class of the
situation to the finest (:attr:`HandSituation.levels`).  At each level the estimate so far counts as
``strength`` decisions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Any, NamedTuple

from .._util.argument_checks import Flag, Number, checked
from ..analysis.bounds import Confidence
from ..analysis.table_files import save_rows
from .played_hands import CALL, CHECK, FOLD, STREETS, Hands, Players
from .situations import ACTIONS, ALL_IN, ANY, BETS, RAISES, HandSituation, situations

STRENGTH = 20.0
"""Number of decisions as which a prior counts by default."""
COLUMNS = ("street", "position", "line", "before", "board", "stack", "decisions", "action")
"""Columns of a table of counts before its numbers."""


class Frequency(NamedTuple):
    """Frequency of an action, estimated from decisions and a prior."""

    mean: float
    """Estimate."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""
    decisions: int
    """Number of decisions that were counted in this situation, other actions included."""


@dataclass(frozen=True)
class DecisionCounts:
    """Numbers of actions by situation."""

    table: Mapping[HandSituation, Mapping[str, int]] = field(repr=False)
    """Number of decisions by situation, of every level, and class of action."""
    hands: int
    """Number of hands."""
    decisions: int
    """Number of decisions."""

    def estimate(
        self,
        situation: HandSituation,
        prior: Mapping[str, float],
        *,
        pool: DecisionCounts | None = None,
        strength: Annotated[float, Number(above=0, finite=True)] = STRENGTH,
        confidence: Confidence = 0.95,
    ) -> dict[str, Frequency]:
        """Estimate the frequencies of actions in a situation.

        Args:
            situation: The situation.  Empty fields are unknown.
            prior: Frequencies of the possible actions, by class; other classes are left out.
            pool: Counts of other players, which come between the prior and these counts.
            strength: Number of decisions as which the prior counts at each level.
            confidence: Probability of the intervals, which are those of E. B. Wilson (1927) for the
                decisions of the situation and ``strength`` more.
        """
        estimate = dict(prior)
        levels = list(dict.fromkeys(reversed(situation.levels)))
        counted = 0
        for counts in (pool, self) if pool is not None else (self,):
            for level in levels:
                taken = counts.table.get(level, {})
                counted = sum(taken.get(action, 0) for action in estimate)
                estimate = {
                    action: (taken.get(action, 0) + strength * share) / (counted + strength)
                    for action, share in estimate.items()
                }
        size = counted + strength
        return {
            action: Frequency(share, *wilson(share, size, confidence), counted)
            for action, share in estimate.items()
        }

    def rows(
        self,
        *,
        level: int = 3,
        pool: DecisionCounts | None = None,
        confidence: Confidence = 0.95,
    ) -> list[dict[str, Any]]:
        """Return a table: a row for each situation of a level and each action in it.

        Args:
            level: Index into :attr:`HandSituation.levels`; 0 has all details.
            pool: As for :meth:`estimate`.
            confidence: As for :meth:`estimate`.
        """
        chosen = [situation for situation in self.table if situation.count(ANY) == level]
        chosen.sort(key=lambda situation: -sum(self.table[situation].values()))
        table = []
        for situation in chosen:
            actions = possible_actions(situation, self.table[situation])
            prior = {action: 1.0 / len(actions) for action in actions}
            estimates = self.estimate(situation, prior, pool=pool, confidence=confidence)
            for action, frequency in estimates.items():
                row = dict(zip(COLUMNS, (*situation, frequency.decisions, action), strict=True))
                numbers = {
                    "frequency": frequency.mean,
                    "low": frequency.low,
                    "high": frequency.high,
                }
                table.append(row | {"taken": self.table[situation].get(action, 0)} | numbers)
        return table

    def save(self, path: str | Path, **options: Any) -> Path:
        """Write :meth:`rows` to a file, ``.csv``, ``.json`` or ``.parquet``.

        Args:
            path: The file.
            options: Arguments of :meth:`rows`.
        """
        return save_rows(self.rows(**options), Path(path))


@checked()
def count_decisions(
    hands: Hands,
    players: Players = None,
    *,
    others: Annotated[bool, Flag()] = False,
) -> DecisionCounts:
    """Count the decisions of players.

    Args:
        hands: The hands.
        players: Names of the players; None for all.
        others: True to count all players except these.
    """
    table: dict[HandSituation, Counter[str]] = {}
    decisions = counted_hands = 0
    for hand in hands:
        counted = 0
        for decision, situation, word in situations(hand):
            if players is not None and (hand.players[decision.seat] in players) == others:
                continue
            counted += 1
            for level in situation.levels:
                table.setdefault(level, Counter())[word] += 1
        decisions += counted
        counted_hands += counted > 0
    return DecisionCounts(table, counted_hands, decisions)


def possible_actions(situation: HandSituation, taken: Iterable[str]) -> tuple[str, ...]:
    """Return the classes of actions that are possible in a situation, or that were taken in it."""
    words = situation.line.split(", ")
    bet = any(word in (*BETS, *RAISES) for word in words)
    if situation.street == STREETS[0]:
        known: tuple[str, ...] = (FOLD, CALL, *RAISES)
    elif bet:
        known = (FOLD, CALL) if words[-1] == ALL_IN else (FOLD, CALL, *RAISES)
    else:
        known = (CHECK, *BETS)
    return tuple(action for action in ACTIONS if action in known or action in {*taken})


def wilson(share: float, size: float, confidence: float) -> tuple[float, float]:
    """Return Wilson's interval of a probability."""
    z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    middle = share + z * z / (2.0 * size)
    width = z * math.sqrt(share * (1.0 - share) / size + z * z / (4.0 * size * size))
    scale = 1.0 + z * z / size
    return (middle - width) / scale, (middle + width) / scale
