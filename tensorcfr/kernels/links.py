"""Forward and backward pass of belief DAGs, in which several sequences lead to one infoset.

The forms have no payoff operator here, so that a kernel is compiled once for all of them.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import kernel
from ..model.arrays import SequenceForm
from ..model.team_game import Links


@kernel
def linked_forward(
    form: SequenceForm, links: Links, strategy: np.ndarray, reach: np.ndarray
) -> None:
    """Compute own reach of every sequence; an infoset sums the reaches of all sequences before it.

    Args:
        form: Infosets of all sides.
        links: Sequences before each infoset.
        strategy: float64 (sequences,).
        reach: float64 (sequences,): modified in place; 1 for the empty sequences.
    """
    for player in range(form.player_sequences.shape[0] - 1):
        reach[form.player_sequences[player]] = 1.0
    for b in range(form.bucket_lanes.shape[0]):
        actions = form.bucket_actions[b]
        lanes = form.bucket_lanes[b]
        first = form.bucket_sequence[b]
        for lane in range(lanes):
            infoset, parent_reach = form.bucket_infoset[b] + lane, 0.0
            for link in range(links.first[infoset], links.first[infoset + 1]):
                # Several sequences may lead to the infoset: its reach is the sum over all of them.
                parent_reach += reach[links.sequence[link]]
            for s in range(first + lane, first + actions * lanes, lanes):
                reach[s] = parent_reach * strategy[s]


@kernel
def linked_backward(
    form: SequenceForm,
    links: Links,
    player: int,
    strategy: np.ndarray,
    value: np.ndarray,
    best: bool,
) -> None:
    """Add the values of infosets to all sequences before them, from the deepest level up.

    Args:
        form: Infosets of all sides.
        links: Sequences before each infoset.
        player: The side.
        strategy: float64 (sequences,): if ``best``, modified in place at the side's sequences, to
            the first of the best actions.
        value: float64 (sequences,): payoffs of the side's sequences on entry, and their values on
            return; the empty sequence has the value of the game.
        best: Whether an infoset has the value of its best action instead of the strategy's value.
    """
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions = form.bucket_actions[b]
        lanes = form.bucket_lanes[b]
        first = form.bucket_sequence[b]
        for lane in range(lanes):
            begin, end = first + lane, first + actions * lanes
            if best:
                # Strict comparison below: ties go to the first action.
                chosen = begin
                for s in range(begin, end, lanes):
                    strategy[s] = 0.0
                    if value[s] > value[chosen]:
                        chosen = s
                strategy[chosen] = 1.0
            v = 0.0
            for s in range(begin, end, lanes):
                v += strategy[s] * value[s]
            infoset = form.bucket_infoset[b] + lane
            for link in range(links.first[infoset], links.first[infoset + 1]):
                # Each of these sequences gets the full value: the forward pass weights it by its
                # reach.
                value[links.sequence[link]] += v
