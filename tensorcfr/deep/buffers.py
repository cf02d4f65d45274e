"""Reservoirs as a solver keeps them: several behind each other, cut to what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import Deep
from ..kernels.reservoir import Reservoir, Samples
from ..solvers.kept import check_arrays

BYTES_PER_SAMPLE = 12
"""Infoset and weight; the values come to that."""


BUFFERS = ("advantage", "average", "baseline")
"""Kinds of buffers, in the order of :class:`~tensorcfr.kernels.reservoir.Samples`: what the names
of their arrays in a state begin with."""


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


def reservoirs_of(samples: Samples) -> tuple[Reservoir, Reservoir, Reservoir]:
    """The reservoirs of a player, in the order of :data:`BUFFERS`."""
    return samples.advantages, samples.strategies, samples.baselines


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


def bytes_of_buffers(record: Deep, n_players: int, width: int) -> int:
    """Bytes of an algorithm's full buffers, and of the copy that undoes an iteration."""
    kinds = 1 + record.has_strategy_network + record.has_baseline_network
    return 2 * n_players * record.buffer * kinds * (BYTES_PER_SAMPLE + 8 * width)


def keep_buffers(samples: list[Samples], width: int) -> dict[str, np.ndarray]:
    """A copy of what all buffers of all players hold, as arrays by name."""
    found: dict[str, np.ndarray] = {}
    by_kind = zip(*map(reservoirs_of, samples), strict=True)
    for prefix, reservoirs in zip(BUFFERS, by_kind, strict=True):
        kept = keep(list(reservoirs), width)
        found |= {f"{prefix}_{name}": array for name, array in kept._asdict().items()}
    return found


def put_buffers(state: Any, samples: list[Samples]) -> None:
    """The reverse of :func:`keep_buffers`, from a state that has the arrays."""
    by_kind = zip(*map(reservoirs_of, samples), strict=True)
    for prefix, reservoirs in zip(BUFFERS, by_kind, strict=True):
        kept = Kept(*(getattr(state, f"{prefix}_{name}") for name in Kept._fields))
        put(kept, list(reservoirs))


def restored_buffers(
    kept: Mapping[str, np.ndarray], record: Deep, n_players: int, shape: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """The arrays of all buffers by name, checked as by :func:`restored`."""
    found: dict[str, np.ndarray] = {}
    has = (True, record.has_strategy_network, record.has_baseline_network)
    for prefix, is_used in zip(BUFFERS, has, strict=True):
        capacity = record.buffer * is_used
        n_infosets, width = shape
        found |= restored(
            kept, prefix, capacity=capacity, reservoirs=n_players, shape=(n_infosets, width)
        )
    return found


def no_samples(n_players: int, width: int) -> dict[str, np.ndarray]:
    """The arrays of empty buffers, by name."""
    seen = np.zeros(n_players, np.int64)
    empty = Kept(np.empty(0, np.int32), np.empty(0), np.empty((0, width)), seen)
    return {f"{prefix}_{name}": a for prefix in BUFFERS for name, a in empty._asdict().items()}
