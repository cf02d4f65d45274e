"""Connections to a cluster of Dask distributed, an optional package."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from errno import ENOENT
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ClusterError
from .argument_checks import LONGEST_PATH, Check
from .extras import needs
from .hardware import versions

if TYPE_CHECKING:
    from distributed import Client

ADDRESS = r"[a-z]+://[!-~]+|[!-~]+:[0-9]+|[^\x00\ud800-\udfff]+\.json"
"""Pattern of the addresses of schedulers and the paths of scheduler files."""
CONNECT_SECONDS = 10.0
"""Longest time in seconds to wait for an answer of the scheduler."""


@dataclass(frozen=True)
class Cluster(Check):
    """A cluster of Dask distributed, given by a client or an address."""

    def __call__(self, name: str, value: Any) -> Any:
        if isinstance(value, str):
            if len(value) > LONGEST_PATH or not re.fullmatch(ADDRESS, value):
                raise self.refuse(name, value)
        elif type(value).__module__.partition(".")[0] != "distributed":
            # Compare the name of the module: the package may not be installed.
            raise self.refuse(name, value, TypeError)
        return value

    def __str__(self) -> str:
        return (
            "a client of Dask distributed, the address of a scheduler (tcp://host:8786), or a "
            "scheduler file (.json)"
        )


CLUSTER = Cluster()


def connect(cluster: Any) -> Client:
    """Return a new client of a cluster; the caller closes it after use.

    The client connects to the workers directly, so that arrays do not pass through the scheduler.

    Args:
        cluster: A client of Dask distributed, the address of a scheduler (``"tcp://host:8786"``),
            or the path of a scheduler file, ``.json``.

    Raises:
        MissingExtraError: Dask distributed is not installed.
        TypeError: ``cluster`` is neither a text nor a client.
        ValueError: The address is malformed; the client is closed or asynchronous; or a worker has
            other versions of this library, of Python, NumPy or Numba.
        FileNotFoundError: The scheduler file does not exist.
        ClusterError: No scheduler answers, or it has no workers.
    """
    distributed = needs("distributed", "cluster")
    options: dict[str, Any] = {"direct_to_workers": True, "set_as_default": False}
    cluster = CLUSTER("cluster", cluster)
    if not isinstance(cluster, str):
        if cluster.asynchronous:
            raise ValueError(
                "cluster: the client is asynchronous; create it with Client(..., "
                "asynchronous=False)"
            )
        if cluster.status != "running":
            raise ValueError(f"cluster: the client is {cluster.status}, not running")
        options |= {"address": cluster.scheduler.address, "security": cluster.security}
    else:
        is_file = cluster.endswith(".json")
        if is_file and not Path(cluster).is_file():  # Dask would wait for the file to appear.
            raise FileNotFoundError(ENOENT, "there is no such scheduler file", cluster)
        options["scheduler_file" if is_file else "address"] = cluster
    address = options.get("address", cluster)
    try:
        client = distributed.Client(timeout=CONNECT_SECONDS, **options)
    except (OSError, ValueError) as error:
        raise ClusterError(f"no scheduler answers at {address}: {error}") from error
    try:
        _check_workers(client)
    except BaseException:
        close(client)
        raise
    return client


def close(client: Client) -> None:
    """Close a client, even if its scheduler has stopped."""
    with suppress(Exception):
        client.close(timeout=1)


def workers_of(client: Client) -> list[str]:
    """Return the sorted addresses of the workers that are connected now.

    Raises:
        ClusterError: The scheduler does not answer.
    """
    try:
        if client.status != "running":
            raise OSError(f"the connection is {client.status}")
        return sorted(client.nthreads())
    except Exception as error:  # A lost connection raises errors of many classes.
        raise ClusterError(f"the scheduler at {address_of(client)} is lost: {error}") from error


def address_of(client: Client) -> str:
    """Return the address of a client's scheduler."""
    return client.scheduler.address if client.scheduler else "an unknown address"


def _check_workers(client: Client) -> None:
    """Check that there are workers, and that all have the versions of this process."""
    replies = client.run(versions, on_error="return")
    if not replies:
        raise ClusterError(f"the scheduler at {address_of(client)} has no workers")
    for address, reply in sorted(replies.items()):
        if isinstance(reply, BaseException):
            raise ValueError(f"the worker {address} cannot use this library: {reply}")
        if reply != versions():
            raise ValueError(
                f"the worker {address} has {reply}, and this process has {versions()}: "
                "install the same versions"
            )
