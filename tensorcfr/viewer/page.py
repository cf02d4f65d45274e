"""Page of the viewer as one text: markup, style and program, and in a file also the data.

The program is plain JavaScript with one file for each view; the files are concatenated.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from .._util.argument_checks import Flag, Kind, Text, Where, Whole, checked
from .._util.files import replacing
from .._util.limits import MOST_NODES_OF_PAGE
from .._util.plain import plain
from ..analysis.hand_tables import LONGEST_LINE
from ..errors import format_bytes
from ..solvers.solution import Solution
from .rounding import rounded
from .session import Session

DIGITS = 6
"""Significant digits of the numbers in a file."""
LONG_SECONDS = 3.0
"""Least time to write a page that is reported."""
SAMPLED = 25
"""Number of nodes from which the size of a file is estimated."""
STYLES = ("style.css", "poker.css", "form.css", "training.css", "iterations.css")
PROGRAMS = (
    "tools.js",
    "source.js",
    "address.js",
    "units.js",
    "keys.js",
    "hands.js",
    "filters.js",
    "table.js",
    "grid.js",
    "combos.js",
    "line.js",
    "cards.js",
    "curve.js",
    "graph.js",
    "locks.js",
    "respond.js",
    "worth.js",
    "node.js",
    "form.js",
    "paint.js",
    "tree.js",
    "library.js",
    "iterations.js",
    "trainer.js",
    "report.js",
    "begin.js",
)
PAGE = "page.html", STYLES, PROGRAMS
"""Markup, styles and programs of the viewer's page."""
SOLUTION = Kind((Solution,), "a solution")


def build_page(
    boot: dict[str, Any],
    nonce: str | None = None,
    *,
    parts: tuple[str, Sequence[str], Sequence[str]] = PAGE,
) -> str:
    """Return a page as text, with the data that the program starts with.

    If a nonce is given, style and program carry it, because the server's policy allows no others.
    ``parts`` are the files of markup, styles and programs.
    """
    markup, styles, programs = parts
    static = files(__package__) / "static"
    page, style, program = (
        "\n".join((static / name).read_text("utf-8") for name in names)
        for names in ([markup], styles, programs)
    )
    # "<" could end the element, or begin a comment in it.
    data = json.dumps(plain(boot), ensure_ascii=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    attribute = f' nonce="{nonce}"' if nonce else ""
    elements = {
        "STYLE": f"<style{attribute}>{style}</style>",
        "BOOT": f'<script type="application/json" id="boot"{attribute}>{data}</script>',
        "PROGRAM": f"<script{attribute}>{program}</script>",
    }
    for name, element in elements.items():
        page = page.replace(f"<!--{name}-->", element)
    return page


@dataclass(frozen=True)
class PageSize:
    """Size of a page for sharing."""

    nodes: int
    """Number of nodes in the page."""
    of: int
    """Number of nodes of the game."""
    bytes: int
    """Size in bytes, estimated from a sample of the nodes."""
    seconds: float
    """Time to write the page in seconds, estimated likewise."""

    def __str__(self) -> str:
        time_ = f" and {self.seconds:,.0f} s to write" if self.seconds >= LONG_SECONDS else ""
        return f"{self.nodes:,} of {self.of:,} nodes, about {format_bytes(self.bytes)}{time_}"


@checked()
def save_html(
    solution: Annotated[Solution, SOLUTION],
    path: Annotated[str | Path, Where()],
    *,
    second: Annotated[Solution | None, SOLUTION] = None,
    most: Annotated[int, Whole(1)] = MOST_NODES_OF_PAGE,
    line: Annotated[str, Text(LONGEST_LINE)] = "",
    street: Annotated[bool, Flag()] = False,
    tell: Annotated[Callable[[PageSize], object] | None, Kind((Callable,), "a function")] = None,
) -> Path:
    """Write a page that shows a solution: one file, which needs no server and no network.

    Args:
        solution: The solution.
        path: Path of the file.
        second: Another solution of the same game, or of a game that differs in utilities only, for
            comparison.
        most: Largest number of nodes in the file; the nodes nearest to its first one are taken.
        line: First node, an infoset or a line such as ``"check bet66"``; by default the root.
        street: True to write only the nodes up to the next chance node.
        tell: Function called with the size before anything is written. If it raises an error,
            nothing is written.

    Returns:
        The path.

    Raises:
        ValueError: The solutions are of games with different infosets, or the line does not exist.
    """
    session = Session(solution, second)
    top = session.nodes.place(line) if line.strip() else session.nodes.root
    # Nodes with close numbers are often in the same chunk, which is then read only once.
    numbers = sorted(session.nodes.first(most, top, street=street))

    def nodes(chosen: list[int]) -> list[dict[int, Any]]:
        each = [partial(session.whole_node, solution=k) for k in range(len(session.solutions))]
        return [{number: rounded(node(number), DIGITS) for number in chosen} for node in each]

    def page(shown: list[dict[int, Any]]) -> bytes:
        about = session.about() | {"root": top}
        return build_page({"mode": "file", "about": about, "nodes": shown}).encode()

    if tell is not None:
        some = numbers[:: -(-len(numbers) // SAMPLED)]
        empty = len(page([]))
        # The first node also computes numbers of the whole game: do not count their time.
        nodes(some[:1])
        began = time.perf_counter()
        share = len(numbers) / len(some)
        sample = len(page(nodes(some)))
        seconds = (time.perf_counter() - began) * share
        size = empty + int((sample - empty) * share)
        tell(PageSize(len(numbers), session.nodes.count, size, seconds))
    with replacing(Path(path)) as file:
        file.write(page(nodes(numbers)))
    return Path(path)
