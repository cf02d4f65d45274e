"""Tables written to files: CSV, JSON, Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from .._util.argument_checks import brief
from .._util.extras import needs
from .._util.files import replacing
from .._util.plain import plain

Rows = Sequence[Mapping[str, Any]]


def save_rows(rows: Rows, path: Path, format: str | None = None) -> Path:
    """Write rows to a file, and return its path.

    Args:
        rows: Rows with equal columns.
        path: The file; it is replaced completely or not at all.
        format: ``"csv"``, ``"json"`` or ``"parquet"``; by default the ending of the path.

    Raises:
        ValueError: There is no such format.
        MissingExtraError: pyarrow is not installed (Parquet); names the extra.
        OSError: The file cannot be written.
    """
    name = format or path.suffix.removeprefix(".").lower()
    if name not in _WRITERS:
        endings = ", ".join(f".{ending}" for ending in _WRITERS)
        raise ValueError(f"path must end in one of {endings}, not {brief(str(path))}")
    with replacing(path) as target:
        _WRITERS[name](rows, target)
    return path


def _csv(rows: Rows, file: BinaryIO) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    file.write(text.getvalue().encode())


def _json(rows: Rows, file: BinaryIO) -> None:
    """Write JSON, with null for NaN, which JSON does not have."""
    file.write(json.dumps(plain(list(rows)), indent=1).encode() + b"\n")


def _parquet(rows: Rows, file: BinaryIO) -> None:
    pyarrow, parquet = needs("pyarrow", "tables"), needs("pyarrow.parquet", "tables")
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), file)


_WRITERS: dict[str, Callable[[Rows, BinaryIO], None]] = {
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
}
