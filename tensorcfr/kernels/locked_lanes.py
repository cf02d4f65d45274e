"""Locked infosets, which kernels process outside the loops over free lanes, and models of a player.

A model restricts a player in one of two ways, see :class:`tensorcfr.model.locks.PlayerModel`:

* Each action has a least probability, and the free strategy gets the rest.  Weights, stored
  strategies and averages are those of the free strategy.  Passes mix its reaches
  (:func:`mix_reaches`) and its values (:func:`mix_values`) with the least probabilities.
* The player is the model with some probability.  The other player's payoffs against the model do
  not change between iterations, so they are added to the payoffs against the free strategy
  (:func:`mix_payoffs`).
"""

from __future__ import annotations

import numpy as np

from .._util.jit import inlined
from ..model.arrays import LockedLanes, SequenceForm
from .parts import Lanes


@inlined
def first_lock(locks: LockedLanes, b: int, lane: int) -> int:
    """Return the first lock of a bucket at ``lane`` or later, or the end of the bucket's locks."""
    lock = locks.bucket[b]
    while lock < locks.bucket[b + 1] and locks.lane[lock] < lane:
        lock += 1
    return lock


@inlined
def free_probability(probability: np.ndarray) -> float:
    """Return the total probability of the free actions of a locked infoset; 0 if all are locked.

    Args:
        probability: float64 (actions,): probabilities of the lock; negative for free actions.
    """
    free_total, free = 1.0, 0
    for a in range(len(probability)):
        if probability[a] < 0.0:
            free += 1
        else:
            free_total -= probability[a]
    # Without free actions the rest is rounding of the locked probabilities.
    return free_total if free else 0.0


@inlined
def of_lock(locks: LockedLanes, lock: int, actions: int) -> np.ndarray:
    """Return the probabilities of a lock, float64 (actions,)."""
    return locks.probability[locks.offset[lock] : locks.offset[lock] + actions]


@inlined
def locked_best(value: np.ndarray, lanes: int, probability: np.ndarray) -> float:
    """Return the value of a locked infoset when its free actions are optimal.

    Args:
        value: float: value of action ``a`` at ``a * lanes``.
        lanes: Distance between consecutive actions.
        probability: float64 (actions,): probabilities of the lock; negative for free actions.
    """
    total, best = 0.0, -np.inf
    for a in range(len(probability)):
        if probability[a] < 0.0:
            best = max(best, value[a * lanes])
        else:
            total += probability[a] * value[a * lanes]
    free_total = free_probability(probability)
    return total + free_total * best if free_total > 0.0 else total


@inlined
def apply_lock(weight: np.ndarray, lanes: int, probability: np.ndarray, floor: float) -> None:
    """Compute the strategy of a locked infoset from non-negative weights of its free actions.

    Args:
        weight: float: weight of action ``a`` at ``a * lanes``, replaced by its probability.
        lanes: Distance between consecutive actions.
        probability: float64 (actions,): probabilities of the lock; negative for free actions.
        floor: Uniform share of the total probability of the free actions.
    """
    total, free = 0.0, 0
    for a in range(len(probability)):
        if probability[a] < 0.0:
            total += weight[a * lanes]
            free += 1
    free_total = free_probability(probability)
    for a in range(len(probability)):
        if probability[a] >= 0.0:
            weight[a * lanes] = probability[a]
        elif total > 0.0:
            weight[a * lanes] = free_total * (
                (1.0 - floor) * (weight[a * lanes] / total) + floor / free
            )
        else:
            weight[a * lanes] = free_total / free


@inlined
def has_least(locks: LockedLanes, player: int) -> bool:
    """Return whether actions of a player have least probabilities."""
    return locks.least.shape[0] > 0 and locks.modelled[0] == player


@inlined
def mix_reaches(
    least: np.ndarray,
    lanes: Lanes,
    parent_reach: np.ndarray,
    reach: np.ndarray,
    free_share: np.ndarray,
) -> None:
    """Mix the reaches of the free strategy with the least probabilities.

    Args:
        least: float (sequences,): least probabilities.
        lanes: The infosets.
        parent_reach: float (at least one per infoset,): reach of the sequence before each infoset.
        reach: float (sequences,): modified in place.
        free_share: float (at least one per infoset,): scratch.
    """
    actions, stride, offset, length = lanes
    find_free_shares(least, lanes, free_share)
    for a in range(actions):
        s = np.uint64(offset + a * stride)
        for lane in range(np.uint64(length)):
            reach[s + lane] = (
                free_share[lane] * reach[s + lane] + least[s + lane] * parent_reach[lane]
            )


@inlined
def mix_values(
    least: np.ndarray, lanes: Lanes, value: np.ndarray, mean: np.ndarray, free_share: np.ndarray
) -> None:
    """Mix the values of infosets under the free strategy with those of the least probabilities.

    Args:
        least: float (sequences,): least probabilities.
        lanes: The infosets.
        value: float (sequences,): values of the actions.
        mean: float (at least one per infoset,): values of the infosets, modified in place.
        free_share: float (at least one per infoset,): scratch.
    """
    actions, stride, offset, length = lanes
    find_free_shares(least, lanes, free_share)
    for lane in range(length):
        mean[lane] *= free_share[lane]
    for a in range(actions):
        s = np.uint64(offset + a * stride)
        for lane in range(np.uint64(length)):
            mean[lane] += least[s + lane] * value[s + lane]


@inlined
def find_free_shares(least: np.ndarray, lanes: Lanes, free_share: np.ndarray) -> None:
    """Compute the probability of each infoset that the least probabilities leave over."""
    actions, stride, offset, length = lanes
    free_share[:length] = 1.0
    for a in range(actions):
        s = np.uint64(offset + a * stride)
        for lane in range(np.uint64(length)):
            free_share[lane] -= least[s + lane]


@inlined
def has_payoffs(locks: LockedLanes | None, player: int) -> bool:
    """Return whether a player's payoffs against a model are added."""
    # Nested, because numba removes only branches on an argument that is None.
    if locks is not None:  # noqa: SIM102
        if locks.payoff.shape[0] > 0 and locks.modelled[0] != player:
            return True
    return False


@inlined
def mix_payoffs(
    locks: LockedLanes | None,
    form: SequenceForm,
    player: int,
    first: int,
    last: int,
    value: np.ndarray,
) -> None:
    """Mix a player's payoffs against the free strategy with those against the model.

    Args:
        locks: Locks with payoffs; None to change nothing.
        form: The game, or a part of it.
        player: The player.
        first: First sequence of the player in this part, without entries.
        last: Sequence after the last one.
        value: float (sequences,): payoffs, modified in place.
    """
    if locks is not None:
        share, payoff = locks.share[0], locks.payoff
        for s in range(form.player_sequences[player], form.player_sequences[player + 1]):
            value[s] *= share
        for s in range(first, last):
            value[s] += payoff[s]
