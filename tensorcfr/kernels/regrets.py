"""Kernels that sum true regrets, independently of the regrets that a local rule keeps."""

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
    """Add the counterfactual regrets of one player in one iteration.

    Args:
        form: The game.
        player: The player.
        strategy: float64 (sequences,): the player's strategy in this iteration.
        reach: float64 (sequences,): own reaches of the other players.
        value: float64 (sequences,): scratch; the player's entries are modified in place.
        gradient: float64 (sequences,): the counterfactual payoff of each sequence of the player
            is added in place.
        regret: float64 (sequences,): the player's entries are modified in place.
        locks: Locked infosets, or None; locked actions have no regret, and free actions have
            regret against the mean of the free actions.

    Returns:
        The expected value of the player's strategy.
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
    """Add regrets of the free actions of a locked infoset, against the mean of the free actions.

    Args:
        strategy: float64: probability of action ``a`` at ``a * lanes``.
        q: float64: counterfactual value of action ``a`` at ``a * lanes``.
        lanes: Distance between consecutive actions.
        probability: float64 (actions,): probabilities of the lock; negative for free actions.
        regret: float64: regret of action ``a`` at ``a * lanes``; modified in place.
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
    """Total value of the best fixed strategy of each player.

    Args:
        form: The game.
        gradient: float64 (sequences,): summed counterfactual payoffs; modified in place.
        best: float64 (players,): modified in place.
        locks: Locked infosets, or None; every strategy keeps locked probabilities.
    """
    for player in range(form.player_sequences.shape[0] - 1):
        maximise(form, player, gradient, locks)
        best[player] = gradient[form.player_sequences[player]]
