"""Short ``repr`` of objects with arrays."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import fields
from typing import Any

import numpy as np

LONGEST = 40
"""Largest number of characters of one value."""


class OneLine:
    """Base class of dataclasses with a ``repr`` of one line: shapes of arrays, lengths of long
    values."""

    def __repr__(self) -> str:
        instance: Any = self
        parts = [
            f"{field.name}={_short(getattr(self, field.name))}"
            for field in fields(instance)
            if field.repr
        ]
        return f"<{type(self).__name__}: {', '.join(parts)}>"


def arrays_in_line(state: Any) -> str:
    """Return a ``repr`` of one line for a named tuple of arrays."""
    parts = [f"{name} {_short(array)}" for name, array in state._asdict().items()]
    return f"<{type(state).__name__}: {', '.join(parts)}>"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    text = " ".join(repr(value).split())
    if len(text) <= LONGEST:
        return text
    return (
        f"{len(value):,} items"
        if isinstance(value, Sized) and not isinstance(value, str)
        else (f"{text[: LONGEST - 3]}...")
    )
