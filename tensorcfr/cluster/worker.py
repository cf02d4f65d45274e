"""Code of a cluster solve that runs in the workers: a share of the chunks and its solver arrays."""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._util.aligned import aligned
from .._util.hardware import versions
from .._util.memory_budget import free_memory
from ..algorithms import Algorithm
from ..errors import MemoryLimitError
from ..evaluation.profile import results_for
from ..kernels.pass_arrays import TrunkScratch
from ..model.arrays import frozen_arrays
from ..model.branch_shares import BranchShare, share_of
from ..model.chunked_form import ROW, ChunkedForm, ChunkLocks
from ..solvers.passes import Passes, bytes_of_passes, new_counters
from ..solvers.solver_state import State, first_state, floats_of
from ..solvers.threads import run_together
from ..solvers.value_bounds import bucket_bounds
from ..storage.game_files import unpack_game
from ..storage.recipes import KEY

StateNumbers = dict[str, np.ndarray]
"""Consecutive numbers of the arrays of a :class:`State` by name; see :func:`numbers_of`."""


class ShareOrder(NamedTuple):
    """Description of the share that a worker must make."""

    name: str
    """Name of the game."""
    recipe: np.ndarray | None
    """Recipe to compile the game, uint8, as in its file; None for a game of the user."""
    share: BranchShare | None
    """Share itself, if there is no recipe."""
    begin: int
    """First chunk."""
    end: int
    """Chunk after the last one."""
    algorithm: Algorithm
    """Algorithm; it is sent by name."""
    precision: str
    """Precision of the arrays."""
    locks: ChunkLocks | None
    """Locks of the share."""
    threads: int
    """Number of threads of the worker."""
    versions: str
    """Software versions of the solver; see :func:`tensorcfr._util.hardware.versions`."""


