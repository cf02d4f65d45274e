"""Results of measurements as records."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Record = TypeVar("Record")


def read_records(path: Path, record: Callable[..., Record], fields: dict[str, Any]) -> list[Record]:
    """Return the rows of a CSV file, each as a record whose fields have these types."""
    types: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float}
    with path.open(newline="") as file:
        return [
            record(**{name: types[_name(kind)](row[name]) for name, kind in fields.items()})
            for row in csv.DictReader(file)
        ]


def _name(kind: Any) -> str:
    """Return the name of a type in an annotation, which may be a text."""
    return str(getattr(kind, "__forward_arg__", kind))
