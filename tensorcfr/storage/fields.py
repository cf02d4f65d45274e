"""Checks for the values of a JSON header, as tables of keys and the values that each may have.

A *check* takes a JSON value and its place in the header.  It returns the value, or raises a
ValueError that begins with the place: ``trace[3].seconds is -1, not ...``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

Check = Callable[[Any, str], Any]
Fields = Mapping[str, Check]
"""Checks by key."""
MOST = 1 << 53
"""Largest whole number of a count: beyond it, a float64 cannot represent every whole number."""
DEEPEST = 8
"""Greatest depth of nested objects and lists."""


def read_fields(
    values: Any, required: Fields, optional: Fields | None = None, where: str = "header"
) -> dict[str, Any]:
    """Check an object against a table of fields.

    Args:
        values: The object.
        required: Checks of the keys that it must have.
        optional: Checks of the keys that it may have in addition; other keys are refused.
        where: Name of the object in errors.

    Returns:
        The checked values by key.

    Raises:
        ValueError: A key is missing or unknown, or its check refuses the value; names the key.
    """
    if not isinstance(values, dict):
        raise _wrong(values, where, "an object")
    known = {**required, **(optional or {})}
    for key in values:
        if key not in known:
            raise ValueError(f"{where} has the unknown key {shown(key)}")
    for key in required:
        if key not in values:
            raise ValueError(f"{where} lacks the key {key!r}")
    return {key: known[key](value, f"{where}.{key}") for key, value in values.items()}


def read_text(taken: Any, key: str, required: Fields) -> dict[str, Any]:
    """Read a JSON object from an array of bytes, and check it as :func:`read_fields` does.

    Args:
        taken: The arrays, a :class:`tensorcfr.storage.archive.Taken`.
        key: Key of the array.
        required: Checks of the keys that the object must have.

    Raises:
        ValueError: The array is not JSON, or the object does not match the table.
    """
    blob = taken.take(key)
    try:
        value = json.loads(blob.tobytes().decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"array {key!r} is damaged: {error}") from error
    return read_fields(value, required, where=key)


def record(required: Fields, optional: Fields | None = None) -> Check:
    """Return a check for an object with the keys of a table."""
    return lambda value, where: read_fields(value, required, optional, where)


def number(least: float = -math.inf, most: float = math.inf) -> Check:
    """Return a check for a finite number in a range; its result is a float."""

    def check(value: Any, where: str) -> float:
        # Types are compared exactly, because a bool is an int; an int above 1e308 has no float.
        if type(value) in (int, float) and abs(value) < 1e308 and least <= value <= most:
            return float(value)
        raise _wrong(value, where, f"a finite number{_range(least, most)}")

    return check


def whole(least: int = 0, most: int = MOST) -> Check:
    """Return a check for a whole number in a range."""

    def check(value: Any, where: str) -> int:
        # A bool is an int, too, but not a whole number.
        if type(value) is int and least <= value <= most:
            return value
        raise _wrong(value, where, f"a whole number{_range(least, most)}")

    return check


def text(allowed: Collection[str] | None = None) -> Check:
    """Return a check for a string: one of those allowed, or any string."""

    def check(value: Any, where: str) -> str:
        if isinstance(value, str) and (allowed is None or value in allowed):
            return value
        raise _wrong(value, where, f"one of {', '.join(allowed)}" if allowed else "a text")

    return check


def flag(value: Any, where: str) -> bool:
    """Check that a value is true or false."""
    if isinstance(value, bool):
        return value
    raise _wrong(value, where, "true or false")


def either(*checks: Check) -> Check:
    """Return a check that tries several checks in order, and returns the first result.

    If all of them refuse the value, the error is that of the last one.
    """

    def check(value: Any, where: str) -> Any:
        for candidate in checks[:-1]:
            try:
                return candidate(value, where)
            except ValueError:
                pass
        return checks[-1](value, where)

    return check


def maybe(check: Check) -> Check:
    """Return a check for null, or for a value that another check accepts."""
    return lambda value, where: None if value is None else check(value, where)


def several(check: Check, count: int | None = None) -> Check:
    """Return a check for a list, of a given length or of any; its result is a tuple."""

    def check_all(value: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list) or (count is not None and len(value) != count):
            raise _wrong(value, where, "a list" if count is None else f"a list of {count}")
        return tuple(check(item, f"{where}[{index}]") for index, item in enumerate(value))

    return check_all


def by_key(check: Check) -> Check:
    """Return a check for an object with any keys, whose values pass another check."""

    def check_all(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _wrong(value, where, "an object")
        return {key: check(item, f"{where}[{shown(key)}]") for key, item in value.items()}

    return check_all


def plain(value: Any, where: str, depth: int = DEEPEST) -> Any:
    """Check that a value is JSON of limited depth and numbers of limited size."""
    if isinstance(value, (dict, list)):
        if not depth:
            raise ValueError(f"{where} goes deeper than {DEEPEST} levels")
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            plain(item, f"{where}[{shown(key)}]", depth - 1)
    elif value is not None and not isinstance(value, (str, bool)):
        number(-MOST, MOST)(value, where) if isinstance(value, int) else number()(value, where)
    return value


def _wrong(value: Any, where: str, wanted: str) -> ValueError:
    return ValueError(f"{where} is {shown(value)}, not {wanted}")


def _range(least: float, most: float) -> str:
    if math.isinf(most):
        return f" from {least:g}" if math.isfinite(least) else ""
    return f" from {least:g} to {most:g}"


def shown(value: Any) -> str:
    """Return a value as errors show it, shortened.

    A damaged file may hold numbers and texts of any length.
    """
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**20:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, (dict, list)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    text = repr(value[:60] if isinstance(value, str) else value)
    return text if len(text) <= 80 else f"{text[:80]}..."
