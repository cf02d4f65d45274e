"""Invariants A: the arrays themselves."""

from __future__ import annotations

import numpy as np

from .reader import Reader

ARRAYS: dict[str, tuple[type, tuple[str, ...]]] = {
    "player_infosets": (np.int64, ("players + 1",)),
    "player_sequences": (np.int64, ("players + 1",)),
    "player_buckets": (np.int64, ("players + 1",)),
    "bucket_level": (np.int64, ("buckets",)),
    "bucket_actions": (np.int64, ("buckets",)),
    "bucket_lanes": (np.int64, ("buckets",)),
    "bucket_infoset": (np.int64, ("buckets",)),
    "bucket_sequence": (np.int64, ("buckets",)),
    "infoset_parent": (np.uint32, ("infosets",)),
    "payoff_row": (np.int64, ("slices",)),
    "payoff_rows": (np.int64, ("slices",)),
    "payoff_entries": (np.int64, ("slices",)),
    "payoff_offset": (np.int64, ("slices",)),
    "payoff_slices": (np.int64, ("players + 1",)),
    "payoff_column": (np.uint32, ("players - 1", "entries")),
    "payoff_value": (np.float64, ("entries",)),
    "parent": (np.int64, ("nodes",)),
    "first_child": (np.int64, ("nodes + 1",)),
    "player": (np.int8, ("nodes",)),
    "infoset": (np.int64, ("nodes",)),
    "probability": (np.float64, ("nodes",)),
    "outcome": (np.int32, ("nodes",)),
    "terminal": (np.int64, ("terminals",)),
    "utility": (np.float64, ("terminals", "players")),
}
"""Dtype and shape of every array; the first one with a dimension sets its size."""


def find_array(reader: Reader) -> str | None:
    """Dtype and shape of every array."""
    arrays = reader.form._asdict() | reader.tree._asdict()
    sizes: dict[str, int] = {}
    for name, (dtype, dimensions) in ARRAYS.items():
        array = arrays[name]
        if not isinstance(array, np.ndarray):
            return f"{name} is of type {type(array).__name__}, not an array"
        if array.dtype != dtype:
            return f"{name} is {array.dtype}, not {np.dtype(dtype)}"
        if array.ndim == len(dimensions):
            for dimension, size in zip(dimensions, array.shape, strict=True):
                base, offset = shifted(dimension)
                sizes.setdefault(base, size - offset)
        wanted = tuple(sizes.get(base, 0) + offset for base, offset in map(shifted, dimensions))
        if array.shape != wanted:
            said = ", ".join(dimensions) + ("," if len(dimensions) == 1 else "")
            return f"{name} has shape {array.shape}, not ({said}) = {wanted}"
    if sizes["players"] < 1 or sizes["nodes"] < 1:
        return f"there are {sizes['players']} players and {sizes['nodes']} nodes"
    return None


def shifted(dimension: str) -> tuple[str, int]:
    """``"players - 1"`` as ``("players", -1)``."""
    base, _, offset = dimension.partition(" ")
    return base, int(offset.replace(" ", "") or 0)


def find_contiguous(reader: Reader) -> str | None:
    """Every array is contiguous."""
    for name, array in (reader.form._asdict() | reader.tree._asdict()).items():
        if not array.flags.c_contiguous:
            return f"{name} is not contiguous in C order"
    return None
