"""Passes over sequence forms in which several sequences lead to an infoset: belief DAGs.

The forms have no operator here, so that a kernel is compiled once for all of them.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import kernel
from ..model.arrays import SequenceForm
from ..model.team_game import Links


@kernel
def spread(form: SequenceForm, links: Links, strategy: np.ndarray, reach: np.ndarray) -> None:
    """Own reach of every sequence: that of an infoset is the sum over the sequences before it.

    Args:
        form: The infosets of all sides.
        links: The sequences before each.
        strategy: float64 (sequences,).
        reach: float64 (sequences,): modified in place; 1 for the empty sequences.
    """
    for player in range(form.player_sequences.shape[0] - 1):
        reach[form.player_sequences[player]] = 1.0
    for b in range(form.bucket_lanes.shape[0]):
        actions, lanes, first = (
            form.bucket_actions[b],
            form.bucket_lanes[b],
            form.bucket_sequence[b],
        )
        for lane in range(lanes):
            infoset, above = form.bucket_infoset[b] + lane, 0.0
            for one in range(links.first[infoset], links.first[infoset + 1]):
                above += reach[links.sequence[one]]
            for s in range(first + lane, first + actions * lanes, lanes):
                reach[s] = above * strategy[s]


@kernel
def collect(
    form: SequenceForm,
    links: Links,
    player: int,
    strategy: np.ndarray,
    value: np.ndarray,
    best: bool,
) -> None:
    """Pass the values of infosets up to all sequences before them.

    Args:
        form: The infosets of all sides.
        links: The sequences before each.
        player: The side.
        strategy: float64 (sequences,): if ``best``, the entries of the side are modified in place,
            to the first of the best actions.
        value: float64 (sequences,): payoffs of the side's sequences; modified in place to their
            values, that of the empty sequence to the value of the game.
        best: Whether infosets have the value of their best action, and not that of the strategy.
    """
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes, first = (
            form.bucket_actions[b],
            form.bucket_lanes[b],
            form.bucket_sequence[b],
        )
        for lane in range(lanes):
            begin, end = first + lane, first + actions * lanes
            if best:
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
            for one in range(links.first[infoset], links.first[infoset + 1]):
                value[links.sequence[one]] += v
