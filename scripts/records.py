"""The table of docs/results/records.md: the best proven bounds for classic games.

    python -m scripts.records            prove the certificates in docs/records, write the table
    python -m scripts.records add FILE   keep a certificate that proves a lower exploitability

The checker proves every row.  The solver is not run.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tensorcfr.formats import checker

from ._pages import DOCS, arguments, write_parts

FOLDER = DOCS / "records"
PAGE = DOCS / "results" / "records.md"
MOST_BYTES = 100_000
"""Largest size of a certificate in the repository, in bytes."""


class ProvenFile(NamedTuple):
    """A certificate that the checker has proven."""

    game: str
    """Name and parameters of the game."""
    content: dict[str, Any]
    proven: checker.Intervals


def read(path: Path) -> ProvenFile:
    """Prove a certificate.

    Raises:
        CertificateError: It does not prove its claims, or is too large for the repository.
    """
    if path.stat().st_size >= MOST_BYTES:
        raise checker.CertificateError(f"{path} has {MOST_BYTES:,} bytes or more")
    content = json.loads(path.read_text("utf-8"), object_pairs_hook=checker.entries_of)
    name, parameters = content["game"]["name"], content["game"]["parameters"]
    settings = [f"{key}={parameters[key]!r}" for key in sorted(parameters)]
    game = f"{name}({', '.join(settings)})" if settings else name
    return ProvenFile(game, content, checker.check(content))


def add(path: Path) -> None:
    """Copy a certificate to the records if it proves a lower bound than the record of its game.

    Raises:
        CertificateError: The record of the game is as good.
    """
    new = read(path)
    target = FOLDER / f"{''.join(c if c.isalnum() else '_' for c in new.game).strip('_')}.cert"
    for old_path in sorted(FOLDER.glob("*.cert")):
        old = read(old_path)
        if old.game == new.game:
            bound = old.proven["exploitability"][1]
            if new.proven["exploitability"][1] >= bound:
                raise checker.CertificateError(f"{old_path} proves {float(bound)!r} already")
            target = old_path
    shutil.copyfile(path, target)


def table() -> str:
    """Return the table of all records."""
    lines = [
        "| game | value of player 0 | exploitability | infosets | certificate | digest |",
        "| --- | --- | --- | ---: | --- | --- |",
    ]
    for path in sorted(FOLDER.glob("*.cert")):
        game, content, proven = read(path)
        digest, infosets = content["digest"][:16], len(content["strategies"])
        value, bound = (shown(proven[key]) for key in ("value 0", "exploitability"))
        link = f"[{path.name}](../records/{path.name})"
        lines.append(f"| `{game}` | {value} | {bound} | {infosets:,} | {link} | `{digest}` |")
    return "\n".join(lines)


def shown(ends: tuple[Any, Any]) -> str:
    """Return a proven interval as text: an exact number, or digits that both ends round to."""
    low, high = ends
    if low == high:
        return f"exactly {low}" if len(str(low)) < 30 else f"{float(low):.12g}, exactly known"
    rounded = [(f"{float(low):.{d}g}", f"{float(high):.{d}g}") for d in range(15, 0, -1)]
    return next((a for a, b in rounded if a == b), f"from {float(low):.3g} to {float(high):.3g}")


def main() -> None:
    """Run the command line."""
    parser = arguments(__doc__)
    parser.add_argument("action", nargs="?", choices=["add"])
    parser.add_argument("file", nargs="?", type=Path)
    asked = parser.parse_args()
    try:
        if asked.action:
            if asked.file is None:
                parser.error("add takes a file")
            add(asked.file)
        write_parts(PAGE, "records", {"records": table()})
    except (checker.CertificateError, OSError) as error:
        sys.exit(f"refused: {error}")


if __name__ == "__main__":
    main()
