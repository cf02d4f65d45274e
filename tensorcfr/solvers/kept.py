"""Arrays of a state that came from outside, from a file say, before a solver takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import DTypeLike

Expected = Mapping[str, tuple[tuple[int, ...], DTypeLike]]
"""Shape and dtype by name."""


BLOCK = 1 << 20
"""Numbers that are looked at together: what is worked out of them takes little memory, however
large an array is."""


def blocks(array: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The numbers of an array, in C order and some at a time, each time with the index of the
    first."""
    flat = array.reshape(-1)
    return ((begin, flat[begin : begin + BLOCK]) for begin in range(0, len(flat), BLOCK))


def copied(kept: Mapping[str, np.ndarray], expected: Expected, owner: str) -> dict[str, np.ndarray]:
    """The arrays of a state, checked by :func:`check_arrays` and copied, in C order."""
    check_arrays(kept, expected, owner)
    return {name: np.array(kept[name], order="C") for name in expected}


def check_arrays(kept: Mapping[str, np.ndarray], expected: Expected, owner: str) -> None:
    """Make sure that arrays are those of a state.

    Args:
        kept: Arrays by name.
        expected: The arrays of the state.
        owner: What has such arrays, for errors: ``"kuhn and cfr"``.

    Raises:
        ValueError: An array has another shape or dtype, holds a value that is not finite, or is a
            generator of random numbers that gives none; names the array.
    """
    for name, (shape, dtype) in expected.items():
        array = kept[name]
        if array.shape != shape or array.dtype != dtype:
            raise ValueError(
                f"{name} is {array.dtype} {array.shape}; for {owner} it is "
                f"{np.dtype(dtype)} {shape}"
            )
        if not all(np.isfinite(some).all() for _, some in blocks(array)):
            raise ValueError(f"{name} holds a value that is not finite")
        if "generator" in name and not array.any():
            raise ValueError(f"{name} holds zeros only, from which no random numbers come")
