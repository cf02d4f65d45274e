"""The workers of a solve on a cluster, each with a share of the chunks."""

from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.cluster import address_of, close, workers_of
from .._util.machine import versions
from ..algorithms import Algorithm
from ..errors import ClusterError
from ..kernels.pass_arrays import TrunkScratch, Turns
from ..model.chunks import ChunkLocks
from ..model.cut_game import CutGame
from ..model.shares import divide, share_of, share_of_locks
from ..solvers.state import State
from ..storage.recipes import KEY, pack_cut_game
from .worker import ShareOrder, ShareWorker, numbers_of, put_numbers, reaches_for

if TYPE_CHECKING:
    from distributed import Client

PIECE = 1 << 18
"""Numbers of each array of a solver in one message, at most; workers keep room for a message."""
REPLACEMENT_SECONDS = 30.0
"""Seconds to wait for a worker in the place of one that was lost."""
POLL_SECONDS = 0.5
"""Seconds to wait for an answer before checking that the worker is alive."""


class LostWorkerError(Exception):
    """A worker is gone, and with it the numbers of its shares."""


@dataclass
class Traffic:
    """Bytes of numbers between a solver and its workers, without those of the protocol."""

    down: int = 0
    """Reaches, from the solver to the workers, in passes and evaluations."""
    up: int = 0
    """Values, from the workers to the solver."""
    snapshots: int = 0
    """Numbers of snapshots, in both directions."""


