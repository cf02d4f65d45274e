"""A cluster of Dask distributed played by this process: workers can be lost at any call."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest


class FakeFuture:
    """What a worker will answer."""

    status = "finished"

    def __init__(self, answer: Any, error: Exception | None = None) -> None:
        self._answer, self._error = answer, error

    def result(self, timeout: float | None = None) -> Any:
        if self._error is not None:
            raise self._error
        return self._answer


class FakeActor:
    """An object in a worker, behind a wire."""

    def __init__(self, client: FakeClient, address: str, held: Any) -> None:
        self._client, self._address, self._held = client, address, held

    def __getattr__(self, method: str) -> Any:
        if self._address not in self._client.addresses:
            raise RuntimeError("Worker holding Actor was lost")

        def call(*given: Any) -> FakeFuture:
            self._client.count(self._address)
            if self._address not in self._client.addresses:
                return FakeFuture(None, OSError("Unable to contact Actor's worker"))
            answer = getattr(self._held, method)(*over_the_wire(given))
            return FakeFuture(over_the_wire(answer))

        return call


class FakeClient:
    """A client with its scheduler and workers.

    Args:
        workers: How many there are.
        losses: Before which calls, counted from 1, the worker that is called is lost.
        replaced: Whether another worker comes in its place.
        ends: Before which call the scheduler is lost.
    """

    __module__ = "distributed.fake"
    status = "running"
    scheduler = None

    def __init__(
        self,
        workers: int = 2,
        losses: tuple[int, ...] = (),
        *,
        replaced: bool = True,
        ends: int | None = None,
    ) -> None:
        self.addresses = [f"fake://{number}" for number in range(workers)]
        self.calls, self.made, self.lost = 0, workers, 0
        self._losses, self._replaced, self._ends = losses, replaced, ends

    def count(self, address: str) -> None:
        self.calls += 1
        if self.calls == self._ends:
            self.addresses.clear()
            self.status = "closed"
        if self.calls in self._losses:
            self.lost += 1
            self.addresses.remove(address)
            if self._replaced:
                self.addresses.append(f"fake://{self.made}")
                self.made += 1

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self.addresses, 1)

    def submit(self, kind: Any, order: Any, *, workers: list[str], **options: Any) -> FakeFuture:
        assert options == {"allow_other_workers": False, "actor": True, "pure": False}
        held = kind(over_the_wire(order))
        return FakeFuture(FakeActor(self, workers[0], held))

    def as_current(self) -> Any:
        return nullcontext()

    def close(self, timeout: float | None = None) -> None:
        self.status = "closed"


def play_cluster(patched: pytest.MonkeyPatch) -> None:
    """Let solvers take fake clients for clusters, and not wait for workers."""
    from tensorcfr.cluster import cluster_solver as cluster_solver
    from tensorcfr.cluster import workers

    patched.setattr(cluster_solver, "connect", lambda cluster: cluster)
    patched.setattr(workers, "REPLACEMENT_SECONDS", 0.0)
    patched.setattr(workers, "POLL_SECONDS", 0.0)


def over_the_wire(value: Any) -> Any:
    """The same value as it arrives: a copy whose arrays are read-only."""
    found = pickle.loads(pickle.dumps(value))
    _freeze(found)
    return found


def _freeze(value: Any) -> None:
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, (tuple, list)):
        for one in value:
            _freeze(one)
