"""Print which ways to solve and ways to look are tested together, as a table in Markdown.

``python -m scripts.covered_pairs`` reads the registry of ``tests/support/ways.py``.  A number
counts the games of the corpus for which ``tests/project/test_every_way.py`` compares the pair with
a slow computation.  ``refused``: the library says that it does not do this, and the words are
tested.  A letter leads to the reason why a pair is compared in part, or is a hole.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks._common import table

ROOT = Path(__file__).resolve().parents[1]


def lines() -> Iterator[str]:
    """Return the lines of the table and of its reasons."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support import ways

    looks, cells, reasons = ways.table()
    rows = [(way, *(cells[way, look] for look in looks)) for way in ways.SOLVE]
    yield table((f"{len(ways.GAMES)} games", *looks), rows, left=range(len(looks) + 1))
    yield ""
    for mark, reason in reasons.items():
        yield f"* ({mark}) {reason}"


if __name__ == "__main__":
    for line in lines():
        print(line)
