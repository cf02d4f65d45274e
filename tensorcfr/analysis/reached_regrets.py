"""Regret given that an infoset is reached: what exploitability does not see off the path.

An equilibrium may play anything where the opponents never come, since regrets are weighted by the
probability that they do.  Divided by that probability, the regret of an infoset says what a mistake
there costs whoever stands before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .._util.arguments import Number, checked
from ..evaluation.metrics import PolicyLike
from ..model.arguments import Compiled
from .policy_values import Values, values

OWN_REACH = 0.01
"""Own reach from which a player's own strategy counts as leading to an infoset."""


@dataclass(frozen=True)
class RegretSpread:
    """The conditional regrets of some infosets, in the game's own unit of utility."""

    infosets: int
    """How many infosets."""
    largest: float
    """The largest of their regrets; NaN where there are none."""
    mean: float
    """The mean of their regrets, every infoset counted once; NaN likewise."""
    worst: str | None
    """The label of an infoset with the largest regret; None where there are none."""


@dataclass(frozen=True)
class ConditionalRegrets:
    """How far a policy is from a best response wherever chance and the others can lead."""

    everywhere: RegretSpread
    """All infosets that chance and the others reach with a probability above 0."""
    by_mistakes: RegretSpread
    """Those of them to which the player's own strategy leads: the others' mistakes alone can bring
    the player there."""
    unreached: int
    """Infosets that chance and the others never reach.  There is no probability to condition on,
    and no regret: they are in neither of the two."""
    own_reach: float
    """The own reach from which the player's own strategy counts as leading to an infoset."""


@checked()
def conditional_regrets(
    game: Compiled,
    policy: PolicyLike,
    *,
    own_reach: Annotated[float, Number(0, 1, "a probability")] = OWN_REACH,
) -> ConditionalRegrets:
    """The largest and the mean regret of a policy given that an infoset is reached.

    The conditional regret of an infoset is the counterfactual value of a best response from there
    on minus that of the policy, divided by the others' reach of the infoset
    (:attr:`ValueRows.conditional_regret`).  It is 0 at every infoset if and only if the policy is
    sequentially rational where the others come at all.  Costs what :func:`values` costs, at all
    infosets.

    >>> from tensorcfr import Policy, compile_game
    >>> game = compile_game("kuhn")
    >>> found = conditional_regrets(game, Policy.uniform(game))
    >>> found.everywhere.largest, found.everywhere.worst, found.unreached  # K folds to a bet.
    (1.5, 'Kpb', 0)

    Args:
        game: The game, of any number of players.
        policy: The policy, in any form that :func:`tensorcfr.formats.find_policy` reads.
        own_reach: From which own reach on an infoset is one to which the player's own strategy
            leads; averages of CFR reach nearly everything with some probability.

    Raises:
        ValueError: The policy is not one for this game, or ``own_reach`` is no probability.
        MemoryLimitError: There is not enough free memory.
    """
    return regrets_of(values(game, policy), own_reach)


def regrets_of(found: Values, own_reach: float = OWN_REACH) -> ConditionalRegrets:
    """What :func:`conditional_regrets` finds, from values."""
    everywhere, by_mistakes, unreached = _Sums(), _Sums(), 0
    for rows in found.all_rows():
        regret, labels = rows.conditional_regret, rows.infosets.labels
        is_reached = ~np.isnan(regret)
        everywhere.add(labels, regret, is_reached)
        by_mistakes.add(labels, regret, is_reached & (rows.own_reach >= own_reach))
        unreached += int((~is_reached).sum())
    return ConditionalRegrets(everywhere.spread, by_mistakes.spread, unreached, own_reach)


class _Sums:
    """Regrets, added up some infosets at a time."""

    def __init__(self) -> None:
        self.count, self.total, self.largest = 0, 0.0, -np.inf
        self.worst: str | None = None

    def add(self, labels: list[str], regret: np.ndarray, which: np.ndarray) -> None:
        """Add some of the regrets, float64 (infosets,): those at ``which``, bool (infosets,)."""
        self.count += int(which.sum())
        self.total += float(regret[which].sum())
        at = int(np.where(which, regret, -np.inf).argmax()) if len(labels) else 0
        if which.any() and regret[at] > self.largest:
            self.largest, self.worst = float(regret[at]), labels[at]

    @property
    def spread(self) -> RegretSpread:
        """What they come to."""
        if not self.count:
            return RegretSpread(0, np.nan, np.nan, None)
        return RegretSpread(self.count, self.largest, self.total / self.count, self.worst)
