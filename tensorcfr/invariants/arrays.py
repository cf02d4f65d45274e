"""Invariants A: the arrays themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from ..model.arrays import SequenceForm, named_arrays
from ..payoff import ARRAYS
from .reader import Reader

Declared = Mapping[str, tuple[type, tuple[str | int, ...]]]
"""Dtype and shape by name; the first array with a dimension sets its size."""

ANY_SIGNED = np.signedinteger
HANDS = ("hands of player 0", "hands of player 1")

FORM: dict[str, Any] = {
    "player_infosets": (np.int64, ("players + 1",)),
    "player_sequences": (np.int64, ("players + 1",)),
    "player_buckets": (np.int64, ("players + 1",)),
    "bucket_level": (np.int64, ("buckets",)),
    "bucket_actions": (np.int64, ("buckets",)),
    "bucket_lanes": (np.int64, ("buckets",)),
    "bucket_infoset": (np.int64, ("buckets",)),
    "bucket_sequence": (np.int64, ("buckets",)),
    "bucket_stride": (np.int64, ("buckets",)),
    "bucket_mask": (np.int64, ("buckets",)),
    "hand_rank": (np.int64, ("masks", "most hands + 1")),
    "infoset_parent": (np.uint32, ("infosets",)),
}

TREE: Declared = {
    "parent": (np.int64, ("nodes",)),
    "first_child": (np.int64, ("nodes + 1",)),
    "player": (np.int8, ("nodes",)),
    "infoset": (np.int64, ("nodes",)),
    "probability": (np.float64, ("nodes",)),
    "outcome": (np.int32, ("nodes",)),
    "terminal": (np.int64, ("terminals",)),
    "utility": (np.float64, ("terminals", "players")),
}

PUBLIC: Declared = {
    "prior": (np.float64, HANDS),
    "parent": (ANY_SIGNED, ("nodes",)),
    "first_child": (ANY_SIGNED, ("nodes + 1",)),
    "player": (np.int8, ("nodes",)),
    "edge": (ANY_SIGNED, ("nodes",)),
    "chance": (ANY_SIGNED, ("nodes",)),
    "chance_table": (np.float64, ("tables", *HANDS)),
    "weight": (ANY_SIGNED, ("nodes",)),
    "weight_table": (np.float64, ("weights", *HANDS)),
    "payoff": (ANY_SIGNED, ("nodes",)),
    "coefficient": (np.float64, ("payoffs",)),
    "matrix": (np.int64, ("payoffs",)),
    "matrix_table": (np.float64, ("matrices", 2, *HANDS)),
    "bucket": (ANY_SIGNED, ("nodes",)),
    "rank": (ANY_SIGNED, ("nodes",)),
}


def views(reader: Reader) -> Iterator[tuple[str, Declared, dict[str, Any]]]:
    """For each part of a game: prefix of array names, declared dtypes and shapes, the arrays."""
    game = reader.game
    yield "", declared_form(game.form), dict(named(game.form))
    if reader.has_tree:
        yield "", TREE, dict(named(reader.tree))
    if game.public is not None:
        yield "public.", PUBLIC, dict(named(game.public.tree))
    if game.merged is not None:
        # The merged form has the players of the game.
        declared = {
            **declared_form(game.merged.form),
            "sequence": (np.uint32, ("sequences",)),
        }
        yield "merged.", declared, dict(named(game.merged.form), sequence=game.merged.sequence)
    if game.tied_to is not None:
        yield "", {"tied_to": (np.uint32, ("infosets",))}, {"tied_to": game.tied_to}


def declared_form(form: SequenceForm) -> Declared:
    """Declared dtypes and shapes of a sequence form and its payoff operator."""
    of_parts = {
        f"{part.kind}.{name}": declared
        for part in form.operator
        for name, declared in ARRAYS[part.kind].items()
    }
    return {**FORM, **of_parts}


def named(view: Any) -> Iterator[tuple[str, Any]]:
    """The arrays of a record by name; arrays of a payoff part as ``part.array``."""
    for name, array in named_arrays(view):
        yield name.replace("/", "."), array


def check_array(reader: Reader) -> str | None:
    """Dtype and shape of every array."""
    players: dict[str, int] = {}
    for prefix, declared, arrays in views(reader):
        sizes = dict(players)
        for name, (dtype, dimensions) in declared.items():
            wrong = array_error(arrays[name], dtype, dimensions, sizes)
            if wrong is not None:
                return f"{prefix}{name} {wrong}"
        players = {"players": sizes.get("players", 0)}
        if players["players"] < 1 or sizes.get("nodes", 1) < 1:
            return f"there are {sizes['players']} players and {sizes.get('nodes')} nodes"
    return None


def array_error(
    array: Any, dtype: type, dimensions: tuple[str | int, ...], sizes: dict[str, int]
) -> str | None:
    """The error in one array, or None.

    Args:
        array: The array.
        dtype: Its declared dtype.
        dimensions: Its declared shape.
        sizes: Size by name of a dimension; unknown sizes are taken from the array and added.
    """
    if not isinstance(array, np.ndarray):
        return f"is of type {type(array).__name__}, not an array"
    any_size = dtype is ANY_SIGNED
    right = np.issubdtype(array.dtype, dtype) if any_size else array.dtype == dtype
    if not (right and array.dtype.isnative):
        declared = "a signed integer" if any_size else np.dtype(dtype)
        order = "" if array.dtype.isnative else " in foreign byte order"
        return f"is {np.dtype(array.dtype.type)}{order}, not {declared}"
    if array.ndim == len(dimensions):
        for dimension, size in zip(dimensions, array.shape, strict=True):
            base, offset = split_dimension(dimension)
            sizes.setdefault(base, max(0, size - offset))
    wanted = tuple(
        sizes.get(base, 0) + offset if base else offset
        for base, offset in map(split_dimension, dimensions)
    )
    if array.shape != wanted:
        said = ", ".join(map(str, dimensions)) + ("," if len(dimensions) == 1 else "")
        return f"has shape {array.shape}, not ({said}) = {wanted}"
    return None


@cache
def split_dimension(dimension: str | int) -> tuple[str, int]:
    """``"players - 1"`` as ``("players", -1)``, and 9 as ``("", 9)``."""
    if isinstance(dimension, int):
        return "", dimension
    base, offset = re.fullmatch(r"(.*?)( [+-] \d+)?", dimension).groups()  # type: ignore[union-attr]
    return base, int((offset or "0").replace(" ", ""))


LEAST, MOST = -2, 1 << 32
"""Range of whole numbers in a game: sentinels, indices of 32 bits, and the end of their range."""


def check_size(reader: Reader) -> str | None:
    """Whole numbers are in the range of indices, so that sums and products do not overflow."""
    for prefix, _, arrays in views(reader):
        for name, array in arrays.items():
            # Smaller types cannot be out of range.
            if array.dtype == np.int64 and array.size:
                least, most = int(array.min()), int(array.max())
                if least < LEAST or most > MOST:
                    return f"{prefix}{name} holds {least if least < LEAST else most}"
    return None


def check_contiguous(reader: Reader) -> str | None:
    """Every array is contiguous and aligned, as kernels require."""
    for prefix, _, arrays in views(reader):
        for name, array in arrays.items():
            if not array.flags.c_contiguous:
                return f"{prefix}{name} is not contiguous in C order"
            if not array.flags.aligned:
                return f"{prefix}{name} is not aligned"
    return None
