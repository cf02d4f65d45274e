"""Read files that other programs wrote, and count the reasons of those that are refused.

    python -m scripts.foreign_files FOLDER ... [--json benchmarks/results/foreign_files.json]

Every file below a folder is read by the reader of its kind: a game (``.efg``, ``.nfg``) by its
rules, any other file as a spot.  A spot is also built, with ranges, stacks or a board in place of
those that its file does not have.  A file must be read, or refused with an error of this library;
anything else is a defect, is listed with its name, and makes the exit status 1.

The counts of one run are one entry of the JSON file, under the name of the folder.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tensorcfr import __version__
from tensorcfr.errors import GameError
from tensorcfr.formats import read_spot_options
from tensorcfr.formats.game_sources import resolve_rules
from tensorcfr.formats.other_spots import ENDINGS
from tensorcfr.games import make_spot

from ._pages import arguments, origin, read_json, report, write_json

FILLED_IN = {"board": "Td9d6h", "ranges": ("22+", "22+"), "pot": 10, "stacks": 90}
"""Options in place of those that a file does not have."""
FILLED_IN_OMAHA = {"ranges": ("AA", "KK")}
READ = "read"


def read(path: Path) -> None:
    """Read a file as its kind.

    Raises:
        GameError: The file is refused.
    """
    if path.suffix.lower() not in ENDINGS:
        resolve_rules(path)
        return
    options = read_spot_options(path)
    is_omaha = options.get("game") == "omaha"
    filled_in: dict[str, Any] = FILLED_IN | (FILLED_IN_OMAHA if is_omaha else {})
    make_spot(**(filled_in | options))


def result_of(path: Path) -> tuple[str, bool]:
    """Return the reason for which a file is refused, or that it is read; and whether that is a
    defect."""
    try:
        read(path)
    except GameError as error:
        reason = str(error).replace(f"{path}:", "").replace(str(path), "FILE")
        reason = re.sub(r"'[^']*'|\"[^\"]*\"", "'...'", re.sub(r"^[\d:]+ ", "", reason))
        return re.sub(r"\d[\d,.]*", "N", reason), False
    except Exception as error:
        return f"{type(error).__name__}: {error}", True
    return READ, False


def counts_of(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Read all files of a folder; return the counts by kind and reason, and the defects."""
    counts: dict[str, Counter[str]] = {}
    defects = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        reason, is_defect = result_of(path)
        counts.setdefault(path.suffix.lower(), Counter())[reason] += 1
        if is_defect:
            defects.append(f"{path}: {reason}")
    by_kind = {
        kind: {"files": sum(found.values()), READ: found.pop(READ, 0), "refused": dict(found)}
        for kind, found in sorted(counts.items())
    }
    return by_kind, defects


def main() -> int:
    """Run the command line."""
    parser = arguments(__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--json", type=Path, help="a file that keeps the counts")
    given = parser.parse_args()
    kept, defects = read_json(given.json), list[str]()
    for folder in given.folders:
        by_kind, bad = counts_of(folder)
        defects += bad
        about = {"version": __version__, "date": origin()["date"]}
        kept[folder.name] = about | {"kinds": by_kind}
        for kind, found in by_kind.items():
            print(f"{folder.name} {kind}: {found['files']} files, {found[READ]} read")
            for reason, count in sorted(found["refused"].items(), key=lambda item: -item[1]):
                print(f"  {count:6} {reason}")
    write_json(given.json, kept)
    return report({"defects": len(defects)}, defects)


if __name__ == "__main__":
    sys.exit(main())
