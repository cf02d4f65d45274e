"""Page that plays single iterations event by event: a file, or a frame in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Annotated, Any

from .._util.argument_checks import Where, checked
from .._util.files import replacing
from .._util.one_line import OneLine
from ..analysis.iteration_events import MAX_HISTORIES, IterationEvents, iteration_events
from ..kernels.random import Seed
from .page import build_page
from .rounding import rounded

PARTS = (
    "iterations.html",
    ("style.css", "iterations.css"),
    ("tools.js", "iterations.js", "iterations_page.js"),
)
"""Files of the page."""
FRAME_HEIGHT = 820
"""Height of the frame in a notebook, in pixels."""


@dataclass(frozen=True, repr=False)
class IterationPage(OneLine):
    """Page that plays the events of iterations; a notebook shows it as the result of a cell."""

    events: IterationEvents
    """The events."""

    def html(self) -> str:
        """Return the page: one text, which needs no server and no network."""
        return build_page({"events": rounded(self.events.to_dict())}, parts=PARTS)

    @checked()
    def save(self, path: Annotated[str | Path, Where()]) -> Path:
        """Write the page to a file, and return its path."""
        with replacing(Path(path)) as file:
            file.write(self.html().encode())
        return Path(path)

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.events.game)}" sandbox="allow-scripts" '
            f'style="width:100%;height:{FRAME_HEIGHT}px;border:0" '
            f'srcdoc="{escape(self.html())}"></iframe>'
        )


def iteration_page(
    game: Any,
    algorithm: Any,
    *,
    iters: int = 2,
    line: Sequence[str] = (),
    deal: Sequence[str] | None = None,
    seed: Seed | None = None,
    most: int = MAX_HISTORIES,
) -> IterationPage:
    """Record some iterations, and return a page that plays them event by event.

    The page shows the history tree.  Its numbers open the sums from which they come.

    >>> from tensorcfr import compile_game
    >>> page = iteration_page(compile_game("kuhn"), "cfr+", iters=2)
    >>> page.save("kuhn.html")  # doctest: +SKIP

    Args:
        game: The game; the arguments are those of :func:`tensorcfr.analysis.iteration_events`.
        algorithm: A name or a record of an algorithm.
        iters: Number of iterations.
        line: Labels of outcomes and actions from the start; only the histories after them are
            shown.
        deal: Chance outcomes that happen for certain, for algorithms that sample.
        seed: Seed of an algorithm that samples.
        most: Largest number of histories to show.

    Raises:
        ValueError: There are too many histories, or the algorithm cannot be shown.
        KeyError: The line does not exist.
    """
    options: dict[str, Any] = {"iters": iters, "line": line, "deal": deal, "seed": seed}
    return IterationPage(iteration_events(game, algorithm, most=most, **options))
