"""Viewer of solutions in the browser; ``tensorcfr view``.

:func:`view` serves a solution on this machine only, and :func:`widget` shows it in a notebook.
:func:`save_html` writes a single page for sharing, which needs no server and no network.
:func:`iteration_page` plays single iterations of an algorithm event by event.
"""

from .iteration_page import IterationPage, iteration_page
from .page import save_html
from .server import view
from .widget import widget

__all__ = ["IterationPage", "iteration_page", "save_html", "view", "widget"]
