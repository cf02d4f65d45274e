"""Functions that the Monte Carlo traversals share: draws of actions, infoset updates, averages.

A block of an infoset and its parts are described in :mod:`tensorcfr.kernels.traversal`.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import inlined
from .local_rule import LocalRule, apply
from .random import draw
from .traversal import LAST_VISIT, PENDING, ZERO, Traversal, U

SIMPLE, STOCHASTIC, OPTIMISTIC = 0, 1, 2
"""Averaging schemes of a traversal; see :class:`tensorcfr.algorithms.Sampling`."""
NO_MEMORY = np.empty((0, 1))
"""Empty memory of a local rule that stores only a regret, as sampled rules do."""


@inlined
def sample_action(table: np.ndarray, offset: int, count: int, generator: np.ndarray) -> np.uint64:
    """Draw an action by its probability in ``table[offset:offset + count]``.

    An action of probability 0 is never drawn.
    """
    remainder = draw(generator)
    if count == U(2):
        return U(remainder >= table[offset])
    # Rounding may leave a rest after the last action: the last one with a positive probability is
    # drawn then.
    chosen = ZERO
    for a in range(count):
        probability = table[offset + a]
        if probability > 0.0:
            chosen = U(a)
            remainder -= probability
            if remainder < 0.0:
                break
    return chosen


@inlined
def draw_tried(
    tries: np.ndarray,
    table: np.ndarray,
    block: int,
    count: int,
    tried: np.ndarray,
    offset: int,
    generator: np.ndarray,
) -> None:
    """Draw the actions of an infoset that a traversal tries.

    There are two schemes.  Either a fixed number of actions is tried, and all subsets are equally
    likely (Li et al. 2020).  Or each action is tried independently with probability (bonus +
    threshold * s) / (bonus + sum of s), clipped to [epsilon, 1], where s is its cumulative strategy
    (average strategy sampling; Gibson et al. 2012).

    Args:
        tries: float64 (4,): number of actions to try, or 0 for average strategy sampling; then
            epsilon, threshold and bonus.
        table: Table of the infosets.
        block: The infoset's block.
        count: Number of its actions.
        tried: float64: modified in place: probability of each action that is tried, 0 for the
            others.
        offset: Index of the first action in ``tried``.
        generator: Modified in place.
    """
    tries_left, average = tries[0], block + count + count
    if tries_left > 0.0:
        # Every action has this probability, because all subsets are equally likely.
        probability = min(tries_left / count, 1.0)
        for a in range(count):
            rest = np.float64(count - a)
            # Sequential selection without replacement; no draw where the outcome is certain.
            taken = tries_left > 0.0 and (tries_left >= rest or draw(generator) * rest < tries_left)
            tried[offset + a] = probability if taken else 0.0
            tries_left -= 1.0 if taken else 0.0
        return
    epsilon, threshold, total = tries[1], tries[2], tries[3]
    for a in range(count):
        total += table[average + a]
    for a in range(count):
        probability = 1.0
        if total > 0.0:
            probability = (tries[3] + threshold * table[average + a]) / total
        probability = min(max(probability, epsilon), 1.0)
        tried[offset + a] = (
            probability if probability == 1.0 or draw(generator) < probability else 0.0
        )


@inlined
def next_tried(tried: np.ndarray, offset: int, first: int, count: int) -> np.uint64:
    """Return the first tried action from ``first`` on; ``count`` if there is none."""
    action = U(first)
    while action < count and tried[offset + action] == 0.0:
        action += U(1)
    return action


@inlined
def update(
    rule: LocalRule,
    parameters: tuple[float, ...],
    table: np.ndarray,
    block: int,
    count: int,
    instant: np.ndarray,
    offset: int,
) -> None:
    """Update an infoset's regrets by the local rule, and its strategy by regret matching.

    Args:
        rule: The local rule.
        parameters: Parameters of the rule at this iteration.
        table: Modified in place.
        block: The infoset's block.
        count: Number of its actions.
        instant: float64: instantaneous regrets.
        offset: Index of the infoset's first regret in ``instant``.
    """
    strategy = block + count
    total = 0.0
    for a in range(count):
        new, preference = apply(
            rule, table[block + a], instant[offset + a], NO_MEMORY, 0, parameters
        )
        table[block + a] = new
        preference = max(preference, 0.0)
        table[strategy + a] = preference
        total += preference
    if total > 0.0:
        for a in range(count):
            table[strategy + a] /= total
    else:
        for a in range(count):
            table[strategy + a] = 1.0 / np.int64(count)


@inlined
def update_pending(
    rule: LocalRule,
    parameters: tuple[float, ...],
    table: np.ndarray,
    pending: np.ndarray,
    n_pending: int,
) -> np.uint64:
    """Update the infosets that were visited, and clear their marks.

    Args:
        rule: The local rule.
        parameters: Parameters of the rule at this iteration.
        table: Modified in place; the instantaneous regrets of a block follow its cumulative
            strategy.
        pending: uint32 (infosets, 2): block and number of actions of each infoset.
        n_pending: Number of pending infosets.

    Returns:
        The number of infosets that are pending now: 0.
    """
    for k in range(n_pending):
        block, count = U(pending[k, 0]), U(pending[k, 1])
        instant = block + count + count + count
        # The mark and the sums of regrets are cleared for the next traversal.
        update(rule, parameters, table, block, count, table, instant)
        table[block - PENDING] = 0.0
        for a in range(count):
            table[instant + a] = 0.0
    return ZERO


@inlined
def add_to_average(table: np.ndarray, block: int, count: int, weight: float) -> None:
    """Add a multiple of an infoset's current strategy to its cumulative strategy."""
    strategy = block + count
    for a in range(count):
        table[strategy + count + a] += weight * table[strategy + a]


@inlined
def own_reach_weight(traversal: Traversal, block: int, sampled: float) -> float:
    """Return the factor of own reach in the average, at a node of the updating player.

    Args:
        traversal: The traversal; the last visit is written into its table.
        block: The infoset's block.
        sampled: Probability that the traversal reaches the node, without the probability of chance.
    """
    if traversal.averaging == OPTIMISTIC:
        # Optimistic averaging: the visit counts for all iterations since the last one.
        since = traversal.clock - traversal.table[block - LAST_VISIT]
        traversal.table[block - LAST_VISIT] = traversal.clock
        return since
    return traversal.weight / sampled


@inlined
def product_of_others(
    reach: np.ndarray, row: int, n_players: int, player: int, other_player: int
) -> float:
    """Return the product of all players' reaches except those of two players.

    Args:
        reach: float64 (rows * players,).
        row: Row of the reaches.
        n_players: Number of players.
        player: First player to leave out.
        other_player: Second player to leave out; may be the first.
    """
    product = 1.0
    for k in range(n_players):
        if k != player and k != other_player:
            product *= reach[row * n_players + k]
    return product
