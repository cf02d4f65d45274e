"""The page of the viewer, in one piece: markup, style and program, and in a file the data too.

The program is plain JavaScript in one file for each view, put one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from .._util.arguments import Flag, Kind, Text, Where, Whole, checked
from .._util.files import replacing
from .._util.plain import plain
from ..analysis.hands import LONGEST_LINE
from ..errors import format_bytes
from ..solvers.solution import Solution
from .desk import Desk

MOST_NODES = 20_000
"""Nodes that a file holds, by default: those nearest to the root."""
DIGITS = 6
"""Significant digits of the numbers in a file."""
SAMPLED = 25
"""Nodes by which the size of a file is told."""
STYLES = ("style.css", "poker.css")
PROGRAMS = (
    "tools.js",
    "source.js",
    "address.js",
    "keys.js",
    "hands.js",
    "table.js",
    "grid.js",
    "combos.js",
    "line.js",
    "cards.js",
    "curve.js",
    "locks.js",
    "node.js",
    "form.js",
    "begin.js",
)
SOLUTION = Kind((Solution,), "a solution")


def build_page(boot: dict[str, Any], nonce: str | None = None) -> str:
    """The page as text, with what the program begins with.  If the server says that only style and
    program with a nonce may be used, they have it."""
    static = files(__package__) / "static"
    page, style, program = (
        "\n".join((static / name).read_text("utf-8") for name in names)
        for names in (["page.html"], STYLES, PROGRAMS)
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


@dataclass(frozen=True)
class PageSize:
    """How large a page for sharing will be."""

    nodes: int
    """Nodes that it holds."""
    of: int
    """Nodes of the game."""
    bytes: int
    """Bytes, from a sample of the nodes."""

    def __str__(self) -> str:
        return f"{self.nodes:,} of {self.of:,} nodes, about {format_bytes(self.bytes)}"


@checked()
def save_html(
    solution: Annotated[Solution, SOLUTION],
    path: Annotated[str | Path, Where()],
    *,
    other: Annotated[Solution | None, SOLUTION] = None,
    most: Annotated[int, Whole(1)] = MOST_NODES,
    line: Annotated[str, Text(LONGEST_LINE)] = "",
    street: Annotated[bool, Flag()] = False,
    tell: Annotated[Callable[[PageSize], object] | None, Kind((Callable,), "a function")] = None,
) -> Path:
    """Write a page that shows a solution: one file, without server and network.

    Args:
        solution: The solution.
        path: The file.
        other: Another solution of the same game, shown beside it.
        most: Nodes that the file holds, those nearest to its first one.
        line: The first node, an infoset or a line such as ``"check bet66"``; by default the root.
        street: Whether the file holds the nodes up to the next chance node only.
        tell: Called with the size before anything is written.

    Returns:
        The path.

    Raises:
        ValueError: The solutions are of different games, or there is no such line.
    """
    desk = Desk(solution, other)
    top = desk.nodes.place(line) if line.strip() else desk.nodes.root
    # Neighbours are often in one chunk.
    numbers = sorted(desk.nodes.first(most, top, street=street))

    def nodes(some: list[int]) -> list[dict[int, Any]]:
        each = [partial(desk.whole_node, solution=k) for k in range(len(desk.solutions))]
        return [{number: _rounded(node(number)) for number in some} for node in each]

    def page(shown: list[dict[int, Any]]) -> bytes:
        about = desk.about() | {"root": top}
        return build_page({"mode": "file", "about": about, "nodes": shown}).encode()

    if tell is not None:
        some = numbers[:: -(-len(numbers) // SAMPLED)]
        empty = len(page([]))
        per_node = (len(page(nodes(some))) - empty) / len(some)
        tell(PageSize(len(numbers), desk.nodes.count, empty + int(per_node * len(numbers))))
    with replacing(Path(path)) as file:
        file.write(page(nodes(numbers)))
    return Path(path)


def _rounded(said: Any) -> Any:
    """Numbers with fewer digits, which is most of what a file holds."""
    if isinstance(said, dict):
        return {key: _rounded(value) for key, value in said.items()}
    if isinstance(said, list):
        return [_rounded(value) for value in said]
    return float(f"{said:.{DIGITS}g}") if isinstance(said, float) else said
