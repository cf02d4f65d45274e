"""The page of the viewer, in one piece: markup, style and program, and in a file the data too."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from .._util.arguments import Kind, Where, Whole, checked
from .._util.files import replacing
from .._util.plain import plain
from ..solvers.solution import Solution
from .desk import Desk

MOST_NODES = 20_000
"""Nodes that a file holds, by default: those nearest to the root."""
DIGITS = 6
"""Significant digits of the numbers in a file."""
SOLUTION = Kind((Solution,), "a solution")


def build_page(boot: dict[str, Any], nonce: str | None = None) -> str:
    """The page as text, with what the program begins with.  If the server says that only style and
    program with a nonce may be used, they have it."""
    static = files(__package__) / "static"
    page, style, program = (
        (static / name).read_text("utf-8") for name in ("page.html", "style.css", "program.js")
    )
    # "<" could end the element, or begin a comment in it.
    data = json.dumps(plain(boot), ensure_ascii=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    attribute = f' nonce="{nonce}"' if nonce else ""
    parts = {
        "STYLE": f"<style{attribute}>{style}</style>",
        "BOOT": f'<script type="application/json" id="boot"{attribute}>{data}</script>',
        "PROGRAM": f"<script{attribute}>{program}</script>",
    }
    for name, part in parts.items():
        page = page.replace(f"<!--{name}-->", part)
    return page


@checked()
def save_html(
    solution: Annotated[Solution, SOLUTION],
    path: Annotated[str | Path, Where()],
    *,
    other: Annotated[Solution | None, SOLUTION] = None,
    most: Annotated[int, Whole(1)] = MOST_NODES,
) -> Path:
    """Write a page that shows a solution: one file, without server and network.

    Args:
        solution: The solution.
        path: The file.
        other: Another solution of the same game, shown beside it.
        most: Nodes that the file holds, those nearest to the root first.

    Returns:
        The path.

    Raises:
        ValueError: The solutions are of different games.
    """
    desk = Desk(solution, other)
    numbers = sorted(desk.nodes.first(most))  # Neighbours are often in one chunk.
    nodes = [
        {number: _rounded(desk.node(number, index)) for number in numbers}
        for index in range(len(desk.solutions))
    ]
    text = build_page({"mode": "file", "about": desk.about(), "nodes": nodes})
    with replacing(Path(path)) as file:
        file.write(text.encode())
    return Path(path)


def _rounded(said: Any) -> Any:
    """Numbers with fewer digits, which is most of what a file holds."""
    if isinstance(said, dict):
        return {key: _rounded(value) for key, value in said.items()}
    if isinstance(said, list):
        return [_rounded(value) for value in said]
    return float(f"{said:.{DIGITS}g}") if isinstance(said, float) else said
