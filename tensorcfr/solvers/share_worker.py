"""The part of a solve on a cluster that runs in its workers: a share of the chunks, with the
solver's arrays over it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._util.machine import versions
from .._util.memory import free_memory
from ..algorithms import Algorithm
from ..errors import MemoryLimitError
from ..kernels import chunks as kernels
from ..kernels.chunks import Kept, Turns
from ..kernels.meeting import MEETING
from ..model.chunks import ROW, ChunkedForm, ChunkLocks
from ..model.cut_game import CutGame
from ..model.shares import Share, frozen_arrays, share_of
from ..storage.cut_game import KEY
from ..storage.game import unpack_game
from .chunked_solver import (
    PARTS_PER_THREAD,
    ChunkedState,
    aligned,
    bytes_needed,
    chunk_scratch,
    current_numbers,
    first_state,
    floats_of,
    trunk_scratch,
)

StateNumbers = tuple[np.ndarray, ...]
"""Some consecutive numbers of the arrays of a :class:`ChunkedState`; see :func:`numbers_of`."""


class ShareOrder(NamedTuple):
    """The share that a worker is to make."""

    name: str
    """The game."""
    recipe: np.ndarray | None
    """How to compile the game, as in its file; None for games of one's own."""
    share: Share | None
    """For these the share itself."""
    begin: int
    """The first chunk."""
    end: int
    """The chunk after the last one."""
    algorithm: Algorithm
    """It goes over the wire by name."""
    precision: str
    """Precision of the arrays."""
    locks: ChunkLocks | None
    """Locks of the share."""
    threads: int
    """Threads that work on it."""
    versions: str
    """The versions that the solver runs with, as :func:`tensorcfr._util.machine.versions`."""


class ShareWorker:
    """A share of a game's chunks, with the solver's arrays over it.

    Args:
        order: Which share.

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
        self._up = [own - share.first_entry for own in share.up]
        rule, record = order.algorithm.rule, order.algorithm
        needed = bytes_needed(self._form, record, order.precision, order.threads)
        if needed > (limit := free_memory()):
            raise MemoryLimitError(f"a share of {order.name}", needed, limit)
        dtype = np.dtype(order.precision)
        floats = floats_of(dtype)
        # Kernels are compiled for arrays that can be written to; those from the wire cannot.
        self._locks = order.locks and ChunkLocks(*(array.copy() for array in order.locks))
        self._rule = rule
        self._state = first_state(self._form, rule, dtype, self._locks)
        # The weights in the averages, which others play against.
        totals = aligned(self._form.trunk.n_sequences, floats)
        self._totals = totals
        self._kept = Kept(
            self._state.regrets._replace(trunk=totals),
            self._state.averages._replace(trunk=totals),
            None if rule.matches_regret else self._state.strategy,
            self._state.memory,
        )
        averaged = record.against == "average"
        self._trunk = trunk_scratch(self._form, floats, forecast=rule.forecast, averaged=averaged)
        self._threads = order.threads
        self._scratch = [
            chunk_scratch(self._form, floats, forecast=rule.forecast, packed=floats != dtype)
            for _ in range(order.threads)
        ]
        self._parts = 1 if order.threads == 1 else order.threads * PARTS_PER_THREAD
        self._pool = ThreadPoolExecutor(order.threads, thread_name_prefix="tensorcfr")

    def numbers(self, begin: int, end: int) -> StateNumbers:
        """Numbers ``begin`` to ``end - 1`` of the arrays; copies."""
        return tuple(array.copy() for array in numbers_of(self._state, begin, end))

    def put(self, begin: int, end: int, numbers: StateNumbers) -> None:
        """Set numbers ``begin`` to ``end - 1`` of the arrays."""
        put_numbers(self._state, begin, end, numbers)

    def restart_average(self) -> None:
        """Set the cumulative strategy to zero."""
        self._state.cumulative[:] = 0

    def work(self, order: bytes, message: np.ndarray) -> np.ndarray:
        """A pass through the chunks.

        Args:
            order: The result of :func:`pass_order`.
            message: The result of :func:`reaches_for`.

        Returns:
            For the players who are updated, one after the other, the values of their entries; then
            the forecast values likewise.
        """
        row, turns = pickle.loads(order)
        self._enter(message, turns.descends[0], averages=turns.against_average)
        meeting = aligned((1, MEETING), np.dtype(np.int64))
        meeting[0, 0] = 1  # The way down the trunk is done.
        # The first thread, which does the trunk, is in another process.
        self._each(
            lambda thread: kernels.run_passes(
                self._form,
                self._rule,
                row,
                turns,
                self._kept,
                self._trunk,
                self._scratch[thread],
                self._locks,
                thread + 1,
                self._threads + 1,
                self._parts,
                meeting,
            )
        )
        players = np.flatnonzero(turns.updates[0])
        up = [self._trunk.entry_value[self._up[player]] for player in players]
        if self._rule.forecast:
            up += [self._trunk.entry_forecast[self._up[player]] for player in players]
        return np.concatenate(up or [self._totals[:0]])

    def judge(
        self, current: bool, floor: float, message: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The part of an evaluation that is in the chunks.

        Args:
            current: Whether to judge the strategies that are played next, not the averages.
            floor: Share of every strategy that is uniform.
            message: The result of :func:`reaches_for` for both players.

        Returns:
            For both players, one after the other, the best-response values of their entries, and
            float64 (chunks, players): expected values from the terminals of each chunk.
        """
        self._enter(message, np.ones(2, dtype=bool), averages=False)
        weight = current_numbers(self._rule, self._state)[0] if current else self._state.averages
        weight = weight._replace(trunk=self._totals)
        expected, best = np.zeros((self._form.n_chunks + 1, 2)), np.empty(2)

        def judge(thread: int) -> None:
            for part in range(thread, self._parts, self._threads):
                kernels.judge(
                    self._form,
                    kernels.CHUNKS,
                    part,
                    self._parts,
                    weight,
                    floor,
                    self._trunk,
                    self._scratch[thread],
                    expected,
                    best,
                    self._locks,
                )

        self._each(judge)
        up = [self._trunk.entry_value[own] for own in self._up]
        return np.concatenate(up), expected[:-1]

    def _each(self, work: Callable[[int], object]) -> None:
        """Work in all threads."""
        if self._threads == 1:
            work(0)
        else:
            list(self._pool.map(work, range(self._threads)))

    def _enter(self, message: np.ndarray, descends: np.ndarray, *, averages: bool) -> None:
        """Put the reaches of a message where the kernels find them."""
        bounds, at = self._form.trunk.player_sequences, 0
        players = np.flatnonzero(descends)
        for reach in (self._trunk.reach, self._trunk.faced) if averages else (self._trunk.reach,):
            for player in players:
                first, last = bounds[player], bounds[player + 1]
                reach[first:last] = message[at : at + last - first]
                at += last - first
        if averages:
            self._totals[bounds[players]] = message[at:]


