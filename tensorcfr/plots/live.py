"""Progress of a solve in a notebook, with its convergence curve."""

from __future__ import annotations

import time
from typing import Any

from .._util import html
from .._util.extras import needs
from ..solvers.loop import Progress

EVERY = 0.25
"""Seconds between two updates."""


class LiveProgress:
    """Progress hook that shows the figures and the curve of a running solve in a notebook.

    ``solve(game, target=1e-4, progress=LiveProgress())``. Interrupting the kernel ends the solve
    and keeps its solution.

    Args:
        every: Seconds between two updates.

    Raises:
        MissingExtraError: IPython is not installed; the message names the extra.
    """

    def __init__(self, every: float = EVERY) -> None:
        self._ipython = needs("IPython.display", "notebook")
        self._every = every
        self._shown = -1.0
        self._handle: Any = None

    def __call__(self, progress: Progress) -> None:
        """Update the picture, at most once in ``every`` seconds and at the last iteration."""
        now = time.monotonic()
        is_last = progress.iteration == progress.last_iteration
        if self._handle is not None and now - self._shown < self._every and not is_last:
            return
        self._shown = now
        picture = self._ipython.HTML(self.picture(progress))
        if self._handle is None:
            self._handle = self._ipython.display(picture, display_id=True)
        else:
            self._handle.update(picture)

    @staticmethod
    def picture(progress: Progress) -> str:
        """Return the HTML of the picture."""
        latest, last = progress.latest, progress.last_iteration
        done = f"{progress.iteration:,}" + ("" if last is None else f" of {last:,}")
        rows = [("iterations", done), ("seconds", f"{progress.seconds:.1f}")]
        if latest is not None:
            rows.append(("exploitability", f"{latest.exploitability:.4g}"))
        share = 0.0 if not last else min(1.0, progress.iteration / last)
        bar = ""
        if last:
            bar = f'<progress max="1" value="{share:.4f}" style="width:340px"></progress>'
        points = [(float(p.iteration), p.exploitability) for p in progress.trace]
        return html.block("solving", bar, html.table((), rows), html.curve(points))