class Workers:
    """The workers of a solve, each with a share of the chunks.

    They are *actors* of Dask: objects that live in a worker and are called without the scheduler.

    Args:
        client: A client, which is closed in the end.
        game: The game.
        record: The algorithm.
        precision: Of the arrays.
        locks: Locked infosets, or None.
        threads: Threads of each worker.
    """

    def __init__(
        self,
        client: Client,
        game: CutGame,
        record: Algorithm,
        precision: str,
        locks: ChunkLocks | None,
        threads: int,
    ) -> None:
        form, self._client = game.chunks, client
        self.traffic = Traffic()
        self.shares = [share_of(form, *own) for own in divide(form, len(workers_of(client)))]
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
                locks=share_of_locks(locks, share.begin, share.end),
                threads=threads,
                versions=versions(),
            )
            for share in self.shares
        ]
        self._bounds = [
            (int(form.first[own.begin]), int(form.first[own.end]), int(own.form.first[0]))
            for own in self.shares
        ]
        self._futures: list[Any] = [None] * len(self.shares)
        self._actors: list[Any] = [None] * len(self.shares)
        self._addresses = [""] * len(self.shares)

    def close(self) -> None:
        """Let the workers go, and close the client."""
        self._futures.clear()
        self._actors.clear()
        close(self._client)

    def start_missing(self) -> None:
        """Make the shares that no worker has, each in a worker that has few.

        Raises:
            ClusterError: There are no workers, or there is no scheduler.
            LostWorkerError: A worker was lost meanwhile.
        """
        missing = [k for k, actor in enumerate(self._actors) if actor is None]
        addresses = self._wait_for_workers()
        held = Counter(at for at, actor in zip(self._addresses, self._actors, strict=True) if actor)
        for k in missing:
            chosen = min(addresses, key=lambda address: (held[address], address))
            held[chosen] += 1
            self._addresses[k] = chosen
            self._futures[k] = self._client.submit(
                ShareWorker,
                self._orders[k],
                workers=[chosen],
                allow_other_workers=False,
                actor=True,
                pure=False,
            )
        # Actors find their client in the context in which they are received.
        with self._client.as_current():
            for k in missing:
                self._actors[k] = self._made(k)

    def ask(self, method: str, arguments: Sequence[tuple[Any, ...]] = ()) -> list[Any]:
        """Call a method in all workers at the same time.

        Args:
            method: Of :class:`~tensorcfr.cluster.worker.ShareWorker`.
            arguments: For each share; none by default.

        Returns:
            The answers, in the order of the shares.

        Raises:
            LostWorkerError: A worker is gone.
        """
        given = arguments or [()] * len(self.shares)
        calls = [self._call(k, method, *own) for k, own in enumerate(given)]
        # All answers, so that no worker is at work when this returns.
        answers = [self._answer(k, call) for k, call in enumerate(calls)]
        if any(actor is None for actor in self._actors):
            raise LostWorkerError
        return answers

    def work(self, turn: Turns, trunk: TrunkScratch, totals: np.ndarray | None) -> None:
        """A pass through all chunks; the values are put where the trunk finds them."""
        descends, updates = turn.descends[0], np.flatnonzero(turn.updates[0])
        faced = trunk.faced if turn.against_average else None
        messages = [
            reaches_for(share, descends, trunk.reach, faced, totals) for share in self.shares
        ]
        order = pickle.dumps(turn)  # Dask takes as long for each array of a tuple.
        answers = self.ask("work", [(order, message) for message in messages])
        values = [trunk.entry_value, trunk.entry_forecast]
        for share, message, answer in zip(self.shares, messages, answers, strict=True):
            at = 0
            for target in values if trunk.forecast.size else values[:1]:
                for player in updates:
                    own = share.up[player]
                    target[own] = answer[at : at + len(own)]
                    at += len(own)
            self.traffic.down += message.nbytes
            self.traffic.up += answer.nbytes

    def judge(self, current: bool, floor: float, trunk: TrunkScratch, expected: np.ndarray) -> None:
        """The chunks' part of an evaluation; see :meth:`ShareWorker.judge`."""
        everybody = np.ones(2, dtype=bool)
        messages = [reaches_for(share, everybody, trunk.reach) for share in self.shares]
        answers = self.ask("judge", [(current, floor, message) for message in messages])
        for share, message, (values, own) in zip(self.shares, messages, answers, strict=True):
            trunk.entry_value[np.concatenate(share.up)] = values
            expected[share.begin : share.end] = own
            self.traffic.down += message.nbytes
            self.traffic.up += values.nbytes + own.nbytes

    def fetch(self, state: State) -> None:
        """Put the numbers of all shares into a state, piece by piece."""
        for pieces in self._pieces():
            answers = self.ask("numbers", [own for _, own in pieces])
            for (begin, (first, last)), numbers in zip(pieces, answers, strict=True):
                put_numbers(state, begin + first, begin + last, numbers)
                self.traffic.snapshots += sum(array.nbytes for array in numbers.values())

    def put(self, state: State) -> None:
        """Set the numbers of all shares to those of a state, piece by piece."""
        for pieces in self._pieces():
            given = [
                (first, last, numbers_of(state, begin + first, begin + last))
                for begin, (first, last) in pieces
            ]
            self.ask("put", given)
            for *_, numbers in given:
                self.traffic.snapshots += sum(array.nbytes for array in numbers.values())

    def _pieces(self) -> Iterator[list[tuple[int, tuple[int, int]]]]:
        """The numbers of all shares, some of each at a time: for each share what is
        to be added to its numbers for those of the solver, and from where on and up to where."""
        for at in range(0, max((end - begin for begin, end, _ in self._bounds), default=0), PIECE):
            yield [
                (
                    begin - first,
                    (first + min(at, end - begin), first + min(at + PIECE, end - begin)),
                )
                for begin, end, first in self._bounds
            ]

    def _wait_for_workers(self) -> list[str]:
        """The workers that are there, as many as there are shares if they come in time.

        Raises:
            ClusterError: There are none.
        """
        deadline = time.monotonic() + REPLACEMENT_SECONDS
        while len(found := workers_of(self._client)) < len(self.shares):
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_SECONDS / 5)
        if not found:
            raise ClusterError(
                f"the scheduler at {address_of(self._client)} has had no workers for "
                f"{REPLACEMENT_SECONDS:g} s"
            )
        return found

    def _made(self, k: int) -> Any:
        """The actor of a share that a worker is about to make.

        Raises:
            LostWorkerError: The worker is gone.
        """
        while True:
            try:
                return self._futures[k].result(timeout=POLL_SECONDS)
            except TimeoutError:
                if self._addresses[k] not in workers_of(self._client):
                    raise LostWorkerError from None
            except Exception as error:
                # Dask has many errors for a worker that is gone.
                address = self._addresses[k]
                if isinstance(error, OSError) or address not in workers_of(self._client):
                    raise LostWorkerError from None
                error.add_note(f"in the worker {address}")
                raise

    def _call(self, k: int, method: str, *given: Any) -> Any:
        """The answer to come of a share's worker; None if the worker is gone."""
        try:
            return getattr(self._actors[k], method)(*given)
        except RuntimeError:
            return None

    def _answer(self, k: int, call: Any) -> Any:
        """An answer; the share has no actor any more if the worker is gone."""
        while call is not None:
            try:
                return call.result(timeout=POLL_SECONDS)
            except TimeoutError:
                # Calls that a worker took with it may never be answered.
                if self._futures[k].status == "finished" and self._client.status == "running":
                    continue
            except OSError:
                pass
            break
        self._futures[k] = self._actors[k] = None
        return None
