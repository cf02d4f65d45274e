"""Kernels of extensive-form regret minimization: regrets of deviations, and strategies from them.

A player who deviates goes on deviating.  So a deviation that is under way at an infoset began at a
*trigger*: a sequence that the player left (they saw the recommendation and did something else), or
an infoset at which they stopped to listen.  At every infoset each trigger has regrets of its own,
which count with the own reach of its sequence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._util.jit import inlined, kernel
from ..model.arrays import SequenceForm
from ..payoff.multiply import payoff_product, payoff_scratch

SMALLEST = 1e-100
"""Added to every rate: where regrets leave several strategies to choose from, it is the limit of
that with equal chances of all actions."""
LEAST = 1e-50
"""Probabilities below it come from :data:`SMALLEST` alone, and are 0."""


class Triggers(NamedTuple):
    """The deviations that may be under way at each infoset."""

    first: np.ndarray
    """int64 (infosets + 1,): infoset ``I`` has the triggers ``[I]`` to ``[I + 1] - 1``."""
    sequence: np.ndarray
    """int64 (triggers,): the sequence whose own reach a trigger counts with."""
    regret: np.ndarray
    """int64 (triggers + 1,): the first of a trigger's regrets, one for each action."""
    swap: np.ndarray
    """int64 (infosets + 1,): the first of an infoset's regrets of one action for another, ``[from,
    to]``; none where players do not see the recommendation."""


@kernel
def add_trigger_regrets(
    form: SequenceForm,
    triggers: Triggers,
    player: int,
    strategy: np.ndarray,
    reach: np.ndarray,
    value: np.ndarray,
    regret: np.ndarray,
) -> None:
    """Add the regrets of one player's deviations in one iteration.

    Args:
        form: The game.
        triggers: The deviations.
        player: The player.
        strategy: float64 (sequences,): all strategies of this iteration.
        reach: float64 (sequences,): own reaches of all players.
        value: float64 (sequences,): scratch; the player's entries are modified in place.
        regret: float64: the player's regrets are modified in place.
    """
    payoff_product(form, player, reach, value, payoff_scratch(form), None)
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        for lane in range(lanes):
            infoset, s = form.bucket_infoset[b] + lane, form.bucket_sequence[b] + lane
            v = 0.0
            for a in range(actions):
                v += strategy[s + a * lanes] * value[s + a * lanes]
            value[form.infoset_parent[infoset]] += v
            for one in range(triggers.first[infoset], triggers.first[infoset + 1]):
                weight, at = reach[triggers.sequence[one]], triggers.regret[one]
                for a in range(actions):
                    regret[at + a] += weight * (value[s + a * lanes] - v)
            at = triggers.swap[infoset]
            if at < triggers.swap[infoset + 1]:
                for a in range(actions):
                    weight, q = reach[s + a * lanes], value[s + a * lanes]
                    for to in range(actions):
                        regret[at + a * actions + to] += weight * (value[s + to * lanes] - q)


@kernel
def follow_triggers(
    form: SequenceForm,
    triggers: Triggers,
    player: int,
    regret: np.ndarray,
    strategy: np.ndarray,
    reach: np.ndarray,
) -> None:
    """The strategies of one player against which no mixture of deviations gains, by the regrets.

    Args:
        form: The game.
        triggers: The deviations.
        player: The player.
        regret: float64: the regrets.
        strategy: float64 (sequences,): the player's entries are modified in place.
        reach: float64 (sequences,): own reaches; likewise.
    """
    most = 1
    for b in range(form.player_buckets[player], form.player_buckets[player + 1]):
        most = max(most, form.bucket_actions[b])
    rate, chance = np.empty((most, most)), np.empty(most)
    for b in range(form.player_buckets[player], form.player_buckets[player + 1]):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        for lane in range(lanes):
            infoset, s = form.bucket_infoset[b] + lane, form.bucket_sequence[b] + lane
            above = reach[form.infoset_parent[infoset]]
            rate[:actions, :actions] = SMALLEST
            for one in range(triggers.first[infoset], triggers.first[infoset + 1]):
                weight, at = reach[triggers.sequence[one]], triggers.regret[one]
                for to in range(actions):
                    more = weight * max(regret[at + to], 0.0)
                    for a in range(actions):
                        rate[a, to] += more
            at = triggers.swap[infoset]
            if at < triggers.swap[infoset + 1]:
                for a in range(actions):
                    for to in range(actions):
                        rate[a, to] += above * max(regret[at + a * actions + to], 0.0)
            _stationary(rate, actions, chance)
            for a in range(actions):
                strategy[s + a * lanes] = chance[a]
                reach[s + a * lanes] = above * chance[a]


@inlined
def _stationary(rate: np.ndarray, n: int, chance: np.ndarray) -> None:
    """The distribution that jumps at some rates leave as it is.

    States are taken away from the last on, and put back.  Nothing is subtracted, so that small
    rates keep their digits.

    Source: W. K. Grassmann, M. I. Taksar, D. P. Heyman, "Regenerative analysis and steady state
    distributions for Markov chains", Operations Research 33, 1985.

    Args:
        rate: float64 (n, n): rates above 0, from a row to a column; modified.
        n: States.
        chance: float64 (n,): modified in place.
    """
    for last in range(n - 1, 0, -1):
        away = 0.0
        for to in range(last):
            away += rate[last, to]
        for a in range(last):
            rate[a, last] /= away
            for to in range(last):
                rate[a, to] += rate[a, last] * rate[last, to]
    chance[0] = total = 1.0
    for last in range(1, n):
        chance[last] = 0.0
        for a in range(last):
            chance[last] += chance[a] * rate[a, last]
        total += chance[last]
    for a in range(n):
        chance[a] = chance[a] / total if chance[a] > LEAST * total else 0.0
