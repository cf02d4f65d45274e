"""Regret given that an infoset is reached, which exploitability does not measure off the path.

An equilibrium may play anything where the opponents never go, because regrets are weighted by the
probability that the opponents lead there. Dividing a regret by that probability gives the cost of a
mistake to a player who is at the infoset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .._util.argument_checks import Number, checked
from ..evaluation.metrics import PolicyLike
from ..model.game_arguments import Compiled
from .policy_values import Values, values

OWN_REACH = 0.01
"""Own reach from which a player's own strategy counts as leading to an infoset."""


@dataclass(frozen=True)
class RegretSpread:
    """Conditional regrets of some infosets, in the game's own unit of utility."""

    infosets: int
    """Number of infosets."""
    largest: float
    """Largest of their regrets; NaN without infosets."""
    mean: float
    """Mean of their regrets, with equal weights; NaN without infosets."""
    worst: str | None
    """Label of an infoset with the largest regret; None without infosets."""


@dataclass(frozen=True)
class ConditionalRegrets:
    """Distance of a policy from a best response wherever chance and the others can lead."""

    everywhere: RegretSpread
    """Regrets of all infosets that chance and the others reach with positive probability."""
    on_own_path: RegretSpread
    """Regrets of the infosets among them that the player's own strategy also reaches: on the path
    of play, or after a mistake of the others only."""
    unreached: int
    """Number of infosets that chance and the others never reach. Their regrets are undefined, so
    they are in neither of the two."""
    own_reach: float
    """Own reach from which the player's own strategy counts as leading to an infoset."""


@checked()
def conditional_regrets(
    game: Compiled,
    policy: PolicyLike,
    *,
    own_reach: Annotated[float, Number(0, 1, "a probability")] = OWN_REACH,
) -> ConditionalRegrets:
    """Compute the largest and the mean regret of a policy given that an infoset is reached.

    The conditional regret of an infoset is the counterfactual value of a best response from there
    on minus the policy's, divided by the others' reach of the infoset
    (:attr:`ValueRows.conditional_regret`). It is 0 at every infoset if and only if the policy is
    sequentially rational wherever the others can lead. The cost is that of :func:`values`, at all
    infosets.

    >>> from tensorcfr import Policy, compile_game
    >>> game = compile_game("kuhn")
    >>> found = conditional_regrets(game, Policy.uniform(game))
    >>> found.everywhere.largest, found.everywhere.worst, found.unreached  # K folds to a bet.
    (1.5, 'Kpb', 0)

    Args:
        game: The game, of any number of players.
        policy: The policy, in any form that :func:`tensorcfr.formats.find_policy` reads.
        own_reach: Own reach from which the player's own strategy counts as leading to an infoset.
            The averages of CFR reach nearly every infoset with some probability.

    Raises:
        ValueError: The policy is not for this game, or ``own_reach`` is not a probability.
        MemoryLimitError: There is not enough free memory.
    """
    return regrets_of(values(game, policy), own_reach)


def regrets_of(policy_values: Values, own_reach: float = OWN_REACH) -> ConditionalRegrets:
    """Compute the result of :func:`conditional_regrets` from values."""
    everywhere, on_own_path, unreached = _RunningSpread(), _RunningSpread(), 0
    for rows in policy_values.all_rows():
        regret, labels = rows.conditional_regret, rows.infosets.labels
        is_reached = ~np.isnan(regret)
        everywhere.add(labels, regret, is_reached)
        on_own_path.add(labels, regret, is_reached & (rows.own_reach >= own_reach))
        unreached += int((~is_reached).sum())
    return ConditionalRegrets(everywhere.spread, on_own_path.spread, unreached, own_reach)


class _RunningSpread:
    """Running count, sum and maximum of regrets."""

    def __init__(self) -> None:
        self.count, self.total, self.largest = 0, 0.0, -np.inf
        self.worst: str | None = None

    def add(self, labels: list[str], regret: np.ndarray, mask: np.ndarray) -> None:
        """Add some of the regrets, float64 (infosets,), selected by ``mask``, bool (infosets,)."""
        self.count += int(mask.sum())
        self.total += float(regret[mask].sum())
        index = int(np.where(mask, regret, -np.inf).argmax()) if len(labels) else 0
        if mask.any() and regret[index] > self.largest:
            self.largest, self.worst = float(regret[index]), labels[index]

    @property
    def spread(self) -> RegretSpread:
        """Summary of the regrets added so far."""
        if not self.count:
            return RegretSpread(0, np.nan, np.nan, None)
        return RegretSpread(self.count, self.largest, self.total / self.count, self.worst)