def pass_order(row: np.ndarray, turns: Turns) -> bytes:
    """A pass as bytes, in one piece: Dask takes as long for each array of a tuple.

    Args:
        row: float64 (1, 1 + parameters): as for :func:`tensorcfr.kernels.chunks.run_passes`.
        turns: One pass.
    """
    return pickle.dumps((row, turns))


def reaches_for(
    share: Share,
    descends: np.ndarray,
    reach: np.ndarray,
    faced: np.ndarray | None = None,
    totals: np.ndarray | None = None,
) -> np.ndarray:
    """The numbers of the trunk that a share needs in a pass.

    Args:
        share: The share.
        descends: bool (players,): whose reaches are needed.
        reach: float (trunk sequences,): own reaches.
        faced: float (trunk sequences,): where the players face averages, the reaches of these.
        totals: float (players,): likewise, the sums of the weights in the averages.

    Returns:
        One array, in the floats of ``reach``: for each of these players the own reaches at
        ``share.down``; for each the reaches faced; for each the sum of the weights.
    """
    players = np.flatnonzero(descends)
    parts = [reach[share.down[player]] for player in players]
    if faced is not None and totals is not None:
        parts += [faced[share.down[player]] for player in players]
        parts.append(totals[players])
    return np.concatenate(parts or [reach[:0]])


def numbers_of(state: ChunkedState, begin: int, end: int) -> StateNumbers:
    """Numbers ``begin`` to ``end - 1`` of all arrays; views.

    Args:
        state: The state.
        begin: A multiple of :data:`~tensorcfr.model.chunks.ROW`.
        end: Likewise.
    """
    rows = slice(begin // ROW, end // ROW)
    return (
        state.regret[begin:end],
        state.cumulative[begin:end],
        state.strategy[begin:end],
        state.memory[:, begin:end],
        state.scale[:, rows],
    )


def put_numbers(state: ChunkedState, begin: int, end: int, numbers: StateNumbers) -> None:
    """Set the numbers that :func:`numbers_of` views; the state is modified in place."""
    for own, given in zip(numbers_of(state, begin, end), numbers, strict=True):
        own[...] = given


@lru_cache(maxsize=1)
def _compiled(name: str, recipe: bytes) -> ChunkedForm:
    """The game of a recipe, which the shares in this process have in common.

    Raises:
        ValueError: Another game is compiled.
    """
    try:
        game = unpack_game({KEY: np.frombuffer(recipe, dtype=np.uint8)})
    except ValueError as error:
        raise ValueError(f"another {name} is compiled there: {error}") from error
    assert isinstance(game, CutGame)
    return game.chunks
