"""Kernels that sum the true regrets of strategies, whatever a solver keeps of them."""

from __future__ import annotations

import numpy as np

from ..compiled import SequenceForm
from .evaluation import maximise
from .jit import kernel
from .payoff import block_scratch, payoff_product


@kernel
def add_regrets(
    form: SequenceForm,
    player: int,
    strategy: np.ndarray,
    reach: np.ndarray,
    value: np.ndarray,
    gradient: np.ndarray,
    regret: np.ndarray,
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

    Returns:
        What his strategy earned.
    """
    payoff_product(form, player, reach, value, block_scratch(form.blocks))
    for s in range(form.player_sequences[player], form.player_sequences[player + 1]):
        gradient[s] += value[s]
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        first, infoset = form.bucket_sequence[b], form.bucket_infoset[b]
        for lane in range(lanes):
            v = 0.0
            for a in range(actions):
                s = first + a * lanes + lane
                v += strategy[s] * value[s]
            for a in range(actions):
                s = first + a * lanes + lane
                regret[s] += value[s] - v
            value[form.infoset_parent[infoset + lane]] += v
    return value[form.player_sequences[player]]


@kernel
def best_total(form: SequenceForm, gradient: np.ndarray, best: np.ndarray) -> None:
    """What each player's best fixed strategy earns.

    Args:
        form: The game.
        gradient: float64 (sequences,): what each sequence earns per unit of own reach; modified in
            place.
        best: float64 (players,): modified in place.
    """
    for player in range(form.player_sequences.shape[0] - 1):
        maximise(form, player, gradient, None)
        best[player] = gradient[form.player_sequences[player]]
