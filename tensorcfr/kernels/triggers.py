"""Extensive-form regret minimisation: regrets of deviations, and strategies computed from them.

A player who deviates from a recommendation continues to deviate.  So a deviation in progress at an
infoset began at a *trigger*.  A trigger is a sequence that the player left (they saw the
recommendation and chose another action), or an infoset at which they stopped to follow
recommendations.  Each trigger has regrets of its own at every infoset below it, weighted by own
reach of its sequence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._util.jit import inlined, kernel
from ..model.arrays import SequenceForm
from ..payoff.multiply import payoff_product, payoff_scratch

SMALLEST = 1e-100
"""Number added to every rate.  If regrets allow several strategies, it selects the limit of small
equal rates for all actions."""
LEAST = 1e-50
"""Probabilities below it result only from :data:`SMALLEST`, and are set to 0."""


class Triggers(NamedTuple):
    """Deviations that may be in progress at each infoset."""

    first: np.ndarray
    """int64 (infosets + 1,): the triggers of infoset ``I`` are ``[I]`` to ``[I + 1] - 1``."""
    sequence: np.ndarray
    """int64 (triggers,): sequence whose own reach weights the trigger's regrets."""
    regret: np.ndarray
    """int64 (triggers + 1,): index of a trigger's first regret; it has one per action."""
    swap: np.ndarray
    """int64 (infosets + 1,): index of an infoset's first regret of one action for another, ``[from,
    to]``.  There are none if players do not see the recommendation."""


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
        strategy: float64 (sequences,): strategies of all players in this iteration.
        reach: float64 (sequences,): own reaches of all players.
        value: float64 (sequences,): scratch, used at the player's sequences.
        regret: float64 (regrets,): the player's regrets are modified in place.
    """
    payoff_product(form, player, reach, value, payoff_scratch(form), None)
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        for lane in range(lanes):
            infoset, s = form.bucket_infoset[b] + lane, form.bucket_sequence[b] + lane
            v = 0.0
            for a in range(actions):
                v += strategy[s + a * lanes] * value[s + a * lanes]
            # Levels run from the deepest up, so values below the parent are complete when it is
            # read.
            value[form.infoset_parent[infoset]] += v
            for trigger in range(triggers.first[infoset], triggers.first[infoset + 1]):
                weight, offset = reach[triggers.sequence[trigger]], triggers.regret[trigger]
                for a in range(actions):
                    regret[offset + a] += weight * (value[s + a * lanes] - v)
            offset = triggers.swap[infoset]
            if offset < triggers.swap[infoset + 1]:
                for a in range(actions):
                    weight, q = reach[s + a * lanes], value[s + a * lanes]
                    for to in range(actions):
                        regret[offset + a * actions + to] += weight * (value[s + to * lanes] - q)


@kernel
def follow_triggers(
    form: SequenceForm,
    triggers: Triggers,
    player: int,
    regret: np.ndarray,
    strategy: np.ndarray,
    reach: np.ndarray,
) -> None:
    """Compute the strategies of one player against which no mixture of deviations gains.

    Args:
        form: The game.
        triggers: The deviations.
        player: The player.
        regret: float64 (regrets,): regrets of the deviations, which determine the mixture.
        strategy: float64 (sequences,): modified in place at the player's sequences.
        reach: float64 (sequences,): own reaches, modified in place at the player's sequences.
    """
    most = 1
    for b in range(form.player_buckets[player], form.player_buckets[player + 1]):
        most = max(most, form.bucket_actions[b])
    rate, chance = np.empty((most, most)), np.empty(most)
    for b in range(form.player_buckets[player], form.player_buckets[player + 1]):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        for lane in range(lanes):
            infoset, s = form.bucket_infoset[b] + lane, form.bucket_sequence[b] + lane
            parent_reach = reach[form.infoset_parent[infoset]]
            rate[:actions, :actions] = SMALLEST
            for trigger in range(triggers.first[infoset], triggers.first[infoset + 1]):
                weight, offset = reach[triggers.sequence[trigger]], triggers.regret[trigger]
                for to in range(actions):
                    gain = weight * max(regret[offset + to], 0.0)
                    for a in range(actions):
                        rate[a, to] += gain
            offset = triggers.swap[infoset]
            if offset < triggers.swap[infoset + 1]:
                for a in range(actions):
                    for to in range(actions):
                        rate[a, to] += parent_reach * max(regret[offset + a * actions + to], 0.0)
            # The stationary strategy gains nothing by any of these changes of action.
            _stationary(rate, actions, chance)
            for a in range(actions):
                strategy[s + a * lanes] = chance[a]
                reach[s + a * lanes] = parent_reach * chance[a]


@inlined
def _stationary(rate: np.ndarray, n: int, chance: np.ndarray) -> None:
    """Compute the stationary distribution of a Markov chain with given rates.

    States are eliminated from the last one on, and then restored.  The algorithm has no
    subtractions, so small rates keep their digits.

    Source: W. K. Grassmann, M. I. Taksar, D. P. Heyman, "Regenerative analysis and steady state
    distributions for Markov chains", Operations Research 33, 1985.

    Args:
        rate: float64 (n, n): positive rates, from row to column; modified.
        n: Number of states.
        chance: float64 (n,): the distribution, modified in place.
    """
    for last in range(n - 1, 0, -1):
        exit_rate = 0.0
        for to in range(last):
            exit_rate += rate[last, to]
        for a in range(last):
            rate[a, last] /= exit_rate
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