class ShareWorker:
    """Share of a game's chunks, with its solver arrays, in a worker.

    Args:
        order: Description of the share.

    Raises:
        ValueError: This process has other versions, or compiles another game.
        MemoryLimitError: The arrays would not fit.
    """

    def __init__(self, order: ShareOrder) -> None:
        if versions() != order.versions:
            raise ValueError(f"a worker has {versions()}, not {order.versions}")
        share = order.share
        if order.recipe is not None:
            share = share_of(_compiled(order.name, order.recipe.tobytes()), order.begin, order.end)
        assert share is not None
        self._form: ChunkedForm = frozen_arrays(share.form)
        self._up = [entries - share.first_entry for entries in share.up]
        record, dtype = order.algorithm, np.dtype(order.precision)
        needed = bytes_of_passes(self._form, record, order.precision, order.threads)
        if needed > (limit := free_memory()):
            raise MemoryLimitError(f"a share of {order.name}", needed, limit)
        # Kernels are compiled for writable arrays, but received arrays are read-only.
        locks = order.locks and ChunkLocks(*(array.copy() for array in order.locks))
        self._rule = record.rule
        value_bound = bucket_bounds(self._form, dtype)
        self._state = first_state(self._form, record.rule, dtype, locks)
        self._passes = Passes(self._form, record, self._state, value_bound, locks, order.threads)
        # This process does not have the trunk: nothing reads the array in its place.
        self._trunk = trunk = aligned(self._form.trunk.n_sequences, floats_of(dtype))
        stored = self._passes.stored
        self._passes.stored = stored._replace(
            regret=stored.regret._replace(trunk=trunk),
            cumulative=stored.cumulative._replace(trunk=trunk),
        )

    def numbers(self, begin: int, end: int) -> StateNumbers:
        """Copy the numbers ``begin`` to ``end - 1`` of the arrays."""
        views = numbers_of(self._state, begin, end)
        return {name: array.copy() for name, array in views.items()}

    def put(self, begin: int, end: int, numbers: StateNumbers) -> None:
        """Set numbers ``begin`` to ``end - 1`` of the arrays."""
        put_numbers(self._state, begin, end, numbers)

    def scale_average(self, factor: float) -> None:
        """Multiply the cumulative strategy by a factor."""
        self._state.scale_average(factor)

    def work(self, order: bytes, message: np.ndarray) -> np.ndarray:
        """Run a pass through the chunks of the share.

        Args:
            order: The pass, a pickled :class:`~tensorcfr.kernels.pass_arrays.PassSchedule`.
            message: The result of :func:`reaches_for`.

        Returns:
            Float array: the values of the entries of each updated player.
        """
        schedule, passes = pickle.loads(order), self._passes
        self._enter(message, schedule.computes_reach[0], passes.trunk)
        counters = new_counters(1)
        counters[0, 0] = 1  # The forward pass of the trunk is done.
        # Thread 0, which processes the trunk, is the solver's process; number the threads from 1.
        run_together(
            lambda thread: passes.run_share(
                schedule, thread, thread + 1, passes.threads + 1, counters
            ),
            passes.threads,
            counters,
        )
        trunk = passes.trunk
        players = np.flatnonzero(schedule.updates[0])
        up = [trunk.entry_value[self._up[player]] for player in players]
        return np.concatenate(up or [self._trunk[:0]])

    def evaluate(
        self, current: bool, floor: float, message: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate strategies in the chunks of the share.

        Args:
            current: True to evaluate the current strategies, not the averages.
            floor: Share of every strategy that is uniform.
            message: The result of :func:`reaches_for` for all players.

        Returns:
            Float array of the best-response values of the entries, player 0's first; and float64
            (chunks, players): expected values from the terminals of each chunk.
        """
        trunk = self._passes.double_trunk
        self._enter(message, np.ones(self._form.n_players, dtype=bool), trunk)
        weight = self._state.played(self._rule)[0] if current else self._state.averages
        expected, best = results_for(self._form)
        self._passes.evaluate_chunks(weight._replace(trunk=self._trunk), floor, expected, best)
        up = [trunk.entry_value[indices] for indices in self._up]
        return np.concatenate(up), expected[:-1]

    def _enter(self, message: np.ndarray, descends: np.ndarray, trunk: TrunkScratch) -> None:
        """Copy the reaches of a message to the arrays that the kernels read."""
        bounds, offset = self._form.trunk.player_sequences, 0
        for player in np.flatnonzero(descends):
            first, last = bounds[player], bounds[player + 1]
            trunk.reach[first:last] = message[offset : offset + last - first]
            offset += last - first


def reaches_for(share: BranchShare, descends: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Collect the numbers of the trunk that a share needs in a pass.

    Args:
        share: The share.
        descends: bool (players,): True for players whose reaches are needed.
        reach: float (trunk sequences,): own reaches.

    Returns:
        One array with the dtype of ``reach``: own reaches at ``share.down``, for each of these
        players.
    """
    players = np.flatnonzero(descends)
    parts = [reach[share.down[player]] for player in players]
    return np.concatenate(parts or [reach[:0]])


def numbers_of(state: State, begin: int, end: int) -> StateNumbers:
    """Return views of the numbers ``begin`` to ``end - 1`` of all arrays of a state.

    Args:
        state: The state.
        begin: First number, a multiple of :data:`~tensorcfr.model.chunked_form.ROW`.
        end: Number after the last one, a multiple of :data:`~tensorcfr.model.chunked_form.ROW`.
    """
    return {
        "regret": state.regret[begin:end],
        "cumulative": state.cumulative[begin:end],
        "strategy": state.strategy[begin:end],
        "reach": state.reach[begin:end],
        "memory": state.memory[:, begin:end],
        "scale": state.scale[:, begin // ROW : end // ROW],
    }


def put_numbers(state: State, begin: int, end: int, numbers: StateNumbers) -> None:
    """Set the numbers ``begin`` to ``end - 1`` of a state in place; see :func:`numbers_of`."""
    for name, view in numbers_of(state, begin, end).items():
        view[...] = numbers[name]


@lru_cache(maxsize=1)
def _compiled(name: str, recipe: bytes) -> ChunkedForm:
    """Compile the game of a recipe; the shares in this process use the same object.

    Raises:
        ValueError: The recipe gives another game in this process.
    """
    try:
        return unpack_game({KEY: np.frombuffer(recipe, dtype=np.uint8)}).chunks
    except ValueError as error:
        raise ValueError(f"the worker compiled a different {name}: {error}") from error
