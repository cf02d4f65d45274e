"""Handle of the workers of a cluster solve, each with a share of the chunks."""

from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.cluster import address_of, close, workers_of
from .._util.hardware import versions
from ..algorithms import Algorithm
from ..errors import ClusterError
from ..kernels.pass_arrays import PassSchedule, TrunkScratch
from ..model.branch_shares import divide, share_of, share_of_locks
from ..model.chunked_form import ChunkLocks
from ..model.chunked_game import ChunkedGame
from ..solvers.solver_state import State
from ..storage.recipes import KEY, pack_cut_game
from .worker import ShareOrder, ShareWorker, numbers_of, put_numbers, reaches_for

if TYPE_CHECKING:
    from distributed import Client

PIECE = 1 << 18
"""Maximum count of numbers of each solver array in one message.  Workers need memory for one
message."""
REPLACEMENT_SECONDS = 30.0
"""Seconds to wait for a replacement of a lost worker."""
POLL_SECONDS = 0.5
"""Seconds to wait for an answer before checking that the worker is alive."""


class LostWorkerError(Exception):
    """A worker was lost, and with it the numbers of its shares."""


@dataclass
class Traffic:
    """Bytes of numbers between a solver and its workers, without protocol overhead."""

    down: int = 0
    """Bytes of reaches from the solver to the workers, in passes and evaluations."""
    up: int = 0
    """Bytes of values from the workers to the solver."""
    snapshots: int = 0
    """Bytes of snapshots, in both directions."""


