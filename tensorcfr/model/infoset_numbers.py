"""The numbers of players, infosets and sequences of a game in sequence form."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .._util.argument_checks import Whole
from .arrays import SequenceForm
from .chunked_form import ChunkedForm, as_trunk
from .infoset_rows import InfosetRows, Located
from .labels import InfosetLabels

TOGETHER = 16_384
"""Number of infosets whose labels are made together."""
INFOSET = Whole(counts="the number of an infoset")


class InfosetNumbers:
    """Properties that follow from the layout of a sequence form."""

    if TYPE_CHECKING:

        @property
        def form(self) -> SequenceForm:
            """Sequence form of the game."""

        @property
        def infoset_labels(self) -> Sequence[str]:
            """Label of each infoset."""

        @property
        def infoset_actions(self) -> Sequence[tuple[str, ...]]:
            """Action labels of each infoset."""

        @property
        def infoset_index(self) -> Mapping[str, int]:
            """Mapping from labels to infosets."""

    @cached_property
    def chunks(self) -> ChunkedForm:
        """Game as a trunk without chunks."""
        return as_trunk(self.form)

    @property
    def n_players(self) -> int:
        """Number of players; they are numbered from 0."""
        return self.form.n_players

    @property
    def n_infosets(self) -> int:
        """Number of infosets of all players."""
        return self.form.n_infosets

    @property
    def n_sequences(self) -> int:
        """Number of sequences of all players, the empty ones included."""
        return self.form.n_sequences

    @property
    def n_numbers(self) -> int:
        """Length of the arrays of a policy."""
        return self.form.n_sequences

    @cached_property
    def infoset_sequence(self) -> np.ndarray:
        """int64 (infosets,): sequence of the first action of each infoset."""
        return self.form.infoset_sequence

    @cached_property
    def infoset_stride(self) -> np.ndarray:
        """int64 (infosets,): distance between the sequences of consecutive actions."""
        return self.form.infoset_stride

    @cached_property
    def infoset_player(self) -> np.ndarray:
        """int64 (infosets,): acting player."""
        return self.form.infoset_player

    def labels_of(self, player: int) -> Iterator[str]:
        """Yield the labels of a player's infosets, in the order of the game."""
        first, end = self.form.player_infosets[player : player + 2].tolist()
        labels = self.infoset_labels
        return (labels[infoset] for infoset in range(first, end))

    def count_of(self, player: int) -> int:
        """Return the number of infosets of a player."""
        first, end = self.form.player_infosets[player : player + 2].tolist()
        return int(end - first)

    def locate(self, label: str) -> Located:
        """Return an infoset by its label.

        Raises:
            KeyError: There is no such infoset.
        """
        infoset = self.infoset_index[label]
        return Located(
            self.infoset_labels[infoset],
            int(self.infoset_player[infoset]),
            self.infoset_actions[infoset],
            self.sequences(infoset),
        )

    def rows(self, player: int) -> Iterator[InfosetRows]:
        """Yield the infosets of a player in order, some at a time."""
        form = self.form
        for bucket in range(*form.player_buckets[player : player + 2].tolist()):
            # Consecutive actions of an infoset are ``lanes`` sequences apart.
            action = int(form.bucket_lanes[bucket]) * np.arange(form.bucket_actions[bucket])
            for lane, labels, actions in self._labelled(bucket):
                first = form.bucket_sequence[bucket] + lane + np.arange(len(labels))
                multiplicity = np.ones(len(labels))
                yield InfosetRows(player, labels, actions, first[:, None] + action, multiplicity)

    def rows_of(self, infosets: list[int]) -> InfosetRows:
        """Return some infosets of one player with equally many actions."""
        actions = [self.infoset_actions[infoset] for infoset in infosets]
        action = np.arange(len(actions[0]))
        return InfosetRows(
            int(self.infoset_player[infosets[0]]),
            [self.infoset_labels[infoset] for infoset in infosets],
            actions,
            self.infoset_sequence[infosets][:, None]
            + self.infoset_stride[infosets][:, None] * action,
            np.ones(len(infosets)),
        )

    def _labelled(self, bucket: int) -> Iterator[tuple[int, list[str], list[tuple[str, ...]]]]:
        """Yield first lane, labels and actions of some lanes of a bucket at a time."""
        if isinstance(self.infoset_labels, InfosetLabels):
            yield from self.infoset_labels.of_bucket(bucket, TOGETHER)
            return
        begin, lanes = int(self.form.bucket_infoset[bucket]), int(self.form.bucket_lanes[bucket])
        for lane in range(0, lanes, TOGETHER):
            infosets = slice(begin + lane, begin + min(lane + TOGETHER, lanes))
            yield lane, list(self.infoset_labels[infosets]), list(self.infoset_actions[infosets])

    def sequences(self, infoset: int) -> slice:
        """Return the sequences of an infoset as a slice, in the order of its actions.

        Raises:
            IndexError: There is no such infoset.
            ValueError: The argument is not a whole number.
        """
        infoset = range(self.n_infosets)[INFOSET("infoset", infoset)]
        begin, sequence, lanes, actions = self._buckets
        # First infosets ascend, so the bucket is the last one that begins at or before the infoset.
        bucket = bisect_right(begin, infoset) - 1
        first, stride = sequence[bucket] + infoset - begin[bucket], lanes[bucket]
        return slice(first, first + stride * actions[bucket], stride)

    @cached_property
    def _buckets(self) -> list[list[int]]:
        """First infoset, first sequence, lanes and actions of the buckets.

        They are lists because single look-ups in a list are faster than in an array.
        """
        form = self.form
        arrays = (form.bucket_infoset, form.bucket_sequence, form.bucket_lanes, form.bucket_actions)
        return [array.tolist() for array in arrays]
