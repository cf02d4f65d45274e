"""Shared by the scripts: generated parts of pages, stored measurements, arguments."""

from __future__ import annotations

import csv
import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from tensorcfr._util.hardware import machine, versions

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FIGURES = DOCS / "figures"
RESULTS = ROOT / "benchmarks" / "results"
Record = TypeVar("Record")


def page_with(page: str, script: str, parts: Mapping[str, str]) -> str:
    """Return a page with its generated parts replaced; text between the parts stays as it is.

    Args:
        page: The page.
        script: Name of the script of the parts: ``variants`` for ``scripts/variants.py``.
        parts: Text by name.  In the page, a part stands between two comments that name it.

    Raises:
        ValueError: The page has lost the comments around a part; names it.
    """
    for name, text in parts.items():
        begin = f"<!-- {name}: written by scripts/{script}.py -->"
        end = f"<!-- end of {name} -->"
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"the page has lost the comments that mark its part {name!r}")
        page = f"{before}{begin}\n\n{text}\n\n{end}{after}"
    return page


def write_parts(page: Path, script: str, parts: Mapping[str, str]) -> None:
    """Replace the generated parts of a page; see :func:`page_with`."""
    page.write_text(page_with(page.read_text("utf-8"), script, parts), "utf-8")


def arguments(doc: str | None) -> ArgumentParser:
    """Return a parser of the command line whose help shows the docstring of the script."""
    return ArgumentParser(description=doc, formatter_class=RawDescriptionHelpFormatter)


def origin() -> dict[str, str]:
    """Return machine, versions and date, as a note to a measurement."""
    return {"machine": machine(), "versions": versions(), "date": f"{datetime.now(UTC).date()}"}


def origin_of(row: Mapping[str, Any]) -> str:
    """Return machine, versions and date of a stored measurement as text."""
    return f"{row['machine']}; {row['versions']}; {row['date']}"


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a CSV file; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a CSV file; the first row names the columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_records(path: Path, record: Callable[..., Record]) -> list[Record]:
    """Return the rows of a CSV file as named tuples or dataclasses; none if there is no file."""
    types: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float}
    kinds = {
        # The annotation may be a text.
        name: types[str(getattr(kind, "__forward_arg__", kind))]
        for name, kind in record.__annotations__.items()
    }
    rows = read_rows(path)
    return [record(**{name: kind(row[name]) for name, kind in kinds.items()}) for row in rows]


def read_json(path: Path | None) -> dict[str, Any]:
    """Return a file of measurements; empty if there is none."""
    kept: dict[str, Any] = json.loads(path.read_text("utf-8")) if path and path.exists() else {}
    return kept


def write_json(path: Path | None, found: Mapping[str, Any]) -> None:
    """Write a file of measurements, if one is asked for."""
    if path is not None:
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


def report(counts: Mapping[str, int], faults: Iterable[str]) -> int:
    """Print a line of counts, and the faults; return the exit status, 1 if there is a fault."""
    print(", ".join(f"{count:,} {name}" for name, count in counts.items()), flush=True)
    faults = list(faults)
    print(*faults, sep="\n", end="\n" if faults else "")
    return int(bool(faults))