class Workers:
    """Workers of a solve, each with a share of the chunks.

    Each share is an *actor* of Dask: an object in a worker whose methods are called without the
    scheduler.

    Args:
        client: A client; :meth:`close` closes it.
        game: The game.
        record: The algorithm.
        precision: Precision of the arrays.
        locks: Locked infosets, or None.
        threads: Number of threads of each worker.
    """

    def __init__(
        self,
        client: Client,
        game: ChunkedGame,
        record: Algorithm,
        precision: str,
        locks: ChunkLocks | None,
        threads: int,
    ) -> None:
        form, self._client = game.chunks, client
        self.traffic = Traffic()
        self.shares = [share_of(form, *bounds) for bounds in divide(form, len(workers_of(client)))]
        recipe = None if game.recipe.source is None else pack_cut_game(game)[KEY]
        self._orders = [
            ShareOrder(
                name=game.name,
                recipe=recipe,
                share=share if recipe is None else None,
                begin=share.begin,
                end=share.end,
                algorithm=record,
                precision=precision,
                locks=share_of_locks(locks, form, share.begin, share.end, share.form),
                threads=threads,
                versions=versions(),
            )
            for share in self.shares
        ]
        self._bounds = [
            (
                int(form.number_offset[chunk_share.begin]),
                int(form.number_offset[chunk_share.end]),
                int(chunk_share.form.number_offset[0]),
            )
            for chunk_share in self.shares
        ]
        self._futures: list[Any] = [None] * len(self.shares)
        self._actors: list[Any] = [None] * len(self.shares)
        self._addresses = [""] * len(self.shares)

    def close(self) -> None:
        """Release the workers, and close the client."""
        self._futures.clear()
        self._actors.clear()
        close(self._client)

    def start_missing(self) -> None:
        """Make each missing share in the worker that has the fewest shares.

        Raises:
            ClusterError: There are no workers, or there is no scheduler.
            LostWorkerError: A worker was lost in the meantime.
        """
        missing = [k for k, actor in enumerate(self._actors) if actor is None]
        addresses = self._wait_for_workers()
        share_counts = Counter(
            worker for worker, actor in zip(self._addresses, self._actors, strict=True) if actor
        )
        for k in missing:
            chosen = min(addresses, key=lambda address: (share_counts[address], address))
            share_counts[chosen] += 1
            self._addresses[k] = chosen
            self._futures[k] = self._client.submit(
                ShareWorker,
                self._orders[k],
                workers=[chosen],
                allow_other_workers=False,
                actor=True,
                pure=False,
            )
        # A received actor takes the current client as its client.
        with self._client.as_current():
            for k in missing:
                self._actors[k] = self._wait_for_actor(k)

    def ask(self, method: str, arguments: Sequence[tuple[Any, ...]] = ()) -> list[Any]:
        """Call a method of all shares in parallel.

        Args:
            method: Name of a method of :class:`~tensorcfr.cluster.worker.ShareWorker`.
            arguments: Arguments for each share; none by default.

        Returns:
            The answers, in the order of the shares.

        Raises:
            LostWorkerError: A worker was lost.
        """
        argument_tuples = arguments or [()] * len(self.shares)
        calls = [
            self._call(k, method, *share_arguments)
            for k, share_arguments in enumerate(argument_tuples)
        ]
        # Wait for all answers, so that no worker is still computing after an error.
        answers = [self._answer(k, call) for k, call in enumerate(calls)]
        if any(actor is None for actor in self._actors):
            raise LostWorkerError
        return answers

    def work(self, single_pass: PassSchedule, trunk: TrunkScratch) -> None:
        """Run a pass through all chunks, and write the values of the entries to the trunk.

        Args:
            single_pass: The pass.
            trunk: Scratch arrays of the trunk; entry values are modified in place.

        Raises:
            LostWorkerError: A worker was lost.
        """
        descends, updates = single_pass.computes_reach[0], np.flatnonzero(single_pass.updates[0])
        messages = [reaches_for(share, descends, trunk.reach) for share in self.shares]
        # Dask has a constant overhead per array, so send the arrays of the tuple as one object.
        order = pickle.dumps(single_pass)
        answers = self.ask("work", [(order, message) for message in messages])
        for share, message, answer in zip(self.shares, messages, answers, strict=True):
            offset = 0
            for player in updates:
                entries = share.up[player]
                trunk.entry_value[entries] = answer[offset : offset + len(entries)]
                offset += len(entries)
            self.traffic.down += message.nbytes
            self.traffic.up += answer.nbytes

    def evaluate(
        self, current: bool, floor: float, trunk: TrunkScratch, expected: np.ndarray
    ) -> None:
        """Evaluate strategies in all chunks; see :meth:`ShareWorker.evaluate`.

        Entry values of ``trunk`` and ``expected`` are modified in place.
        """
        everybody = np.ones(len(expected[0]), dtype=bool)
        messages = [reaches_for(share, everybody, trunk.reach) for share in self.shares]
        answers = self.ask("evaluate", [(current, floor, message) for message in messages])
        for share, message, (values, share_expected) in zip(
            self.shares, messages, answers, strict=True
        ):
            trunk.entry_value[np.concatenate(share.up)] = values
            expected[share.begin : share.end] = share_expected
            self.traffic.down += message.nbytes
            self.traffic.up += values.nbytes + share_expected.nbytes

    def fetch(self, state: State) -> None:
        """Copy the numbers of all shares to a state in place, piece by piece."""
        for pieces in self._pieces():
            answers = self.ask("numbers", [piece for _, piece in pieces])
            for (begin, (first, last)), numbers in zip(pieces, answers, strict=True):
                put_numbers(state, begin + first, begin + last, numbers)
                self.traffic.snapshots += sum(array.nbytes for array in numbers.values())

    def put(self, state: State) -> None:
        """Copy the numbers of a state to all shares, piece by piece."""
        for pieces in self._pieces():
            arguments = [
                (first, last, numbers_of(state, begin + first, begin + last))
                for begin, (first, last) in pieces
            ]
            self.ask("put", arguments)
            for *_, numbers in arguments:
                self.traffic.snapshots += sum(array.nbytes for array in numbers.values())

    def _pieces(self) -> Iterator[list[tuple[int, tuple[int, int]]]]:
        """Divide the numbers of all shares into pieces.

        Yields:
            For each share the offset of its numbers in the solver's arrays, and the range of the
            piece in the share's own numbers.  The range is empty if the share has no numbers left.
        """
        for offset in range(
            0, max((end - begin for begin, end, _ in self._bounds), default=0), PIECE
        ):
            yield [
                (
                    begin - first,
                    (first + min(offset, end - begin), first + min(offset + PIECE, end - begin)),
                )
                for begin, end, first in self._bounds
            ]

    def _wait_for_workers(self) -> list[str]:
        """Wait until there is a worker for each share, or until the time is over.

        Returns:
            The addresses of the workers.
        """
        deadline = time.monotonic() + REPLACEMENT_SECONDS
        while len(workers := workers_of(self._client)) < len(self.shares):
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_SECONDS / 5)
        if not workers:
            raise ClusterError(
                f"the scheduler at {address_of(self._client)} has had no workers for "
                f"{REPLACEMENT_SECONDS:g} s"
            )
        return workers

    def _wait_for_actor(self, k: int) -> Any:
        """Wait for the actor of a share, and return it."""
        while True:
            try:
                return self._futures[k].result(timeout=POLL_SECONDS)
            except TimeoutError:
                if self._addresses[k] not in workers_of(self._client):
                    raise LostWorkerError from None
            except Exception as error:
                # Dask raises various errors if a worker was lost.
                address = self._addresses[k]
                if isinstance(error, OSError) or address not in workers_of(self._client):
                    raise LostWorkerError from None
                error.add_note(f"in the worker {address}")
                raise

    def _call(self, k: int, method: str, *arguments: Any) -> Any:
        """Start a call to a share, and return its future; None if the worker was lost."""
        try:
            return getattr(self._actors[k], method)(*arguments)
        except RuntimeError:
            return None

    def _answer(self, k: int, call: Any) -> Any:
        """Wait for the answer of a call.

        If the worker was lost, clear the share's actor and return None.
        """
        while call is not None:
            try:
                return call.result(timeout=POLL_SECONDS)
            except TimeoutError:
                # A call to a lost worker may never be answered, so check the worker.
                if self._futures[k].status == "finished" and self._client.status == "running":
                    continue
            except OSError:
                pass
            break
        self._futures[k] = self._actors[k] = None
        return None
