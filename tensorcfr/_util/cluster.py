"""Connections to a cluster of Dask distributed, an optional package."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from errno import ENOENT
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ClusterError
from .arguments import LONGEST_PATH, Check
from .extras import needs
from .machine import versions

if TYPE_CHECKING:
    from distributed import Client

ADDRESS = r"[a-z]+://[!-~]+|[!-~]+:[0-9]+|[^\x00\ud800-\udfff]+\.json"
"""Addresses of schedulers, and scheduler files."""
CONNECT_SECONDS = 10.0
"""Seconds that a scheduler may take to answer."""


@dataclass(frozen=True)
class Cluster(Check):
    """A cluster of Dask distributed, by client or address."""

    def __call__(self, name: str, value: Any) -> Any:
        if isinstance(value, str):
            if len(value) > LONGEST_PATH or not re.fullmatch(ADDRESS, value):
                raise self.refuse(name, value)
        elif type(value).__module__.partition(".")[0] != "distributed":
            # By name: the package may not be there.
            raise self.refuse(name, value, TypeError)
        return value

    def __str__(self) -> str:
        return (
            "a client of Dask distributed, the address of a scheduler (tcp://host:8786), or a "
            "scheduler file (.json)"
        )


CLUSTER = Cluster()


def connect(cluster: Any) -> Client:
    """A client of one's own for a cluster, to be closed after use.

    It talks to the workers directly: numbers do not pass through the scheduler.

    Args:
        cluster: A client of Dask distributed, the address of a scheduler (``"tcp://host:8786"``),
            or the path of a scheduler file, ``.json``.

    Raises:
        MissingExtraError: Dask distributed is not installed.
        TypeError: ``cluster`` is something else.
        ValueError: It is no address; the client is closed or asynchronous; or a worker has other
            versions of this library, of Python, NumPy or Numba.
        FileNotFoundError: There is no such scheduler file.
        ClusterError: No scheduler answers, or it has no workers.
    """
    distributed = needs("distributed", "cluster")
    options: dict[str, Any] = {"direct_to_workers": True, "set_as_default": False}
    cluster = CLUSTER("cluster", cluster)
    if not isinstance(cluster, str):
        if cluster.asynchronous:
            raise ValueError("cluster: the client is asynchronous; give Client(...) without that")
        if cluster.status != "running":
            raise ValueError(f"cluster: the client is {cluster.status}, not running")
        options |= {"address": cluster.scheduler.address, "security": cluster.security}
    else:
        is_file = cluster.endswith(".json")
        if is_file and not Path(cluster).is_file():  # Dask would wait for it.
            raise FileNotFoundError(ENOENT, "there is no such scheduler file", cluster)
        options["scheduler_file" if is_file else "address"] = cluster
    said = options.get("address", cluster)
    try:
        client = distributed.Client(timeout=CONNECT_SECONDS, **options)
    except (OSError, ValueError) as error:
        raise ClusterError(f"no scheduler answers at {said}: {error}") from error
    try:
        _check_workers(client)
    except BaseException:
        close(client)
        raise
    return client


def close(client: Client) -> None:
    """Close a client, whose scheduler may be gone."""
    with suppress(Exception):
        client.close(timeout=1)


def workers_of(client: Client) -> list[str]:
    """The addresses of the workers that are there now, in order.

    Raises:
        ClusterError: The scheduler does not answer.
    """
    try:
        if client.status != "running":
            raise OSError(f"the connection is {client.status}")
        return sorted(client.nthreads())
    except Exception as error:  # Of many classes, as the connection goes down.
        raise ClusterError(f"the scheduler at {address_of(client)} is lost: {error}") from error


def address_of(client: Client) -> str:
    """Where a client found its scheduler."""
    return client.scheduler.address if client.scheduler else "an address that is gone"


def _check_workers(client: Client) -> None:
    """Check that there are workers, and that they run the same code."""
    there = client.run(versions, on_error="return")
    if not there:
        raise ClusterError(f"the scheduler at {address_of(client)} has no workers")
    for address, found in sorted(there.items()):
        if isinstance(found, BaseException):
            raise ValueError(f"the worker {address} cannot use this library: {found}")
        if found != versions():
            raise ValueError(f"the worker {address} has {found}; here is {versions()}")
