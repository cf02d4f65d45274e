"""Print which public functions give the same numbers in every layout of a game, in Markdown.

``python -m scripts.function_layouts`` computes the table of ``tests/support/every_function.py``.
A row is a public function that returns numbers by infoset, action, history or hand; a column is a
layout.  A cell says whether the numbers equal those of the same game in one flat form in which
nothing is merged.  ``refused``: the function says that it needs ``game.flat()``.  A letter leads to
the reason why a cell is not compared.  The exit status is 1 if numbers differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]


def lines() -> Iterator[str]:
    """Yield the lines of the table, of its reasons, and of the names in no row."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support import every_function

    yield f"| | flat | {' | '.join(every_function.LAYOUTS)} |"
    yield "| --- |" + " --- |" * (1 + len(every_function.LAYOUTS))
    marks: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        for row, cells in every_function.table(Path(folder)):
            shown = []
            for cell in cells:
                word, _, reason = cell.partition(": ")
                mark = marks.setdefault(reason, chr(ord("a") + len(marks))) if reason else ""
                shown.append(f"{word} ({mark})" if mark else word)
            yield f"| {row} | reference | {' | '.join(shown)} |"
    yield ""
    for reason, mark in marks.items():
        yield f"* ({mark}) {reason}"
    yield ""
    yield "Public names in no row:"
    yield ""
    by_reason: dict[str, list[str]] = {}
    for name in sorted(every_function.public_names()):
        if not every_function.rows_for(name):
            by_reason.setdefault(every_function.OTHER[name], []).append(name)
    for reason, names in by_reason.items():
        yield f"* {reason}: {', '.join(names)}"


if __name__ == "__main__":
    is_wrong = False
    for line in lines():
        is_wrong |= "WRONG" in line
        print(line, flush=True)
    sys.exit(int(is_wrong))
