"""Reservoirs of a solver, and their arrays in a state: concatenated, without unused space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..algorithms import Deep
from ..kernels.reservoir import Reservoir, Samples
from ..solvers.state_file import Expected, check_arrays

BYTES_PER_SAMPLE = 12
"""Bytes of a sample's infoset and weight; values are extra."""


BUFFERS = ("advantage", "average", "baseline")
"""Kinds of buffers, in the order of :class:`~tensorcfr.kernels.reservoir.Samples`.  The names of
their arrays in a state begin with these words."""


def new_reservoir(capacity: int, width: int) -> Reservoir:
    """Make an empty reservoir; the operating system provides its memory as it fills."""
    return Reservoir(
        np.empty(capacity, np.int32),
        np.empty(capacity),
        np.empty((capacity, width)),
        np.zeros(1, np.int64),
    )


def filled(reservoir: Reservoir) -> int:
    """Return the number of samples in a reservoir."""
    return int(min(reservoir.seen[0], len(reservoir.infoset)))


def reservoirs_of(samples: Samples) -> tuple[Reservoir, Reservoir, Reservoir]:
    """Return the reservoirs of a player, in the order of :data:`BUFFERS`."""
    return samples.advantages, samples.strategies, samples.baselines


def wider(samples: Samples, width: int) -> Samples:
    """Copy samples to reservoirs with room for ``width`` actions."""
    return samples._replace(
        advantages=_wider(samples.advantages, width),
        strategies=_wider(samples.strategies, width),
        baselines=_wider(samples.baselines, width),
    )


def _wider(reservoir: Reservoir, width: int) -> Reservoir:
    values = np.empty((len(reservoir.infoset), width))
    count, old_width = filled(reservoir), reservoir.values.shape[1]
    values[:count, :old_width], values[:count, old_width:] = reservoir.values[:count], np.nan
    return reservoir._replace(values=values)


def bytes_of_buffers(record: Deep, n_players: int, width: int) -> int:
    """Return the bytes of an algorithm's full buffers, and of the copy that undoes an iteration."""
    kinds = 1 + record.has_strategy_network + record.has_baseline_network
    return 2 * n_players * record.buffer * kinds * (BYTES_PER_SAMPLE + 8 * width)


def keep_buffers(samples: list[Samples], width: int) -> dict[str, np.ndarray]:
    """Copy the samples of all players to arrays by name.

    The reservoirs of a kind are concatenated in the order of players.
    """
    arrays: dict[str, np.ndarray] = {}
    none = {"infoset": np.empty(0, np.int32), "weight": np.empty(0), "values": np.empty((0, width))}
    by_kind = zip(*map(reservoirs_of, samples), strict=True)
    for prefix, reservoirs in zip(BUFFERS, by_kind, strict=True):
        for name, first in none.items():
            parts = [getattr(reservoir, name)[: filled(reservoir)] for reservoir in reservoirs]
            arrays[f"{prefix}_{name}"] = np.concatenate([first, *parts])
        arrays[f"{prefix}_seen"] = np.array(
            [int(reservoir.seen[0]) for reservoir in reservoirs], np.int64
        )
    return arrays


def put_buffers(state: Any, samples: list[Samples]) -> None:
    """Restore the samples of all players from the arrays of :func:`keep_buffers`.

    Args:
        state: A state with these arrays.
        samples: The reservoirs of each player; modified in place.
    """
    by_kind = zip(*map(reservoirs_of, samples), strict=True)
    for prefix, reservoirs in zip(BUFFERS, by_kind, strict=True):
        first = 0
        for reservoir, seen in zip(
            reservoirs, getattr(state, f"{prefix}_seen").tolist(), strict=True
        ):
            reservoir.seen[0] = seen
            end = first + filled(reservoir)
            for name in ("infoset", "weight", "values"):
                getattr(reservoir, name)[: end - first] = getattr(state, f"{prefix}_{name}")[
                    first:end
                ]
            first = end


def restore_buffers(
    stored: Mapping[str, np.ndarray], record: Deep, n_players: int, shape: tuple[int, int]
) -> dict[str, np.ndarray]:
    """Check the arrays of :func:`keep_buffers`, and return them by name.

    Args:
        stored: Arrays by name.
        record: The algorithm.
        n_players: Number of players; each has a reservoir of each kind.
        shape: Number of infosets of the game, and maximum number of actions of an infoset.

    Raises:
        ValueError: An array has a wrong shape or dtype, or an impossible number; names it.
    """
    n_infosets, width = shape
    arrays: dict[str, np.ndarray] = {}
    has = (True, record.has_strategy_network, record.has_baseline_network)
    for prefix, is_used in zip(BUFFERS, has, strict=True):
        seen = stored[f"{prefix}_seen"]
        if seen.shape != (n_players,) or seen.dtype != np.int64 or (seen < 0).any():
            raise ValueError(f"{prefix}_seen must count the samples of {n_players} reservoirs")
        count = int(np.minimum(seen, record.buffer * is_used).sum())
        expected: Expected = {
            f"{prefix}_seen": ((n_players,), np.int64),
            f"{prefix}_infoset": ((count,), np.int32),
            f"{prefix}_weight": ((count,), np.float64),
            f"{prefix}_values": ((count, width), np.float64),
        }
        of_kind = {name: np.ascontiguousarray(stored[name]) for name in expected}
        # `check_arrays` refuses nan, which marks missing actions; infinities stay, and are refused.
        values = of_kind[f"{prefix}_values"]
        without_nan = np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf)
        check_arrays({**of_kind, f"{prefix}_values": without_nan}, expected, "such buffers")
        infoset, weight = of_kind[f"{prefix}_infoset"], of_kind[f"{prefix}_weight"]
        if count and not (infoset.min() >= 0 and infoset.max() < n_infosets):
            raise ValueError(f"{prefix}_infoset holds a number that is not an infoset")
        if not (weight > 0.0).all():
            raise ValueError(f"{prefix}_weight holds a weight that is not positive")
        arrays |= of_kind
    return arrays
