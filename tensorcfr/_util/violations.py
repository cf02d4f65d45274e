"""Checks of arrays that several invariants share, and the error of a broken one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

import numpy as np

from ..errors import InvariantError


def fail(what: str) -> NoReturn:
    """Raise an error that describes the violation of an invariant.

    Raises:
        InvariantError: Always.
    """
    raise InvariantError(what)


@contextmanager
def named_after(before: str) -> Iterator[None]:
    """Begin the errors of checks with some words."""
    try:
        yield
    except InvariantError as error:
        raise InvariantError(f"{before}{error}") from None


def first_true(wrong: np.ndarray) -> int | None:
    """Return the index of the first true value, or None."""
    if not wrong.any():
        return None
    return int(wrong.argmax())


def outside(values: np.ndarray, low: int, high: int) -> int | None:
    """Return the index of the first value outside a range, or None; fast if all values are
    inside."""
    if not len(values) or (low <= values.min() and values.max() < high):
        return None
    return first_true((values < low) | (values >= high))


def check_indices(
    name: str,
    array: np.ndarray,
    size: int,
    used: np.ndarray,
    unused: np.ndarray | int,
    named: Callable[[int], str],
) -> None:
    """Check that numbers are indices from 0 to ``size - 1`` where they are used, and sentinels
    elsewhere.

    Args:
        name: Name of a number, for errors.
        array: int (numbers,): the numbers.
        size: Number of indices.
        used: bool (numbers,): True where a number is an index.
        unused: The sentinel, or int (numbers,): that of each number.
        named: Function that returns the name of the owner of a number, for errors.
    """
    wrong = np.where(used, (array < 0) | (array >= size), array != unused)
    if (i := first_true(wrong)) is not None:
        sentinels = np.broadcast_to(unused, array.shape)
        wanted = f"0 to {size - 1}" if used[i] else f"{sentinels[i]}"
        fail(f"{named(i)} has {name} {array[i]}, not {wanted}")


def check_follow(
    what: str, unit: str, begin: np.ndarray, count: np.ndarray, end: int, units: str = ""
) -> None:
    """Check that parts begin at 0, follow each other, and end at ``end``.

    Args:
        what: Name of a part, for errors.
        unit: Name of the unit of the parts, for errors.
        begin: int64 (parts,): begin of each part.
        count: int64 (parts,): size of each part.
        end: Expected end of the last part.
        units: Noun after ``end`` in errors, with a space before it.
    """
    ends = np.append(0, np.cumsum(count))
    if (index := first_true(begin != ends[:-1])) is not None:
        fail(f"{what} {index} begins at {unit} {begin[index]}, not {ends[index]}")
    if ends[-1] != end:
        fail(f"the {what}s end at {unit} {ends[-1]}, but there are {end}{units}")


def check_ranges(
    name: str, starts: np.ndarray, end: int | None, least: int = 0, what: str = "player"
) -> None:
    """Check that ranges begin at 0, have at least ``least`` elements, and end at ``end`` if it is
    given."""
    if starts[0] != 0:
        fail(f"{name} begins at {starts[0]}, not 0")
    if (index := first_true(starts[1:] < starts[:-1] + least)) is not None:
        fail(f"{name} gives {what} {index} the range {starts[index]} to {starts[index + 1]}")
    if end is not None and starts[-1] != end:
        fail(f"{name} ends at {starts[-1]}, not {end}")
