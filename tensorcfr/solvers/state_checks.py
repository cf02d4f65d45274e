"""Checks of a state's arrays from outside, such as a file, before a solver uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import DTypeLike

Expected = Mapping[str, tuple[tuple[int, ...], DTypeLike]]
"""Shape and dtype of each array, by name."""


BLOCK = 1 << 20
"""Numbers that are checked together, so that temporary arrays stay small."""


def blocks(array: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield an array in blocks in C order, each with the index of its first number."""
    flat = array.reshape(-1)
    return ((begin, flat[begin : begin + BLOCK]) for begin in range(0, len(flat), BLOCK))


def copy_arrays(
    stored: Mapping[str, np.ndarray], expected: Expected, owner: str
) -> dict[str, np.ndarray]:
    """Check the arrays of a state by :func:`check_arrays`, and copy them in C order."""
    check_arrays(stored, expected, owner)
    return {name: np.array(stored[name], order="C") for name in expected}


def check_arrays(stored: Mapping[str, np.ndarray], expected: Expected, owner: str) -> None:
    """Check that arrays are those of a state.

    Args:
        stored: Arrays by name.
        expected: Shape and dtype of the arrays of the state.
        owner: Game and algorithm of such arrays, for errors: ``"kuhn and cfr"``.

    Raises:
        ValueError: An array has another shape or dtype, holds a number that is not finite, or is
            the state of a random number generator that would produce only zeros; names the array.
    """
    for name, (shape, dtype) in expected.items():
        array = stored[name]
        if array.shape != shape or array.dtype != dtype:
            raise ValueError(
                f"{name} is {array.dtype} {array.shape}; for {owner} it must be "
                f"{np.dtype(dtype)} {shape}"
            )
        if not all(np.isfinite(block).all() for _, block in blocks(array)):
            raise ValueError(f"{name} holds a number that is not finite")
        if "generator" in name and not array.any():
            raise ValueError(
                f"{name} holds only zeros, which is not a state of a random number generator"
            )
