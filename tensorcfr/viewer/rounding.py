"""Shorter numbers for pages."""

from __future__ import annotations

from typing import Any


def rounded(data: Any, digits: int = 12) -> Any:
    """Round all numbers to some significant digits, at any depth."""
    if isinstance(data, dict):
        return {key: rounded(value, digits) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [rounded(value, digits) for value in data]
    return float(f"{data:.{digits}g}") if isinstance(data, float) else data
