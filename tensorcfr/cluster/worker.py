"""The part of a solve on a cluster that runs in its workers: a share of the chunks, with the
solver's arrays over it."""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._util.aligned import aligned
from .._util.machine import versions
from .._util.memory import free_memory
from ..algorithms import Algorithm
from ..errors import MemoryLimitError
from ..evaluation.profile import results_for
from ..model.arrays import frozen_arrays
from ..model.chunks import ROW, ChunkedForm, ChunkLocks
from ..model.shares import Share, share_of
from ..solvers.passes import Passes, bytes_of_passes, new_counters
from ..solvers.scales import bucket_scales
from ..solvers.state import State, first_state, floats_of
from ..solvers.threads import run_together
from ..storage.game import unpack_game
from ..storage.recipes import KEY

StateNumbers = dict[str, np.ndarray]
"""Some consecutive numbers of the arrays of a :class:`State` by name; see :func:`numbers_of`."""


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
        record, dtype = order.algorithm, np.dtype(order.precision)
        needed = bytes_of_passes(self._form, record, order.precision, order.threads)
        if needed > (limit := free_memory()):
            raise MemoryLimitError(f"a share of {order.name}", needed, limit)
        # Kernels are compiled for arrays that can be written to; those from the wire cannot.
        locks = order.locks and ChunkLocks(*(array.copy() for array in order.locks))
        self._rule = record.rule
        scale = bucket_scales(self._form, dtype)
        self._state = first_state(self._form, record.rule, dtype, locks)
        self._passes = Passes(self._form, record, self._state, scale, locks, order.threads)
        # The weights in the averages, which others play against.
        self._totals = totals = aligned(self._form.trunk.n_sequences, floats_of(dtype))
        kept = self._passes.kept
        self._passes.kept = kept._replace(
            regret=kept.regret._replace(trunk=totals),
            cumulative=kept.cumulative._replace(trunk=totals),
        )

    def numbers(self, begin: int, end: int) -> StateNumbers:
        """Numbers ``begin`` to ``end - 1`` of the arrays; copies."""
        found = numbers_of(self._state, begin, end)
        return {name: array.copy() for name, array in found.items()}

    def put(self, begin: int, end: int, numbers: StateNumbers) -> None:
        """Set numbers ``begin`` to ``end - 1`` of the arrays."""
        put_numbers(self._state, begin, end, numbers)

    def scale_average(self, factor: float) -> None:
        """Multiply the cumulative strategy."""
        self._state.scale_average(factor)

    def work(self, order: bytes, message: np.ndarray) -> np.ndarray:
        """A pass through the chunks.

        Args:
            order: A pass, pickled: :class:`~tensorcfr.kernels.pass_arrays.Turns`.
            message: The result of :func:`reaches_for`.

        Returns:
            For the players who are updated, one after the other, the values of their entries; then
            the forecast values likewise.
        """
        turns, passes = pickle.loads(order), self._passes
        self._enter(message, turns.descends[0], averages=turns.against_average)
        counters = new_counters(1)
        counters[0, 0] = 1  # The way down the trunk is done.
        # The first thread, which does the trunk, is in another process.
        run_together(
            lambda thread: passes.share(turns, thread, thread + 1, passes.threads + 1, counters),
            passes.threads,
            counters,
        )
        trunk = passes.trunk
        players = np.flatnonzero(turns.updates[0])
        up = [trunk.entry_value[self._up[player]] for player in players]
        if self._rule.forecast:
            up += [trunk.entry_forecast[self._up[player]] for player in players]
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
        weight = self._state.played(self._rule)[0] if current else self._state.averages
        expected, best = results_for(self._form)
        self._passes.judge_chunks(weight._replace(trunk=self._totals), floor, expected, best)
        up = [self._passes.trunk.entry_value[own] for own in self._up]
        return np.concatenate(up), expected[:-1]

    def _enter(self, message: np.ndarray, descends: np.ndarray, *, averages: bool) -> None:
        """Put the reaches of a message where the kernels find them."""
        bounds, at = self._form.trunk.player_sequences, 0
        players = np.flatnonzero(descends)
        trunk = self._passes.trunk
        for reach in (trunk.reach, trunk.faced) if averages else (trunk.reach,):
            for player in players:
                first, last = bounds[player], bounds[player + 1]
                reach[first:last] = message[at : at + last - first]
                at += last - first
        if averages:
            self._totals[bounds[players]] = message[at:]


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


def numbers_of(state: State, begin: int, end: int) -> StateNumbers:
    """Numbers ``begin`` to ``end - 1`` of all arrays; views.

    Args:
        state: The state.
        begin: A multiple of :data:`~tensorcfr.model.chunks.ROW`.
        end: Likewise.
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
    """Set the numbers that :func:`numbers_of` views; the state is modified in place."""
    for name, own in numbers_of(state, begin, end).items():
        own[...] = numbers[name]


@lru_cache(maxsize=1)
def _compiled(name: str, recipe: bytes) -> ChunkedForm:
    """The game of a recipe, which the shares in this process have in common.

    Raises:
        ValueError: Another game is compiled.
    """
    try:
        return unpack_game({KEY: np.frombuffer(recipe, dtype=np.uint8)}).chunks
    except ValueError as error:
        raise ValueError(f"another {name} is compiled there: {error}") from error
