"""Reservoirs as a solver keeps them: several behind each other, cut to what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..kernels.reservoir import Reservoir
from ..solvers.kept import check_arrays

BYTES_PER_SAMPLE = 12
"""Infoset and weight; the values come to that."""


class Kept(NamedTuple):
    """What some reservoirs hold, one after the other."""

    infoset: np.ndarray
    """int32 (samples,)."""
    weight: np.ndarray
    """float64 (samples,)."""
    values: np.ndarray
    """float64 (samples, most actions)."""
    seen: np.ndarray
    """int64 (reservoirs,): samples that were added to each."""


def new_reservoir(capacity: int, width: int) -> Reservoir:
    """An empty reservoir; its memory is taken as it fills."""
    return Reservoir(
        np.empty(capacity, np.int32),
        np.empty(capacity),
        np.empty((capacity, width)),
        np.zeros(1, np.int64),
    )


def filled(reservoir: Reservoir) -> int:
    """Samples that a reservoir holds."""
    return int(min(reservoir.seen[0], len(reservoir.infoset)))


def copy_into(target: Reservoir, source: Reservoir) -> None:
    """Make a reservoir of the same capacity hold what another one does."""
    count = filled(source)
    target.seen[:] = source.seen
    for name in ("infoset", "weight", "values"):
        getattr(target, name)[:count] = getattr(source, name)[:count]


def keep(reservoirs: list[Reservoir], width: int) -> Kept:
    """A copy of what they hold."""
    counts = [filled(one) for one in reservoirs]
    pairs = list(zip(reservoirs, counts, strict=True))
    return Kept(
        np.concatenate([np.empty(0, np.int32), *(one.infoset[:n] for one, n in pairs)]),
        np.concatenate([np.empty(0), *(one.weight[:n] for one, n in pairs)]),
        np.concatenate([np.empty((0, width)), *(one.values[:n] for one, n in pairs)]),
        np.array([int(one.seen[0]) for one in reservoirs], np.int64),
    )


def put(kept: Kept, reservoirs: list[Reservoir]) -> None:
    """The reverse of :func:`keep`; the reservoirs are modified in place."""
    first = 0
    for one, seen in zip(reservoirs, kept.seen.tolist(), strict=True):
        one.seen[0] = seen
        end = first + filled(one)
        one.infoset[: end - first] = kept.infoset[first:end]
        one.weight[: end - first] = kept.weight[first:end]
        one.values[: end - first] = kept.values[first:end]
        first = end


def restored(
    kept: Mapping[str, np.ndarray],
    prefix: str,
    *,
    capacity: int,
    reservoirs: int,
    shape: tuple[int, int],
) -> dict[str, np.ndarray]:
    """The arrays of a :class:`Kept` by name, checked.

    Args:
        kept: Arrays by name.
        prefix: What their names begin with.
        capacity: Samples that a reservoir takes.
        reservoirs: How many there are.
        shape: Infosets of the game, and the most actions of one.

    Raises:
        ValueError: An array is of another shape or dtype, or holds what no sample has; names it.
    """
    n_infosets, width = shape
    seen = kept[f"{prefix}_seen"]
    if seen.shape != (reservoirs,) or seen.dtype != np.int64 or (seen < 0).any():
        raise ValueError(f"{prefix}_seen must count the samples of {reservoirs} reservoirs")
    count = int(np.minimum(seen, capacity).sum())
    expected: dict[str, tuple[tuple[int, ...], type]] = {
        f"{prefix}_seen": ((reservoirs,), np.int64),
        f"{prefix}_infoset": ((count,), np.int32),
        f"{prefix}_weight": ((count,), np.float64),
        f"{prefix}_values": ((count, width), np.float64),
    }
    found = {name: np.ascontiguousarray(kept[name]) for name in expected}
    # Values are nan where there is no action.
    values = found[f"{prefix}_values"]
    known = np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf)
    check_arrays({**found, f"{prefix}_values": known}, expected, "such buffers")
    infoset, weight = found[f"{prefix}_infoset"], found[f"{prefix}_weight"]
    if count and not (infoset.min() >= 0 and infoset.max() < n_infosets):
        raise ValueError(f"{prefix}_infoset holds what is no infoset")
    if not (weight > 0.0).all():
        raise ValueError(f"{prefix}_weight holds a weight that is not positive")
    return found
