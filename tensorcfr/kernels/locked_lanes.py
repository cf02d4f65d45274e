"""Locked infosets, which kernels process outside the loops over free lanes."""

from __future__ import annotations

import numpy as np

from .._util.jit import inlined
from ..model.arrays import LockedLanes


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
