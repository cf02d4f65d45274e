"""Layout of the numbers of each infoset in the table of a traversal, and nodes of its tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels.traversal import CHANCE_NODE, HEADER, LAST_VISIT, TERMINAL_NODE
from ...model.arrays import CHANCE, TERMINAL, levels
from ...model.chunked_form import buckets_by_part
from ...model.compiled_game import CompiledGame
from ...uncompiled.infoset_table import STRATEGY


@dataclass(frozen=True, eq=False)
class TableLayout:
    """Layout of the blocks of a table; :mod:`tensorcfr.kernels.traversal` describes a block.

    The blocks of a bucket have equal sizes and are contiguous, and so are the buckets: those of the
    trunk, then those of each chunk.
    """

    game: CompiledGame
    extra: int
    """Number of groups after the first three."""
    has_header: bool = True
    """True if blocks have a header (last visit and mark).  Otherwise, no kernel may use either."""

    @property
    def header(self) -> int:
        """Numbers before the regrets of a block."""
        return HEADER if self.has_header else 0

    @cached_property
    def buckets(self) -> np.ndarray:
        """int64 (3, buckets): first number in the arrays of a policy, actions and lanes."""
        parts = [
            np.array([np.add(base, first), actions, lanes], dtype=np.int64).reshape(3, -1)
            for base, (first, actions, lanes) in buckets_by_part(self.game.chunks)
        ]
        return np.concatenate(parts, axis=1)

    @cached_property
    def step(self) -> np.ndarray:
        """int64 (buckets,): numbers per block; 0 if the bucket's infosets have one action and no
        block."""
        actions = self.buckets[1]
        return np.where(actions > 1, self.header + (3 + self.extra) * actions, 0)

    @cached_property
    def first(self) -> np.ndarray:
        """int64 (buckets,): first block of each bucket, that is, the index of its regrets."""
        sizes = self.step * self.buckets[2]
        return self.header + np.cumsum(sizes) - sizes

    @property
    def block(self) -> np.ndarray:
        """int64 (infosets,): index of the regrets of the infoset's block; -1 if it has one
        action."""
        lanes = self.buckets[2]
        lane = np.arange(lanes.sum()) - np.repeat(np.cumsum(lanes) - lanes, lanes)
        first, step = (np.repeat(array, lanes) for array in (self.first, self.step))
        return np.where(step > 0, first + lane * step, -1)

    @property
    def size(self) -> int:
        """Number of numbers in the table."""
        return int(self.step @ self.buckets[2])

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
        """Return a copy of one group of numbers by sequence, float64 (numbers of a policy,).

        Sequences whose infoset has no block have 1 in strategies and 0 in other groups.

        Args:
            index: The group: ``REGRETS``, ``STRATEGY``, ``CUMULATIVE``, or one after these.
        """
        values = np.full(self.game.n_numbers, float(index == STRATEGY))
        for sequences, numbers in self._groups(index):
            values[sequences].reshape(numbers.shape)[:] = numbers
        return values

    def set_group(self, index: int, values: np.ndarray) -> None:
        """Write one group of numbers by sequence to the table, the reverse of :meth:`group`."""
        for sequences, numbers in self._groups(index):
            numbers[:] = values[sequences].reshape(numbers.shape)

    def play_uniformly(self) -> None:
        """Set all strategies to uniform ones."""
        for _, numbers in self._groups(STRATEGY):
            numbers[:] = 1.0 / len(numbers)

    def last(self) -> np.ndarray:
        """Return a copy of the last visits, float64 (infosets,); 0 where the table has none."""
        values = np.zeros(int(self.buckets[2].sum()))
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
        for bucket, blocks in self._blocks():
            first, actions, _ = self.buckets[:, bucket].tolist()
            offset = self.header + index * actions
            yield (
                slice(first, first + actions * len(blocks)),
                blocks[:, offset : offset + actions].T,
            )

    def _last_visits(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield, for every bucket with headers, its infosets and their last visits.

        The last visits are a view of the table, (lanes,).
        """
        infoset = np.cumsum(self.buckets[2]) - self.buckets[2]
        for bucket, blocks in self._blocks() if self.has_header else ():
            first = int(infoset[bucket])
            yield slice(first, first + len(blocks)), blocks[:, self.header - int(LAST_VISIT)]

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield every bucket with blocks, and its blocks with their headers.

        The blocks are a view of the table, (lanes, numbers per block).
        """
        for bucket in np.flatnonzero(self.step).tolist():
            begin = int(self.first[bucket]) - self.header
            step, lanes = int(self.step[bucket]), int(self.buckets[2, bucket])
            yield bucket, self.numbers[begin : begin + lanes * step].reshape(lanes, step)


def node_records(player: np.ndarray, first_child: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Create the nodes of a traversal tree, with actors and children; other fields are 0.

    Args:
        player: int8 (nodes,): acting player, ``CHANCE`` or ``TERMINAL``.
        first_child: int (nodes + 1,): first child of each node.
        dtype: ``HISTORY_NODE`` or ``PUBLIC_NODE``.
    """
    node = np.zeros(len(player), dtype)
    node["actor"] = np.where(player == CHANCE, CHANCE_NODE, np.maximum(player, 0))
    node["actor"][player == TERMINAL] = TERMINAL_NODE
    node["first_child"] = first_child[:-1]
    node["n_children"] = np.diff(first_child)
    return node


def tree_depth(first_child: np.ndarray) -> int:
    """Compute the largest number of decisions and chance nodes before a terminal, at least 1."""
    return sum(1 for _ in levels(first_child))
