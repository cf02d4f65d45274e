"""Kernels that sum the true regrets of strategies, whatever a solver keeps of them."""

from __future__ import annotations

import numpy as np

from .._util.jit import inlined, kernel
from ..model.arrays import LockedLanes, SequenceForm
from ..payoff.multiply import payoff_product, payoff_scratch
from .evaluation import maximise
from .locks import free_share, of_lock


@kernel
def add_regrets(
    form: SequenceForm,
    player: int,
    strategy: np.ndarray,
    reach: np.ndarray,
    value: np.ndarray,
    gradient: np.ndarray,
    regret: np.ndarray,
    locks: LockedLanes | None,
) -> float:
    """Add one iteration's counterfactual regrets of one player.

    Args:
        form: The game.
        player: Whose.
        strategy: float64 (sequences,): his part is the strategy that he played.
        reach: float64 (sequences,): the others' reaches.
        value: float64 (sequences,): scratch, his part is modified in place.
        gradient: float64 (sequences,): his part is modified in place: what each sequence earns
            per unit of own reach is added.
        regret: float64 (sequences,): his part is modified in place.
        locks: Locked infosets, or None: a locked action regrets nothing, and a free one
            what the free ones are worth together.

    Returns:
        What his strategy earned.
    """
    payoff_product(form, player, reach, value, payoff_scratch(form))
    for s in range(form.player_sequences[player], form.player_sequences[player + 1]):
        gradient[s] += value[s]
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        first, infoset = form.bucket_sequence[b], form.bucket_infoset[b]
        if locks is not None:
            lock, last_lock = locks.bucket[b], locks.bucket[b + 1]
        for lane in range(lanes):
            v = 0.0
            for a in range(actions):
                s = first + a * lanes + lane
                v += strategy[s] * value[s]
            value[form.infoset_parent[infoset + lane]] += v
            if locks is not None and lock < last_lock and locks.lane[lock] == lane:
                probability = of_lock(locks, lock, actions)
                at = first + lane
                _add_free(strategy[at:], value[at:], lanes, probability, regret[at:])
                lock += 1
                continue
            for a in range(actions):
                s = first + a * lanes + lane
                regret[s] += value[s] - v
    return value[form.player_sequences[player]]


@inlined
def _add_free(
    strategy: np.ndarray, q: np.ndarray, lanes: int, probability: np.ndarray, regret: np.ndarray
) -> None:
    """Add the regrets of the free actions of a locked infoset, against what these are worth
    together.

    Args:
        strategy: Probabilities, action ``a`` at ``a * lanes``.
        q: Values, likewise.
        lanes: Distance between consecutive actions.
        probability: float64 (actions,): those of the lock.
        regret: Likewise; modified in place.
    """
    share, mean = free_share(probability), 0.0
    for a in range(len(probability)):
        if probability[a] < 0.0:
            mean += strategy[a * lanes] * q[a * lanes] / share
    for a in range(len(probability)):
        if probability[a] < 0.0:
            regret[a * lanes] += q[a * lanes] - mean


@kernel
def best_total(
    form: SequenceForm, gradient: np.ndarray, best: np.ndarray, locks: LockedLanes | None
) -> None:
    """What each player's best fixed strategy earns.

    Args:
        form: The game.
        gradient: float64 (sequences,): what each sequence earns per unit of own reach; modified in
            place.
        best: float64 (players,): modified in place.
        locks: Locked infosets, which every strategy plays as they are locked; or None.
    """
    for player in range(form.player_sequences.shape[0] - 1):
        maximise(form, player, gradient, locks)
        best[player] = gradient[form.player_sequences[player]]
