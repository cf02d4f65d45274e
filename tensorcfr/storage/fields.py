"""The values of a header, checked by tables: each row is a key and the values that it may have.

A *check* takes a value as JSON gives it and the place where it stands, and returns the value, or
raises a ValueError that begins with the place: ``trace[3].seconds is -1, not ...``.
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
"""The largest whole number that counts something: the last one that a float tells from the next."""
DEEPEST = 8
"""Objects and lists within each other."""


def read_fields(
    values: Any, required: Fields, optional: Fields | None = None, where: str = "header"
) -> dict[str, Any]:
    """Check an object against a table.

    Args:
        values: The object.
        required: What it must have.
        optional: What it may have, too.  There must be nothing else.
        where: What errors call it.

    Returns:
        The checked values by key.

    Raises:
        ValueError: A key is missing or unknown, or a value is not what its check takes; names it.
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


def read_text(
    given: Any, key: str, required: Fields, optional: Fields | None = None
) -> dict[str, Any]:
    """The values of a JSON object in an array of bytes, one of
    :class:`tensorcfr.storage.archive.Taken`, checked as :func:`read_fields` does.

    Raises:
        ValueError: It is no JSON, or as for :func:`read_fields`.
    """
    blob = given.take(key)
    try:
        said = json.loads(blob.tobytes().decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"array {key!r} is damaged: {error}") from error
    return read_fields(said, required, optional, where=key)


def record(required: Fields, optional: Fields | None = None) -> Check:
    """An object with the keys of a table."""
    return lambda value, where: read_fields(value, required, optional, where)


def number(least: float = -math.inf, most: float = math.inf) -> Check:
    """A finite number in a range; returned as a float."""

    def check(value: Any, where: str) -> float:
        if type(value) in (int, float) and abs(value) < 1e308 and least <= value <= most:
            return float(value)
        raise _wrong(value, where, f"a finite number{_range(least, most)}")

    return check


def whole(least: int = 0, most: int = MOST) -> Check:
    """A whole number in a range."""

    def check(value: Any, where: str) -> int:
        if type(value) is int and least <= value <= most:
            return value
        raise _wrong(value, where, f"a whole number{_range(least, most)}")

    return check


def text(allowed: Collection[str] | None = None) -> Check:
    """A text, one of a few or any."""

    def check(value: Any, where: str) -> str:
        if isinstance(value, str) and (allowed is None or value in allowed):
            return value
        raise _wrong(value, where, f"one of {', '.join(allowed)}" if allowed else "a text")

    return check


def flag(value: Any, where: str) -> bool:
    """True or false."""
    if isinstance(value, bool):
        return value
    raise _wrong(value, where, "true or false")


def either(*checks: Check) -> Check:
    """What the first of some checks takes that takes it."""

    def check(value: Any, where: str) -> Any:
        for one in checks[:-1]:
            try:
                return one(value, where)
            except ValueError:
                pass
        return checks[-1](value, where)

    return check


def maybe(check: Check) -> Check:
    """Null, or what another check takes."""
    return lambda value, where: None if value is None else check(value, where)


def several(check: Check, count: int | None = None) -> Check:
    """A list, of a given length or any; returned as a tuple."""

    def check_all(value: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list) or (count is not None and len(value) != count):
            raise _wrong(value, where, "a list" if count is None else f"a list of {count}")
        return tuple(check(one, f"{where}[{index}]") for index, one in enumerate(value))

    return check_all


def by_key(check: Check) -> Check:
    """An object with any keys."""

    def check_all(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _wrong(value, where, "an object")
        return {key: check(one, f"{where}[{shown(key)}]") for key, one in value.items()}

    return check_all


def plain(value: Any, where: str, depth: int = DEEPEST) -> Any:
    """Anything of objects, lists, texts, truth values and numbers of a usual size."""
    if isinstance(value, (dict, list)):
        if not depth:
            raise ValueError(f"{where} goes deeper than {DEEPEST} levels")
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in items:
            plain(one, f"{where}[{shown(key)}]", depth - 1)
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
    """Return a value as errors show it: numbers may have millions of digits, texts of letters."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**20:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, (dict, list)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    text = repr(value[:60] if isinstance(value, str) else value)
    return text if len(text) <= 80 else f"{text[:80]}..."
