"""Infosets that share one strategy although their player reaches them in different ways."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .arrays import SequenceForm

FORGETS = (
    "A player forgets here (imperfect recall): CFR has no guarantee, averages may be worse than "
    "what they are averages of, and an equilibrium in behaviour strategies need not exist.  Best "
    "responses and the exploitability reported are of players who remember."
)


class Tied(NamedTuple):
    """The infosets that share strategies, each once."""

    form: SequenceForm
    """A sequence form of one level: each infoset comes right after the empty sequence.  Its payoff
    operator is that of the game and means nothing here."""
    sequence: np.ndarray
    """int64 (sequences of the game,): the sequence of :attr:`form` that each shares its probability
    with."""

    def added(self, array: np.ndarray, player: slice) -> np.ndarray:
        """The sums over sequences that share a probability.

        Args:
            array: float64 (sequences of the game,).
            player: The sequences of the game to add.

        Returns:
            float64 (sequences of :attr:`form`,).
        """
        return np.bincount(
            self.sequence[player], weights=array[player], minlength=self.form.n_sequences
        )


def tied_form(form: SequenceForm, tied_to: np.ndarray) -> Tied:
    """The infosets that share strategies, each once.

    Args:
        form: The game.
        tied_to: uint32 (infosets,): the first infoset of those that share a strategy with each.
    """
    infosets = np.arange(form.n_infosets)
    first = np.flatnonzero(tied_to == infosets)
    actions = np.repeat(form.bucket_actions, form.bucket_lanes)
    player = np.repeat(np.arange(form.n_players), np.diff(form.player_infosets))
    order = first[np.lexsort((first, actions[first], player[first]))]
    kinds, lanes = np.unique(np.stack([player[order], actions[order]]), axis=1, return_counts=True)
    owner, n_actions = kinds
    # The empty sequence of each player comes before the player's first bucket.
    begin = np.cumsum(lanes * n_actions) - lanes * n_actions + owner + 1
    lane = np.arange(len(order)) - np.repeat(np.cumsum(lanes) - lanes, lanes)
    of_first = np.empty((2, form.n_infosets), dtype=np.int64)
    of_first[:, order] = np.repeat(begin, lanes) + lane, np.repeat(lanes, lanes)
    players = np.arange(form.n_players + 1)
    ends = np.concatenate([[0], np.cumsum(lanes * n_actions)])
    buckets = np.searchsorted(owner, players)
    player_sequences = ends[buckets] + players
    sequence = np.empty(form.n_sequences, dtype=np.int64)
    sequence[form.player_sequences[:-1]] = player_sequences[:-1]
    own_lane = infosets - np.repeat(form.bucket_infoset, form.bucket_lanes)
    own_first = np.repeat(form.bucket_sequence, form.bucket_lanes) + own_lane
    own_stride = np.repeat(form.bucket_lanes, form.bucket_lanes)
    for action in range(int(actions.max(initial=0))):
        here = np.flatnonzero(actions > action)
        start, stride = of_first[:, tied_to[here]]
        sequence[own_first[here] + action * own_stride[here]] = start + action * stride
    layout = SequenceForm(
        player_infosets=np.concatenate(
            [[0], np.cumsum(np.bincount(player[order], minlength=form.n_players))]
        ),
        player_sequences=player_sequences,
        player_buckets=buckets,
        bucket_level=np.zeros(len(lanes), dtype=np.int64),
        bucket_actions=n_actions,
        bucket_lanes=lanes,
        bucket_infoset=np.cumsum(lanes) - lanes,
        bucket_sequence=begin,
        bucket_stride=lanes,
        bucket_mask=np.zeros(len(lanes), dtype=np.int64),
        hand_rank=np.array([[0, 1]]),
        infoset_parent=player_sequences[player[order]].astype(np.uint32),
        operator=form.operator,
    )
    # Read-only as the arrays of games are, so that kernels compiled for them do.
    for array in (*layout[:-1], sequence):
        array.flags.writeable = False
    return Tied(layout, sequence)
