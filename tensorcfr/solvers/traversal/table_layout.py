"""Layout of the numbers of each infoset in the table of a traversal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels.traversal import HEADER, LAST_VISIT
from ...model.flat_game import FlatGame
from ...uncompiled.infoset_table import STRATEGY


@dataclass(frozen=True, eq=False)
class TableLayout:
    """Layout of the blocks of a table; :mod:`tensorcfr.kernels.traversal` describes a block.

    The blocks of a bucket have equal sizes and are contiguous, and so are the buckets.
    """

    game: FlatGame
    extra: int
    """Number of groups after the first three."""
    has_header: bool = True
    """True if blocks have a header (last visit and mark).  Otherwise, no kernel may use either."""

    @property
    def header(self) -> int:
        """Numbers before the regrets of a block."""
        return HEADER if self.has_header else 0

    @cached_property
    def step(self) -> np.ndarray:
        """int64 (buckets,): numbers per block; 0 if the bucket's infosets have one action and no
        block."""
        actions = self.game.form.bucket_actions
        return np.where(actions > 1, self.header + (3 + self.extra) * actions, 0)

    @cached_property
    def first(self) -> np.ndarray:
        """int64 (buckets,): first block of each bucket, that is, the index of its regrets."""
        sizes = self.step * self.game.form.bucket_lanes
        return self.header + np.cumsum(sizes) - sizes

    @property
    def block(self) -> np.ndarray:
        """int64 (infosets,): index of the regrets of the infoset's block; -1 if it has one
        action."""
        form = self.game.form
        lane = np.arange(form.n_infosets) - np.repeat(form.bucket_infoset, form.bucket_lanes)
        first, step = (np.repeat(array, form.bucket_lanes) for array in (self.first, self.step))
        return np.where(step > 0, first + lane * step, -1)

    @property
    def size(self) -> int:
        """Number of numbers in the table."""
        return int(self.step @ self.game.form.bucket_lanes)

    @property
    def sequence(self) -> np.ndarray:
        """int64 (k,): sequences whose infoset has a block, ascending."""
        used = [np.arange(sequences.start, sequences.stop) for sequences, _ in self._groups(0)]
        return np.concatenate([np.empty(0, np.int64), *used])

    @cached_property
    def numbers(self) -> np.ndarray:
        """float64 (:attr:`size`,), at least one: the table itself, zeros on first access."""
        return np.zeros(max(self.size, 1))

    def group(self, index: int) -> np.ndarray:
        """Return a copy of one group of numbers by sequence, float64 (sequences,).

        Sequences whose infoset has no block have 1 in strategies and 0 in other groups.

        Args:
            index: The group: ``REGRETS``, ``STRATEGY``, ``CUMULATIVE``, or one after these.
        """
        values = np.full(self.game.n_sequences, float(index == STRATEGY))
        for sequences, numbers in self._groups(index):
            values[sequences].reshape(numbers.shape)[:] = numbers
        return values

    def set_group(self, index: int, values: np.ndarray) -> None:
        """Write one group of numbers by sequence to the table, the reverse of :meth:`group`."""
        for sequences, numbers in self._groups(index):
            numbers[:] = values[sequences].reshape(numbers.shape)

    def last(self) -> np.ndarray:
        """Return a copy of the last visits, float64 (infosets,); 0 where the table has none."""
        values = np.zeros(self.game.n_infosets)
        for infosets, visits in self._last_visits():
            values[infosets] = visits
        return values

    def set_last(self, values: np.ndarray) -> None:
        """Set the last visits in the table, the reverse of :meth:`last`."""
        for infosets, visits in self._last_visits():
            visits[:] = values[infosets]

    def _groups(self, index: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield, for every bucket with blocks, its sequences and one group of their numbers.

        The numbers are a view of the table, (actions, lanes).
        """
        form = self.game.form
        for bucket, blocks in self._blocks():
            actions = int(form.bucket_actions[bucket])
            offset = self.header + index * actions
            first = int(form.bucket_sequence[bucket])
            yield (
                slice(first, first + actions * len(blocks)),
                blocks[:, offset : offset + actions].T,
            )

    def _last_visits(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield, for every bucket with headers, its infosets and their last visits.

        The last visits are a view of the table, (lanes,).
        """
        for bucket, blocks in self._blocks() if self.has_header else ():
            first = int(self.game.form.bucket_infoset[bucket])
            yield slice(first, first + len(blocks)), blocks[:, self.header - int(LAST_VISIT)]

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield every bucket with blocks, and its blocks with their headers.

        The blocks are a view of the table, (lanes, numbers per block).
        """
        for bucket in np.flatnonzero(self.step).tolist():
            begin = int(self.first[bucket]) - self.header
            step, lanes = int(self.step[bucket]), int(self.game.form.bucket_lanes[bucket])
            yield bucket, self.numbers[begin : begin + lanes * step].reshape(lanes, step)
