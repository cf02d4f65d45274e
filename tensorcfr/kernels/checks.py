"""Checks over all sequences of a game, at the speed of memory.

Each kernel looks at one bucket and returns the first lane or sequence at fault, or -1: what is
said of it is up to the caller.  Only indices that were found to be in range may come in.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import inlined, kernel


@inlined
def _find_bucket(begin: np.ndarray, at: int) -> int:
    """The last of some ascending places that is not beyond ``at``."""
    low, high = 0, len(begin)
    while high - low > 1:
        middle = (low + high) // 2
        if begin[middle] <= at:
            low = middle
        else:
            high = middle
    return low


@kernel
def wrong_actions(
    table: np.ndarray,
    sequence: np.ndarray,
    lanes: np.ndarray,
    actions: np.ndarray,
) -> int:
    """The first lane whose actions do not become, in order, all actions of one infoset.

    Args:
        table: uint32 (actions, lanes): the merged sequences of a bucket's sequences.
        sequence: int64 (buckets,): ``bucket_sequence`` of the merged form.
        lanes: int64 (buckets,): its ``bucket_lanes``.
        actions: int64 (buckets,): its ``bucket_actions``.

    Returns:
        The lane, or -1.
    """
    bucket = 0
    for lane in range(table.shape[1]):
        to = np.int64(table[0, lane])
        # Neighbours are mostly merged into one bucket.
        if not sequence[bucket] <= to < sequence[bucket] + lanes[bucket]:
            bucket = _find_bucket(sequence, to)
            if not sequence[bucket] <= to < sequence[bucket] + lanes[bucket]:
                return lane
        if actions[bucket] != table.shape[0]:
            return lane
        for action in range(1, table.shape[0]):
            if table[action, lane] != to + action * lanes[bucket]:
                return lane
    return -1


@kernel
def wrong_parents(
    to: np.ndarray,
    parent: np.ndarray,
    carrier: np.ndarray,
    sequence: np.ndarray,
    infoset: np.ndarray,
    merged_parent: np.ndarray,
) -> int:
    """The first lane whose parent is not merged into the parent of its merged infoset.

    Args:
        to: uint32 (lanes,): the merged sequences of a bucket's first action.
        parent: uint32 (lanes,): the parents of its infosets.
        carrier: uint32 (sequences,): for every sequence the merged one that has its reach.
        sequence: int64 (buckets,): ``bucket_sequence`` of the merged form.
        infoset: int64 (buckets,): its ``bucket_infoset``.
        merged_parent: uint32 (infosets,): its ``infoset_parent``.

    Returns:
        The lane, or -1.
    """
    bucket = 0
    last = len(sequence) - 1
    for lane in range(len(to)):
        at = np.int64(to[lane])
        if at < sequence[bucket] or (bucket < last and at >= sequence[bucket + 1]):
            bucket = _find_bucket(sequence, at)
        if carrier[parent[lane]] != merged_parent[infoset[bucket] + at - sequence[bucket]]:
            return lane
    return -1


@kernel
def count_members(sequence: np.ndarray, members: np.ndarray) -> None:
    """Count how many sequences are merged into each.

    Args:
        sequence: uint32 (some,): merged sequences.
        members: uint32 (merged sequences,): modified in place.
    """
    for s in range(len(sequence)):
        members[sequence[s]] += np.uint32(1)


@kernel
def wrong_shares(
    sequence: np.ndarray,
    payoff: np.ndarray,
    shares: np.ndarray,
    tolerance: float,
    scale: np.ndarray,
) -> int:
    """The first sequence that does not get its share of the payoff of its merged one.

    Args:
        sequence: uint32 (some,): merged sequences.
        payoff: float64 (some,): what the sequences get.
        shares: float64 (merged sequences,): what each of those that are merged should get.
        tolerance: How far apart they may be, relative to ``scale``.
        scale: float64 (some,).

    Returns:
        The number of the sequence, or -1.
    """
    for s in range(len(sequence)):
        if not abs(payoff[s] - shares[sequence[s]]) <= tolerance * abs(scale[s]):
            return s
    return -1


@kernel
def pass_up(payoff: np.ndarray, parent: np.ndarray, above: np.ndarray) -> None:
    """Add payoffs to those of the sequences before.

    Args:
        payoff: float64 (some,).
        parent: uint32 (some,): the sequence before each.
        above: float64 (sequences,): modified in place.
    """
    for s in range(len(payoff)):
        above[parent[s]] += payoff[s]
