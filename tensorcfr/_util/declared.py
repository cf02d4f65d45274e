"""Dtypes and shapes of arrays, declared in the annotations of a named tuple, and their check."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, get_origin, get_type_hints

import numpy as np

from .violations import fail, named_after

Declared = Mapping[str, tuple[type, tuple[str | int, ...]]]
"""Dtype and shape by name; the first array with a dimension sets its size."""


@cache
def declared(kind: Any) -> Declared:
    """Return the dtype and shape of each array of a named tuple.

    Args:
        kind: Class of the named tuple. The annotation of an array is ``Annotated[np.ndarray,
            np.int64, "rows", 3]``: the dtype, then the size of every axis, as a number or a name.
            Axes with the same name have the same size.
    """
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: (hint.__metadata__[0], hint.__metadata__[1:])
        for name, hint in hints.items()
        if get_origin(hint) is Annotated
    }


def check_declared(arrays: Mapping[str, Any], wanted: Declared, sizes: dict[str, int]) -> None:
    """Check that all arrays are as declared.

    Args:
        arrays: The arrays by name.
        wanted: Their dtypes and shapes.
        sizes: As for :func:`check_one`.
    """
    for name, (dtype, dimensions) in wanted.items():
        with named_after(f"{name} "):
            check_one(arrays[name], dtype, dimensions, sizes)


def check_one(
    array: Any, dtype: type, dimensions: tuple[str | int, ...], sizes: dict[str, int]
) -> None:
    """Check that an array is as declared.

    Args:
        array: The array.
        dtype: Its declared dtype.
        dimensions: Its declared shape.
        sizes: Size by name of a dimension; unknown sizes are taken from the array and added.
    """
    if not isinstance(array, np.ndarray):
        fail(f"is of type {type(array).__name__}, not an array")
    # A field that is declared as any signed integer may have any width.
    any_size = dtype is np.signedinteger
    right = np.issubdtype(array.dtype, dtype) if any_size else array.dtype == dtype
    if not (right and array.dtype.isnative):
        declared = "a signed integer" if any_size else np.dtype(dtype)
        order = "" if array.dtype.isnative else " in foreign byte order"
        fail(f"is {np.dtype(array.dtype.type)}{order}, not {declared}")
    # The first array with a dimension defines its size, and later arrays must agree.
    if array.ndim == len(dimensions):
        for dimension, size in zip(dimensions, array.shape, strict=True):
            base, offset = split_dimension(dimension)
            sizes.setdefault(base, max(0, size - offset))
    wanted = tuple(
        sizes.get(base, 0) + offset if base else offset
        for base, offset in map(split_dimension, dimensions)
    )
    if array.shape != wanted:
        dimensions_text = ", ".join(map(str, dimensions)) + ("," if len(dimensions) == 1 else "")
        fail(f"has shape {array.shape}, not ({dimensions_text}) = {wanted}")


@cache
def split_dimension(dimension: str | int) -> tuple[str, int]:
    """Split a dimension into name and offset: ``"players - 1"`` into ``("players", -1)``, 9 into
    ``("", 9)``."""
    if isinstance(dimension, int):
        return "", dimension
    base, offset = re.fullmatch(r"(.*?)( [+-] \d+)?", dimension).groups()  # type: ignore[union-attr]
    return base, int((offset or "0").replace(" ", ""))
